"""Frames of a closed loop: rows of a table, their summary, and a picture (Ganestam and Doggett, Figures 5 and 8)."""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from rayplay.formats.place.publish import atomic_file
from rayplay.tracer.scenes.description import Camera
from rayplay.tuner.loop import Known, Loop

Row = dict[str, Any]
SETTLED = 5
"""Frames after which the worst one counts."""


def run_controllers(
    loop: Loop, cameras: Sequence[Camera], controllers: Sequence[str], known: Known | None = None
) -> list[Row]:
    """A row for each frame under each controller; ``known`` as of ``Loop.run``."""
    rows = []
    with tqdm(total=len(cameras) * len(controllers), unit="frame", disable=None) as progress:
        for controller in dict.fromkeys(controllers):
            for frame in loop.run(cameras, controller, known):
                rows.append({"controller": controller} | asdict(frame))
                progress.update()
    return rows


def table_text(rows: Sequence[Row], target_ms: float) -> Iterator[str]:
    """A line for each controller: distances from the target, and the error of the prediction."""
    yield f"{'controller':<14}{'from target':>13}{'worst':>9}{'settled':>9}{'prediction':>12}{'values':>16}"
    for controller in dict.fromkeys(row["controller"] for row in rows):
        own = [row for row in rows if row["controller"] == controller]
        measured, predicted, values = (
            np.array([row[key] for row in own]) for key in ("measured_ms", "predicted_ms", "value")
        )
        away, error = np.abs(measured / target_ms - 1), np.abs(predicted / measured - 1)
        settled = f"{100 * away[SETTLED:].max():.1f} %" if len(away) > SETTLED else "-"
        yield (
            f"{controller:<14}{100 * away.mean():>11.1f} %{100 * away.max():>7.1f} %{settled:>9}"
            f"{100 * error.mean():>10.1f} %{f'{values.min():g} to {values.max():g}':>16}"
        )


def write_rows(path: Path, rows: Sequence[Row], target_ms: float) -> None:
    """Write ``path`` as CSV and a picture with its name beside it."""
    with atomic_file(path) as partial, partial.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    draw(rows, target_ms, path.with_suffix(".png"))


def draw(rows: Sequence[Row], target_ms: float, path: Path) -> None:
    """Draw the time of each frame beside the target, and the values that were chosen."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (times, values) = pyplot.subplots(1, 2, figsize=(11, 4), layout="constrained")
    for controller in dict.fromkeys(row["controller"] for row in rows):
        own = [row for row in rows if row["controller"] == controller]
        frames = [row["number"] for row in own]
        (line,) = times.plot(frames, [row["measured_ms"] for row in own], marker="o", markersize=3, label=controller)
        times.plot(frames, [row["predicted_ms"] for row in own], linestyle=":", color=line.get_color())
        values.plot(frames, [row["value"] for row in own], marker="o", markersize=3, label=controller)
    times.axhline(target_ms, color="black", linewidth=0.8, label="target")
    times.set(xlabel="frame", ylabel="time [ms]; dotted: predicted", ylim=(0, None))
    knobs = " or ".join(dict.fromkeys(row["knob"].replace("_", " ") for row in rows))
    values.set(xlabel="frame", ylabel=knobs, ylim=(0, None))
    for axis in (times, values):
        axis.grid(alpha=0.3)
        axis.legend(fontsize=8, frameon=False)
    with atomic_file(path) as partial:
        figure.savefig(partial, dpi=100, format="png", metadata={"Software": None})
    pyplot.close(figure)
