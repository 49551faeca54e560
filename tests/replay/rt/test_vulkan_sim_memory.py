"""The RT unit behind Vulkan-Sim's own L1: every warp, lane and request.

Source: ``docs/sources/vulkan-sim.md#rt-unit, #golden-dumps``.
"""

from pathlib import Path

import numpy as np
import pytest

from outside.dump import BLOCK_BYTES, WarpTrace, read_accesses, read_dump, to_records
from rayplay.replay.input.work import LANES
from rayplay.replay.rt.state import TABLE_BYTES, TABLES
from tests.replay.rt.drive import IS_WRITE, drive


def replay_dump(path: Path) -> dict[str, int]:
    """How many accesses, warps and lanes of a dump come out exactly."""
    warps = read_dump(path)
    records = to_records(warps)
    access, response = read_accesses(path, {warp.uid: warp.warp for warp in warps})
    found, count = np.zeros((len(warps), 2 + LANES), np.int64), np.zeros(3, np.int64)
    rules = ["rt.mshr_limit=vulkan-sim", "rt.response=vulkan-sim", "rt.intersection_table=baseline"]
    for sm in sorted({warp.sm for warp in warps}):
        mine = [[index, warp.arrival_cycle, warp.warp] for index, warp in enumerate(warps) if warp.sm == sm]
        writes = np.zeros((int(access[sm][:, IS_WRITE].sum()), 2), np.int64)
        count += drive(records, np.array(mine, np.int64), access[sm], response[sm], found, rules, writes)[0]
        check_writes(writes[writes[:, 0] > 0], [warp.table for warp in warps if warp.sm == sm])
    return exact(warps, found) | {
        "accesses": int(count[0]), "accesses_differ": int(count[1]), "accesses_more": int(count[2]),
    }  # fmt: skip


def check_writes(writes: np.ndarray, tables: list[int]) -> None:
    """Each hit writes a block of its own, theirs as ours; a table's stores lie as far from its beginning as there."""
    of_hit = writes[:, 0] < TABLES
    for column in range(2):
        block = writes[of_hit, column] * 32 // BLOCK_BYTES
        assert len(np.unique(block)) == len(block)
        assert (writes[of_hit, column] * 32 % BLOCK_BYTES == 0).all()
    ours, theirs = writes[~of_hit].T * 32
    if len(ours):
        bases = np.unique(tables)
        found = theirs - bases[np.searchsorted(bases, theirs, side="right") - 1]
        assert ((ours - TABLES * 32) % TABLE_BYTES == found).all()


def exact(warps: list[WarpTrace], found: np.ndarray) -> dict[str, int]:
    """Warps and lanes whose cycles are the dump's."""
    lanes = same_warps = 0
    for warp, row in zip(warps, found, strict=True):
        latency = {lane: int(row[2 + lane] - row[0]) for lane in warp.records}
        lanes += sum(warp.latency[lane] == cycles for lane, cycles in latency.items())
        same_warps += latency == warp.latency and [warp.start_cycle, warp.end_cycle] == row[:2].tolist()
    return {"warps": int(same_warps), "lanes": lanes}


# All of them: the lines A, T and M of each dump.
EXPECTED: dict[str, dict[str, int]] = {
    "box32": {"warps": 122, "lanes": 3069, "accesses": 22894, "accesses_differ": 0, "accesses_more": 0},
    "shipao32": {"warps": 160, "lanes": 3696, "accesses": 117666, "accesses_differ": 0, "accesses_more": 0},
    "cornell32_rtx2060": {"warps": 122, "lanes": 3069, "accesses": 22479, "accesses_differ": 0, "accesses_more": 0},
}  # fmt: skip


@pytest.mark.parametrize("name", EXPECTED)
def test_cycles_and_accesses_are_those_of_the_dump(data: Path, name: str) -> None:
    assert replay_dump(data / f"reference/vulkansim/{name}.txt.xz") == EXPECTED[name]


def test_stores_into_intersection_tables_are_read(tmp_path: Path) -> None:
    path = tmp_path / "dump.txt"
    path.write_text(
        "A 0 1 7 100\nT 3 1 2 3 0.5 0 0 -1 9 c0:64:0 c800:64:6 S1100c:4:0 S11098:8:0 S1118c:4:0\n"
        "T 4 1 2 3 0.5 0 0 -1 9 c0:64:0\nD 0 1 7 100 140 3:40 4:20\n"
    )
    warps = read_dump(path)
    assert (warps[0].table, warps[0].stores) == (0x11000, {3: [0xC, 0x98, 0x18C], 4: []})
    records = to_records(warps)
    assert (records.first_store.tolist(), records.store.tolist()) == ([0, 3, 3], [0xC, 0x98, 0x18C])
