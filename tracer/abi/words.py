"""The memory that machine code, interpreter and driver share while warps run.

``machine`` is one ``int64[MACHINE_WORDS]`` for a launch: what the running warp needs to know. An activation is a
function in flight for one warp: a header of ``int64`` words, then its reconvergence stack, parameters and registers
(``tracer.link.layout``). A view tells a program which trace call, and which hit of it, its getters speak of.
"""

from rayplay.tracer.abi.trace_frame import FIELD

LANES = 32


def _numbered(names: str) -> dict[str, int]:
    return {name: index for index, name in enumerate(names.split())}


MACHINE = _numbered(
    # device memory: host address of device address 0, first device address, bytes in use
    "host_offset arena_first arena_bytes shared_base shared_bytes local_base local_bytes local_total_bytes "
    "param_base param_bytes symbols "
    # the launch and the CTA
    "ntid_x ntid_y ntid_z nctaid_x nctaid_y nctaid_z ctaid_x ctaid_y ctaid_z dynamic_shared_bytes "
    # the running warp: pointer to uint32[3][32] thread indices, index of its first thread in the launch
    "tid first_thread warp_in_cta warps_per_cta "
    # record buffers: next free place and limit, host pointers; visit_origin is where the warp's visit 0 would lie
    "visit_next visit_limit visit_origin access_next access_limit address_next address_limit "
    # why machine code returned
    "suspend_instruction suspend_mask suspend_function suspend_signature suspend_barrier suspend_count suspend_true "
    "suspend_lanes error_lane error_address "
    # what the barrier that the warp waited at has found: threads with a true predicate, threads
    "barrier_true barrier_lanes "
    # functions by address: pointer to int32 numbers, and how many there are
    "functions function_count "
    # image launches: pointers to bool[height][width], instance tables, the view of the program, the next trace frame
    "width height selected instance_ids instance_handles geometry_first geometry_vertices geometry_triangles "
    "view next_frame report "
    # units (tracer.unit): pointers to their code and to the rows that they work on
    "units unit_rows"
)
MACHINE_WORDS = len(MACHINE)

# call_mask: lanes of the call in flight; todo_mask: lanes of an indirect call whose function has not run yet;
# exited: lanes that ended their thread in this function
ACTIVATION = _numbered("pc reconvergence mask depth live local_offset call_mask todo_mask exited")
ACTIVATION_HEADER_BYTES = 128
STACK_ENTRY_BYTES = 16

VIEW = _numbered("frame hit_rows t_row kind")
VIEW_WORDS = len(VIEW) + LANES  # then the SBT data pointer of each lane

# Why machine code returned; RETURNED: no lane of the activation is left.
(
    RETURNED, CALL, TRACE, REPORT, BARRIER, FULL, ILLEGAL_ADDRESS, TRAPPED, STACK_OVERFLOW, TRACE_DEPTH, DEADLOCK,
    LONG_STRETCH, EXTERNAL, BAD_CALL, BAD_SIGNATURE, BAD_HANDLE, OUTSIDE_SURFACE, ARRIVE, YIELD, BAD_BARRIER,
    ENDLESS,
) = range(21)  # fmt: skip

BARRIERS = 17  # 16 that programs name, and the cluster's, which is the last
CLUSTER_BARRIER = -1

KIND_RAYGEN, KIND_MISS, KIND_CLOSEST_HIT, KIND_ANY_HIT, KIND_INTERSECTION = range(5)

ROW_BYTES = LANES * 4
COMMITTED_ROW = FIELD["committed_t"] * ROW_BYTES
CANDIDATE_ROW = FIELD["candidate_t"] * ROW_BYTES

# One report_intersection in flight: uint32 rows of 32 lanes: t, hit kind, attributes, and the answer.
REPORT_T, REPORT_KIND, REPORT_ATTRIBUTE = 0, 1, 2
REPORT_ANSWER = 10
REPORT_ROWS = 11

# What machine code writes down: nothing, the visits, or visits and accesses
RECORD_NOTHING, RECORD_VISITS, RECORD_ALL = range(3)

# Records written by machine code
VISIT_BYTES = 8  # block id, active mask: uint32
ACCESS_BYTES = 16  # instruction id, visit, lane mask, 0: uint32
ADDRESS_BYTES = 8

# Blocks and accesses of a part (``tracer.emit.parts``). Beyond their limits the record buffers have room for each block
# once per lane: as many visits and accesses as lanes, as many addresses as accesses of all lanes.
MOST_PART_BLOCKS, MOST_PART_ACCESSES = 1024, 16384
