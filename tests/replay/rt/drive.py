"""One SM's RT units driven through the rows of a dump: every access is answered as there, and compared.

The dump says for each access whether it hit, missed or found no place, and when each response came: the memory system
is the dump's and only the RT unit is ours.
"""

from typing import NamedTuple

import numpy as np

from rayplay.replay.gpu import description as gpu_description
from rayplay.replay.input.rays import Records
from rayplay.replay.input.work import LANES
from rayplay.replay.jit.bits import FAR, entry_point
from rayplay.replay.memory import l1, port
from rayplay.replay.memory.cache import fill as cache_fill
from rayplay.replay.memory.cache import mshr as cache_mshr
from rayplay.replay.memory.cache import state as cache_state
from rayplay.replay.memory.cache.tags import invalidate
from rayplay.replay.memory.l1 import L1
from rayplay.replay.memory.port import Port
from rayplay.replay.rt import entry as rt_unit_entry
from rayplay.replay.rt import state as rt_unit_state
from rayplay.replay.rt import unit as rt_unit
from rayplay.replay.rt.state import FINISHED_AT, NEXT_CYCLE, START, WARPS_PER_SM, RtUnit
from tests.replay.memory.memory_driver import make_port

HIT, MISS, FAIL = 0, 2, 3  # status of an access in the dump
MARGIN = 2000
# columns of access: cycle, RT core, sector, is a write, status; of response: cycle, sector, is a write, warp
READ_HITS, FAILS, WRITE_FAILS = cache_state.HIT, cache_state.FAIL, 5 + cache_state.FAIL
CYCLE, CORE, SECTOR, IS_WRITE, STATUS = range(5)
RESPONSE_SECTOR, RESPONSE_IS_WRITE, RESPONSE_WARP = 1, 2, 3
WAITING, EQUAL, DIFFERENT, SURPLUS, WRITTEN = range(5)


class Scratch(NamedTuple):
    """Working memory of a run, which may not allocate."""

    operation_of: np.ndarray  # int64[256]: operation of a warp of the SM
    row_of: np.ndarray  # int64[256]: its slot
    waiting: np.ndarray  # int64[4096, 2]: sector, waiter (or number of a request past the caches)
    count: np.ndarray  # int64[5]: waiting; accesses equal, different, and beyond the dump's; rows of writes
    writes: np.ndarray  # int64[writes, 2]: sector that was written, and the dump's


@entry_point
def run_unit(
    state: RtUnit, cache: L1, ports: Port, records: Records, warps: np.ndarray, access: np.ndarray,
    response: np.ndarray, scratch: Scratch, found: np.ndarray,
) -> None:  # fmt: skip
    """Drive SM 0's units through the dump's cycles.

    warps  int64[operations, 3]: operation, cycle of arrival, number on the SM, in order of arrival.
    found  int64[operations, 2 + 32]: cycle accepted, cycle completed, cycle each lane finished.
    """
    now = following = sent = received = 0
    stop = warps[warps.shape[0] - 1, 1] + MARGIN  # a unit that asks for what the dump does not have would try for ever
    if access.shape[0]:
        stop = max(stop, access[access.shape[0] - 1, CYCLE] + MARGIN)
    while now < stop:
        while following < warps.shape[0] and warps[following, 1] <= now:
            scratch.operation_of[warps[following, 2]] = warps[following, 0]
            rt_unit_entry.enqueue(state, 0, now, warps[following, 2], warps[following, 0], 0)
            following += 1
        while received < response.shape[0] and response[received, CYCLE] <= now:
            respond(state, records, response[received], now, scratch)
            received += 1
        rt_unit.begin(state, records, 0, now)
        note_rows(state, scratch)
        for core in range(state.cores):
            while sent < access.shape[0] and access[sent, CYCLE] < now:
                sent += 1
                scratch.count[DIFFERENT] += 1
            expected = access[sent : sent + 1]
            if expected.shape[0] and (expected[0, CYCLE] != now or expected[0, CORE] != core):
                expected = expected[:0]
            sent += expected.shape[0]
            prepare(cache, ports, expected)
            finish(state, scratch, found, now, rt_unit.cycle(state, cache, ports, records, 0, core, now))
            compare(state, cache, ports, expected, scratch)
        now = state.gate[0, NEXT_CYCLE]
        if following < warps.shape[0]:
            now = min(now, warps[following, 1])
        if received < response.shape[0]:
            now = min(now, response[received, CYCLE])


@entry_point
def note_rows(state: RtUnit, scratch: Scratch) -> None:
    """Note the warps in their slots."""
    for row in range(state.slot.shape[0]):
        if state.slot[row, rt_unit_state.WARP] >= 0:
            scratch.row_of[state.slot[row, rt_unit_state.WARP]] = row


@entry_point
def finish(state: RtUnit, scratch: Scratch, found: np.ndarray, now: int, warp: int) -> None:
    """Note the cycles of the warp that completes (or -1)."""
    if warp < 0:
        return
    row, operation = scratch.row_of[warp], scratch.operation_of[warp]
    found[operation, 0], found[operation, 1] = state.slot[row, START], now
    for lane in range(LANES):
        found[operation, 2 + lane] = state.lane[FINISHED_AT, row * LANES + lane]


@entry_point
def respond(state: RtUnit, records: Records, response: np.ndarray, now: int, scratch: Scratch) -> None:
    """A response of the dump: an acknowledged store of a warp, or a sector for all that wait for it."""
    if response[RESPONSE_IS_WRITE]:
        rt_unit.receive_own(state, records, 0, now, response[RESPONSE_WARP] << 1)
        return
    kept, leader = 0, np.int64(-1)
    for index in range(scratch.count[WAITING]):
        sector, waiter = scratch.waiting[index, 0], scratch.waiting[index, 1]
        if sector != response[RESPONSE_SECTOR]:
            scratch.waiting[kept, 0], scratch.waiting[kept, 1] = sector, waiter
            kept += 1
        elif state.cache == 0:
            rt_unit.receive_sector(state, records, 0, now, waiter, leader, sector, 0)
            leader = waiter if leader < 0 else leader
        else:  # past the caches every request has a response of its own, in order
            rt_unit.receive_own(state, records, 0, now, waiter)
            for later in range(index + 1, scratch.count[WAITING]):
                scratch.waiting[kept, 0], scratch.waiting[kept, 1] = (
                    scratch.waiting[later, 0],
                    scratch.waiting[later, 1],
                )
                kept += 1
            break
    scratch.count[WAITING] = kept


@entry_point
def prepare(cache: L1, ports: Port, expected: np.ndarray) -> None:
    """Let the next access find what the dump's found: the sector, a place for a miss, or neither."""
    invalidate(cache.cache, 0)
    cache.cache.stats[:, :] = 0
    cache.leaves_at[0] = 0
    ports.port[:, :] = 0
    ports.stats[:, :] = 0
    if expected.shape[0] == 0 or expected[0, STATUS] == FAIL:
        ports.port[0, port.IN_FLIGHT] = FAR
    elif expected[0, STATUS] == HIT:
        cache_fill.warm(cache.cache, 0, 0, expected[0, SECTOR], expected[0, SECTOR] >> cache.cache.sector_shift)


@entry_point
def compare(state: RtUnit, cache: L1, ports: Port, expected: np.ndarray, scratch: Scratch) -> None:
    """Count the access as equal to the dump's (sector, is a write, status) or not; note who waits."""
    count, stats = scratch.count, cache.cache.stats[0]
    sent, sector, number = ports.stats[0, port.SENT], ports.request[0, 1], ports.request[0, 3] >> port.SM_BITS + 2
    missed = sent and ports.request[0, 2] & 3 == port.READ
    if missed:
        waiter = number
        if state.cache == 0:
            waiter = l1.first_waiter(cache, 0, number) >> 1
            cache_mshr.drop_entry(cache.cache, 0, number)
        scratch.waiting[count[WAITING], 0], scratch.waiting[count[WAITING], 1] = sector, waiter
        count[WAITING] += 1
    failed = stats[FAILS] + stats[WRITE_FAILS] if state.cache == 0 else 0
    if expected.shape[0] == 0:
        count[SURPLUS] += failed or sent
        return
    status = expected[0, STATUS]
    if status == FAIL:
        same = failed == 1 or (state.cache != 0 and sent == 0)
    elif expected[0, IS_WRITE]:
        same = sent == 1 and not missed
        if same and count[WRITTEN] < scratch.writes.shape[0]:
            scratch.writes[count[WRITTEN], 0], scratch.writes[count[WRITTEN], 1] = sector, expected[0, SECTOR]
            count[WRITTEN] += 1
    elif status == HIT:
        same = stats[READ_HITS] == 1
    else:
        same = missed and sector == expected[0, SECTOR]
    count[EQUAL if same else DIFFERENT] += 1


def drive(
    records: Records, warps: np.ndarray, access: np.ndarray, response: np.ndarray, found: np.ndarray,
    settings: list[str], writes: np.ndarray | None = None,
) -> tuple[np.ndarray, RtUnit]:  # fmt: skip
    """Run one SM with ``--set`` settings: int64[3] accesses equal, different, and beyond the dump's; the unit.

    writes  int64[n, 2], filled with the sectors of the first n writes that the memory took, and the dump's.
    """
    gpu = gpu_description.load("rtx2060", [*settings, "l1.bytes=1024", "l1.ways=8"])
    units = rt_unit_state.make_state(gpu.rt, 1), l1.make_state(gpu.l1, 1, 16), make_port(gpu, 1)
    scratch = Scratch(
        np.zeros(WARPS_PER_SM, np.int64), np.zeros(WARPS_PER_SM, np.int64), np.zeros((4096, 2), np.int64),
        np.zeros(5, np.int64), np.zeros((0, 2), np.int64) if writes is None else writes,
    )  # fmt: skip
    run_unit(*units, records, warps, access, response, scratch, found)
    return scratch.count[EQUAL:WRITTEN], units[0]
