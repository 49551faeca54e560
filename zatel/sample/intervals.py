"""Confidence intervals from the sampling variance of one replay.

A stratified sample is replayed in launch order, so intervals of its timeline are strata in time. A metric is a ratio of
sums, for example misses / accesses. Its variance follows from successive differences of the strata's residuals (as for
systematic samples: W. G. Cochran, Sampling Techniques, 8.11), which cancels a trend from one part of the image to the
next. ``model_error`` gives the share of this variance that is real, and the model error to add.
"""

import math
from typing import NamedTuple

import numpy as np

from rayplay.formats.guard import exact

CONFIDENCE = 0.95  # of every interval and noise floor
STRATA = 24


class Interval(NamedTuple):
    """Bounds that hold the truth with 95 % confidence."""

    low: float
    high: float


def strata_in_time(values: np.ndarray, count: int = STRATA) -> np.ndarray:
    """Sum consecutive intervals into at most ``count`` strata of about equal length, float64[<= count]."""
    bounds = np.unique(np.linspace(0, len(values), min(count, len(values)) + 1).astype(int))[:-1]
    return np.add.reduceat(values, bounds) if len(values) else values


def relative_error_of_ratio(above: np.ndarray, below: np.ndarray) -> tuple[float, int]:
    """Relative standard error of the ratio sum(above) / sum(below), and its degrees of freedom.

    above, below  float64[n], one for each stratum. NaN for a sum of 0 or fewer than 3 strata.
    """
    if len(above) < 3 or below.sum() == 0 or above.sum() == 0:
        return float("nan"), 1
    residuals = above - above.sum() / below.sum() * below
    count = len(above)
    variance = count / (2 * (count - 1)) * float((np.diff(residuals) ** 2).sum())
    return float(np.sqrt(variance)) / float(above.sum()), count - 1


def quantile(degrees: int, confidence: float = CONFIDENCE) -> float:
    """Student's t that a value stays within on both sides with the confidence; importing scipy takes longer."""
    low, high = 0.0, math.pi / 2
    while low < (angle := (low + high) / 2) < high:
        low, high = (angle, high) if within(angle, degrees) < confidence else (low, angle)
    return exact.rounded(math.sqrt(degrees) * math.tan(high))


def within(angle: float, degrees: int) -> float:
    """Probability that |Student's t| is at most sqrt(``degrees``) tan(``angle``).

    M. Abramowitz and I. A. Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4.
    """
    odd, cosine = degrees % 2, math.cos(angle)
    terms = [cosine if odd else 1.0] if degrees > 1 else []
    for below in range(2 + odd, degrees, 2):
        terms.append(terms[-1] * cosine * cosine * (below - 1) / below)
    found = math.sin(angle) * math.fsum(terms)
    return (angle + found) * 2 / math.pi if odd else found


def interval(estimate: float, sampling: float, degrees: int, model: float) -> Interval:
    """95 % interval around ``estimate`` for the relative standard errors of ``sampling`` and of the ``model``."""
    half = quantile(degrees) * exact.length(sampling, model) * abs(estimate)
    return Interval(estimate - half, estimate + half)


def ratios(counted: dict[str, np.ndarray]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Metric -> numerator and denominator of the ratio that it follows; ``counted`` as in ``Replayed``."""
    work = counted["instructions"] / max(counted["instructions"].sum(), 1.0)
    work = work + counted["records"] / max(counted["records"].sum(), 1.0)
    found = {"gpu_cycles": (counted["cycles"], work), "gpu_ipc": (counted["cycles"], work)}
    for cache in ("l1d", "l2"):
        missed = counted[f"{cache}_misses"]
        found[f"{cache}_miss_rate"] = missed, missed + counted[f"{cache}_hits"]
    found["rt_efficiency"] = counted["rt_efficiency_sum"], counted["rt_warps"]
    found["dram_efficiency"] = counted["data_ticks"], counted["active_ticks"]
    found["bandwidth_utilisation"] = counted["data_ticks"], counted["cycles"]
    return found


def sampling_errors(counted: dict[str, np.ndarray], fraction: float) -> dict[str, tuple[float, int]]:
    """Metric -> relative standard error of its estimate and degrees of freedom; NaN where too little was counted.

    counted  as in ``Replayed``. sqrt(1 - ``fraction``) corrects for the finite population.
    """
    summed = {name: strata_in_time(values) for name, values in counted.items()}
    found = {}
    for name, (above, below) in ratios(summed).items():
        error, degrees = relative_error_of_ratio(above, below)
        found[name] = error * math.sqrt(1.0 - fraction), degrees
    return found
