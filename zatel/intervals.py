"""How sure an estimate is: confidence intervals from the stretches of one replay.

A stratified sample is replayed in launch order, so that its stretches of time are strata, too. A ratio of counters, say
misses to accesses, is estimated by the ratio of the sums; its variance by the successive differences of the stretches'
residuals (as for systematic samples: W. G. Cochran, Sampling Techniques, 8.11), which leaves out what merely differs
from one part of the image to the next. To that comes what the scaled machine is wrong by however many pixels it runs,
as measured over scenes (``bench/bench_estimate.py``).
"""

from typing import NamedTuple

import numpy as np
from scipy.stats import t as student

STRETCHES = 24
# What a machine of another size is wrong by, however many pixels it runs, as a share of the value: set by hand from
# estimates of cornell, bunny and park at a tenth of the pixels on both GPUs (docs/estimate.md).
MODEL_ERROR = {
    "gpu_cycles": 0.03, "gpu_ipc": 0.03, "l1d_miss_rate": 0.02, "l2_miss_rate": 0.05, "rt_efficiency": 0.02,
    "dram_efficiency": 0.12, "bandwidth_utilisation": 0.10,
}  # fmt: skip


class Interval(NamedTuple):
    """Bounds between which the truth lies with the confidence asked for."""

    low: float
    high: float


def stretches(values: np.ndarray, count: int = STRETCHES) -> np.ndarray:
    """float64[<= count]: sums over so many stretches of about equally many intervals."""
    bounds = np.unique(np.linspace(0, len(values), min(count, len(values)) + 1).astype(int))[:-1]
    return np.add.reduceat(values, bounds) if len(values) else values


def relative_error_of_ratio(above: np.ndarray, below: np.ndarray) -> tuple[float, int]:
    """Standard error of sum(above) / sum(below), as a share of it, and its degrees of freedom.

    above, below  float64[n], stretch by stretch. NaN where there is nothing to divide by or fewer than 3 stretches.
    """
    if len(above) < 3 or below.sum() == 0 or above.sum() == 0:
        return float("nan"), 1
    residuals = above - above.sum() / below.sum() * below
    count = len(above)
    variance = count / (2 * (count - 1)) * float((np.diff(residuals) ** 2).sum())
    return float(np.sqrt(variance)) / float(above.sum()), count - 1


def interval(estimate: float, sampling: float, degrees: int, model: float, confidence: float = 0.95) -> Interval:
    """The interval around ``estimate`` for relative standard errors of ``sampling`` and of the ``model``."""
    half = float(student.ppf(0.5 + confidence / 2, degrees)) * float(np.hypot(sampling, model)) * abs(estimate)
    return Interval(estimate - half, estimate + half)


def ratios(counted: dict[str, np.ndarray]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Metric -> the counters above and below the line whose ratio it follows; ``counted`` as in ``Replayed``."""
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
