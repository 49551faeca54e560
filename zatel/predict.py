"""The seven steps of Fig. 3, one after the other: from a trace and a GPU to the metrics of the whole image."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from formats.errors import UserError
from formats.filter import filter_to_many
from formats.pixels import image_size
from formats.reader import Trace
from replay.gpu_description import Gpu
from zatel.combine import combine, extrapolate
from zatel.divide import divide
from zatel.downscale import scale_factor
from zatel.heatmap import heat_colour, normalise, pixel_work
from zatel.quantise import QuantisedHeatmap, quantise
from zatel.select import Selection, check_fraction, select
from zatel.simulate import Simulated, simulate_groups


class Prediction(NamedTuple):
    """Everything that the steps found.

    work        float64[height, width], step 1: the work of each pixel.
    heatmap     step 2: the quantised heatmap.
    scaled_gpu  step 3: the description of the GPU that each group is replayed on.
    groups      int32[height, width], step 4: the group of each pixel.
    selections  step 5: the pixels of each group that were replayed.
    simulated   step 6: what the replay of each group says.
    metrics     step 7: the metrics of Table I, extrapolated and combined.
    seconds     wall time of each step on this machine.
    """

    work: np.ndarray
    heatmap: QuantisedHeatmap
    scaled_gpu: Gpu
    groups: np.ndarray
    selections: list[Selection]
    simulated: list[Simulated]
    metrics: dict[str, float | None]
    seconds: dict[str, float]


def predict(
    trace: Trace, gpu: Gpu, folder: Path, fraction: float | None = None, seed: int = 1, workers: int | None = None
) -> Prediction:
    """Predict the metrics of replaying ``trace`` on ``gpu`` with the paper's defaults.

    folder    an existing folder where the groups' filtered traces may be written; they are left there.
    fraction  part of each group's pixels to replay, greater than 0 and at most 1; equation (1) when ``None``.
    seed      of the clustering and the selection; the same inputs give the same prediction, whatever ``workers``.

    Raises ``UserError`` for a fraction out of range, a trace without an image, or an image with fewer chunks than K.
    """
    check_fraction(fraction)
    width, height = image_size(trace)
    seconds: dict[str, float] = {}
    with _timed(seconds, "heatmap"):
        work = pixel_work(trace)
    with _timed(seconds, "select"):
        heatmap = quantise(heat_colour(normalise(work)), seed=seed)
        factor = scale_factor(gpu)
        groups = divide(width, height, factor)
        found = int(groups.max()) + 1
        if found < factor:
            raise UserError(
                f"{trace.path}: {width}x{height} pixels must make at least {factor} chunks of 32x2, one per group"
            )
        selections = [select(heatmap, groups, group, seed, fraction) for group in range(factor)]
    paths = [folder / f"group-{group}.trace" for group in range(factor)]
    with _timed(seconds, "filter"):
        filter_to_many(trace, [selection.pixels for selection in selections], paths)
    scaled_gpu = gpu.scaled(factor)
    with _timed(seconds, "replay"):
        simulated = simulate_groups(paths, scaled_gpu, workers)
    whole = [extrapolate(group.metrics, chosen.fraction) for group, chosen in zip(simulated, selections, strict=True)]
    return Prediction(work, heatmap, scaled_gpu, groups, selections, simulated, combine(whole), seconds)


@contextmanager
def _timed(seconds: dict[str, float], step: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    seconds[step] = time.perf_counter() - start
