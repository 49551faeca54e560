"""What a warp does between units: it begins, issues instruction after instruction, waits at barriers, and retires."""

import numpy as np

from rayplay.replay.input.work import (
    ACCESS_FIRST,
    ACCESS_LAST,
    BARRIER,
    INITIATION_SHIFT,
    KIND_SHIFT,
    NO_SLOT,
    PLAIN,
    SLOT_SHIFT,
    STALL_SHIFT,
    STORE,
    TRACE_FIRST,
    TRACE_LAST,
    VISIT_FIRST,
    VISIT_LAST,
    WAIT_SHIFT,
    Program,
    Work,
    is_shared,
)  # fmt: skip
from rayplay.replay.jit.bits import FAR, compiled, count_bits, inlined
from rayplay.replay.jit.rows import CACHE_LINE_WORDS, prefetch
from rayplay.replay.lsu import entry as lsu_entry
from rayplay.replay.lsu.state import Lsu
from rayplay.replay.rt import entry as rt_unit_entry
from rayplay.replay.rt.state import RtUnit
from rayplay.replay.sm import ctas as dispatch
from rayplay.replay.sm import warps
from rayplay.replay.sm.ctas import ARRIVED, COUNT, FIRST, LIVE, MAX_CTAS, START, Dispatch
from rayplay.replay.sm.warps import (
    ACCESS,
    ACCESS_END,
    ALL_SLOTS,
    BLOCK_END,
    CHECKED,
    CODE,
    CTA,
    FIRST_VISIT,
    HELD_SLOT,
    INSTRUCTION,
    ISSUED,
    LAST,
    MASK,
    NUMBER,
    PARKED,
    PENDING,
    RANK,
    READY,
    READY_AT,
    RETIRED_CTAS,
    RETIRED_INSTRUCTIONS,
    RETIRED_WARPS,
    SINCE,
    STORES_SLOT,
    STREAM,
    THREADS,
    TRACE,
    TRACE_END,
    TRACE_MASK,
    VISIT,
    VISIT_END,
    WANTS,
    Warps,
)  # fmt: skip
from rayplay.replay.unit import cycle_stack as stack
from rayplay.replay.unit import cycle_stack_streams as stack_shares
from rayplay.replay.unit.streams import count_for

LANES = 32


@inlined
def start_visit(core: Warps, program: Program, work: Work, here: int) -> None:
    """Set a warp's next instruction to the first of its current visit, or finish it after its last."""
    warp = core.warp
    visit = warp[here, VISIT]
    if visit == warp[here, VISIT_END]:
        warp[here, INSTRUCTION] = -1
        warp[here, CODE] = ALL_SLOTS << WAIT_SHIFT
        return
    block = work.block[visit]
    prefetch(work.block, visit + 2 * CACHE_LINE_WORDS)
    prefetch(work.mask, visit + 2 * CACHE_LINE_WORDS)
    first = program.first[block]
    warp[here, INSTRUCTION] = first
    warp[here, BLOCK_END] = first + program.length[block]
    warp[here, MASK] = work.mask[visit]
    warp[here, THREADS] = count_bits(np.int64(work.mask[visit]))
    warp[here, CODE] = program.code[first]


@compiled
def launch(core: Warps, ctas: Dispatch, program: Program, work: Work, sm: int, now: int) -> None:
    """Start the CTA granted to the SM: its warps with work become the youngest of their schedulers."""
    cta, place = ctas.unit[sm, dispatch.CTA], ctas.unit[sm, dispatch.PLACE]
    ctas.unit[sm, START] = FAR
    row = sm * MAX_CTAS + place
    first = ctas.warps[cta, 0]
    live = 0
    for number in range(first, ctas.warps[cta, 1]):
        span = number - work.first_warp
        if work.span[span, VISIT_FIRST] == work.span[span, VISIT_LAST]:
            continue
        live += 1
        index = ctas.cta[row, FIRST] + number - first
        begin(core, program, work, sm, now, index, number, place, dispatch.stream_of(ctas, sm, place))
    ctas.cta[row, LIVE] = live


@compiled
def begin(
    core: Warps, program: Program, work: Work, sm: int, now: int, index: int, number: int, place: int, stream: int
) -> None:
    """Put a warp of the window into the SM; it may issue in this cycle."""
    here = sm * core.warps + index
    span = work.span[number - work.first_warp]
    warp = core.warp
    warp[here, VISIT] = span[VISIT_FIRST]
    warp[here, VISIT_END] = span[VISIT_LAST]
    warp[here, FIRST_VISIT] = span[VISIT_FIRST]
    warp[here, ACCESS] = span[ACCESS_FIRST]
    warp[here, ACCESS_END] = span[ACCESS_LAST]
    warp[here, TRACE] = span[TRACE_FIRST]
    warp[here, TRACE_END] = span[TRACE_LAST]
    warp[here, READY_AT] = now
    warp[here, PENDING] = 0
    warp[here, PARKED] = 0
    warp[here, NUMBER] = number
    warp[here, CTA] = place
    warp[here, STREAM] = stream
    warp[here, SINCE] = now
    warp[here, ISSUED] = 0
    start_visit(core, program, work, here)
    warps.join(core, sm, now, index)
    warps.set_ready(core, sm, index)


@inlined
def go_on(core: Warps, ctas: Dispatch, sm: int, now: int, index: int) -> None:
    """A warp has nothing left to wait for: it may issue, or retires when it has finished."""
    if core.warp[sm * core.warps + index, INSTRUCTION] >= 0:
        warps.set_ready(core, sm, index)
    else:
        retire(core, ctas, sm, now, index)


@compiled
def release(core: Warps, ctas: Dispatch, sm: int, now: int, index: int, slot: int) -> None:
    """A result of a warp's slot has come."""
    if warps.release(core, sm, now, index, slot):
        go_on(core, ctas, sm, now, index)


@compiled
def retire(core: Warps, ctas: Dispatch, sm: int, now: int, index: int) -> None:
    """A warp is over: leave the scheduler, free the place of a finished CTA, let a barrier go on without the warp."""
    here = sm * core.warps + index
    warps.leave(core, sm, now, index)
    count_for(core, sm, core.warp[here, STREAM])
    core.stats[sm, RETIRED_WARPS] += 1
    core.stats[sm, RETIRED_INSTRUCTIONS] += core.warp[here, ISSUED]
    place = core.warp[here, CTA]
    row = sm * MAX_CTAS + place
    ctas.cta[row, LIVE] -= 1
    if ctas.cta[row, LIVE] == 0:
        core.stats[sm, RETIRED_CTAS] += 1
        dispatch.end_cta(ctas, sm, now, place)
    elif ctas.cta[row, ARRIVED] == ctas.cta[row, LIVE]:
        open_barrier(core, ctas, sm, now, place)


@compiled
def arrive(core: Warps, ctas: Dispatch, sm: int, now: int, index: int) -> None:
    """A warp reaches a barrier: it is held until every warp of its CTA that still runs has come."""
    place = core.warp[sm * core.warps + index, CTA]
    row = sm * MAX_CTAS + place
    warps.hold(core, sm, index, HELD_SLOT, 1)
    core.warp[sm * core.warps + index, TRACE_MASK] = -1
    ctas.cta[row, ARRIVED] += 1
    if ctas.cta[row, ARRIVED] == ctas.cta[row, LIVE]:
        open_barrier(core, ctas, sm, now, place)


@compiled
def open_barrier(core: Warps, ctas: Dispatch, sm: int, now: int, place: int) -> None:
    """Release every warp of the CTA that waits at the barrier; they go on in the next cycle.

    They come back through the wheel and not by ``go_on``: machine code that calls itself through other functions
    cannot be loaded from numba's cache.
    """
    row = sm * MAX_CTAS + place
    ctas.cta[row, ARRIVED] = 0
    count_for(core, sm, dispatch.stream_of(ctas, sm, place))
    core.stats[sm, warps.BARRIERS] += 1
    for index in range(ctas.cta[row, FIRST], ctas.cta[row, FIRST] + ctas.cta[row, COUNT]):
        here = sm * core.warps + index
        if core.warp[here, CTA] == place and core.warp[here, TRACE_MASK] == -1 and core.pending[here, HELD_SLOT]:
            core.warp[here, TRACE_MASK] = 0
            core.warp[here, READY_AT] = max(core.warp[here, READY_AT], now + 1)  # of one not looked at in this cycle
            if warps.release(core, sm, now, index, HELD_SLOT):
                warps.stall_until(core, sm, core.warp[here, RANK], now, now + 1, 1)


@compiled
def account_lanes(core: Warps, lane_cycles: np.ndarray, here: int, now: int, mask: int) -> None:
    """Add the cycles since the last call to the lanes in ``mask``."""
    elapsed = now - core.warp[here, SINCE]
    core.warp[here, SINCE] = now
    if lane_cycles.shape[0] > 1:
        row = lane_cycles[core.warp[here, NUMBER]]
        for lane in range(LANES):
            row[lane] += elapsed * ((mask >> lane) & 1)


@inlined
def issue(
    core: Warps, ctas: Dispatch, lsus: Lsu, rays: RtUnit, program: Program, work: Work, lane_cycles: np.ndarray,
    sm: int, now: int, scheduler: int, lane: int, rank: int,
) -> None:  # fmt: skip
    """Issue the next instruction of a scheduler's warp: start its work in its unit, stall the warp, and move it on."""
    index, bit, warp = core.member[sm, rank], 1 << rank, core.warp
    here = sm * core.warps + index
    code = warp[here, CODE]
    kind = (code >> KIND_SHIFT) & 15
    if kind == BARRIER:
        arrive(core, ctas, sm, now, index)
    elif kind != PLAIN:
        issue_memory(core, lsus, work, sm, now, index, kind, (code >> SLOT_SHIFT) & 15)
    warp[here, ISSUED] += 1
    unit = code & 15
    core.free_at[scheduler, unit] = now + ((code >> INITIATION_SHIFT) & 0xFFFF)
    core.mask[sm, READY] &= ~bit
    core.mask[sm, LAST] = core.mask[sm, LAST] & ~lane | bit
    count_for(core, sm, warp[here, STREAM])
    core.stats[sm, warps.UNIT_ISSUES + unit] += 1
    core.stats[sm, warps.UNIT_THREADS + unit] += warp[here, THREADS]
    stack.issued(core, scheduler, now)
    stack_shares.issued(core, scheduler, warp[here, STREAM])
    if warp[here, INSTRUCTION] + 1 < warp[here, BLOCK_END]:
        warp[here, INSTRUCTION] += 1
        warp[here, CODE] = program.code[warp[here, INSTRUCTION]]
    else:
        end_visit(core, rays, program, work, lane_cycles, sm, now, index, here)
    next_unit = warp[here, CODE] & 15
    core.mask[sm, WANTS + unit] &= ~bit  # mostly the units differ: asking whether they do takes longer
    core.mask[sm, WANTS + next_unit] |= bit
    warp[here, READY_AT] = now + ((code >> STALL_SHIFT) & 0xFFFF)
    warps.stall_until(core, sm, rank, now, warp[here, READY_AT], warps.awaited(core, here) != 0)


@inlined
def end_visit(
    core: Warps, rays: RtUnit, program: Program, work: Work, lane_cycles: np.ndarray, sm: int, now: int, index: int,
    here: int,
) -> None:  # fmt: skip
    """The visit's last instruction has issued: its rays go to the RT unit and hold the warp; the next visit begins."""
    warp = core.warp
    account_lanes(core, lane_cycles, here, now, warp[here, MASK])
    visit = warp[here, VISIT] - warp[here, FIRST_VISIT]
    trace = warp[here, TRACE]
    if trace < warp[here, TRACE_END] and work.trace_visit[trace] == visit:
        warps.hold(core, sm, index, HELD_SLOT, 1)
        warp[here, TRACE_MASK] = warp[here, MASK]
        rt_unit_entry.enqueue(rays, sm, now + 1, index, trace, warp[here, STREAM])
        warp[here, TRACE] = trace + 1
    warp[here, VISIT] += 1
    start_visit(core, program, work, here)
    core.mask[sm, CHECKED] |= (warp[here, INSTRUCTION] < 0) << warp[here, RANK]  # nothing left to issue


@inlined
def issue_memory(core: Warps, lsus: Lsu, work: Work, sm: int, now: int, index: int, kind: int, slot: int) -> None:
    """Send a memory instruction's access, if any lane made one, to the LSU and hold its scoreboard slot."""
    here = sm * core.warps + index
    access = core.warp[here, ACCESS]
    visit = core.warp[here, VISIT] - core.warp[here, FIRST_VISIT]
    if access == core.warp[here, ACCESS_END] or work.access_key[access] != (visit << 32 | core.warp[here, INSTRUCTION]):
        return
    core.warp[here, ACCESS] = access + 1
    if slot < NO_SLOT:
        warps.hold(core, sm, index, slot, 1)
    if kind == STORE and not (lsus.perfect or is_shared(work, access)):
        sectors = work.access_first[access + 1] - work.access_first[access]
        warps.hold(core, sm, index, STORES_SLOT, sectors)
    lsu_entry.enqueue(lsus, work, sm, now, index, kind, slot, access, core.warp[here, STREAM])
