"""The texture cache: lines merged over lanes and instructions, and results in order; the twin has the cycles."""

from pathlib import Path

import pytest

from rayplay.replay.gpu.description import load
from rayplay.replay.results.metrics import Result
from rayplay.replay.run.driver import simulate
from tests.replay.sm.test_async_copies import trace_of

BASE = 0x10000000


def texture(register: int, stride: int, first: int = BASE) -> str:
    return f"1 R{register} TEX 1 R0 4 1 {first:#x} {stride} 0"


def replay(folder: Path, lines: list[str], *values: str) -> Result:
    settings = ["sm.kernel_launch_cycles=0", "texture.sass_accesses=true", *values]
    return simulate(trace_of(folder, lines), load("accelsim-rtx2060", settings), model="pipeline")


def counted(result: Result, unit: str, counter: str) -> int:
    table = result.counters
    return int(table["value"][(table["unit"] == unit) & (table["counter"] == counter)].sum())


@pytest.mark.parametrize(("stride", "lines"), [(0, 1), (4, 1), (64, 16), (128, 32), (4096, 32)])
def test_lanes_of_one_line_are_one_access_and_lines_are_fetched_once(tmp_path: Path, stride: int, lines: int) -> None:
    twice = replay(tmp_path / "case", [texture(1, stride), texture(2, stride)])
    assert counted(twice, "lsu", "texture_misses") == lines
    assert counted(twice, "lsu", "texture_hits") == lines
    assert counted(twice, "port", "requests") == 4 * lines, "every sector of a line is asked for"
    assert counted(twice, "l1d", "read_hits") == 0


def test_a_hit_waits_for_the_misses_before_it(tmp_path: Path) -> None:
    wait = "1 R9 MOV 1 R2 0 0"
    fetched = [texture(1, 4), "1 R8 MOV 1 R1 0 0"]
    alone = replay(tmp_path / "alone", [*fetched, texture(2, 4), wait]).value("gpu_cycles")
    behind = replay(tmp_path / "behind", [*fetched, texture(3, 4, BASE + (1 << 20)), texture(2, 4), wait])
    assert behind.value("gpu_cycles") > alone + 200


def test_through_the_l1_or_without_accesses_where_the_description_says_so(tmp_path: Path) -> None:
    program = [texture(1, 128), "1 R8 MOV 1 R1 0 0", "1 R3 LDG.E 1 R2 4 1 0x10000000 4 0"]
    through = replay(tmp_path / "l1", program, "texture.path=l1")
    assert counted(through, "lsu", "texture_misses") == 0
    assert counted(through, "lsu", "sectors") == 32 + 4
    none = replay(tmp_path / "none", program, "texture.sass_accesses=false")
    assert counted(none, "lsu", "texture_misses") == 0
    assert counted(none, "lsu", "sectors") == 4, "the load behind the texture instruction is made all the same"
