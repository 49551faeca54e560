"""The quanta of ``step.run`` with the SMs and the memory partitions shared among threads.

SMs share nothing inside a quantum, and partitions nothing at all, so the results are those of one thread, bit for bit.
Threads wait for each other without spinning, so that more threads than cores do no harm.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from replay import crossbar, dispatch, partition, step
from replay.bits import FAR, entry_point
from replay.dispatch import Dispatch
from replay.dram_state import Dram
from replay.l1 import L1
from replay.l2_state import L2
from replay.lsu import Lsu
from replay.port import Port
from replay.rt_unit_state import Records, RtUnit
from replay.scheduler import Warps
from replay.step import NEEDS_WARPS, RUNNING, Memory
from replay.work import Program, Work


def run(
    core: Warps, ctas: Dispatch, lsus: Lsu, caches: L1, rays: RtUnit, ports: Port, program: Program, work: Work,
    records: Records, lane_cycles: np.ndarray, memory: Memory, clock: np.ndarray, stop: int, quantum: int,
    loaded_warps: int, threads: int,
) -> int:  # fmt: skip
    """``step.run``, which explains the order of the stages, on ``threads`` threads."""
    ahead = memory.crossbar.request_cycles
    with ThreadPoolExecutor(threads) as pool:
        while clock[0] < stop:
            now = int(clock[0])
            if not grant(ctas, now, loaded_warps):
                return NEEDS_WARPS
            until = min(now + quantum, stop)

            def sms(first: int, last: int, now: int = now, until: int = until) -> int:
                return advance_sms(
                    core, ctas, lsus, caches, rays, ports, program, work, records, lane_cycles, first, last, now, until
                )  # fmt: skip

            def partitions(first: int, last: int, until: int = until) -> int:
                return advance_partitions(memory.l2, memory.dram, first, last, until + ahead)

            soonest = min(share(pool, threads, len(ctas.unit), sms))
            hand_over(memory, ports, now, until)
            list(share(pool, threads, memory.l2.controllers, partitions))
            status = close(ctas, ports, memory, clock, now, until, soonest, stop)
            if status != RUNNING:
                return status
    return RUNNING


def share(pool: ThreadPoolExecutor, threads: int, count: int, job: Callable[[int, int], int]) -> Iterator[int]:
    """Cut ``range(count)`` into a piece per thread and run ``job(first, last)`` on each."""
    bounds = [count * part // threads for part in range(threads + 1)]
    return pool.map(job, bounds[:-1], bounds[1:])


@entry_point
def grant(ctas: Dispatch, now: int, loaded_warps: int) -> bool:
    """``dispatch.grant_until``."""
    return dispatch.grant_until(ctas, now, loaded_warps)


@entry_point
def advance_sms(
    core: Warps, ctas: Dispatch, lsus: Lsu, caches: L1, rays: RtUnit, ports: Port, program: Program, work: Work,
    records: Records, lane_cycles: np.ndarray, first: int, last: int, now: int, until: int,
) -> int:  # fmt: skip
    """Run the SMs ``first`` to ``last`` (exclusive) to ``until``; returns the next cycle at which one has work."""
    soonest = FAR
    for sm in range(first, last):
        following = step.advance_sm(
            core, ctas, lsus, caches, rays, ports, program, work, records, lane_cycles, sm, now, until
        )  # fmt: skip
        soonest = min(soonest, following)
    return soonest


@entry_point
def hand_over(memory: Memory, ports: Port, now: int, until: int) -> None:
    """``crossbar.route_requests``."""
    crossbar.route_requests(memory.crossbar, ports, memory.l2, now, until)


@entry_point
def advance_partitions(cache: L2, memory: Dram, first: int, last: int, until: int) -> int:
    """Run the memory partitions ``first`` to ``last`` (exclusive) to ``until``."""
    for controller in range(first, last):
        partition.advance(cache, memory, controller, until)
    return last


@entry_point
def close(
    ctas: Dispatch, ports: Port, memory: Memory, clock: np.ndarray, now: int, until: int, soonest: int, stop: int
) -> int:
    """``step.close_quantum``."""
    return step.close_quantum(ctas, ports, memory, clock, now, until, soonest, stop)
