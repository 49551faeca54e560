"""Which designs may still be on the Pareto front, when few are known exactly and all by a cheaper measure.

The cheap measure x of a design (its estimates, or its replays on the cheapest trace) tells the exact value y as
y = a + b x, fitted to the designs that are known both ways. The 99 % prediction interval of that line bounds the others
(N. R. Draper, H. Smith, Applied Regression Analysis, 3rd edition, 3.1). A design is out when some exactly known one
is at least as good as the best that its interval allows.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rayplay.formats.guard import exact
from rayplay.zatel.sample.intervals import quantile

CONFIDENCE = 0.99
LEAST_KNOWN = 4  # designs known both ways, from which a slope and a spread mean anything


class Line(NamedTuple):
    """The fitted line, and the spread around it with its degrees of freedom."""

    slope: float
    offset: float
    spread: float
    degrees: int
    known: int
    middle: float
    moment: float

    def bounds(self, x: float) -> tuple[float, float]:
        """Prediction interval of y."""
        far = (x - self.middle) ** 2 / self.moment
        half = quantile(CONFIDENCE, self.degrees) * self.spread * math.sqrt(1.0 + 1.0 / self.known + far)
        y = self.offset + self.slope * x
        return y - half, y + half


def fitted(x: Sequence[float], y: Sequence[float]) -> Line | None:
    """The line of least squares; None for too few designs, and for designs of one x, which tell no slope."""
    if len(x) < LEAST_KNOWN or len(set(x)) < 2:
        return None
    slope, offset = exact.line(x, y)
    residuals = [b - offset - slope * a for a, b in zip(x, y, strict=True)]
    degrees = len(x) - 2
    spread = exact.length(*residuals) / math.sqrt(degrees)
    middle = exact.mean(x)
    return Line(slope, offset, spread, degrees, len(x), middle, math.fsum((each - middle) ** 2 for each in x))


class Candidate(NamedTuple):
    """A design: objective -> best and worst that it may be, less is better; equal where it is known."""

    number: int
    best: tuple[float, ...]
    worst: tuple[float, ...]
    is_known: bool


def undecided(designs: Sequence[Candidate]) -> list[Candidate]:
    """Designs that are not known and may be on the front: no known one is as good as their best in every objective.

    The most promising first: by the margin that their best has over the known ones.
    """
    known = [each.worst for each in designs if each.is_known]
    found = []
    for each in designs:
        if not each.is_known and not any(_as_good(one, each.best) for one in known):
            found.append((_margin(each.best, known), each.number, each))
    return [each for _, _, each in sorted(found, key=lambda item: (-item[0], item[1]))]


def _as_good(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return all(a <= b for a, b in zip(one, other, strict=True))


def _margin(best: tuple[float, ...], known: Sequence[tuple[float, ...]]) -> float:
    """The least improvement that a design promises over a known one in the objective in which it promises most."""
    return min((max(b - a for a, b in zip(best, one, strict=True)) for one in known), default=float("inf"))


def candidates(
    x: Mapping[int, tuple[float, ...]], y: Mapping[int, tuple[float, ...]], fixed: Mapping[int, tuple[float, ...]]
) -> list[Candidate]:
    """Bounds of every design. x, y: cheap and exact values of the metrics; fixed: objectives that need no replay."""
    both = sorted(x.keys() & y.keys())
    count = len(next(iter(x.values())))
    lines = [fitted([x[d][at] for d in both], [y[d][at] for d in both]) for at in range(count)]
    found = []
    for number in sorted(x):
        if number in y:
            best = worst = y[number]
        else:
            unbounded = float("-inf"), float("inf")
            ends = [line.bounds(x[number][at]) if line else unbounded for at, line in enumerate(lines)]
            best, worst = tuple(low for low, _ in ends), tuple(high for _, high in ends)
        found.append(Candidate(number, best + fixed[number], worst + fixed[number], number in y))
    return found
