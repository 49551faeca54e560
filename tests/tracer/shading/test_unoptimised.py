"""The unoptimised path tracer draws the picture of the optimised one, with more instructions and accesses."""

from pathlib import Path

import numpy as np

from rayplay.formats.dataset.reader import Trace, open_trace
from rayplay.tracer.__main__ import main
from rayplay.tracer.shading.config import PROGRAM_FOLDER

PROGRAM = ["--program", str(PROGRAM_FOLDER / "unoptimised" / "path-tracing.ptx")]
CONFIG = ["--program-config", str(PROGRAM_FOLDER / "path-tracing.toml")]


def rendered(out: Path, *options: str) -> Trace:
    assert main(["render", "cornell", "--size", "24x16", "--samples", "2", "--out", str(out), *options]) == 0
    return open_trace(out)


def warp_instructions(trace: Trace) -> int:
    length = trace.read("blocks", ["instruction_count"])["instruction_count"]
    return int(length[trace.read("visits", ["block_id"])["block_id"]].sum())


def test_the_same_rays_and_picture_from_more_instructions(tmp_path: Path) -> None:
    optimised = rendered(tmp_path / "optimised.trace", "--workload", "path-tracing")
    other = rendered(tmp_path / "unoptimised.trace", *PROGRAM, *CONFIG)
    columns = ["warp_id", "lane", "segment", "kind", "primitive"]
    rays = [trace.read("rays", columns) for trace in (optimised, other)]
    for column in columns:
        assert np.array_equal(rays[0][column], rays[1][column]), column
    pixels = [trace.read("image") for trace in (optimised, other)]
    for channel in ("red", "green", "blue"):
        np.testing.assert_allclose(pixels[1][channel], pixels[0][channel], rtol=1e-5)
    assert other.rows("accesses") > 1.3 * optimised.rows("accesses")
    assert warp_instructions(other) > 1.5 * warp_instructions(optimised)
