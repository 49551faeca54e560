"""The texture cache: lines merged over lanes and instructions, and results in order; the twin has the cycles."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.dataset.writer import TraceWriter
from rayplay.replay.gpu.description import load
from rayplay.replay.results.metrics import Result
from rayplay.replay.run.driver import simulate
from tests.replay.conftest import write_micro
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


@pytest.mark.parametrize(("quads", "requests"), [(1, 8), (2, 4), (4, 2), (8, 1)])
def test_texels_of_some_quads_merge_into_sectors(tmp_path: Path, quads: int, requests: int) -> None:
    """Lanes of one sector ask for it once a request, lanes of sectors of their own for each."""
    values = "texture.path=unit", f"texture.quads_per_request={quads}"
    for stride, sectors in ((0, requests), (4, max(requests, 4)), (128, 32)):
        found = replay(tmp_path / f"case{stride}", [texture(1, stride), texture(2, stride)], *values)
        for name, count in (("instructions", 1), ("requests", requests), ("sectors", sectors)):
            assert counted(found, "lsu", f"texture_{name}") == 2 * count
        assert counted(found, "lsu", "sectors") == 2 * sectors
        assert counted(found, "lsu", "texture_misses") == 0


@pytest.mark.parametrize(
    ("geometry", "requests"), [("2d", 4), ("a2d", 8), ("cube", 8), ("acube", 8), ("3d", 8), ("a1d", 4)]
)
def test_a_third_coordinate_leaves_a_request_one_quad(
    tmp_path: Path, op: Callable[..., Any], geometry: str, requests: int
) -> None:
    """As on an RTX 3070: 3.84 requests of 2D textures in warps of 1.04 for each full one, 7.99 of cubes."""
    texture = op("texture", "lsu", 1, 1, 0, 1, "texture")
    path = write_micro(tmp_path / "a.trace", [texture, op()], [3] * 4, lambda warp, visit, index, lane: 4 * lane)
    drawn = with_opcode(path, tmp_path / "drawn.trace", f"tex.grad.{geometry}.v4.f32.f32")
    found = simulate(drawn, load("mobile", ["sm.count=1", "texture.path=unit"]))
    assert counted(found, "lsu", "texture_instructions") == 12
    assert counted(found, "lsu", "texture_requests") == 12 * requests
    assert counted(found, "lsu", "texture_sectors") == 12 * max(requests, 4), "of 4 sectors each is in two requests"


def with_opcode(path: Path, out: Path, opcode: str) -> Path:
    """A copy of a trace whose first instruction has another opcode."""
    trace = open_trace(path)
    with TraceWriter(out, {"command": "test"}) as writer:
        for name in trace.tables:
            columns = trace.read(name)
            if name == "instructions":
                columns["opcode"] = np.array([opcode, *columns["opcode"][1:]], object)
            writer.put(name, columns)
    return out


def test_a_result_takes_the_latency_and_requests_the_rate(tmp_path: Path) -> None:
    """After a warming access: cycles grow by latency_cycles, and by the quads that an instruction waits for."""
    lines = [texture(1, 0), "1 R8 MOV 1 R1 0 0", texture(2, 0), "1 R9 MOV 1 R2 0 0"]

    def cycles(name: str, lines: list[str], **values: int) -> int:
        given = [f"texture.{key}={value}" for key, value in values.items()]
        found = replay(tmp_path / name, lines, "texture.path=unit", *given)
        return int(found.value("gpu_cycles") or 0)

    base = cycles("base", lines, latency_cycles=10, quads_per_cycle=8)
    assert cycles("slow", lines, latency_cycles=60, quads_per_cycle=8) == base + 2 * 50
    many = [*lines[:2], *(texture(10 + number, 0) for number in range(16)), "1 R9 MOV 1 R25 0 0"]
    one, two, eight = (cycles(f"{rate}", many, latency_cycles=10, quads_per_cycle=rate) for rate in (1, 2, 8))
    assert one >= two + 16 * 4 - 20, "of 8 quads in pairs, one a cycle takes 4 cycles more"
    assert two == eight, "a pair is a request, whatever the rate"


def test_through_the_l1_or_without_accesses_where_the_description_says_so(tmp_path: Path) -> None:
    program = [texture(1, 128), "1 R8 MOV 1 R1 0 0", "1 R3 LDG.E 1 R2 4 1 0x10000000 4 0"]
    through = replay(tmp_path / "l1", program, "texture.path=l1")
    assert counted(through, "lsu", "texture_misses") == 0
    assert counted(through, "lsu", "sectors") == 32 + 4
    none = replay(tmp_path / "none", program, "texture.sass_accesses=false")
    assert counted(none, "lsu", "texture_misses") == 0
    assert counted(none, "lsu", "sectors") == 4, "the load behind the texture instruction is made all the same"
