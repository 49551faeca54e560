"""The table of an animation's frames as CSV, and its film strip: some of the pictures above the time of each frame."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rayplay.animation.measure import Row
from rayplay.formats.place.publish import atomic_file

MOST_PICTURES = 8
SHOWN = {"ms": "time of a frame [ms]", "look_ms": "time by the paper's model [ms]", "rays": "rays of a frame"}
"""Columns of which the first one that is there is drawn, and their names in the picture."""


def write_table(path: Path, rows: Sequence[Row]) -> None:
    """A line a frame."""
    with atomic_file(path) as partial, partial.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def chosen_frames(frames: int) -> list[int]:
    """Frames whose pictures are shown: the first, the last, and as many between."""
    return sorted({round(number) for number in np.linspace(0, frames - 1, min(frames, MOST_PICTURES)).tolist()})


def draw_strip(path: Path, rows: Sequence[Row], pictures: Sequence[Path], title: str) -> None:
    """Draw the pictures of ``chosen_frames``, if there are any, and the time of each frame where it is known, else its
    rays."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure = pyplot.figure(figsize=(12, 4.2 if pictures else 2.6), layout="constrained")
    if pictures:
        chosen = chosen_frames(len(rows))
        above, below = figure.subfigures(2, 1, squeeze=False, height_ratios=(1, 1.6))[:, 0]
        for place, number in zip(above.subplots(1, len(chosen), squeeze=False)[0], chosen, strict=True):
            place.imshow(pyplot.imread(pictures[number]))
            place.set_title(f"frame {number}", fontsize=8)
            place.axis("off")
    name, label = next((name, label) for name, label in SHOWN.items() if name in rows[0])
    axis: Any = (below if pictures else figure).subplots()
    frames = [row["frame"] for row in rows]
    axis.plot(frames, [row[name] for row in rows], marker="o", markersize=3, color="tab:blue")
    if "ms_low" in rows[0]:
        ends = [[np.nan if row[f"ms_{end}"] is None else row[f"ms_{end}"] for row in rows] for end in ("low", "high")]
        axis.fill_between(frames, *ends, alpha=0.25, linewidth=0, label="95 % interval")
        axis.legend(fontsize=8, frameon=False)
    axis.set(xlabel="frame", ylabel=label, ylim=(0, None))
    axis.set_title(title, fontsize=9)
    axis.grid(alpha=0.3)
    with atomic_file(path) as partial:
        figure.savefig(partial, dpi=100, format="png", metadata={"Software": None})
    pyplot.close(figure)
