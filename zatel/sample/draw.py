"""Which CTAs represent the image: one of each stratum, so that every part of the launch has its share.

The strata are runs of CTAs that follow each other in launch order, as many as CTAs are wanted and equally long: they
cover the image from the top down, and the launch from its ramp-up to its drain. One CTA of each is drawn. Of a few
dozen such samples the one is taken whose controls (work that is known of every CTA) come nearest to their totals.
"""

from typing import NamedTuple

import numpy as np

from rayplay.formats.guard.errors import UserError

DRAWS = 64
LEAST_CTAS = 8


class Sample(NamedTuple):
    """CTAs that were drawn.

    chosen       bool[CTAs].
    probability  float64[CTAs], how likely each was to be drawn before the draws were compared: the same for all.
    stratum      int64[CTAs], the run of CTAs that each belongs to.
    """

    chosen: np.ndarray
    probability: np.ndarray
    stratum: np.ndarray


def draw(controls: np.ndarray, fraction: float, seed: int) -> Sample:
    """A stratified sample of about ``fraction`` of the CTAs, whose known ``controls``, float64[CTAs, n], are balanced.

    The same inputs give the same sample. Raises ``UserError`` when that would be fewer than ``LEAST_CTAS``.
    """
    count = len(controls)
    wanted = min(count, round(fraction * count))
    if wanted < min(LEAST_CTAS, count):
        least = LEAST_CTAS / count
        raise UserError(
            f"--fraction must give at least {LEAST_CTAS} of the {count} CTAs, {least:.3f}, not {fraction:g}"
        )
    stratum = np.arange(count) * wanted // count
    first = np.searchsorted(stratum, np.arange(wanted))
    size = np.bincount(stratum, minlength=wanted)
    random = np.random.default_rng([seed, wanted])
    tried = first + (random.random((DRAWS, wanted)) * size).astype(np.int64)
    best = tried[imbalance(controls, tried).argmin()]
    chosen = np.zeros(count, bool)
    chosen[best] = True
    return Sample(chosen, np.full(count, wanted / count), stratum)


def imbalance(controls: np.ndarray, tried: np.ndarray) -> np.ndarray:
    """float64[samples]: how far the means of each sample, int64[samples, CTAs], are from those of all CTAs.

    In standard deviations of the control, squared and summed over the controls.
    """
    spread = controls.std(axis=0)
    known = spread > 0
    off = (controls[tried].mean(axis=1) - controls.mean(axis=0))[:, known] / spread[known]
    return np.asarray((off**2).sum(axis=1))
