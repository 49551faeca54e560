"""One quantum of the whole GPU: the page to read first.

Every SM runs alone to the end of the quantum, or until it wants a CTA (``rounds.py``). What it sends then goes through
the crossbar to the memory partitions, and their responses are dated for the quanta to come. A request waits longer than
a quantum before the L2 looks it up, so no SM ever misses a response, and the cycles do not depend on the quantum, on
the order of the SMs, or on how many threads share them.
"""

from typing import NamedTuple

import numpy as np

from replay import crossbar, dispatch, lsu, model, partition, rounds, rt_unit
from replay import l1 as l1_cache
from replay import scheduler as warps
from replay import sm as execution
from replay.bits import FAR, compiled, entry_point, inlined
from replay.crossbar import Crossbar
from replay.dispatch import ASK, Dispatch
from replay.dram_state import Dram
from replay.l1 import L1
from replay.l2_state import L2
from replay.lsu import TIMER_COUNT, Lsu
from replay.model import Core
from replay.port import IN_FLIGHT, RECEIVED, RESPONSE_HEAD, RESPONSE_TAIL, Port
from replay.rounds import BOUND, GO_ON, NOW, SETTLED, UNTIL, WAITS_FOR_WARPS
from replay.rt_unit_state import RT_TAG, Records, RtUnit
from replay.work import NO_SLOT, Program, Work

RUNNING, NEEDS_WARPS, KERNEL_OVER, DONE, STUCK = range(5)  # why the engine came back


class Memory(NamedTuple):
    """What the SMs share."""

    crossbar: Crossbar
    l2: L2
    dram: Dram


@entry_point
def run(
    core: Core, ctas: Dispatch, lsus: Lsu, caches: L1, rays: RtUnit, ports: Port, program: Program, work: Work,
    records: Records, lane_cycles: np.ndarray, memory: Memory, clock: np.ndarray, stop: int, quantum: int,
    loaded_warps: int,
) -> int:  # fmt: skip
    """Run quanta from ``clock[NOW]`` until ``stop``, the end of a kernel, or the end of the loaded warps."""
    while clock[NOW] < stop:
        rounds.begin(ctas, clock, stop, quantum)
        verdict = run_rounds(
            core, ctas, lsus, caches, rays, ports, program, work, records, lane_cycles, clock, 0, ctas.unit.shape[0],
            True, loaded_warps,
        )  # fmt: skip
        if verdict == WAITS_FOR_WARPS:
            return NEEDS_WARPS
        routed = crossbar.route_requests(memory.crossbar, ports, memory.l2, clock[UNTIL])
        for controller in range(memory.l2.controllers):
            partition.advance(memory.crossbar, memory.l2, memory.dram, controller, routed)
        status = close_quantum(ctas, ports, memory, clock, stop, routed)
        if status != RUNNING:
            return status
    return RUNNING


@inlined
def run_rounds(
    core: Core, ctas: Dispatch, lsus: Lsu, caches: L1, rays: RtUnit, ports: Port, program: Program, work: Work,
    records: Records, lane_cycles: np.ndarray, clock: np.ndarray, first: int, last: int, settles: bool,
    loaded_warps: int,
) -> int:  # fmt: skip
    """Run the SMs ``first`` to ``last`` (exclusive): for one round, or, handing out CTAs, to the quantum's end."""
    while True:
        for sm in range(first, last):
            if rounds.may_run(ctas, clock, sm):
                following = advance_sm(
                    core, ctas, lsus, caches, rays, ports, program, work, records, lane_cycles, sm,
                    ctas.unit[sm, dispatch.REACHED], clock[BOUND],
                )  # fmt: skip
                rounds.note_run(ctas, clock, sm, following)
        verdict = rounds.settle(ctas, clock, loaded_warps) if settles else SETTLED
        if verdict != GO_ON:
            return verdict


@inlined
def close_quantum(ctas: Dispatch, ports: Port, memory: Memory, clock: np.ndarray, stop: int, routed: int) -> int:
    """Hand the responses to the SMs and find the next cycle at which anything happens."""
    until = clock[UNTIL]
    decided = partition.horizon(memory.crossbar, memory.l2, routed)
    crossbar.route_responses(memory.crossbar, ports, memory.l2, decided)
    clock[NOW] = until
    if dispatch.any_over(ctas, until):
        return KERNEL_OVER
    if crossbar.packets_in_flight(ports):
        return RUNNING
    soonest = rounds.next_event(ctas)
    if soonest == FAR:
        return DONE if dispatch.is_empty(ctas) else STUCK
    clock[NOW] = min(max(soonest, until), stop)
    return RUNNING


@inlined
def advance_sm(
    core: Core, ctas: Dispatch, lsus: Lsu, caches: L1, rays: RtUnit, ports: Port, program: Program, work: Work,
    records: Records, lane_cycles: np.ndarray, sm: int, since: int, until: int,
) -> int:  # fmt: skip
    """Run one SM from ``since`` to ``until``, or until it asks for a CTA; returns the cycle of its next event."""
    now = min(model.first_event(core, sm, since - 1), next_event(core, ctas, lsus, rays, ports, sm, since - 1))
    while now < until and now <= ctas.unit[sm, ASK]:
        # responses fill the L1 and release what waits for them
        receive(core, ctas, lsus, caches, rays, ports, records, sm, now)
        if dispatch.next_start(ctas, sm) <= now:
            model.launch(core, ctas, program, work, sm, now)  # a new CTA takes its place
        model.before_memory(core, ctas, sm, now)  # results of arithmetic: warps may go on
        if lsus.unit[sm, lsu.NEXT_CYCLE] <= now:
            run_lsu(core, ctas, lsus, caches, ports, work, sm, now)  # sectors meet the tags; hits complete loads
        if rays.gate[sm, rt_unit.NEXT_CYCLE] <= now:
            # one request, one completed warp
            run_rt_unit(core, ctas, caches, rays, ports, records, lane_cycles, sm, now)
        # each scheduler issues one ready warp
        retry = model.after_memory(core, ctas, lsus, rays, program, work, lane_cycles, sm, now)
        now = now + 1 if retry == now + 1 else min(retry, next_event(core, ctas, lsus, rays, ports, sm, now))
    lsu.count_blocked(lsus, caches, sm, min(until, ctas.unit[sm, ASK] + 1))
    return now


@inlined
def next_event(core: Core, ctas: Dispatch, lsus: Lsu, rays: RtUnit, ports: Port, sm: int, now: int) -> int:
    """The next cycle after ``now`` at which a unit of the SM has something to do, ready warps apart."""
    soonest = model.next_event(core, sm, now)
    if ports.port[sm, RESPONSE_HEAD] != ports.port[sm, RESPONSE_TAIL]:
        head = sm * ports.ring + (ports.port[sm, RESPONSE_HEAD] & (ports.ring - 1))
        soonest = min(soonest, ports.response[head, 0])
    soonest = min(soonest, dispatch.next_start(ctas, sm))
    soonest = min(soonest, lsus.unit[sm, lsu.NEXT_CYCLE])
    soonest = min(soonest, rays.gate[sm, rt_unit.NEXT_CYCLE])
    return max(soonest, now + 1)


@inlined
def receive(
    core: Core, ctas: Dispatch, lsus: Lsu, caches: L1, rays: RtUnit, ports: Port, records: Records, sm: int, now: int
) -> None:
    """Take the responses that have arrived: L1 fills, and acknowledgements of stores and atomics."""
    while ports.port[sm, RESPONSE_HEAD] != ports.port[sm, RESPONSE_TAIL]:
        head = sm * ports.ring + (ports.port[sm, RESPONSE_HEAD] & (ports.ring - 1))
        if ports.response[head, 0] > now:
            break
        tag = ports.response[head, 1]
        ports.port[sm, RESPONSE_HEAD] += 1
        ports.port[sm, IN_FLIGHT] -= 1
        ports.stats[sm, RECEIVED] += 1
        lsu.wake(lsus, sm, now)
        kind, number = tag & 3, tag >> 2
        if kind == l1_cache.FILL_TAG:
            fill(core, ctas, lsus, caches, rays, records, sm, now, number)
        elif kind == lsu.ACK_TAG:
            model.release(core, ctas, sm, now, number, warps.STORES_SLOT)
        elif kind == RT_TAG:
            rt_unit.receive_own(rays, records, sm, now, number)
        elif lsu.receive_sector(lsus, sm, number):
            complete_access(core, ctas, lsus, sm, now, number)


@inlined
def fill(
    core: Core, ctas: Dispatch, lsus: Lsu, caches: L1, rays: RtUnit, records: Records, sm: int, now: int, entry: int
) -> None:
    """Fill a sector into the L1 and hand it to the loads and ray-tracing warps that wait for it."""
    row = sm * caches.entries + entry
    sector = caches.mshr[row, l1_cache.SECTOR]
    leader = np.int64(-1)
    for index in range(l1_cache.fill(caches, sm, entry)):
        waiter = np.int64(caches.waiter[row, index])
        if waiter & 1:
            rt_unit.receive_sector(rays, records, sm, now, waiter >> 1, leader, sector)
            leader = waiter >> 1 if leader < 0 else leader
        elif lsu.receive_sector(lsus, sm, waiter >> 1):
            complete_access(core, ctas, lsus, sm, now, waiter >> 1)


@compiled
def complete_access(core: Core, ctas: Dispatch, lsus: Lsu, sm: int, now: int, at: int) -> None:
    """A memory instruction has all its data (or has sent it all): release its scoreboard slot."""
    row = sm * lsu.OPERATIONS + at
    slot, warp = lsus.operation[row, lsu.SLOT], lsus.operation[row, lsu.WARP]
    lsu.free_operation(lsus, sm, at)
    if slot != NO_SLOT:
        model.release(core, ctas, sm, now, warp, slot)


@inlined
def run_lsu(core: Core, ctas: Dispatch, lsus: Lsu, caches: L1, ports: Port, work: Work, sm: int, now: int) -> None:
    """One cycle of the LSU: shared accesses that end, tag checks, then the instruction at the front."""
    unit, state = lsus.unit, lsus
    lsu.count_blocked(lsus, caches, sm, now)
    unit[sm, lsu.BLOCKED_AT] = -1
    while unit[sm, TIMER_COUNT] and state.timer[sm, unit[sm, TIMER_COUNT] - 1, 0] <= now:
        unit[sm, TIMER_COUNT] -= 1
        complete_access(core, ctas, lsus, sm, now, state.timer[sm, unit[sm, TIMER_COUNT], 1])
    for _ in range(state.banks):
        place = sm * state.pipe_size + (unit[sm, lsu.PIPE_HEAD] & (state.pipe_size - 1))
        if unit[sm, lsu.PIPE_HEAD] == unit[sm, lsu.PIPE_TAIL] or state.pipe[place, 0] > now:
            break
        at = lsu.check_tag(state, caches, ports, sm, now)
        if at == -2:
            state.stats[sm, lsu.STALL_CYCLES] += 1
            unit[sm, lsu.BLOCKED_AT] = now
            break
        if at >= 0:
            complete_access(core, ctas, lsus, sm, now, at)
    lsu.front(state, work, sm, now)
    unit[sm, lsu.NEXT_CYCLE] = lsu.next_cycle(state, ports, sm, now)


@inlined
def run_rt_unit(
    core: Core, ctas: Dispatch, caches: L1, rays: RtUnit, ports: Port, records: Records, lane_cycles: np.ndarray,
    sm: int, now: int,
) -> None:  # fmt: skip
    """One cycle of the SM's RT units; each warp they complete goes on."""
    for number in range(rays.cores):
        index = rt_unit.cycle(rays, caches, ports, records, sm, number, now)
        if index >= 0:
            here = sm * core.warps + index
            execution.account_lanes(core, lane_cycles, here, now, core.warp[here, warps.TRACE_MASK])
            model.release(core, ctas, sm, now, index, warps.HELD_SLOT)
