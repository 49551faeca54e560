"""The RT unit behind Vulkan-Sim's own L1: every access is answered as in the dump, and every cycle is compared.

The dump says for each access whether it hit, missed or found no place, and when each response came. So the memory
system is Vulkan-Sim's and only the RT unit is ours (``reference/vulkan-sim.md`` 1.4 and 3).
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from replay import gpu_description, l1, port, rt_unit, rt_unit_state
from replay.bits import FAR, entry_point
from replay.l1 import L1
from replay.port import Port
from replay.rt_unit_state import FINISHED_AT, LANES, NEXT_CYCLE, START, WARP, Records, RtUnit
from tests.replay.vulkan_sim import WarpTrace, read_accesses, read_dump, to_records

HIT, MISS, FAIL = 0, 2, 3  # status of an access in the dump
MARGIN = 2000
# columns of access: cycle, sector, is a write, status; of response: cycle, sector, is a write, operation
CYCLE, SECTOR, IS_WRITE, STATUS, OPERATION = 0, 1, 2, 3, 3


class Scratch(NamedTuple):
    """Working memory of a run, which may not allocate."""

    row_of: np.ndarray  # int64[operations]: the unit's row that holds a warp
    warp_of: np.ndarray  # int64[operations]: the warp's number on its SM
    waiting: np.ndarray  # int64[4096, 2]: sector, waiter
    count: np.ndarray  # int64[4]: waiting, accesses equal, accesses that differ, accesses the dump does not have


@entry_point
def run_unit(
    state: RtUnit, cache: L1, ports: Port, records: Records, warps: np.ndarray, arrival: np.ndarray,
    access: np.ndarray, response: np.ndarray, scratch: Scratch, found: np.ndarray,
) -> None:  # fmt: skip
    """Drive one SM's unit (number 0) through the dump's cycles; ``found`` as in ``test_rt_unit_vulkan_sim``."""
    now = following = sent = received = 0
    stop = access[-1, CYCLE] + MARGIN  # a unit that asks for what the dump does not have would try for ever
    while now < stop:
        while following < warps.size and arrival[warps[following]] <= now:
            scratch.warp_of[warps[following]] = following
            rt_unit.enqueue(state, 0, now, following & 255, warps[following])
            following += 1
        while received < response.shape[0] and response[received, CYCLE] <= now:
            respond(state, records, response[received], now, scratch)
            received += 1
        while sent < access.shape[0] and access[sent, CYCLE] < now:
            sent += 1
        expects = sent < access.shape[0] and access[sent, CYCLE] == now
        prepare(cache, ports, access[sent, SECTOR] if expects else 0, access[sent, STATUS] if expects else FAIL)
        finished = rt_unit.cycle(state, cache, ports, records, 0, 0, now)
        compare(cache, ports, access[sent, 1:] if expects else access[0, :0], scratch)
        for row in range(state.warps):
            if state.slot[row, WARP] >= 0:
                scratch.row_of[state.slot[row, WARP]] = row
        if finished >= 0:
            row = scratch.row_of[finished]
            found[warps[finished], 0], found[warps[finished], 1] = state.slot[row, START], now
            for lane in range(LANES):
                found[warps[finished], 2 + lane] = state.lane[FINISHED_AT, row * LANES + lane]
        now = state.gate[0, NEXT_CYCLE]
        if following < warps.size:
            now = min(now, arrival[warps[following]])
        if received < response.shape[0]:
            now = min(now, response[received, CYCLE])


@entry_point
def respond(state: RtUnit, records: Records, response: np.ndarray, now: int, scratch: Scratch) -> None:
    """A response of the dump: an acknowledged store of a warp, or a sector for all that wait for it."""
    if response[IS_WRITE]:
        rt_unit.receive_own(state, records, 0, now, (scratch.warp_of[response[OPERATION]] & 255) << 1)
        return
    kept = 0
    for index in range(scratch.count[0]):
        if scratch.waiting[index, 0] == response[SECTOR]:
            rt_unit.receive_sector(state, records, 0, now, scratch.waiting[index, 1], -1, response[SECTOR])
        else:
            scratch.waiting[kept, 0] = scratch.waiting[index, 0]
            scratch.waiting[kept, 1] = scratch.waiting[index, 1]
            kept += 1
    scratch.count[0] = kept


@entry_point
def prepare(cache: L1, ports: Port, sector: int, status: int) -> None:
    """Let the next access find what the dump's found: the sector, a place for a miss, or neither."""
    cache.bucket_head[:] = -1
    cache.order[:, :] = 0
    cache.order[:, :2] = -1
    cache.stats[:, :] = 0
    ports.port[:, :] = 0
    if status == FAIL:
        ports.port[0, port.FREE_AT] = FAR
    if status == HIT:
        at = l1.allocate(cache, 0, sector >> cache.sector_shift)
        cache.line[at, l1.VALID] = 1 << (sector & ((1 << cache.sector_shift) - 1))


@entry_point
def compare(cache: L1, ports: Port, expected: np.ndarray, scratch: Scratch) -> None:
    """Count the cycle's access as equal to the dump's (sector, is a write, status) or not; note who waits."""
    count, stats = scratch.count, cache.stats[0]
    missed = stats[l1.READ_MISSES] + stats[l1.SECTOR_MISSES]
    written = stats[l1.WRITE_HITS] + stats[l1.WRITE_MISSES]
    if missed:
        entry, sector = ports.request[0, 3] >> 2, ports.request[0, 1]
        l1.drop_entry(cache, 0, entry, sector)
        scratch.waiting[count[0], 0] = sector
        scratch.waiting[count[0], 1] = cache.waiter[entry, 0] >> 1
        count[0] += 1
    if expected.size == 0:
        count[3] += stats[l1.FAILS]
    elif expected[2] == FAIL:
        count[1 if stats[l1.FAILS] else 2] += 1
    elif expected[1]:
        count[1 if written else 2] += 1
    elif expected[2] == HIT:
        count[1 if stats[l1.READ_HITS] else 2] += 1
    else:
        count[1 if missed and ports.request[0, 1] == expected[0] else 2] += 1


def replay_dump(path: Path) -> dict[str, int]:
    """How many accesses, warps and lanes of a dump come out exactly."""
    warps = read_dump(path)
    records, arrival = to_records(warps), np.array([warp.arrival_cycle for warp in warps])
    access, response = read_accesses(path, {warp.uid: number for number, warp in enumerate(warps)})
    gpu = gpu_description.load("rtx2060", ["rt.mshr_entries=0", "l1.bytes=1024", "l1.ways=8"])
    found = np.zeros((len(warps), 2 + LANES), np.int64)
    count = np.zeros(4, np.int64)
    for sm in sorted({warp.sm for warp in warps}):
        mine = np.array([index for index, warp in enumerate(warps) if warp.sm == sm], np.int64)
        units = rt_unit_state.make_state(gpu.rt, 1), l1.make_state(gpu.l1, 1, 16), port.make_state(gpu.interconnect, 1)
        scratch = Scratch(
            np.zeros(len(warps), np.int64), np.zeros(len(warps), np.int64), np.zeros((4096, 2), np.int64),
            np.zeros(4, np.int64),
        )  # fmt: skip
        run_unit(*units, records, mine, arrival, access[sm], response[sm], scratch, found)
        count += scratch.count
    return exact(warps, found) | {
        "accesses": int(count[1]), "accesses_differ": int(count[2]), "accesses_more": int(count[3]),
    }  # fmt: skip


def exact(warps: list[WarpTrace], found: np.ndarray) -> dict[str, int]:
    """Warps and lanes whose cycles are the dump's."""
    lanes = same_warps = 0
    for warp, row in zip(warps, found, strict=True):
        latency = {lane: int(row[2 + lane] - row[0]) for lane in warp.records}
        lanes += sum(warp.latency[lane] == cycles for lane, cycles in latency.items())
        same_warps += latency == warp.latency and [warp.start_cycle, warp.end_cycle] == row[:2].tolist()
    return {"warps": int(same_warps), "lanes": lanes}


EXPECTED: dict[str, dict[str, int]] = {
    "box32": {"warps": 122, "lanes": 3069, "accesses": 22894, "accesses_differ": 0, "accesses_more": 0},
    "shipao32": {"warps": 160, "lanes": 3696, "accesses": 117666, "accesses_differ": 0, "accesses_more": 0},
    "cornell32_rtx2060": {"warps": 122, "lanes": 3069, "accesses": 22479, "accesses_differ": 0, "accesses_more": 0},
}  # fmt: skip


@pytest.mark.parametrize("name", EXPECTED)
def test_cycles_and_accesses_are_those_of_the_dump(data: Path, name: str) -> None:
    assert replay_dump(data / f"reference/vulkansim/{name}.txt.xz") == EXPECTED[name]
