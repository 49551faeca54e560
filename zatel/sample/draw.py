"""Stratified sample of the CTAs of a launch.

Strata are runs of consecutive CTAs in launch order, equally long up to one CTA. They cover the image from top to
bottom and the launch from ramp-up to drain. In each, a simple random sample of two CTAs is drawn without replacement:
two are the fewest that show the variance within a stratum (W. G. Cochran, *Sampling Techniques*, 5A.11).

512 CTAs and a fraction of 0.1 give 26 strata of 19 or 20 CTAs.
"""

import numpy as np

from rayplay.formats.guard.errors import UserError

OF_STRATUM = 2  # CTAs drawn of each
LEAST_CTAS = 8  # four strata: fewer leave too few degrees of freedom for an interval (Student's t of 3 is 3.2)


def draw(count: int, fraction: float, seed: int) -> np.ndarray:
    """Draw about ``fraction`` of ``count`` CTAs, an even number or all: bool[CTAs].

    The same inputs give the same sample. Raises ``UserError`` for fewer than ``LEAST_CTAS``.
    """
    wanted = min(count, round(fraction * count))
    if wanted < min(LEAST_CTAS, count):
        least = LEAST_CTAS / count
        raise UserError(
            f"--fraction must give at least {LEAST_CTAS} of the {count} CTAs, {least:.3f}, not {fraction:g}"
        )
    if wanted == count:
        return np.ones(count, bool)
    strata = wanted // OF_STRATUM
    stratum = np.arange(count) * strata // count
    random = np.random.default_rng([seed, wanted]).random(count)
    first = np.searchsorted(stratum, np.arange(strata))
    drawn = np.lexsort((random, stratum))[first[:, None] + np.arange(OF_STRATUM)]
    chosen = np.zeros(count, bool)
    chosen[drawn] = True
    return chosen
