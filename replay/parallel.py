"""The quanta of ``step.run`` with the SMs and the memory partitions shared among threads.

SMs share nothing inside a quantum, and partitions nothing at all, so the results are those of one thread, bit for bit.
Threads come from numba's work queue, which does not spin while it waits.
"""

import numpy as np
from numba import config, njit, prange

from replay import crossbar, dispatch, partition
from replay.bits import FAR
from replay.dispatch import Dispatch
from replay.l1 import L1
from replay.lsu import Lsu
from replay.port import Port
from replay.rt_unit import Records, RtUnit
from replay.scheduler import Warps
from replay.step import NEEDS_WARPS, RUNNING, Memory, advance_sm, close_quantum
from replay.work import Program, Work

config.THREADING_LAYER = "workqueue"


def run(
    core: Warps,
    ctas: Dispatch,
    lsus: Lsu,
    caches: L1,
    rays: RtUnit,
    ports: Port,
    program: Program,
    work: Work,
    records: Records,
    lane_cycles: np.ndarray,
    memory: Memory,
    clock: np.ndarray,
    stop: int,
    quantum: int,
    loaded_warps: int,
    threads: int,
) -> int:
    """``step.run`` on ``threads`` threads."""
    from numba import get_num_threads, set_num_threads

    before = get_num_threads()
    set_num_threads(min(threads, config.NUMBA_NUM_THREADS))
    try:
        return run_quanta(
            core,
            ctas,
            lsus,
            caches,
            rays,
            ports,
            program,
            work,
            records,
            lane_cycles,
            memory,
            clock,
            stop,
            quantum,
            loaded_warps,
        )
    finally:
        set_num_threads(before)


@njit(cache=True, parallel=True)
def run_quanta(
    core: Warps,
    ctas: Dispatch,
    lsus: Lsu,
    caches: L1,
    rays: RtUnit,
    ports: Port,
    program: Program,
    work: Work,
    records: Records,
    lane_cycles: np.ndarray,
    memory: Memory,
    clock: np.ndarray,
    stop: int,
    quantum: int,
    loaded_warps: int,
) -> int:
    """As ``step.run``, which explains the order of the stages."""
    sms = ctas.unit.shape[0]
    next_events = np.empty(sms, np.int64)
    while clock[0] < stop:
        now = clock[0]
        if not dispatch.grant_until(ctas, now, loaded_warps):
            return NEEDS_WARPS
        until = min(now + quantum, stop)
        for sm in prange(sms):
            next_events[sm] = advance_sm(
                core, ctas, lsus, caches, rays, ports, program, work, records, lane_cycles, sm, now, until
            )
        crossbar.route_requests(memory.crossbar, ports, memory.l2, now, until)
        for controller in prange(memory.l2.controllers):
            partition.advance(memory.l2, memory.dram, controller, until + memory.crossbar.request_cycles)
        soonest = FAR
        for sm in range(sms):
            soonest = min(soonest, next_events[sm])
        status = close_quantum(ctas, ports, memory, clock, now, until, soonest, stop)
        if status != RUNNING:
            return status
    return RUNNING
