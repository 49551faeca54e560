"""Designs of a sweep compared: one value an objective, over all traces, and the Pareto front.

A metric of a design is the geometric mean of its ratios to the base over traces and seeds; of shares, which may be 0,
the mean. Only a design with every point done is compared, for an average of some of its points says nothing of the
others; or one that a budgeted run has judged from its points and from like designs, with intervals.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rayplay.formats.guard import exact
from rayplay.formats.guard.digest import canonical
from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.nearest import hint
from rayplay.replay.gpu.description import Gpu
from rayplay.sweep.plan.plan import Plan
from rayplay.sweep.plan.verdict import SKIPPED, Judged, judged
from rayplay.sweep.show.table import Row, parameters
from rayplay.sweep.space.points import base_of
from rayplay.zatel.changes.noise import noise_floor

SHARES = ("_rate", "_efficiency", "_utilisation", "_occupancy", "_share")
COST = "cost"
Name = tuple[Any, ...]


class Compared(NamedTuple):
    """A design.

    name        gpu, plugin, model, method and the values of the axes.
    values      objective -> value; None while a point is missing.
    by_trace    trace -> change of the first metric from the base, None where missing.
    missing     points that have no result, of ``points``.
    bounds      objective -> ends of the 95 % interval, of a design that a budgeted run did not replay whole.
    """

    name: Name
    values: dict[str, float | None]
    by_trace: dict[str, float | None]
    missing: int
    points: int
    bounds: dict[str, tuple[float, float]]


class Comparison(NamedTuple):
    """All designs, the base and the front by number, and the noise floor of each metric (None: not measured)."""

    designs: list[Compared]
    base: int
    front: list[int]
    floor: dict[str, float] | None
    metric: str


def compare(plan: Plan, found: Sequence[Row]) -> Comparison:
    """Compare the designs of a sweep; ``UserError`` for an objective that is neither metric, key nor ``cost``."""
    axes = axes_of(plan)
    groups: dict[Name, list[Row]] = {}
    for row in found:
        if not row["twin"]:
            groups.setdefault(tuple(row.get(name) for name in axes), []).append(row)
    known_designs = judged(plan.name, plan.store) if any(row["status"] == SKIPPED for row in found) else {}
    verdicts = [known_designs.get(label_of(plan, rows[0])) for rows in groups.values()]
    names = list(groups)
    base = base_of(plan.space.sweep, plan.space.designs)
    first = plan.space.points[base]._replace(design=base)
    base_row = plan.about(first)
    base_name = tuple(base_row.get(name) for name in axes)
    objectives = plan.space.sweep.compare.objectives
    known = {name for row in found for name in row if isinstance(row[name], (int, float))}
    metric = next((name for name in objectives if name != COST and name in known and name not in axes), "gpu_cycles")
    compared = [
        _compared(plan, name, rows, groups[base_name], metric, verdict)
        for (name, rows), verdict in zip(groups.items(), verdicts, strict=True)
    ]
    if None in verdicts:
        front = pareto([each.values for each in compared], objectives)
    else:
        front = [number for number, each in enumerate(verdicts) if each is not None and each.on_front > 0.5]
    return Comparison(compared, names.index(base_name), front, floor(found, objectives, metric), metric)


def axes_of(plan: Plan) -> list[str]:
    """Parameters that make a design."""
    return [name for name in parameters(plan) if name not in ("trace", "seed")]


def label_of(plan: Plan, row: Mapping[str, Any]) -> str:
    """A design as text, of the parameters of one of its points."""
    return canonical([row.get(name) for name in axes_of(plan)])


def _compared(
    plan: Plan, name: Name, rows: list[Row], base: list[Row], metric: str, verdict: Judged | None
) -> Compared:  # fmt: skip
    missing = sum(row["status"] != "done" for row in rows)
    is_judged = verdict is not None and all(row["status"] in ("done", SKIPPED) for row in rows)
    against = {(row["trace"], row["seed"]): row for row in base}
    values: dict[str, float | None] = {}
    bounds = {}
    for objective in plan.space.sweep.compare.objectives:
        if missing and is_judged and verdict is not None and objective in verdict.values:
            values[objective], *ends = verdict.values[objective]
            bounds[objective] = ends[0], ends[1]
        else:
            is_known = not missing or (is_judged and (objective == COST or "." in objective))
            values[objective] = objective_of(plan, objective, rows, against) if is_known else None
    by_trace: dict[str, float | None] = {}
    for trace in dict.fromkeys(row["trace"] for row in rows):
        pairs = [(row.get(metric), against[trace, row["seed"]].get(metric)) for row in rows if row["trace"] == trace]
        by_trace[trace] = _mean_ratio(pairs)
    changes = {trace: None if ratio is None else ratio - 1 for trace, ratio in by_trace.items()}
    return Compared(name, values, changes, missing, len(rows), bounds)


def objective_of(plan: Plan, name: str, rows: list[Row], base: Mapping[tuple[str, int], Row]) -> float | None:
    """Value of an objective: a cost, a value of the GPU, or a metric over traces and seeds."""
    if name == COST or "." in name:
        point = plan.planned[rows[0]["point"]].point
        gpu = plan.gpus.built(point.gpu, point.plugin, plan.space.designs[point.design])
        weights = plan.space.sweep.compare.cost if name == COST else {name: 1.0}
        return math.fsum(weight * value_of(gpu, key) for key, weight in weights.items())
    if not any(name in row for row in rows):
        known = sorted(key for row in rows for key in row if isinstance(row[key], float))
        raise UserError(f"compare.objectives: unknown metric {name!r}; {hint(name, dict.fromkeys(known))}")
    if name.endswith(SHARES):
        shares = [row.get(name) for row in rows]
        return None if None in shares else exact.mean(shares)  # type: ignore[arg-type]
    return _mean_ratio([(row.get(name), base[row["trace"], row["seed"]].get(name)) for row in rows])


def _mean_ratio(pairs: list[tuple[float | None, float | None]]) -> float | None:
    """Geometric mean of the ratios; None where one is undefined."""
    if any(not value or not against for value, against in pairs):
        return None
    return exact.exp(exact.mean(exact.log(value / against) for value, against in pairs))  # type: ignore[operator]


def value_of(gpu: Gpu, key: str) -> float:
    """A number of a GPU's description; ``UserError`` for any other key."""
    section, _, name = key.rpartition(".")
    found: Any = gpu
    for part in [*filter(None, section.split(".")), name]:
        found = getattr(found, part, None)
    if isinstance(found, bool) or not isinstance(found, (int, float)):
        raise UserError(f"compare: {key} must be a number of the GPU's description, found {found!r}")
    return float(found)


def pareto(values: Sequence[Mapping[str, float | None]], objectives: Mapping[str, str]) -> list[int]:
    """Numbers of the designs that no other is at least as good as in every objective, and better in one."""
    signs = [1.0 if sense == "min" else -1.0 for sense in objectives.values()]
    costs: dict[int, tuple[float, ...]] = {}
    for number, each in enumerate(values):
        known = [each[name] for name in objectives]
        if None not in known:
            costs[number] = tuple(sign * value for sign, value in zip(signs, known, strict=True))  # type: ignore[operator]
    return [number for number, mine in costs.items() if not any(dominates(other, mine) for other in costs.values())]


def dominates(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    """Whether ``one`` is nowhere worse, and somewhere better; less is better."""
    return one != other and all(a <= b for a, b in zip(one, other, strict=True))


def floor(found: Sequence[Row], objectives: Mapping[str, str], metric: str) -> dict[str, float] | None:
    """Noise floor of a mean over the traces, a relative change: root of the sum of squares of each trace's, by n."""
    names = dict.fromkeys([metric, *(name for name in objectives if name != COST and "." not in name)])
    twins: dict[tuple[str, str], list[Row]] = {}
    for row in found:
        if row["twin"] and row["status"] == "done":
            twins.setdefault((row["trace"], row["gpu"]), []).append(row)
    floors = [noise_floor([{name: row.get(name) for name in names} for row in each])
              for each in twins.values() if len(each) > 1]  # fmt: skip
    if not floors:
        return None
    return {name: exact.length(*(each[name] for each in floors)) / len(floors) for name in names}
