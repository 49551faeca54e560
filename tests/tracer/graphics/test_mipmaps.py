"""Mip chains of pictures: box filters against exact fractions, colours as light, every size down to one texel."""

from fractions import Fraction

import numpy as np
import pytest

from rayplay.tracer.graphics.mipmaps import box_levels
from rayplay.tracer.units.texture.texel import SRGB_TO_LINEAR


def covered(length: int, into: int, texel: int) -> list[Fraction]:
    """The share of each source texel along an axis that a texel of the next level covers; they make up 1."""
    low, high = Fraction(texel * length, into), Fraction((texel + 1) * length, into)
    return [max(min(high, k + 1) - max(low, k), Fraction(0)) / (high - low) for k in range(length)]


@pytest.mark.parametrize("shape", [(4, 8), (5, 7), (3, 1), (1, 9), (2, 3)])
def test_a_level_covers_the_one_before_evenly(shape: tuple[int, int]) -> None:
    texels = np.random.default_rng(1).integers(0, 256, (*shape, 2), np.uint8)
    level = next(iter(box_levels(texels, False)))
    height, width = (max(length // 2, 1) for length in shape)
    assert level.shape == (height, width, 2)
    for y in range(height):
        for x in range(width):
            down, across = covered(shape[0], height, y), covered(shape[1], width, x)
            exact = sum(down[j] * across[i] * int(texels[j, i, 1]) for j in range(shape[0]) for i in range(shape[1]))
            assert abs(int(level[y, x, 1]) - exact) <= Fraction(501, 1000)


@pytest.mark.parametrize("shape", [(1, 1), (1, 16384), (16384, 1), (37, 20), (256, 256)])
def test_every_chain_ends_with_one_texel(shape: tuple[int, int]) -> None:
    texels = np.full((*shape, 4), (10, 128, 250, 7), np.uint8)
    sizes = [tuple(max(length >> level, 1) for length in shape) for level in range(1, max(shape).bit_length())]
    for is_colour in (False, True):
        levels = list(box_levels(texels, is_colour))
        assert [level.shape[:2] for level in levels] == sizes
        assert all((level == (10, 128, 250, 7)).all() for level in levels), "what is even stays"


def test_colours_are_averaged_as_light_and_coverage_as_it_is() -> None:
    texels = np.array([[[0, 0, 0, 0], [255, 255, 255, 255]]], np.uint8)
    (level,) = box_levels(texels, True)
    assert level[0, 0].tolist() == [188, 188, 188, 128]
    assert abs(SRGB_TO_LINEAR[188] - 0.5) < 0.005


def test_codes_of_colours_are_found_again() -> None:
    """One colour in all texels keeps its code, whichever it is."""
    texels = np.repeat(np.arange(256, dtype=np.uint8)[:, None, None], 4, axis=2).repeat(2, axis=1)
    level = next(iter(box_levels(np.tile(texels[:, None], (1, 2, 1, 1)).reshape(512, 2, 4), True)))
    assert np.array_equal(level[:, 0, 0], np.arange(256))
