"""Execute the points of a study: every replay of a scene is done once, for all predictions that need it."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from rayplay.formats.dataset.reader import Trace
from rayplay.replay.gpu.description import Gpu
from rayplay.replay.gpu.description import load as load_gpu
from rayplay.zatel.paper.heatmap import heat_colour, normalise, pixel_work
from rayplay.zatel.paper.predict import Plan, extrapolate_groups, make_plan
from rayplay.zatel.paper.quantise import QuantisedHeatmap, quantise
from rayplay.zatel.replays.metrics import combine
from rayplay.zatel.replays.result_cache import Store
from rayplay.zatel.replays.runs import Run, known_runs, missing_runs, simulate_runs
from rayplay.zatel.replays.simulate import Simulated
from rayplay.zatel.study.points import GPUS, Point

# Processor seconds per unit of work (``heatmap.pixel_work``) of a replay, on one core of a 2-core AMD EPYC virtual
# machine, 0.3 to 2e-7 from scene to scene: for an estimate of the time while the full replay is not known.
SECONDS_PER_WORK = 1e-7


class Row(NamedTuple):
    """One prediction of one scene beside the full replay.

    predicted, full  the metrics of Table I.
    warmth           mean warmth 1 - c_i of the scene's pixels.
    fraction         replayed pixels of the image's.
    seconds          processor time of its replays: together, of the longest, and of the full replay.
    """

    scene: str
    point: Point
    warmth: float
    factor: int
    fraction: float
    predicted: dict[str, float | None]
    full: dict[str, float | None]
    seconds: tuple[float, float, float]


class SceneStudy:
    """One trace and all its predictions; the trace is decoded once for the heat and once for all runs."""

    def __init__(self, scene: str, trace: Trace, points: Sequence[Point]) -> None:
        self.scene, self.trace, self.points = scene, trace, points
        gpus = {name: load_gpu(name) for name in GPUS if any(point.gpu == name for point in points)}
        self.work = pixel_work(trace)
        self.full = {name: Run(gpu) for name, gpu in gpus.items()}
        self.plans = _plans(trace, self.work, gpus, points)

    def runs(self) -> list[Run]:
        """All replays: the full ones first, then the replays of each point's plan."""
        return [*self.full.values(), *(run for plan in self.plans for run in plan.runs())]

    def tenth(self, gpu: str) -> Plan:
        """The plan of the whole method with a tenth of the pixels, on one of the GPUs."""
        points = zip(self.points, self.plans, strict=True)
        return next(p for q, p in points if (q.study, q.gpu, q.options.fraction) == ("whole", gpu, 0.1))

    def estimate(self, store: Store) -> tuple[int, float]:
        """Number of replays missing from the store, and roughly their seconds on one core."""
        total = float(self.work.sum())
        known = known_runs(self.trace, list(self.full.values()), store)
        rates = {
            name: SECONDS_PER_WORK if full is None else full.cpu_seconds / total
            for name, full in zip(self.full, known, strict=True)
        }
        missing = missing_runs(self.trace, self.runs(), store)
        seconds = 0.0
        for run in missing:
            work = total if run.pixels is None else float(self.work[run.pixels].sum())
            seconds += work * rates[run.gpu.name.split("/")[0]]
        return len(missing), seconds

    def rows(self, store: Store, workers: int | None = None) -> list[Row]:
        """Replay the runs missing from the store; rows in the order of the points."""
        outcomes = iter(simulate_runs(self.trace, self.runs(), store, workers))
        full = {name: next(outcomes) for name in self.full}
        return [
            self._row(point, plan, outcomes.__next__, full) for point, plan in zip(self.points, self.plans, strict=True)
        ]

    def _row(self, point: Point, plan: Plan, following: Callable[[], Simulated], full: Mapping[str, Simulated]) -> Row:
        simulated = [[following() for _ in group] for group in plan.selections]
        metrics = [[outcome.metrics for outcome in group] for group in simulated]
        seconds = [outcome.cpu_seconds for group in simulated for outcome in group]
        pixels = sum(int(group[-1].pixels.sum()) for group in plan.selections)
        return Row(
            self.scene,
            point,
            float(1.0 - plan.heatmap.coldness[plan.heatmap.labels].mean()),
            len(plan.selections),
            pixels / plan.groups.size,
            combine(extrapolate_groups(plan, metrics)),
            full[point.gpu].metrics,
            (sum(seconds), max(seconds), full[point.gpu].cpu_seconds),
        )


def _plans(trace: Trace, work: np.ndarray, gpus: Mapping[str, Gpu], points: Sequence[Point]) -> list[Plan]:
    """The plan of each point; the image is quantised once for each seed."""
    colour = heat_colour(normalise(work))
    heatmaps: dict[int, QuantisedHeatmap] = {}
    plans = []
    for point in points:
        seed = point.options.seed
        heatmap = heatmaps.get(seed) or heatmaps.setdefault(seed, quantise(colour, point.options.colours, seed))
        plans.append(make_plan(trace, work, gpus[point.gpu], point.options, heatmap))
    return plans
