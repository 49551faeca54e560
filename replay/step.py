"""One quantum of the whole GPU: the page to read first.

Every SM runs alone to the end of the quantum; what it sends is then handed, in order of (cycle, SM), to the memory
partitions, and their responses are dated for the quanta to come. A response needs longer than a quantum to come back
(``request_cycles`` + ``reply_cycles``), so no SM ever misses one, and the cycles do not depend on the quantum, on the
order of the SMs, or on how many threads share them.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from replay import crossbar, dispatch, lsu, partition, rt_unit
from replay import l1 as l1_cache
from replay import scheduler as warps
from replay import sm as core
from replay.bits import FAR, lowest_bit
from replay.crossbar import State as Crossbar
from replay.dram import State as Dram
from replay.l2 import State as L2
from replay.lsu import TIMER_COUNT
from replay.port import IN_FLIGHT, RECEIVED, RESPONSE_HEAD, RESPONSE_TAIL
from replay.rt_unit import STORE_TAG
from replay.scheduler import PARKED, PENDING, READY_AT, WAIT, WHEEL
from replay.sm import Machine
from replay.work import LSU, NO_SLOT

RUNNING, NEEDS_WARPS, DONE, STUCK = range(4)


class Memory(NamedTuple):
    """What the SMs share."""

    crossbar: Crossbar
    l2: L2
    dram: Dram


@njit(cache=True)
def run(machine: Machine, memory: Memory, clock: np.ndarray, stop: int, quantum: int, loaded_warps: int) -> int:
    """Run quanta from ``clock[0]`` until ``stop``, the end of the launch, or the end of the loaded warps."""
    while clock[0] < stop:
        now = clock[0]
        if not dispatch.grant_until(machine.dispatch, now, loaded_warps):
            return NEEDS_WARPS
        until = min(now + quantum, stop)
        soonest = FAR
        for sm in range(machine.dispatch.unit.shape[0]):
            soonest = min(soonest, advance_sm(machine, sm, now, until))
        crossbar.route_requests(memory.crossbar, machine.port, memory.l2, now, until)
        for controller in range(memory.l2.controllers):
            partition.advance(memory.l2, memory.dram, controller, until + memory.crossbar.request_cycles)
        status = close_quantum(machine, memory, clock, now, until, soonest, stop)
        if status != RUNNING:
            return status
    return RUNNING


@njit(cache=True)
def close_quantum(
    machine: Machine, memory: Memory, clock: np.ndarray, now: int, until: int, soonest: int, stop: int
) -> int:
    """Hand the responses to the SMs and find the next cycle at which anything happens."""
    ahead = memory.crossbar.request_cycles
    crossbar.route_responses(memory.crossbar, machine.port, memory.l2, now + ahead, until + ahead)
    clock[0] = until
    if crossbar.packets_in_flight(machine.port):
        return RUNNING
    if dispatch.is_finished(machine.dispatch):
        return DONE
    if soonest < FAR:
        if not dispatch.has_requests(machine.dispatch):
            clock[0] = min(max(soonest, until), stop)
        return RUNNING
    return RUNNING if dispatch.has_requests(machine.dispatch) else STUCK


@njit(cache=True)
def advance_sm(machine: Machine, sm: int, since: int, until: int) -> int:
    """Run one SM from ``since`` to ``until``; returns the next cycle at which it has something to do by itself."""
    now = since if has_ready(machine, sm) else next_event(machine, sm, since - 1)
    while now < until:
        receive(machine, sm, now)  # responses fill the L1 and release what waits for them
        while dispatch.next_start(machine.dispatch, sm) <= now:
            core.launch(machine, sm, now)  # new CTAs take their places
        end_stalls(machine, sm, now)  # warps whose stall ends become ready
        if machine.lsu.unit[sm, lsu.NEXT_CYCLE] <= now:
            run_lsu(machine, sm, now)  # sectors meet the tags; hits complete loads
        if machine.rt.unit[sm, rt_unit.NEXT_CYCLE] <= now:
            run_rt_unit(machine, sm, now)  # one request, one completed warp
        retry = issue(machine, sm, now)  # each scheduler issues one ready warp
        now = now + 1 if retry == now + 1 else min(retry, next_event(machine, sm, now))
    return now


@njit(cache=True)
def has_ready(machine: Machine, sm: int) -> bool:
    """Whether any scheduler of the SM has a ready warp."""
    state = machine.warps
    any_ready = 0
    for row in range(sm * state.schedulers, (sm + 1) * state.schedulers):
        any_ready |= state.ready[row]
    return any_ready != 0


@njit(cache=True)
def next_event(machine: Machine, sm: int, now: int) -> int:
    """The next cycle after ``now`` at which a unit of the SM has something to do, ready warps apart."""
    port = machine.port
    soonest = warps.next_stall_end(machine.warps, sm, now)
    if port.port[sm, RESPONSE_HEAD] != port.port[sm, RESPONSE_TAIL]:
        head = sm * port.ring + (port.port[sm, RESPONSE_HEAD] & (port.ring - 1))
        soonest = min(soonest, port.response[head, 0])
    soonest = min(soonest, dispatch.next_start(machine.dispatch, sm))
    soonest = min(soonest, machine.lsu.unit[sm, lsu.NEXT_CYCLE])
    soonest = min(soonest, machine.rt.unit[sm, rt_unit.NEXT_CYCLE])
    return max(soonest, now + 1)


@njit(cache=True)
def receive(machine: Machine, sm: int, now: int) -> None:
    """Take the responses that have arrived: L1 fills, and acknowledgements of stores and atomics."""
    port = machine.port
    while port.port[sm, RESPONSE_HEAD] != port.port[sm, RESPONSE_TAIL]:
        head = sm * port.ring + (port.port[sm, RESPONSE_HEAD] & (port.ring - 1))
        if port.response[head, 0] > now:
            break
        tag = port.response[head, 1]
        port.port[sm, RESPONSE_HEAD] += 1
        port.port[sm, IN_FLIGHT] -= 1
        port.stats[sm, RECEIVED] += 1
        kind, number = tag & 3, tag >> 2
        if kind == l1_cache.FILL_TAG:
            fill(machine, sm, now, number)
        elif kind == lsu.ACK_TAG:
            core.release(machine, sm, now, number, warps.STORES_SLOT)
        elif kind == STORE_TAG:
            rt_unit.receive_ack(machine.rt, sm, now, number)
        elif lsu.receive_sector(machine.lsu, sm, number):
            complete_access(machine, sm, now, number)


@njit(cache=True)
def fill(machine: Machine, sm: int, now: int, entry: int) -> None:
    """Fill a sector into the L1 and hand it to the loads and ray-tracing warps that wait for it."""
    row = sm * machine.l1.entries + entry
    sector = machine.l1.mshr[row, l1_cache.SECTOR]
    for index in range(l1_cache.fill(machine.l1, sm, entry)):
        waiter = np.int64(machine.l1.waiter[row, index])
        if waiter & 1:
            rt_unit.receive_sector(machine.rt, machine.records, sm, now, waiter >> 1, sector)
        elif lsu.receive_sector(machine.lsu, sm, waiter >> 1):
            complete_access(machine, sm, now, waiter >> 1)


@njit(cache=True)
def complete_access(machine: Machine, sm: int, now: int, at: int) -> None:
    """A memory instruction has all its data (or has sent it all): release its scoreboard slot."""
    row = sm * lsu.OPERATIONS + at
    slot, warp = machine.lsu.operation[row, lsu.SLOT], machine.lsu.operation[row, lsu.WARP]
    lsu.free_operation(machine.lsu, sm, at)
    if slot != NO_SLOT:
        core.release(machine, sm, now, warp, slot)


@njit(cache=True)
def end_stalls(machine: Machine, sm: int, now: int) -> None:
    """Warps whose stall ends now become ready, or are parked until the slots they wait for are clear."""
    state = machine.warps
    place = now & (WHEEL - 1)
    ended = state.wheel[sm, place]
    if ended == 0:
        return
    state.wheel[sm, place] = 0
    state.occupied[sm] &= ~(1 << place)
    while ended:
        index = lowest_bit(ended)
        ended &= ended - 1
        here = sm * state.warps + index
        if state.warp[here, READY_AT] > now:
            warps.stall_until(state, sm, index, now, state.warp[here, READY_AT])
        elif state.warp[here, PENDING] & state.warp[here, WAIT]:
            state.warp[here, PARKED] = 1
        else:
            core.go_on(machine, sm, now, index)


@njit(cache=True)
def run_lsu(machine: Machine, sm: int, now: int) -> None:
    """One cycle of the LSU: shared accesses that end, tag checks, then the instruction at the front."""
    unit, state = machine.lsu.unit, machine.lsu
    while unit[sm, TIMER_COUNT] and state.timer[sm, unit[sm, TIMER_COUNT] - 1, 0] <= now:
        unit[sm, TIMER_COUNT] -= 1
        complete_access(machine, sm, now, state.timer[sm, unit[sm, TIMER_COUNT], 1])
    for _ in range(state.banks):
        place = sm * state.pipe_size + (unit[sm, lsu.PIPE_HEAD] & (state.pipe_size - 1))
        if unit[sm, lsu.PIPE_HEAD] == unit[sm, lsu.PIPE_TAIL] or state.pipe[place, 0] > now:
            break
        at = lsu.check_tag(state, machine.l1, machine.port, sm, now)
        if at == -2:
            state.stats[sm, lsu.STALL_CYCLES] += 1
            break
        if at >= 0:
            complete_access(machine, sm, now, at)
    lsu.front(state, machine.work, sm, now)
    unit[sm, lsu.NEXT_CYCLE] = lsu.next_cycle(state, sm, now)


@njit(cache=True)
def run_rt_unit(machine: Machine, sm: int, now: int) -> None:
    """One cycle of the RT unit; the warp it completes goes on."""
    index = rt_unit.cycle(machine.rt, machine.l1, machine.port, machine.records, sm, now)
    if index >= 0:
        here = sm * machine.warps.warps + index
        core.account_lanes(machine, here, now, machine.warps.warp[here, warps.TRACE_MASK])
        core.release(machine, sm, now, index, warps.HELD_SLOT)


@njit(cache=True)
def issue(machine: Machine, sm: int, now: int) -> int:
    """Each scheduler issues one ready warp whose unit is free. Returns the next cycle to try again, FAR for none."""
    state = machine.warps
    issued, retry = 0, FAR
    for row in range(sm * state.schedulers, (sm + 1) * state.schedulers):
        candidates, last = state.ready[row], state.last[row]
        last_rank = state.warp[sm * state.warps + last, warps.RANK] if last >= 0 else -1
        while candidates:
            index = state.member[row, warps.pick(candidates, last_rank, state.greedy)]
            unit = state.warp[sm * state.warps + index, warps.CODE] & 15
            if state.free_at[row, unit] > now:
                retry = min(retry, state.free_at[row, unit])
            elif unit != LSU or lsu.has_room(machine.lsu, sm):
                core.issue(machine, sm, now, index)
                issued += 1
                if state.ready[row]:
                    retry = now + 1
                break
            candidates &= ~state.wants[row, unit]
    if issued:
        state.stats[sm, warps.WARP_INSTRUCTIONS] += issued
        state.stats[sm, warps.ISSUE_CYCLES] += 1
    return retry
