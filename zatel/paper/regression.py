"""Exponential regression: three fractions of a group's pixels to all of them (Zatel III-G and IV-F).

The paper proposes it because the error of a prediction falls exponentially with the fraction simulated, and does not
write the model down. Here the prediction from a fraction f is taken to be y(f) = a + b * exp(-c * f), with c > 0, and
y(1) is the answer: three points determine the three numbers where their differences shrink; where they do not, the
least squares are taken. Cycles enter as the linear extrapolation of each fraction, all other metrics as they are.
"""

import math
from collections.abc import Sequence

from scipy.optimize import minimize_scalar

from rayplay.formats.guard import exact
from rayplay.zatel.replays.metrics import RULES, Metrics, extrapolate

STEPS = 40
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
    x, y = [float(each) for each in fractions], [float(each) for each in values]
    if max(y) - min(y) <= 1e-12 * max(map(abs, y)):
        return y[-1]
    low, high = exact.log(LEAST_RATE), exact.log(MOST_RATE)
    # the least of a grid, then the least around it: the residual has several valleys
    starts = [low + (high - low) * step / STEPS for step in range(STEPS + 1)]
    best = min(range(len(starts)), key=lambda step: _fit(x, y, starts[step])[0])
    around = (starts[max(best - 1, 0)], starts[min(best + 1, STEPS)])
    found = minimize_scalar(lambda rate: _fit(x, y, rate)[0], bounds=around, method="bounded",
                            options={"xatol": 1e-12}).x  # fmt: skip
    return _fit(x, y, found)[1]


def _fit(x: Sequence[float], y: Sequence[float], log_rate: float) -> tuple[float, float]:
    """Squares left over by the best a and b for the rate c, relative to the values' own, and y(1)."""
    rate = exact.exp(log_rate)
    curve = [exact.exp(-rate * (each - x[0])) for each in x]
    middle = exact.mean(curve)
    deviation = [each - middle for each in curve]
    products = math.fsum(off * each for off, each in zip(deviation, y, strict=True))
    slope = products / math.fsum(off * off for off in deviation)
    offset = exact.mean(y) - slope * middle
    left = [each - offset - slope * at for each, at in zip(y, curve, strict=True)]
    squares = math.fsum(each * each for each in left)
    return squares / (max(y) - min(y)) ** 2, offset + slope * exact.exp(-rate * (1.0 - x[0]))
