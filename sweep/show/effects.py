"""Effects of parameters on a metric: how much each moves it alone, and how much two do beyond the sum of both.

An analysis of variance on the logarithm of the metric, less the mean of its trace. In a full grid the parts are exact;
in other samples values are averaged over what else varies, so that effects of few points are rough.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from rayplay.formats.guard import exact
from rayplay.sweep.show.table import Row

MOST_VALUES = 8  # of a parameter; more are joined into that many ranges


class Effect(NamedTuple):
    """Effect of one parameter: the mean change of the metric at each value from the mean of all; share of variance."""

    name: str
    values: list[str]
    changes: list[float]
    share: float


class Interaction(NamedTuple):
    """Two parameters: share of the variance beyond their sum; ``changes`` by value of the first, then the second."""

    names: tuple[str, str]
    values: tuple[list[str], list[str]]
    changes: list[list[float | None]]
    share: float


def effects(rows: Sequence[Row], names: Sequence[str], metric: str) -> tuple[list[Effect], list[Interaction]]:
    """Effects of the parameters that vary, the largest share first; of done points that are no twins."""
    done = [row for row in rows if row["status"] == "done" and not row["twin"] and row.get(metric)]
    if not done:
        return [], []
    logs = np.array([exact.log(row[metric]) for row in done])
    _, trace = np.unique([row["trace"] for row in done], return_inverse=True)
    logs = logs - (np.bincount(trace, logs) / np.bincount(trace))[trace]
    total = float((logs**2).sum()) or 1.0
    levels = {name: _levels([row.get(name) for row in done]) for name in names}
    levels = _joined({name: found for name, found in levels.items() if len(found[0]) > 1})
    singles = [_effect(name, *levels[name], logs, total) for name in levels]
    pairs = [_interaction((a, b), levels, logs, total) for a, b in combinations(levels, 2)]
    return sorted(singles, key=lambda each: -each.share), sorted(pairs, key=lambda each: -each.share)


def _joined(levels: dict[str, tuple[list[str], np.ndarray]]) -> dict[str, tuple[list[str], np.ndarray]]:
    """Parameters that move together, as the axes of a zip do, are one: no data tells their effects apart."""
    found: dict[str, tuple[list[str], np.ndarray]] = {}
    for name, (values, level) in levels.items():
        same = next((each for each, (_, other) in found.items() if np.array_equal(level, other)), None)
        if same is None:
            found[name] = values, level
        else:
            names, other = found.pop(same)
            joined = [f"{one} / {two}" for one, two in zip(names, values, strict=True)]
            found[f"{same} / {name.rpartition('.')[2]}"] = joined, other
    return found


def _levels(values: list[Any]) -> tuple[list[str], np.ndarray]:
    """Names of a parameter's values, sorted, and the number of each row's."""
    numbers = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)
    distinct = sorted(set(values), key=lambda value: value if numbers else str(value))
    if numbers and len(distinct) > MOST_VALUES:
        parts = np.array_split(np.array(distinct), MOST_VALUES)
        names = [f"{part[0]:g} to {part[-1]:g}" for part in parts]
        edges = np.array([part[0] for part in parts[1:]])
        return names, np.searchsorted(edges, np.array(values), side="right")
    place = {value: number for number, value in enumerate(distinct)}
    return [str(value) or "none" for value in distinct], np.array([place[value] for value in values])


def _effect(name: str, names: list[str], level: np.ndarray, logs: np.ndarray, total: float) -> Effect:
    means = np.bincount(level, logs, len(names)) / np.maximum(np.bincount(level, minlength=len(names)), 1)
    share = float((means[level] ** 2).sum()) / total
    return Effect(name, names, [exact.exp(mean) - 1 for mean in means.tolist()], share)


def _interaction(
    names: tuple[str, str], levels: dict[str, tuple[list[str], np.ndarray]], logs: np.ndarray, total: float
) -> Interaction:
    (first, one), (second, other) = levels[names[0]], levels[names[1]]
    cell = one * len(second) + other
    count = np.bincount(cell, minlength=len(first) * len(second))
    mean = np.bincount(cell, logs, len(count)) / np.maximum(count, 1)
    alone = [np.bincount(level, logs) / np.maximum(np.bincount(level), 1) for level in (one, other)]
    beyond = mean[cell] - alone[0][one] - alone[1][other] + logs.mean()
    share = float((beyond**2).sum()) / total
    grid: list[list[float | None]] = [
        [exact.exp(float(mean[a * len(second) + b])) - 1 if count[a * len(second) + b] else None
         for b in range(len(second))]
        for a in range(len(first))
    ]  # fmt: skip
    return Interaction(names, (first, second), grid, share)
