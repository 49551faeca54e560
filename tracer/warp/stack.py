"""The control stack of a warp: functions in flight, trace calls and reported intersections, innermost last.

The stack is data, so that a warp can wait at a barrier or for room in the record buffers, and so that machine code and
interpreter share every decision: ``advance`` works until a function must run, ``suspended`` notes why it stopped.
"""

from typing import NamedTuple

import numpy as np

from rayplay.tracer.abi.trace_frame import FIELD, LANES, STATUS_START
from rayplay.tracer.abi.words import (
    ACTIVATION,
    ARRIVE,
    BAD_BARRIER,
    BAD_SIGNATURE,
    BARRIER,
    BARRIERS,
    CALL,
    CLUSTER_BARRIER,
    EXTERNAL,
    KIND_RAYGEN,
    MACHINE,
    REPORT,
    RETURNED,
    STACK_OVERFLOW,
    TRACE,
    TRACE_DEPTH,
    VIEW,
)  # fmt: skip
from rayplay.tracer.native.calls import borrowed
from rayplay.tracer.native.jit import compiled, inlined_entry_point

ITEM_ACTIVATION, ITEM_TRACE, ITEM_REPORT = 0, 1, 2
# int64 words of an item: its kind, then
ITEM_FUNCTION, ITEM_START, ITEM_LOCAL, ITEM_VIEW = 1, 2, 3, 4  # activation: function, first word, local offset, view
ITEM_FRAME, ITEM_INSTRUCTION, ITEM_TODO, ITEM_SEGMENT, ITEM_PHASE = 1, 2, 3, 5, 6  # trace, report: lanes still to do
ITEM_ROUND, ITEM_GROUP = 7, 8  # lanes of this round whose program has to run; lanes whose program runs
ITEM_LANES = 9  # trace: all lanes of the call
ITEM_WORDS = 10

RUN, WARP_DONE = 100, 101
SCENE_CODE, SCENE_CONTEXT, SCENE_DELAYED = range(3)

# int64 words of a barrier: threads that have arrived, of them lanes with a true predicate, lanes that executed it
BARRIER_ARRIVED, BARRIER_TRUE, BARRIER_LANES = 0, 1, 2
BARRIER_WORDS = 3

PC, RECONVERGENCE, MASK = ACTIVATION["pc"], ACTIVATION["reconvergence"], ACTIVATION["mask"]
DEPTH, LIVE, LOCAL_OFFSET = ACTIVATION["depth"], ACTIVATION["live"], ACTIVATION["local_offset"]
CALL_MASK, TODO_MASK, EXITED = ACTIVATION["call_mask"], ACTIVATION["todo_mask"], ACTIVATION["exited"]
M_VIEW, M_NEXT_FRAME = MACHINE["view"], MACHINE["next_frame"]
M_MASK, M_FUNCTION = MACHINE["suspend_mask"], MACHINE["suspend_function"]
M_BARRIER, M_TRUE, M_LANES = MACHINE["suspend_barrier"], MACHINE["suspend_true"], MACHINE["suspend_lanes"]
M_SIGNATURE = MACHINE["suspend_signature"]
M_INSTRUCTION = MACHINE["suspend_instruction"]
V_FRAME, V_HIT, V_T, V_KIND = VIEW["frame"], VIEW["hit_rows"], VIEW["t_row"], VIEW["kind"]
V_SBT = len(VIEW)
STATUS, COMMITTED_T, T_MAX = FIELD["status"], FIELD["committed_t"], FIELD["t_max"]
COMMITTED_INSTANCE = FIELD["committed_instance"]
M_LOCAL_BYTES = MACHINE["local_bytes"]
F_CANDIDATE_T = FIELD["candidate_t"]
F_VERDICT = FIELD["verdict"]


class Warps(NamedTuple):
    """Everything that running warps read and write; raw addresses are int64."""

    machine: np.ndarray  # int64[MACHINE_WORDS]
    # per function of the launch
    addresses: np.ndarray  # int64[functions], machine code
    words: np.ndarray  # int64[functions], length of an activation
    zero: np.ndarray  # int64[functions, 2], words of an activation that start as 0
    local_bytes: np.ndarray  # int64[functions]
    signatures: np.ndarray  # int64[functions and external functions]
    # per warp of a CTA
    stacks: np.ndarray  # int64[warps, words], activations; starts at a multiple of 64 bytes
    items: np.ndarray  # int64[warps, items, ITEM_WORDS]
    depth: np.ndarray  # int64[warps], items in use
    views: np.ndarray  # int64[items, V_SBT + 32]
    barriers: np.ndarray  # int64[BARRIERS, BARRIER_WORDS], of the running CTA
    # trace calls
    frames: np.ndarray  # uint32[trace depth + 1, FIELD_COUNT, 32]
    report: np.ndarray  # uint32[REPORT_ROWS, 32]
    states: np.ndarray  # uint32[trace depth + 1, 32, words]
    scene: (
        np.ndarray
    )  # int64[3]: SCENE_CODE and SCENE_CONTEXT, addresses; SCENE_DELAYED, programs run after the traversal
    sbt_hit: np.ndarray  # uint64[records], addresses of the records' data
    sbt_miss: np.ndarray  # uint64[records]
    hit_programs: np.ndarray  # int32[records, 3]
    opaque: np.ndarray  # uint8[geometries]
    first_geometry: np.ndarray  # int64[instances]
    # records
    rays: np.ndarray  # uint32[rows, RAY_WORDS]
    nodes: np.ndarray  # uint32[words]
    counts: np.ndarray  # int64[COUNTS], in use of rays, nodes and runs
    runs: np.ndarray  # int64[rows, RUN_WORDS]


@compiled
def borrow(w: Warps) -> Warps:
    """All arrays without their owners (``borrowed``)."""
    return Warps(
        borrowed(w.machine),
        borrowed(w.addresses),
        borrowed(w.words),
        borrowed(w.zero),
        borrowed(w.local_bytes),
        borrowed(w.signatures),
        borrowed(w.stacks),
        borrowed(w.items),
        borrowed(w.depth),
        borrowed(w.views),
        borrowed(w.barriers),
        borrowed(w.frames),
        borrowed(w.report),
        borrowed(w.states),
        borrowed(w.scene),
        borrowed(w.sbt_hit),
        borrowed(w.sbt_miss),
        borrowed(w.hit_programs),
        borrowed(w.opaque),
        borrowed(w.first_geometry),
        borrowed(w.rays),
        borrowed(w.nodes),
        borrowed(w.counts),
        borrowed(w.runs),
    )


@inlined_entry_point
def push_activation(w: Warps, warp: int, function: int, mask: int, view: int) -> int:
    """Put a function in flight on the control stack; RUN, or STACK_OVERFLOW."""
    depth = w.depth[warp]
    start, local = 0, 0
    for below in range(depth - 1, -1, -1):
        if w.items[warp, below, 0] == ITEM_ACTIVATION:
            caller = w.items[warp, below, ITEM_FUNCTION]
            start = w.items[warp, below, ITEM_START] + w.words[caller]
            local = w.items[warp, below, ITEM_LOCAL] + w.local_bytes[caller]
            break
    end = start + w.words[function]
    no_local = local + w.local_bytes[function] > w.machine[M_LOCAL_BYTES]
    if depth + 2 >= w.items.shape[1] or end + w.words.max() > w.stacks.shape[1] or no_local:
        return STACK_OVERFLOW
    stack = w.stacks[warp]
    stack[start + PC], stack[start + RECONVERGENCE] = 0, -1
    stack[start + MASK], stack[start + LIVE] = mask, mask
    stack[start + DEPTH], stack[start + LOCAL_OFFSET], stack[start + EXITED] = 0, local, 0
    for word in range(start + w.zero[function, 0], start + w.zero[function, 1]):
        stack[word] = 0
    item = w.items[warp, depth]
    item[0], item[ITEM_FUNCTION], item[ITEM_START] = ITEM_ACTIVATION, function, start
    item[ITEM_LOCAL], item[ITEM_VIEW] = local, view
    w.depth[warp] = depth + 1
    return RUN


@compiled
def push_program(w: Warps, warp: int, program: int, mask: int, kind: int, frame: int, record_row: int) -> int:
    """Put a program of the trace call in ``frame`` in flight for the lanes of ``mask``.

    kind is that of ``driver_state``; record_row is the frame's row with each lane's index into the record table.
    """
    index = w.depth[warp]
    view = w.views[index]
    base = w.frames[frame].ctypes.data
    committed = base + COMMITTED_T * LANES * 4
    candidate = base + F_CANDIDATE_T * LANES * 4
    is_candidate = kind >= 3
    view[V_FRAME] = base
    view[V_HIT] = candidate if is_candidate else committed
    view[V_T] = candidate if kind == 3 else base + T_MAX * LANES * 4 if kind == 1 else committed
    view[V_KIND] = kind
    table = w.sbt_miss if kind == 1 else w.sbt_hit
    for lane in range(LANES):
        if mask >> lane & 1:
            record = w.frames[frame, record_row, lane]
            view[V_SBT + lane] = np.int64(table[record]) if record < table.shape[0] else 0
    return push_activation(w, warp, program, mask, index)


@inlined_entry_point
def enter(w: Warps, warp: int, item: np.ndarray) -> None:
    """Set the machine's words for the activation that runs next."""
    view = w.views[item[ITEM_VIEW]]
    w.machine[M_VIEW] = view.ctypes.data
    w.machine[M_NEXT_FRAME] = w.frames[frame_depth(w, warp)].ctypes.data


@inlined_entry_point
def frame_depth(w: Warps, warp: int) -> int:
    """How many trace calls are in flight: the frame that the next one takes."""
    depth = 0
    for index in range(w.depth[warp]):
        depth += w.items[warp, index, 0] == ITEM_TRACE
    return depth


@inlined_entry_point
def suspended(w: Warps, warp: int, reason: int) -> int:
    """Take note of why the innermost function stopped; RUN to go on, else the reason itself."""
    index = w.depth[warp]
    if reason == RETURNED:
        w.depth[warp] = index - 1
        exited = w.stacks[warp, w.items[warp, index - 1, ITEM_START] + EXITED]
        if exited:
            leave_activations(w, warp, index - 2, exited)
        return RUN
    mask = w.machine[M_MASK]
    if reason == CALL:
        function, wanted = w.machine[M_FUNCTION], w.machine[M_SIGNATURE]
        if wanted >= 0 and w.signatures[function] != wanted:
            return BAD_SIGNATURE
        if function >= w.words.shape[0]:
            return EXTERNAL
        return push_activation(w, warp, function, mask, w.items[warp, index - 1, ITEM_VIEW])
    if reason in (BARRIER, ARRIVE):
        return _arrive(w, reason)
    if reason != TRACE and reason != REPORT:
        return reason
    frame = frame_depth(w, warp)
    if (reason == TRACE and frame + 1 >= w.frames.shape[0]) or (reason == REPORT and frame == 0):
        return TRACE_DEPTH
    if index + 2 >= w.items.shape[1]:
        return STACK_OVERFLOW
    item = w.items[warp, index]
    item[0] = ITEM_TRACE if reason == TRACE else ITEM_REPORT
    item[ITEM_FRAME] = frame if reason == TRACE else frame - 1
    item[ITEM_INSTRUCTION], item[ITEM_TODO], item[ITEM_SEGMENT] = w.machine[M_INSTRUCTION], mask, 0
    item[ITEM_PHASE], item[ITEM_ROUND], item[ITEM_GROUP], item[ITEM_LANES] = 0, 0, 0, mask
    w.depth[warp] = index + 1
    if reason == TRACE:
        for lane in range(LANES):
            if mask >> lane & 1:
                w.frames[frame, STATUS, lane] = STATUS_START
                w.frames[frame, COMMITTED_T, lane] = w.frames[frame, T_MAX, lane]
                w.frames[frame, COMMITTED_INSTANCE, lane] = 0xFFFFFFFF
                w.frames[frame, F_VERDICT, lane] = 0
    return RUN


@compiled
def _arrive(w: Warps, reason: int) -> int:
    """The warp, as a whole, arrives at a barrier; it goes on unless it has to wait."""
    number = w.machine[M_BARRIER]
    if number < CLUSTER_BARRIER or number >= BARRIERS - 1:
        return BAD_BARRIER
    barrier = w.barriers[number]
    barrier[BARRIER_ARRIVED] += LANES
    barrier[BARRIER_TRUE] += w.machine[M_TRUE]
    barrier[BARRIER_LANES] += w.machine[M_LANES]
    return RUN if reason == ARRIVE else reason


@compiled
def leave_activations(w: Warps, warp: int, innermost: int, lanes: int) -> None:
    """Lanes leave the activation at ``innermost`` on the control stack, and the functions it was called from."""
    for index in range(innermost, -1, -1):
        item = w.items[warp, index]
        if item[0] != ITEM_ACTIVATION:
            return
        for word in (MASK, LIVE, CALL_MASK, TODO_MASK):
            w.stacks[warp, item[ITEM_START] + word] &= ~lanes


@inlined_entry_point
def start_warp(w: Warps, warp: int, function: int, mask: int, sbt_data: int) -> None:
    """Begin a warp with its entry; an entry sees one record, at ``sbt_data``."""
    w.depth[warp] = 0
    view = w.views[0]
    view[V_FRAME], view[V_HIT], view[V_T], view[V_KIND] = 0, 0, 0, KIND_RAYGEN
    view[V_SBT:] = sbt_data
    push_activation(w, warp, function, mask, 0)
