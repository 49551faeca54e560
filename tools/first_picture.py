"""``python -m tools.first_picture RESULT WHATIF.json OUT.png``: the picture on the README's first screen.

Where the cycles of a replay went and when, beside the speed-ups that ``rayplay whatif --full --out WHATIF.json`` gives
for changes of the GPU, each with its noise floor and with the speed-up of full replays::

    rayplay trace bunny --size 256x256 --samples 2 --out bunny.trace
    rayplay replay bunny --gpu rtx2060 --out bunny.result
    rayplay whatif bunny --gpu rtx2060 --change 'rt.warps*2' --change 'l1.ways*2' --change 'l2.ways*2' \\
        --change 'memory.count*2' --change 'sm.count*2' --fraction 0.3 --full --out whatif.json
    python -m tools.first_picture bunny.result whatif.json docs/images/bunny.png
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

from rayplay.formats.dataset.result import Result, open_result
from rayplay.replay import picture
from rayplay.replay.unit.cycle_stack import REASONS
from rayplay.replay.verdict import shares

BARS = "#9ecae1"


def main(result: Path, comparison: Path, out: Path) -> None:
    """Draw the two halves side by side."""
    matplotlib.use("Agg")
    from matplotlib import pyplot

    with pyplot.rc_context({"font.size": 10}):
        figure = pyplot.figure(figsize=(14, 5.2), layout="constrained")
        panels = figure.subplot_mosaic(
            [["stack", "changes"], ["time", "changes"]], width_ratios=[1.7, 1], height_ratios=[0.32, 1]
        )
        draw_replay(panels["stack"], panels["time"], open_result(result))
        draw_changes(panels["changes"], json.loads(comparison.read_text()))
        figure.savefig(out, dpi=110, metadata={"Software": None})


def draw_replay(stack: Any, time: Any, result: Result) -> None:
    """The cycle stack of the whole replay above its timeline, in the same colours."""
    _, slots = shares(result.read("stack"), "kernel_id")
    picture.stacked_bars(stack, [""], slots.sum(axis=0, keepdims=True).astype(np.float64))
    stack.set_title(picture.title(result).replace(".result", "") + "\nissue slots by reason")
    picture.draw_time(time, result)
    time.legend(
        *stack.get_legend_handles_labels(), ncols=len(REASONS), loc="upper center",
        bbox_to_anchor=(0.5, -0.12), frameon=False, columnspacing=0.9, handlelength=1.0,
    )  # fmt: skip


def draw_changes(axis: Any, comparison: dict[str, Any]) -> None:
    """A bar per change: predicted speed-up with its noise floor, and a point for full replays."""
    designs = comparison["designs"]
    rows = np.arange(len(designs))
    change = np.array([each["predicted"]["gpu_cycles"] for each in designs])
    floor = comparison["noise_floor"]["gpu_cycles"]
    faster = speed_up(change)
    span = np.abs(np.array([speed_up(change + floor), speed_up(change - floor)]) - faster)
    axis.barh(rows, faster - 1, left=1, color=BARS, label="predicted from a sample")
    axis.errorbar(faster, rows, xerr=span, fmt="none", ecolor="black", capsize=4, label="its noise floor, 95 %")
    full = speed_up(np.array([each["full"]["gpu_cycles"] for each in designs]))
    axis.plot(full, rows, "D", color="#e6550d", label="full replays")
    axis.axvline(1, color="grey", linewidth=0.8)
    axis.set_yticks(rows, names([each["change"] for each in designs]))
    axis.invert_yaxis()
    axis.set_title("speed-up by a change of the GPU")
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(loc="upper center", bbox_to_anchor=(0.45, -0.06), ncols=3, frameon=False, columnspacing=1.0)


def speed_up(change: np.ndarray) -> np.ndarray:
    """Speed-up that a relative change of the cycles gives."""
    return 1 / (1 + change)


def names(changes: Sequence[str]) -> list[str]:
    """Changes in words."""
    from rayplay.zatel.changes.whatif import CHANGES

    words = {change: name for name, change in CHANGES.items()}
    return [words.get(change, change) for change in changes]


if __name__ == "__main__":
    main(*(Path(argument) for argument in sys.argv[1:4]))
