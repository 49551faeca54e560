"""Condense rows into the numbers of each figure. Errors are (predicted - full) / |full|, without ``None`` and NaN."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from rayplay.formats.guard import exact
from rayplay.zatel.replays.metrics import RULES
from rayplay.zatel.study.execute import Row
from rayplay.zatel.study.published import SPEEDUP_LAW

CLEAR = 0.9  # a choice is best when its mean error is below this part of every other's; otherwise "any"


class Spread(NamedTuple):
    """Mean, least and most of some absolute errors."""

    mean: float
    least: float
    most: float


def error(row: Row, metric: str) -> float:
    """(predicted - full) / |full| of one metric; NaN where one is missing."""
    predicted, full = row.predicted[metric], row.full[metric]
    return float("nan") if predicted is None or not full else (predicted - full) / abs(full)


def mean_error(rows: Iterable[Row], metrics: Iterable[str] = RULES) -> float:
    """The mean absolute error over rows and metrics; NaN without any."""
    return spread([error(row, metric) for row in rows for metric in metrics]).mean


def spread(errors: Sequence[float]) -> Spread:
    """Mean, least and most of the absolute values; NaN without any."""
    known = np.abs([value for value in errors if not np.isnan(value)])
    return Spread(float(known.mean()), float(known.min()), float(known.max())) if known.size else Spread(*[np.nan] * 3)


def of(
    rows: Iterable[Row], study: str, gpu: str | None = None, holds: Callable[[Row], bool] | None = None
) -> list[Row]:
    """Rows of one study and one GPU that satisfy a condition."""
    mine = [row for row in rows if row.point.study == study and gpu in (None, row.point.gpu)]
    return [row for row in mine if holds is None or holds(row)]


def names(rows: Iterable[Row]) -> list[str]:
    """The scenes of the rows, each once, in their order."""
    return list(dict.fromkeys(row.scene for row in rows))


def hardest(rows: Sequence[Row]) -> str:
    """Scene of the study ``whole``: PARK, as in the paper, else the scene with the longest full replay."""
    whole = of(rows, "whole")
    if "park" in names(whole):
        return "park"
    return max(whole, key=lambda row: row.full["gpu_cycles"] or 0).scene


def directly(rows: Iterable[Row], gpu: str) -> dict[str, Row]:
    """Scene -> the prediction from 40 % of the pixels, which the regression is compared with (Zatel IV-F)."""
    return {row.scene: row for row in at(of(rows, "fractions", gpu), 40.0)}


def percentages(rows: Iterable[Row]) -> list[float]:
    """Requested fractions in per cent, ascending."""
    return sorted({100 * (row.point.options.fraction or 0) for row in rows})


def at(rows: Iterable[Row], percentage: float) -> list[Row]:
    """Rows that requested this percentage of the pixels."""
    return [row for row in rows if abs(100 * (row.point.options.fraction or 0) - percentage) < 1e-9]


def curves(rows: Sequence[Row], value: Callable[[Row], float]) -> dict[str, tuple[list[float], list[float]]]:
    """For each scene the requested percentages and a value at each (Figs. 13 to 15)."""
    found = {}
    for scene in names(rows):
        mine = sorted((row for row in rows if row.scene == scene), key=lambda row: row.point.options.fraction or 0)
        found[scene] = ([100 * (row.point.options.fraction or 0) for row in mine], [value(row) for row in mine])
    return found


def speedup(row: Row) -> float:
    """Full replay over all replays of the prediction, one core: less processor time."""
    return row.seconds[2] / max(row.seconds[0], 1e-9)


def parallel_speedup(row: Row) -> float:
    """Full replay over the longest replay of the prediction: with a core for each group, the paper's measure."""
    return row.seconds[2] / max(row.seconds[1], 1e-9)


def law(rows: Sequence[Row]) -> tuple[float, float]:
    """Equation (4) fitted to the replayed fractions and the speed-ups of some rows."""
    return fit_speedup([100 * row.fraction for row in rows], [speedup(row) for row in rows])


def fit_speedup(percentages: Sequence[float], speedups: Sequence[float]) -> tuple[float, float]:
    """Factor and exponent of ``factor * perc ** exponent``, by least squares of the logarithms.

    ``ValueError`` for fewer than two different percentages.
    """
    if len(set(percentages)) < 2:
        raise ValueError(f"must have two different percentages at least, not {sorted(set(percentages))}")
    exponent, logarithm = exact.line(*([exact.log(value) for value in values] for values in (percentages, speedups)))
    return exact.exp(logarithm), exponent


def law_speedup(percentage: np.ndarray, law: tuple[float, float] = SPEEDUP_LAW) -> np.ndarray:
    """Speed-up that a law, equation (4), predicts for percentages of pixels in (0, 100]."""
    raised = [exact.power(value, law[1]) for value in np.ravel(percentage)]
    return law[0] * np.reshape(raised, np.shape(percentage))


def relative(rows: Sequence[Row], scene: str, base: str, other: str) -> dict[str, tuple[float, float]]:
    """Metric -> (simulated, predicted) value on ``other`` over that on ``base`` (Fig. 11)."""
    both = {row.point.gpu: row for row in rows if row.scene == scene}
    found = {}
    for metric in RULES:
        full = [both[gpu].full[metric] or np.nan for gpu in (other, base)]
        predicted = [both[gpu].predicted[metric] or np.nan for gpu in (other, base)]
        found[metric] = (full[0] / full[1], predicted[0] / predicted[1])
    return found


class Best(NamedTuple):
    """A cell of Table III: the distribution and the block size that are clearly best, and the error with them."""

    distribution: str
    block: str
    error: float


def best_choice(rows: Sequence[Row], metric: str) -> Best:
    """Best distribution and block size for a metric of one scene, over fractions and seeds (Table III)."""
    distribution = _clear_best(rows, metric, lambda row: row.point.options.distribution)
    left = [row for row in rows if distribution in ("any", row.point.options.distribution)]
    block = _clear_best(left, metric, block_of)
    left = [row for row in left if block in ("any", block_of(row))]
    return Best(distribution, block, mean_error(left, [metric]))


def block_of(row: Row) -> str:
    """Width x height of the row's section blocks."""
    return "x".join(str(side) for side in row.point.options.block)


def _clear_best(rows: Sequence[Row], metric: str, choice: Callable[[Row], str]) -> str:
    means = {name: mean_error([row for row in rows if choice(row) == name], [metric]) for name in map(choice, rows)}
    first, *others = sorted(means, key=lambda name: means[name])
    return first if others and means[first] < CLEAR * means[others[0]] else "any"
