"""A trace call: stretches of traversal, the programs between them, and the programs at the end; in one fixed order.

All lanes traverse, lane after lane, each leaving a row in ``rays``. Lanes that met any-hit or intersection code run
it, in the order of program ids; those lanes traverse again, until none is suspended. Then closest-hit and miss programs
run in the order of program ids, and the call returns. Where programs run after the traversal, a ray has one stretch:
its programs are followed by an amendment of its row, the hit that they left.
"""

from typing import Any

import numpy as np

from rayplay.tracer.abi.trace_frame import (
    FIELD,
    LANES,
    NO_PROGRAM,
    STATUS_ANY_HIT,
    STATUS_HIT,
    STATUS_INTERSECTION,
    VERDICT_ACCEPTED,
    VERDICT_NONE,
)
from rayplay.tracer.abi.words import (
    FULL,
    KIND_ANY_HIT,
    KIND_CLOSEST_HIT,
    KIND_INTERSECTION,
    KIND_MISS,
    LONG_STRETCH,
    MACHINE,
)
from rayplay.tracer.native.calls import call_traversal
from rayplay.tracer.native.jit import compiled, inlined_entry_point
from rayplay.tracer.warp.report import advance_report
from rayplay.tracer.warp.stack import (
    ITEM_ACTIVATION,
    ITEM_FRAME,
    ITEM_INSTRUCTION,
    ITEM_LANES,
    ITEM_PHASE,
    ITEM_ROUND,
    ITEM_SEGMENT,
    ITEM_TODO,
    ITEM_TRACE,
    RUN,
    SCENE_CODE,
    SCENE_CONTEXT,
    SCENE_DELAYED,
    WARP_DONE,
    Warps,
    push_program,
)

PHASE_TRAVERSE, PHASE_PROGRAMS, PHASE_END = 0, 1, 2

STATUS, PROGRAM, VERDICT, FLAGS = FIELD["status"], FIELD["program"], FIELD["verdict"], FIELD["flags"]
ORIGIN, T_MIN, T_MAX = FIELD["origin_x"], FIELD["t_min"], FIELD["t_max"]
COMMITTED_T = FIELD["committed_t"]
COMMITTED_INSTANCE, COMMITTED_PRIMITIVE = FIELD["committed_instance"], FIELD["committed_primitive"]
COMMITTED_RECORD, CANDIDATE_RECORD = FIELD["committed_record"], FIELD["candidate_record"]
FLAG_FIRST_HIT = 4
NOBODY = np.uint32(0xFFFFFFFF)
INFINITY_BITS = np.uint32(0x7F800000)

# uint32 words of a ray row
(
    RAY_VISIT, RAY_INSTRUCTION, RAY_LANE, RAY_SEGMENT, RAY_KIND, RAY_ORIGIN, RAY_T_MIN, RAY_T_MAX, RAY_HIT_T,
    RAY_INSTANCE, RAY_PRIMITIVE, RAY_NODES, RAY_FRAME,
) = 0, 1, 2, 3, 4, 5, 11, 12, 13, 14, 15, 16, 17  # fmt: skip
RAY_WORDS = 18
AMENDMENT = 0xFFFFFFFF
"""As the segment: the row has the hit in the end of the ray before it, of the same warp, lane and frame."""
COUNT_RAYS, COUNT_NODES, COUNT_RUNS = 0, 1, 2
STRETCH_WORDS = 65_536  # room in the node log that a stretch may fill
M_ERROR_LANE, M_INSTRUCTION = MACHINE["error_lane"], MACHINE["suspend_instruction"]
F_MISS_INDEX = FIELD["miss_index"]
M_ERROR_ADDRESS = MACHINE["error_address"]
M_VISIT_NEXT = MACHINE["visit_next"]
M_VISIT_ORIGIN = MACHINE["visit_origin"]


@inlined_entry_point
def advance(w: Warps, warp: int) -> int:
    """Work on the control stack until a function is innermost: RUN; WARP_DONE when the stack is empty."""
    while w.depth[warp] > 0:
        item = w.items[warp, w.depth[warp] - 1]
        if item[0] == ITEM_ACTIVATION:
            return RUN
        code = _advance_trace(w, warp, item) if item[0] == ITEM_TRACE else advance_report(w, warp, item)
        if code != RUN:
            return code
    return WARP_DONE


@compiled
def _advance_trace(w: Warps, warp: int, item: np.ndarray) -> int:
    """One step of a trace call: a traversal of all its waiting lanes, or the start of one program."""
    frame = item[ITEM_FRAME]
    if item[ITEM_PHASE] == PHASE_TRAVERSE:
        if w.counts[COUNT_RAYS] + LANES > w.rays.shape[0]:
            return FULL
        if w.counts[COUNT_NODES] + LANES * STRETCH_WORDS > w.nodes.shape[0]:
            return FULL
        for lane in range(LANES):
            if item[ITEM_TODO] >> lane & 1 and not _traverse(w, item, lane):
                w.machine[M_ERROR_LANE], w.machine[M_INSTRUCTION] = lane, item[ITEM_INSTRUCTION]
                return LONG_STRETCH
        waiting = _suspended_lanes(w, frame, item[ITEM_TODO])
        item[ITEM_TODO], item[ITEM_ROUND] = waiting, waiting
        item[ITEM_SEGMENT] += 1
        item[ITEM_PHASE] = PHASE_PROGRAMS if waiting else PHASE_END
        if not waiting:
            item[ITEM_ROUND] = item[ITEM_LANES]
        return RUN
    group, program = _next_group(w, frame, item[ITEM_ROUND])
    if group == 0:
        if item[ITEM_PHASE] == PHASE_PROGRAMS:
            item[ITEM_PHASE] = PHASE_TRAVERSE
        else:
            w.depth[warp] -= 1
        return RUN
    item[ITEM_ROUND] &= ~group
    return _start_group(w, warp, frame, group, program)


@compiled
def _start_group(w: Warps, warp: int, frame: int, group: int, program: int) -> int:
    """Run ``program`` for the lanes of ``group``, which share it."""
    lane = 0
    while not group >> lane & 1:
        lane += 1
    status = w.frames[frame, STATUS, lane]
    verdict = VERDICT_ACCEPTED if status == STATUS_ANY_HIT else VERDICT_NONE
    for each in range(LANES):
        if group >> each & 1:
            w.frames[frame, VERDICT, each] = verdict
    if status == STATUS_ANY_HIT:
        return push_program(w, warp, program, group, KIND_ANY_HIT, frame, CANDIDATE_RECORD)
    if status == STATUS_INTERSECTION:
        return push_program(w, warp, program, group, KIND_INTERSECTION, frame, CANDIDATE_RECORD)
    if status == STATUS_HIT:
        return push_program(w, warp, program, group, KIND_CLOSEST_HIT, frame, COMMITTED_RECORD)
    return push_program(w, warp, program, group, KIND_MISS, frame, F_MISS_INDEX)


@compiled
def _traverse(w: Warps, item: np.ndarray, lane: int) -> bool:
    """One stretch of one lane, and its row in ``rays``; False when the traversal cannot go on."""
    frame = item[ITEM_FRAME]
    used = w.counts[COUNT_NODES]
    log = w.nodes.ctypes.data + 4 * used
    written = call_traversal(
        w.scene[SCENE_CODE],
        w.scene[SCENE_CONTEXT],
        w.frames[frame].ctypes.data,
        w.states[frame, lane].ctypes.data,
        lane,
        log,
    )
    if written < 0:
        w.machine[M_ERROR_ADDRESS] = written
        return False
    fields = w.frames[frame]
    amends = w.scene[SCENE_DELAYED] != 0 and item[ITEM_SEGMENT] > 0
    if amends and fields[STATUS, lane] in (STATUS_ANY_HIT, STATUS_INTERSECTION):
        return True
    row = w.rays[w.counts[COUNT_RAYS]]
    visits = (w.machine[M_VISIT_NEXT] - w.machine[M_VISIT_ORIGIN]) >> 3
    row[RAY_VISIT], row[RAY_INSTRUCTION] = visits - 1, item[ITEM_INSTRUCTION]
    row[RAY_LANE], row[RAY_SEGMENT] = lane, AMENDMENT if amends else item[ITEM_SEGMENT]
    row[RAY_KIND] = 1 if fields[FLAGS, lane] & FLAG_FIRST_HIT else 0
    for axis in range(6):
        row[RAY_ORIGIN + axis] = fields[ORIGIN + axis, lane]
    row[RAY_T_MIN], row[RAY_T_MAX] = fields[T_MIN, lane], fields[T_MAX, lane]
    hit = fields[COMMITTED_INSTANCE, lane] != NOBODY
    row[RAY_HIT_T] = fields[COMMITTED_T, lane] if hit else INFINITY_BITS
    row[RAY_INSTANCE] = fields[COMMITTED_INSTANCE, lane] if hit else NOBODY
    row[RAY_PRIMITIVE] = fields[COMMITTED_PRIMITIVE, lane] if hit else NOBODY
    row[RAY_NODES], row[RAY_FRAME] = written, frame
    w.counts[COUNT_RAYS] += 1
    w.counts[COUNT_NODES] = used + written
    return True


@compiled
def _suspended_lanes(w: Warps, frame: int, lanes: int) -> int:
    waiting = 0
    for lane in range(LANES):
        if lanes >> lane & 1:
            status = w.frames[frame, STATUS, lane]
            if status in (STATUS_ANY_HIT, STATUS_INTERSECTION):
                waiting |= 1 << lane
    return waiting


@compiled
def _next_group(w: Warps, frame: int, lanes: int) -> tuple[int, Any]:
    """The lanes with the lowest program id among ``lanes``, and that id; no lanes when none has a program."""
    lowest = np.int64(NO_PROGRAM)
    group = 0
    for lane in range(LANES):
        if lanes >> lane & 1:
            program = np.int64(w.frames[frame, PROGRAM, lane])
            if program < lowest:
                lowest, group = program, 0
            if program == lowest and program != NO_PROGRAM:
                group |= 1 << lane
    return group, lowest
