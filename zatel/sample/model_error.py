"""Model error of an estimate, learned from many estimates of many scenes (``model_errors.csv``).

The relative error of an estimate has three components: a bias that all scenes share, an effect of the scene (the
smaller machine and the schedule err alike for every sample of it), and the sampling error. The first two are the model
error, a hierarchical term per metric: the bias is subtracted from the estimate, the effect's variance is added to the
interval. A new scene is one more draw than the table's n: its variance is the variance between scenes times 1 + 1 / n,
with n - 1 degrees of freedom. ``bench/accuracy/learn_model_errors.py`` writes the table.

Covariates: rounds, the times that all warps fill the whole GPU. In one round the longest warps decide the end; a
machine with few SMs, whose slots are refilled, ends by throughput. Warps of the sample. Steps of a warp: with short
warps (shadows, ambient occlusion) the start and the end of a launch are most of it. Only estimates of the same class
are compared. Where none is, the term is the widest of all classes, without a bias, and ``Estimate.is_known`` says so.
"""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rayplay.formats.guard import exact
from rayplay.zatel.sample.intervals import GROUPS, Interval, half_width

TABLE = Path(__file__).with_name("model_errors.csv")
COLUMNS = (
    "scene", "gpu", "fraction", "warps", "rounds", "steps", "trials", "metric", "error", "spread", "sampling_error"
)  # fmt: skip
LONG_STEPS = 512  # from which on warps are long; of four rules the best by left-out coverage (docs/estimate.md)
LEAST_SCENES = 3  # of a class: a variance between fewer has one degree of freedom or none


class Spread(NamedTuple):
    """Errors of a metric's estimates for one scene and GPU, relative to the estimate without its bias subtracted.

    scene           its name, or scene and workload as in ``bunny-shadows``.
    warps           of a sample.
    rounds          all warps / warp slots of the whole GPU.
    steps           of a warp, the mean of all (``model.traffic.Stream.steps``).
    error           mean of truth / estimate - 1 over ``trials`` samples.
    spread          standard deviation of the estimates, 0 for a single one.
    sampling_error  root mean square of the standard errors from the replays' replicates.
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
    """Term of a metric.

    bias      to add, relative to the estimate.
    effect    standard error of the scene's effect, for one more scene; ``degrees`` of freedom.
    design    real sampling error / standard error from the replicates (design effect).
    """

    bias: float
    effect: float
    degrees: int
    design: float


def read_table(path: Path = TABLE) -> list[Spread]:
    """Read a table of errors."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = [[row[name] for name in COLUMNS] for row in csv.DictReader(file)]
    return [
        Spread(
            scene, gpu, float(fraction), int(warps), float(rounds), float(steps), int(trials), metric,
            *map(float, errors),
        )
        for scene, gpu, fraction, warps, rounds, steps, trials, metric, *errors in rows
    ]  # fmt: skip


def model_errors(rows: Sequence[Spread], warps: int, rounds: float, steps: float) -> dict[str, ModelError]:
    """Metric -> model error for samples of ``warps``, of ``steps`` each; all warps fill the GPU ``rounds`` times."""
    near, found = like(rows, warps, rounds, steps), {}
    classes = [near] if near else _classes(rows) or [list(rows)]
    for metric in dict.fromkeys(row.metric for row in rows):
        several = [row for row in rows if row.metric == metric and row.trials > 1]
        drawn, said = (sum(getattr(row, name) ** 2 for row in several) for name in ("spread", "sampling_error"))
        terms = [_between(mine) for of in classes if (mine := [row for row in of if row.metric == metric])]
        bias, variance, scenes = max(terms, key=lambda term: term[0] ** 2 + term[1])
        if not near:
            bias, variance = 0.0, variance + bias**2
        effect = float(np.sqrt(variance * (1.0 + 1.0 / scenes)))
        found[metric] = ModelError(bias, effect, max(scenes - 1, 1), float(np.sqrt(drawn / said)) if said else 1.0)
    return found


def _between(rows: Sequence[Spread]) -> tuple[float, float, int]:
    """Mean of the scenes' errors, variance of one row about it, and number of scenes.

    GPUs and workloads of a scene err alike, so scenes count, not rows. The sampling variance of the rows' own means is
    left out. A mean that chance explains is shrunk towards 0 (W. James and C. Stein, 1961, positive part).
    """
    names = list(dict.fromkeys(scene_of(row.scene) for row in rows))
    means = [float(np.mean([row.error for row in rows if scene_of(row.scene) == name])) for name in names]
    mean, count = float(np.mean(means)), len(names)
    if count == 1:
        return 0.0, float(np.mean([row.error**2 for row in rows])), 1
    about = float(np.mean([(row.error - mean) ** 2 for row in rows])) * count / (count - 1)
    chance = float(np.var(means, ddof=1)) / count
    kept = max(0.0, 1.0 - chance / mean**2) if mean else 0.0
    drawn = float(np.mean([row.spread**2 / row.trials for row in rows]))
    return mean * kept, max(about + (mean * (1.0 - kept)) ** 2 - drawn, 0.0), count


def like(rows: Sequence[Spread], warps: int, rounds: float, steps: float) -> list[Spread]:
    """The rows of the same class, none if it has fewer than ``LEAST_SCENES``; arguments as of ``model_errors``.

    Warps and rounds by powers of four, warps as long or as short.
    """
    here = _class_of(warps, rounds, steps)
    found = [row for row in rows if _class_of(row.warps, row.rounds, row.steps) == here]
    return found if len({scene_of(row.scene) for row in found}) >= LEAST_SCENES else []


def _classes(rows: Sequence[Spread]) -> list[list[Spread]]:
    """The rows of each class that is known."""
    named = {_class_of(row.warps, row.rounds, row.steps): row for row in rows}
    return [found for row in named.values() if (found := like(rows, row.warps, row.rounds, row.steps))]


def scene_of(name: str) -> str:
    """Scene of a row, without its workload: ``bunny`` of ``bunny-shadows``."""
    return name.partition("-")[0]


def _class_of(warps: int, rounds: float, steps: float) -> tuple[int, int, int]:
    return _power_of_four(warps), _power_of_four(rounds), int(steps >= LONG_STEPS)


def _power_of_four(value: float) -> int:
    """Largest n with 4^n at most ``value``."""
    return exact.floor_log2(value) // 2


def unbiased(value: float | None, known: ModelError, left: float) -> float | None:
    """The estimate with the bias subtracted; ``left`` as in ``bounds``."""
    return None if value is None else value * (1.0 + known.bias * left)


def bounds(estimate: float, error: float, known: ModelError, left: float) -> Interval:
    """95 % interval around an ``unbiased`` estimate.

    error  standard error from the replicates.
    left   remaining factor of the model error: 0 when all warps run on the whole GPU.
    """
    half = half_width((error * known.design, known.effect * left), (GROUPS, known.degrees)) * abs(estimate)
    return Interval(estimate - half, estimate + half)
