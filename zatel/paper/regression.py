"""Exponential regression: three fractions of a group's pixels to all of them (Zatel III-G and IV-F).

The paper proposes it because the error of a prediction falls exponentially with the fraction simulated, and does not
write the model down. Here the prediction from a fraction f is taken to be y(f) = a + b * exp(-c * f), with c > 0, and
y(1) is the answer: three points determine the three numbers where their differences shrink; where they do not, the
least squares are taken. Cycles enter as the linear extrapolation of each fraction, all other metrics as they are.
"""

from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize_scalar

from rayplay.zatel.replays.metrics import RULES, Metrics, extrapolate

LEAST_RATE, MOST_RATE = 0.1, 100.0  # of c: a nearly straight line, and a constant from the second point on


def regress(fractions: Sequence[float], groups: Sequence[Metrics]) -> dict[str, float | None]:
    """The metrics of a group at all its pixels, from those at each of three ``fractions``."""
    linear = [extrapolate(metrics, fraction) for metrics, fraction in zip(groups, fractions, strict=True)]
    found: dict[str, float | None] = {}
    for name in RULES:
        values = [known for metrics in linear if (known := metrics[name]) is not None]
        found[name] = at_all_pixels(fractions, values) if len(values) == len(linear) else None
    return found


def at_all_pixels(fractions: Sequence[float], values: Sequence[float]) -> float:
    """y(1) of the exponential through the points, or of the nearest one; values that do not vary stay as they are."""
    x, y = np.asarray(fractions, np.float64), np.asarray(values, np.float64)
    if np.ptp(y) <= 1e-12 * np.abs(y).max():
        return float(y[-1])
    starts = np.linspace(
        np.log(LEAST_RATE), np.log(MOST_RATE), 41
    )  # the least of a grid, then the least around it: the residual has several valleys
    best = int(np.argmin([_fit(x, y, rate)[0] for rate in np.exp(starts)]))
    around = (starts[max(best - 1, 0)], starts[min(best + 1, len(starts) - 1)])
    rate = minimize_scalar(lambda log: _fit(x, y, np.exp(log))[0], bounds=around, method="bounded",
                           options={"xatol": 1e-12}).x  # fmt: skip
    return _fit(x, y, float(np.exp(rate)))[1]


def _fit(x: np.ndarray, y: np.ndarray, rate: float) -> tuple[float, float]:
    """Squares left over by the best a and b for the rate c, relative to the values' own, and y(1)."""
    curve = np.exp(-rate * (x - x[0]))
    deviation = curve - curve.mean()
    slope = float(deviation @ y / (deviation @ deviation))
    offset = float(y.mean() - slope * curve.mean())
    left = y - offset - slope * curve
    return float(left @ left) / float(np.ptp(y)) ** 2, offset + slope * float(np.exp(-rate * (1.0 - x[0])))
