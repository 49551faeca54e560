"""What a warp does between units: it begins, issues instruction after instruction, waits at barriers, and retires."""

from typing import NamedTuple

import numpy as np
from numba import njit

from replay import dispatch, lsu, rt_unit
from replay import scheduler as warps
from replay.bits import count_bits
from replay.dispatch import ARRIVED, GRANT_HEAD, LAST_RETIRED, LIVE, MAX_CTAS, State as Dispatch
from replay.l1 import State as L1
from replay.lsu import State as Lsu
from replay.port import State as Port
from replay.rt_unit import Records, State as Rt
from replay.scheduler import (
    ACCESS, ACCESS_END, ALL_SLOTS, BLOCK_END, CODE, CTA, FIRST_VISIT, HELD_BIT, HELD_SLOT, INSTRUCTION, ISSUED, MASK, NUMBER,
    PARKED, PENDING, READY_AT, RETIRED_CTAS, RETIRED_INSTRUCTIONS, RETIRED_WARPS, SINCE, STORES_SLOT, THREADS, TRACE,
    TRACE_END, TRACE_MASK, VISIT, VISIT_END, WAIT, State as Warps,
)  # fmt: skip
from replay.work import (
    ACCESS_FIRST, ACCESS_LAST, BARRIER, INITIATION_SHIFT, KIND_SHIFT, NO_SLOT, PLAIN, SLOT_SHIFT, STALL_SHIFT, STORE, TRACE_FIRST,
    TRACE_LAST, VISIT_FIRST, VISIT_LAST, WAIT_SHIFT, Program, Work,
)  # fmt: skip

LANES = 32


class Machine(NamedTuple):
    """Everything an SM touches while it runs, and nothing that another SM writes."""

    warps: Warps
    dispatch: Dispatch
    lsu: Lsu
    l1: L1
    rt: Rt
    port: Port
    program: Program
    work: Work
    records: Records
    lane_cycles: np.ndarray  # int64[warps or 1, 32]: cycles each lane was active, when wanted


@njit(cache=True)
def start_visit(state: Warps, program: Program, work: Work, here: int) -> None:
    """Set a warp's next instruction to the first of its current visit, or finish it after its last."""
    warp = state.warp
    visit = warp[here, VISIT]
    if visit == warp[here, VISIT_END]:
        warp[here, INSTRUCTION] = -1
        warp[here, WAIT] = ALL_SLOTS
        return
    block = work.block[visit]
    first = program.first[block]
    warp[here, INSTRUCTION] = first
    warp[here, BLOCK_END] = first + program.count[block]
    warp[here, MASK] = work.mask[visit]
    warp[here, THREADS] = count_bits(np.int64(work.mask[visit]))
    load_instruction(state, program, here)


@njit(cache=True)
def load_instruction(state: Warps, program: Program, here: int) -> None:
    """Fetch the code of a warp's next instruction: what it waits for."""
    code = program.code[state.warp[here, INSTRUCTION]]
    state.warp[here, CODE] = code
    state.warp[here, WAIT] = ((code >> WAIT_SHIFT) & 255) | HELD_BIT


@njit(cache=True)
def launch(machine: Machine, sm: int, now: int) -> None:
    """Start the next CTA granted to the SM: its warps with work become the youngest of their schedulers."""
    state, handed = machine.warps, machine.dispatch
    at = handed.unit[sm, GRANT_HEAD] & (MAX_CTAS - 1)
    handed.unit[sm, GRANT_HEAD] += 1
    cta, place = handed.grant[sm, at, 1], handed.grant[sm, at, 2]
    row = sm * MAX_CTAS + place
    handed.cta[row, ARRIVED] = 0
    first = handed.warps[cta, 0]
    live = 0
    for number in range(first, handed.warps[cta, 1]):
        span = number - machine.work.first_warp
        if machine.work.span[span, VISIT_FIRST] == machine.work.span[span, VISIT_LAST]:
            continue
        live += 1
        begin(machine, sm, now, place * handed.warps_per_cta + number - first, number, place)
    handed.cta[row, LIVE] = live


@njit(cache=True)
def begin(machine: Machine, sm: int, now: int, index: int, number: int, place: int) -> None:
    """Put a warp of the window into the SM; it may issue in this cycle."""
    state, work = machine.warps, machine.work
    here = sm * state.warps + index
    span = work.span[number - work.first_warp]
    warp = state.warp
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
    warp[here, SINCE] = now
    warp[here, ISSUED] = 0
    start_visit(state, machine.program, work, here)
    warps.join(state, sm, index)
    warps.set_ready(state, sm, index)


@njit(cache=True)
def go_on(machine: Machine, sm: int, now: int, index: int) -> None:
    """A warp has nothing left to wait for: it may issue, or retires when it has finished."""
    if machine.warps.warp[sm * machine.warps.warps + index, INSTRUCTION] >= 0:
        warps.set_ready(machine.warps, sm, index)
    else:
        retire(machine, sm, now, index)


@njit(cache=True)
def release(machine: Machine, sm: int, now: int, index: int, slot: int) -> None:
    """A result of a warp's slot has come."""
    if warps.release(machine.warps, sm, index, slot):
        go_on(machine, sm, now, index)


@njit(cache=True)
def retire(machine: Machine, sm: int, now: int, index: int) -> None:
    """A warp is over, and its CTA's barrier may have waited for it alone."""
    place = leave(machine, sm, now, index)
    cta = machine.dispatch.cta[sm * MAX_CTAS + place]
    if cta[LIVE] > 0 and cta[ARRIVED] == cta[LIVE]:
        open_barrier(machine, sm, now, place)


@njit(cache=True)
def leave(machine: Machine, sm: int, now: int, index: int) -> int:
    """Take a warp that is over from the scheduler, and free the place of a finished CTA; returns the place."""
    state, handed = machine.warps, machine.dispatch
    here = sm * state.warps + index
    warps.leave(state, sm, index)
    state.stats[sm, RETIRED_WARPS] += 1
    handed.unit[sm, LAST_RETIRED] = now
    state.stats[sm, RETIRED_INSTRUCTIONS] += state.warp[here, ISSUED]
    place = state.warp[here, CTA]
    row = sm * MAX_CTAS + place
    handed.cta[row, LIVE] -= 1
    if handed.cta[row, LIVE] == 0:
        state.stats[sm, RETIRED_CTAS] += 1
        dispatch.ask_for_cta(handed, sm, now, place)
    return place


@njit(cache=True)
def arrive(machine: Machine, sm: int, now: int, index: int) -> None:
    """A warp reaches a barrier: it is held until every warp of its CTA that still runs has come."""
    state, handed = machine.warps, machine.dispatch
    place = state.warp[sm * state.warps + index, CTA]
    row = sm * MAX_CTAS + place
    warps.hold(state, sm, index, HELD_SLOT, 1)
    state.warp[sm * state.warps + index, TRACE_MASK] = -1
    handed.cta[row, ARRIVED] += 1
    if handed.cta[row, ARRIVED] == handed.cta[row, LIVE]:
        open_barrier(machine, sm, now, place)


@njit(cache=True)
def open_barrier(machine: Machine, sm: int, now: int, place: int) -> None:
    """Release every warp of the CTA that waits at the barrier."""
    state, handed = machine.warps, machine.dispatch
    handed.cta[sm * MAX_CTAS + place, ARRIVED] = 0
    state.stats[sm, warps.BARRIERS] += 1
    first = place * handed.warps_per_cta
    for index in range(first, first + handed.warps_per_cta):
        here = sm * state.warps + index
        if state.warp[here, CTA] == place and state.warp[here, TRACE_MASK] == -1 and state.pending[here, HELD_SLOT]:
            state.warp[here, TRACE_MASK] = 0
            if warps.release(state, sm, index, HELD_SLOT):
                # Not ``go_on``: a warp that ends here cannot open the barrier again, and machine code that calls itself
                # through other functions cannot be loaded from numba's cache.
                if state.warp[here, INSTRUCTION] >= 0:
                    warps.set_ready(state, sm, index)
                else:
                    leave(machine, sm, now, index)


@njit(cache=True)
def account_lanes(machine: Machine, here: int, now: int, mask: int) -> None:
    """Add the cycles since the last call to the lanes in ``mask``."""
    state = machine.warps
    elapsed = now - state.warp[here, SINCE]
    state.warp[here, SINCE] = now
    if machine.lane_cycles.shape[0] > 1:
        row = machine.lane_cycles[state.warp[here, NUMBER]]
        for lane in range(LANES):
            row[lane] += elapsed * ((mask >> lane) & 1)


@njit(cache=True)
def issue(machine: Machine, sm: int, now: int, index: int) -> None:
    """Issue a warp's next instruction: start its work in its unit, stall the warp, and move it on."""
    state = machine.warps
    here = sm * state.warps + index
    warp = state.warp
    code = warp[here, CODE]
    kind = (code >> KIND_SHIFT) & 15
    if kind != PLAIN:
        if kind == BARRIER:
            arrive(machine, sm, now, index)
        else:
            issue_memory(machine, sm, now, index, kind, (code >> SLOT_SHIFT) & 15)
    warp[here, ISSUED] += 1
    threads = warp[here, THREADS]
    scheduler = sm * state.schedulers + index % state.schedulers
    bit = 1 << warp[here, warps.RANK]
    unit = code & 15
    state.free_at[scheduler, unit] = now + ((code >> INITIATION_SHIFT) & 0xFFFF)
    state.ready[scheduler] &= ~bit
    state.last[scheduler] = index
    state.stats[sm, warps.UNIT_ISSUES + unit] += 1
    state.stats[sm, warps.THREAD_INSTRUCTIONS] += threads
    next_instruction = warp[here, INSTRUCTION] + 1
    if next_instruction < warp[here, BLOCK_END]:
        warp[here, INSTRUCTION] = next_instruction
        load_instruction(state, machine.program, here)
    else:
        end_visit(machine, sm, now, index, here)
    next_unit = warp[here, CODE] & 15
    if next_unit != unit:
        state.wants[scheduler, unit] &= ~bit
        state.wants[scheduler, next_unit] |= bit
    ready_at = now + ((code >> STALL_SHIFT) & 0xFFFF)
    warp[here, READY_AT] = ready_at
    warps.stall_until(state, sm, index, now, ready_at)


@njit(cache=True)
def end_visit(machine: Machine, sm: int, now: int, index: int, here: int) -> None:
    """The visit's last instruction has issued: its rays go to the RT unit and hold the warp; the next visit begins."""
    state, work = machine.warps, machine.work
    warp = state.warp
    account_lanes(machine, here, now, warp[here, MASK])
    visit = warp[here, VISIT] - warp[here, FIRST_VISIT]
    trace = warp[here, TRACE]
    if trace < warp[here, TRACE_END] and work.trace_visit[trace] == visit:
        warps.hold(state, sm, index, HELD_SLOT, 1)
        warp[here, TRACE_MASK] = warp[here, MASK]
        rt_unit.enqueue(machine.rt, sm, now + 1, index, trace)
        warp[here, TRACE] = trace + 1
    warp[here, VISIT] += 1
    start_visit(state, machine.program, work, here)


@njit(cache=True)
def issue_memory(machine: Machine, sm: int, now: int, index: int, kind: int, slot: int) -> None:
    """Send a memory instruction's access, if any lane made one, to the LSU and hold its scoreboard slot."""
    state, work = machine.warps, machine.work
    here = sm * state.warps + index
    access = state.warp[here, ACCESS]
    visit = state.warp[here, VISIT] - state.warp[here, FIRST_VISIT]
    if access == state.warp[here, ACCESS_END] or work.access_key[access] != (
        visit << 32 | state.warp[here, INSTRUCTION]
    ):
        return
    state.warp[here, ACCESS] = access + 1
    if slot < NO_SLOT:
        warps.hold(state, sm, index, slot, 1)
    if kind == STORE and work.conflict[access] == 0:
        sectors = work.access_first[access + 1] - work.access_first[access]
        warps.hold(state, sm, index, STORES_SLOT, sectors)
    lsu.enqueue(machine.lsu, work, sm, now, index, kind, slot, access)
