"""Forms of the figures: grouped bars, shares over time, lines; pictures side by side."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rayplay.zatel.study.draw import MARKERS, THEIRS, canvas, save

__all__ = ["MARKERS", "THEIRS", "bars", "canvas", "curves", "pictures", "save", "shares"]
MOST_COLUMNS = 4
FONT = {"fontsize": 8, "frameon": False}
SHADES = {
    "texture": "#2c7fb8",
    "graphics": "#7fcdbb",
    "raytracing": "#756bb1",
    "compute": "#fdae61",
    "invalid": "#eeeeee",
}


def bars(axis: Any, groups: Sequence[str], columns: Mapping[str, Sequence[float]], label: str) -> None:
    """Groups of bars, one bar of a group for each column; a missing value has no bar."""
    import matplotlib

    width = 0.8 / max(len(columns), 1)
    colours = matplotlib.colormaps["viridis"](np.linspace(0.25, 0.95, max(len(columns), 2)))
    for number, (name, heights) in enumerate(columns.items()):
        place = np.arange(len(groups)) + (number - (len(columns) - 1) / 2) * width
        axis.bar(place, np.nan_to_num(heights), width, color=colours[number], label=name)
    axis.set_xticks(range(len(groups)), groups, fontsize=8)
    axis.set_ylabel(label)
    axis.grid(alpha=0.3, axis="y")
    axis.margins(y=0.18)
    axis.legend(**FONT, ncols=3, loc="upper left")


def shares(axis: Any, cycles: Sequence[float], parts: Mapping[str, Sequence[float]], label: str) -> None:
    """Shares of a whole over time, stacked."""
    colours = [SHADES[name] for name in parts]
    axis.stackplot(np.asarray(cycles) / 1000, *parts.values(), labels=list(parts), colors=colours, step="post")
    axis.set_ylim(0, 1.2)  # room for the legend
    axis.set_yticks(np.linspace(0, 1, 6))
    axis.set_xlim(0, max(cycles, default=1) / 1000 or 1)
    axis.set_xlabel("thousand cycles")
    axis.set_ylabel(label)
    axis.legend(fontsize=8, ncols=3, loc="upper right", framealpha=0.8)


def curves(axis: Any, lines: Mapping[str, tuple[Sequence[float], Sequence[float]]], x: str, y: str) -> None:
    """A line for each name."""
    for (name, (places, heights)), marker in zip(lines.items(), MARKERS, strict=False):
        axis.plot(places, heights, marker=marker, markersize=4, linewidth=1.2, label=name)
    axis.set_xlabel(x)
    axis.set_ylabel(y)
    axis.grid(alpha=0.3)
    axis.legend(**FONT)


def pictures(files: Mapping[str, Path], path: Path) -> None:
    """Pictures with their names, four in a row at most."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import image, pyplot

    columns = min(len(files), MOST_COLUMNS)
    rows = -(-len(files) // columns)
    figure, axes = pyplot.subplots(
        rows, columns, figsize=(3.2 * columns, 2.1 * rows), layout="constrained", squeeze=False
    )
    for axis in axes.flat[len(files) :]:
        axis.set_axis_off()
    for axis, (name, file) in zip(axes.flat, files.items(), strict=False):
        axis.imshow(image.imread(file), interpolation="nearest")
        axis.set_title(name, fontsize=9)
        axis.set_axis_off()
    save(figure, path)
