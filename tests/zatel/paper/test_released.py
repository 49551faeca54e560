"""The ten rules in which the released code departs from the paper, each against values worked by hand.

Where a rule says so the paper's own answer stands beside it, so that following the wrong one fails.
"""

from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.testing.generate import make_trace
from rayplay.replay.gpu.description import load as load_gpu
from rayplay.zatel.paper import predict as predicting
from rayplay.zatel.paper.divide import divide
from rayplay.zatel.paper.heatmap import normalise
from rayplay.zatel.paper.options import DEPARTURES, VARIANTS, Options
from rayplay.zatel.paper.predict import make_plan, quantise_groups
from rayplay.zatel.paper.quantise import QuantisedHeatmap
from rayplay.zatel.paper.released import (
    BUFFER_BYTES,
    choose_cold_first,
    colour_shares,
    extra_block,
    read_back,
    warm_fraction,
)
from rayplay.zatel.paper.select import select


def heatmap_of(labels: np.ndarray, coldness: list[float]) -> QuantisedHeatmap:
    return QuantisedHeatmap(labels.astype(np.int32), np.zeros((len(coldness), 3)), np.array(coldness))


def rows_of(colours: list[int]) -> np.ndarray:
    """Labels of an image 32 wide: one block of 32x2 for each colour."""
    return np.repeat(np.array(colours), 2)[:, None] * np.ones(32, int)


def with_rules(*names: str, **others: object) -> Options:
    return Options(departures=frozenset(names), **others)  # type: ignore[arg-type]


def test_there_are_ten_and_released_is_all_of_them() -> None:
    assert len(DEPARTURES) == 10
    assert VARIANTS["released"] == frozenset(DEPARTURES)
    assert not VARIANTS["paper"]


def test_headroom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.testing.assert_allclose(normalise(np.array([0.0, 55.0, 110.0]), 1.1), [0.0, 0.5 / 1.1, 1 / 1.1])
    trace = open_trace(make_trace(tmp_path / "small.trace", 2, (64, 8), 0))
    seen = []
    heat_colour = predicting.heat_colour
    monkeypatch.setattr(predicting, "heat_colour", lambda heat: seen.append(heat.max()) or heat_colour(heat))
    work = np.arange(64.0 * 8).reshape(8, 64)
    for options in (Options(), with_rules("headroom")):
        make_plan(trace, work, load_gpu("mobile"), options)
    assert seen == pytest.approx([1.0, 1 / 1.1])


def test_group_colours() -> None:
    colour = np.random.default_rng(1).random((16, 32, 3))
    ours = quantise_groups(colour, 3, Options(colours=4))
    assert ours[0] is ours[1] is ours[2]
    theirs = quantise_groups(colour, 3, with_rules("group-colours", colours=4))
    assert len({heatmap.colours.tobytes() for heatmap in theirs}) == 3  # three starts, three clusterings


def test_warm_fraction() -> None:
    assert warm_fraction(np.array([0.8, 0.4])) == pytest.approx(0.3)  # 0.5 * 0.6
    assert warm_fraction(np.array([0.02])) == 0.05
    assert warm_fraction(np.array([1.3])) == 0.6
    # 20 blocks of coldness 0.8: warmth 0.2, a tenth of the blocks; the paper's equation (1) is 0.6 of them
    heatmap, groups = heatmap_of(rows_of([0] * 20), [0.8]), np.zeros((40, 32), int)
    assert select(heatmap, groups, 0, with_rules("warm-fraction")).fraction == pytest.approx(2 / 20)
    assert select(heatmap, groups, 0, Options()).fraction == pytest.approx(12 / 20)


def test_released_groups() -> None:
    # chunk (x, y) is of group i where (i + x + y) mod 3 = 0: chunk 0 of 0, chunk 1 of 2, chunk 2 of 1
    assert divide(96, 2, 3, is_released=True)[0, ::32].tolist() == [0, 2, 1]
    assert divide(96, 2, 3)[0, ::32].tolist() == [0, 1, 2]
    # 10 rows in 4: tiles of 3, 3, 3, 1; the paper's are of equal size, within one
    assert np.bincount(divide(1, 10, 4, "coarse", is_released=True).ravel() // 2).tolist() == [5, 5]
    assert divide(10, 10, 4, "coarse", is_released=True)[:, 0].tolist() == [0] * 5 + [2] * 5
    assert divide(7, 7, 4, "coarse", is_released=True)[0].tolist() == [0, 0, 0, 0, 1, 1, 1]
    assert divide(1, 10, 3, "coarse", is_released=True)[:, 0].tolist() == [0] * 4 + [1] * 4 + [2] * 2
    assert np.bincount(divide(1, 10, 3, "coarse").ravel()).tolist() == [4, 3, 3]


def test_corner_colour() -> None:
    # of ten blocks one is hot except at its corner; half of the pixels, so half of the blocks, shall be taken by colour
    labels = rows_of([0] * 9 + [1])
    labels[18, 0] = 0
    heatmap, groups = heatmap_of(labels, [0.8, 0.1]), np.zeros((20, 32), int)
    ours = [select(heatmap, groups, 0, Options(fraction=0.5, distribution="exptmp", seed=s)) for s in range(8)]
    assert all(chosen.pixels[19, 0] for chosen in ours)  # the hot block is known as hot, and hot is wanted
    rule = [with_rules("corner-colour", fraction=0.5, distribution="exptmp", seed=s) for s in range(8)]
    theirs = [select(heatmap, groups, 0, options).pixels[19, 0] for options in rule]
    assert not all(theirs)  # it passes for cold, so it comes only by chance


def test_image_shares() -> None:
    # group 0 holds 8 cold blocks and 8 hot ones, the image 8 cold and 24 hot: 4 of 16 blocks are 1 cold and 3 hot
    labels = np.concatenate([rows_of([0] * 8 + [1] * 8), rows_of([1] * 16)], axis=1)
    groups = np.concatenate([np.zeros((32, 32), int), np.ones((32, 32), int)], axis=1)
    heatmap = heatmap_of(labels, [0.8, 0.1])

    def colours_taken(options: Options) -> list[int]:
        pixels = select(heatmap, groups, 0, options).pixels
        return (np.bincount(labels[pixels]) // 64).tolist()

    assert colours_taken(with_rules("image-shares", fraction=0.25)) == [1, 3]
    assert colours_taken(Options(fraction=0.25)) == [2, 2]


def test_colour_shares() -> None:
    # 640 pixels: offset 0.1; a = 0.9 * (0.2, 0.8) + 0.1 = (0.28, 0.82), of 1.1
    np.testing.assert_allclose(colour_shares(np.array([0.2, 0.8]), 1, 640), [0.28 / 1.1, 0.82 / 1.1])
    fifth = 0.9 * np.array([0.2**5, 0.8**5]) + 0.1
    np.testing.assert_allclose(colour_shares(np.array([0.2, 0.8]), 5, 640), fifth / fifth.sum())
    # 18 cold blocks and 2 hot ones, 4 of them taken by warmth 0.2 and 0.8. Paper: weights 18 * 0.2 = 3.6 and 2 * 0.8 =
    # 1.6, so 2.77 and 1.23 blocks, 3 and 1. Released, offset 64 / 1280: 0.24 and 0.81, so 0.91 and 3.09: 1 and 3,
    # of which one hot block is not there and is made up for.
    labels = rows_of([0] * 18 + [1] * 2)
    heatmap, groups = heatmap_of(labels, [0.8, 0.2]), np.zeros((40, 32), int)
    for options, hot in ((Options(fraction=0.2, distribution="lintmp"), 1),
                         (with_rules("colour-shares", fraction=0.2, distribution="lintmp"), 2)):  # fmt: skip
        pixels = select(heatmap, groups, 0, options).pixels
        assert (np.bincount(labels[pixels]) // 64).tolist() == [4 - hot, hot]


def test_extra_block() -> None:
    # 6400 pixels at 0.05: n = 5 blocks; shares 0.5, 0.3, 0.2: ceil(2.5) + 1, ceil(1.5) + 1, ceil(1) + 1
    assert extra_block(np.array([5, 3, 2]), 6400, 0.05, (32, 2)).tolist() == [4, 3, 2]
    heatmap, groups = heatmap_of(rows_of([0] * 10 + [1] * 10), [0.8, 0.1]), np.zeros((40, 32), int)
    assert select(heatmap, groups, 0, with_rules("extra-block", fraction=0.2)).fraction == 6 / 20  # 2 * (2 + 1)
    assert select(heatmap, groups, 0, Options(fraction=0.2)).fraction == 4 / 20


def test_cold_first() -> None:
    random = np.random.default_rng(1)
    # colour 1 has no block: nothing for it. Colour 0 has one and wants three: two come from the rest, colour 2.
    chosen = choose_cold_first(np.array([2, 0, 2, 2]), np.array([3, 5, 1]), random)
    assert chosen[0] == 1  # the cold one first
    assert sorted(chosen.tolist()) == [0, 1, 2, 3]
    assert choose_cold_first(np.array([2, 0, 2, 2]), np.array([1, 2, 1]), random).size == 2
    # the paper's rule replaces what colour 1 lacks by random others
    labels = rows_of([0] * 9 + [2])
    labels[::2, 1::2] = 1  # a quarter of the pixels, of no block the most
    heatmap, groups = heatmap_of(labels, [0.8, 0.5, 0.1]), np.zeros((20, 32), int)
    assert select(heatmap, groups, 0, Options(fraction=0.8)).fraction == 0.8
    assert select(heatmap, groups, 0, with_rules("cold-first", fraction=0.8)).fraction < 0.8


def test_lost_tail() -> None:
    # lines of 8 bytes, "100 100\n": 1024 fill a buffer. Of 1500 the first 1024 are read.
    x, y = np.arange(1500) % 900 + 100, np.arange(1500) // 900 + 100
    found = read_back(x, y, (200, 1000))
    expected = np.zeros((200, 1000), bool)
    expected[y[:1024], x[:1024]] = True
    np.testing.assert_array_equal(found, expected)
    # one line of 8 bytes and 1169 of 7 are 8191: of the next, "10 101", one byte is there, and it is no pixel
    x, y = np.full(1400, 10), np.full(1400, 100)
    x[0], y[1170:] = 110, 101
    assert read_back(x, y, (200, 1000)).sum() == 2
    # cut within a number: the last line "9 137" of six bytes reads as "9 13" after 8190 bytes of seven-byte lines
    assert BUFFER_BYTES == 8192
    x, y = np.full(2000, 10), np.full(2000, 100)
    x[:6], y[:6] = 1000, 100  # 6 lines of 9 bytes and 1162 of 7 are 8188 bytes; 4 are left: "9 13"
    x[1168], y[1168] = 9, 137
    found = read_back(x, y, (200, 1001))
    assert found[13, 9]
    assert not found[137, 9]
    # the fraction counts the lost pixels
    heatmap, groups = heatmap_of(rows_of([0] * 40), [0.8]), np.zeros((80, 32), int)
    chosen = select(heatmap, groups, 0, with_rules("lost-tail", fraction=0.5))
    assert chosen.fraction == 0.5
    assert chosen.pixels.sum() < 1280
