"""Which designs are on the Pareto front, with what probability, and which point says most about the open ones.

Draws of all designs' objectives together, from ``surrogate``, each have a front. A design is on it unless another is
at least as good in every objective; its margin is how far the nearest other is from that. A point is worth the share of
an open margin's variance that its replay would take away, by the seconds that it takes: active learning of a front (M.
Zuluaga, A. Krause, M. Pueschel, e-PAL, JMLR 17, 2016, sections 4 and 5, with margins of pairs in place of boxes).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rayplay.sweep.explore.surrogate import Draw

MOST_DRAWN, LEAST_DRAWN, MOST_VALUES = 96, 8, 500_000  # joint draws for each of the hyperparameters, by designs
TAIL = 2.5  # percent beyond each end of an interval


class Opinion(NamedTuple):
    """Verdict of the draws on every design.

    on_front  float64[designs]: probability of each.
    doubt     float64[designs]: that its majority is wrong. Sum: expected number of designs judged wrongly.
    rival     int64[designs]: the other that most often decides.
    metric    int64[designs]: the metric in which it does.
    values    float64[metrics, 3, designs]: median, and the ends of the 95 % interval.
    """

    on_front: np.ndarray
    doubt: np.ndarray
    rival: np.ndarray
    metric: np.ndarray
    values: np.ndarray


def opinion(
    draws: Sequence[Sequence[Draw]], exact: np.ndarray, fixed: np.ndarray, chance: np.random.Generator
) -> Opinion:
    """Probabilities of the front.

    draws  by metric, each the same number.
    exact  float64[designs, metrics], NaN where a point is missing; fixed: float64[designs, others]. Less is better.
    """
    designs, metrics = exact.shape
    count = int(np.clip(MOST_VALUES // designs**2, LEAST_DRAWN, MOST_DRAWN))
    drawn = np.concatenate([
        np.stack([_drawn(each, exact[:, at], count, chance) for at, each in enumerate(together)], axis=2)
        for together in zip(*draws, strict=True)
    ])  # fmt: skip
    allowed = (fixed[:, None, :] <= fixed[None, :, :]).all(axis=2)  # [rival, design]: rival is as good in these
    better = (fixed[:, None, :] < fixed[None, :, :]).any(axis=2)
    allowed &= ~np.eye(designs, dtype=bool)
    every = np.arange(designs)
    votes, rivals, leading = np.zeros(designs), np.zeros((designs, designs)), np.zeros((designs, metrics))
    for values in drawn:
        behind = values[:, None, :] - values[None, :, :]  # [rival, design, metric]: how much the rival is worse
        worst = behind.max(axis=2)
        strict = better | (behind.min(axis=2) < 0)
        votes += ~(allowed & (worst <= 0) & strict).any(axis=0)
        nearest = np.where(allowed, worst, np.inf).argmin(axis=0)
        rivals[every, nearest] += 1
        leading[every, behind[nearest, every].argmax(axis=1)] += 1
    on_front = votes / len(drawn)
    on_front[~allowed.any(axis=0)] = 1.0
    ends = np.percentile(drawn, [50.0, TAIL, 100.0 - TAIL], axis=0).transpose(2, 0, 1)
    doubt = np.minimum(on_front, 1.0 - on_front)
    return Opinion(on_front, doubt, rivals.argmax(axis=1), leading.argmax(axis=1), ends)


def _drawn(draw: Draw, exact: np.ndarray, count: int, chance: np.random.Generator) -> np.ndarray:
    """Joint draws of a metric, float64[count, designs]; a value that is exact stays."""
    open_ones = np.flatnonzero(np.isnan(exact))
    found = np.tile(np.where(np.isnan(exact), draw.mean, exact), (count, 1))
    if len(open_ones):
        values, vectors = np.linalg.eigh(draw.cov[np.ix_(open_ones, open_ones)])
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        found[:, open_ones] += chance.standard_normal((count, len(open_ones))) @ root.T
    return found


def most_telling(
    draws: Sequence[Sequence[Draw]], found: Opinion, missing: np.ndarray, seconds: np.ndarray, count: int
) -> list[int]:
    """The ``count`` missing points that say most for their seconds, as design * columns + column.

    missing, seconds  bool, float64 [designs, columns].
    """
    open_ones = np.flatnonzero(found.doubt > 0)
    told = [_told(together, found, open_ones) for together in zip(*draws, strict=True)]
    share = np.mean(told, axis=0)  # of the variance of an open design's margin, by design and point
    left, free, chosen = found.doubt[open_ones].copy(), missing.ravel().copy(), list[int]()
    while len(chosen) < count and free.any():
        worth = np.where(free, left @ share / seconds.ravel(), -1.0)
        chosen.append(int(worth.argmax()))
        free[chosen[-1]] = False
        left *= 1.0 - share[:, chosen[-1]]
    return chosen


def _told(together: Sequence[Draw], found: Opinion, open_ones: np.ndarray) -> np.ndarray:
    """Share of the variance of each open margin that each point would take away, float64[open, points]."""
    rows = []
    for design in open_ones.tolist():
        rival, draw = int(found.rival[design]), together[int(found.metric[design])]
        variance = draw.cov[design, design] + draw.cov[rival, rival] - 2.0 * draw.cov[design, rival]
        reach = draw.reach[rival] - draw.reach[design]
        rows.append(np.minimum(reach**2 / draw.spread / max(variance, 1e-300), 1.0))
    return np.array(rows)
