"""A reported intersection: the test against the ray's interval, and any-hit programs before it is committed."""

from typing import Any

import numpy as np

from rayplay.tracer.abi.trace_frame import (
    ATTRIBUTE_COUNT,
    FIELD,
    LANES,
    NO_PROGRAM,
    VERDICT_ACCEPTED,
    VERDICT_IGNORED,
    VERDICT_NONE,
    VERDICT_TERMINATED,
)
from rayplay.tracer.abi.words import KIND_ANY_HIT, REPORT_ANSWER, REPORT_ATTRIBUTE, REPORT_KIND, REPORT_T
from rayplay.tracer.native.jit import compiled
from rayplay.tracer.warp.stack import (
    ITEM_FRAME,
    ITEM_GROUP,
    ITEM_PHASE,
    ITEM_ROUND,
    ITEM_TODO,
    RUN,
    Warps,
    leave_activations,
    push_program,
)

REPORT_BEGIN, REPORT_RUNNING = 0, 1

VERDICT, FLAGS, T_MIN = FIELD["verdict"], FIELD["flags"], FIELD["t_min"]
COMMITTED_T, CANDIDATE_T = FIELD["committed_t"], FIELD["candidate_t"]
CANDIDATE_INSTANCE, CANDIDATE_KIND = FIELD["candidate_instance"], FIELD["candidate_kind"]
CANDIDATE_ATTRIBUTE, CANDIDATE_RECORD = FIELD["candidate_attribute_0"], FIELD["candidate_record"]
F_CANDIDATE_GEOMETRY = FIELD["candidate_geometry"]
HIT_ROWS = CANDIDATE_T - COMMITTED_T
FLAG_NO_ANY_HIT, FLAG_FORCE_ANY_HIT, FLAG_FIRST_HIT = 1, 2, 4


@compiled
def advance_report(w: Warps, warp: int, item: np.ndarray) -> int:
    """One step of a reported intersection: its candidates, then their any-hit programs, group by group."""
    frame = item[ITEM_FRAME]
    if item[ITEM_PHASE] == REPORT_BEGIN:
        item[ITEM_PHASE] = REPORT_RUNNING
        for lane in range(LANES):
            if item[ITEM_TODO] >> lane & 1:
                _offer(w, frame, lane, item)
        return RUN
    _judge(w, frame, item)
    group, program = _next_any_hit(w, frame, item[ITEM_ROUND])
    if group == 0:
        _end_terminated(w, warp, frame, item[ITEM_TODO])
        w.depth[warp] -= 1
        return RUN
    item[ITEM_ROUND] &= ~group
    item[ITEM_GROUP] = group
    for lane in range(LANES):
        if group >> lane & 1:
            w.frames[frame, VERDICT, lane] = VERDICT_ACCEPTED
    return push_program(w, warp, program, group, KIND_ANY_HIT, frame, CANDIDATE_RECORD)


@compiled
def _offer(w: Warps, frame: int, lane: int, item: np.ndarray) -> None:
    """Test a lane's intersection against the ray's interval; commit it, or leave it to its any-hit program."""
    fields, report = w.frames[frame], w.report
    report[REPORT_ANSWER, lane] = 0
    t = report.view(np.float32)[REPORT_T, lane]
    floats = fields.view(np.float32)
    if not (floats[T_MIN, lane] <= t and t <= floats[COMMITTED_T, lane]):
        return
    fields[CANDIDATE_T, lane], fields[CANDIDATE_KIND, lane] = report[REPORT_T, lane], report[REPORT_KIND, lane]
    for index in range(ATTRIBUTE_COUNT):
        fields[CANDIDATE_ATTRIBUTE + index, lane] = report[REPORT_ATTRIBUTE + index, lane]
    if _any_hit_program(w, frame, lane) < 0:
        _commit(w, frame, lane)
    else:
        item[ITEM_ROUND] |= 1 << lane


@compiled
def _any_hit_program(w: Warps, frame: int, lane: int) -> int:
    """The any-hit program of a lane's candidate, -1 when it has none or the candidate is opaque."""
    flags = w.frames[frame, FLAGS, lane]
    first = w.first_geometry[w.frames[frame, CANDIDATE_INSTANCE, lane]]
    opaque = w.opaque[first + w.frames[frame, F_CANDIDATE_GEOMETRY, lane]] != 0 or flags & FLAG_NO_ANY_HIT != 0
    if opaque and flags & FLAG_FORCE_ANY_HIT == 0:
        return -1
    return w.hit_programs[w.frames[frame, CANDIDATE_RECORD, lane], 1]


@compiled
def _next_any_hit(w: Warps, frame: int, lanes: int) -> tuple[int, Any]:
    lowest = np.int64(NO_PROGRAM)
    group = 0
    for lane in range(LANES):
        if lanes >> lane & 1:
            program = np.int64(_any_hit_program(w, frame, lane))
            if program < lowest:
                lowest, group = program, 0
            if program == lowest:
                group |= 1 << lane
    return group, lowest


@compiled
def _judge(w: Warps, frame: int, item: np.ndarray) -> None:
    """Act on the verdicts of the any-hit program that has just run."""
    for lane in range(LANES):
        if item[ITEM_GROUP] >> lane & 1:
            verdict = w.frames[frame, VERDICT, lane]
            w.frames[frame, VERDICT, lane] = VERDICT_NONE
            if verdict != VERDICT_IGNORED:
                _commit(w, frame, lane)
                if verdict == VERDICT_TERMINATED:
                    w.frames[frame, VERDICT, lane] = VERDICT_TERMINATED
    item[ITEM_GROUP] = 0


@compiled
def _commit(w: Warps, frame: int, lane: int) -> None:
    fields = w.frames[frame]
    for row in range(HIT_ROWS):
        fields[COMMITTED_T + row, lane] = fields[CANDIDATE_T + row, lane]
    w.report[REPORT_ANSWER, lane] = 1
    if fields[FLAGS, lane] & FLAG_FIRST_HIT:
        fields[VERDICT, lane] = VERDICT_TERMINATED


@compiled
def _end_terminated(w: Warps, warp: int, frame: int, lanes: int) -> None:
    """Lanes whose ray has ended leave the intersection program, and the functions it is in."""
    ended = 0
    for lane in range(LANES):
        if lanes >> lane & 1 and w.frames[frame, VERDICT, lane] == VERDICT_TERMINATED:
            ended |= 1 << lane
    leave_activations(w, warp, w.depth[warp] - 2, ended)
