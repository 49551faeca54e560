"""Vulkan-Sim's variant of the programs draws the pictures of the optimised ones from more instructions."""

from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.dataset.reader import Trace, open_trace
from rayplay.formats.guard.errors import UserError
from rayplay.tracer.__main__ import PROGRAM_VARIANTS, main
from rayplay.tracer.shading.config import BUILT_IN, PROGRAM_FOLDER, VARIANTS

VARIANT = ["--program-variant", "vulkan-sim"]


def rendered(out: Path, *options: str) -> Trace:
    assert main(["render", "cornell", "--size", "24x16", "--samples", "2", "--out", str(out), *options]) == 0
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


def test_every_variant_has_every_program() -> None:
    assert set(PROGRAM_VARIANTS) == set(VARIANTS)
    for folder in VARIANTS.values():
        assert all((PROGRAM_FOLDER / folder / f"{name}.ptx").is_file() for name in BUILT_IN)


def test_a_variant_is_of_a_built_in_program(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="--program-variant chooses among the built-in programs and must not be given"):
        rendered(tmp_path / "a.trace", "--program", str(PROGRAM_FOLDER / "shadows.ptx"), *VARIANT)
