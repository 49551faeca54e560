"""GATSim's abstract timing model: Algorithm 1 of the paper (Punniyamurthy, Boroujerdian, Gerstlauer), for comparison.

Each SM runs its own threadblocks with its own clock; the kernel takes as long as its slowest SM. A warp issues one
instruction and is not ready again until the instruction's latency has passed: the one that the characterisation gives
as stall (without a characterisation, that of its class), or for a special instruction what its unit takes. A unit is
occupied all that time, so a load blocks its warp and its load/store unit. Peak rate: one warp-instruction per cycle
and scheduler. What the paper leaves open is decided as ``DEVIATIONS.md`` lists (G1 to G12).

Algorithm 1 counts an occupancy vector down; here the vector is the wheel of ``scheduler.py``, so that nothing is done
in cycles in which no warp becomes ready. ``tests/reference/gatsim_slow.py`` counts down, and is equal in every cycle.
"""

import numpy as np

from rayplay.replay.input.work import (
    ACCESS_FIRST,
    ACCESS_LAST,
    BARRIER,
    KIND_SHIFT,
    LSU,
    STALL_SHIFT,
    TRACE_FIRST,
    TRACE_LAST,
    VISIT_FIRST,
    VISIT_LAST,
    Program,
    Work,
)  # fmt: skip
from rayplay.replay.jit.bits import FAR, compiled, count_bits, entry_point, inlined, lowest_bit
from rayplay.replay.sm import warps
from rayplay.replay.sm.gatsim.units import ARRIVED, LIVE, PLACES, REGULAR, RT, SFU, Gatsim, occupy, special_cycles
from rayplay.replay.sm.warps import (
    ACCESS,
    ACCESS_END,
    ACTIVE,
    BLOCK_END,
    CODE,
    CTA,
    FIRST_VISIT,
    INSTRUCTION,
    LAST,
    NUMBER,
    PENDING,
    RANK,
    READY,
    READY_AT,
    THREADS,
    TRACE,
    TRACE_END,
    VISIT,
    VISIT_END,
    WANTS,
    Warps,
)  # fmt: skip

NOT_LOADED = -1  # in place of a cycle


@entry_point
def run(state: Gatsim, core: Warps, program: Program, work: Work, longest: np.ndarray, loaded_warps: int) -> bool:
    """Run every SM as far as the loaded warps reach; True when all have completed their threadblocks.

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
    """Run one SM; False where it needs a threadblock that is not loaded."""
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
    while state.free_places[sm] and state.next_block[sm] < state.bounds.shape[0]:
        if state.bounds[state.next_block[sm], 1] > loaded_warps:
            return NOT_LOADED
        start_block(state, core, program, work, sm, now)
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
        if core.warp[here, READY_AT] > now:
            warps.stall_until(core, sm, rank, now, core.warp[here, READY_AT], 1)
        elif core.warp[here, INSTRUCTION] >= 0:
            warps.set_ready(core, sm, index)
        else:
            finish(state, core, sm, now, index)
        rank = warps.next_checked(core, sm, now)


@compiled
def finish(state: Gatsim, core: Warps, sm: int, now: int, index: int) -> None:
    """A warp is over: its threadblock ends with the last one, and a barrier does not wait for it."""
    warps.leave(core, sm, now, index)
    core.stats[sm, warps.RETIRED_WARPS] += 1
    place = core.warp[sm * core.warps + index, CTA]
    row = sm * PLACES + place
    state.block[row, LIVE] -= 1
    if state.block[row, LIVE] == 0:
        core.stats[sm, warps.RETIRED_CTAS] += 1
        state.free_places[sm] |= 1 << place
    elif state.block[row, ARRIVED] == state.block[row, LIVE]:
        open_barrier(state, core, sm, now, place)


@compiled
def start_block(state: Gatsim, core: Warps, program: Program, work: Work, sm: int, now: int) -> None:
    """The SM's next threadblock takes a free place; its warps are ready at once."""
    place = lowest_bit(state.free_places[sm])
    state.free_places[sm] &= state.free_places[sm] - 1
    number = state.next_block[sm]
    state.next_block[sm] += state.clock.shape[0]
    first = state.bounds[number, 0]
    live = 0
    for warp in range(first, state.bounds[number, 1]):
        span = work.span[warp - work.first_warp]
        if span[VISIT_FIRST] == span[VISIT_LAST]:
            continue
        live += 1
        index = place * state.warps_per_block + warp - first
        row = core.warp[sm * core.warps + index]
        row[VISIT], row[VISIT_END], row[FIRST_VISIT] = span[VISIT_FIRST], span[VISIT_LAST], span[VISIT_FIRST]
        row[ACCESS], row[ACCESS_END] = span[ACCESS_FIRST], span[ACCESS_LAST]
        row[TRACE], row[TRACE_END] = span[TRACE_FIRST], span[TRACE_LAST]
        row[READY_AT], row[PENDING], row[NUMBER], row[CTA] = now, 0, warp, place
        start_visit(core, program, work, sm * core.warps + index)
        warps.join(core, sm, now, index)
        warps.set_ready(core, sm, index)
    state.block[sm * PLACES + place, LIVE] = live
    state.block[sm * PLACES + place, ARRIVED] = 0


@inlined
def start_visit(core: Warps, program: Program, work: Work, here: int) -> None:
    """The warp's program counter goes to the first instruction of its next block, or past the last (-1)."""
    row = core.warp[here]
    visit = row[VISIT]
    if visit == row[VISIT_END]:
        row[INSTRUCTION] = -1
        return
    block = work.block[visit]
    row[INSTRUCTION] = program.first[block]
    row[BLOCK_END] = program.first[block] + program.length[block]
    row[THREADS] = count_bits(np.int64(work.mask[visit]))
    load_instruction(core, program, work, here)


@inlined
def load_instruction(core: Warps, program: Program, work: Work, here: int) -> None:
    """Note the next instruction and the unit it needs: one that has no access and no ray is regular."""
    row = core.warp[here]
    instruction = row[INSTRUCTION]
    code = program.code[instruction]
    unit = code & 15
    visit = row[VISIT] - row[FIRST_VISIT]
    if unit == LSU:
        access = row[ACCESS]
        if access == row[ACCESS_END] or work.access_key[access] != (visit << 32 | instruction):
            unit = REGULAR
    elif unit != SFU:
        unit = REGULAR
    if instruction + 1 == row[BLOCK_END] and row[TRACE] < row[TRACE_END] and work.trace_visit[row[TRACE]] == visit:
        unit = RT
    row[CODE] = (code & ~15) | unit


@inlined
def issue(state: Gatsim, core: Warps, program: Program, work: Work, longest: np.ndarray, sm: int, now: int) -> int:
    """Each scheduler issues one ready warp whose unit is free. Returns the next cycle to try again, FAR for none."""
    retry, issued = FAR, 0
    for scheduler in range(core.schedulers):
        lane = core.lane[scheduler]
        candidates, last = warps.candidates_of(core, sm, lane), core.mask[sm, LAST] & lane
        while candidates:
            index = core.member[sm, warps.pick(candidates, last, core.policy)]
            unit = core.warp[sm * core.warps + index, CODE] & 15
            free_at = state.free_at[sm * warps.UNITS + unit]
            if free_at <= now:
                issue_warp(state, core, program, work, longest, sm, now, index, lane)
                issued += 1
                retry = now + 1 if core.mask[sm, READY] & lane else retry
                break
            retry = min(retry, free_at)
            candidates &= ~core.mask[sm, WANTS + unit]
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
    code, bit = warp[CODE], 1 << warp[RANK]
    unit, latency = code & 15, (code >> STALL_SHIFT) & 0xFFFF
    if unit != REGULAR:
        taken = special_cycles(state, work, longest, sm, warp, code)
        occupy(state, sm * warps.UNITS + unit, state.units[unit], now, now + taken)
        latency = max(latency, taken)
        core.mask[sm, ACTIVE] &= ~bit
    core.mask[sm, READY] &= ~bit
    core.mask[sm, LAST] = core.mask[sm, LAST] & ~lane | bit
    core.stats[sm, warps.UNIT_ISSUES + unit] += 1
    core.stats[sm, warps.UNIT_THREADS + unit] += warp[THREADS]
    if warp[INSTRUCTION] + 1 < warp[BLOCK_END]:
        warp[INSTRUCTION] += 1
        load_instruction(core, program, work, here)
    else:
        warp[TRACE] += unit == RT
        warp[VISIT] += 1
        start_visit(core, program, work, here)
    next_unit = warp[CODE] & 15
    core.mask[sm, WANTS + unit] &= ~bit
    core.mask[sm, WANTS + next_unit] |= bit
    if (code >> KIND_SHIFT) & 15 == BARRIER:
        arrive(state, core, sm, now, index, latency)
    else:
        warp[READY_AT] = now + latency
        warps.stall_until(core, sm, warp[RANK], now, now + latency, warp[INSTRUCTION] < 0)


@inlined
def arrive(state: Gatsim, core: Warps, sm: int, now: int, index: int, latency: int) -> None:
    """A warp reaches a barrier: it is held until every warp of its threadblock has come."""
    warp = core.warp[sm * core.warps + index]
    place = warp[CTA]
    row = sm * PLACES + place
    warp[PENDING] = latency
    core.mask[sm, ACTIVE] &= ~(1 << warp[RANK])
    state.block[row, ARRIVED] += 1
    if state.block[row, ARRIVED] == state.block[row, LIVE]:
        open_barrier(state, core, sm, now, place)


@compiled
def open_barrier(state: Gatsim, core: Warps, sm: int, now: int, place: int) -> None:
    """Every warp of the threadblock goes on, the barrier's latency after the last one has come."""
    state.block[sm * PLACES + place, ARRIVED] = 0
    core.stats[sm, warps.BARRIERS] += 1
    first = place * state.warps_per_block
    for index in range(first, first + state.warps_per_block):
        warp = core.warp[sm * core.warps + index]
        if warp[PENDING]:
            warp[READY_AT] = now + warp[PENDING]
            warp[PENDING] = 0
            warps.stall_until(core, sm, warp[RANK], now, warp[READY_AT], warp[INSTRUCTION] < 0)
