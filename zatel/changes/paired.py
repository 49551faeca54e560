"""Confidence interval of a change between two replays of one sample.

Three independent errors, each a relative standard error:

- Sampling. Both replays run the same CTAs in launch order, so stretches of equal work are the same CTAs in both. Each
  metric's residuals are subtracted stretch by stretch, so an error that both share cancels; their successive
  differences give the variance (paired samples: W. G. Cochran, Sampling Techniques, 2.8 and 8.11).
- Noise of a single replay, from the unchanged machine's twins (``noise``).
- Model. Sample and whole differ alike before and after a change, so the larger a change, the larger its error:
  ``model_share`` of it.

Their degrees of freedom combine by Satterthwaite's rule (F. E. Satterthwaite, Biometrics Bulletin 2, 1946).
"""

import math
from collections.abc import Sequence

import numpy as np

from rayplay.formats.guard import exact
from rayplay.zatel.changes.noise import Metrics
from rayplay.zatel.sample.intervals import STRATA, Interval, quantile, ratios
from rayplay.zatel.sample.replay import Replayed

# Root of the mean of (error² - noise²) / change² over 26 changes: cornell on RTX 2060 and park on Mobile, 128x128
# (docs/estimate.md, "Changes of a design"). A DRAM's efficiency follows its load alone, so it errs more.
MODEL_SHARE, DRAM_SHARE, MODEL_DEGREES = 0.2, 0.35, 12
# Without rays: root mean square of the error of new / old cycles over 9 changes of three kernels on Mobile. It does not
# follow the change: a sample may meet a limit that the whole does not (docs/estimate.md, "Launches without rays").
COMPUTE_ERROR, COMPUTE_DEGREES = 0.074, 2


def equal_work(counted: dict[str, np.ndarray], count: int = STRATA) -> dict[str, np.ndarray]:
    """Sum the rows of a timeline into ``count`` stretches of equal work; ``counted`` as in ``Replayed``.

    Work is half the share of the instructions and half the share of the BVH records. Counters grow evenly in a row.
    """
    work = sum(counted[name] / max(counted[name].sum(), 1.0) for name in ("instructions", "records"))
    done = np.concatenate([[0.0], np.cumsum(work)])
    cuts = np.linspace(0.0, done[-1], count + 1)
    summed = {name: np.concatenate([[0.0], np.cumsum(values)]) for name, values in counted.items()}
    return {name: np.diff(np.interp(cuts, done, values)) for name, values in summed.items()}


def paired_errors(base: Replayed, new: Replayed, fraction: float) -> dict[str, float]:
    """Metric -> standard error of the logarithm of new / base from sampling; NaN where too little was counted."""
    known, found = ratios(equal_work(base.intervals)), {}
    for name, (above, below) in ratios(equal_work(new.intervals)).items():
        change = np.diff(_residuals(above, below) - _residuals(*known[name]))
        variance = STRATA / (2 * (STRATA - 1)) * float((change**2).sum())
        found[name] = math.sqrt(variance * (1.0 - fraction))
    return found


def _residuals(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """Residuals of the ratio sum(above) / sum(below), relative to its numerator."""
    total, by = float(above.sum()), float(below.sum())
    return (above - total / by * below) / total if total and by else np.full(len(above), np.nan)


def change_intervals(
    change: Metrics, sampling: dict[str, float], twins: Sequence[Metrics], left: float, is_traced: bool = True,
    misfit: float = 0.0,
) -> dict[str, Interval | None]:  # fmt: skip
    """95 % interval of each relative change; ``None`` where the change or its error is unknown.

    sampling  from ``paired_errors``.
    twins     metrics of the unchanged machine, at least two; the change is from their mean.
    left      remaining factor of the model error: 0 when the sample is everything.

    is_traced  whether the launch traces rays.
    misfit     of the design's part (``sample.proportion``): SMs more or fewer change a metric by as much at most.
    """
    found: dict[str, Interval | None] = {}
    for name, value in change.items():
        runs = np.array([run[name] or np.nan for run in twins], float)
        error = sampling[name]
        if value is None or not np.isfinite(runs).all() or not np.isfinite(error):
            found[name] = None
            continue
        noise = float(runs.std(ddof=1) / runs.mean()) * math.sqrt(1.0 + 1.0 / len(runs))
        grown = 1.0 + value
        model = model_share(name) * abs(value) if is_traced else COMPUTE_ERROR * grown
        model = exact.length(model * left, grown * misfit)
        parts = [grown * error, grown * noise, model]
        free = MODEL_DEGREES if is_traced else COMPUTE_DEGREES
        degrees = satterthwaite(parts, [STRATA - 1, len(runs) - 1, free])
        half = quantile(degrees) * exact.length(exact.length(parts[0], parts[1]), parts[2])
        found[name] = Interval(value - half, value + half)
    return found


def model_share(metric: str) -> float:
    """Share of a change that the model may err by, as a standard error."""
    return DRAM_SHARE if metric == "dram_efficiency" else MODEL_SHARE


def satterthwaite(errors: Sequence[float], degrees: Sequence[int]) -> int:
    """Degrees of freedom of the sum of independent variances ``errors``²; rounded down, at least 1."""
    squares = [error**2 for error in errors]
    below = sum(square**2 / free for square, free in zip(squares, degrees, strict=True))
    return max(1, int(sum(squares) ** 2 / below)) if below else min(degrees)
