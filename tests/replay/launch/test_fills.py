"""Buffers of draws that the L2 has as they are read: which sectors, of which launches, and when again."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayplay.formats.dataset.reader import open_trace
from rayplay.replay.gpu.description import Gpu, load
from rayplay.replay.launch.fills import _apart, filled
from rayplay.replay.results.metrics import Result
from rayplay.replay.run.driver import simulate
from tests.replay.conftest import write_micro
from tests.replay.engine.test_laws import digest
from tests.replay.launches import Kernel, stages, with_tables, write_kernels
from tests.replay.sharing.test_together import together, total

BASE, LINES = 1 << 33, 32  # beyond 32 bits
WHOLE = {"address": BASE, "bytes": 128 * LINES, "cta_bytes": 128, "kind": "buffer"}


def gpu(*values: str) -> Gpu:
    given = ("sm.count=2", "memory.count=2", "l2.bytes=65536", "sm.kernel_launch_cycles=0", "memory.fills=true")
    return load("mobile", [*given, *values])


def fills(*rows: dict[str, Any], kernel: int = 0) -> dict[str, dict[str, Any]]:
    """A table of fills of a launch; each row has values in place of ``WHOLE``'s."""
    columns = {name: [(WHOLE | row)[name] for row in rows] for name in WHOLE}
    return {"fills": {"kernel_id": [kernel] * len(rows), **columns, "address": np.array(columns["address"], np.uint64)}}


@pytest.fixture
def reads(tmp_path: Path, op: Callable[..., Any], load_op: Callable[..., Any]) -> Path:
    """A launch that reads every sector of ``LINES`` lines once."""
    return write_micro(
        tmp_path / "reads.trace", [load_op(), op()], [1] * LINES,
        lambda warp, visit, index, lane: BASE + 128 * warp + 4 * lane,
    )  # fmt: skip


def fetched(result: Result) -> int:
    """Sectors that the L2 fetched."""
    return total(result, "l2", "fills")


@pytest.mark.parametrize(
    ("stage", "row", "found"),
    [
        ("fragment", {}, 4 * LINES),
        ("vertex", {}, 4 * LINES),
        ("vertex", {"cta_bytes": 0}, 4 * LINES),
        ("fragment", {"cta_bytes": 0}, 0),  # constants
        ("vertex", {"kind": "texture"}, 0),
        ("fragment", {"bytes": 128 * 3 + 100}, 4 * 3),  # the fourth CTA is not whole
        ("vertex", {"bytes": 128 * 3 + 100}, 4 * 4),
        ("fragment", {"cta_bytes": 128 * LINES + 1}, 0),
        ("vertex", {"address": BASE + 31, "bytes": 2}, 2),
        ("vertex", {"bytes": 0}, 0),
    ],
)
def test_a_launch_finds_its_buffers(tmp_path: Path, reads: Path, stage: str, row: dict[str, Any], found: int) -> None:
    path = with_tables(reads, tmp_path / "drawn.trace", stages([0], stage) | fills(row))
    for copies in ("whole", "low_32_bits", "none"):
        result = simulate(path, gpu(f'memory.copies="{copies}"'))
        assert fetched(result) == 4 * LINES - found
        assert total(result, "l2", "read_hits") >= found
    assert fetched(simulate(path, gpu("memory.fills=false"))) == 4 * LINES


def test_crisps_gpus_fill() -> None:
    assert [load(name).memory.fills for name in ("rtx3070-released", "orin", "rtx2060", "mobile", "accelsim-rtx3070")] \
        == [True, True, False, False, False]  # fmt: skip


def test_a_buffer_of_twice_the_l2_is_found_whole_and_what_it_drives_away_is_written_back(
    tmp_path: Path, op: Callable[..., Any], load_op: Callable[..., Any]
) -> None:
    """Each line is there when it is read, not when its launch begins; dirty lines before it reach the DRAM."""
    lines = 2 * 65536 // 128
    path = write_micro(
        tmp_path / "a.trace", [op("store", "lsu", space="global"), load_op(), op()], [1] * lines,
        lambda warp, visit, index, lane: (1 + (index == 0)) * BASE + 128 * warp + 4 * lane,
    )  # fmt: skip
    drawn = with_tables(path, tmp_path / "drawn.trace", stages([0]) | fills({"bytes": 128 * lines}))
    result, cold = simulate(drawn, gpu()), simulate(path, gpu())
    assert (fetched(result), fetched(cold)) == (0, 4 * lines)
    written = [total(one, "dram", "writes") for one in (result, cold)]
    assert min(written) >= 4 * lines // 2 - 4 * 65536 // 128, "of the stored lines at most the L2's are still there"


def test_quanta_and_threads_change_nothing(tmp_path: Path, reads: Path) -> None:
    path = with_tables(reads, tmp_path / "drawn.trace", stages([0]) | fills({"bytes": 128 * 20}))
    made = []
    for number, (quantum, threads) in enumerate([(None, 1), (1, 1), (7, 2)]):
        simulate(path, gpu(), quantum=quantum, threads=threads).write(tmp_path / f"{number}.result", {"command": "a"})
        made.append(digest(tmp_path / f"{number}.result"))
    assert made[0] == made[1] == made[2]


def test_each_class_fills_its_own_space_whenever_it_is_launched(tmp_path: Path, reads: Path) -> None:
    """Every pass of a draw that repeats beside a longer class finds its buffers, and no other trace does."""
    path = with_tables(reads, tmp_path / "drawn.trace", stages([0]) | fills({}))
    other = write_kernels(tmp_path / "long.trace", [Kernel((400,) * 8)])
    result = together([f"draw={path}", f"other={other}"], gpu(), "mps")
    passes = result.by_class["classes"][0]["passes"].tolist()
    assert passes[0] > 3
    assert fetched(result) == 0
    twice = together([f"a={path}", f"b={with_tables(reads, tmp_path / 'plain.trace', {})}"], gpu(), repeats=False)
    assert fetched(twice) == 4 * LINES, "the same addresses of another trace are other memory"


def test_buffers_that_meet_are_one_range(tmp_path: Path, reads: Path) -> None:
    rows = fills({"bytes": 1 << 39}, {"address": BASE - 4096, "bytes": 4096}, {"bytes": 1 << 34, "kind": "texture"})
    trace = open_trace(with_tables(reads, tmp_path / "drawn.trace", stages([0]) | rows))
    assert filled(trace, True).tolist() == [[(BASE - 4096) // 32, (BASE + (1 << 39)) // 32]]
    assert not len(filled(trace, False))


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 20)), max_size=12))
def test_ranges_are_in_order_apart_and_hold_the_same_sectors(given: list[tuple[int, int]]) -> None:
    first = np.array([one for one, _ in given], np.int64)
    end = first + np.array([count for _, count in given], np.int64)
    found = _apart(first, end)
    assert (found[:, 0] < found[:, 1]).all()
    assert (found[1:, 0] > found[:-1, 1]).all()
    held = {sector for one, count in given for sector in range(one, one + count)}
    assert held == {sector for one, last in found.tolist() for sector in range(one, last)}
