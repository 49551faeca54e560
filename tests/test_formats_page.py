"""docs/formats.md is enough to write a trace from: its example runs without Rayplay, and its trace replays."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.exchange.frames import from_frames
from rayplay.formats.laws.check import validate
from rayplay.replay.gpu.description import load
from rayplay.replay.run.driver import simulate

ROOT = Path(__file__).resolve().parent.parent
OURS = {"formats", "ptx", "tracer", "replay", "zatel"}
SMALL = ["sm.count=3", "memory.count=2", "l2.bytes=65536", "sm.kernel_launch_cycles=100"]


@pytest.fixture(scope="module")
def example() -> str:
    """The example's text."""
    page = (ROOT / "docs" / "formats.md").read_text()
    return page.split("## A writer to start from")[1].split("```python\n")[1].split("```\n")[0]


def test_the_example_is_short_and_stands_alone(example: str) -> None:
    assert len(example.splitlines()) <= 40
    imported = {alias.name.split(".")[0] for node in ast.walk(ast.parse(example))
                if isinstance(node, ast.Import) for alias in node.names}  # fmt: skip
    assert "ImportFrom" not in ast.dump(ast.parse(example))
    assert imported <= {"hashlib", "json", "os", "pyarrow"}


def test_the_example_replays(example: str, tmp_path: Path) -> None:
    (tmp_path / "writer.py").write_text(example)
    subprocess.run([sys.executable, "-I", "writer.py"], cwd=tmp_path, check=True)
    trace = open_trace(tmp_path / "mine.trace")
    assert validate(trace) == []
    result = simulate(trace, load("mobile", SMALL))
    warps, trips = trace.rows("warps"), trace.rows("accesses") // trace.rows("warps")
    assert (warps, trips) == (64, 10)
    assert result.value("warp_instructions") == warps * (3 * trips + 1)
    assert result.value("thread_instructions") == 32 * warps * (3 * trips + 1)
    counted = zip(result.counters["unit"], result.counters["counter"], result.counters["value"], strict=True)
    misses = [value for unit, counter, value in counted if unit == "l1d" and counter.startswith("read_line_misses")]
    assert sum(misses) >= warps * trips  # no two loads have an address in common


PARTLY = {  # warps 1, 3, 4 and 5 visit nothing, no warp exits, three instructions leave out lanes under predicates
    "instructions": {
        "operation_class": ["int", "barrier", "load", "branch"], "opcode": ["IADD", "BAR", "LDG", "BRA"],
        "text": ["IADD", "BAR", "@P LDG", "@P BRA"],
    },
    "visits": {"warp_id": [0, 0, 2, 6], "block_id": [0] * 4, "active_mask": [0xFF] * 4},
    "accesses": {
        "warp_id": [0, 6], "visit": [1, 0], "instruction_id": [2, 2], "lane_mask": [1, 3], "address": [[64], [0, 4]],
    },
    "predicates": {
        "warp_id": [0, 0, 0, 2], "visit": [0, 0, 1, 0], "instruction_id": [2, 3, 2, 3], "lane_mask": [0, 15, 1, 3],
    },
    "warps": {"cta_id": [0, 0, 0, 0, 2, 2, 3], "warp_in_cta": [0, 1, 2, 3, 0, 1, 0]},
    "kernels": {"kernel_id": [0], "block_x": [128], "grid_x": [9]},
}  # fmt: skip


@pytest.mark.parametrize(("model", "left_out"), [("pipeline", 8 + 4 + 7 + 6), ("characterised", 0), ("gatsim", 0)])
def test_parts_and_predicates_are_replayed_as_the_page_says(tmp_path: Path, model: str, left_out: int) -> None:
    result = simulate(from_frames(tmp_path / "a.trace", **PARTLY), load("mobile", SMALL), model=model)
    assert result.value("warp_instructions") == 4 * 4
    assert result.value("thread_instructions") == 8 * 4 * 4 - left_out
