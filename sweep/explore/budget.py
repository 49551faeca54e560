"""A budgeted run: a cheap measure of every design first, full replays only where the Pareto front is undecided.

1. Large traces are estimated for every design. Where all traces are small, so that an estimate saves nothing, every
   design is replayed on the cheapest trace.
2. The base, the front of the cheap measure and its ends are replayed whole.
3. ``race`` bounds the others. The most promising that may be on the front is replayed next, until none may.

Points of designs that are decided are ``skipped``: they stand in the table, without metrics.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from rayplay.formats.guard import exact
from rayplay.formats.guard.errors import UserError
from rayplay.sweep.drive.driver import Job, Report
from rayplay.sweep.drive.run import How, Ran, driving, jobs_of, rendered
from rayplay.sweep.explore.race import LEAST_KNOWN, candidates, undecided
from rayplay.sweep.plan.plan import SKIPPED, Plan, Planned, make_plan, remember
from rayplay.sweep.show.compare import COST, SHARES, pareto, value_of
from rayplay.sweep.space.points import Space, base_of, space
from rayplay.sweep.store.store import Store
from rayplay.zatel.replays.metrics import RULES
from rayplay.zatel.sample.whole import FEW_ROWS

Drive = Callable[[Sequence[Job], str], Report]
Group = tuple[str, str, str, int]  # gpu, plug-in, model, design


class Spent(NamedTuple):
    """Processor time: of everything that the run needed, and what all full replays would take by the same measure."""

    seconds: float
    full_seconds: float


def budgeted(name: str, found: Space, store: Store, how: How) -> tuple[Ran, Spent]:
    """Run a sweep until its front is decided. ``UserError`` for methods other than replay and for odd objectives."""
    check(found)
    store.check_writable()
    with driving(how, found, store) as drive:
        plan, rendering = rendered(name, found, store, drive)
        if rendering.failed:
            return Ran(plan, rendering), Spent(0.0, 0.0)
        race = Race(plan, drive)
        report = race.run()
    remember(plan)
    skip(plan, race.skipped())
    return Ran(make_plan(name, found, store), report), race.spent()


def check(found: Space) -> None:
    """``UserError`` for a sweep that has no front to decide."""
    sweep = found.sweep
    if sweep.methods != ("replay",):
        raise UserError(f"--budget: methods must be replay alone, not {', '.join(sweep.methods)}")
    for name in metrics_of(sweep.compare.objectives):
        if name not in RULES:
            raise UserError(f"--budget: objective {name} must be one of {', '.join(RULES)}, cost, or a key of the GPU")
    if not metrics_of(sweep.compare.objectives):
        raise UserError("--budget: an objective must be a metric; a cost alone needs no replay")


def metrics_of(objectives: Mapping[str, str]) -> list[str]:
    """Objectives that need a replay."""
    return [name for name in objectives if name != COST and "." not in name]


def skip(plan: Plan, keys: Sequence[str]) -> None:
    """Note the points that need no replay."""
    plan.store.medium.write(f"plans/{plan.name}.{SKIPPED}.json", json.dumps(sorted(keys)).encode())


class Race:
    """Designs as groups of points, cheap and exact values, and the loop."""

    def __init__(self, plan: Plan, drive: Drive) -> None:
        self.plan, self.drive, self.objectives = plan, drive, plan.space.sweep.compare.objectives
        self.metrics, self.report = metrics_of(self.objectives), Report([], [], {}, [])
        points = plan.planned[: len(plan.planned) - plan.space.twins]
        self.groups: dict[Group, list[Planned]] = {}
        for each in points:
            point = each.point
            self.groups.setdefault((point.gpu, point.plugin, point.model, point.design), []).append(each)
        self.names = list(self.groups)
        self.cheap = self._cheap_points()
        self.fixed = {number: self._fixed(name) for number, name in enumerate(self.names)}

    def run(self) -> Report:
        """Measure, calibrate, and replay undecided designs."""
        self._drive([each for points, _ in self.cheap for each in points], self.cheap[0][1], "measure")
        x = self._values([points for points, _ in self.cheap])
        self._replay(self._first(x))
        while True:
            y = self._values(list(self.groups.values()), whole=True)
            open_ones = undecided(candidates(x, y, self.fixed))
            if not open_ones or self.report.failed:
                break
            self._replay([open_ones[0].number])
        twins = self.plan.planned[len(self.plan.planned) - self.plan.space.twins :]
        self._drive(twins if self.plan.space.twins else [], self.plan, "noise floor")
        return self.report

    def skipped(self) -> list[str]:
        """Keys that are not replayed."""
        return [each.key for group in self.groups.values() for each in group
                if each.key and self.plan.store.get(each.key) is None]  # fmt: skip

    def spent(self) -> Spent:
        """Processor time of all runs, and of all points by the mean of the replayed ones on the same trace."""
        store, seen = self.plan.store, dict[str | None, float]()
        by_trace: dict[int, dict[str | None, float]] = {}
        for points, plan in [*self.cheap, *((group, self.plan) for group in self.groups.values())]:
            for each in points:
                seconds = store.host(each.key or "").get("cpu_seconds")
                if seconds is not None:
                    seen[each.key] = seconds
                    if plan is self.plan:
                        by_trace.setdefault(each.point.input, {})[each.key] = seconds
        full = sum(
            exact.mean(by_trace[each.point.input].values()) for group in self.groups.values() for each in group
            if each.point.input in by_trace
        )  # fmt: skip
        return Spent(sum(seen.values()), full)

    def _cheap_points(self) -> list[tuple[list[Planned], Plan]]:
        """The points of the cheap measure: estimates of large traces, or replays of the cheapest."""
        plan, sizes = self.plan, [each.size for each in self.plan.inputs]
        large = [number for number, size in enumerate(sizes) if size.sampled_rows >= FEW_ROWS]
        if not large:
            least = min(range(len(sizes)), key=lambda number: (sizes[number].million_rows, number))
            return [([each for each in group if each.point.input == least], plan) for group in self.groups.values()]
        estimates = replace(plan.space.sweep, methods=("estimate",))
        made = make_plan(f"{plan.name}-estimates", space(estimates), plan.store)
        chosen: dict[Group, list[Planned]] = {name: [] for name in self.groups}
        for each in made.planned[: len(made.planned) - made.space.twins]:
            point = each.point
            if point.input in large:
                chosen[point.gpu, point.plugin, point.model, point.design].append(each)
        return [(points, made) for points in chosen.values()]

    def _values(self, groups: Sequence[Sequence[Planned]], whole: bool = False) -> dict[int, tuple[float, ...]]:
        """Number of a design -> its metrics, less is better; only where every point has a result."""
        found = {}
        for number, points in enumerate(groups):
            entries = [self.plan.store.get(each.key or "") for each in points]
            if all(entry is not None for entry in entries):
                found[number] = tuple(self._mean(name, [entry.metrics for entry in entries if entry]) for name in self.metrics)  # fmt: skip # noqa: E501
        if not whole and len(found) < len(groups):
            raise UserError("--budget: every design must be measured, but some points failed; sweep status says why")
        return found

    def _mean(self, name: str, rows: Sequence[Mapping[str, float | None]]) -> float:
        values = [row[name] or 0.0 for row in rows]
        sign = 1.0 if self.objectives[name] == "min" else -1.0
        if name.endswith(SHARES) or min(values) <= 0:
            return sign * exact.mean(values)
        return sign * exact.mean(map(exact.log, values))

    def _fixed(self, name: Group) -> tuple[float, ...]:
        """Objectives that the description alone decides."""
        gpu, plugin, _, design = name
        built = self.plan.gpus.built(gpu, plugin, self.plan.space.designs[design])
        cost = self.plan.space.sweep.compare.cost
        found = []
        for objective, sense in self.objectives.items():
            if objective not in self.metrics:
                weights = cost if objective == COST else {objective: 1.0}
                value = sum(weight * value_of(built, key) for key, weight in weights.items())
                found.append(value if sense == "min" else -value)
        return tuple(found)

    def _first(self, x: Mapping[int, tuple[float, ...]]) -> list[int]:
        """Designs to replay before anything is bounded: base and front by the cheap measure, and more where few."""
        names = [str(at) for at in range(len(next(iter(x.values()))) + len(next(iter(self.fixed.values()))))]
        rows = [dict(zip(names, x[number] + self.fixed[number], strict=True)) for number in sorted(x)]
        front = pareto(rows, dict.fromkeys(names, "min"))
        order = sorted(x, key=lambda number: (x[number], number))
        base = base_of(self.plan.space.sweep, self.plan.space.designs)
        wanted = list(dict.fromkeys([self.names.index(next(name for name in self.names if name[3] == base)), *front]))
        spread = [order[place * (len(order) - 1) // LEAST_KNOWN] for place in range(LEAST_KNOWN + 1)]
        more = [number for number in spread if number not in wanted]
        return [*wanted, *more[: max(0, LEAST_KNOWN + 1 - len(wanted))]]

    def _replay(self, numbers: Sequence[int]) -> None:
        self._drive([each for number in numbers for each in self.groups[self.names[number]]], self.plan, "replay")

    def _drive(self, points: Sequence[Planned], plan: Plan, what: str) -> None:
        missing = {each.key: each for each in points if each.key and plan.store.get(each.key) is None}
        report = self.drive(jobs_of(plan, list(missing.values())), what)
        self.report.done.extend(report.done)
        self.report.elsewhere.extend(report.elsewhere)
        self.report.failed.update(report.failed)
        self.report.different.extend(report.different)


def spent_line(spent: Spent) -> str:
    """Processor time of the run, beside all full replays'."""
    share = spent.seconds / spent.full_seconds if spent.full_seconds else 1.0
    return f"processor time {spent.seconds:,.1f} s, {100 * share:.0f} % of full replays of every point"
