"""Steps 1 and 2: work per pixel, temperature colours, few colours."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy.spatial import cKDTree

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.guard.errors import UserError
from rayplay.formats.testing.generate import make_trace
from rayplay.zatel.paper.heatmap import INSTRUCTION_WORK, RECORD_WORK, heat_colour, normalise, pixel_work
from rayplay.zatel.paper.quantise import quantise, shifted_hue
from tests.reference.filter_twin import lanes_of, rows_of

HOTTEST = np.array([145, 0, 65]) / 255
COLDEST = np.array([0, 2, 91]) / 255


def test_work_counts_the_instructions_and_the_records_of_each_pixel(tmp_path: Path) -> None:
    trace = open_trace(make_trace(tmp_path / "t.trace", 5, (70, 4)))
    expected = np.zeros((4, 70))
    pixel = {(t["warp_id"], t["lane"]): (t["pixel_y"], t["pixel_x"]) for t in rows_of(trace.read("threads"))}
    instructions = trace.read("blocks")["instruction_count"].tolist()
    for visit in rows_of(trace.read("visits")):
        for lane in lanes_of(visit["active_mask"]):
            if place := pixel.get((visit["warp_id"], lane)):
                expected[place] += INSTRUCTION_WORK * instructions[visit["block_id"]]
    for ray in rows_of(trace.read("rays")):
        expected[pixel[ray["warp_id"], ray["lane"]]] += RECORD_WORK * len(ray["node"])
    np.testing.assert_array_equal(pixel_work(trace), expected)
    assert expected.min() >= instructions[0] > 0


def test_a_trace_without_an_image_has_no_heatmap(tmp_path: Path) -> None:
    path = make_trace(tmp_path / "compute.trace", image_size=None)
    with pytest.raises(UserError, match="must be the trace of an image launch"):
        pixel_work(open_trace(path))


def test_heat_is_the_share_of_the_longest() -> None:
    np.testing.assert_array_equal(normalise(np.array([[1.0, 4.0], [2.0, 0.0]])), [[0.25, 1.0], [0.5, 0.0]])
    np.testing.assert_array_equal(normalise(np.zeros((2, 2))), np.zeros((2, 2)))


def test_the_gradient_runs_from_dark_blue_to_magenta() -> None:
    np.testing.assert_allclose(heat_colour(np.array([0.0, 1.0])), [COLDEST, HOTTEST], atol=1e-12)


def test_the_gradient_between_two_colours_worked_by_hand() -> None:
    # Heat 0.45 is position 4.5, the middle of colour 4, yellow; it is mixed with equal parts of its neighbours.
    part = (4.5 - 3.2) / 1.6
    into = part * part * (3 - 2 * part)
    yellow, green, orange = np.array([255, 252, 0]), np.array([51, 221, 0]), np.array([255, 180, 0])
    mixed = (into * into * yellow + (1 - into) * green + (1 - into) * orange) / 255
    np.testing.assert_allclose(heat_colour(np.array(0.45)), np.clip(mixed, 0, 1), atol=1e-12)


def test_the_released_heatmaps_use_this_gradient(data: Path) -> None:
    curve = cKDTree(heat_colour(np.linspace(0, 1, 20001)) * 255)
    pictures = sorted((data / "reference/zatel/heatmaps").glob("*.png"))
    assert len(pictures) == 17
    for picture in pictures:
        colours = np.unique(np.asarray(Image.open(picture).convert("RGB")).reshape(-1, 3), axis=0)
        assert curve.query(colours)[0].max() < 1.0, picture.name  # one step of an 8-bit channel, rounded down


def test_the_shifted_hue_is_hot_at_0_and_cold_at_1() -> None:
    # docs/sources/zatel-code.md#quantise: warmth 0.935 for the hottest and 0.197 for the coldest colour
    np.testing.assert_allclose(1 - shifted_hue(np.array([HOTTEST, COLDEST])), [0.935, 0.197], atol=5e-4)
    along = shifted_hue(heat_colour(np.linspace(0, 1, 1001)))
    assert (np.diff(along) < 1e-9).all()


def test_quantisation_keeps_few_colours_as_they_are() -> None:
    heat = np.array([[0.0, 1.0, 0.5], [1.0, 0.0, 0.5]])
    quantised = quantise(heat_colour(heat))
    np.testing.assert_allclose(quantised.colours[quantised.labels], heat_colour(heat))
    assert quantised.labels.tolist() == [[0, 2, 1], [2, 0, 1]]


def test_quantisation_finds_separate_clusters_and_numbers_them_from_cold_to_hot() -> None:
    random = np.random.default_rng(1)
    centres = np.array([0.02, 0.2, 0.45, 0.7, 0.95])
    which = random.integers(0, 5, (40, 64))
    quantised = quantise(heat_colour(centres[which] + random.uniform(-0.01, 0.01, which.shape)))
    np.testing.assert_array_equal(quantised.labels, which)
    assert (np.diff(quantised.coldness) < 0).all()


def test_quantisation_is_seeded() -> None:
    colour = heat_colour(np.random.default_rng(2).random((32, 64)))
    first, again = quantise(colour, seed=7), quantise(colour, seed=7)
    for one, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, other)
    assert len(first.colours) == 5


def test_each_pixel_gets_its_nearest_colour() -> None:
    colour = heat_colour(np.random.default_rng(3).random((16, 32)))
    quantised = quantise(colour)
    distances = np.linalg.norm(colour[:, :, None, :] - quantised.colours, axis=3)
    np.testing.assert_array_equal(quantised.labels, distances.argmin(axis=2))
