"""Speed-up law, equation (4): speed-up of a simulation as a power of the percentage of pixels it keeps."""

from collections.abc import Sequence

import numpy as np

PAPER = (181.0, -1.15)  # 181 * perc^-1.15 for perc >= 10 %


def fit_speedup(percentages: Sequence[float], speedups: Sequence[float]) -> tuple[float, float]:
    """Factor and exponent of ``factor * perc ** exponent``, by least squares of the logarithms.

    ``ValueError`` for fewer than two different percentages.
    """
    if len(set(percentages)) < 2:
        raise ValueError(f"must have two different percentages at least, not {sorted(set(percentages))}")
    exponent, logarithm = np.polyfit(np.log(percentages), np.log(speedups), 1)
    return float(np.exp(logarithm)), float(exponent)


def speedup(percentage: np.ndarray, law: tuple[float, float] = PAPER) -> np.ndarray:
    """Speed-up that the law predicts for percentages of pixels in (0, 100]."""
    return law[0] * np.asarray(percentage, np.float64) ** law[1]
