"""Clipping: what reaches behind the eye, through the near and far plane, or beyond the guard band."""

import numpy as np
import pytest

from rayplay.tracer.raster import Framebuffer, rasterise
from tests.tracer.raster.pictures import ALWAYS, coverage, soup, times_covered

SIZE = 64
NEAR, FAR = 0.1, 1000.0


def seen(points: np.ndarray) -> np.ndarray:
    """float32[n, 4]: clip-space positions of points for an eye at the origin that looks along -z, 90 degrees wide."""
    points = np.asarray(points, np.float64)
    z = (FAR * -points[:, 2] - FAR * NEAR) / (FAR - NEAR)
    return np.column_stack([points[:, 0], points[:, 1], z, -points[:, 2]]).astype(np.float32)


def floor_of(cells: int, reach: float) -> tuple[np.ndarray, np.ndarray]:
    """A net of triangles at y = -1, behind and before the eye."""
    x, z = np.meshgrid(np.linspace(-reach, reach, cells + 1), np.linspace(-reach, reach, cells + 1))
    number = np.arange((cells + 1) ** 2).reshape(cells + 1, cells + 1)
    a, b, c, d = number[:-1, :-1], number[:-1, 1:], number[1:, :-1], number[1:, 1:]
    triangles = np.stack([a, c, b, b, c, d], axis=-1).reshape(-1, 3).astype(np.uint32)
    return np.column_stack([x.ravel(), np.full(x.size, -1.0), z.ravel()]), triangles


@pytest.mark.parametrize("cells", [1, 2, 5, 16])
@pytest.mark.parametrize("reach", [300.0, 1e4, 1e5])
def test_a_floor_under_the_eye_covers_the_lower_half_once(cells: int, reach: float) -> None:
    """Row y + 0.5 sees the floor at the distance 32 / (y + 0.5 - 32), all within near and far but the horizon's."""
    points, triangles = floor_of(cells, reach)
    found = coverage(seen(points), triangles, SIZE, SIZE)
    assert (found[SIZE // 2 + 1 :] == 1).all()
    assert (found[: SIZE // 2] == 0).all()


@pytest.mark.parametrize("depth", [0.05, 0.0, -5.0, 2000.0])
def test_a_wall_before_the_near_or_behind_the_far_plane_is_not_seen(depth: float) -> None:
    wall = np.array([[-9, -9, -depth], [9, -9, -depth], [0, 9, -depth]])
    assert not coverage(seen(wall), soup(wall), SIZE, SIZE).any()


def test_a_triangle_behind_the_eye_is_not_turned_into_view() -> None:
    """With w < 0 at all vertices, projections alone would lie in the picture."""
    behind = np.array([[-0.5, -0.5, 2.0], [0.5, -0.5, 2.0], [0, 0.5, 2.0]])
    fragments = rasterise(seen(behind), soup(behind), Framebuffer.cleared(SIZE, SIZE), ALWAYS)
    assert len(fragments) == 0
    assert fragments.counts["outside"] == 1


def test_clipped_triangles_keep_their_varyings() -> None:
    """The position as a varying comes back at each pixel of a wall from behind the eye to far away."""
    points = np.array([[-1.0, -1, 3], [-1, -1, -500], [-1, 40, -500], [4e6, -1, -600]])
    triangles = np.array([[0, 1, 2], [0, 3, 1]], np.uint32)
    framebuffer = Framebuffer.cleared(SIZE, SIZE)
    fragments = rasterise(seen(points), triangles, framebuffer, ALWAYS)
    assert fragments.counts["clipped"] == 2
    there = fragments.interpolate(points.astype(np.float32), triangles)[fragments.live]
    x, y = (there[:, 0] / -there[:, 2] + 1) * SIZE / 2, (1 - there[:, 1] / -there[:, 2]) * SIZE / 2
    assert len(there) > 500
    np.testing.assert_allclose(x, fragments.x[fragments.live] + 0.5, atol=0.1)
    np.testing.assert_allclose(y, fragments.y[fragments.live] + 0.5, atol=0.1)


@pytest.mark.parametrize("seed", range(5))
def test_corners_inside_and_outside_of_everything_are_defined(seed: int) -> None:
    """Any finite triangles: fragments lie in the picture, weights and depths are numbers, triangles are counted."""
    random = np.random.default_rng(seed)
    scale = 10.0 ** random.uniform(-30, 30, (900, 1))
    positions = (random.normal(size=(900, 4)) * scale).astype(np.float32)
    positions[::17] = 0
    positions[5::31, 3] = 0
    triangles = random.integers(0, 900, (900, 3)).astype(np.uint32)
    fragments = rasterise(positions, triangles, Framebuffer.cleared(SIZE, SIZE), ALWAYS)
    live = fragments.live
    assert times_covered(fragments, SIZE, SIZE).sum() == live.sum() == fragments.counts["covered"] > 0
    assert np.isfinite(fragments.weights).all()
    assert ((fragments.depth >= 0) & (fragments.depth <= 1)).all()
    assert (fragments.weights[live] >= -1e-6).all()
    assert (fragments.weights[live].sum(axis=1) <= 1 + 1e-6).all()
