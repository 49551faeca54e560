"""How many CTAs are enough: samples grow until the interval of the cycles is as tight as wanted."""

import numpy as np

from rayplay.formats.dataset.reader import Trace
from rayplay.replay.gpu.description import Gpu
from rayplay.zatel.sample.estimate import ERRORS, Estimate, Work, estimate, read_work
from rayplay.zatel.sample.intervals import sampling_errors
from rayplay.zatel.sample.model_error import bounds, doubts

FIRST_FRACTION = 0.05
GROWTH = 1.5  # of the fraction, at least, from one sample to the next
MOST = 0.5  # beyond that everything is replayed
FINENESS = 1.05
LEAST_CTAS = 64  # of the first sample: fewer say too little about their own spread


def estimate_until(trace: Trace, gpu: Gpu, target: float, seed: int = 1, work: Work | None = None) -> list[Estimate]:
    """Estimates of growing fractions; in the last one the cycles' 95 % interval is within ``target`` of them, or all
    CTAs were replayed.

    target  half of the interval, as a share of the cycles. Errors as of ``estimate``.

    The next fraction follows from the last interval, and is 1 where no other promises to be enough.
    """
    work = work or read_work(trace)
    fraction = min(1.0, max(FIRST_FRACTION, LEAST_CTAS / (int(work.cta.max()) + 1)))
    found = [estimate(trace, gpu, fraction, seed, work)]
    while fraction < 1.0 and half_width(found[-1]) > target:
        fraction = next_fraction(fraction, *parts(found[-1]), target)
        found.append(estimate(trace, gpu, fraction, seed, work))
    return found


def next_fraction(fraction: float, sampling: float, machine: float, target: float) -> float:
    """The least fraction with which half the interval should be ``target``; 1 where a half of the CTAs is not enough.

    sampling, machine  half of an interval at ``fraction``, if there were only the one error or the other.

    The first falls with the square root of the CTAs and that of those left out, the second with those left out.
    """
    wanted = fraction * GROWTH
    while wanted <= MOST:
        left = (1.0 - wanted) / (1.0 - fraction)
        if np.hypot(sampling * (left * fraction / wanted) ** 0.5, machine * left) <= target:
            return wanted
        wanted *= FINENESS
    return 1.0


def half_width(found: Estimate) -> float:
    """Half the interval of the cycles, as a share of them; infinite without an interval."""
    bounds, cycles = found.intervals["gpu_cycles"], found.metrics["gpu_cycles"]
    return (bounds.high - bounds.low) / 2 / cycles if bounds and cycles else float("inf")


def parts(found: Estimate) -> tuple[float, float]:
    """``half_width`` as it would be with the sampling error alone, and with the machine's alone."""
    errors = sampling_errors(found.replayed.intervals, float(found.warps.mean()))
    known = doubts(ERRORS, int(found.warps.sum()), found.rounds)["gpu_cycles"]
    sampling = bounds(1.0, *errors["gpu_cycles"], known, 0.0).high - 1.0
    both = half_width(found)
    return (sampling, float(np.sqrt(max(both**2 - sampling**2, 0.0)))) if np.isfinite(both) else (both, 0.0)
