"""Steps 4 and 5: groups, how many pixels of each, and which."""

import numpy as np
import pytest

from rayplay.zatel.paper.divide import divide, section_blocks
from rayplay.zatel.paper.options import Options
from rayplay.zatel.paper.quantise import QuantisedHeatmap
from rayplay.zatel.paper.select import apportion, select, wanted_fraction

# Zatel Fig. 6: chunks of an image divided among four GPUs
FIGURE_6 = [[0, 1, 2, 3, 0], [1, 2, 3, 0, 1], [2, 3, 0, 1, 2], [3, 0, 1, 2, 3], [0, 1, 2, 3, 0]]


def blocks_of(width: int, height: int) -> np.ndarray:
    """The section block of each pixel of a whole image."""
    return section_blocks(np.ones((height, width), bool)).reshape(height, width)


def test_division_is_figure_6() -> None:
    groups = divide(5 * 32, 5 * 2, 4)
    np.testing.assert_array_equal(groups, np.kron(FIGURE_6, np.ones((2, 32), int)))


@pytest.mark.parametrize(("width", "height", "count"), [(512, 512, 6), (512, 512, 4), (100, 37, 6), (64, 64, 1)])
def test_every_pixel_is_in_one_group_and_chunks_stay_whole(width: int, height: int, count: int) -> None:
    groups = divide(width, height, count)
    assert groups.shape == (height, width)
    assert np.unique(groups).tolist() == list(range(count))
    blocks = blocks_of(width, height)
    pairs = np.unique(np.stack([blocks.ravel(), groups.ravel()]), axis=1)
    assert pairs.shape[1] == blocks.max() + 1 == -(-width // 32) * -(-height // 2)


def test_groups_of_a_whole_grid_are_equally_large() -> None:
    sizes = np.bincount(divide(512, 512, 4).ravel())
    assert sizes.tolist() == [512 * 512 // 4] * 4
    sizes = np.bincount(divide(512, 512, 6).ravel())
    assert sizes.max() - sizes.min() <= 16 * 64


def test_equation_1_worked_by_hand() -> None:
    assert wanted_fraction(np.array([0.8, 0.2, 0.2, 0.4])) == pytest.approx(0.4)  # the mean, within the bounds
    assert wanted_fraction(np.array([0.1, 0.2])) == 0.3  # hot: the least
    assert wanted_fraction(np.array([0.8, 0.8, 0.7])) == 0.6  # cold: the most


def test_apportion_worked_by_hand() -> None:
    assert apportion(np.array([5, 3, 2]), 10).tolist() == [5, 3, 2]
    assert apportion(np.array([1, 1, 1]), 10).tolist() == [4, 3, 3]
    assert apportion(np.array([5, 4, 2]), 4).tolist() == [2, 1, 1]  # 20/11, 16/11, 8/11: remainders 9, 5, 8


def heatmap_of(labels: np.ndarray, colours: int = 5) -> QuantisedHeatmap:
    return QuantisedHeatmap(labels.astype(np.int32), np.zeros((colours, 3)), np.linspace(0.8, 0.05, colours))


def random_heatmap(width: int, height: int, seed: int = 0) -> QuantisedHeatmap:
    """Blocks of one colour each, colours in unequal shares."""
    blocks = blocks_of(width, height)
    colour = np.random.default_rng(seed).choice(5, size=blocks.max() + 1, p=[0.4, 0.3, 0.15, 0.1, 0.05])
    return heatmap_of(colour[blocks])


@pytest.mark.parametrize("fraction", [0.05, 0.1, 0.3, 0.77, 1.0])
def test_selection_takes_as_few_whole_blocks_as_reach_the_fraction(fraction: float) -> None:
    groups = divide(256, 96, 4)
    selection = select(random_heatmap(256, 96), groups, 2, Options(fraction=fraction))
    assert not (selection.pixels & (groups != 2)).any()
    count = -int(-fraction * 96 // 1)  # of 96 blocks in the group
    assert selection.pixels.sum() == 64 * count
    assert selection.fraction == pytest.approx(count / 96)
    per_block = np.bincount(blocks_of(256, 96).ravel(), weights=selection.pixels.ravel())
    assert set(per_block.tolist()) <= {0, 64}


def test_selection_has_the_colours_of_the_group_within_one_block() -> None:
    heatmap, groups = random_heatmap(512, 128), divide(512, 128, 4)
    for group in range(4):
        selection = select(heatmap, groups, group, Options(fraction=0.2, seed=3))
        share = np.bincount(heatmap.labels[groups == group], minlength=5) / (groups == group).sum()
        blocks = selection.pixels.sum() / 64
        chosen = np.bincount(heatmap.labels[selection.pixels], minlength=5) / 64
        assert (np.abs(chosen - share * blocks) <= 1).all()


def test_selection_depends_on_seed_and_group_only() -> None:
    heatmap, groups = random_heatmap(256, 96), divide(256, 96, 4)
    one, again, other = (select(heatmap, groups, 1, Options(seed=seed, fraction=0.2)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.pixels, again.pixels)
    assert (one.pixels != other.pixels).any()


def test_other_blocks_make_up_for_a_colour_that_has_too_few() -> None:
    # Two of three pixels of every block are cold, so no block is hot, but a third of the pixels is.
    labels = np.zeros((48, 96))
    labels[:, ::3] = 4
    selection = select(heatmap_of(labels), divide(96, 48, 1), 0, Options(fraction=0.5))
    assert selection.pixels.sum() == 72 // 2 * 64


def test_a_block_has_the_colour_of_most_of_its_pixels() -> None:
    # One block in ten is hot except at its top left pixel; the released code would call it cold.
    labels = np.zeros((20, 32))
    labels[4:6] = 4
    labels[4, 0] = 0
    chosen = select(heatmap_of(labels), divide(32, 20, 1), 0, Options(fraction=1.0))
    assert chosen.fraction == 1.0
    some = [
        select(heatmap_of(labels), divide(32, 20, 1), 0, Options(seed=seed, fraction=0.9)).pixels[4, 5]
        for seed in range(20)
    ]
    assert all(some)  # its colour is a tenth of nine blocks, 0.9: the largest remainder


def test_equation_1_chooses_the_fraction_when_none_is_given() -> None:
    groups = divide(256, 96, 4)
    cold = heatmap_of(np.zeros((96, 256)))
    assert select(cold, groups, 0, Options()).fraction == pytest.approx(58 / 96)  # 0.6 of 96 blocks, rounded up
    hot = heatmap_of(np.full((96, 256), 4))
    assert select(hot, groups, 0, Options()).fraction == pytest.approx(29 / 96)
