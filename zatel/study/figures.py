"""The paper's Figures 10, 11 and 13 to 20 drawn from the rows, with the values that its text gives."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from rayplay.zatel.replays.metrics import RULES
from rayplay.zatel.study import published, summaries
from rayplay.zatel.study.draw import OURS, SHORT, THEIRS, bars, canvas, lines, save
from rayplay.zatel.study.draw import published as mark
from rayplay.zatel.study.execute import Row
from rayplay.zatel.study.points import GPUS, MOBILE, RTX
from rayplay.zatel.study.summaries import Spread, at, error, law_speedup, of, spread

Rows = Sequence[Row]


def draw_all(rows: Rows, subset: Sequence[str], folder: Path) -> list[str]:
    """Draw every figure for which there are rows, Fig. 17 of the subset; the names of the files, in order."""
    drawn = []
    for name, (draw, *needed) in FIGURES.items():
        shown = [row for row in rows if row.scene in subset] if name == "figure-17" else rows
        if all(of(shown, study) for study in needed):
            draw(shown, folder / f"{name}.png")
            drawn.append(f"{name}.png")
    return drawn


def figure_10(rows: Rows, path: Path) -> None:
    """Errors of the metrics on PARK, with equation (1) and with a tenth of the pixels."""
    scene = summaries.hardest(rows)
    figure, axes = canvas(2)
    for axis, asked, what in zip(axes, (None, 0.1), ("equation (1)", "10 % of the pixels"), strict=True):
        series = {}
        for gpu in GPUS:
            [row] = [
                one for one in of(rows, "whole", gpu) if one.scene == scene and one.point.options.fraction == asked
            ]
            series[gpu] = [spread([error(row, metric)]) for metric in RULES]
            series[gpu].append(spread([error(row, metric) for metric in RULES]))
        series = {gpu: [Spread(one.mean, one.mean, one.mean) for one in spreads] for gpu, spreads in series.items()}
        bars(axis, [*SHORT.values(), "mean"], series)
        axis.set_title(f"Fig. 10  {scene}, {what}")
    for number, gpu in enumerate(GPUS):
        mark(axes[0], 7 + 0.4 * (number - 0.5), 100 * published.WHOLE_ERROR[gpu], "paper")
    mark(axes[0], 1 - 0.2, 100 * published.WHOLE_CYCLES_ERROR[MOBILE], "paper")
    mark(axes[1], 7 - 0.2, 100 * published.TENTH_ERROR[MOBILE], "paper")
    save(figure, path)


def figure_11(rows: Rows, path: Path) -> None:
    """RTX 2060 over Mobile on PARK: simulated and predicted."""
    scene = summaries.hardest(rows)
    found = summaries.relative([row for row in of(rows, "whole") if row.point.options.fraction is None], scene, *GPUS)
    figure, [axis] = canvas()
    place = np.arange(len(found))
    axis.bar(place - 0.2, [pair[0] for pair in found.values()], 0.4, color="#f28e2b", label="full replay")
    axis.bar(place + 0.2, [pair[1] for pair in found.values()], 0.4, color=OURS, label="predicted")
    for number, metric in enumerate(found):
        simulated, predicted = found[metric]
        text = f"{100 * (predicted / simulated - 1):+.0f} %"
        if metric in published.RELATIVE_DIFFERENCE:
            text += f"\n(paper {100 * published.RELATIVE_DIFFERENCE[metric]:.1f} %)"
        axis.annotate(text, (number, max(simulated, predicted)), ha="center", va="bottom", fontsize=7)
    axis.set_xticks(place, [SHORT[metric] for metric in found], fontsize=8)
    axis.set_ylabel("RTX 2060 / Mobile")
    axis.margins(y=0.15)
    axis.legend(fontsize=8, frameon=False)
    axis.set_title(f"Fig. 11  {scene}: RTX 2060 relative to Mobile")
    save(figure, path)


def figure_13(rows: Rows, path: Path) -> None:
    """Error of the cycles by scene and percentage, on both GPUs."""
    figure, axes = canvas(2)
    for axis, gpu in zip(axes, (RTX, MOBILE), strict=True):
        lines(axis, summaries.curves(of(rows, "fractions", gpu), lambda row: abs(error(row, "gpu_cycles"))), 100)
        axis.set_ylabel("absolute error of the cycles [%]")
        axis.set_title(f"Fig. 13  {gpu}")
        for scene, value in published.TENTH_CYCLES_ERROR[gpu].items():
            mark(axis, 10, 100 * value, f"paper: {scene}")
    save(figure, path)


def _by_percentage(
    rows: Rows, path: Path, value: Callable[[Row], float], label: str, title: str, has_law: bool = False
) -> None:
    """A value by scene and percentage; with equation (4), and the law fitted to these points."""
    figure, axes = canvas(2)
    for axis, gpu in zip(axes, (RTX, MOBILE), strict=True):
        mine = of(rows, "fractions", gpu)
        lines(axis, summaries.curves(mine, value))
        axis.set_ylabel(label)
        axis.set_title(f"{title}  {gpu}")
        if has_law:
            x, fitted = np.linspace(10, 90, 81), summaries.law(mine)
            axis.plot(x, law_speedup(x), color=THEIRS, linewidth=2.5, alpha=0.5, label="paper: 181 p^-1.15")
            axis.plot(x, law_speedup(x, fitted), "k--", label=f"fit: {fitted[0]:.0f} p^{fitted[1]:.2f}")
            axis.legend(fontsize=8, frameon=False)
    save(figure, path)


def figure_16(rows: Rows, path: Path) -> None:
    """Mean, least and most error of each metric over all scenes, by percentage."""
    figure, axes = canvas(2, width=8)
    for axis, gpu in zip(axes, (RTX, MOBILE), strict=True):
        mine = of(rows, "fractions", gpu)
        series = {
            f"{percentage:.0f} %": [spread([error(row, metric) for row in at(mine, percentage)]) for metric in RULES]
            for percentage in summaries.percentages(mine)
        }
        bars(axis, list(SHORT.values()), series)
        axis.set_title(f"Fig. 16  {gpu}, {len(summaries.names(mine))} scenes")
    save(figure, path)


def _downscaling(rows: Rows, path: Path, title: str) -> None:
    """Error of each metric by downscaling factor, fine and coarse, over the scenes."""
    mine = of(rows, "downscaling")
    figure, axes = canvas(2, width=8)
    for axis, division in zip(axes, ("fine", "coarse"), strict=True):
        part = [row for row in mine if row.point.options.division == division]
        series = {
            f"K = {factor}": [spread([error(row, metric) for row in part if row.factor == factor]) for metric in RULES]
            for factor in sorted({row.factor for row in part})
        }
        bars(axis, list(SHORT.values()), series)
        axis.set_title(f"{title}  {division}: {', '.join(summaries.names(part))}", fontsize=10)
    top = max(axis.get_ylim()[1] for axis in axes)
    for axis in axes:
        axis.set_ylim(0, top)
    save(figure, path)


def figure_19(rows: Rows, path: Path) -> None:
    """Speed-up by downscaling factor, with a core for each group."""
    mine = of(rows, "downscaling")
    figure, [axis] = canvas()
    for division, marker in (("fine", "o-"), ("coarse", "s--")):
        part = [row for row in mine if row.point.options.division == division]
        factors = sorted({row.factor for row in part})
        means = [np.mean([summaries.parallel_speedup(row) for row in part if row.factor == one]) for one in factors]
        axis.plot(factors, means, marker, label=division)
    axis.plot(factors, law_speedup(100 / np.array(factors)), ":", color=THEIRS, label="paper: (4) at 100/K %")
    axis.set_xlabel("K")
    axis.set_xticks(factors)
    axis.set_ylabel("speed-up, longest group")
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8, frameon=False)
    axis.set_title("Fig. 19  speed-up by downscaling, rtx2060")
    save(figure, path)


def figure_20(rows: Rows, path: Path) -> None:
    """Error of the regression for each scene and metric; lines reach to the error of tracing 40 % directly."""
    figure, axes = canvas(2, width=8)
    for axis, gpu in zip(axes, (RTX, MOBILE), strict=True):
        direct = summaries.directly(rows, gpu)
        series = {}
        for row in of(rows, "regression", gpu):
            regressed = [abs(error(row, metric)) for metric in RULES]
            plain = [abs(error(direct[row.scene], metric)) for metric in RULES]
            series[row.scene] = [
                Spread(mean, min(mean, other), max(mean, other)) for mean, other in zip(regressed, plain, strict=True)
            ]
        bars(axis, list(SHORT.values()), series)
        axis.set_title(f"Fig. 20  regression, lines to 40 % directly, {gpu}")
    save(figure, path)


# Each with the studies whose rows it shows.
FIGURES: dict[str, tuple[Callable[[Rows, Path], None], *tuple[str, ...]]] = {
    "figure-10": (figure_10, "whole"),
    "figure-11": (figure_11, "whole"),
    "figure-13": (figure_13, "fractions"),
    "figure-14": (
        partial(_by_percentage, value=lambda row: row.seconds[0], label="processor time [s]", title="Fig. 14"),
        "fractions",
    ),
    "figure-15": (
        partial(_by_percentage, value=summaries.speedup, label="speed-up", title="Fig. 15", has_law=True),
        "fractions",
    ),
    "figure-16": (figure_16, "fractions"),
    "figure-17": (partial(_downscaling, title="Fig. 17"), "downscaling"),
    "figure-18": (partial(_downscaling, title="Fig. 18"), "downscaling"),
    "figure-19": (figure_19, "downscaling"),
    "figure-20": (figure_20, "regression", "fractions"),
}
