"""A result as one picture: cycle stack of each launch and each SM, timeline, utilisation, roofline."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rayplay.formats.dataset.result import Result
from rayplay.formats.guard.errors import UserError
from rayplay.formats.place.publish import atomic_file
from rayplay.replay.unit import cycle_stack as stack
from rayplay.replay.verdict import shares, unit_shares

SUFFIXES = (".png", ".svg")
TABLES = ("stack", "utilisation", "roofline", "kernels", "timeline")
COLOURS = {
    "issue": "#2ca25f", "data": "#9ecae1", "unit": "#3182bd", "lsu": "#756bb1", "rt_unit": "#e6550d",
    "memory": "#fdae6b", "barrier": "#c51b8a", "fetch": "#a1d99b", "idle": "#e0e0e0",
}  # fmt: skip
MOST_INTERVALS = 600  # of the timeline, several of which are drawn as one where there are more
MOST_LAUNCHES = 12  # bars of the longest launches
LABELLED = 0.06  # share of a bar from which a piece says its percentage
LEVEL_COLOURS = {"l1": "#2ca25f", "l2": "#3182bd", "dram": "#e6550d"}


def check_picture(path: Path) -> None:
    """``UserError`` when a picture of this name cannot be drawn."""
    if path.suffix not in SUFFIXES:
        raise UserError(f"--picture {path}: must end in {' or '.join(SUFFIXES)}")


def write_picture(result: Result, path: Path) -> None:
    """Draw a result; the file's suffix says whether as PNG or as SVG. ``UserError`` where the result lacks a table."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    check_picture(path)
    if missing := [table for table in TABLES if table not in result.tables]:
        raise UserError(f"{result.path}: has no table {missing[0]}, so it cannot be drawn; replay the trace again")
    with pyplot.rc_context({"svg.hashsalt": "rayplay", "font.size": 9}):
        figure = pyplot.figure(figsize=(14, 10.5), layout="constrained")
        panels = figure.subplot_mosaic(
            [["launches", "units"], ["time", "time"], ["sms", "roof"]],
            width_ratios=[1.35, 1],
            height_ratios=[1, 1, 1.15],
        )
        draw_launches(panels["launches"], result)
        draw_units(panels["units"], result)
        draw_time(panels["time"], result)
        draw_sms(panels["sms"], result)
        draw_roofline(panels["roof"], result)
        figure.suptitle(title(result), fontsize=12)
        with atomic_file(path) as partial:
            kind = path.suffix[1:]
            stamp = {"Software": None} if kind == "png" else {"Date": None, "Creator": None}
            figure.savefig(partial, dpi=110, format=kind, metadata=stamp)
        pyplot.close(figure)


def title(result: Result) -> str:
    """The result's name and its most looked-at metrics."""
    summary = result.summary
    how = result.manifest.provenance
    gpu = how["gpu"]["name"] if isinstance(how.get("gpu"), dict) else "a GPU"
    model = f", model {how['model']}" if how.get("model", "default") != "default" else ""
    cycles, ipc = summary["gpu_cycles"]["value"], summary["gpu_ipc"]["value"] or 0
    return f"{result.path.name} on {gpu}{model}: {cycles:,} cycles, IPC {ipc:,.4g}"


def draw_launches(axis: Any, result: Result) -> None:
    """One bar for everything and one for each of the longest launches."""
    kernel, slots = shares(result.read("stack"), "kernel_id")
    kernels = result.read("kernels")
    name = dict(zip(kernels["kernel_id"].tolist(), kernels["name"].tolist(), strict=True))
    most = MOST_LAUNCHES if len(kernel) > 1 else 0
    longest = np.sort(np.argsort(-slots.sum(axis=1), kind="stable")[:most])
    rows = [slots.sum(axis=0), *(slots[row] for row in longest)]
    labels = ["all", *(f"{kernel[row]} {name.get(int(kernel[row]), 'of no launch')[:24]}" for row in longest)]
    stacked_bars(axis, labels, np.array(rows, np.float64))
    axis.set_title("where the issue slots went" + (", the longest launches" if len(longest) < len(kernel) > 1 else ""))
    axis.legend(ncols=len(stack.REASONS), loc="upper center", bbox_to_anchor=(0.5, -0.06), frameon=False, fontsize=8,
                columnspacing=0.9, handlelength=1.0)  # fmt: skip


def stacked_bars(axis: Any, labels: Sequence[str], values: np.ndarray) -> None:
    """Horizontal bars, each cut by reason; ``values`` is float64[bars, len(REASONS)]."""
    share = values / np.maximum(values.sum(axis=1, keepdims=True), 1)
    left = np.zeros(len(labels))
    for index, reason in enumerate(stack.REASONS):
        bars = axis.barh(range(len(labels)), share[:, index], left=left, color=COLOURS[reason], label=reason)
        texts = [f"{100 * part:.0f} %" if part >= LABELLED else "" for part in share[:, index]]
        axis.bar_label(bars, labels=texts, label_type="center", fontsize=7)
        left += share[:, index]
    axis.set_yticks(range(len(labels)), labels, fontsize=8)
    axis.invert_yaxis()
    axis.set_xlim(0, 1)
    axis.set_xticks([])
    axis.spines[:].set_visible(False)


def draw_units(axis: Any, result: Result) -> None:
    """How much of each unit the whole replay used."""
    found = unit_shares(result.read("utilisation"), result.read("kernels"), result.summary["gpu_cycles"]["value"])
    units, share = list(found), list(found.values())
    bars = axis.barh(range(len(units)), share, color="#3182bd")
    labels = [f"{100 * value:.1f} %" if value >= 0.0005 or value == 0 else "< 0.1 %" for value in share]
    axis.bar_label(bars, labels=labels, fontsize=8, padding=2)
    axis.set_yticks(range(len(units)), units)
    axis.invert_yaxis()
    axis.set_xlim(0, max(1.0, *share) * 1.1)
    axis.set_xticks([])
    axis.set_title("utilisation")
    axis.spines[["top", "right", "bottom"]].set_visible(False)


def draw_time(axis: Any, result: Result) -> None:
    """The stack of every interval, and the instructions issued per cycle and SM over it."""
    table = result.read("timeline")
    mine = table["unit"] == "stack"
    start, slots = shares(
        {"start_cycle": table["start_cycle"][mine], "reason": table["counter"][mine], "slots": table["value"][mine]},
        "start_cycle",
    )
    group = np.unique(np.arange(len(start)) * MOST_INTERVALS // max(len(start), MOST_INTERVALS), return_index=True)[1]
    start, slots = start[group], np.add.reduceat(slots, group)  # no more than can be told apart
    end = np.append(start[1:], max(int(result.read("kernels")["end_cycle"].max()), int(start[-1]) + 1))
    share = slots / np.maximum(slots.sum(axis=1, keepdims=True), 1)
    edges = np.append(start, end[-1])
    axis.stackplot(
        edges, np.append(share, share[-1:], axis=0).T, step="post", colors=[COLOURS[r] for r in stack.REASONS]
    )
    axis.set_xlim(edges[0], edges[-1])
    axis.set_ylim(0, 1)
    axis.set_yticks([])
    axis.set_xlabel("cycle")
    axis.xaxis.set_major_formatter(lambda cycle, _: f"{cycle:,.0f}")
    issued = axis.twinx()
    schedulers = slots.sum(axis=1) / np.maximum(end - start, 1)
    per_sm = share[:, 0] * schedulers / len(np.unique(result.read("stack")["sm"]))
    issued.step(edges, np.append(per_sm, per_sm[-1]), where="post", color="black", linewidth=1)
    issued.set_ylabel("warp-instructions / cycle and SM")
    issued.set_ylim(0, None)
    axis.set_title("over time (line: instructions)")


def draw_sms(axis: Any, result: Result) -> None:
    """The stack of every SM over the whole replay."""
    sm, slots = shares(result.read("stack"), "sm")
    share = slots / np.maximum(slots.sum(axis=1, keepdims=True), 1)
    bottom = np.zeros(len(sm))
    for index, reason in enumerate(stack.REASONS):
        axis.bar(sm, share[:, index], bottom=bottom, width=0.9, color=COLOURS[reason])
        bottom += share[:, index]
    axis.set_title("each SM")
    axis.set_xlabel("SM")
    axis.set_yticks([])
    axis.set_ylim(0, 1)
    axis.set_xlim(sm[0] - 0.5, sm[-1] + 0.5)
    axis.spines[:].set_visible(False)


def draw_roofline(axis: Any, result: Result) -> None:
    """The roofs of the GPU, and where the whole replay lies under each."""
    table = result.read("roofline")
    intensity = np.logspace(-2, 4, 200)
    for level, colour in LEVEL_COLOURS.items():
        mine = table["level"] == level
        peak, most = table["peak_bytes_per_second"][mine][0], table["peak_instructions_per_second"][mine][0]
        axis.loglog(intensity, np.minimum(intensity * peak, most) / 1e9, color=colour, linewidth=1.2,
                    label=f"{level}: {peak / 1e9:,.0f} GB/s")  # fmt: skip
        moved, seconds = table["bytes"][mine].sum(), result.summary["seconds"]["value"]
        done = table["thread_instructions"][mine].sum()
        if moved and done:
            axis.loglog([done / moved], [done / seconds / 1e9], "o", color=colour)
    axis.set_xlabel("thread-instructions / byte")
    axis.set_ylabel("10⁹ thread-instructions / s")
    axis.set_title("roofline (points: this replay)")
    axis.legend(loc="lower right", fontsize=8)
    axis.grid(alpha=0.3, which="major")
