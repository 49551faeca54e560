"""Sequential sampling: samples grow until the interval of the cycles is as narrow as requested."""

import math

import numpy as np

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.guard import exact
from rayplay.replay.gpu.description import Gpu
from rayplay.zatel.sample.estimate import ERRORS, Estimate, Work, estimate, read_work
from rayplay.zatel.sample.intervals import sampling_errors
from rayplay.zatel.sample.model_error import bounds, model_errors

FIRST_FRACTION = 0.05
GROWTH = 1.5  # least ratio of successive fractions
MOST = 0.5  # largest sample; beyond it everything is replayed
FINENESS = 1.05
LEAST_CTAS = 64  # of the first sample: fewer give a poor variance


def estimate_until(trace: Trace, gpu: Gpu, target: float, seed: int = 1, work: Work | None = None) -> list[Estimate]:
    """Estimate from growing fractions until the cycles' 95 % interval is within ``target``, or all CTAs are replayed.

    target  half width of the interval, as a share of the cycles. Errors as of ``estimate``.

    The next fraction follows from the last interval; it is 1 when no other promises to be enough.
    """
    work = work or read_work(trace)
    fraction = min(1.0, max(FIRST_FRACTION, LEAST_CTAS / (int(work.cta.max()) + 1)))
    found = [estimate(trace, gpu, fraction, seed, work)]
    while fraction < 1.0 and half_width(found[-1]) > target:
        fraction = next_fraction(fraction, *half_widths(found[-1]), target)
        found.append(estimate(trace, gpu, fraction, seed, work))
    return found


def next_fraction(fraction: float, sampling: float, model: float, target: float) -> float:
    """Least fraction whose interval should have the half width ``target``; 1 when half the CTAs are not enough.

    sampling, model  half width at ``fraction`` from the sampling error alone, and from the model error alone.

    The sampling error falls as sqrt((1 - f) / f), the model error as 1 - f.
    """
    wanted = fraction * GROWTH
    while wanted <= MOST:
        left = (1.0 - wanted) / (1.0 - fraction)
        if exact.length(sampling * math.sqrt(left * fraction / wanted), model * left) <= target:
            return wanted
        wanted *= FINENESS
    return 1.0


def half_width(found: Estimate) -> float:
    """Half width of the cycles' interval, as a share of the cycles; infinite without an interval."""
    bounds, cycles = found.intervals["gpu_cycles"], found.metrics["gpu_cycles"]
    return (bounds.high - bounds.low) / 2 / cycles if bounds and cycles else float("inf")


def half_widths(found: Estimate) -> tuple[float, float]:
    """``half_width`` from the sampling error alone, and from the model error alone."""
    errors = sampling_errors(found.replayed.intervals, float(found.warps.mean()))
    known = model_errors(ERRORS, int(found.warps.sum()), found.rounds, found.steps)["gpu_cycles"]
    sampling = bounds(1.0, *errors["gpu_cycles"], known, 0.0).high - 1.0
    both = half_width(found)
    return (sampling, float(np.sqrt(max(both**2 - sampling**2, 0.0)))) if np.isfinite(both) else (both, 0.0)
