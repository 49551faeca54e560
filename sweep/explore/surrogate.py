"""A Gaussian process over designs and traces: what the replays so far say of the points that were not replayed.

A metric of design d in column t (a trace, or the samples of one) is

    z[d, t] = b_t + a_t f(d) + h_t(d) + e

with a level b_t, an effect f that all traces share with weights a_t, one of the trace's own h_t, and the chaos of a
replay e; samples of t share h_t, and have an error and a noise of their own (E. V. Bonilla, K. M. A. Chai, C. K. I.
Williams, Multi-task Gaussian Process Prediction, NIPS 2007). Effects of designs have an ANOVA kernel over the axes,
product of (1 + w_j k_j) - 1: main effects and interactions (N. Durrande, D. Ginsbourger, O. Roustant, L. Carraro,
ANOVA kernels and RKHS of zero mean functions, 2013, section 2). k_j is a Matern kernel with nu = 3/2 of numbers, and
equality of names. What designs have in common cancels in their differences, for the process is joint. Its
hyperparameters are not fitted but sampled, so that few data give wide bounds: elliptical slice sampling (I. Murray, R.
P. Adams, D. J. C. MacKay, AISTATS 2010, figure 2).
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

LEVEL = 100.0  # variance of b_t, of a metric scaled to variance 1: it says nothing
# Priors of the hyperparameters, log-normal: median, and standard deviation of the logarithm.
WEIGHT, LENGTH, COLUMN = (0.7, 1.4), (1.0, 0.7), (1.0, 0.7)  # of an axis, and of a column
OWN, ERROR, NOISE, CHAOS = (0.2, 1.0), (0.1, 1.0), (0.02, 1.0), (0.01, 1.5)
FIRST_STEPS = 60  # from the priors' medians to where the data are
TRUST = 4
TINY = 1e-9


class Axis(NamedTuple):
    """A parameter of the designs, float64[designs]: numbers from 0 to 1, or the numbers of names."""

    at: np.ndarray
    is_number: bool


class Draw(NamedTuple):
    """The process given data, of one draw of its hyperparameters, in the metric's own unit.

    mean   float64[designs]: means over the traces, less a common level.
    cov    float64[designs, designs]: covariance of these.
    reach  float64[designs, designs * columns]: covariance of them with every point.
    points float64[designs * columns]: mean of every point.
    spread float64[designs * columns]: variance of every point.
    """

    mean: np.ndarray
    cov: np.ndarray
    reach: np.ndarray
    points: np.ndarray
    spread: np.ndarray

    def widened(self, factor: float) -> "Draw":
        """The same means, with standard deviations ``factor`` times as large."""
        square = factor**2
        return Draw(self.mean, self.cov * square, self.reach * square, self.points, self.spread * square)


class Surprise:
    """Errors of the surrogate's predictions of points that were then replayed, in its standard deviations.

    ``factor``, at least 1, widens the next predictions: the root of the mean square (prequential calibration: A. P.
    Dawid, The prequential approach, JRSS A 147, 1984). ``TRUST`` errors of one deviation stand before the first ones.
    """

    def __init__(self) -> None:
        self.squares, self.count, self.factor = float(TRUST), TRUST, 1.0

    def add(self, draws: Sequence[Draw], values: np.ndarray, chosen: Sequence[int]) -> None:
        """Compare values, float64[points], of the points chosen with the draws made before, which were widened."""
        means = np.array([draw.points[chosen] for draw in draws])
        variance = np.mean([draw.spread[chosen] for draw in draws], axis=0) / self.factor**2 + means.var(axis=0)
        self.squares += float(np.sum((values[chosen] - means.mean(axis=0)) ** 2 / variance))
        self.count += len(chosen)
        self.factor = max(1.0, float(np.sqrt(self.squares / self.count)))


class Known(NamedTuple):
    """Points that are known: int64[points] as design * columns + column, and their values, float64[points], scaled.

    among  the same with designs counted among the known ones alone; gaps: of each axis, between these.
    """

    place: np.ndarray
    values: np.ndarray
    among: np.ndarray
    gaps: list[np.ndarray]


class Surrogate:
    """The process of one metric.

    of  int64[columns], the trace of each column. The first ``traces`` columns are replays, the others samples.
    """

    def __init__(self, axes: Sequence[Axis], designs: int, of: np.ndarray, traces: int, seed: int) -> None:
        self.designs, self.columns, self.traces, self.of = designs, len(of), traces, of
        self.gaps = [np.abs(axis.at[:, None] - axis.at[None, :]) for axis in axes]
        self.numbers = [axis.is_number for axis in axes]
        self.chance = np.random.default_rng(seed)
        priors = [WEIGHT] * len(axes) + [LENGTH] * len(axes) + [COLUMN] * self.columns
        priors += [OWN, ERROR, NOISE, CHAOS]
        self.medians, self.spreads = np.log([median for median, _ in priors]), np.array([each for _, each in priors])
        self.state, self.is_fresh = np.zeros(len(priors)), True

    def draws(self, known: np.ndarray, count: int, steps: int) -> list[Draw]:
        """``count`` draws, ``steps`` steps of the chain apart, given the points that are known.

        known  float64[designs, columns], NaN where not known; each column has a known point at least.
        """
        place = np.flatnonzero(~np.isnan(known.ravel()))
        level = np.nanmean(known, axis=0)
        values = (known - level).ravel()[place]
        scale = float(np.sqrt(np.mean(values**2))) or 1.0
        designs, inside = np.unique(place // self.columns, return_inverse=True)
        gaps = [gap[np.ix_(designs, designs)] for gap in self.gaps]
        data = Known(place, values / scale, inside * self.columns + place % self.columns, gaps)
        found, likelihood = [], -math.inf
        for number in range(count):
            for _ in range(steps + (FIRST_STEPS if self.is_fresh and not number else 0)):
                likelihood = self._step(data, likelihood)
            found.append(self._given(data, level, scale))
        self.is_fresh = False
        return found

    def _kernels(
        self, state: np.ndarray, gaps: Sequence[np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
        """Covariance of the effects of two designs, of two columns (shared, own), and each column's chaos and noise.

        gaps  of each axis, between the designs that are asked for.
        """
        count = len(gaps)
        values = np.exp(self.medians + self.spreads * state)
        effect = np.ones_like(gaps[0])
        for gap, is_number, weight, length in zip(
            gaps, self.numbers, values[:count], values[count : 2 * count], strict=True
        ):
            near = math.sqrt(3.0) * gap / length
            effect = effect * (1.0 + weight * ((1.0 + near) * np.exp(-near) if is_number else gap == 0))
        weights, (own, error, noise, chaos) = values[2 * count : -4], values[-4:]
        is_sample = np.arange(self.columns) >= self.traces
        same = own**2 * (self.of[:, None] == self.of) + error**2 * np.diag(is_sample)
        return effect - 1.0, np.outer(weights, weights) * (1.0 + same), chaos**2 + noise**2 * is_sample

    def _covariance(self, state: np.ndarray, place: np.ndarray, gaps: Sequence[np.ndarray]) -> np.ndarray:
        """Covariance of the points at ``place``, among designs that are ``gaps`` apart."""
        effect, column, chaos = self._kernels(state, gaps)
        design, at = np.divmod(place, self.columns)
        found: np.ndarray = effect[np.ix_(design, design)] * column[np.ix_(at, at)] + LEVEL * (at[:, None] == at)
        found[np.diag_indices(len(place))] += chaos[at] + TINY
        return found

    def _likelihood(self, state: np.ndarray, data: Known) -> float:
        try:
            factor = np.linalg.cholesky(self._covariance(state, data.among, data.gaps))
        except np.linalg.LinAlgError:
            return -math.inf
        solved = solve_triangular(factor, data.values, lower=True, check_finite=False)
        return -0.5 * float(solved @ solved) - float(np.log(np.diag(factor)).sum())

    def _step(self, data: Known, likelihood: float) -> float:
        """One step of the chain, whose prior is normal with variance 1; the new likelihood."""
        if likelihood == -math.inf:
            likelihood = self._likelihood(self.state, data)
        toward = self.chance.standard_normal(len(self.state))
        least = likelihood + math.log(1.0 - self.chance.random())
        angle = self.chance.uniform(0.0, 2.0 * math.pi)
        low, high = angle - 2.0 * math.pi, angle
        while True:
            tried = self.state * math.cos(angle) + toward * math.sin(angle)
            new = self._likelihood(tried, data)
            if new > least or high - low < TINY:
                self.state = tried
                return new
            low, high = (angle, high) if angle < 0 else (low, angle)
            angle = self.chance.uniform(low, high)

    def _given(self, data: Known, level: np.ndarray, scale: float) -> Draw:
        effect, column, chaos = self._kernels(self.state, self.gaps)
        place, (design, at) = data.place, np.divmod(data.place, self.columns)
        factor = np.linalg.cholesky(self._covariance(self.state, data.among, data.gaps))

        def within(right: np.ndarray) -> np.ndarray:
            solved: np.ndarray = solve_triangular(factor, right, lower=True, check_finite=False)
            return solved

        share = (np.arange(self.columns) < self.traces) / self.traces  # of a column in a design's mean
        own = chaos[0] * np.eye(self.designs)

        def mean_with(points: np.ndarray, columns: np.ndarray) -> np.ndarray:
            return effect[:, points] * (column @ share)[columns] + (LEVEL + own[:, points]) * share[columns]

        everywhere = np.divmod(np.arange(self.designs * self.columns), self.columns)
        beside = effect[design][:, everywhere[0]] * column[at][:, everywhere[1]]
        beside += LEVEL * (at[:, None] == everywhere[1])
        beside[np.arange(len(place)), place] += chaos[at]
        right = within(beside)
        mine = within(mean_with(design, at).T)
        reach = mean_with(*everywhere) - mine.T @ right
        reach[:, place] = 0.0
        alone = np.repeat(np.diag(effect), self.columns) * np.tile(np.diag(column), self.designs) + LEVEL
        alone += np.tile(chaos, self.designs)
        spread = np.maximum(alone - (right**2).sum(axis=0), TINY)
        total = effect * (share @ column @ share) + LEVEL * (share @ share) + own / self.traces
        solved = within(data.values)
        mean = mine.T @ solved * scale + float(level @ share)
        points = right.T @ solved * scale + np.tile(level, self.designs)
        return Draw(mean, (total - mine.T @ mine) * scale**2, reach * scale**2, points, spread * scale**2)
