"""L1s that write back: what leaves them, when, and which bytes the L2 then knows; the twin has the cycles.

The slow twin: ``tests/replay/engine/test_twin.py``.
"""

from pathlib import Path

import pytest

from rayplay.formats.guard.errors import UserError
from rayplay.replay.gpu.description import load
from rayplay.replay.results.metrics import Result
from rayplay.replay.run.driver import simulate
from tests.replay.sm.test_async_copies import trace_of

BASE = 0x10000000
SETS = 4
SMALL = (f"l1.bytes={SETS * 128}", "l1.ways=1", "l1.unified_bytes=0", "l1.dirty_percent=0")
BACK = "l1.write_policy=back"
WORD, WHOLE_SECTOR, LINE = (4, 0), (1, 1), (4, 4)  # bytes of a lane, and from lane to lane


def store(offset: int, shape: tuple[int, int]) -> str:
    width, stride = shape
    return f"0 STG.E{'.U8' if width == 1 else ''} 2 R0 R3 {width} 1 {BASE + offset:#x} {stride} 0"


def fetch(offset: int, register: int) -> str:
    return f"1 R{register} LDG.E 1 R0 4 1 {BASE + offset:#x} 0 0"


OTHER_LINE = [fetch(128 * SETS, 1), "1 R2 MOV 1 R1 0 0"]  # of the first one's set; the warp waits until it is there


def replay(folder: Path, lines: list[str], *values: str) -> Result:
    return simulate(trace_of(folder, lines), load("accelsim-rtx2060", [*SMALL, *values]), model="pipeline")


def counted(result: Result, unit: str, *beginnings: str) -> int:
    table = result.counters
    found = [name.startswith(beginnings) for name in table["counter"].astype(str)]
    return int(table["value"][(table["unit"] == unit) & found].sum())


WRITES = ("write_hits", "write_line", "write_sector", "write_pending")


@pytest.mark.parametrize(
    ("stores", "sectors"),
    [([store(0, LINE)], 4), ([store(32, WHOLE_SECTOR), store(96, WORD)], 2), ([store(64, WORD)] * 3, 1), ([], 0)],
)
def test_dirty_sectors_leave_with_their_line_alone(tmp_path: Path, stores: list[str], sectors: int) -> None:
    kept = replay(tmp_path / "kept", stores or ["0 MOV 0 0 0"], BACK)
    assert counted(kept, "l2", *WRITES) == counted(kept, "port", "requests") == 0, "lost when the kernel ends"
    gone = replay(tmp_path / "gone", [*stores, *OTHER_LINE], BACK)
    assert counted(gone, "l1d", "write_backs") == bool(sectors)
    assert counted(gone, "l2", *WRITES) == sectors
    assert counted(gone, "port", "requests") == sectors + 1
    through = replay(tmp_path / "through", [*stores, *OTHER_LINE])
    assert counted(through, "l1d", "write_backs") == 0


@pytest.mark.parametrize(("shape", "hits"), [(WHOLE_SECTOR, 1), (WORD, 0)])
def test_the_l2_knows_which_bytes_were_written(tmp_path: Path, shape: tuple[int, int], hits: int) -> None:
    """A sector of which all bytes were written may be read there; another has to be fetched first.

    There is one slice: of several the line goes to the slice of the access that drove it away, as in Accel-Sim.
    """
    slices = ["memory.count=1", "l2.slices_per_controller=1", "l2.bytes=131072"]
    wait = ["1 R7 MUFU.RCP 1 R7 0 0"] * 40  # until the L2 has the line
    again = [fetch(32, 4), "1 R5 MOV 1 R4 0 0"]
    found = replay(tmp_path / "case", [store(32, shape), *OTHER_LINE, *wait, *again], BACK, *slices)
    assert counted(found, "l2", "read_hits") == hits
    assert counted(found, "l2", "read_sector_misses") == 1 - hits


def test_a_store_that_stays_is_acknowledged_when_it_meets_the_tags(tmp_path: Path) -> None:
    """Another passes the miss queue, the way to the L2 and back, and the response buffer."""
    gpu, stores = load("accelsim-rtx2060"), [store(0, WORD)]
    back, through = (replay(tmp_path / name, stores, f"l1.write_policy={name}") for name in ("back", "through"))
    assert through.value("gpu_cycles") - back.value("gpu_cycles") == 1 + gpu.l1_miss_cycles + 1


FETCHES = "l1.write_allocate=fetch_on_write"


def test_whole_sectors_are_written_without_a_fetch_and_parts_wait_for_ever(tmp_path: Path) -> None:
    """As in Accel-Sim, whose L1 acknowledges no store that has its sector fetched: the warp never ends there."""
    whole = [store(0, WHOLE_SECTOR), *OTHER_LINE]
    fetched, lazy = replay(tmp_path / "fetched", whole, BACK, FETCHES), replay(tmp_path / "lazy", whole, BACK)
    assert fetched.value("gpu_cycles") == lazy.value("gpu_cycles")
    assert counted(fetched, "l2", *WRITES) == 1
    with pytest.raises(UserError, match="waits for acknowledgements of 1 sectors that it stored"):
        replay(tmp_path / "part", [store(0, WORD)], BACK, FETCHES)
    with pytest.raises(UserError, match="does not send every write on with write_policy through"):
        load("accelsim-rtx2060", [FETCHES])


def test_without_an_allocation_a_missing_store_goes_on_and_is_acknowledged_by_the_l2(tmp_path: Path) -> None:
    lines = [store(0, WORD), fetch(128, 1), "1 R2 MOV 1 R1 0 0", store(128, WORD)]
    found = replay(tmp_path / "none", lines, BACK, "l1.write_allocate=none")
    assert counted(found, "l1d", "write_line") == counted(found, "l1d", "write_hits") == 1
    assert counted(found, "port", "requests") == 2, "the store that hits stays"
    kept = replay(tmp_path / "kept", [store(0, WORD)], BACK)
    sent = replay(tmp_path / "sent", [store(0, WORD)], BACK, "l1.write_allocate=none")
    way = load("accelsim-rtx2060").l2.latency_cycles
    assert (sent.value("gpu_cycles") or 0) > (kept.value("gpu_cycles") or 0) + way


def test_an_l2_that_sends_writes_on_is_refused() -> None:
    with pytest.raises(UserError, match="needs an L2 that writes back lazily, not evict and none"):
        load("accelsim-rtx2060", [BACK, "l2.write_policy=evict", "l2.write_allocate=none"])
    with pytest.raises(UserError, match=r"perfect_memory needs .* no L1 that writes lines back"):
        load("accelsim-rtx2060", [BACK, "interconnect.perfect_memory=true"])
