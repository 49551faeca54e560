"""The memory that machine code, interpreter and compiled driver share while warps run: every word, once.

``MACHINE`` is one record for a launch: what the running warp needs to know. An activation record is a function in
flight for one warp: the words of ``ACTIVATION``, then parameters, registers and its reconvergence stack
(``tracer.link.layout``). A view tells a program which trace call, and which hit of it, its getters speak of.
"""

from rayplay.tracer.abi.layout import LANES, Words
from rayplay.tracer.abi.trace_frame import ATTRIBUTE_COUNT

EXCEPTION_DETAILS = 8

MACHINE = Words("MACHINE", "int64", """
    host_offset             host address of device address 0
    arena_first             first address of device memory, a guard before the first allocation
    arena_bytes             device memory in use, with the guards before and after it
    allocations             pointer to the table of allocations: first address and end, int64[allocation_count][2]
    allocation_count
    records                 pointer to the records of textures, samplers and surfaces (tracer.memory.image_record)
    record_count
    memcheck                0 where accesses near allocations are legal
    bounds                  pointer to the allocation that an instruction used last: first address and bytes, int64[][2]
    outside                 pointer to the accesses outside allocations of each instruction, int64[]
    shared_base             device address of the CTA's shared memory
    shared_bytes
    local_base              device address of all threads' local memory
    local_bytes             of one thread
    local_total_bytes
    param_base              device address of the parameter buffer
    param_bytes
    symbols                 pointer to the addresses of variables, uint64
    ntid_x                  the launch
    ntid_y
    ntid_z
    nctaid_x
    nctaid_y
    nctaid_z
    ctaid_x                 the running CTA
    ctaid_y
    ctaid_z
    dynamic_shared_bytes
    tid                     the running warp: pointer to its thread indices, uint32[3][32]
    first_thread            number of its first thread in the launch
    warp_in_cta
    warps_per_cta
    cta_slot                the running CTA among those that run in turns
    workspace_low           address of the words of a cooperative launch's grid barrier, 0 for others
    workspace_high
    visit_next              record buffers: pointer to the next free row, and to the last one before the buffer is full
    visit_limit
    visit_origin            where the warp's visit 0 would lie
    access_next
    access_limit
    address_next
    address_limit
    suspend_instruction     why machine code returned: id of the instruction
    suspend_mask            lanes of the call
    suspend_function        number of the called function
    suspend_signature       identity of the signature that an indirect call wants, else -1
    suspend_barrier         number of the barrier
    suspend_count           threads that the barrier waits for, 0 for all
    suspend_true            lanes that came with a true predicate
    suspend_lanes           lanes that came
    suspend_mode            what a trace call does: a MODE
    error_lane
    error_address
    barrier_true            what the barrier that the warp waited at has found: threads with a true predicate
    barrier_lanes           threads that came
    functions               pointer to the numbers of functions by address, int32
    function_count
    width                   image launches: pixels
    height
    selected                pointer to the pixels that filter_shader lets pass, bool[height][width]
    instance_ids            pointer to uint32[instances]
    instance_handles        pointer to int64[instances]
    geometry_first          pointer to int32[meshes + 1]
    geometry_values         pointer to pointers to float32[primitives][geometry_floats]
    geometry_primitives     pointer to int64[geometries]
    geometry_floats         pointer to int64[geometries]: 9 of triangles, 4 of spheres, 8, 12 or 16 of curves
    mesh_count
    node_first              pointer to int32[instances + 1]: where the transform list of each instance begins in nodes
    nodes                   pointer to int32[]: instance records, from the root of the scene to its meshes
    node_count
    node_ids                pointer to uint32[node_count]
    node_children           pointer to int64[node_count], traversable handles
    instance_nodes          pointer to int64[instances], handles of the top level's instance records
    instance_count
    object_to_world         device address of float32[node_count][3][4]
    world_to_object         the same, inverse
    top_level               handle of the whole scene
    hit_record_data         pointer to uint64[hit_record_count], addresses of the records' data
    hit_record_count
    miss_record_data        pointer to uint64[miss_record_count]
    miss_record_count
    callables               pointer to int64[callable_count]: addresses of callables by their index
    callable_count
    current_view            pointer to the running program's view
    next_frame              pointer to the frame of the next trace call
    hit_object              pointer to the running program's hit object, rows as of a frame
    exception               pointer to the rows of EXCEPTION
    remaining_depth         how deep trace calls may still nest
    pushed                  activations so far
    report                  pointer to the rows of REPORT
    units                   pointer to the code of the units (tracer.units.call)
    unit_rows               pointer to the rows that units work on
""")  # fmt: skip

ACTIVATION = Words("ACTIVATION", "int64", """
    pc                      block, or number of a place to resume at
    reconvergence           block at which the running lanes wait for the others
    mask                    running lanes
    depth                   entries of the reconvergence stack
    live                    lanes that have not left the function
    local_offset            of the function's variables in a thread's local memory
    call_mask               lanes of the call in flight
    todo_mask               lanes of an indirect call whose function has not run yet
    exited                  lanes that ended their thread in this function
    turn                    lane after the last one that took a turn in a loop that waits
    parted                  1 once lanes took turns: lanes that act together have to meet first
""")  # fmt: skip
ACTIVATION_HEADER_BYTES = 128
STACK_ENTRY_BYTES = 16

PASSES = 256  # of the head of a loop in which lanes may wait, after which other lanes take a turn
PASSES_AGAIN = 16  # once lanes have waited there

IN_CALL = 0x7FFFFFFF  # block of an entry of the reconvergence stack whose lanes are in a call that others have left
MOST_LEFT = LANES - 1  # calls of a warp that some of their lanes have left
LEFT = Words("LEFT", "int64", """
    lanes                   a call that others have left: its lanes, 0 for none
    runnable                of them lanes that do not wait to act together with others
    level                   item of the control stack that called
    items                   items above that one
    words                   words of their activation records
    pc                      place at which the caller goes on
    joins                   1 where the running lanes of the innermost function wait to act together
""")  # fmt: skip

VIEW = Words("VIEW", "int64", f"""
    frame                   pointer to the frame of the program's trace call
    hit_rows                pointer to the rows of the hit that getters speak of
    t_row                   pointer to the row that is the ray's end for the program
    kind                    a KIND
    sbt_data[{LANES}]            each lane's pointer to its record's data
""")  # fmt: skip
KIND = Words("KIND", "int64", """
    raygen                  what the running program is
    miss
    closest_hit
    any_hit
    intersection
    exception
""")  # fmt: skip
MODE = Words("MODE", "int64", """
    trace                   traverse, then run the hit's or the miss's program
    traverse                keep what the traversal found in the hit object
    invoke                  run the program of the hit object
""")  # fmt: skip

EXCEPTION = Words("EXCEPTION", "uint32", f"""
    code                    one throw_exception in flight, a row of 32 lanes each
    detail[{EXCEPTION_DETAILS}]
""")  # fmt: skip

REPORT = Words("REPORT", "uint32", f"""
    t                       one report_intersection in flight, a row of 32 lanes each
    kind
    attribute[{ATTRIBUTE_COUNT}]
    answer                  1 where the hit was accepted
""")  # fmt: skip

ITEM_ACTIVATION, ITEM_TRACE, ITEM_REPORT = range(3)
ITEM = Words("ITEM", "int64", """
    kind                    an item of a warp's control stack: ITEM_ACTIVATION, ITEM_TRACE or ITEM_REPORT
    function                activation: number of the function
    start                   first word of its record in the warp's stack
    local_offset            of its variables in a thread's local memory
    view_index              number of its view
    frame                   trace call, report: number of its frame
    instruction             id of the call
    todo                    lanes still to traverse, or that reported
    segment                 how many traversals of the ray came before
    mode                    trace call: a MODE
    phase                   a PHASE of tracer.warp.trace_call or tracer.warp.report
    round                   lanes of this round whose program has to run
    group                   lanes whose program runs
    lanes                   all lanes of the call
    serial                  activation: number that no other one of the launch has
""")  # fmt: skip

BARRIER_STATE = Words("BARRIER_STATE", "int64", """
    arrived                 threads that have arrived at a barrier
    true                    of them lanes with a true predicate
    lanes                   of them lanes that executed it
""")  # fmt: skip
BARRIERS = 17  # 16 that programs name, and the cluster's, which is the last
CLUSTER_BARRIER = -1

SCENE = Words("SCENE", "int64", """
    code                    address of the traversal
    context                 address of its context
    delayed                 1 where any-hit and intersection programs run after the traversal
""")  # fmt: skip

PROGRESS = Words("PROGRESS", "int64", """
    next_cta                how far a launch is: the running or next CTA
    last_cta                where the step ends
    in_cta                  1 inside a CTA
    next_warp               the running or next warp of the CTA
    entry                   number of the function that warps start with
    sbt_data                pointer to the data of ray generation's record
    threads                 of a CTA
    warps                   of a CTA; a cooperative launch runs those of all its CTAs in turns
    shared_first            device address of the first CTA's shared memory
    first_warp              id of the launch's first warp in the trace
    is_image
    width                   pixels of a row
    idle_rounds             rounds in which no warp ended or came to a barrier
    most_visits             block visits after which a warp is taken to have no end
""")  # fmt: skip

WARP = Words("WARP", "int64", """
    visits                  a warp of the running CTA: block visits so far
    state                   a WARP_STATE
    barrier                 number of the barrier that it waits at
    count                   threads that the barrier waits for, 0 for all
    true                    what its last barrier has found
    lanes
    instruction             id of the barrier instruction
    last_stop               visits when it last ended a turn by itself
""")  # fmt: skip
WARP_READY, WARP_WAITING, WARP_ENDED = range(3)

RUN = Words("RUN", "int64", """
    warp                    one turn of a warp: its id in the trace
    visits                  where its rows end in the buffers; they begin where those of the turn before end
    accesses
    addresses
    rays
    nodes
""")  # fmt: skip

USED = Words("USED", "int64", """
    rays                    rows in use of each buffer
    nodes
    runs
""")  # fmt: skip

RAY = Words("RAY", "uint32", """
    visit                   a row of rays: the warp's visit that traced it
    instruction
    lane
    segment                 number of the traversal, or AMENDMENT
    kind                    1 where the first hit ends the ray
    origin_x
    origin_y
    origin_z
    direction_x
    direction_y
    direction_z
    t_min
    t_max
    hit_t
    instance
    primitive
    nodes                   length of its node list
    frame
""")  # fmt: skip
LOG_WORDS = 65_536
"""Words of the node log that one traversal may fill."""
AMENDMENT = 0xFFFFFFFF
"""Sentinel in ``RAY.segment``: the row carries the final hit of the row before of the same warp, lane and frame."""

STOP = Words("STOP", "int64", """
    returned                why machine code returned: no lane of the activation is left
    call                    a function of the launch has to run
    trace                   a trace call
    report                  a reported intersection
    exception               an exception that a program throws
    barrier                 the warp waits at a barrier
    full                    a record buffer has no room
    illegal_address         an access outside memory, or not aligned
    trapped                 trap
    stack_overflow          functions nested deeper than the stack or local memory holds
    trace_depth             trace calls nested deeper than the launch allows
    deadlock                no barrier of the CTA can open
    long_stretch            the traversal cannot go on
    external                a function without a body has to run
    bad_call                an address that is no function of the launch
    bad_signature           a function with parameters or results of other sizes
    bad_handle              no texture, sampler or surface that fits
    outside_surface         an access outside a surface that traps
    arrive                  the warp has arrived at a barrier and goes on
    yields                  the warp lets the others run
    turn                    lanes wait in a loop for others, which take a turn
    called                  the next lanes are in a call that others have left
    join                    lanes wait for others with which they act together
    bad_barrier             a barrier without a number
    endless                 a warp that visits blocks without an end
    warp_done               the warp has ended
    launch_done             all CTAs of the step are done
    none                    go on
""")  # fmt: skip

# Machine code records nothing, the visits, or visits and accesses
RECORD_NOTHING, RECORD_VISITS, RECORD_ALL = range(3)

# Records written by machine code
VISIT_BYTES = 8  # block id, active mask: uint32
ACCESS_BYTES = 16  # instruction id, visit, lane mask, addresses beside the lanes': uint32
ADDRESS_BYTES = 8

# Blocks and accesses of a part (``tracer.emit.parts``). Beyond their limits the record buffers have room for each block
# once per lane: as many visits and accesses as lanes, as many addresses as accesses of all lanes.
MOST_PART_BLOCKS, MOST_PART_ACCESSES = 1024, 16384
MOST_PART_ADDRESSES = 8 * MOST_PART_ACCESSES  # of a lane; a texture access counts as 1 + 4096 / 32
