"""A reported intersection: the test against the ray's interval, and any-hit programs before it is committed."""

from typing import Any

import numpy as np

from rayplay.tracer.abi.layout import LANES
from rayplay.tracer.abi.trace_frame import (
    ATTRIBUTE_COUNT,
    FLAG_FIRST_HIT,
    FLAG_FORCE_ANY_HIT,
    FLAG_NO_ANY_HIT,
    FRAME,
    HIT_ROWS,
    NO_PROGRAM,
    VERDICT,
)
from rayplay.tracer.abi.words import ITEM, KIND, REPORT, STOP
from rayplay.tracer.native.jit import compiled
from rayplay.tracer.warp.left_calls import leave_activations
from rayplay.tracer.warp.stack import push_program
from rayplay.tracer.warp.warps import Warps

REPORT_BEGIN, REPORT_RUNNING = 0, 1


@compiled
def advance_report(w: Warps, warp: int, item: np.ndarray) -> int:
    """One step of a reported intersection: its candidates, then their any-hit programs, group by group."""
    frame = item[ITEM.frame]
    if item[ITEM.phase] == REPORT_BEGIN:
        item[ITEM.phase] = REPORT_RUNNING
        for lane in range(LANES):
            if item[ITEM.todo] >> lane & 1:
                _offer(w, frame, lane, item)
        return STOP.none
    _judge(w, frame, item)
    group, program = _next_any_hit(w, frame, item[ITEM.round])
    if group == 0:
        _end_terminated(w, warp, frame, item[ITEM.todo])
        w.depth[warp] -= 1
        return STOP.none
    item[ITEM.round] &= ~group
    item[ITEM.group] = group
    for lane in range(LANES):
        if group >> lane & 1:
            w.frames[frame, FRAME.verdict, lane] = VERDICT.accepted
    return push_program(w, warp, program, group, KIND.any_hit, frame, FRAME.candidate_record)


@compiled
def _offer(w: Warps, frame: int, lane: int, item: np.ndarray) -> None:
    """Test a lane's intersection against the ray's interval; commit it, or leave it to its any-hit program."""
    fields, report = w.frames[frame], w.report
    report[REPORT.answer, lane] = 0
    t = report.view(np.float32)[REPORT.t, lane]
    floats = fields.view(np.float32)
    if not (floats[FRAME.t_min, lane] <= t and t <= floats[FRAME.committed_t, lane]):
        return
    fields[FRAME.candidate_t, lane], fields[FRAME.candidate_kind, lane] = (
        report[REPORT.t, lane],
        report[REPORT.kind, lane],
    )
    for index in range(ATTRIBUTE_COUNT):
        fields[FRAME.candidate_attribute + index, lane] = report[REPORT.attribute + index, lane]
    if _any_hit_program(w, frame, lane) < 0:
        _commit(w, frame, lane)
    else:
        item[ITEM.round] |= 1 << lane


@compiled
def _any_hit_program(w: Warps, frame: int, lane: int) -> int:
    """The any-hit program of a lane's candidate, -1 when it has none or the candidate is opaque."""
    flags = w.frames[frame, FRAME.flags, lane]
    first = w.first_geometry[w.frames[frame, FRAME.candidate_instance, lane]]
    opaque = w.opaque[first + w.frames[frame, FRAME.candidate_geometry, lane]] != 0 or flags & FLAG_NO_ANY_HIT != 0
    if opaque and flags & FLAG_FORCE_ANY_HIT == 0:
        return -1
    return w.hit_programs[w.frames[frame, FRAME.candidate_record, lane], 1]


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
        if item[ITEM.group] >> lane & 1:
            verdict = w.frames[frame, FRAME.verdict, lane]
            w.frames[frame, FRAME.verdict, lane] = VERDICT.none
            if verdict != VERDICT.ignored:
                _commit(w, frame, lane)
                if verdict == VERDICT.terminated:
                    w.frames[frame, FRAME.verdict, lane] = VERDICT.terminated
    item[ITEM.group] = 0


@compiled
def _commit(w: Warps, frame: int, lane: int) -> None:
    fields = w.frames[frame]
    for row in range(HIT_ROWS):
        fields[FRAME.committed_t + row, lane] = fields[FRAME.candidate_t + row, lane]
    w.report[REPORT.answer, lane] = 1
    if fields[FRAME.flags, lane] & FLAG_FIRST_HIT:
        fields[FRAME.verdict, lane] = VERDICT.terminated


@compiled
def _end_terminated(w: Warps, warp: int, frame: int, lanes: int) -> None:
    """Lanes whose ray has ended leave the intersection program, and the functions it is in."""
    ended = 0
    for lane in range(LANES):
        if lanes >> lane & 1 and w.frames[frame, FRAME.verdict, lane] == VERDICT.terminated:
            ended |= 1 << lane
    leave_activations(w, warp, w.depth[warp] - 2, ended)
