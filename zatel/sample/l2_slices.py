"""Bound on time by the busiest L2 slice, which serves one sector a cycle however many SMs ask.

Intersection tables of all warps start in the same few slices. So for procedural primitives the busiest slice, not the
SMs, may decide the speed. The functional caches count the sectors asked of each slice in each window of the requests;
the schedule gives the length of the window. A window takes the larger of its length and its busiest slice's time. The
bound holds for the sample on its machine, where it is removed to find the unhindered speed, and for all warps on the
whole GPU.
"""

import numpy as np

from rayplay.replay.gpu.description import Gpu
from rayplay.zatel.model.schedule import Schedule, moments
from rayplay.zatel.model.traffic import Stream, Traffic
from rayplay.zatel.model.windows import WINDOWS, window_bounds

BISECTIONS = 40


def window_steps(stream: Stream, planned: Schedule, cost: float, warps: np.ndarray) -> np.ndarray:
    """Length of each window in steps of the schedule, float64[WINDOWS]; windows hold equally many requests."""
    time = moments(stream.phases, planned.begins, cost, warps, stream.requests, stream.step)
    if not len(time):
        return np.full(WINDOWS, planned.steps / WINDOWS)
    return np.diff(window_bounds(time), prepend=0.0, append=planned.steps)


def asked_more(part: Traffic, counted: Traffic) -> float:
    """Ratio of the sectors that L1s ask of the L2 in the sample's replay, ``counted``, to the functional caches'.

    Entries of intersection tables, equal in both, are left out.
    """
    entered = float(part.entered.sum())
    expected, found = (max(of.reads + of.writes - entered, 0.0) for of in (part, counted))
    return found / expected if expected else 1.0


def least_cycles(traffic: Traffic, gpu: Gpu, more: float = 1.0) -> np.ndarray:
    """Cycles of the busiest slice in each window, float64[WINDOWS].

    more  ratio from ``asked_more``.
    """
    slowest = min(gpu.memory.l2_clock_khz, gpu.memory.interconnect_clock_khz)
    return (traffic.asked * more + traffic.entered).max(axis=1) * gpu.sm.clock_khz / slowest


def unhindered(cycles: float, steps: np.ndarray, least: np.ndarray) -> float:
    """Cycles of the windows without the bound of the slices, given that they take ``cycles`` with it.

    steps  float64[WINDOWS], relative lengths.
    least  float64[WINDOWS], from ``least_cycles``.
    """
    share = steps / steps.sum()
    low, high = 0.0, cycles
    if np.maximum(high * share, least).sum() <= cycles:
        return cycles
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if np.maximum(middle * share, least).sum() < cycles else (low, middle)
    return high
