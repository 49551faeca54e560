"""The rules of CRISP's released code, by hand and against a slow twin (docs/sources/crisp.md#rasterisation)."""

import numpy as np
import pytest

from rayplay.tracer.raster import DrawState, Framebuffer, rasterise
from tests.reference.raster_slow import crisp_fragments
from tests.tracer.raster.pictures import soup

CRISP = DrawState(rules="crisp")


def placed(points: np.ndarray, width: int, height: int, z: float | np.ndarray = 0.5) -> np.ndarray:
    """float32[n, 4]: positions whose projections are pixels, with y downwards as CRISP has it."""
    points = np.asarray(points, np.float64)
    device = np.column_stack([points[:, 0] / (width // 2) - 1, points[:, 1] / (height // 2) - 1])
    return np.column_stack([device, np.broadcast_to(z, len(points)), np.ones(len(points))]).astype(np.float32)


def test_edges_belong_to_both_sides_and_pixels_are_their_corners() -> None:
    """A square of 4 x 4 steps has 5 x 5 pixels; the five on its diagonal are drawn twice."""
    points = np.array([[1, 1], [5, 1], [1, 5], [5, 5]])
    triangles = np.array([[0, 1, 2], [2, 1, 3]], np.uint32)
    fragments = rasterise(placed(points, 16, 16), triangles, Framebuffer.cleared(16, 16), CRISP)
    assert len(fragments) == 30
    assert fragments.live.all()
    assert fragments.x.max() == fragments.y.max() == 5


@pytest.mark.parametrize("seed", range(5))
def test_fragments_and_their_order_are_the_twins(seed: int) -> None:
    random = np.random.default_rng(seed)
    points = random.integers(-12, 44, (45, 2))
    positions = placed(points, 32, 32, random.choice([0.5, 0.5, 3.0], 45))
    framebuffer = Framebuffer(np.zeros((32, 32, 4), np.float32), np.full((32, 32), 9, np.float32))
    state = DrawState(rules="crisp", depth_write=False)
    found = rasterise(positions, soup(points), framebuffer, state)
    threads = zip(found.x.tolist(), found.y.tolist(), found.triangle.tolist(), strict=True)
    expected = crisp_fragments(positions, soup(points), 32, 32)
    assert list(threads) == expected
    assert len(expected) > 300


def test_buckets_follow_the_corner_of_the_bounding_box() -> None:
    """The later triangle begins 64 pixels before the earlier one, and runs first."""
    points = np.array([[8, 5], [9, 5], [8, 6], [8, 3], [9, 3], [8, 4]])
    fragments = rasterise(placed(points, 32, 32), soup(points), Framebuffer.cleared(32, 32), CRISP)
    assert fragments.triangle.tolist() == [1, 1, 1, 0, 0, 0]
    assert list(zip(fragments.x.tolist(), fragments.y.tolist(), strict=True))[:3] == [(8, 3), (8, 4), (9, 3)]


def test_a_triangle_over_the_picture_whose_vertices_are_outside_is_lost() -> None:
    points = np.array([[-40, -40], [90, -40], [-40, 90]])
    framebuffer = Framebuffer.cleared(16, 16)
    assert len(rasterise(placed(points, 16, 16), soup(points), framebuffer, CRISP)) == 0
    assert len(rasterise(placed(points, 16, 16), soup(points), framebuffer)) > 0


@pytest.mark.parametrize(("compare", "passing"), [("less", 2), ("less_equal", 1), ("greater", 3)])
def test_less_lets_equal_depths_pass_and_less_equal_does_not(compare: str, passing: int) -> None:
    """Depths 0.5, 0.5 and 0.75 of one pixel, after clearing to 1, or to 0 for greater."""
    points = np.array([[2, 2], [2.5, 2], [2, 2.5]] * 3)
    positions = placed(points, 16, 16, np.repeat([0.5, 0.5, 0.75], 3))
    framebuffer = Framebuffer.cleared(16, 16, 0.0 if compare == "greater" else 1.0)
    state = DrawState(rules="crisp", depth_compare=compare)
    assert len(rasterise(positions, soup(points), framebuffer, state)) == passing


def test_weights_are_linear_in_the_picture() -> None:
    points = np.array([[0, 0], [8, 0], [0, 8]])
    positions = placed(points, 16, 16)
    positions[1] *= 4
    found = rasterise(positions, soup(points), Framebuffer.cleared(16, 16), CRISP)
    np.testing.assert_array_equal(found.weights, np.column_stack([found.x / 8, found.y / 8]))
