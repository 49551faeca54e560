"""GATSim's abstract timing model: Algorithm 1 of the paper (Punniyamurthy, Boroujerdian, Gerstlauer), for comparison.

Each SM runs its own CTAs with its own clock; the kernel takes as long as its slowest SM. A warp issues one
instruction and is not ready again until the instruction's latency has passed: the one that the characterisation gives
as stall (without a characterisation, its class's), or for a special instruction the time in its unit. A unit is
occupied all that time, so a load blocks its warp and its load/store unit. Peak rate: one warp-instruction per cycle
and scheduler. What the paper leaves open is decided as ``DEVIATIONS.md`` lists (G1 to G12).

Algorithm 1 counts an occupancy vector down; here the vector is the timing wheel of ``sm.warps``, so that cycles in
which no warp becomes ready cost nothing. ``tests/reference/gatsim_slow.py`` counts down, and is equal in every cycle.
"""

import numpy as np

from rayplay.replay.input import work as op
from rayplay.replay.input.work import Program, Work
from rayplay.replay.jit.bits import FAR, compiled, entry_point, inlined, lowest_bit
from rayplay.replay.sm import barrier, visit, warps
from rayplay.replay.sm import ctas as dispatch
from rayplay.replay.sm.gatsim import units
from rayplay.replay.sm.gatsim.units import Gatsim, occupy, special_cycles
from rayplay.replay.sm.policies import pick
from rayplay.replay.sm.rays import traces
from rayplay.replay.sm.warps import Warps

NOT_LOADED = -1  # in place of a cycle


@entry_point
def run(state: Gatsim, core: Warps, program: Program, work: Work, longest: np.ndarray, loaded_warps: int) -> bool:
    """Run every SM as far as the loaded warps reach; True when all have completed their CTAs.

    longest  int64[trace operations]: records of the longest lane of each.
    """
    complete = True
    for sm in range(state.clock.shape[0]):
        complete &= advance(state, core, program, work, longest, sm, loaded_warps)
    return complete


@inlined
def advance(
    state: Gatsim, core: Warps, program: Program, work: Work, longest: np.ndarray, sm: int, loaded_warps: int
) -> bool:
    """Run one SM; False where it needs a CTA that is not loaded."""
    now = state.clock[sm]
    while now < FAR:
        state.clock[sm] = now
        now = cycle(state, core, program, work, longest, sm, now, loaded_warps)
        if now == NOT_LOADED:
            return False
    return True


@inlined
def cycle(
    state: Gatsim, core: Warps, program: Program, work: Work, longest: np.ndarray, sm: int, now: int, loaded_warps: int
) -> int:
    """Algorithm 1's loop: one cycle of an SM. Returns the next in which anything happens, FAR after the last."""
    end_latencies(state, core, sm, now)
    while state.free_places[sm] and state.next_cta[sm] < state.bounds.shape[0]:
        if state.bounds[state.next_cta[sm], 1] > loaded_warps:
            return NOT_LOADED
        start_cta(state, core, program, work, sm, now)
    retry = issue(state, core, program, work, longest, sm, now)
    return now + 1 if retry == now + 1 else min(retry, warps.next_stall_end(core, sm, now))


@inlined
def end_latencies(state: Gatsim, core: Warps, sm: int, now: int) -> None:
    """Warps whose entry of the occupancy vector is 0 now are ready, or finished."""
    warps.end_stalls(core, sm, now)
    rank = warps.next_checked(core, sm, now)
    while rank >= 0:
        index = core.member[sm, rank]
        here = sm * core.warps + index
        if core.warp[here, warps.READY_AT] > now:
            warps.stall_until(core, sm, rank, now, core.warp[here, warps.READY_AT], 1)
        elif core.warp[here, warps.INSTRUCTION] >= 0:
            warps.set_ready(core, sm, index)
        else:
            finish(state, core, sm, now, index)
        rank = warps.next_checked(core, sm, now)


@compiled
def finish(state: Gatsim, core: Warps, sm: int, now: int, index: int) -> None:
    """A warp retires: its CTA ends with the last one, and a barrier does not wait for it."""
    warps.leave(core, sm, now, index)
    core.stats[sm, warps.RETIRED_WARPS] += 1
    place = core.warp[sm * core.warps + index, warps.CTA]
    pass_barrier(core, sm, now, barrier.leave(core, sm, index))
    if core.barrier[barrier.row_of(core, sm, index), warps.RUNNING] == 0:
        core.stats[sm, warps.RETIRED_CTAS] += 1
        state.free_places[sm] |= 1 << place


@compiled
def start_cta(state: Gatsim, core: Warps, program: Program, work: Work, sm: int, now: int) -> None:
    """The SM's next CTA takes a free place; its warps are ready at once."""
    place = lowest_bit(state.free_places[sm])
    state.free_places[sm] &= state.free_places[sm] - 1
    number = state.next_cta[sm]
    state.next_cta[sm] += state.clock.shape[0]
    first, running = state.bounds[number, 0], 0
    for warp in range(first, state.bounds[number, 1]):
        if not visit.has_work(work, warp):
            continue
        index = place * state.warps_per_cta + warp - first
        running |= 1 << index
        here = sm * core.warps + index
        visit.begin(core, program, work, here, now, warp, place, 0)
        show(core, program, work, here)
        warps.join(core, sm, now, index)
        warps.set_ready(core, sm, index)
    core.barrier[sm * dispatch.MAX_CTAS + place, warps.RUNNING] = running


@inlined
def show(core: Warps, program: Program, work: Work, here: int) -> None:
    """Note the unit of a warp's next instruction, if it has one: it is regular without an access and without a ray."""
    row = core.warp[here]
    if row[warps.INSTRUCTION] < 0:
        return
    code = program.code[row[warps.INSTRUCTION]]
    unit = code & 15
    if unit != units.SFU and not (unit == op.LSU and visit.has_access(core, work, here)):
        unit = units.REGULAR
    if row[warps.INSTRUCTION] + 1 == row[warps.BLOCK_END] and traces(core, work, here):
        unit = units.RT
    row[warps.CODE] = (code & ~15) | unit


@inlined
def issue(state: Gatsim, core: Warps, program: Program, work: Work, longest: np.ndarray, sm: int, now: int) -> int:
    """Each scheduler issues one ready warp whose unit is free. Returns the next cycle to try again, FAR for none."""
    retry, issued = FAR, 0
    for scheduler in range(core.schedulers):
        lane = core.lane[scheduler]
        candidates, last = warps.candidates_of(core, sm, lane), core.mask[sm, warps.LAST] & lane
        while candidates:
            index = core.member[sm, pick(core.policy, candidates, last)]
            unit = core.warp[sm * core.warps + index, warps.CODE] & 15
            free_at = state.free_at[sm * warps.UNITS + unit]
            if free_at <= now:
                issue_warp(state, core, program, work, longest, sm, now, index, lane)
                issued += 1
                retry = now + 1 if core.mask[sm, warps.READY] & lane else retry
                break
            retry = min(retry, free_at)
            candidates &= ~core.mask[sm, warps.WANTS + unit]
    core.stats[sm, warps.WARP_INSTRUCTIONS] += issued
    core.stats[sm, warps.ISSUE_CYCLES] += issued > 0
    return retry


@inlined
def issue_warp(
    state: Gatsim, core: Warps, program: Program, work: Work, longest: np.ndarray, sm: int, now: int, index: int,
    lane: int,
) -> None:  # fmt: skip
    """Lines 9 to 20: the latency of the warp's instruction, and its next program counter."""
    here = sm * core.warps + index
    warp = core.warp[here]
    code, bit = warp[warps.CODE], 1 << warp[warps.RANK]
    unit, latency = code & 15, (code >> op.STALL_SHIFT) & 0xFFFF
    if unit != units.REGULAR:
        taken = special_cycles(state, work, longest, sm, warp, code)
        occupy(state, sm * warps.UNITS + unit, state.units[unit], now, now + taken)
        latency = max(latency, taken)
        core.mask[sm, warps.ACTIVE] &= ~bit
    core.mask[sm, warps.READY] &= ~bit
    core.mask[sm, warps.LAST] = core.mask[sm, warps.LAST] & ~lane | bit
    core.stats[sm, warps.UNIT_ISSUES + unit] += 1
    core.stats[sm, warps.UNIT_THREADS + unit] += warp[warps.THREADS]
    if warp[warps.INSTRUCTION] + 1 < warp[warps.BLOCK_END]:
        warp[warps.INSTRUCTION] += 1
    else:
        warp[warps.TRACE] += unit == units.RT
        warp[warps.VISIT] += 1
        visit.start(core, program, work, here)
    show(core, program, work, here)
    next_unit = warp[warps.CODE] & 15
    core.mask[sm, warps.WANTS + unit] &= ~bit
    core.mask[sm, warps.WANTS + next_unit] |= bit
    if (code >> op.KIND_SHIFT) & 15 == op.BARRIER:
        arrive(core, sm, now, index, latency)
    else:
        warp[warps.READY_AT] = now + latency
        warps.stall_until(core, sm, warp[warps.RANK], now, now + latency, warp[warps.INSTRUCTION] < 0)


@inlined
def arrive(core: Warps, sm: int, now: int, index: int, latency: int) -> None:
    """A warp reaches a barrier: it is held until every warp of its CTA has come, and ``latency`` more cycles."""
    warp = core.warp[sm * core.warps + index]
    warp[warps.PENDING] = latency
    core.mask[sm, warps.ACTIVE] &= ~(1 << warp[warps.RANK])
    pass_barrier(core, sm, now, barrier.arrive(core, sm, index))


@inlined
def pass_barrier(core: Warps, sm: int, now: int, arrived: int) -> None:
    """The warps of a mask pass their barrier, each after its latency."""
    while arrived:
        warp = core.warp[sm * core.warps + lowest_bit(arrived)]
        arrived &= arrived - 1
        warp[warps.READY_AT] = now + warp[warps.PENDING]
        warps.stall_until(core, sm, warp[warps.RANK], now, warp[warps.READY_AT], warp[warps.INSTRUCTION] < 0)
