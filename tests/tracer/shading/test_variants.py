"""Vulkan-Sim's variant of the programs draws the pictures of the optimised ones from more instructions."""

from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.dataset.reader import Trace, open_trace
from rayplay.formats.guard.errors import UserError
from rayplay.tracer.__main__ import PROGRAM_VARIANTS, main
from rayplay.tracer.shading.config import BUILT_IN, PROGRAM_FOLDER, VARIANTS

VARIANT = ["--program-variant", "vulkan-sim"]


SAMPLES = 2


def rendered(out: Path, *options: str, scene: str = "cornell") -> Trace:
    assert main(["render", scene, "--size", "24x16", "--samples", str(SAMPLES), "--out", str(out), *options]) == 0
    return open_trace(out)


def warp_instructions(trace: Trace) -> int:
    length = trace.read("blocks", ["instruction_count"])["instruction_count"]
    return int(length[trace.read("visits", ["block_id"])["block_id"]].sum())


def test_the_same_rays_and_picture_from_more_instructions(tmp_path: Path) -> None:
    optimised = rendered(tmp_path / "optimised.trace", "--workload", "path-tracing")
    other = rendered(tmp_path / "other.trace", "--workload", "path-tracing", *VARIANT)
    columns = ["warp_id", "lane", "segment", "kind", "primitive"]
    rays = [trace.read("rays", columns) for trace in (optimised, other)]
    for column in columns:
        assert np.array_equal(rays[0][column], rays[1][column]), column
    pixels = [trace.read("image") for trace in (optimised, other)]
    for channel in ("red", "green", "blue"):
        np.testing.assert_allclose(pixels[1][channel], pixels[0][channel], rtol=1e-5)
    assert other.rows("accesses") > 1.3 * optimised.rows("accesses")
    assert warp_instructions(other) > 1.5 * warp_instructions(optimised)


@pytest.mark.parametrize("workload", ["shadows", "ambient-occlusion"])
def test_secondary_rays_run_the_closest_hit_program(workload: str, tmp_path: Path) -> None:
    optimised = rendered(tmp_path / "optimised.trace", "--workload", workload)
    other = rendered(tmp_path / "other.trace", "--workload", workload, *VARIANT)
    assert optimised.rows("rays") == pytest.approx(other.rows("rays"), rel=0.02)
    means = [
        np.mean([trace.read("image")[channel] for channel in ("red", "green", "blue")]) for trace in (optimised, other)
    ]
    assert means[1] == pytest.approx(means[0], rel=0.05)
    calls = [lanes_in(trace, "__closesthit__triangle") for trace in (optimised, other)]
    met = other.read("rays", ["hit_t"])["hit_t"]
    assert calls[0] < calls[1] == np.isfinite(met).sum()


def lanes_in(trace: Trace, program: str) -> int:
    """Lanes that enter a program: that visit its first block."""
    blocks, visits = trace.read("blocks", ["program"]), trace.read("visits", ["block_id", "active_mask"])
    first = int(np.flatnonzero(np.array(blocks["program"]) == program)[0])
    entered = visits["active_mask"][visits["block_id"] == first]
    return sum(int(mask).bit_count() for mask in entered)


@pytest.mark.parametrize("scene", ["cornell", "wknd"])
def test_programs_read_and_write_the_words_of_a_thread_that_vulkan_sims_do(scene: str, tmp_path: Path) -> None:
    """``docs/sources/vulkan-sim.md#vectors``; ours also stores on a miss that the path ends."""
    trace = rendered(tmp_path / "a.trace", "--workload", "path-tracing", *VARIANT, scene=scene)
    loads, stores = own_words(trace, "ld"), own_words(trace, "st")
    pixels, rays = trace.rows("image"), int((trace.read("rays", ["segment"])["segment"] == 0).sum())
    raygen, sky, triangle = "__raygen__path_tracing", "__miss__sky", "__closesthit__triangle"
    assert loads.pop(raygen) == 8 * rays + SAMPLES * pixels
    assert stores.pop(raygen) == (SAMPLES + 1) * pixels
    assert stores.pop(sky) == 5 * lanes_in(trace, sky)
    if scene == "cornell":
        assert loads == {triangle: 7 * lanes_in(trace, triangle)}
        assert stores == {triangle: 12 * lanes_in(trace, triangle)}
        return
    hit, tested = lanes_in(trace, "__closesthit__sphere"), lanes_in(trace, "__intersection__sphere")
    assert loads == {
        sky: 4 * lanes_in(trace, sky),
        "__closesthit__sphere": 9 * hit,
        "__intersection__sphere": 8 * tested,
    }
    found = stores.pop("__intersection__sphere")
    assert found % 4 == 0
    assert 4 * hit <= found < 4 * tested
    assert stores == {"__closesthit__sphere": 12 * hit}


def own_words(trace: Trace, opcode: str) -> dict[str, int]:
    """Words of local memory that lanes read or write, by program; the words of a vector are read side by side."""
    [kernel] = zip(*trace.read("kernels", ["local_base", "local_bytes"]).values(), strict=True)
    accesses, instructions = trace.read("accesses"), trace.read("instructions")
    first = accesses["address"][accesses["address_offset"][:-1]].astype(np.int64)
    own = (first >= kernel[0]) & (first < kernel[0] + kernel[1] * 32 * trace.rows("warps"))
    place = np.flatnonzero(np.char.startswith(instructions["opcode"].astype(str), opcode + "."))
    number = accesses["instruction_id"].astype(np.int64)
    own &= np.isin(number, instructions["instruction_id"][place])
    if opcode == "ld":
        ids = np.unique(number[own])
        lengths = np.diff(np.flatnonzero(np.diff(ids, prepend=-9, append=2**40) != 1))
        assert set(lengths) <= {1, 2, 4, 8}
    blocks = trace.read("blocks", ["block_id", "program"])
    program = np.array(blocks["program"])[instructions["block_id"][number[own]]]
    lanes = np.array([int(mask).bit_count() for mask in accesses["lane_mask"][own]])
    return {str(name): int(lanes[program == name].sum()) for name in np.unique(program)}


def test_every_variant_has_every_program() -> None:
    assert set(PROGRAM_VARIANTS) == set(VARIANTS)
    for folder in VARIANTS.values():
        assert all((PROGRAM_FOLDER / folder / f"{name}.ptx").is_file() for name in BUILT_IN)


def test_a_variant_is_of_a_built_in_program(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="--program-variant chooses among the built-in programs and must not be given"):
        rendered(tmp_path / "a.trace", "--program", str(PROGRAM_FOLDER / "shadows.ptx"), *VARIANT)
