"""Confidence interval of a change between two replays of one sample.

Three independent errors, each a relative standard error, with degrees of freedom by Satterthwaite's rule:

- Sampling. Both replays run the same CTAs, so their jackknife replicates are of the same CTAs, and an error that both
  share cancels in the replicates' differences (paired samples: W. G. Cochran, Sampling Techniques, 2.8).
- Noise of a single replay, from the unchanged machine's twins (``noise``).
- Model. Sample and whole differ alike before and after a change, so the larger a change, the larger its error:
  ``model_share`` of it.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from rayplay.zatel.changes.noise import Metrics
from rayplay.zatel.sample.intervals import GROUPS, Interval, half_width, standard_error

# Root of the mean of (error² - noise²) / change² over 26 changes: cornell on RTX 2060 and park on Mobile, 128x128
# (docs/estimate.md, "Changes of a design"). A DRAM's efficiency follows its load alone, so it errs more.
MODEL_SHARE, DRAM_SHARE, MODEL_DEGREES = 0.2, 0.35, 12


def paired_errors(base: Mapping[str, np.ndarray], new: Mapping[str, np.ndarray], fraction: float) -> dict[str, float]:
    """Metric -> standard error of the logarithm of new / base from sampling; arguments as ``Estimate.replicated``."""
    return {name: standard_error(new[name] - base[name], fraction) for name in base}


def change_intervals(
    change: Metrics, sampling: dict[str, float], twins: Sequence[Metrics], left: float
) -> dict[str, Interval | None]:
    """95 % interval of each relative change; ``None`` where the change or its error is unknown.

    sampling  from ``paired_errors``.
    twins     metrics of the unchanged machine, at least two; the change is from their mean.
    left      remaining factor of the model error: 0 when the sample is everything.
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
        parts = [grown * error, grown * noise, model_share(name) * abs(value) * left]
        half = half_width(parts, [GROUPS, len(runs) - 1, MODEL_DEGREES])
        found[name] = Interval(value - half, value + half)
    return found


def model_share(metric: str) -> float:
    """Share of a change that the model may err by, as a standard error."""
    return DRAM_SHARE if metric == "dram_efficiency" else MODEL_SHARE
