"""The quanta of ``step.run`` with the SMs and the memory partitions shared among threads.

SMs share nothing inside a quantum, and partitions nothing at all, so the results are those of one thread, bit for bit.
Threads wait for each other without spinning, so that more threads than cores do no harm.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np

from replay import crossbar, partition, rounds, step
from replay.bits import entry_point
from replay.dispatch import Dispatch
from replay.l1 import L1
from replay.lsu import Lsu
from replay.model import Core
from replay.port import Port
from replay.rounds import NOW, UNTIL, WAITS_FOR_WARPS
from replay.rt_unit_state import Records, RtUnit
from replay.step import NEEDS_WARPS, RUNNING, Memory
from replay.work import Program, Work


def run(
    core: Core, ctas: Dispatch, lsus: Lsu, caches: L1, rays: RtUnit, ports: Port, program: Program, work: Work,
    records: Records, lane_cycles: np.ndarray, memory: Memory, clock: np.ndarray, stop: int, quantum: int,
    loaded_warps: int, threads: int,
) -> int:  # fmt: skip
    """``step.run``, which explains the order of the stages, on ``threads`` threads."""
    with ThreadPoolExecutor(threads) as pool:
        while clock[NOW] < stop:
            begin(ctas, clock, stop, quantum)

            def sms(first: int, last: int, settles: bool = False) -> int:
                return advance_sms(
                    core, ctas, lsus, caches, rays, ports, program, work, records, lane_cycles, clock, first, last,
                    settles, loaded_warps,
                )  # fmt: skip

            list(share(pool, threads, len(ctas.unit), sms))
            if sms(0, len(ctas.unit), True) == WAITS_FOR_WARPS:
                return NEEDS_WARPS
            routed = hand_over(memory, ports, clock)
            list(share(pool, threads, memory.l2.controllers, partial(advance_partitions, memory, routed)))
            status = close(ctas, ports, memory, clock, stop, routed)
            if status != RUNNING:
                return status
    return RUNNING


def share(pool: ThreadPoolExecutor, threads: int, count: int, job: Callable[[int, int], int]) -> Iterator[int]:
    """Cut ``range(count)`` into a piece per thread and run ``job(first, last)`` on each."""
    bounds = [count * part // threads for part in range(threads + 1)]
    return pool.map(job, bounds[:-1], bounds[1:])


@entry_point
def begin(ctas: Dispatch, clock: np.ndarray, stop: int, quantum: int) -> None:
    """``rounds.begin``."""
    rounds.begin(ctas, clock, stop, quantum)


@entry_point
def advance_sms(
    core: Core, ctas: Dispatch, lsus: Lsu, caches: L1, rays: RtUnit, ports: Port, program: Program, work: Work,
    records: Records, lane_cycles: np.ndarray, clock: np.ndarray, first: int, last: int, settles: bool,
    loaded_warps: int,
) -> int:  # fmt: skip
    """``step.run_rounds``: the first round is shared among threads; the SMs that get CTAs go on in one of them."""
    return step.run_rounds(
        core, ctas, lsus, caches, rays, ports, program, work, records, lane_cycles, clock, first, last, settles,
        loaded_warps,
    )  # fmt: skip


@entry_point
def hand_over(memory: Memory, ports: Port, clock: np.ndarray) -> int:
    """``crossbar.route_requests``."""
    return crossbar.route_requests(memory.crossbar, ports, memory.l2, clock[UNTIL])


@entry_point
def advance_partitions(memory: Memory, routed: int, first: int, last: int) -> int:
    """Run the memory partitions ``first`` to ``last`` (exclusive)."""
    for controller in range(first, last):
        partition.advance(memory.crossbar, memory.l2, memory.dram, controller, routed)
    return last


@entry_point
def close(ctas: Dispatch, ports: Port, memory: Memory, clock: np.ndarray, stop: int, routed: int) -> int:
    """``step.close_quantum``."""
    return step.close_quantum(ctas, ports, memory, clock, stop, routed)
