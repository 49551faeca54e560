"""Forms of the paper's figures: lines by scene, bars with least and most, grouped bars; pictures of the steps."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rayplay.formats.place.publish import atomic_file
from rayplay.zatel.paper.pictures import step_colours
from rayplay.zatel.replays.metrics import RULES
from rayplay.zatel.study.execute import SceneStudy
from rayplay.zatel.study.points import RTX
from rayplay.zatel.study.summaries import Spread

SHORT = dict(zip(RULES, ("IPC", "cycles", "L1D miss", "L2 miss", "RT eff.", "DRAM eff.", "BW util."), strict=True))
OURS, THEIRS = "#2c7fb8", "#e6550d"  # what the paper's text says is drawn in the second colour
MARKERS = "osD^vP*X<>"
PANELS = ("heatmap", "quantised", "groups, K = {}", "selected, 10 %")  # Figs. 4 to 9


def canvas(columns: int = 1, width: float = 6.5, height: float = 4.2) -> tuple[Any, list[Any]]:
    """A figure and its axes, side by side."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, columns, figsize=(width * columns, height), layout="constrained", squeeze=False)
    return figure, list(axes[0])


def save(figure: Any, path: Path) -> None:
    """Write a PNG, the same bytes for the same drawing."""
    from matplotlib import pyplot

    with atomic_file(path) as partial:
        figure.savefig(partial, dpi=100, format="png", metadata={"Software": None})
    pyplot.close(figure)


def lines(axis: Any, curves: Mapping[str, tuple[Sequence[float], Sequence[float]]], scale: float = 1.0) -> None:
    """One line for each scene over the percentage of pixels."""
    for (scene, (x, y)), marker in zip(curves.items(), MARKERS, strict=False):
        axis.plot(x, scale * np.asarray(y), marker=marker, markersize=4, linewidth=1.2, label=scene)
    axis.set_xlabel("pixels traced [%]")
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8, frameon=False)


def bars(axis: Any, groups: Sequence[str], series: Mapping[str, Sequence[Spread]]) -> None:
    """Groups of bars of mean errors in per cent, with lines from the least to the most."""
    width = 0.8 / max(len(series), 1)
    shades = np.linspace(0.25, 0.95, max(len(series), 2))
    import matplotlib

    colours = matplotlib.colormaps["viridis"](shades)
    for number, (name, spreads) in enumerate(series.items()):
        place = np.arange(len(groups)) + (number - (len(series) - 1) / 2) * width
        mean = 100 * np.array([one.mean for one in spreads])
        reach = 100 * np.array([[one.mean - one.least, one.most - one.mean] for one in spreads]).T
        drawn = {"yerr": np.nan_to_num(reach), "error_kw": {"elinewidth": 0.8, "capsize": 1.5}}
        axis.bar(place, np.nan_to_num(mean), width, color=colours[number], label=name, **drawn)
    axis.set_xticks(range(len(groups)), groups, fontsize=8)
    axis.set_ylabel("absolute error [%]")
    axis.grid(alpha=0.3, axis="y")
    axis.legend(fontsize=7, frameon=False, ncols=3)


def published(axis: Any, x: float, y: float, text: str) -> None:
    """Mark a value of the paper's text, with a label."""
    axis.plot([x], [y], marker="x", color=THEIRS, markersize=8, markeredgewidth=2, linestyle="none", zorder=5)
    axis.annotate(text, (x, y), textcoords="offset points", xytext=(6, 4), fontsize=7, color=THEIRS)


def draw_scenes(studies: Sequence[SceneStudy], path: Path) -> None:
    """Draw a row of pictures for each scene, with RTX 2060's groups and their representative tenth of the pixels."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(
        len(studies), len(PANELS), figsize=(9, 2.3 * len(studies)), layout="constrained", squeeze=False
    )
    for row, study in zip(axes, studies, strict=True):
        for axis, title, picture in zip(row, PANELS, step_colours(study.work, study.tenth(RTX)).values(), strict=True):
            axis.imshow(picture, interpolation="nearest")
            axis.set_xticks([])
            axis.set_yticks([])
            axis.set_title(title.format(study.tenth(RTX).groups.max() + 1), fontsize=8)
        row[0].set_ylabel(study.scene)
    save(figure, path)
