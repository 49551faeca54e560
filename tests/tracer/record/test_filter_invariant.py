"""The central invariant: filtering a trace gives, byte for byte, the trace of the program run on those pixels."""

from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.edit.filter import filter_trace, prologue_and_exit
from rayplay.formats.edit.pixels import pixel_map, write_pixels
from rayplay.ptx.inject import inject_text
from rayplay.tracer.render import Request, render
from rayplay.tracer.shading.config import BUILT_IN, PROGRAM_FOLDER

WIDTH, HEIGHT = 45, 12
"""The second warp of a row has 13 lanes."""

TEXTUAL = ("instructions",)
"""Its source lines are those of the text, in which the injected lines come first."""

SCENES = {"path-tracing": "wknd", "shadows": "cornell", "ambient-occlusion": "forest"}


def render_to(out: Path, workload: str, pixels: Path | None = None, program: Path | None = None) -> None:
    config = PROGRAM_FOLDER / f"{workload}.toml"
    program = program or config.with_suffix(".ptx")
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


@pytest.mark.parametrize("workload", BUILT_IN)
def test_the_three_ways_to_filter_are_equal(tmp_path: Path, workload: str) -> None:
    """Injected into the program's text as the paper does it, applied while tracing, and applied to the trace."""
    text = (PROGRAM_FOLDER / f"{workload}.ptx").read_text()
    injected = tmp_path / f"{workload}.ptx"
    injected.write_text(inject_text(text, injected.name))
    assert "filter_shader" in injected.read_text()
    assert "filter_shader" not in text
    selected = selections()["scattered"]
    write_pixels(tmp_path / "pixels.txt", selected)
    render_to(tmp_path / "program.trace", workload, tmp_path / "pixels.txt", injected)
    render_to(tmp_path / "tracing.trace", workload, tmp_path / "pixels.txt")
    render_to(tmp_path / "full.trace", workload)
    filter_trace(tmp_path / "full.trace", selected, tmp_path / "trace.trace")
    ways = [table_files(tmp_path / f"{way}.trace") for way in ("program", "tracing", "trace")]
    for file in ways[0].keys() | ways[1].keys() | ways[2].keys():
        assert ways[1][file] == ways[2][file], file
        if file.split("-")[0] not in TEXTUAL:
            assert ways[0][file] == ways[1][file], file


def test_pixels_that_are_not_selected_execute_nothing_but_the_question(tmp_path: Path) -> None:
    """While tracing, their lanes visit the first block and the exit alone."""
    selected = selections()["scattered"]
    write_pixels(tmp_path / "pixels.txt", selected)
    render_to(tmp_path / "some.trace", "path-tracing", tmp_path / "pixels.txt")
    trace = open_trace(tmp_path / "some.trace")
    pixels, visits, whole = pixel_map(trace), trace.read("visits"), prologue_and_exit(trace)
    active = (visits["active_mask"][:, None] >> np.arange(32, dtype=np.uint32)) & 1
    pixel = pixels[visits["warp_id"]]
    skipped = ~selected.ravel()[np.maximum(pixel, 0)] & (pixel >= 0)
    inside = ~whole[visits["block_id"]]
    assert inside.sum() > 1000
    assert not (active[inside] & skipped[inside]).any()
    executed = np.bincount(visits["block_id"][(active & skipped).any(axis=1)], minlength=len(whole))
    assert (executed > 0).sum() == 2


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
