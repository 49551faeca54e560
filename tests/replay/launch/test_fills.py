"""Buffers of draws in the L2 as their launch begins: which sectors, of which launches, and when again."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.guard.errors import FormatError
from rayplay.replay.gpu.description import Gpu, load
from rayplay.replay.launch.fills import Fills
from rayplay.replay.results.metrics import Result
from rayplay.replay.run.driver import simulate
from tests.replay.conftest import write_micro
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
        assert fetched(simulate(path, gpu(f'memory.copies="{copies}"'))) == 4 * LINES - found
    assert fetched(simulate(path, gpu("memory.fills=false"))) == 4 * LINES


def test_only_crisps_released_gpus_fill() -> None:
    assert [load(name).memory.fills for name in ("rtx3070-released", "orin", "rtx2060", "mobile", "accelsim-rtx3070")] \
        == [True, True, False, False, False]  # fmt: skip


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


def test_more_than_the_limit_is_refused(tmp_path: Path, reads: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = fills({"bytes": 1 << 34}, {"bytes": 1 << 34, "kind": "texture"})
    trace = open_trace(with_tables(reads, tmp_path / "drawn.trace", stages([0]) | rows))
    assert Fills(trace, True).count.tolist() == [1 << 29, 0]
    assert not len(Fills(trace, False).count)
    monkeypatch.setenv("RAYPLAY_MAX_COPIED_BYTES", str((1 << 34) - 1))
    with pytest.raises(FormatError, match=r"table fills: bytes must be at most .* raises the limit"):
        Fills(trace, True)
