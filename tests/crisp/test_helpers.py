"""Threads of draws against the law that says them from the sizes of their triangles."""

from pathlib import Path

import numpy as np
import pytest

from bench.accuracy.helper_lanes import counted, drawn
from rayplay.crisp.helpers import by_draw, expected_threads
from rayplay.crisp.suite import TEXTURED, Workload
from rayplay.tracer.draw import load_drawn
from rayplay.tracer.graphics.shaders import BUILT_IN, read_shaders
from rayplay.tracer.graphics.stages import Rules, draw_scene
from rayplay.tracer.raster import DrawState, Framebuffer, cut_batches, rasterise
from rayplay.tracer.raster.assemble import SUBPIXELS, assemble
from rayplay.tracer.scenes.camera_text import change_camera
from tests.tracer.graphics.test_opencv import placed
from tests.tracer.graphics.test_suite import SUITE
from tests.tracer.raster.test_scenes import clip_matrix

SEEN = DrawState(depth_compare="always", depth_write=False)


def in_clip_space(pixels: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """float32[n, 4] of float64[n, 2] places in the picture, halfway to the far plane."""
    x, y = pixels[:, 0] * 2 / size[0] - 1, 1 - pixels[:, 1] * 2 / size[1]
    return np.stack([x, y, np.full(len(x), 0.5), np.ones(len(x))], axis=1).astype(np.float32)


@pytest.mark.parametrize("sides", [(0.6, 0.6), (2.0, 2.0), (6.0, 6.0), (24.0, 24.0), (40.0, 0.4), (0.2, 12.0)])
def test_threads_of_triangles_anywhere(sides: tuple[float, float]) -> None:
    """Of 30,000 triangles with sides of this order along x and y, between slivers and two tiles."""
    rng, size = np.random.default_rng(7), (2048, 2048)
    shape = rng.uniform(-1, 1, (30_000, 3, 2)) * sides
    corners = np.rint((shape + rng.uniform(64, 1984, (len(shape), 1, 2))) * SUBPIXELS) / SUBPIXELS
    triangles = np.arange(3 * len(shape), dtype=np.uint32).reshape(-1, 3)
    made = rasterise(in_clip_space(corners.reshape(-1, 2), size), triangles, Framebuffer.cleared(*size), SEEN)
    threads, area = (np.nansum(each) for each in expected_threads(corners))
    assert made.counts["covered"] == pytest.approx(area, rel=0.02)
    assert len(made) == pytest.approx(threads, rel=0.02)
    assert len(made) <= 4 * made.counts["covered"]


def test_threads_of_a_large_triangle_are_its_area_and_the_sides_of_its_box() -> None:
    large = np.array([[[0.0, 0], [400, 0], [0, 300]]])
    [threads], [area] = expected_threads(large)
    assert threads == pytest.approx(area + 400 + 300, abs=1)


@pytest.mark.parametrize("name", SUITE)
def test_each_draw_launches_as_many_as_its_triangles_say(data: Path, name: str) -> None:
    """Threads over covered pixels of draws with 200 triangles and 2,000 pixels, at a sixteenth of 2560x1440."""
    scene, camera, _ = load_drawn(name)
    camera, size, compared = change_camera(camera, SUITE[name]), (640, 360), 0
    near = 1e-3 * float(np.linalg.norm(np.subtract(*scene.bounds()).astype(np.float64)))
    matrix = clip_matrix(camera, near, size[0] / size[1])
    for draw in scene.draws:
        points = np.column_stack([draw.positions, np.ones(len(draw.positions))])
        places = [np.vstack([place, [0, 0, 0, 1]]) for place, _ in placed(draw)[:400]]
        positions = np.concatenate([points @ (matrix @ place).T for place in places]).astype(np.float32)
        triangles = cut_batches(draw.indices, len(points), batch_indices=None)
        rows = triangles.vertices[triangles.triangles()]
        rows = np.concatenate([rows + np.uint32(number * len(points)) for number in range(len(places))])
        whole, _ = assemble(positions, rows, *size, "none")
        corners = whole.corners / SUBPIXELS
        is_inside = ((corners >= 0) & (corners <= size)).all(axis=(1, 2))
        # triangles that the picture's border or the near plane cuts have another shape
        own = np.bincount(whole.triangle, minlength=len(rows)) == 1
        is_inside &= own[whole.triangle] & (whole.weights.sum(axis=(1, 2)) == 2)
        made = rasterise(positions, rows[whole.triangle[is_inside]], Framebuffer.cleared(*size), SEEN)
        if made.counts["covered"] < 2000 or is_inside.sum() < 200:
            continue
        threads, area = (each.sum() for each in expected_threads(corners[is_inside]))
        assert len(made) / made.counts["covered"] == pytest.approx(threads / area, rel=0.03), draw.name
        compared += 1
    assert compared > 0


@pytest.mark.parametrize("picture", [one for one in TEXTURED if one.name in ("PT", "MT")], ids=lambda one: one.name)
def test_the_study_predicts_each_draw(data: Path, picture: Workload) -> None:
    """By its camera and culling, within 10 % of the picture drawn with the depth test; and how much is covered, where
    all of a draw is in the picture.
    """
    size = (320, 180)
    scene, camera, _ = load_drawn(picture.scene)
    camera = change_camera(camera, picture.camera) if picture.camera else camera
    shaders = read_shaders(BUILT_IN, "lit")
    made = draw_scene(scene, shaders, camera, size, Rules(), None, progress=False)
    said = by_draw(picture, size)
    assert said["name"] == [draw.name for draw in scene.draws]
    for stage in made.stages:
        threads, area, triangles = (said[name][stage.draw] for name in ("threads", "area", "triangles"))
        if stage.stage == "fragment" and triangles >= 200:
            assert stage.shaded / stage.live == pytest.approx(threads / area, rel=0.1), stage.draw_name
            assert area <= 1.02 * stage.covered
    assert sum(said["area"]) > 0.9 * sum(stage.covered for stage in made.stages)


@pytest.mark.parametrize("name", ["PT", "IT"])
def test_a_picture_launches_as_many_as_are_counted_without_the_rasteriser(data: Path, name: str) -> None:
    """Of every draw live fragments and threads, by each triangle's edges and a depth buffer alone: above 1.4 threads a
    covered pixel is geometry. Positions here are of double precision, so that a few pixels fall the other way.
    """
    [picture] = [one for one in TEXTURED if one.name == name]
    pairs = list(zip(counted(picture, (320, 180)), drawn(picture, (320, 180)), strict=True))
    assert len(pairs) > 1
    for ours, theirs in pairs:
        assert ours.name == theirs.name
        assert ours[1:] == pytest.approx(theirs[1:], rel=2e-3), ours.name
    threads, live = (sum(getattr(ours, what) for ours, _ in pairs) for what in ("threads", "live"))
    assert threads > 1.4 * live


def test_places_of_records_are_opencvs(data: Path) -> None:
    for draw in load_drawn("planets")[0].draws:
        np.testing.assert_allclose(draw.matrices(), np.stack([place for place, _ in placed(draw)]), atol=1e-6)
