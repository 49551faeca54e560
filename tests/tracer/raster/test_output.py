"""Depth from draw to draw, discards and blending."""

import numpy as np
import pytest

from rayplay.formats.guard.errors import UserError
from rayplay.tracer.raster import DrawState, Fragments, Framebuffer, rasterise, write_colours
from tests.tracer.raster.pictures import placed, soup

WHOLE = np.array([[0, 0], [32, 0], [0, 32]])


def layers(depths: list[float], framebuffer: Framebuffer, state: DrawState) -> Fragments:
    """A draw of triangles over the whole picture, one a depth."""
    points = np.concatenate([WHOLE] * len(depths))
    return rasterise(placed(points, 16, 16, np.repeat(depths, 3)), soup(points), framebuffer, state)


def painted(fragments: Fragments) -> np.ndarray:
    """Colour (number of the triangle, 0.25, 0, 0.5) of each fragment."""
    made = np.zeros((len(fragments), 4), np.float32)
    made[:, 0], made[:, 1], made[:, 3] = fragments.triangle, 0.25, 0.5
    return made


@pytest.mark.parametrize(
    ("compare", "passing"),
    [
        ("never", []), ("less", [0, 2]), ("equal", []), ("less_equal", [0, 2, 3]), ("greater", []),
        ("not_equal", [0, 1, 2]), ("greater_equal", []), ("always", [0, 1, 2, 3]),
    ],
)  # fmt: skip
def test_early_test_in_the_order_of_submission(compare: str, passing: list[int]) -> None:
    """Depths 0.5, 0.75, 0.25, 0.25 on a buffer of 1: by hand. What passes is shaded, even where it is hidden later."""
    fragments = layers([0.5, 0.75, 0.25, 0.25], Framebuffer.cleared(16, 16), DrawState(depth_compare=compare))
    assert sorted(set(fragments.triangle.tolist())) == passing
    assert len(fragments) == 256 * len(passing)
    assert fragments.counts["covered"] == 1024


def test_depth_persists_from_draw_to_draw() -> None:
    framebuffer = Framebuffer.cleared(16, 16)
    assert len(layers([0.5], framebuffer, DrawState())) == 256
    assert len(layers([0.75], framebuffer, DrawState())) == 0
    assert len(layers([0.25], framebuffer, DrawState(depth_write=False))) == 256
    assert len(layers([0.375], framebuffer, DrawState())) == 256


def test_discarded_fragments_write_neither_depth_nor_colour() -> None:
    """The nearer triangle is discarded in the left half; the one behind it is seen there, though it came later."""
    framebuffer, state = Framebuffer.cleared(16, 16), DrawState(discards=True)
    fragments = layers([0.25, 0.5], framebuffer, state)
    assert len(fragments) == 512
    assert (framebuffer.depth == 1).all()
    kept = (fragments.triangle == 1) | (fragments.x >= 8)
    assert write_colours(framebuffer, state, fragments, painted(fragments), kept) == 256
    np.testing.assert_array_equal(framebuffer.colour[0, :, 0], [1] * 8 + [0] * 8)
    np.testing.assert_array_equal(framebuffer.depth[0], [0.5] * 8 + [0.25] * 8)


def test_a_discard_that_was_not_announced_is_refused() -> None:
    framebuffer = Framebuffer.cleared(16, 16)
    fragments = layers([0.25], framebuffer, DrawState())
    with pytest.raises(UserError, match="discards=True"):
        write_colours(framebuffer, DrawState(), fragments, painted(fragments), fragments.live)


@pytest.mark.parametrize(
    ("blend", "expected"),
    [("opaque", [1, 0.25, 0, 0.5]), ("alpha", [0.5, 0.1875, 0, 0.75]), ("additive", [1, 0.5, 0, 1])],
)
def test_blending_of_two_layers_by_hand(blend: str, expected: list[float]) -> None:
    """Colours (0, 0.25, 0, 0.5), then (1, 0.25, 0, 0.5), over transparent black."""
    framebuffer, state = Framebuffer.cleared(16, 16), DrawState(blend=blend, depth_compare="always")
    fragments = layers([0.5, 0.5], framebuffer, state)
    assert write_colours(framebuffer, state, fragments, painted(fragments)) == 512
    assert (framebuffer.colour == np.array(expected, np.float32)).all()


def test_helpers_write_nothing() -> None:
    framebuffer = Framebuffer.cleared(16, 16)
    points = np.array([[3, 3], [5, 3], [3, 5]])
    fragments = rasterise(placed(points, 16, 16), soup(points), framebuffer)
    assert fragments.coverage.tolist() == [8]
    assert fragments.live.tolist() == [False, False, False, True]
    assert write_colours(framebuffer, DrawState(), fragments, np.ones((4, 4), np.float32)) == 1
    assert np.argwhere(framebuffer.colour[:, :, 0]).tolist() == [[3, 3]]
