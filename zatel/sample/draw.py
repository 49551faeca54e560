"""Stratified, balanced sample of the CTAs of a launch.

Strata are runs of consecutive CTAs in launch order, equally long, one for each CTA to be drawn. They cover the image
from top to bottom and the launch from ramp-up to drain. One CTA of each stratum is drawn. Of ``DRAWS`` such samples the
best balanced is taken: its means of the auxiliary variables (work known of every CTA) come nearest to the population's.

512 CTAs and a fraction of 0.1 give 51 strata of 10 or 11 CTAs.
"""

import numpy as np

from rayplay.formats.guard.errors import UserError

DRAWS = 64
LEAST_CTAS = 8


def draw(controls: np.ndarray, fraction: float, seed: int) -> np.ndarray:
    """Draw about ``fraction`` of the CTAs, balanced on the auxiliary variables ``controls``, float64[CTAs, n].

    Returns bool[CTAs]. The same inputs give the same sample. Raises ``UserError`` for fewer than ``LEAST_CTAS``.
    """
    count = len(controls)
    wanted = min(count, round(fraction * count))
    if wanted < (least := min(LEAST_CTAS, count)):
        raise UserError(
            f"--fraction must give at least {least} of the {count} CTAs, {least / count:.3f}, not {fraction:g}"
        )
    stratum = np.arange(count) * wanted // count
    first = np.searchsorted(stratum, np.arange(wanted))
    size = np.bincount(stratum, minlength=wanted)
    random = np.random.default_rng([seed, wanted])
    tried = first + (random.random((DRAWS, wanted)) * size).astype(np.int64)
    best = tried[imbalance(controls, tried).argmin()]
    chosen = np.zeros(count, bool)
    chosen[best] = True
    return chosen


def imbalance(controls: np.ndarray, tried: np.ndarray) -> np.ndarray:
    """Imbalance of each sample, float64[samples], for int64[samples, CTAs].

    The deviation of the sample's mean from the population's, in standard deviations, squared and summed over variables.
    """
    spread = controls.std(axis=0)
    known = spread > 0
    off = (controls[tried].mean(axis=1) - controls.mean(axis=0))[:, known] / spread[known]
    return np.asarray((off**2).sum(axis=1))
