"""How wide an interval must be: what many estimates of many scenes were off by, in ``model_errors.csv``.

Estimates of one scene on one GPU are off for two reasons. Samples differ: the stretches of a replay say by how much,
but more than is true, for samples are balanced and most metrics corrected by what all pixels do. And the machine and
the schedule are wrong alike for every sample; that differs from scene to scene and takes most of the width. Both are
learned from the table. A scene that nobody has seen is one more draw, predicted from the n scenes of the table: with
the factor 1 + 1 / n for the variance and Student's t of n - 1 degrees.
``bench/accuracy/learn_model_errors.py`` writes the table.

How much is wrong depends on how often warps fill the whole GPU, its rounds: where all of them find a place at once the
longest decide when it ends, and a machine with few SMs, whose places are filled anew, has another time. So estimates of
like rounds are compared, from samples of like size.
"""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rayplay.zatel.sample.intervals import Interval, interval

TABLE = Path(__file__).with_name("model_errors.csv")
COLUMNS = ("scene", "gpu", "fraction", "warps", "rounds", "trials", "metric", "error", "spread", "sampling_error")


class Spread(NamedTuple):
    """How far the estimates of a metric were off for one scene and GPU; all of the following relative to the estimate.

    warps           of a sample.
    rounds          of all warps: their number by that of the places for warps on the whole GPU.
    error           root mean square of the errors of ``trials`` samples.
    spread          their standard deviation, 0 for a single one.
    sampling_error  root mean square of their standard errors by their stretches.
    """

    scene: str
    gpu: str
    fraction: float
    warps: int
    rounds: float
    trials: int
    metric: str
    error: float
    spread: float
    sampling_error: float


class Doubt(NamedTuple):
    """What is added to what an estimate says of itself.

    share    of the standard error by the stretches that is true.
    machine  standard error of what is wrong however many pixels are sampled, for one more scene.
    degrees  of freedom that this is known with.
    """

    share: float
    machine: float
    degrees: int


def read_table(path: Path = TABLE) -> list[Spread]:
    """The rows of a table of errors."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = [[row[name] for name in COLUMNS] for row in csv.DictReader(file)]
    return [
        Spread(scene, gpu, float(fraction), int(warps), float(rounds), int(trials), metric, *map(float, errors))
        for scene, gpu, fraction, warps, rounds, trials, metric, *errors in rows
    ]


def doubts(rows: Sequence[Spread], warps: int, rounds: float) -> dict[str, Doubt]:
    """Metric -> the doubt about samples of ``warps`` where all warps fill the GPU ``rounds`` times.

    Of the rows those count whose samples and rounds come nearest, by powers of four. The share is the median over all
    scenes and GPUs with several trials, at most 1; the machine's error follows from the mean square over scenes and
    GPUs, each of which counts the same. A bias is part of it.
    """
    known, here = np.array([(row.warps, row.rounds) for row in rows]), np.array([warps, rounds])
    away = np.abs(np.log2(known) // 2 - np.log2(here) // 2).sum(axis=1)
    near = [row for row, far in zip(rows, away, strict=True) if far == away.min()]
    found = {}
    for metric in dict.fromkeys(row.metric for row in near):
        several = [row for row in rows if row.metric == metric and row.trials > 1 and row.sampling_error]
        share = min(float(np.median([row.spread / row.sampling_error for row in several])), 1.0) if several else 1.0
        mine = [row for row in near if row.metric == metric]
        sampled = [row.spread if row.trials > 1 else share * row.sampling_error for row in mine]
        left = [max(row.error**2 - part**2, 0.0) for row, part in zip(mine, sampled, strict=True)]
        scenes = len({row.scene for row in mine})
        machine = float(np.sqrt(np.mean(left) * (1.0 + 1.0 / scenes)))
        found[metric] = Doubt(share, machine, max(scenes - 1, 1))
    return found


def bounds(estimate: float, error: float, degrees: int, doubt: Doubt, left: float) -> Interval:
    """The 95 % interval around ``estimate``.

    error, degrees  its standard error by its stretches, and the degrees of freedom of that.
    left            part of the machine's error that is left; 0 where the machine is the whole GPU with all warps.
    """
    return interval(estimate, error * doubt.share, min(degrees, doubt.degrees), doubt.machine * left)
