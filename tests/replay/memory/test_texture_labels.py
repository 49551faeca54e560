"""Texture reads are told from others in the L1, on the way and in the L2, whatever path they take."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rayplay.replay.gpu.description import load
from rayplay.replay.results.metrics import Result
from tests.replay.conftest import write_micro
from tests.replay.sharing.test_together import together, total

GPU = ("sm.count=2", "memory.count=2", "l2.bytes=65536", "sm.kernel_launch_cycles=0")
PATHS = {
    "through the L1": ("texture.path=l1",),
    "past the L1": ("texture.path=l1", "lsu.global_skips_l1=true"),
    "texture cache": ("texture.path=cache",),
    "lockstep": ("texture.path=l1", "sm.cluster=2"),
    "L2 that allocates on a fill": (
        "texture.path=l1",
        "l2.allocate=on_fill",
        "l2.write_policy=through",
        "l2.write_allocate=none",
    ),
}
LINES = 64  # of each kind
READS = ("texture_read", "read")
ANSWERS = ("hits", "pending_hits", "line_misses", "sector_misses")


@pytest.fixture
def trace(tmp_path: Path, op: Callable[..., Any], load_op: Callable[..., Any]) -> str:
    """Four warps read 64 lines as a texture, a sector each, then each other 64 lines and these again."""
    texture = op("texture", "lsu", 1, 1, 0, 1, "texture")
    ops = [texture, load_op(), texture, op()]
    base = {0: 0, 1: 1 << 20, 2: 0}
    return str(write_micro(
        tmp_path / "texture.trace", ops, [LINES // 4] * 4,
        lambda warp, visit, index, lane: base[index] + 128 * (4 * visit + warp),
    ))  # fmt: skip


def held(result: Result) -> dict[str, int]:
    """Lines of the L2 at the end, by what allocated them."""
    table = result.to_pandas("class_timeline")
    last = table[(table["start_cycle"] == table["start_cycle"].max()) & (table["unit"] == "l2_lines")]
    return dict(zip(last["counter"], last["value"].tolist(), strict=True))


@pytest.mark.parametrize("path", PATHS)
def test_lines_are_labelled_by_the_access_that_allocated_them(trace: str, path: str) -> None:
    gpu = load("mobile", [*GPU, *PATHS[path]])
    assert held(together([trace], gpu, "mps")) == {
        "texture": LINES, "other": LINES, "invalid": 65536 // 128 - 2 * LINES,
    }  # fmt: skip


@pytest.mark.parametrize("path", ["through the L1", "lockstep"])
@pytest.mark.parametrize("model", ["characterised", "pipeline"])
def test_reads_of_textures_are_counted_apart(trace: str, path: str, model: str) -> None:
    """A sector an instruction: the L1 is read for a texture twice, of which the L2 sees the first, and once else."""
    result = together([trace], load("mobile", [*GPU, *PATHS[path]]), "mps", model=model)
    for unit, textures, others in (("l1d", 2 * LINES, LINES), ("l2", LINES, LINES)):
        apart, all_reads = (sum(total(result, unit, f"{of}_{answer}") for answer in ANSWERS) for of in READS)
        assert (apart, all_reads) == (textures, textures + others)
    fetched = sum(total(result, "l1d", f"texture_read_{answer}") for answer in ANSWERS[1:])
    assert fetched - total(result, "l1d", "merges") == LINES
    assert total(result, "l2", "texture_read_line_misses") == LINES


def test_traces_without_textures_have_no_such_counters(tmp_path: Path, op: Any, load_op: Callable[..., Any]) -> None:
    path = write_micro(tmp_path / "a.trace", [load_op(), op()], [2], lambda warp, visit, index, lane: 4 * lane)
    names = np.unique(together([str(path)], load("mobile", GPU), "mps").counters["counter"].astype(str))
    assert not [name for name in names if name.startswith("texture_read")]
