"""Predictions on the page: values, intervals and errors are the file's and the result's; other files are refused."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from rayplay.formats.guard.errors import UserError
from rayplay.report.forecast import Forecast, forecasts, read_forecast, rows
from rayplay.report.page import page
from rayplay.report.run import Run
from tests.report.pages import Parsed


def written(path: Path, metrics: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"trace": "sample.trace", "gpu": "mobile", "metrics": metrics}))
    return path


def test_an_estimate_stands_beside_the_full_replay(runs: list[Run], tmp_path: Path) -> None:
    cycles = runs[0].cycles
    metrics = {
        "gpu_cycles": {"estimate": 1.1 * cycles, "interval": [0.9 * cycles, 1.2 * cycles]},
        "gpu_ipc": {"estimate": 1.0, "interval": [0.0, 1e-9]},
        "l2_miss_rate": {"estimate": None, "interval": None},
    }
    found = read_forecast(written(tmp_path / "e.json", metrics))
    first, second, third = rows(found, runs[0])
    assert first[:5] == ("gpu_cycles", 1.1 * cycles, 0.9 * cycles, 1.2 * cycles, cycles)
    assert first[5] == pytest.approx(10)
    assert (first[6], second[6], third[6]) == ("yes", "no", "")
    assert third[1:4] == (None, None, None)
    parsed = Parsed(page(runs, (), [found]))
    assert not parsed.open
    values = {attributes.get("data-value") for _, attributes in parsed.elements}
    assert {repr(each) for each in first[1:6]} <= values
    assert ("caption", "e.json: sample.trace on mobile, beside mobile") in parsed.text


def test_a_folder_of_predict_is_read(runs: list[Run], tmp_path: Path) -> None:
    metrics = {"gpu_cycles": {"title": "cycles", "predicted": 2.0 * runs[0].cycles}}
    written(tmp_path / "x.prediction" / "prediction.json", metrics)
    (row,) = rows(read_forecast(tmp_path / "x.prediction"), runs[0])
    assert row == ("gpu_cycles", 2.0 * runs[0].cycles, None, None, runs[0].cycles, 100.0, "")


@pytest.mark.parametrize(
    ("metrics", "words"),
    [
        (None, "must be what rayplay predict or rayplay estimate wrote"),
        ({"gpu_ipc": 3}, r"metrics.gpu_ipc: must hold predicted or estimate, found '3'"),
        ({"gpu_ipc": {"estimate": "3"}}, "metrics.gpu_ipc: must be a number or null, found '3'"),
        ({"gpu_ipc": {"estimate": 3, "interval": [1]}}, "interval: must be two numbers"),
    ],
)
def test_another_file_is_refused(metrics: object, words: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=words):
        read_forecast(written(tmp_path / "e.json", metrics))


@pytest.mark.parametrize(("name", "other"), [("trace", "other.trace"), ("gpu", "rtx2060")])
def test_a_prediction_of_another_trace_or_gpu_is_refused(runs: list[Run], name: str, other: str) -> None:
    of_it = Forecast("e.json", "sample.trace", "mobile", {})
    assert forecasts([of_it, replace(of_it, gpu="my/mobile.toml")], runs[0])
    with pytest.raises(UserError, match=f"e.json: {name} must be .*, found {other}"):
        forecasts([replace(of_it, **{name: other})], runs[0])
