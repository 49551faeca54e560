"""A trace call: stretches of traversal, the programs between them, and the programs at the end; in one fixed order.

All lanes traverse, lane after lane, each leaving a row in ``rays``. Lanes that met any-hit or intersection code run
it, in the order of program ids; those lanes traverse again, until none is suspended. Then closest-hit and miss programs
run in the order of program ids, and the call returns. Where programs run after the traversal, a ray has one stretch:
its programs are followed by an amendment of its row, the hit that they left.
"""

from typing import Any

import numpy as np

from rayplay.tracer.abi import words
from rayplay.tracer.abi.layout import LANES
from rayplay.tracer.abi.trace_frame import FLAG_FIRST_HIT, FRAME, NO_PROGRAM, STATUS, VERDICT
from rayplay.tracer.abi.words import ITEM, KIND, MACHINE, MODE, RAY, SCENE, STOP, USED
from rayplay.tracer.native.calls import call_traversal
from rayplay.tracer.native.jit import compiled, inlined_entry_point
from rayplay.tracer.warp.report import advance_report
from rayplay.tracer.warp.stack import PHASE_END, PHASE_PROGRAMS, PHASE_TRAVERSE, push_program
from rayplay.tracer.warp.warps import Warps

NOBODY = np.uint32(0xFFFFFFFF)
INFINITY_BITS = np.uint32(0x7F800000)


@inlined_entry_point
def advance(w: Warps, warp: int) -> int:
    """Work on the control stack until a function is innermost: RUN; WARP_DONE when the stack is empty."""
    while w.depth[warp] > 0:
        item = w.items[warp, w.depth[warp] - 1]
        if item[ITEM.kind] == words.ITEM_ACTIVATION:
            return STOP.none
        code = _advance_trace(w, warp, item) if item[ITEM.kind] == words.ITEM_TRACE else advance_report(w, warp, item)
        if code != STOP.none:
            return code
    return STOP.warp_done


@compiled
def _advance_trace(w: Warps, warp: int, item: np.ndarray) -> int:
    """One step of a trace call: a traversal of all its waiting lanes, or the start of one program."""
    frame = item[ITEM.frame]
    if item[ITEM.phase] == PHASE_TRAVERSE:
        if w.counts[USED.rays] + LANES > w.rays.shape[0]:
            return STOP.full
        if w.counts[USED.nodes] + LANES * words.LOG_WORDS > w.nodes.shape[0]:
            return STOP.full
        for lane in range(LANES):
            if item[ITEM.todo] >> lane & 1 and not _traverse(w, item, lane):
                w.machine[MACHINE.error_lane], w.machine[MACHINE.suspend_instruction] = lane, item[ITEM.instruction]
                return STOP.long_stretch
        waiting = _suspended_lanes(w, frame, item[ITEM.todo])
        item[ITEM.todo], item[ITEM.round] = waiting, waiting
        item[ITEM.segment] += 1
        item[ITEM.phase] = PHASE_PROGRAMS if waiting else PHASE_END
        if not waiting and item[ITEM.mode] == MODE.traverse:
            _keep_hit_objects(w, frame, item[ITEM.lanes])
        elif not waiting:
            item[ITEM.round] = item[ITEM.lanes]
        return STOP.none
    group, program = _next_group(w, frame, item[ITEM.round])
    if group == 0:
        if item[ITEM.phase] == PHASE_PROGRAMS:
            item[ITEM.phase] = PHASE_TRAVERSE
        else:
            w.depth[warp] -= 1
        return STOP.none
    item[ITEM.round] &= ~group
    return _start_group(w, warp, frame, group, program)


@compiled
def _keep_hit_objects(w: Warps, frame: int, lanes: int) -> None:
    """The trace call in ``frame`` becomes the hit objects of the program that made it."""
    for lane in range(LANES):
        if lanes >> lane & 1:
            for row in range(FRAME.payload_0):
                w.objects[frame, row, lane] = w.frames[frame, row, lane]


@compiled
def _start_group(w: Warps, warp: int, frame: int, group: int, program: int) -> int:
    """Run ``program`` for the lanes of ``group``, which share it."""
    lane = 0
    while not group >> lane & 1:
        lane += 1
    status = w.frames[frame, FRAME.status, lane]
    verdict = VERDICT.accepted if status == STATUS.any_hit else VERDICT.none
    for each in range(LANES):
        if group >> each & 1:
            w.frames[frame, FRAME.verdict, each] = verdict
    if status == STATUS.any_hit:
        return push_program(w, warp, program, group, KIND.any_hit, frame, FRAME.candidate_record)
    if status == STATUS.intersection:
        return push_program(w, warp, program, group, KIND.intersection, frame, FRAME.candidate_record)
    if status == STATUS.hit:
        return push_program(w, warp, program, group, KIND.closest_hit, frame, FRAME.committed_record)
    return push_program(w, warp, program, group, KIND.miss, frame, FRAME.miss_index)


@compiled
def _traverse(w: Warps, item: np.ndarray, lane: int) -> bool:
    """One stretch of one lane, and its row in ``rays``; False when the traversal cannot go on."""
    frame = item[ITEM.frame]
    used = w.counts[USED.nodes]
    log = w.nodes.ctypes.data + 4 * used
    written = call_traversal(
        w.scene[SCENE.code],
        w.scene[SCENE.context],
        w.frames[frame].ctypes.data,
        w.states[frame, lane].ctypes.data,
        lane,
        log,
    )
    if written < 0:
        w.machine[MACHINE.error_address] = written
        return False
    fields = w.frames[frame]
    amends = w.scene[SCENE.delayed] != 0 and item[ITEM.segment] > 0
    if amends and fields[FRAME.status, lane] in (STATUS.any_hit, STATUS.intersection):
        return True
    row = w.rays[w.counts[USED.rays]]
    visits = (w.machine[MACHINE.visit_next] - w.machine[MACHINE.visit_origin]) // words.VISIT_BYTES
    row[RAY.visit], row[RAY.instruction] = visits - 1, item[ITEM.instruction]
    row[RAY.lane], row[RAY.segment] = lane, words.AMENDMENT if amends else item[ITEM.segment]
    row[RAY.kind] = 1 if fields[FRAME.flags, lane] & FLAG_FIRST_HIT else 0
    for axis in range(6):
        row[RAY.origin_x + axis] = fields[FRAME.origin_x + axis, lane]
    row[RAY.t_min], row[RAY.t_max] = fields[FRAME.t_min, lane], fields[FRAME.t_max, lane]
    hit = fields[FRAME.committed_instance, lane] != NOBODY
    row[RAY.hit_t] = fields[FRAME.committed_t, lane] if hit else INFINITY_BITS
    row[RAY.instance] = fields[FRAME.committed_instance, lane] if hit else NOBODY
    row[RAY.primitive] = fields[FRAME.committed_primitive, lane] if hit else NOBODY
    row[RAY.nodes], row[RAY.frame] = written, frame
    w.counts[USED.rays] += 1
    w.counts[USED.nodes] = used + written
    return True


@compiled
def _suspended_lanes(w: Warps, frame: int, lanes: int) -> int:
    waiting = 0
    for lane in range(LANES):
        if lanes >> lane & 1:
            status = w.frames[frame, FRAME.status, lane]
            if status in (STATUS.any_hit, STATUS.intersection):
                waiting |= 1 << lane
    return waiting


@compiled
def _next_group(w: Warps, frame: int, lanes: int) -> tuple[int, Any]:
    """The lanes with the lowest program id among ``lanes``, and that id; no lanes when none has a program."""
    lowest = np.int64(NO_PROGRAM)
    group = 0
    for lane in range(LANES):
        if lanes >> lane & 1:
            program = np.int64(w.frames[frame, FRAME.program, lane])
            if program < lowest:
                lowest, group = program, 0
            if program == lowest and program != NO_PROGRAM:
                group |= 1 << lane
    return group, lowest
