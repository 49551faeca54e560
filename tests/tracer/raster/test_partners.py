"""Partner pixels of CRISP's rules: distances to the pixel beside and to the one above or below."""

import numpy as np

from rayplay.tracer.raster.crisp import partner_steps
from rayplay.tracer.raster.fragments import Fragments


def fragments_at(pixels: list[tuple[int, int]]) -> Fragments:
    """Live fragments at these columns and rows."""
    x, y = np.array(pixels, np.uint16).T
    nothing = np.zeros(len(x), np.uint32)
    return Fragments(x, y, nothing, np.ones(len(x), bool), np.zeros((len(x), 2), np.float32),
                     np.zeros(len(x), np.float32), {})  # fmt: skip


def test_a_partner_differs_in_the_lowest_bit() -> None:
    pixels = [(2, 4), (3, 4), (2, 5), (1, 4)]
    coordinates = np.array([[0.5, 0.5], [0.53, 0.54], [0.5, 0.25], [9, 9]], np.float32)
    steps = partner_steps(fragments_at(pixels), coordinates, (8, 8))
    np.testing.assert_allclose(steps, [[0.05, 0.25], [0.05, 0], [0, 0.25], [0, 0]], rtol=1e-5)


def test_a_distance_is_at_most_1_and_odd_sizes_have_edges() -> None:
    pixels = [(4, 2), (4, 3), (0, 0), (1, 0)]
    coordinates = np.array([[0, 0], [5, 0], [np.nan, 0], [0, np.inf]], np.float32)
    steps = partner_steps(fragments_at(pixels), coordinates, (5, 4))
    assert steps[:2].tolist() == [[0, 1], [0, 1]]
    assert not np.isfinite(steps[2:, 0]).any(), "what is no number stays none"


def test_the_last_fragment_of_a_pixel_is_the_partner() -> None:
    coordinates = np.array([[0, 0], [0.1, 0], [0.3, 0]], np.float32)
    steps = partner_steps(fragments_at([(0, 0), (1, 0), (1, 0)]), coordinates, (2, 2))
    np.testing.assert_allclose(steps[0], [0.3, 0])
