"""Steps 6 and 7 and the whole: groups replayed in processes, the folder that predict writes, the report."""

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from rayplay.formats.dataset.reader import Dataset, open_source, open_trace
from rayplay.formats.dataset.result import ResultWriter
from rayplay.formats.edit.filter import filter_trace
from rayplay.formats.edit.pixels import read_pixels
from rayplay.formats.guard.errors import UserError
from rayplay.formats.schema.prediction import PREDICTION
from rayplay.formats.testing.generate import make_trace
from rayplay.replay.gpu.description import Gpu
from rayplay.replay.gpu.description import load as load_gpu
from rayplay.zatel.paper.document import read_prediction
from rayplay.zatel.paper.options import Options
from rayplay.zatel.paper.predict import predict
from rayplay.zatel.paper.report import table_text, write_overview
from rayplay.zatel.paper.write import describe, publish, warnings_of
from rayplay.zatel.replays.metrics import RULES, combine, extrapolate
from rayplay.zatel.replays.simulate import simulate_all, simulate_group

WIDTH, HEIGHT = 128, 24


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_trace(tmp_path_factory.mktemp("predict") / "small.trace", 2, (WIDTH, HEIGHT), 0)


@pytest.fixture(scope="module")
def prediction(trace: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that predict writes with two processes."""
    out = tmp_path_factory.mktemp("prediction") / "small.prediction"
    publish(trace, "mobile", out, options=Options(fraction=0.25, seed=3), workers=2)
    return out


def picture(path: Path) -> np.ndarray:
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"))


def one_part(name: str) -> Gpu:
    """A GPU that cannot be divided: one SM, one memory partition."""
    gpu = load_gpu(name)
    count = gpu.memory.count
    one = dataclasses.replace(gpu.memory, count=1)
    l2 = dataclasses.replace(gpu.l2, bytes=gpu.l2.bytes // count)
    return dataclasses.replace(gpu, sm=dataclasses.replace(gpu.sm, count=1), memory=one, l2=l2)


def test_all_pixels_on_an_undivided_gpu_are_the_full_replay(trace: Path, tmp_path: Path) -> None:
    gpu = one_part("mobile")
    found = predict(open_trace(trace), gpu, Options(fraction=1.0))
    assert found.metrics == simulate_group(trace, gpu).metrics
    assert found.metrics["gpu_cycles"] > 0


def test_a_prediction_is_its_steps_done_one_by_one_with_files(trace: Path, prediction: Path, tmp_path: Path) -> None:
    gpu = load_gpu("mobile").scaled(4)
    groups = []
    for group in range(4):
        selected = read_pixels(prediction / f"group-{group}.pixels", (WIDTH, HEIGHT))
        filter_trace(trace, selected, tmp_path / "part.trace")
        fraction = selected.sum() / (WIDTH * HEIGHT / 4)
        groups.append(extrapolate(simulate_group(tmp_path / "part.trace", gpu).metrics, fraction))
    predicted = {name: metric["predicted"] for name, metric in read_prediction(prediction)["metrics"].items()}
    assert predicted == combine(groups)


def test_the_number_of_processes_changes_no_byte(trace: Path, prediction: Path, tmp_path: Path) -> None:
    publish(trace, "mobile", tmp_path / "one.prediction", options=Options(fraction=0.25, seed=3), workers=1)
    names = sorted(path.name for path in prediction.iterdir())
    assert names == sorted(path.name for path in (tmp_path / "one.prediction").iterdir())
    for name in set(names) - {"host.json"}:
        assert (prediction / name).read_bytes() == (tmp_path / "one.prediction" / name).read_bytes(), name


def test_the_folder_holds_tables_pictures_and_filter_files(prediction: Path) -> None:
    tables = Dataset(open_source(prediction, PREDICTION), PREDICTION)
    assert tables.read("metrics")["metric"].tolist() == list(RULES)
    assert np.isnan(tables.read("metrics")["full"]).all()
    pixels = tables.read("pixels")
    selected = np.zeros((HEIGHT, WIDTH), bool)
    for group in range(4):
        chosen = read_pixels(prediction / f"group-{group}.pixels", (WIDTH, HEIGHT))
        assert (pixels["group"].reshape(HEIGHT, WIDTH)[chosen] == group).all()
        selected |= chosen
    np.testing.assert_array_equal(pixels["selected"].reshape(HEIGHT, WIDTH), selected)
    groups = tables.read("groups")
    assert groups["selected"].sum() == len(RULES) * selected.sum()
    np.testing.assert_allclose(groups["fraction"], 0.25)
    for name in ("picture", "heatmap", "quantised", "groups", "selected"):
        assert picture(prediction / f"{name}.png").shape == (HEIGHT, WIDTH, 3)
    assert not (prediction / "groups").exists()


def write_result(path: Path, values: dict[str, float | None], provenance: dict[str, Any] | None = None) -> Path:
    """A result that holds these metrics."""
    with ResultWriter(path, provenance) as writer:
        writer.summary({n: {"value": v, "unit": "1", "kind": "mean", "definition": "-"} for n, v in values.items()})
        writer.host({"replay_wall_seconds": 100.0})
    return path


def test_predicted_full_and_error_stand_beside_each_other(trace: Path, prediction: Path, tmp_path: Path) -> None:
    before = {name: metric["predicted"] for name, metric in read_prediction(prediction)["metrics"].items()}
    full = {name: value and 2 * value for name, value in before.items()}
    made = {"trace": trace.name, "gpu": dataclasses.asdict(load_gpu("mobile"))}
    result = write_result(tmp_path / "full.result", full, made)
    shown = publish(trace, "mobile", tmp_path / "p.prediction", against=result, options=Options(fraction=0.25, seed=3))
    document = read_prediction(tmp_path / "p.prediction")
    for name, metric in document["metrics"].items():
        assert (metric["predicted"], metric["full"]) == (before[name], full[name])
        assert metric["error"] == (0.5 if full[name] else None if full[name] is None else 0.0)
    assert document["mean_absolute_error"] > 0
    assert "50.0 %" in shown
    assert "full replay 100.0 s" in shown


def test_a_result_without_the_metrics_is_refused(trace: Path, tmp_path: Path) -> None:
    result = write_result(tmp_path / "other.result", {"gpu_ipc": 1.0})
    with pytest.raises(UserError, match=r"summary\.json must hold bandwidth_utilisation, dram_efficiency"):
        publish(trace, "mobile", tmp_path / "p.prediction", against=result)
    assert not (tmp_path / "p.prediction").exists()


def test_an_image_with_fewer_chunks_than_groups_is_refused(tmp_path: Path) -> None:
    trace = make_trace(tmp_path / "tiny.trace", 1, (32, 4), 0)
    with pytest.raises(UserError, match=r"32x4 pixels must make at least 4 chunks of 32x2"):
        predict(open_trace(trace), load_gpu("mobile"), Options())


@pytest.mark.parametrize(
    ("provenance", "message"),
    [
        ({"trace": "other.trace"}, r"must be the replay of small\.trace, but is of other\.trace"),
        ({"gpu": {"name": "rtx2060"}}, "must be the replay on the GPU mobile as given, but is on rtx2060"),
    ],
)
def test_a_result_of_something_else_is_refused(
    trace: Path, tmp_path: Path, provenance: dict[str, Any], message: str
) -> None:
    result = write_result(tmp_path / "other.result", dict.fromkeys(RULES, 1.0), provenance)
    with pytest.raises(UserError, match=message):
        publish(trace, "mobile", tmp_path / "p.prediction", against=result)


class Fatal:
    """End the process that unpickles it."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os._exit, (3,)


def test_a_process_that_dies_is_one_clear_error(trace: Path) -> None:
    with pytest.raises(UserError, match="a process that replayed a group died"):
        simulate_all([(trace, Fatal())] * 2, workers=2)


def test_an_error_in_a_process_is_the_users_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none\.trace: must be a rayplay trace"):
        simulate_all([(tmp_path / "none.trace", load_gpu("mobile"))])


def test_the_report_shows_a_line_per_metric_and_draws_a_picture(prediction: Path, tmp_path: Path) -> None:
    lines = table_text(read_prediction(prediction)).splitlines()
    assert [line[:30].strip() for line in lines[1:8]] == [rule.title for rule in RULES.values()]
    write_overview(prediction, tmp_path / "overview.png")
    assert (tmp_path / "overview.png").read_bytes() == (prediction / "overview.png").read_bytes()
    pixels = picture(tmp_path / "overview.png")
    assert pixels.shape[1] > pixels.shape[0] > 500
    assert len(np.unique(pixels.reshape(-1, 3), axis=0)) > 100


def test_a_damaged_prediction_is_refused(prediction: Path, tmp_path: Path) -> None:
    content = json.loads((prediction / "prediction.json").read_text())
    del content["metrics"]["gpu_ipc"]
    (tmp_path / "prediction.json").write_text(json.dumps(content))
    with pytest.raises(UserError, match=r"must hold the metrics gpu_ipc, .*, found gpu_cycles"):
        read_prediction(tmp_path)
    (tmp_path / "prediction.json").write_text("{")
    with pytest.raises(UserError, match="must be JSON"):
        read_prediction(tmp_path)


def test_groups_that_replay_nothing_are_a_warning_and_shown(
    trace: Path, prediction: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = Options(fraction=0.25, seed=3, departures=frozenset({"lost-tail"}))
    shown = publish(trace, "mobile", tmp_path / "p.prediction", options=options, workers=1)
    assert (
        "pixels replayed of each group: 0.0 0.0 0.0 0.0 %, where the extrapolation counts 25.0 25.0 25.0 25.0 %"
        in shown
    )
    warned = capsys.readouterr().err.splitlines()
    assert [line for line in warned if line.startswith("zatel: warning: ")] == [
        "zatel: warning: 4 of 4 selections replay less than 10% of the pixels they count, 4 of them no pixel: the rule"
        " lost-tail drops the last 8 KiB of each list; the metrics say little, take a larger image or fraction"
    ]
    assert warnings_of(read_prediction(prediction)) == []
    assert "each group: 25.0 25.0 25.0 25.0 %\n" in describe(read_prediction(prediction), {"seconds": {}})
