"""What a busy L2 slice adds to the time: it takes one sector a cycle, however many SMs ask.

Intersection tables of all warps begin in the same few slices, so that where rays meet procedural primitives the busiest
slice, and not the SMs, may decide how fast all of them go. The functional caches know what each slice is asked for in
each window of the requests, the schedule how long a window is. No window is shorter than its busiest slice is busy:
that holds for the sample on its machine, whose replay says how fast warps are apart from that, and for all warps on the
whole GPU.
"""

import numpy as np

from rayplay.replay.gpu.description import Gpu
from rayplay.zatel.model.schedule import Schedule, moments
from rayplay.zatel.model.traffic import WINDOWS, Stream, Traffic

BISECTIONS = 40


def window_steps(stream: Stream, planned: Schedule, cost: float, warps: np.ndarray) -> np.ndarray:
    """float64[WINDOWS]: steps of the schedule that each equal part of the requests of the ``warps`` takes."""
    time = moments(stream.phases, planned.begins, cost, warps, stream.requests, stream.step)
    if not len(time):
        return np.full(WINDOWS, planned.steps / WINDOWS)
    last = -(-np.arange(1, WINDOWS) * len(time) // WINDOWS)
    last = np.minimum(last, len(time) - 1)
    return np.diff(np.partition(time, last)[last], prepend=0.0, append=planned.steps)


def asked_more(part: Traffic, counted: Traffic) -> float:
    """How many times more sectors L1s ask for in the replay of a sample, ``counted``, than the functional caches say.

    Apart from entries of intersection tables, of which both have the same.
    """
    entered = float(part.entered.sum())
    expected, found = (max(of.reads + of.writes - entered, 0.0) for of in (part, counted))
    return found / expected if expected else 1.0


def least_cycles(traffic: Traffic, gpu: Gpu, more: float = 1.0) -> np.ndarray:
    """float64[WINDOWS]: cycles for which the busiest slice is busy with each part of the requests.

    more  of ``asked_more``.
    """
    slowest = min(gpu.memory.l2_clock_khz, gpu.memory.interconnect_clock_khz)
    return (traffic.asked * more + traffic.entered).max(axis=1) * gpu.sm.clock_khz / slowest


def unhindered(cycles: float, steps: np.ndarray, least: np.ndarray) -> float:
    """Cycles in which the windows would be over if no slice were busy, when they take ``cycles``.

    steps  float64[WINDOWS], how their lengths compare. least  of ``least_cycles``.
    """
    share = steps / steps.sum()
    low, high = 0.0, cycles
    if np.maximum(high * share, least).sum() <= cycles:
        return cycles
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if np.maximum(middle * share, least).sum() < cycles else (low, middle)
    return high
