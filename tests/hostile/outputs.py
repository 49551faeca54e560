"""Hostile files that Rayplay itself writes and reads back: predictions, studies, pictures, results' times."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from rayplay.formats.dataset.writer import FolderWriter
from rayplay.formats.schema.prediction import PREDICTION
from rayplay.formats.schema.study import STUDY
from rayplay.zatel.paper.options import Options
from rayplay.zatel.replays.metrics import RULES
from rayplay.zatel.study.command import prediction_columns, time_columns
from rayplay.zatel.study.execute import Row
from rayplay.zatel.study.points import Point
from tests.hostile.scenes import png
from tests.hostile.verbs import Case

OPTIONS: dict[str, Any] = {
    "heatmap": "work", "colours": 5, "factor": None, "division": "fine", "block": [32, 2], "fraction": 0.2,
    "bounds": [0.3, 0.6], "distribution": "uniform", "extrapolation": "linear", "fractions": [0.2, 0.3, 0.4],
    "combination": {}, "departures": [], "seed": 1,
}  # fmt: skip
GROUP = {"group": 0, "pixels": 10, "selected": 2, "fraction": 0.2, "simulated": dict.fromkeys(RULES, 1.0)}
DOCUMENT: dict[str, Any] = {
    "trace": "a.trace", "gpu": "mobile", **OPTIONS, "scaled_gpu": {"SMs": 8},
    "metrics": {name: {"title": name, "predicted": 1.0} for name in RULES}, "mean_absolute_error": None,
    "groups": [GROUP],
}  # fmt: skip
REQUEST = {
    "command": "zatel paper",
    "size": "8x8",
    "studies": ["tuning"],
    "tuning_seeds": 1,
    "versions": {"engine": "1"},
}
REPORT = frozenset({"report"})
JOIN = frozenset({"join"})


def prediction(content: str, pictures: dict[str, bytes] | None = None) -> Callable[[Path], object]:
    """Write a prediction with this text as ``prediction.json``, and its digest."""

    def make(folder: Path) -> None:
        with FolderWriter(folder / "a.prediction", PREDICTION, {}) as writer:
            for table in PREDICTION.tables:
                writer.declare(table.name)
            (writer.folder / "prediction.json").write_text(content)
            for name, data in (pictures or {}).items():
                (writer.folder / name).write_bytes(data)

    return make


def said(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], object]:
    """Write a prediction whose document ``change`` has changed."""
    document = json.loads(json.dumps(DOCUMENT))
    change(document)
    return prediction(json.dumps(document))


def metric(value: Any) -> Callable[[Path], object]:
    """Write a prediction one of whose metrics has this value."""
    return said(lambda document: document["metrics"]["gpu_cycles"].update(predicted=value))


def study(request: Any, picture: bytes | None = None, block: str = "32x2") -> Callable[[Path], object]:
    """Write a study of one prediction, made as ``request`` says."""
    options = Options(fraction=0.2)
    row = Row("park", Point("tuning", "rtx2060", options), 0.5, 1, 0.2, *2 * (dict.fromkeys(RULES, 1.0),), (2, 1, 8))

    def make(folder: Path) -> None:
        with FolderWriter(folder / "study", STUDY, request) as writer:
            columns = prediction_columns([row])
            writer.put("predictions", columns | {"block": np.full(len(RULES), block, object)})
            writer.put("times", time_columns([row]))
            if picture is not None:
                (writer.folder / "scenes.png").write_bytes(picture)

    return make


def heatmap(content: bytes) -> Callable[[Path], object]:
    """Write a picture that the heat of a trace is taken from."""
    return lambda folder: (folder / "a.png").write_bytes(content)


def refused(name: str, make: Callable[[Path], object], says: str) -> Case:
    """A prediction that its report must refuse."""
    return Case(name, "prediction", make, f"prediction.json: {says}", verbs=REPORT)


CASES = (
    refused("no prediction.json", lambda folder: (prediction("")(folder),
         (folder / "a.prediction/prediction.json").unlink()),
            "no such prediction"),
    refused("empty prediction.json", prediction(""), "must be JSON"),
    refused("prediction of 5 MB", prediction(" " * 5_000_000), ".*--limit text-bytes"),
    refused("prediction nested 10^6 deep", prediction("[" * 10**6), "must be JSON"),
    refused("prediction of a list", prediction("[]"), "must be a table"),
    refused("prediction of null", prediction("null"), "must be a table"),
    refused("unknown key of a prediction", said(lambda d: d.update(more=1)), "unknown name 'more'"),
    refused("missing key of a prediction", said(lambda d: d.pop("groups")), "needs the key 'groups'"),
    refused("NaN predicted", prediction(json.dumps(DOCUMENT).replace("1.0", "NaN", 1)), "must be JSON: .*NaN"),
    refused("text predicted", metric("many"), "metrics.gpu_cycles.predicted: must be a number"),
    refused("list predicted", metric([1]), "metrics.gpu_cycles.predicted: must be a number"),
    refused("true predicted", metric(True), "metrics.gpu_cycles.predicted: must be a number"),
    refused("-1 predicted", metric(-1), "metrics.gpu_cycles.predicted must not be negative"),
    refused("a number of 5,000 digits predicted", prediction(json.dumps(DOCUMENT).replace("1.0", "9" * 5000, 1)),
            "must be JSON"),
    refused("metrics of a list", said(lambda d: d.update(metrics=[])), "metrics: must be a table"),
    refused("groups of none", said(lambda d: d.update(groups=[])), "groups must be at least one"),
    refused("group of text", said(lambda d: d.update(groups=["x"])), r"groups\[0\]: must be a table"),
    refused("more pixels selected than there are", said(lambda d: d["groups"][0].update(selected=11)),
         ".*selected must be"),
    refused("fraction of 2", said(lambda d: d["groups"][0].update(fraction=2)),
         r"groups\[0\].fraction: must be from 0"),
    refused("group -1", said(lambda d: d["groups"][0].update(group=-1)), ".*must not be negative"),
    refused("block of one number", said(lambda d: d.update(block=[1])), "block and bounds must be two"),
    refused("unknown division", said(lambda d: d.update(division="x")), ".*unknown name 'x'"),
    Case("picture of 65535 x 65535 in a prediction", "prediction",
         prediction(json.dumps(DOCUMENT), {"picture.png": png(65535, 65535)}), "picture.png.*--limit image-pixels",
         verbs=REPORT),
    Case("text as a picture of a prediction", "prediction",
         prediction(json.dumps(DOCUMENT), {"picture.png": b"text"}), "picture.png: must be a picture", verbs=REPORT),
    Case("no request of a study", "study", study({}), "provenance: needs the key 'command'", verbs=JOIN),
    Case("number as studies", "study", study(REQUEST | {"studies": 1}), "provenance.studies: must be a list",
         verbs=JOIN),
    Case("text as seeds", "study", study(REQUEST | {"tuning_seeds": "x"}), "tuning_seeds: must be a whole", verbs=JOIN),
    Case("list as versions", "study", study(REQUEST | {"versions": []}), "versions: must be a table", verbs=JOIN),
    Case("block of 2^64 in a study", "study", study(REQUEST, block=f"{1 << 64}x0"), "must be at least 1", verbs=JOIN),
    Case("text as a block of a study", "study", study(REQUEST, block="x" * 60_000), "predictions, row 0", verbs=JOIN),
    Case("heatmap of 65535 x 65535", "heatmap", heatmap(png(65535, 65535)), "--heatmap a.png: .*--limit image-pixels"),
    Case("heatmap of 4096 x 4096", "heatmap", heatmap(png(4096, 4096, 4096)), "must be of the image's 40x6 pixels"),
    Case("heatmap cut in its middle", "heatmap", heatmap(png(40, 6, 6)[:45]), "--heatmap a.png: must be a picture"),
    Case("heatmap of text", "heatmap", heatmap(b"text"), "--heatmap a.png: must be a picture"),
)  # fmt: skip
