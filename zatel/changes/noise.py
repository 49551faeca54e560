"""Noise floor: the change of a machine's metrics under perturbations without meaning.

The order in which warps are served decides what the next one finds in the caches. So a cycle more or less of a latency
moves the cycles of a ray-traced image by 3 to 7 % in Vulkan-Sim (docs/sources/vulkan-sim.md#noise-floor). A smaller
effect of a design change says nothing. Here the same warps are replayed several times with a latency off by a cycle, or
with all CTAs starting some cycles later, at another phase of the DRAM's clock.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence

import numpy as np

from rayplay.formats.guard import exact
from rayplay.replay.gpu.description import Gpu
from rayplay.zatel.sample.intervals import CONFIDENCE, quantile

# Cycles added to the latency of L2 and of DRAM (each below half a per cent of a miss), and before the first CTA starts.
OFFSETS = ((1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 0, 3))
MORE_OFFSETS = (*OFFSETS, (1, 1, 0), (-1, 1, 0), (0, 0, 2), (1, 0, 1), (-1, 0, 1), (0, 1, 1))

Metrics = Mapping[str, float | None]


def perturbed(gpu: Gpu, offsets: Sequence[tuple[int, int, int]] = OFFSETS) -> list[Gpu]:
    """Variants of the GPU, each with a latency or the start of its CTAs off by some cycles."""
    return [
        dataclasses.replace(
            gpu,
            name=f"{gpu.name}, latency {l2:+d} {dram:+d}, start {start:+d}",
            sm=dataclasses.replace(gpu.sm, kernel_launch_cycles=gpu.sm.kernel_launch_cycles + start),
            l2=dataclasses.replace(gpu.l2, latency_cycles=gpu.l2.latency_cycles + l2),
            dram=dataclasses.replace(gpu.dram, latency_cycles=max(0, gpu.dram.latency_cycles + dram)),
        )
        for l2, dram, start in offsets
    ]


def mean_of(runs: Sequence[Metrics]) -> dict[str, float | None]:
    """Metric -> mean over the runs; ``None`` where a run lacks it.

    The base of every change: the chance of a single run would shift all changes alike.
    """
    values = {name: [run[name] for run in runs] for name in runs[0]}
    return {name: None if None in found else float(np.mean(found)) for name, found in values.items()}  # type: ignore[arg-type]


def noise_floor(runs: Sequence[Metrics], changes: int | None = None) -> dict[str, float]:
    """Metric -> relative change between two runs that noise alone exceeds with probability 0.05.

    runs     metrics of the machine and of its perturbed twins, at least two.
    changes  number of changes compared with ``mean_of`` the runs: noise moves any of them beyond the floor with
             probability 0.05.

    Student's t times the standard deviation of the difference; for several changes with Sidak's confidence for each.
    0 for a metric that is missing or 0.
    """
    factor = quantile(len(runs) - 1, exact.power(CONFIDENCE, 1.0 / (changes or 1)))
    factor *= math.sqrt(1.0 + (1.0 / len(runs) if changes else 1.0))
    floors = {}
    for name in runs[0]:
        values = np.array([run[name] or 0.0 for run in runs], float)
        mean = float(values.mean())
        floors[name] = float(factor * values.std(ddof=1) / abs(mean)) if mean else 0.0
    return floors
