"""A budgeted run: only the points whose values are needed to tell which designs are on the Pareto front.

1. Of large traces the same few CTAs are replayed for every design, on the part of the GPU that they fill. The base is
   replayed on every trace, and a few designs that lie far apart on the cheapest one.
2. ``surrogate`` says what these tell of all other points, ``front`` how surely each design is on the front, and which
   points would say most about the open ones for their seconds. These are replayed, and so on. Intervals widen by the
   errors of earlier predictions.
3. When the expected number of designs that are judged wrongly is at most ``WRONG``, by two opinions in a row, the
   designs on the front are replayed on every trace, for a model sees no cliff. It ends when that changes nothing.

Points that nothing depends on are ``skipped``. Designs with such points are off the front; they have estimated
objectives with intervals.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.guard import exact
from rayplay.formats.guard.errors import UserError
from rayplay.formats.place.location import location
from rayplay.sweep.drive.driver import Job, Report
from rayplay.sweep.drive.run import How, Ran, driving, jobs_of, rendered
from rayplay.sweep.explore.front import Opinion, most_telling, opinion
from rayplay.sweep.explore.parameters import axes_of, setting, spread
from rayplay.sweep.explore.surrogate import Draw, Surprise, Surrogate
from rayplay.sweep.plan.keys import engine, key_of
from rayplay.sweep.plan.plan import Plan, Planned, make_plan, remember
from rayplay.sweep.plan.verdict import Judged, keep_verdict
from rayplay.sweep.show.compare import COST, SHARES, label_of, value_of
from rayplay.sweep.space.points import Space, base_of
from rayplay.sweep.store.store import Store
from rayplay.zatel.replays.metrics import RULES
from rayplay.zatel.sample.replayed import part_of

Drive = Callable[[Sequence[Job], str], Report]
Group = tuple[str, str, str, int]  # gpu, plug-in, model, design
WRONG, OPINIONS = 0.05, 2
DRAWS, STEPS, FEW_DRAWS, FEW_POINTS = 12, 3, 4, 300
MOST_POINTS = 10_000  # whose covariances fit into memory
ROUNDS = 48  # in which a sweep of any size would be replayed whole
LEAST_MILLION_ROWS, MOST_PART = 0.3, 0.1  # of a trace that is sampled: else fixed costs eat what a sample saves


class Spent(NamedTuple):
    """Processor time of the points that ran, and of all points by the mean on the same trace.

    on_front, designs  how many; wrong: expected number of designs that are judged wrongly.
    """

    seconds: float
    full_seconds: float
    on_front: int = 0
    designs: int = 0
    wrong: float = 0.0


def budgeted(name: str, found: Space, store: Store, how: How) -> tuple[Ran, Spent]:
    """Run a sweep until its front is decided. ``UserError`` for methods other than replay and for odd objectives."""
    check(found)
    store.check_writable()
    with driving(how, found, store) as drive:
        plan, rendering = rendered(name, found, store, drive)
        if rendering.failed:
            return Ran(plan, rendering), Spent(0.0, 0.0)
        remember(plan)
        race = Race(plan, drive)
        report = race.run()
    if not report.failed:
        keep_verdict(plan.name, store, race.skipped(), race.judged())
    return Ran(make_plan(name, found, store, plan.gpus), report), race.spent()


def check(found: Space) -> None:
    """``UserError`` for a sweep that has no front to decide."""
    sweep = found.sweep
    if sweep.methods != ("replay",):
        raise UserError(f"--budget: methods must be replay alone, not {', '.join(sweep.methods)}")
    if len(found.points) > MOST_POINTS:
        raise UserError(f"--budget: a sweep must have at most {MOST_POINTS:,} points, not {len(found.points):,}")
    for name in metrics_of(sweep.compare.objectives):
        if name not in RULES:
            raise UserError(f"--budget: objective {name} must be one of {', '.join(RULES)}, cost, or a key of the GPU")
    if not metrics_of(sweep.compare.objectives):
        raise UserError("--budget: an objective must be a metric; a cost alone needs no replay")


def metrics_of(objectives: Mapping[str, str]) -> list[str]:
    """Objectives that need a replay."""
    return [name for name in objectives if name != COST and "." not in name]


class Race:
    """Designs by columns of points, and the loop.

    grid  points by design, then column: a replay of each trace and seed, a sample of each large one.
    """

    def __init__(self, plan: Plan, drive: Drive) -> None:
        self.plan, self.drive, self.objectives = plan, drive, plan.space.sweep.compare.objectives
        self.metrics, self.report = metrics_of(self.objectives), Report([], [], {}, [])
        self.grid, self.traces, self.samples = _grid(plan)
        self.names = list(self.grid)
        base = base_of(plan.space.sweep, plan.space.designs)
        self.base = next(number for number, name in enumerate(self.names) if name[3] == base)
        self.fixed = np.array([self._fixed(name) for name in self.names]).reshape(len(self.names), -1)
        rows = [self._parameters(name) for name in self.names]
        self.axes = axes_of(rows)
        of = np.array([*range(self.traces), *self.samples])
        self.models = [
            Surrogate(self.axes, len(self.names), of, self.traces, seed + 1) for seed in range(len(self.metrics))
        ]
        self.surprises = [Surprise() for _ in self.models]
        self.chance = np.random.default_rng(1)
        self.opinion: Opinion | None = None

    def run(self) -> Report:
        """Measure, and replay what says most, until the front is decided."""
        points = list(self.grid.values())
        self._drive([row[column] for row in points for column in range(self.traces, len(row))], "sample")
        sizes = [each.size.million_rows for each in self.plan.inputs]
        cheapest = min(range(self.traces), key=lambda at: (sizes[points[0][at].point.input], at))
        first = points[self.base][: self.traces]
        few = spread(self.axes, self.base, len(self.axes) + 3)
        self._drive([*first, *(points[number][cheapest] for number in few)], "replay")
        count, agreed = max(2, len(points) * self.traces // ROUNDS), 0
        while not self.report.failed:
            known = self._known()
            draws = self._draws(known)
            whole = known[:, : self.traces].mean(axis=1)  # NaN where a point is missing
            self.opinion = opinion(draws, whole, self.fixed, self.chance)
            missing = np.isnan(known[:, :, 0])
            doubt = float(self.opinion.doubt.sum())
            agreed = agreed + 1 if doubt <= WRONG else 0
            if 0 < agreed < OPINIONS:
                continue  # the next opinion has other draws
            if doubt > WRONG:
                few_now = int(np.clip(np.ceil(2.0 * doubt), 2, count))  # the fewer are open, the fewer at a time
                chosen = most_telling(draws, self.opinion, missing, self._seconds(), few_now)
            else:
                of_front = (self.opinion.on_front > 0.5)[:, None] & (np.arange(missing.shape[1]) < self.traces)
                chosen = np.flatnonzero(missing & of_front).tolist()
            if not chosen:
                break
            self._drive([points[at // known.shape[1]][at % known.shape[1]] for at in chosen], "replay")
            after = self._known()
            for at, surprise in enumerate(self.surprises):
                surprise.add(draws[at], after[:, :, at].ravel(), chosen)
        twins = self.plan.planned[len(self.plan.planned) - self.plan.space.twins :]
        self._drive(twins if self.plan.space.twins else [], "noise floor")
        return self.report

    def _draws(self, known: np.ndarray) -> list[list[Draw]]:
        """Predictions of every metric, as wide as the errors of earlier ones call for."""
        found = []
        for at, (model, surprise) in enumerate(zip(self.models, self.surprises, strict=True)):
            found.append([each.widened(surprise.factor) for each in model.draws(known[:, :, at], *_length(known))])
        return found

    def skipped(self) -> list[str]:
        """Keys that are not replayed."""
        return [each.key for row in self.grid.values() for each in row[: self.traces]
                if each.key and self.plan.store.get(each.key) is None]  # fmt: skip

    def judged(self) -> list[Judged]:
        """Every design with its objectives, their 95 % intervals, and the probability that it is on the front."""
        assert self.opinion is not None
        found, values = [], self.opinion.values - self.opinion.values[:, :, self.base, None]
        for number, name in enumerate(self.names):
            objectives = {}
            for at, metric in enumerate(self.metrics):
                sign = 1.0 if self.objectives[metric] == "min" else -1.0
                if metric.endswith(SHARES):
                    ends = [sign * float(end) for end in self.opinion.values[at, :, number]]
                else:
                    ends = [exact.exp(sign * float(end)) for end in values[at, :, number]]
                objectives[metric] = (ends[0], min(ends), max(ends))
            point = self.grid[name][0].point
            label = label_of(self.plan, self.plan.about(point))
            found.append(Judged(label, objectives, float(self.opinion.on_front[number])))
        return found

    def spent(self) -> Spent:
        """Processor time, and how the front was decided."""
        ran, full = dict[str, float](), 0.0
        by_column = self._by_column()
        for row in self.grid.values():
            for at, each in enumerate(row):
                seconds = self.plan.store.host(each.key or "").get("cpu_seconds")
                if seconds is not None:
                    ran[each.key or ""] = seconds
                full += by_column[at] if at < self.traces else 0.0
        if self.opinion is None:
            return Spent(sum(ran.values()), full)
        on_front = int((self.opinion.on_front > 0.5).sum())
        return Spent(sum(ran.values()), full, on_front, len(self.names), float(self.opinion.doubt.sum()))

    def _by_column(self) -> list[float]:
        """Mean processor time of the finished points of each column; 0 without any."""
        columns = []
        for at in range(self.traces + len(self.samples)):
            known = [self.plan.store.host(row[at].key or "").get("cpu_seconds") for row in self.grid.values()]
            seconds = [each for each in known if each is not None]
            columns.append(exact.mean(seconds) if seconds else 0.0)
        return columns

    def _seconds(self) -> np.ndarray:
        """float64[designs, columns]: expected cost of a point, by the size of its trace, so that it is no timing."""
        row = next(iter(self.grid.values()))
        known: dict[tuple[int, str], float | None] = {}
        costs = [self.plan.cost(each, known).seconds for each in row]
        return np.broadcast_to(np.array(costs), (len(self.grid), len(row)))

    def _known(self) -> np.ndarray:
        """float64[designs, columns, metrics], less is better; NaN without a result."""
        rows = [[self._values(each) for each in row] for row in self.grid.values()]
        return np.array(rows, np.float64)

    def _values(self, each: Planned) -> list[float]:
        entry = self.plan.store.get(each.key or "")
        if entry is None:
            return [float("nan")] * len(self.metrics)
        found = []
        for name in self.metrics:
            value = entry.metrics[name]
            if value is None or (value <= 0 and not name.endswith(SHARES)):
                raise UserError(f"--budget: objective {name} has no value for {self.plan.about(each.point)}")
            sign = 1.0 if self.objectives[name] == "min" else -1.0
            found.append(sign * (value if name.endswith(SHARES) else exact.log(value)))
        return found

    def _fixed(self, name: Group) -> list[float]:
        """Objectives that the description alone decides, less is better."""
        gpu, plugin, _, design = name
        built = self.plan.gpus.built(gpu, plugin, self.plan.space.designs[design])
        found = []
        for objective, sense in self.objectives.items():
            if objective not in self.metrics:
                weights = self.plan.space.sweep.compare.cost if objective == COST else {objective: 1.0}
                value = math.fsum(weight * value_of(built, key) for key, weight in weights.items())  # as ``compare``
                found.append(value if sense == "min" else -value)
        return found

    def _parameters(self, name: Group) -> dict[str, Any]:
        gpu, plugin, model, design = name
        built = self.plan.gpus.built(gpu, plugin, self.plan.space.designs[design])
        keys = dict.fromkeys(key for _, _, _, number in self.names for key in self.plan.space.designs[number])
        return {"gpu": gpu, "plugin": plugin, "model": model} | {key: setting(built, key) for key in keys}

    def _drive(self, points: Sequence[Planned], what: str) -> None:
        missing = {each.key: each for each in points if each.key and self.plan.store.get(each.key) is None}
        if not missing:
            return
        report = self.drive(jobs_of(self.plan, list(missing.values())), what)
        self.report.done.extend(report.done)
        self.report.elsewhere.extend(report.elsewhere)
        self.report.failed.update(report.failed)
        self.report.different.extend(report.different)


def _length(known: np.ndarray) -> tuple[int, int]:
    """Draws of the hyperparameters, and steps between two: much data decides them, and costs its number cubed."""
    return (DRAWS, STEPS) if np.count_nonzero(~np.isnan(known[:, :, 0])) <= FEW_POINTS else (FEW_DRAWS, 1)


def _grid(plan: Plan) -> tuple[dict[Group, list[Planned]], int, list[int]]:
    """Points by design and column, the number of columns of replays, and the one that each column of samples is of."""
    grid: dict[Group, list[Planned]] = {}
    for each in plan.planned[: len(plan.planned) - plan.space.twins]:
        point = each.point
        grid.setdefault((point.gpu, point.plugin, point.model, point.design), []).append(each)
    replays = len(next(iter(grid.values())))
    parts = {number: part for number in range(len(plan.inputs)) if (part := _part(plan, number)) is not None}
    sampled = [at for at, each in enumerate(next(iter(grid.values()))) if each.point.input in parts]
    for row in grid.values():
        row.extend([sample_of(row[at], parts[row[at].point.input]) for at in sampled])
    return grid, replays, sampled


def _part(plan: Plan, number: int) -> float | None:
    """Part of the CTAs of an input that is worth replaying for every design; None where no small one says anything."""
    given = plan.inputs[number]
    if given.size.million_rows < LEAST_MILLION_ROWS:
        return None
    sweep, designs = plan.space.sweep, plan.space.designs
    base = [plan.gpus.built(gpu, sweep.plugins[0], designs[base_of(sweep, designs)]) for gpu in sweep.gpus]
    if any("reorder.window_warps" in design for design in designs) or any(gpu.reorder.is_on for gpu in base):
        return None  # of warps that are dealt out again, some tell nothing of the others
    part = part_of(open_trace(location(given.path)), base[0])
    return part if part is not None and part <= MOST_PART else None


def sample_of(each: Planned, fraction: float) -> Planned:
    """The sample of a point: the same CTAs for every design."""
    point = each.point._replace(method="sample")
    identity = each.identity | {
        "method": "sample",
        "engine": engine("sample"),
        "options": {"fraction": fraction, "seed": 1},
    }
    return Planned(point, key_of(identity), identity, None)


def spent_line(spent: Spent) -> str:
    """The front's size, how sure it is, and the processor time beside all full replays'."""
    share = spent.seconds / spent.full_seconds if spent.full_seconds else 1.0
    line = f"processor time of points {spent.seconds:,.1f} s, {100 * share:.0f} % of full replays of every point"
    if spent.designs:
        line += f"; {spent.on_front} of {spent.designs} designs are on the front, expected wrong {spent.wrong:.2f}"
    return line
