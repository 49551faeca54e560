"""Choice of the fraction by the requested width of the cycles' interval, before anything is replayed.

``forecast`` says how wide the interval of each fraction will be and what it will cost. The least fraction that promises
enough is replayed, or everything where that is cheaper. When the promise fails, everything follows.
"""

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.guard import exact
from rayplay.replay.gpu.description import Gpu
from rayplay.zatel.sample.estimate import ERRORS, Estimate, Work, estimate, read_work
from rayplay.zatel.sample.forecast import FIXED, Forecast, Population, forecast, population
from rayplay.zatel.sample.intervals import STRATA
from rayplay.zatel.sample.kept import Kept
from rayplay.zatel.sample.whole import replay_whole

FINENESS = 1.1  # ratio of successive fractions
LEAST_CTAS = 2 * STRATA  # of a sample: two in each stratum
SHOWN = (0.05, 0.1, 0.2, 0.3, 0.5, 1.0)


def estimate_until(trace: Trace, gpu: Gpu, target: float, seed: int = 1, work: Work | None = None) -> list[Estimate]:
    """Estimate until the cycles' 95 % interval is within ``target``, or all CTAs are replayed.

    The choice does not depend on the cache: the same inputs give the same bytes.

    target  half width of the interval, as a share of the cycles. Errors as of ``estimate``.
    """
    of = population(trace, gpu)
    found: list[Estimate] = []
    fraction = cheapest([forecast(trace, gpu, of, one, ERRORS) for one in fractions(of)], target)
    if fraction < 1.0:
        work = work or read_work(trace, drawn=(fraction, seed))
        found.append(estimate(trace, gpu, fraction, seed, work))
    return found if found and half_width(found[0]) <= target else [*found, replay_whole(trace, gpu)]


def expected(trace: Trace, gpu: Gpu) -> tuple[list[Forecast], bool]:
    """Forecast of the fractions ``SHOWN`` that are possible, and whether the trace was read before."""
    of = population(trace, gpu)
    possible = [one for one in SHOWN if one == 1.0 or one * of.ctas >= LEAST_CTAS]
    return [forecast(trace, gpu, of, one, ERRORS) for one in possible], Kept(trace).holds("stream")


def fractions(of: Population) -> list[float]:
    """Fractions to choose from: from ``LEAST_CTAS`` by factors of ``FINENESS`` to what costs less than everything."""
    found, one = [], LEAST_CTAS / of.ctas
    while FIXED + one < 1.0:
        found.append(one)
        one *= FINENESS
    return found


def cheapest(promised: list[Forecast], target: float) -> float:
    """Least fraction whose interval should have the half width ``target``; 1 where a full replay costs no more."""
    enough = (one for one in promised if exact.length(one.sampling, one.model) <= target)
    least = next(enough, None)
    return least.fraction if least and least.first < 1.0 else 1.0


def half_width(found: Estimate) -> float:
    """Half width of the cycles' interval, as a share of the cycles; infinite without an interval."""
    bounds, cycles = found.intervals["gpu_cycles"], found.metrics["gpu_cycles"]
    return (bounds.high - bounds.low) / 2 / cycles if bounds and cycles else float("inf")
