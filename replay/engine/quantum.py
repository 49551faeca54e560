"""One quantum of the whole GPU: the page to read first. (GPUs that need ``lockstep`` go through it cycle by cycle.)

Every SM runs alone to the end of the quantum, or until it wants a CTA (``rounds.py``). What it sends then goes through
the crossbar to the memory partitions, and their responses are dated for the quanta to come. A request waits longer than
a quantum before the L2 looks it up, so no SM ever misses a response, and the cycles do not depend on the quantum, on
the order of the SMs, or on how many threads share them.
"""

from typing import Any, NamedTuple

import numba
import numpy as np
from numba import types

from rayplay.replay.engine import lockstep, rounds
from rayplay.replay.input import work as op
from rayplay.replay.input.rays import Records
from rayplay.replay.jit import aliasing as fields
from rayplay.replay.jit import items
from rayplay.replay.jit import team as parallel
from rayplay.replay.jit.bits import FAR, compiled, entry_point, inlined
from rayplay.replay.jit.separate import Call, compile_with
from rayplay.replay.lsu import state as lsu_state
from rayplay.replay.lsu import unit as lsu
from rayplay.replay.lsu.state import Lsu
from rayplay.replay.memory import l1, partition
from rayplay.replay.memory.crossbar import crossbar
from rayplay.replay.memory.crossbar.crossbar import Crossbar
from rayplay.replay.memory.dram.state import Dram
from rayplay.replay.memory.l2.state import L2
from rayplay.replay.memory.port import Port, may_send, next_response, rewind_requests
from rayplay.replay.rt import entry as rt_entry
from rayplay.replay.rt import unit as rt_unit
from rayplay.replay.rt.state import RtUnit
from rayplay.replay.sm import ctas as dispatch
from rayplay.replay.sm import models as model
from rayplay.replay.sm import warps
from rayplay.replay.sm.ctas import Dispatch
from rayplay.replay.sm.memory_path import host_prefetch_sm, receive, run_lsu
from rayplay.replay.sm.models import Core
from rayplay.replay.sm.rays import account_lanes

fields.install()
items.install()
RUNNING, NEEDS_WARPS, KERNEL_OVER, DONE, STUCK = range(5)  # why the engine came back
SMS, PARTITIONS = parallel.LEAVE + 1, parallel.LEAVE + 2  # what threads share
QUANTA_AT_ONCE = 32  # before Python may look at the clock and at Ctrl-C


class Memory(NamedTuple):
    """Units that the SMs share."""

    crossbar: Crossbar
    l2: L2
    dram: Dram


class Engine(NamedTuple):
    """The whole GPU, and the part of the trace that is loaded."""

    core: Core
    ctas: Dispatch
    lsus: Lsu
    caches: l1.L1
    rays: RtUnit
    ports: Port
    program: op.Program
    work: op.Work
    records: Records
    lane_cycles: np.ndarray  # int64[warps + 1, 32], or one row
    memory: Memory
    clock: np.ndarray  # see rounds.py


def run(engine: Engine, stop: int, quantum: int, loaded_warps: int, team: parallel.Team) -> int:
    """Run quanta until ``stop``, the end of a kernel, or the end of the loaded warps. engine: a reference to it."""
    status = RUNNING
    while status == RUNNING and engine.clock[rounds.NOW] < stop:
        status = team.run(run_quanta, engine, stop, quantum, loaded_warps)
    return status


def compile_for(engine: Engine) -> None:
    """Compile what ``run`` calls, or load it, for a reference to an engine."""
    given = tuple(numba.typeof(value) for value in (engine, 0, 0, 0, parallel.make_team(1), 0))
    compile_with(run_quanta, given, separate_calls(given[0]))


def separate_calls(engine: Any) -> list[Call]:
    """The separate functions that an engine of this type calls, with the types of their arguments."""
    ports, rays, caches, records, memory = map(engine.field, ("ports", "rays", "caches", "records", "memory"))
    net, l2, dram = map(memory.field, ("crossbar", "l2", "dram"))
    number = types.int64
    return [
        (partition.advance, (net, l2, dram, number, number)),
        (rt_unit.run, (number, rays, caches, ports, records, *[number] * 7)),
        (crossbar.route_requests, (net, ports, l2, number)),
        (crossbar.route_responses, (net, ports, l2, number)),
    ]


@entry_point
def run_quanta(engine: Engine, stop: int, quantum: int, loaded_warps: int, team: np.ndarray, rank: int) -> int:
    """Run some quanta, on every thread of a team: the leader as the clock goes, the others what it has them do."""
    if rank:
        return follow(engine, team, rank)
    status, quanta = RUNNING, 0
    while status == RUNNING and engine.clock[rounds.NOW] < stop and quanta < QUANTA_AT_ONCE:
        status = run_quantum(engine, stop, quantum, loaded_warps, team)
        quanta += 1
    parallel.open_phase(team, parallel.LEAVE, 0, 0)
    return status


@compiled
def run_quantum(engine: Engine, stop: int, quantum: int, loaded_warps: int, team: np.ndarray) -> int:
    """The SMs run, round after round; the crossbar takes what they have sent; the memory partitions answer."""
    ctas, clock, memory = engine.ctas, engine.clock, engine.memory
    rounds.begin(ctas, clock, stop, quantum)
    if engine.ports.lockstep:
        lockstep.begin_cycle(
            engine.core, ctas, engine.lsus, engine.caches, engine.rays, engine.ports, engine.records, memory.crossbar,
            memory.l2, memory.dram, clock[rounds.NOW],
        )  # fmt: skip
    one_kernel, verdict = ctas.kernel.shape[0] == 1, rounds.GO_ON
    while verdict == rounds.GO_ON:
        # where they are longer than a cycle, other threads are awaited without a pause
        parallel.open_phase(team, SMS, 0, ctas.unit.shape[0] // ctas.cluster, one_kernel)
        advance_sms(engine, team, 0)
        if not parallel.close_phase(team):
            return RUNNING
        verdict = rounds.settle(ctas, clock, loaded_warps)
    if verdict == rounds.WAITS_FOR_WARPS:
        return NEEDS_WARPS
    if engine.ports.lockstep:
        lockstep.end_cycle(ctas, engine.ports, memory.l2)
        return close_quantum(engine, stop)
    routed = crossbar.route_requests(memory.crossbar, engine.ports, memory.l2, clock[rounds.UNTIL])
    parallel.open_phase(team, PARTITIONS, routed, memory.l2.controllers)
    advance_partitions(engine, team, 0)
    if not parallel.close_phase(team):
        return RUNNING
    decided = partition.horizon(memory.crossbar, memory.l2, routed)
    crossbar.route_responses(memory.crossbar, engine.ports, memory.l2, decided)
    return close_quantum(engine, stop)


@compiled
def follow(engine: Engine, team: np.ndarray, rank: int) -> int:
    """Take part in every phase that the leader opens."""
    phase = 1
    job = parallel.next_job(team, phase)
    while job != parallel.LEAVE:
        if job == SMS:
            advance_sms(engine, team, rank)
        else:
            advance_partitions(engine, team, rank)
        parallel.come_back(team)
        phase += 1
        job = parallel.next_job(team, phase)
    return RUNNING


@compiled
def advance_sms(engine: Engine, team: np.ndarray, rank: int) -> None:
    """Run SMs to the round's end."""
    ctas, clock = engine.ctas, engine.clock
    node = parallel.take(team, rank)
    while node >= 0:
        for step in range(ctas.cluster):
            sm = lockstep.next_in_cluster(ctas, node, step)
            if rounds.may_run(ctas, clock, sm):
                following = advance_sm(
                    engine.core, ctas, engine.lsus, engine.caches, engine.rays, engine.ports, engine.program,
                    engine.work, engine.records, engine.lane_cycles, sm, ctas.unit[sm, dispatch.REACHED],
                    clock[rounds.BOUND], clock[rounds.NOW],
                )  # fmt: skip
                rounds.note_run(ctas, clock, sm, following)
        node = parallel.take(team, rank)


@compiled
def advance_partitions(engine: Engine, team: np.ndarray, rank: int) -> None:
    """Run memory partitions as far as the crossbar's cycles before the phase's argument decide."""
    memory, routed = engine.memory, team[parallel.PHASE, parallel.ARGUMENT]
    controller = parallel.take(team, rank)
    while controller >= 0:
        partition.advance(memory.crossbar, memory.l2, memory.dram, controller, routed)
        controller = parallel.take(team, rank)


@compiled
def close_quantum(engine: Engine, stop: int) -> int:
    """Find the next cycle at which anything happens."""
    ctas, ports, clock = engine.ctas, engine.ports, engine.clock
    until = clock[rounds.UNTIL]
    clock[rounds.NOW] = until
    if dispatch.any_over(ctas, until):
        return KERNEL_OVER
    if crossbar.packets_in_flight(ports) and not (ports.lockstep and dispatch.is_empty(ctas)):
        return RUNNING
    soonest = rounds.next_event(ctas)
    if soonest == FAR:
        return DONE if dispatch.is_empty(ctas) else STUCK
    clock[rounds.NOW] = min(max(soonest, until), stop)
    is_over = dispatch.any_over(ctas, clock[rounds.NOW])
    if clock[rounds.NOW] > until and (is_over or clock[rounds.NOW] == stop) and not ports.lockstep:
        catch_up(engine, clock[rounds.NOW])
    return KERNEL_OVER if is_over else RUNNING


@compiled
def catch_up(engine: Engine, now: int) -> None:
    """Bring the memory partitions to ``now``, which the SMs have skipped to, before Python reads counters.

    They may have work of which no SM waits for the end, and would be behind by as much as the last quantum was short.
    """
    memory = engine.memory
    routed = crossbar.route_requests(memory.crossbar, engine.ports, memory.l2, now)
    for controller in range(memory.l2.controllers):
        partition.advance(memory.crossbar, memory.l2, memory.dram, controller, routed)


@compiled
def advance_sm(
    core: Core, ctas: Dispatch, lsus: Lsu, caches: l1.L1, rays: RtUnit, ports: Port, program: op.Program, work: op.Work,
    records: Records, lane_cycles: np.ndarray, sm: int, since: int, until: int, begun: int,
) -> int:  # fmt: skip
    """Run one SM from ``since`` to ``until``, or until it asks for a CTA; returns the cycle of its next event.

    begun  first cycle of the quantum, in which the SM's state is prefetched.
    """
    if dispatch.is_cluster_idle(ctas, sm):
        l1.forget_idle(caches, sm)
    elif since == begun and not ports.lockstep:
        rewind_requests(ports, sm)
        host_prefetch_sm(core, lsus, caches, ports, sm)
    if ports.lockstep and dispatch.is_idle(ctas, sm):
        return FAR  # as in Accel-Sim: responses to reductions of warps that are gone may hold up the cluster
    now = min(model.first_event(core, sm, since - 1), next_event(core, ctas, lsus, rays, ports, sm, since - 1))
    while now < until and now <= ctas.unit[sm, dispatch.ASK]:
        # responses come out of the crossbar
        receive(core, ctas, lsus, caches, rays, ports, records, sm, now)
        if dispatch.next_start(ctas, sm) <= now:
            model.launch(core, ctas, program, work, sm, now)  # a new CTA takes its place
        model.before_memory(core, ctas, sm, now)  # results of arithmetic: warps may go on
        if lsus.unit[sm, lsu_state.NEXT_CYCLE] <= now:
            # data is written back, a response taken, accesses meet the tags, instructions go on
            run_lsu(core, ctas, lsus, caches, rays, ports, work, records, sm, now)
        if rt_entry.due(rays, sm) <= now:
            # one request, one completed warp
            run_rt_unit(core, ctas, lsus, caches, rays, ports, records, lane_cycles, sm, now)
        # each scheduler issues one ready warp
        retry = model.after_memory(core, ctas, lsus, caches, rays, ports, program, work, lane_cycles, sm, now)
        now = now + 1 if retry == now + 1 else min(retry, next_event(core, ctas, lsus, rays, ports, sm, now))
    lsu.count_blocked(lsus, caches, sm, min(until, ctas.unit[sm, dispatch.ASK] + 1))
    return now


@inlined
def next_event(core: Core, ctas: Dispatch, lsus: Lsu, rays: RtUnit, ports: Port, sm: int, now: int) -> int:
    """The next cycle after ``now`` at which a unit of the SM has something to do, ready warps apart."""
    soonest = model.next_event(core, sm, now)
    soonest = min(soonest, ports.response[next_response(ports, sm), 0])
    soonest = min(soonest, dispatch.next_start(ctas, sm))
    soonest = min(soonest, lsus.unit[sm, lsu_state.NEXT_CYCLE])
    soonest = min(soonest, rt_entry.due(rays, sm))
    return max(soonest, now + 1)


@inlined
def run_rt_unit(
    core: Core, ctas: Dispatch, lsus: Lsu, caches: l1.L1, rays: RtUnit, ports: Port, records: Records,
    lane_cycles: np.ndarray, sm: int, now: int,
) -> None:  # fmt: skip
    """One cycle of the SM's RT units; each warp they complete goes on."""
    for number in range(rays.cores):
        index = rt_unit.run(rt_unit.CYCLE, rays, caches, ports, records, sm, number, now, 0, 0, 0, 0)
        if index >= 0:
            here = sm * core.warps + index
            account_lanes(core, lane_cycles, here, now, core.warp[here, warps.TRACE_MASK])
            model.release(core, ctas, sm, now, index, op.HELD_SLOT)
    if ports.lockstep and (l1.has_queued(caches, sm) or not may_send(ports, sm, now)):
        lsus.unit[sm, lsu_state.NEXT_CYCLE] = min(lsus.unit[sm, lsu_state.NEXT_CYCLE], now + 1)
        rt_entry.wake(rays, sm, now + 1)
