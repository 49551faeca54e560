"""The seven steps of Fig. 3, one after the other: from a trace and a GPU to the metrics of the whole image."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.edit.pixels import image_size
from rayplay.formats.guard.errors import UserError
from rayplay.replay.geometry import expect_no_reorder
from rayplay.replay.gpu.description import Gpu
from rayplay.zatel.paper.divide import divide
from rayplay.zatel.paper.downscale import downscale, scale_factor
from rayplay.zatel.paper.heatmap import heat_colour, normalise
from rayplay.zatel.paper.options import Options
from rayplay.zatel.paper.pixel_heat import pixel_measure
from rayplay.zatel.paper.quantise import QuantisedHeatmap, quantise
from rayplay.zatel.paper.regression import regress
from rayplay.zatel.paper.select import Selection, select
from rayplay.zatel.replays.metrics import Metrics, combine, extrapolate
from rayplay.zatel.replays.result_cache import Store
from rayplay.zatel.replays.runs import Run, simulate_runs
from rayplay.zatel.replays.simulate import Simulated

HEADROOM = 1.1  # of the released heat: its longest pixel is 0.91


class Plan(NamedTuple):
    """Steps 2 to 5: the plan of the replays.

    heatmap     step 2: the quantised heatmap (of group 0, where every group has its own).
    scaled_gpu  step 3: the description of the GPU that each group is replayed on.
    groups      int32[height, width], step 4: the group of each pixel.
    selections  step 5: for each group its selections: one, or for the regression three of rising fractions.
    """

    heatmap: QuantisedHeatmap
    scaled_gpu: Gpu
    groups: np.ndarray
    selections: list[list[Selection]]

    @property
    def selected(self) -> np.ndarray:
        """The pixels that any group replays, bool[height, width]."""
        return np.asarray(np.any([chosen.pixels for group in self.selections for chosen in group], axis=0))

    def runs(self) -> list[Run]:
        """The replays, group after group."""
        return [Run(self.scaled_gpu, chosen.pixels) for group in self.selections for chosen in group]


class Prediction(NamedTuple):
    """Outcome of all steps.

    work          float64[height, width], step 1: the measure of each pixel's heat.
    plan          steps 2 to 5.
    simulated     step 6: outcomes of the replays, shaped as ``plan.selections``.
    extrapolated  step 7: the metrics of each group as if all its pixels had been simulated.
    metrics       step 7: the metrics of Table I, combined.
    seconds       wall time of each step on this machine.
    """

    work: np.ndarray
    plan: Plan
    simulated: list[list[Simulated]]
    extrapolated: list[dict[str, float | None]]
    metrics: dict[str, float | None]
    seconds: dict[str, float]


def predict(
    trace: Trace,
    gpu: Gpu,
    options: Options,
    workers: int | None = None,
    store: Store | None = None,
    folder: Path | None = None,
) -> Prediction:
    """Predict the metrics of replaying ``trace`` on ``gpu``.

    workers  processes at a time; one per core when ``None``. The same inputs give the same prediction whatever it is.
    store    where replays are looked up and kept.
    folder   where the groups' traces may lie while they are replayed; the system's temporary folder when ``None``.

    Raises ``UserError`` for a trace without an image, a heatmap that does not fit, or more groups than chunks.
    """
    seconds: dict[str, float] = {}
    with _timed(seconds, "heatmap"):
        work = pixel_measure(trace, options.heatmap)
    with _timed(seconds, "select"):
        plan = make_plan(trace, work, gpu, options)
    with _timed(seconds, "replay"):
        outcomes = iter(simulate_runs(trace, plan.runs(), store, workers, folder))
    simulated = [[next(outcomes) for _ in group] for group in plan.selections]
    whole = extrapolate_groups(plan, [[outcome.metrics for outcome in group] for group in simulated])
    return Prediction(work, plan, simulated, whole, combine(whole, options.combination), seconds)


def make_plan(
    trace: Trace, work: np.ndarray, gpu: Gpu, options: Options, heatmap: QuantisedHeatmap | None = None
) -> Plan:
    """Steps 2 to 5, which need no replay: colours, the scaled GPU, groups and their representative pixels.

    heatmap  of the whole image, where it is quantised already.
    """
    expect_no_reorder(trace, gpu)
    width, height = image_size(trace)
    factor = options.factor or scale_factor(gpu)
    groups = divide(width, height, factor, options.division, options.block, "released-groups" in options.departures)
    sizes = np.bincount(groups.ravel(), minlength=factor)
    if not sizes.all():
        found, (wide, high) = f"{trace.path}: {width}x{height} pixels", options.block
        what = f"chunks of {wide}x{high}" if options.division == "fine" else "tiles"
        raise UserError(f"{found} must make at least {factor} {what}, one per group")
    heatmaps = [heatmap] * factor if heatmap else quantise_groups(temperature(work, options), factor, options)
    selections = [_select(heatmaps[group], groups, group, options) for group in range(factor)]
    return Plan(heatmaps[0], downscale(gpu, factor, options.l2), groups, selections)


def temperature(work: np.ndarray, options: Options) -> np.ndarray:
    """float64[height, width, 3]: the colour of each pixel; a picture's heat is taken as it is, all else normalised."""
    is_heat = options.heatmap != "work" and not Path(options.heatmap).is_dir()
    return heat_colour(work if is_heat else normalise(work, HEADROOM if "headroom" in options.departures else 1.0))


def quantise_groups(colour: np.ndarray, count: int, options: Options) -> list[QuantisedHeatmap]:
    """The quantised heatmap that each group selects by: the image's (Fig. 3), or with ``group-colours`` one each."""
    if "group-colours" in options.departures:
        return [quantise(colour, options.colours, [options.seed, group]) for group in range(count)]
    return [quantise(colour, options.colours, options.seed)] * count


def _select(heatmap: QuantisedHeatmap, groups: np.ndarray, group: int, options: Options) -> list[Selection]:
    if options.extrapolation == "linear":
        return [select(heatmap, groups, group, options)]
    return [select(heatmap, groups, group, options, fraction) for fraction in options.fractions]


def extrapolate_groups(plan: Plan, metrics: Sequence[Sequence[Metrics]]) -> list[dict[str, float | None]]:
    """The metrics of each group at all its pixels: linear from one selection, exponential from three (Zatel III-G)."""
    whole = []
    for selections, found in zip(plan.selections, metrics, strict=True):
        if len(selections) == 1:
            whole.append(extrapolate(found[0], selections[0].fraction))
        else:
            whole.append(regress([chosen.fraction for chosen in selections], found))
    return whole


@contextmanager
def _timed(seconds: dict[str, float], step: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    seconds[step] = time.perf_counter() - start
