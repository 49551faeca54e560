"""The central invariant: filtering a trace gives, byte for byte, the trace of the program run on those pixels."""

from pathlib import Path

import numpy as np
import pytest

from formats.filter import filter_trace
from formats.pixels import write_pixels
from formats.reader import open_trace
from tracer.program import BUILT_IN, PROGRAM_FOLDER
from tracer.render import Request, render

WIDTH, HEIGHT = 45, 12
"""The second warp of a row has 13 lanes."""

SCENES = {"path-tracing": "wknd", "shadows": "cornell", "ambient-occlusion": "forest"}


def render_to(out: Path, workload: str, pixels: Path | None = None) -> None:
    program = PROGRAM_FOLDER / f"{workload}.ptx"
    config = program.with_suffix(".toml")
    render(Request(SCENES[workload], program, config, out, WIDTH, HEIGHT, samples=2, bounces=5, pixels=pixels))


def selections() -> dict[str, np.ndarray]:
    """Scattered pixels, whole warps, one pixel, none and all."""
    chosen = {name: np.zeros((HEIGHT, WIDTH), bool) for name in ("scattered", "chunks", "one", "none")}
    chosen["scattered"] |= np.random.default_rng(5).random((HEIGHT, WIDTH)) < 0.3
    chosen["chunks"][2:6, :32] = True
    chosen["one"][7, 44] = True
    return {**chosen, "all": np.ones((HEIGHT, WIDTH), bool)}


def table_files(trace: Path) -> dict[str, bytes]:
    """Contents of every file but the manifest, whose provenance says how each was made."""
    return {path.name: path.read_bytes() for path in sorted(trace.iterdir()) if path.name != "manifest.json"}


@pytest.mark.parametrize("workload", BUILT_IN)
def test_filtering_equals_executing(tmp_path: Path, workload: str) -> None:
    full = tmp_path / "full.trace"
    render_to(full, workload)
    for name, selected in selections().items():
        executed, filtered = tmp_path / f"{name}-executed.trace", tmp_path / f"{name}-filtered.trace"
        write_pixels(tmp_path / "pixels.txt", selected)
        render_to(executed, workload, tmp_path / "pixels.txt")
        filter_trace(full, selected, filtered)
        ours, theirs = table_files(executed), table_files(filtered)
        assert ours.keys() == theirs.keys()
        for file, contents in ours.items():
            assert contents == theirs[file], f"{name}: {file} differs"
        manifests = open_trace(executed).manifest, open_trace(filtered).manifest
        assert manifests[0].tables == manifests[1].tables


def test_the_filter_leaves_work_only_where_asked(tmp_path: Path) -> None:
    """Guards the test above against traces in which nothing happens."""
    full = open_trace_of(tmp_path, None)
    one = open_trace_of(tmp_path, (7, 44))
    assert full.rows("rays") > 1000
    assert 0 < one.rows("rays") < full.rows("rays") / 100
    assert set(one.read("rays", ["lane"])["lane"].tolist()) == {44 - 32}
    image = one.read("image")
    lit = image["red"] + image["green"] + image["blue"] > 0
    assert (image["pixel_x"][lit].tolist(), image["pixel_y"][lit].tolist()) in (([44], [7]), ([], []))


def open_trace_of(folder: Path, pixel: tuple[int, int] | None):  # type: ignore[no-untyped-def]
    out = folder / f"{pixel}.trace"
    pixels = None
    if pixel:
        selected = np.zeros((HEIGHT, WIDTH), bool)
        selected[pixel] = True
        pixels = folder / "one.txt"
        write_pixels(pixels, selected)
    render_to(out, "path-tracing", pixels)
    return open_trace(out)
