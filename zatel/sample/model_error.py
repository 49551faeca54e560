"""Model error of an estimate, learned from many estimates of many scenes (``model_errors.csv``).

The error of an estimate has two components. Sampling error: the variance of a replay's strata overstates it, since
samples are balanced and most metrics are corrected by control variates. Model error: the smaller machine and the
schedule are wrong alike for every sample of a scene. It is a random effect of the scene and most of the interval's
width. Both are learned from the table. A new scene is one more draw than the table's n: its variance is the mean
squared effect times 1 + 1 / n, with Student's t of n - 1 degrees of freedom.
``bench/accuracy/learn_model_errors.py`` writes the table.

The effect depends on rounds, the times that all warps fill the whole GPU. In one round the longest warps decide the
end; a machine with few SMs, whose slots are refilled, ends by throughput. It also depends on the steps of a warp: with
short warps (shadows, ambient occlusion) the start and the end of a launch are most of it. So only estimates of like
rounds, like sample size and like warps are compared. Launches without rays are a population of their own, which is
small and not divided further.
"""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rayplay.formats.guard import exact
from rayplay.zatel.sample.intervals import Interval, interval

TABLE = Path(__file__).with_name("model_errors.csv")
COMPUTE = "-compute"  # ends the name of a launch without rays
LONG_STEPS = 512  # from which on warps are long; of four rules the best by left-out coverage (docs/estimate.md)


class Spread(NamedTuple):
    """Errors of a metric's estimates for one scene and GPU, relative to the estimate.

    scene           its name, or scene and workload as in ``bunny-shadows``; a kernel's, as in ``stencil-compute``.
    warps           of a sample.
    rounds          all warps / warp slots of the whole GPU.
    steps           of a warp, the mean of all (``model.traffic.Stream.steps``).
    error           root mean square of the errors of ``trials`` samples.
    spread          standard deviation of the estimates, 0 for a single one.
    sampling_error  root mean square of the standard errors from the replays' strata.
    """

    scene: str
    gpu: str
    fraction: float
    warps: int
    rounds: float
    steps: float
    trials: int
    metric: str
    error: float
    spread: float
    sampling_error: float


class ModelError(NamedTuple):
    """Corrections to the sampling error of an estimate.

    share    real share of the standard error from the replay's strata.
    effect   standard error of the scene's effect, for one more scene.
    degrees  degrees of freedom of ``effect``.
    """

    share: float
    effect: float
    degrees: int


def read_table(path: Path = TABLE) -> list[Spread]:
    """Read a table of errors."""
    with path.open(newline="", encoding="utf-8") as file:
        kinds = Spread.__annotations__.items()
        return [Spread(*(kind(row[name]) for name, kind in kinds)) for row in csv.DictReader(file)]


def model_errors(
    rows: Sequence[Spread], warps: int, rounds: float, steps: float, is_traced: bool = True
) -> dict[str, ModelError]:
    """Metric -> model error for samples of ``warps`` of ``steps`` each where all warps fill the GPU ``rounds`` times.

    is_traced  whether the launch traces rays; rows of others teach nothing.

    Only the rows with the nearest sample size and rounds count, by powers of four, and with as long or as short warps.
    The share squared is the pooled ratio of variances over all scenes and GPUs with several trials, each by its degrees
    of freedom, at most 1: a median of such ratios is too small where trials are few. The effect is the root mean square
    over scenes and GPUs with equal weight; a bias is part of it. It is at least the standard error of the mean of a
    scene's trials, which do not tell a smaller effect.
    """
    rows, found = alike(rows, is_traced), {}
    near = nearest(rows, warps, rounds, steps) if is_traced else rows
    for metric in dict.fromkeys(row.metric for row in near):
        share = pooled_share([row for row in rows if row.metric == metric])
        mine = [row for row in near if row.metric == metric]
        sampled = [row.spread if row.trials > 1 else share * row.sampling_error for row in mine]
        both = zip(mine, sampled, strict=True)
        left = [max(row.error**2 - part**2, part**2 / row.trials) for row, part in both]  # at least the mean's variance
        scenes = len({scene_of(row.scene) for row in mine})
        effect = float(np.sqrt(np.mean(left) * (1.0 + 1.0 / scenes)))
        found[metric] = ModelError(share, effect, max(scenes - 1, 1))
    return found


def pooled_share(rows: Sequence[Spread]) -> float:
    """Standard deviation of trials / their standard errors, pooled; 1 where no row has several trials, and at most."""
    several = [row for row in rows if row.trials > 1 and row.sampling_error]
    if not several:
        return 1.0
    ratios = [(row.spread / row.sampling_error) ** 2 for row in several]
    return min(float(np.sqrt(np.average(ratios, weights=[row.trials - 1 for row in several]))), 1.0)


def alike(rows: Sequence[Spread], is_traced: bool) -> list[Spread]:
    """The rows of launches that trace rays, or of launches that trace none."""
    return [row for row in rows if row.scene.endswith(COMPUTE) != is_traced]


def nearest(rows: Sequence[Spread], warps: int, rounds: float, steps: float) -> list[Spread]:
    """The rows of the nearest class; arguments as of ``model_errors``."""
    here = _class_of(warps, rounds, steps)
    away = [
        sum(abs(its - own) for its, own in zip(_class_of(row.warps, row.rounds, row.steps), here, strict=True))
        for row in rows
    ]
    return [row for row, far in zip(rows, away, strict=True) if far == min(away)]


def scene_of(name: str) -> str:
    """Scene of a row, without its workload: ``bunny`` of ``bunny-shadows``."""
    return name.partition("-")[0]


def _class_of(warps: int, rounds: float, steps: float) -> tuple[int, int, int]:
    return _power_of_four(warps), _power_of_four(rounds), int(steps >= LONG_STEPS)


def _power_of_four(value: float) -> int:
    """Largest n with 4^n at most ``value``."""
    return exact.floor_log2(value) // 2


def bounds(estimate: float, error: float, degrees: int, known: ModelError, left: float) -> Interval:
    """95 % interval around ``estimate``.

    error, degrees  standard error from the replay's strata, and its degrees of freedom.
    left            remaining factor of the scene's effect: 0 when all warps run on the whole GPU.
    """
    return interval(estimate, error * known.share, min(degrees, known.degrees), known.effect * left)
