"""Sampling error of one replay by a stratified jackknife, and confidence intervals.

Units of the sample come in pairs, two of a stratum each. A replicate leaves out the first unit of every stratum of its
group and counts the second twice. The squared deviations of the replicates' logarithms from the whole sample's add up
to the variance (K. M. Wolter, *Introduction to Variance Estimation*, ch. 4: delete-a-group jackknife, two units a
stratum). Each metric is a ratio of sums. For cycles the units are the CTAs; caches and channels serve all warps alike,
so for other metrics they are stretches of equal work of the timeline, which the launch order makes neighbours.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit  # scipy.stats takes half a second to import

from rayplay.formats.guard import exact

GROUPS = 24  # degrees of freedom: Student's t of 24 is 5 % above the normal quantile, more groups gain little
OF_WARPS = ("gpu_cycles", "gpu_ipc")


class Interval(NamedTuple):
    """Bounds that hold the truth with the requested confidence."""

    low: float
    high: float


def replicates(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """Logarithms of the replicates of the ratio sum(above) / sum(below), less the ratio's own, float64[groups].

    above, below  float64[2 n], the two units of each stratum side by side. NaN where a sum is not positive.
    """
    found = []
    for values in (above, below):
        second_for_first = values[1::2] - values[0 : len(values) - 1 : 2]
        group = np.arange(len(second_for_first)) % GROUPS
        total = float(values.sum())
        found.append(1.0 + np.bincount(group, second_for_first) / total if total > 0.0 else np.array([np.nan]))
    more, less = found
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.array([exact.log(one) if one > 0.0 else np.nan for one in more / less])


def equal_work(counted: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Sum the rows of a timeline into 2 ``GROUPS`` stretches of equal work; ``counted`` as in ``Replayed``.

    Work is half the share of the instructions and half the share of the BVH records. Counters grow evenly in a row.
    """
    work = sum(counted[name] / max(counted[name].sum(), 1.0) for name in ("instructions", "records"))
    done = np.concatenate([[0.0], np.cumsum(work)])
    cuts = np.linspace(0.0, done[-1], 2 * GROUPS + 1)
    summed = {name: np.concatenate([[0.0], np.cumsum(values)]) for name, values in counted.items()}
    return {name: np.diff(np.interp(cuts, done, values)) for name, values in summed.items()}


def ratios(counted: dict[str, np.ndarray]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Metric -> numerator and denominator of the ratio that it follows; ``counted`` as in ``Replayed``."""
    work = counted["instructions"] / max(counted["instructions"].sum(), 1.0)
    work = work + counted["records"] / max(counted["records"].sum(), 1.0)
    found = dict.fromkeys(OF_WARPS, (counted["cycles"], work))
    for cache in ("l1d", "l2"):
        missed = counted[f"{cache}_misses"]
        found[f"{cache}_miss_rate"] = missed, missed + counted[f"{cache}_hits"]
    found["rt_efficiency"] = counted["rt_efficiency_sum"], counted["rt_warps"]
    found["dram_efficiency"] = counted["data_ticks"], counted["active_ticks"]
    found["bandwidth_utilisation"] = counted["data_ticks"], counted["cycles"]
    return found


def of_metrics(counted: dict[str, np.ndarray], warps: tuple[np.ndarray, np.ndarray] | None) -> dict[str, np.ndarray]:
    """Metric -> ``replicates``.

    counted  as in ``Replayed``.
    warps    float64[2 n] each: cycles of each CTA's warps, and the cycles that its steps promise; ``None`` where the
             trace does not name its threads: then cycles follow the timeline too.
    """
    pairs = ratios(equal_work(counted)) | (dict.fromkeys(OF_WARPS, warps) if warps else {})
    return {name: replicates(*pair) for name, pair in pairs.items()}


def standard_error(replicated: np.ndarray, fraction: float) -> float:
    """Relative standard error of the ratio; 1 - ``fraction`` corrects for the finite population."""
    return float(np.sqrt((replicated**2).sum() * (1.0 - fraction)))


def quantile(confidence: float, degrees: int) -> float:
    """Student's t that a value stays within on both sides with the confidence."""
    return exact.rounded(stdtrit(degrees, 0.5 + confidence / 2))


def half_width(errors: Sequence[float], degrees: Sequence[int], confidence: float = 0.95) -> float:
    """Half width of an interval for independent standard errors, each with its degrees of freedom."""
    length = 0.0
    for error in errors:
        length = exact.length(length, error)
    return quantile(confidence, satterthwaite(errors, degrees)) * length


def satterthwaite(errors: Sequence[float], degrees: Sequence[int]) -> int:
    """Degrees of freedom of the sum of independent variances ``errors``²; rounded down, at least 1.

    F. E. Satterthwaite, Biometrics Bulletin 2, 1946.
    """
    squares = [error**2 for error in errors]
    below = sum(square**2 / free for square, free in zip(squares, degrees, strict=True))
    return max(1, int(sum(squares) ** 2 / below)) if below else min(degrees)
