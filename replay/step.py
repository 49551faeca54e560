"""One quantum of the whole GPU: the page to read first.

Every SM runs alone to the end of the quantum, or until it wants a CTA (``rounds.py``). What it sends then goes through
the crossbar to the memory partitions, and their responses are dated for the quanta to come. A request waits longer than
a quantum before the L2 looks it up, so no SM ever misses a response, and the cycles do not depend on the quantum, on
the order of the SMs, or on how many threads share them.
"""

from functools import partial
from typing import NamedTuple

import numba
import numpy as np

from replay import crossbar, dispatch, fields, foresight, indexing, l1, lsu, model, partition, rounds, rt_unit
from replay import scheduler as warps
from replay import sm as execution
from replay.bits import FAR, compiled, entry_point, inlined
from replay.crossbar import Crossbar
from replay.dispatch import ASK, Dispatch
from replay.dram_state import Dram
from replay.l1 import L1
from replay.l2_state import L2
from replay.lsu_state import NEXT_CYCLE as LSU_CYCLE
from replay.lsu_state import Lsu
from replay.memory_path import receive, run_lsu
from replay.model import Core
from replay.parallel import Team
from replay.port import RESPONSE_HEAD, RESPONSE_TAIL, Port
from replay.rounds import BOUND, GO_ON, NOW, SETTLED, UNTIL, WAITS_FOR_WARPS
from replay.rt_unit_state import Records, RtUnit
from replay.work import Program, Work

fields.install()
indexing.install()
RUNNING, NEEDS_WARPS, KERNEL_OVER, DONE, STUCK = range(5)  # why the engine came back


class Memory(NamedTuple):
    """What the SMs share."""

    crossbar: Crossbar
    l2: L2
    dram: Dram


class Engine(NamedTuple):
    """The whole GPU, and the part of the trace that is loaded."""

    core: Core
    ctas: Dispatch
    lsus: Lsu
    caches: L1
    rays: RtUnit
    ports: Port
    program: Program
    work: Work
    records: Records
    lane_cycles: np.ndarray  # int64[warps + 1, 32], or one row
    memory: Memory
    clock: np.ndarray  # see rounds.py


def run(engine: Engine, stop: int, quantum: int, loaded_warps: int, team: Team) -> int:
    """Run quanta until ``stop``, the end of a kernel, or the end of the loaded warps. engine: a reference to it."""
    clock, sms = engine.clock, len(engine.ctas.unit)
    while clock[NOW] < stop:
        begin(engine, stop, quantum)
        team.share(sms, lambda first, last: advance_sms(engine, first, last, False, loaded_warps))
        if advance_sms(engine, 0, sms, True, loaded_warps) == WAITS_FOR_WARPS:
            return NEEDS_WARPS
        routed = hand_over(engine)
        team.share(engine.memory.l2.controllers, partial(advance_partitions, engine, routed))
        status = close_quantum(engine, stop, routed)
        if status != RUNNING:
            return status
    return RUNNING


def compile_for(engine: Engine) -> None:
    """Compile what ``run`` calls, or load it, for a reference to an engine."""
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        return
    for entry, others in (
        (begin, (0, 0)), (advance_sms, (0, 0, True, 0)), (hand_over, ()), (advance_partitions, (0, 0, 0)),
        (close_quantum, (0, 0)),
    ):  # fmt: skip
        entry.compile(tuple(numba.typeof(value) for value in (engine, *others)))


@entry_point
def begin(engine: Engine, stop: int, quantum: int) -> None:
    """Begin a quantum."""
    rounds.begin(engine.ctas, engine.clock, stop, quantum)


@entry_point
def advance_sms(engine: Engine, first: int, last: int, settles: bool, loaded_warps: int) -> int:
    """Run the SMs ``first`` to ``last`` (exclusive): for one round, or, handing out CTAs, to the quantum's end."""
    ctas, clock = engine.ctas, engine.clock
    while True:
        for sm in range(first, last):
            if rounds.may_run(ctas, clock, sm):
                following = advance_sm(
                    engine.core, ctas, engine.lsus, engine.caches, engine.rays, engine.ports, engine.program,
                    engine.work, engine.records, engine.lane_cycles, sm, ctas.unit[sm, dispatch.REACHED], clock[BOUND],
                )  # fmt: skip
                rounds.note_run(ctas, clock, sm, following)
        verdict = rounds.settle(ctas, clock, loaded_warps) if settles else SETTLED
        if verdict != GO_ON:
            return verdict


@entry_point
def hand_over(engine: Engine) -> int:
    """Take what the SMs sent through the crossbar; returns its first cycle that is still to be done."""
    memory = engine.memory
    return crossbar.route_requests(memory.crossbar, engine.ports, memory.l2, engine.clock[UNTIL])


@entry_point
def advance_partitions(engine: Engine, routed: int, first: int, last: int) -> None:
    """Run the memory partitions ``first`` to ``last`` (exclusive) as far as the crossbar's cycles before ``routed``."""
    memory = engine.memory
    for controller in range(first, last):
        partition.advance(memory.crossbar, memory.l2, memory.dram, controller, routed)


@entry_point
def close_quantum(engine: Engine, stop: int, routed: int) -> int:
    """Hand the responses to the SMs and find the next cycle at which anything happens."""
    ctas, ports, memory, clock = engine.ctas, engine.ports, engine.memory, engine.clock
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


@compiled
def advance_sm(
    core: Core, ctas: Dispatch, lsus: Lsu, caches: L1, rays: RtUnit, ports: Port, program: Program, work: Work,
    records: Records, lane_cycles: np.ndarray, sm: int, since: int, until: int,
) -> int:  # fmt: skip
    """Run one SM from ``since`` to ``until``, or until it asks for a CTA; returns the cycle of its next event."""
    if dispatch.is_idle(ctas, sm):
        l1.forget_idle(caches, sm)
    foresight.of_sm(core, lsus, caches, ports, sm)
    now = min(model.first_event(core, sm, since - 1), next_event(core, ctas, lsus, rays, ports, sm, since - 1))
    while now < until and now <= ctas.unit[sm, ASK]:
        # responses come out of the crossbar
        receive(core, ctas, lsus, caches, rays, ports, records, sm, now)
        if dispatch.next_start(ctas, sm) <= now:
            model.launch(core, ctas, program, work, sm, now)  # a new CTA takes its place
        model.before_memory(core, ctas, sm, now)  # results of arithmetic: warps may go on
        if lsus.unit[sm, LSU_CYCLE] <= now:
            # data is written back, a response taken, accesses meet the tags, instructions go on
            run_lsu(core, ctas, lsus, caches, rays, ports, work, records, sm, now)
        if rays.gate[sm, rt_unit.NEXT_CYCLE] <= now:
            # one request, one completed warp
            run_rt_unit(core, ctas, caches, rays, ports, records, lane_cycles, sm, now)
        # each scheduler issues one ready warp
        retry = model.after_memory(core, ctas, lsus, caches, rays, program, work, lane_cycles, sm, now)
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
    soonest = min(soonest, lsus.unit[sm, LSU_CYCLE])
    soonest = min(soonest, rays.gate[sm, rt_unit.NEXT_CYCLE])
    return max(soonest, now + 1)


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
