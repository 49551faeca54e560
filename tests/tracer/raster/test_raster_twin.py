"""The rasteriser against its slow twin in exact arithmetic: order, coverage, early depth test, weights and depth."""

from fractions import Fraction

import numpy as np
import pytest

from rayplay.tracer.raster import Framebuffer, rasterise
from tests.reference import raster_slow
from tests.tracer.raster.pictures import ALWAYS, placed, soup

SIZES = [(16, 16), (19, 13), (40, 9)]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("width", "height"), SIZES)
def test_threads_and_their_order_are_the_twins(width: int, height: int, seed: int) -> None:
    """Flat triangles, vertices on centres, edges through centres and shared edges among them."""
    random = np.random.default_rng(seed)
    points = random.uniform(-8, 24, (36, 2)) * [width / 16, height / 16]
    points[::2] = np.round(points[::2] * 2) / 2
    points[9:12] = points[6:9]
    z = np.repeat(random.integers(1, 64, 12) / 64, 3)
    positions, triangles = placed(points, width, height, z), soup(points)
    framebuffer, depth = Framebuffer.cleared(width, height), np.ones((height, width), np.float32)
    found = rasterise(positions, triangles, framebuffer)
    corners = [[raster_slow.on_picture(positions[at], width, height) for at in row] for row in triangles]
    expected = list(raster_slow.fragments(corners, [Fraction(each) for each in z[::3]], width, height, depth))
    columns = (found.x.tolist(), found.y.tolist(), found.triangle.tolist(), found.live.tolist())
    assert list(zip(*columns, strict=True)) == expected
    assert len(expected) > 100
    np.testing.assert_array_equal(framebuffer.depth, depth)
    assert found.counts["quads"] == len(found.coverage) == len(expected) // 4
    assert found.warps == -(-len(expected) // 32)


@pytest.mark.parametrize("seed", range(4))
def test_weights_and_depth_are_the_twins(seed: int) -> None:
    """Triangles with different w at each vertex, within the view volume."""
    random = np.random.default_rng(seed)
    width, height = 32, 16
    w = random.uniform(0.5, 20, (30, 1))
    positions = np.concatenate([random.uniform(-1, 1, (30, 2)) * w, random.random((30, 1)) * w, w], axis=1)
    positions, triangles = positions.astype(np.float32), soup(positions)
    found = rasterise(positions, triangles, Framebuffer.cleared(width, height), ALWAYS)
    assert found.live.sum() > 200
    for row in np.flatnonzero(found.live):
        vertices = positions[triangles[found.triangle[row]]]
        corners = [raster_slow.on_picture(vertex, width, height) for vertex in vertices]
        linear = raster_slow.weights_at(corners, int(found.x[row]), int(found.y[row]))
        assert linear is not None
        exact = raster_slow.perspective(linear, [Fraction(float(vertex[3])) for vertex in vertices])
        np.testing.assert_allclose(found.weights[row], [float(each) for each in exact[1:]], rtol=0, atol=2**-22)
        z = sum(each * Fraction(float(v[2])) / Fraction(float(v[3])) for each, v in zip(linear, vertices, strict=True))
        assert abs(float(found.depth[row]) - float(z)) <= 2**-23


def test_a_varying_that_is_the_position_comes_back_at_each_pixel() -> None:
    """Perspective correction: the interpolated clip-space position projects onto the pixel's centre."""
    positions = np.array([[-3, -2, 0.5, 3], [8, -8, 6, 8], [0.2, 0.9, 0.2, 1]], np.float32)
    triangles = soup(positions)
    found = rasterise(positions, triangles, Framebuffer.cleared(64, 64), ALWAYS)
    there = found.interpolate(positions, triangles)[found.live]
    x, y = (there[:, 0] / there[:, 3] + 1) * 32, (1 - there[:, 1] / there[:, 3]) * 32
    np.testing.assert_allclose(x, found.x[found.live] + 0.5, atol=4 / 256)
    np.testing.assert_allclose(y, found.y[found.live] + 0.5, atol=4 / 256)
    affine = (there[:, 3] - there[:, 3].min()).std()
    assert affine > 1
