"""Table and overview picture of a prediction, beside the full simulation."""

from pathlib import Path
from typing import Any

import numpy as np

from rayplay.formats.guard.limits import IMAGE_PIXELS
from rayplay.formats.guard.pictures import open_picture
from rayplay.formats.place.publish import atomic_file
from rayplay.zatel.paper.document import read_prediction
from rayplay.zatel.replays.metrics import RULES, number_text

PANELS = (
    ("picture.png", "what was traced"),
    ("heatmap.png", "1  work per pixel"),
    ("quantised.png", "2  quantised"),
    ("groups.png", "4  groups"),
    ("selected.png", "5  selected pixels"),
)
PREDICTED_COLOUR = "#2c7fb8"
FULL_COLOUR = "#f28e2b"


def table_text(prediction: dict[str, Any]) -> str:
    """The seven metrics, one per line: predicted, and full and error where the full simulation is known."""
    lines = [f"{'metric':<30}{'predicted':>14}{'full':>14}{'error':>9}"]
    for name, rule in RULES.items():
        metric = prediction["metrics"][name]
        error = metric.get("error")
        shown = "-" if error is None else f"{100 * error:.1f} %"
        lines.append(
            f"{rule.title:<30}{number_text(metric['predicted']):>14}{number_text(metric.get('full')):>14}{shown:>9}"
        )
    if (mean := prediction.get("mean_absolute_error")) is not None:
        lines.append(f"{'mean absolute error':<58}{100 * mean:>7.1f} %")
    return "\n".join(lines)


def write_overview(folder: Path, path: Path) -> None:
    """One PNG of a prediction folder: picture, heatmap, quantised heatmap, selected pixels, and the metrics as bars."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    prediction = read_prediction(folder)
    panels = [(name, title) for name, title in PANELS if (folder / name).exists()]
    figure = pyplot.figure(figsize=(13, 7.2), layout="constrained")
    upper, lower = np.asarray(figure.subfigures(2, 1))
    for axis, (name, title) in zip(np.atleast_1d(upper.subplots(1, len(panels))), panels, strict=True):
        with open_picture(folder / name, folder / name, ("PNG",), IMAGE_PIXELS) as image:
            axis.imshow(np.asarray(image), interpolation="nearest")
        axis.set_title(title, fontsize=10)
        axis.set_axis_off()
    _draw_bars(lower.subplots(1, len(RULES)), prediction["metrics"])
    figure.suptitle(_title(prediction), fontsize=11)
    with atomic_file(path) as partial:
        figure.savefig(partial, dpi=110, format="png", metadata={"Software": None})
    pyplot.close(figure)


def _title(prediction: dict[str, Any]) -> str:
    shares = [group["fraction"] for group in prediction["groups"]]
    count = 1 + max(group["group"] for group in prediction["groups"])
    title = f"{prediction['trace']} on {prediction['gpu']}: K = {count}, "
    title += f"{100 * sum(shares) / len(shares):.1f} % of the pixels of each group simulated"
    mean = prediction.get("mean_absolute_error")
    return title if mean is None else f"{title}, mean absolute error {100 * mean:.1f} %"


def _draw_bars(axes: np.ndarray, metrics: dict[str, Any]) -> None:
    """One small chart per metric: its units differ, so each has its own scale."""
    for axis, (name, rule) in zip(axes, RULES.items(), strict=True):
        metric = metrics[name]
        bars = [("predicted", metric["predicted"], PREDICTED_COLOUR), ("full", metric.get("full"), FULL_COLOUR)]
        bars = [bar for bar in bars if bar[1] is not None]
        drawn = axis.bar([bar[0] for bar in bars], [bar[1] for bar in bars], color=[bar[2] for bar in bars])
        axis.bar_label(drawn, labels=[number_text(bar[1]) for bar in bars], fontsize=8, padding=2)
        error = metric.get("error")
        axis.set_title(_wrapped(rule.title) + ("" if error is None else f"\nerror {100 * error:.1f} %"), fontsize=9)
        axis.set_yticks([])
        axis.margins(y=0.2)
        axis.spines[["top", "right", "left"]].set_visible(False)


def _wrapped(title: str) -> str:
    words = title.split()
    middle = (len(words) + 1) // 2
    return " ".join(words[:middle]) + "\n" + " ".join(words[middle:])
