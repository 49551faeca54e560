"""The cost of each pixel as a picture."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import rayplay
from rayplay.door.heat import read_cost
from rayplay.formats.dataset.result import ResultWriter
from rayplay.formats.guard.errors import UserError
from rayplay.zatel.paper.heatmap import colour_heat, pixel_work


def write_result(path: Path, cycles: np.ndarray) -> None:
    """A result whose pixels took ``cycles``, int64[height, width]."""
    rows, columns = np.indices(cycles.shape).reshape(2, -1)
    with ResultWriter(path) as writer:
        writer.summary({})
        writer.put("pixels", {
            "pixel_x": columns.astype(np.uint16), "pixel_y": rows.astype(np.uint16), "cycles": cycles.ravel(),
            "rays": np.arange(cycles.size, dtype=np.uint32), "node_visits": np.ones(cycles.size, np.uint32),
        })  # fmt: skip


def test_a_trace_shows_its_work(records: Callable[..., list[dict[str, Any]]], tmp_path: Path) -> None:
    (found,) = records("heat", "sample", "--out", "heat.png")
    work = pixel_work(rayplay.open("sample"))
    assert (found["least"], found["largest"]) == (work.min(), work.max())
    assert found["mean"] == pytest.approx(work.mean())
    with Image.open(tmp_path / "heat.png") as picture:
        drawn = np.asarray(picture, float) / 255
    assert np.abs(colour_heat(drawn) - work / work.max()).max() < 0.03


def test_a_result_shows_any_of_its_costs(records: Callable[..., list[dict[str, Any]]], tmp_path: Path) -> None:
    cycles = np.arange(12, dtype=np.int64).reshape(3, 4)
    write_result(tmp_path / "x.result", cycles)
    assert np.array_equal(read_cost(tmp_path / "x.result", None)[1], cycles)
    (found,) = records("heat", "x", "--cost", "rays")
    assert (found["out"], found["width"], found["height"], found["largest"]) == ("x-rays.png", 4, 3, 11)
    with Image.open(tmp_path / "x-rays.png") as picture:
        assert picture.size == (4, 3)


def test_a_result_without_pixels_is_refused(tmp_path: Path) -> None:
    with ResultWriter(tmp_path / "x.result") as writer:
        writer.summary({})
    with pytest.raises(UserError, match="has no table pixels"):
        read_cost(tmp_path / "x.result", None)
    with pytest.raises(UserError, match="--cost work: a result knows cycles, rays, node_visits"):
        read_cost(tmp_path / "x.result", "work")
