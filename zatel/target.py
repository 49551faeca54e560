"""How many CTAs are enough: samples grow until the interval of the cycles is as tight as wanted."""

from formats.reader import Trace
from replay.gpu_description import Gpu
from zatel.estimate import Estimate, Work, estimate, read_work

FIRST_FRACTION = 0.05
GROWTH = 1.5  # of the fraction, at least, from one sample to the next
LEAST_CTAS = 64  # of the first sample: fewer say too little about their own spread


def estimate_until(trace: Trace, gpu: Gpu, target: float, seed: int = 1, work: Work | None = None) -> list[Estimate]:
    """Estimates of growing fractions; in the last one the cycles' 95 % interval is within ``target`` of them, or all
    CTAs were replayed.

    target  half of the interval, as a share of the cycles. Errors as of ``estimate``.

    The next fraction follows from the last interval: the error falls with the square root of the CTAs.
    """
    work = work or read_work(trace)
    fraction = min(1.0, max(FIRST_FRACTION, LEAST_CTAS / (int(work.cta.max()) + 1)))
    found = [estimate(trace, gpu, fraction, seed, work)]
    while fraction < 1.0 and (reached := half_width(found[-1])) > target:
        fraction = next_fraction(fraction, reached, target)
        found.append(estimate(trace, gpu, fraction, seed, work))
    return found


def next_fraction(fraction: float, reached: float, target: float) -> float:
    """The fraction to try when ``fraction`` gave an interval of ``reached`` instead of ``target``; beyond a half, 1."""
    wanted = max(GROWTH * fraction, min(4 * fraction, fraction * (reached / target) ** 2))
    return wanted if wanted <= 0.5 else 1.0


def half_width(found: Estimate) -> float:
    """Half the interval of the cycles, as a share of them; infinite without an interval."""
    interval, cycles = found.intervals["gpu_cycles"], found.metrics["gpu_cycles"]
    return (interval.high - interval.low) / 2 / cycles if interval and cycles else float("inf")
