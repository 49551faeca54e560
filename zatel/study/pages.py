"""Pages of the study: the tables of the figures, Table III, and the paper's findings beside this study's."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from rayplay.zatel.replays.metrics import RULES
from rayplay.zatel.study import published, summaries
from rayplay.zatel.study.draw import SHORT
from rayplay.zatel.study.execute import Row
from rayplay.zatel.study.findings import Finding, percent
from rayplay.zatel.study.points import GPUS, RTX
from rayplay.zatel.study.summaries import at, error, of, spread

Rows = Sequence[Row]
VERDICTS = {True: "holds", False: "**does not hold**", None: "too few scenes to say"}
METRIC_NAMES = list(SHORT.values())


def comparison_page(found: Sequence[Finding], rows: Rows, figures: Sequence[str], request: dict[str, Any]) -> str:
    """README.md of the study: provenance, findings and figures."""
    held = sum(finding.holds is True for finding in found)
    head = [
        "# Zatel's evaluation, on this simulator",
        "",
        f"Scenes {', '.join(summaries.names(rows))}; path tracing of {request['size']} pixels. {len(rows)} predictions",
        f"of seven metrics each ({', '.join(request['studies'])}), with seed 1; Table III with seeds 1 to",
        f"{request['tuning_seeds']}. Errors are |predicted - full replay| / full replay of the same trace.",
        "",
        *(f"`{command}`\n" for command in (request["command"], *request.get("parts", []))),
        ", ".join(f"{name} {version}" for name, version in request["versions"].items()),
        "",
        f"## What the paper finds, here: {held} of {len(found)} hold",
        "",
        *table(["the paper", "here", "figures"], [[one.paper, VERDICTS[one.holds], one.here] for one in found]),
        "",
        "The numbers behind the figures: [tables.md](tables.md). Every prediction: `predictions-*.parquet`.",
        "",
    ]
    return "\n".join([*head, *(f"![{name}]({name})\n" for name in figures)])


def tables_page(rows: Rows, subset: Sequence[str]) -> str:
    """The numbers of the figures as Markdown tables."""
    pages: dict[str, Callable[[Rows], list[str]]] = {
        "whole": _whole,
        "fractions": _fractions,
        "downscaling": partial(_downscaling, subset=subset),
        "regression": _regression,
        "tuning": _tuning,
    }
    parts = [line for study, page in pages.items() if of(rows, study) for line in page(rows)]
    head = ["# The numbers behind the figures", "", "Absolute errors in per cent unless a column says otherwise.", ""]
    return "\n".join([*head, *parts])


def table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> list[str]:
    """A Markdown table."""
    return ["| " + " | ".join(words) + " |" for words in (head, ["---"] * len(head), *lines)]


def _number(value: float) -> str:
    return "-" if np.isnan(value) else f"{100 * value:.1f}"


def _errors(row: Row) -> list[str]:
    errors = [error(row, metric) for metric in RULES]
    return [_number(abs(value)) for value in [*errors, spread(errors).mean]]


def _whole(rows: Rows) -> list[str]:
    lines = []
    for row in of(rows, "whole"):
        asked = row.point.options.fraction
        name = "eq. (1)" if asked is None else f"{100 * asked:.0f} %"
        times = [f"{summaries.speedup(row):.1f}", f"{summaries.parallel_speedup(row):.1f}"]
        lines.append(
            [row.scene, row.point.gpu, str(row.factor), name, f"{100 * row.fraction:.1f}", *_errors(row), *times]
        )
    head = ["scene", "GPU", "K", "asked", "replayed %", *METRIC_NAMES, "mean", "speed-up, one core"]
    head.append("speed-up, longest group")
    paper = "The paper, PARK with equation (1): mean 4.5 and 15.1, cycles 0.7 on Mobile, speed-up 9.2 and 11.6; "
    paper += "with 10 % on Mobile: mean 5.2, speed-up 50."
    return ["## Figures 10 and 11: everything together", "", *table(head, lines), "", paper, ""]


def _fractions(rows: Rows) -> list[str]:
    parts = ["## Figures 13 to 16: a part of the pixels, K = 1", ""]
    for gpu in GPUS:
        mine = of(rows, "fractions", gpu)
        scale = summaries.percentages(mine)
        cycles = summaries.curves(mine, lambda row: abs(error(row, "gpu_cycles")))
        times = summaries.curves(mine, summaries.speedup)
        head = ["scene", *(f"{one:.0f} %" for one in scale)]
        parts += [f"Cycles on {gpu}; in brackets the speed-up.", ""]
        lines = []
        for scene in cycles:
            pairs = zip(cycles[scene][1], times[scene][1], strict=True)
            lines.append([scene, *(f"{_number(one)} ({fast:.1f})" for one, fast in pairs)])
        parts += [*table(head, lines), "", f"Mean, least and most over the scenes, {gpu}.", ""]
        lines = [
            [SHORT[metric], *(_spread([error(row, metric) for row in at(mine, one)]) for one in scale)]
            for metric in RULES
        ]
        factor, exponent = summaries.law(mine)
        fitted = f"Speed-up: {factor:.0f} p^{exponent:.2f}; the paper's is 181 p^-1.15."
        parts += [*table(["metric", *head[1:]], lines), "", fitted, ""]
    return parts


def _spread(errors: Sequence[float]) -> str:
    one = spread(errors)
    return f"{_number(one.mean)} ({_number(one.least)} to {_number(one.most)})"


def _downscaling(rows: Rows, subset: Sequence[str]) -> list[str]:
    parts = ["## Figures 17 to 19: downscaling, all pixels, rtx2060", ""]
    for title, mine in (
        ("Subset (Fig. 17)", [row for row in rows if row.scene in subset]),
        ("All scenes (Fig. 18)", rows),
    ):
        if not of(mine, "downscaling"):
            continue
        lines = []
        for division in ("fine", "coarse"):
            part = of(mine, "downscaling", RTX, lambda row, name=division: row.point.options.division == name)  # type: ignore[misc]
            for factor in sorted({row.factor for row in part}):
                some = [row for row in part if row.factor == factor]
                cells = [_spread([error(row, metric) for row in some]) for metric in RULES]
                fast = np.mean([summaries.parallel_speedup(row) for row in some])
                lines.append([division, str(factor), *cells, f"{fast:.1f}"])
        scenes = ", ".join(summaries.names(of(mine, "downscaling")))
        parts += [f"{title}: {scenes}. Mean (least to most) over scenes.", ""]
        parts += [*table(["division", "K", *METRIC_NAMES, "speed-up, longest group"], lines), ""]
    return [*parts, "The paper, K = 6, fine: cycles and IPC at most 12, DRAM efficiency 20 in the mean.", ""]


def _regression(rows: Rows) -> list[str]:
    lines = []
    for gpu in GPUS:
        direct = summaries.directly(rows, gpu)
        for row in of(rows, "regression", gpu):
            lines.append([row.scene, gpu, "regression", *_errors(row)])
            if row.scene in direct:
                lines.append([row.scene, gpu, "40 % directly", *_errors(direct[row.scene])])
    head = ["scene", "GPU", "method", *METRIC_NAMES, "mean"]
    return ["## Figure 20: exponential regression", "", *table(head, lines), ""]


def _tuning(rows: Rows) -> list[str]:
    parts = ["## Table III: distribution and section block, rtx2060, K = 1", ""]
    mine = of(rows, "tuning")
    for scene in summaries.names(mine):
        part = [row for row in mine if row.scene == scene]
        theirs = published.TUNING.get(scene, {})
        lines = []
        for metric in RULES:
            best = summaries.best_choice(part, metric)
            paper = theirs.get(metric)
            said = [paper[0], paper[1], _number(paper[2])] if paper else ["-"] * 3
            lines.append([SHORT[metric], best.distribution, best.block, _number(best.error), *said])
        asked = ", ".join(percent(one / 100) for one in summaries.percentages(part))
        parts += [f"{scene}, warmth {part[0].warmth:.2f}, {asked} of the pixels.", ""]
        parts += [*table(["metric", "best dist.", "best block", "error", "paper: dist.", "block", "error"], lines), ""]
    return parts
