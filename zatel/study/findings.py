"""Findings of the paper, tested on the rows: each with the figures that decide whether it holds here."""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from rayplay.formats.guard import exact
from rayplay.zatel.paper.options import DISTRIBUTIONS, DIVISIONS
from rayplay.zatel.replays.metrics import RULES
from rayplay.zatel.study import published, summaries
from rayplay.zatel.study.execute import Row
from rayplay.zatel.study.points import GPUS, MOBILE, RTX
from rayplay.zatel.study.summaries import at, error, law_speedup, mean_error, of

Rows = Sequence[Row]

LEAST_ERROR = 1e-6  # floor of errors in a logarithm


class Finding(NamedTuple):
    """One sentence of the paper, whether it holds here (``None``: too few scenes to say), and the figures."""

    paper: str
    holds: bool | None
    here: str


def findings(rows: Rows) -> list[Finding]:
    """All findings for which there are rows, in the paper's order."""
    return [judge(rows) for judge, *needed in FINDINGS if all(of(rows, study) for study in needed)]


def percent(value: float) -> str:
    """A fraction of 1 in per cent."""
    return f"{100 * value:.1f} %"


def accuracy(rows: Rows) -> Finding:
    """Zatel IV-B, Fig. 10."""
    scene = summaries.hardest(rows)
    found = {gpu: mean_error([row for row in _whole(rows, gpu) if row.scene == scene]) for gpu in GPUS}
    everywhere = {gpu: mean_error(_whole(rows, gpu)) for gpu in GPUS}
    holds = all(found[gpu] <= 1.5 * published.WHOLE_ERROR[gpu] for gpu in GPUS)
    here = f"{scene} {percent(found[MOBILE])} and {percent(found[RTX])}"
    here += f"; all scenes {percent(everywhere[MOBILE])} and {percent(everywhere[RTX])}"
    return Finding("Whole method on PARK: mean error 4.5 % (Mobile) and 15.1 % (RTX 2060)", holds, here)


def mobile_easier(rows: Rows) -> Finding:
    """Zatel IV-B and IV-D: the smaller GPU is saturated sooner."""
    found = {gpu: mean_error([*_whole(rows, gpu), *of(rows, "fractions", gpu)]) for gpu in GPUS}
    here = f"mean error over scenes and fractions: Mobile {percent(found[MOBILE])}, RTX 2060 {percent(found[RTX])}"
    return Finding("The smaller GPU, which is saturated sooner, is predicted better", found[MOBILE] < found[RTX], here)


def relative_trends(rows: Rows) -> Finding:
    """Zatel IV-B, Fig. 11: does each metric rise or fall from Mobile to RTX 2060 as predicted?"""
    chosen = [row for row in of(rows, "whole") if row.point.options.fraction is None]
    pairs = [pair for scene in summaries.names(chosen) for pair in summaries.relative(chosen, scene, *GPUS).values()]
    known = [(full, predicted) for full, predicted in pairs if np.isfinite([full, predicted]).all()]
    right = np.mean([(full > 1) == (predicted > 1) for full, predicted in known])
    differences = [abs(predicted / full - 1) for full, predicted in known]
    here = (
        f"{percent(float(right))} of {len(known)} signs right; ratios differ by {percent(float(np.mean(differences)))}"
    )
    here += f" in the mean and {percent(max(differences))} at most (paper, PARK: 0.6 to 37.6 %)"
    return Finding("Relative trends between the GPUs are predicted", bool(right >= 0.9), here)


def uniform_best(rows: Rows) -> Finding:
    """Zatel IV-C, Table III."""
    found = _best_cells(rows, list(RULES))
    here = "least mean error over scenes, block sizes and metrics: " + _counts(found)
    return Finding("Uniform is the best distribution over all metrics", _is_most(found, "uniform"), here)


def exptmp_for_rt(rows: Rows) -> Finding:
    """Zatel IV-C: RT unit metrics like the warmest regions."""
    found = _best_cells(rows, ["rt_efficiency"])
    here = "least error of RT efficiency over scenes and block sizes: " + _counts(found)
    return Finding("exptmp is best for RT metrics", _is_most(found, "exptmp"), here)


def errors_fall(rows: Rows) -> Finding:
    """Zatel IV-D, Figs. 13 and 16: the mean error falls exponentially with the percentage."""
    means, fits = {}, {}
    for gpu in GPUS:
        mine = of(rows, "fractions", gpu)
        x = summaries.percentages(mine)
        means[gpu] = [mean_error(at(mine, percentage)) for percentage in x]
        fits[gpu] = exact.correlation(x, [exact.log(max(value, LEAST_ERROR)) for value in means[gpu]]) ** 2
    holds = all(np.all(np.diff(values) < 0) for values in means.values()) and min(fits.values()) > 0.9
    ends = "; ".join(f"{gpu} {percent(values[0])} to {percent(values[-1])}, R2 of the exponential {fits[gpu]:.2f}"
                     for gpu, values in means.items())  # fmt: skip
    return Finding(
        "Errors fall exponentially with the fraction of pixels", holds, f"from the least fraction to the most: {ends}"
    )


def warm_easier(rows: Rows) -> Finding:
    """Zatel IV-C and IV-D: the warmer the heatmap and the longer the simulation, the smaller the error."""
    ranks = {}
    for gpu in GPUS:
        mine = at(of(rows, "fractions", gpu), 10.0)
        errors = [mean_error([row]) for row in mine]
        for what, values in (("warmth", [row.warmth for row in mine]),
                             ("cycles", [row.full["gpu_cycles"] or 0.0 for row in mine])):  # fmt: skip
            ranks[gpu, what] = _rank(values, errors)
    here = "; ".join(f"{gpu}, {what}: {rank:+.2f}" for (gpu, what), rank in ranks.items())
    judged = [rank for (_, what), rank in ranks.items() if what == "warmth"]
    holds = None if np.isnan(judged).any() else max(judged) < -0.3
    return Finding(
        "Warm scenes, and long ones, are easier", holds, f"rank correlation with the mean error at 10 %: {here}"
    )


def _rank(values: Sequence[float], errors: Sequence[float]) -> float:
    """Spearman's rank correlation; NaN for fewer than three scenes or values that do not vary."""
    if len(values) < 3 or np.ptp(values) == 0 or np.ptp(errors) == 0:
        return float("nan")
    return exact.correlation(rankdata(values), rankdata(errors))


def bias(rows: Rows) -> Finding:
    """Zatel III-G: systematic bias."""
    mine = [row for row in of(rows, "fractions") if (row.point.options.fraction or 1) <= 0.4]
    wanted = {"gpu_ipc": -1, "l2_miss_rate": 1, "dram_efficiency": -1, "bandwidth_utilisation": -1}
    means = {metric: float(np.nanmean([error(row, metric) for row in mine])) for metric in wanted}
    here = "mean signed errors up to 40 %: " + ", ".join(
        f"{metric} {100 * value:+.1f} %" for metric, value in means.items()
    )
    holds = all(means[metric] * sign > 0 for metric, sign in wanted.items())
    paper = "IPC, DRAM efficiency and bandwidth are underestimated, the L2 miss rate overestimated"
    return Finding(paper, holds, here)


def one_law(rows: Rows) -> Finding:
    """Zatel IV-D, equation (4)."""
    parts, holds = [], True
    for gpu in GPUS:
        mine = of(rows, "fractions", gpu)
        factor, exponent = summaries.law(mine)
        ratios = [
            summaries.speedup(row) / float(law_speedup(np.array(100 * row.fraction), (factor, exponent)))
            for row in mine
        ]
        parts.append(
            f"{gpu} {factor:.0f} p^{exponent:.2f}, points {min(ratios):.2f} to {max(ratios):.2f} times the law"
        )
        holds &= max(ratios) < 1.5 and min(ratios) > 1 / 1.5
    return Finding("All scenes share one law of speed-up, 181 p^-1.15", holds, "; ".join(parts))


def fine_beats_coarse(rows: Rows) -> Finding:
    """Zatel IV-E, Figs. 17 and 18."""
    mine = of(rows, "downscaling")
    pairs = {name: {(row.scene, row.factor): row for row in mine if row.point.options.division == name}
             for name in DIVISIONS}  # fmt: skip
    won = [
        abs(error(pairs["fine"][case], metric)) < abs(error(pairs["coarse"][case], metric))
        for case, metric in product(pairs["fine"], RULES)
    ]
    cycles = {name: mean_error(found.values(), ["gpu_cycles"]) for name, found in pairs.items()}
    here = f"fine is nearer in {sum(won)} of {len(won)} cases of scene, K and metric; mean error of the cycles "
    here += f"{percent(cycles['fine'])} against {percent(cycles['coarse'])}"
    return Finding("Fine division beats coarse division", sum(won) > len(won) / 2, here)


def downscaling_no_faster(rows: Rows) -> Finding:
    """Zatel IV-E, Fig. 19."""
    law, parts, ratios = summaries.law(of(rows, "fractions", RTX)), [], []
    fine = [row for row in of(rows, "downscaling") if row.point.options.division == "fine"]
    for factor in sorted({row.factor for row in fine}):
        found = float(np.mean([summaries.parallel_speedup(row) for row in fine if row.factor == factor]))
        expected = float(law_speedup(np.array(100 / factor), law))
        ratios.append(found / expected)
        parts.append(f"K = {factor}: {found:.1f} against {expected:.1f}")
    paper = "Downscaling by K is about as fast as tracing 1/K of the pixels"
    holds = min(ratios) > 0.67 and max(ratios) < 1.5
    return Finding(paper, holds, f"longest group against the law fitted here: {', '.join(parts)}")


def regression_no_gain(rows: Rows) -> Finding:
    """Zatel IV-F, Fig. 20."""
    worse = []
    for gpu in GPUS:
        direct = summaries.directly(rows, gpu)
        for row in of(rows, "regression", gpu):
            pairs = [(abs(error(row, metric)), abs(error(direct[row.scene], metric))) for metric in RULES]
            worse += [regressed > plain for regressed, plain in pairs if np.isfinite([regressed, plain]).all()]
    share = float(np.mean(worse))
    here = (
        f"worse than 40 % directly in {percent(share)} of {len(worse)} cases (paper: 62 %), with 2.25 times the pixels"
    )
    return Finding("The exponential regression gives no clear gain", share > 0.4, here)


def _whole(rows: Rows, gpu: str) -> list[Row]:
    return of(rows, "whole", gpu, lambda row: row.point.options.fraction is None)


def _best_cells(rows: Rows, metrics: Sequence[str]) -> Counter[str]:
    """Number of cells (metric, scene, block size) in which each distribution has the least mean error."""
    mine, best = of(rows, "tuning"), Counter[str]()
    for scene, block, metric in product(summaries.names(mine), dict.fromkeys(map(summaries.block_of, mine)), metrics):
        cell = [row for row in mine if row.scene == scene and summaries.block_of(row) == block]
        means = {
            name: mean_error([row for row in cell if row.point.options.distribution == name], [metric])
            for name in DISTRIBUTIONS
        }
        if not np.isnan(list(means.values())).any():
            best[min(means, key=means.__getitem__)] += 1
    return best


def _is_most(counts: Counter[str], name: str) -> bool | None:
    """Whether ``name`` was counted more often than every other; ``None`` when nothing was."""
    return counts[name] > max(counts[other] for other in DISTRIBUTIONS if other != name) if counts else None


def _counts(counts: Counter[str]) -> str:
    return ", ".join(f"{name} in {counts[name]}" for name in DISTRIBUTIONS) + f" of {counts.total()} cells"


# Each with the studies that decide it.
FINDINGS: tuple[tuple[Callable[[Rows], Finding], *tuple[str, ...]], ...] = (
    (accuracy, "whole"),
    (mobile_easier, "whole"),
    (relative_trends, "whole"),
    (uniform_best, "tuning"),
    (exptmp_for_rt, "tuning"),
    (errors_fall, "fractions"),
    (warm_easier, "fractions"),
    (bias, "fractions"),
    (one_law, "fractions"),
    (fine_beats_coarse, "downscaling"),
    (downscaling_no_faster, "downscaling", "fractions"),
    (regression_no_gain, "regression", "fractions"),
)
