"""CRISP's public minitrace, one draw of Sponza at 640x480: every count of it, and its replay."""

import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from rayplay.formats import open_trace, validate
from rayplay.formats.dataset.reader import Trace
from rayplay.formats.exchange.accelsim.importer import import_accelsim
from rayplay.formats.guard.errors import FormatError
from rayplay.replay import simulate
from rayplay.replay.gpu.description import load

POSITIONS = 0x30621700
POSITION_BYTES = 12
TEXTURE, TEXTURE_BYTES = 0x3071B200, 458_752
VERTEX = {"MOV": 10680, "LD.SYS": 4800, "FMUL": 4440, "FADD": 3600, "IADD": 1200, "ST.SYS": 1080, "EXIT": 120}
FRAGMENT = {
    "FMUL": 6512, "MOV": 5328, "LD.SYS": 3848, "FADD": 2664, "IADD": 1184, "MUFU": 888, "MUFU.SQRT": 592, "FMNMX": 592,
    "TEX": 296, "EXIT": 296,
}  # fmt: skip


@pytest.fixture(scope="session")
def listed(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The kernel list as it is published; kernels 0 and 1 are absent."""
    source = data / "reference" / "crisp" / "minitrace"
    if not source.is_dir():
        pytest.skip(f"CRISP's minitrace is absent: {source}")
    folder = tmp_path_factory.mktemp("minitrace")
    for file in source.iterdir():
        shutil.copyfile(file, folder / file.name)
    return folder / "kernelslist.g"


@pytest.fixture(scope="session")
def draw(listed: Path) -> Trace:
    """The draw that is there: the list from behind the last kernel that is absent."""
    lines = listed.read_text().splitlines(keepends=True)
    (absent,) = (number for number, line in enumerate(lines, 1) if line.rstrip().endswith("main_1.traceg"))
    short = listed.with_name("draw1.g")
    short.write_text("".join(lines[absent:]))
    import_accelsim(short, listed.parent / "draw.trace")
    return open_trace(listed.parent / "draw.trace")


def executed(trace: Trace, kernel: int) -> dict[str, int]:
    """Warp instructions of a launch by opcode."""
    warps, visits = trace.read("warps")["kernel_id"], trace.read("visits")
    visited = Counter(visits["block_id"][warps[visits["warp_id"]] == kernel].tolist())
    instructions = trace.read("instructions")
    counts: Counter[str] = Counter()
    for opcode, block in zip(instructions["opcode"].tolist(), instructions["block_id"].tolist(), strict=True):
        counts[opcode] += visited[block]
    return {opcode: count for opcode, count in counts.items() if count}


def accesses(trace: Trace, kernel: int, opcode: str) -> list[tuple[int, np.ndarray]]:
    """The CTA and the addresses of each executed instruction of an opcode."""
    rows, ctas, instructions = trace.read("accesses"), trace.read("warps")["cta_id"], trace.read("instructions")
    wanted = np.flatnonzero((instructions["opcode"] == opcode) & (instructions["kernel_id"] == kernel))
    found = np.flatnonzero(np.isin(rows["instruction_id"], wanted))
    bounds = [(rows["address_offset"][row], rows["address_offset"][row + 1]) for row in found]
    held = [(ctas[rows["warp_id"][row]], rows["address"][a:b]) for row, (a, b) in zip(found, bounds, strict=True)]
    return [(int(cta), addresses) for cta, addresses in held]


def lines_of_ctas(found: list[tuple[int, np.ndarray]]) -> int:
    """Distinct lines of 128 B in each CTA, summed over the CTAs."""
    return len({(cta, line) for cta, addresses in found for line in (addresses // 128).tolist()})


def test_a_kernel_that_is_absent_is_named(listed: Path, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"kernelslist\.g:7: names 'kernel-MESA_SHADER_VERTEX_func0_main_0\.traceg'"):
        import_accelsim(listed, tmp_path / "a.trace")


def test_instructions_by_opcode(draw: Trace) -> None:
    assert validate(draw) == []
    assert (executed(draw, 0), sum(VERTEX.values())) == (VERTEX, 25_920)
    assert (executed(draw, 1), sum(FRAGMENT.values())) == (FRAGMENT, 22_200)
    assert draw.read("kernels")["grid_x"].tolist() == [60, 148]
    assert Counter(draw.read("warps")["kernel_id"].tolist()) == {0: 120, 1: 296}
    assert set(draw.read("visits")["active_mask"].tolist()) == {0xFFFF_FFFF}


def test_threads_vertices_and_fragments(draw: Trace) -> None:
    stages = draw.read("stages")
    assert stages["stage"].tolist() == ["vertex", "fragment"]
    assert stages["shaded"].tolist() == [3816, 9457]
    assert stages["draw"].tolist() == [0, 0]
    assert len(set(draw.read("kernels")["stream"].tolist())) == 1
    fills = draw.read("fills")
    positions = int(fills["bytes"][fills["address"] == POSITIONS][0])
    loaded = {int(address) for _, found in accesses(draw, 0, "LD.SYS") for address in found}
    offsets = {address - POSITIONS for address in loaded if POSITIONS <= address < POSITIONS + positions}
    assert len({offset for offset in offsets if offset % POSITION_BYTES == 0}) == positions // POSITION_BYTES == 1746


def test_memory_of_the_stages(draw: Trace) -> None:
    fills, threads = draw.read("fills"), draw.read("kernels")["block_x"]
    assert fills["kernel_id"].tolist() == [0] * 6 + [1] * 10
    assert fills["kind"].tolist() == ["buffer"] * 14 + ["texture", "buffer"]
    assert fills["cta_bytes"].tolist() == [768, 512, 768, 0, 0, 0, 768, 256, 512, *[256] * 4, 1024, 0, 0]
    varyings = (fills["kernel_id"] == 1) & (fills["cta_bytes"] > 0)
    assert set((fills["bytes"] * threads[1] // np.maximum(fills["cta_bytes"], 1))[varyings].tolist()) == {9457}


def test_sectors_of_textures_and_lines_of_ctas(draw: Trace) -> None:
    texels = accesses(draw, 1, "TEX")
    assert len(texels) == 296
    assert sum(len(set((found // 32).tolist())) for _, found in texels) == 6680
    assert sum(len(set(found.tolist())) for _, found in texels) == 8702
    assert (round(6680 / 296, 1), round(8702 / 296, 1)) == (22.6, 29.4)
    offsets = np.concatenate([found for _, found in texels]) - TEXTURE
    assert not (offsets % 16).any()
    assert (offsets.max(), offsets.max() < TEXTURE_BYTES) == (260_256, True)
    vertex_ctas, fragment_ctas = 60, 148
    lines = [lines_of_ctas(accesses(draw, *of)) for of in ((0, "LD.SYS"), (0, "ST.SYS"), (1, "LD.SYS"), (1, "TEX"))]
    assert lines == [2279, 1075, 1628, 4381]
    assert [round(count / vertex_ctas, 2) for count in lines[:2]] == [37.98, 17.92]
    assert [round(count / fragment_ctas, 1) for count in lines[2:]] == [11.0, 29.6]


def counters(draw: Trace, gpu: str) -> dict[tuple[str, str], int]:
    """Counters of the draw's replay, summed over instances."""
    result = simulate(draw, load(gpu))
    assert result.value("warp_instructions") == 25_920 + 22_200
    found: Counter[tuple[str, str]] = Counter()
    rows = result.counters
    for unit, name, value in zip(rows["unit"], rows["counter"], rows["value"].tolist(), strict=True):
        found[unit, name] += value
    return found


@pytest.mark.parametrize("gpu", ["rtx3070-released", "orin-released"])
def test_as_released_texels_are_loads_that_the_coalescer_merges(draw: Trace, gpu: str) -> None:
    found = counters(draw, gpu)
    reads = ("hits", "pending_hits", "line_misses", "sector_misses")
    assert sum(found["l1d", f"texture_read_{outcome}"] for outcome in reads) == 6680
    assert found["lsu", "texture_requests"] == 0


@pytest.mark.parametrize("gpu", ["rtx3070", "orin"])
def test_texture_units_take_four_requests_an_instruction(draw: Trace, gpu: str) -> None:
    """Hardware: 3.84, with 1.042 warps for each 32 threads (docs/sources/crisp.md#requests-of-textures)."""
    found = counters(draw, gpu)
    assert found["lsu", "texture_instructions"] == 296
    assert found["lsu", "texture_requests"] == 4 * 296
    assert found["lsu", "texture_sectors"] >= 6680, "a sector that two requests need is read twice"
