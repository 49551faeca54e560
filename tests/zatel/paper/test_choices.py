"""Choices of the paper beyond the default: coarse groups, block sizes, temperature distributions, other heatmaps."""

import argparse
import dataclasses
from pathlib import Path

import numpy as np
import OpenEXR
import pytest
from PIL import Image

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.dataset.result import ResultWriter
from rayplay.formats.guard.errors import UserError
from rayplay.formats.testing.generate import make_trace
from rayplay.replay.gpu.description import load as load_gpu
from rayplay.zatel.paper.divide import divide, section_blocks
from rayplay.zatel.paper.downscale import downscale, parts
from rayplay.zatel.paper.heatmap import heat_colour
from rayplay.zatel.paper.options import Options
from rayplay.zatel.paper.pixel_heat import picture_heat, pixel_measure, replayed_cycles
from rayplay.zatel.paper.predict import make_plan
from rayplay.zatel.paper.regression import at_all_pixels, regress
from rayplay.zatel.paper.select import colour_weights
from rayplay.zatel.replays.metrics import RULES, combine
from rayplay.zatel.study.published import SPEEDUP_LAW
from rayplay.zatel.study.summaries import fit_speedup, law_speedup
from rayplay.zatel.verbs.paper_arguments import add_options, read_options


def test_coarse_division_is_figure_5() -> None:
    groups = divide(8, 9, 6, "coarse")
    np.testing.assert_array_equal(groups, np.kron([[0, 1], [2, 3], [4, 5]], np.ones((3, 4), int)))
    assert divide(10, 10, 5, "coarse")[:, 0].tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]


@pytest.mark.parametrize("block", [(32, 1), (32, 2), (32, 16), (32, 32), (8, 4)])
def test_blocks_of_any_size_tile_each_group_from_its_corner(block: tuple[int, int]) -> None:
    for division in ("fine", "coarse"):
        groups = divide(256, 128, 4, division, block)
        for group in range(4):
            members = groups == group
            index = section_blocks(members, block)
            assert np.bincount(index)[np.unique(index)].tolist() == [block[0] * block[1]] * len(np.unique(index))


def test_equations_2_and_3_worked_by_hand() -> None:
    counts, coldness = np.array([30, 10]), np.array([0.8, 0.5])
    assert colour_weights(counts, coldness, "uniform").tolist() == [30, 10]
    np.testing.assert_allclose(colour_weights(counts, coldness, "lintmp"), [30 * 0.2, 10 * 0.5])
    np.testing.assert_allclose(colour_weights(counts, coldness, "exptmp"), [30 * 0.2**5, 10 * 0.5**5])


def test_downscaling_by_a_factor_that_does_not_divide_rounds_down() -> None:
    gpu = load_gpu("rtx2060")
    assert [tuple(parts(downscale(gpu, factor)).values()) for factor in range(1, 7)] == [
        (30, 12), (15, 6), (10, 4), (7, 3), (6, 2), (5, 2),
    ]  # fmt: skip
    assert downscale(gpu, 6) == gpu.scaled(6)
    assert downscale(gpu, 5).l2.bytes * 12 == gpu.l2.bytes * 2
    with pytest.raises(UserError, match="GPU mobile: --factor 5 must leave some of the 4 memory partitions"):
        downscale(load_gpu("mobile"), 5)


def test_combination_of_a_metric_can_be_chosen() -> None:
    groups = [dict.fromkeys(RULES, 20.0), dict.fromkeys(RULES, 50.0)]
    assert (combine(groups)["gpu_ipc"], combine(groups)["gpu_cycles"]) == (70.0, 35.0)
    chosen = combine(groups, {"gpu_cycles": "max", "gpu_ipc": "mean"})
    assert (chosen["gpu_ipc"], chosen["gpu_cycles"], chosen["l1d_miss_rate"]) == (35.0, 50.0, 35.0)


def test_regression_finds_the_exponential_through_three_points() -> None:
    # 100 + 64 * 2^(-10 f): at 0.2, 0.3, 0.4 it is 116, 108, 104, and at 1 it is 100.0625
    assert at_all_pixels([0.2, 0.3, 0.4], [116.0, 108.0, 104.0]) == pytest.approx(100.0625, rel=1e-6)
    assert at_all_pixels([0.2, 0.3, 0.4], [7.0, 7.0, 7.0]) == 7.0
    # not shrinking: nearly the straight line, which would be 0.9 at 1
    assert at_all_pixels([0.2, 0.3, 0.4], [0.1, 0.2, 0.3]) == pytest.approx(0.9, rel=0.05)
    assert 1.0 < at_all_pixels([0.2, 0.3, 0.4], [1.0, 2.0, 1.5]) < 2.0
    # cycles 23.2, 32.4, 41.6 are 116, 108, 104 by linear extrapolation
    metrics = [dict.fromkeys(RULES, 0.5) | {"gpu_cycles": cycles} for cycles in (23.2, 32.4, 41.6)]
    found = regress([0.2, 0.3, 0.4], metrics)
    assert found["gpu_cycles"] == pytest.approx(100.0625, rel=1e-6)
    assert found["gpu_ipc"] == 0.5
    assert regress([0.2, 0.3, 0.4], [*metrics[:2], metrics[2] | {"rt_efficiency": None}])["rt_efficiency"] is None


def test_the_speedup_law_is_found_again() -> None:
    percentages = np.arange(10.0, 100.0, 10.0)
    np.testing.assert_allclose(fit_speedup(percentages, law_speedup(percentages)), SPEEDUP_LAW)
    assert law_speedup(np.array([10.0]))[0] == pytest.approx(12.8, abs=0.05)  # 181 / 10^1.15
    with pytest.raises(ValueError, match="two different percentages"):
        fit_speedup([10, 10], [1, 2])


def test_pictures_in_the_gradient_and_in_grey_are_read_as_heat(tmp_path: Path) -> None:
    heat = np.linspace(0.03, 0.97, 16 * 8).reshape(8, 16)
    eight = np.round(heat_colour(heat) * 255).astype(np.uint8)
    for name in ("heat.png", "heat.ppm"):
        Image.fromarray(eight).save(tmp_path / name)
        np.testing.assert_allclose(picture_heat(tmp_path / name), heat, atol=0.025)
    header = {"type": OpenEXR.scanlineimage}
    OpenEXR.File(header, {"RGB": heat_colour(heat).astype(np.float32)}).write(str(tmp_path / "heat.exr"))
    np.testing.assert_allclose(picture_heat(tmp_path / "heat.exr"), heat, atol=2e-4)
    OpenEXR.File(header, {"Y": heat.astype(np.float32)}).write(str(tmp_path / "grey.exr"))
    np.testing.assert_allclose(picture_heat(tmp_path / "grey.exr"), heat, atol=1e-6)
    Image.fromarray(np.round(heat * 65535).astype(np.uint16)).save(tmp_path / "deep.png")
    np.testing.assert_allclose(picture_heat(tmp_path / "deep.png"), heat, atol=1e-5)


@pytest.mark.parametrize("name", ["none.exr", "text.exr", "text.png"])
def test_what_is_no_picture_is_refused(tmp_path: Path, name: str) -> None:
    if name.startswith("text"):
        (tmp_path / name).write_text("no picture")
    with pytest.raises(UserError, match=rf"--heatmap .*{name}: must be "):
        picture_heat(tmp_path / name)


def test_heatmaps_of_hardware_lie_on_the_gradient(data: Path) -> None:
    for path in sorted((data / "reference" / "zatel" / "heatmaps").glob("*.png"))[::4]:
        found = picture_heat(path)
        with Image.open(path) as image:
            colour = np.asarray(image.convert("RGB")) / 255.0
        assert np.abs(heat_colour(found) - colour).max() < 1.0 / 255, path


def test_the_heat_may_be_replayed_cycles_or_a_picture(tmp_path: Path) -> None:
    trace = open_trace(make_trace(tmp_path / "small.trace", 2, (32, 4), 0))
    cycles = np.arange(128, dtype=np.int64).reshape(4, 32)
    y, x = np.divmod(np.arange(128), 32)
    metric = {"value": 1.0, "unit": "1", "kind": "mean", "definition": "for a test"}
    for name, count in (("full", 128), ("part", 64), ("none", 0)):
        with ResultWriter(tmp_path / f"{name}.result") as writer:
            if count:
                pixels = {"pixel_x": x, "pixel_y": y, "cycles": cycles.ravel(), "rays": x, "node_visits": x}
                writer.put("pixels", {column: values[:count] for column, values in pixels.items()})
            writer.summary({"gpu_cycles": metric})
    np.testing.assert_array_equal(replayed_cycles(tmp_path / "full.result"), cycles)
    source = str(tmp_path / "full.result")
    options = Options(heatmap=source, factor=1, colours=2)
    plan = make_plan(trace, pixel_measure(trace, source), load_gpu("mobile"), options)
    assert plan.heatmap.labels[0, 0] == 0 < plan.heatmap.labels[3, 31]
    with pytest.raises(UserError, match=r"part\.result: must be of the image's 32x4 pixels, not 32x2"):
        pixel_measure(trace, str(tmp_path / "part.result"))
    with pytest.raises(UserError, match=r"none\.result: must be the result of an image launch"):
        replayed_cycles(tmp_path / "none.result")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"fraction": 0.0}, "--fraction must be greater than 0 and at most 1, not 0"),
        ({"fraction": float("nan")}, "--fraction must be"),
        ({"fraction": 1.5}, "--fraction must be greater than 0 and at most 1, not 1.5"),
        ({"division": "medium"}, "--division: unknown name 'medium'; known are fine, coarse"),
        ({"distribution": "hot"}, "--distribution: unknown name 'hot'; known are uniform, lintmp, exptmp"),
        ({"block": (0, 2)}, "--block: width must be at least 1, not 0"),
        ({"colours": 300}, "--colours must be 1 to 256, not 300"),
        ({"bounds": (0.6, 0.3)}, "--bounds must be 0 < least <= most <= 1, not 0.6 0.3"),
        ({"fractions": (0.2, 0.2, 0.4)}, "--fractions must be three, rising"),
        ({"extrapolation": "regression", "fraction": 0.1}, "--fraction and --extrapolation regression exclude"),
        ({"departures": frozenset({"typo"})}, "--variant: unknown name 'typo'; known are paper, released, headroom"),
        ({"combination": {"ipc": "sum"}}, "--combine: unknown name 'ipc'; did you mean 'gpu_ipc'"),
        ({"seed": -1}, "--seed must not be negative"),
    ],
)
def test_a_choice_that_does_not_exist_is_refused(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        dataclasses.replace(Options(), **wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--fractions", "0.1", "0.2", "0.3"], "--fractions must be given with --extrapolation regression"),
        (["--bounds", "0.2", "0.5", "--fraction", "0.1"], "--bounds and --fraction exclude each other"),
        (
            ["--bounds", "0.2", "0.5", "--extrapolation", "regression"],
            "--bounds and --extrapolation regression exclude",
        ),
        (
            ["--bounds", "0.2", "0.5", "--variant", "released"],
            "--bounds and --variant warm-fraction exclude each other",
        ),
    ],
)
def test_an_option_without_an_effect_is_refused(words: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        read_options(option_parser().parse_args(words))


def test_options_that_are_not_given_are_the_papers() -> None:
    assert read_options(option_parser().parse_args([])) == Options()
    given = ["--extrapolation", "regression", "--fractions", "0.1", "0.2", "0.3"]
    assert read_options(option_parser().parse_args(given)).fractions == (0.1, 0.2, 0.3)
    assert read_options(option_parser().parse_args(["--bounds", "0.2", "0.5"])).bounds == (0.2, 0.5)


def option_parser() -> argparse.ArgumentParser:
    """The options of the method alone."""
    made = argparse.ArgumentParser()
    add_options(made)
    return made
