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


def window_steps(stream: Stream, planned: Schedule, cost: float, warps: np.ndarray) -> np.ndarray:
    """Length of each window in steps of the schedule, float64[WINDOWS]; windows hold equally many requests."""
    time = moments(stream.phases, planned.begins, cost, warps, stream.requests, stream.step)
    if not len(time):
        return np.full(WINDOWS, planned.steps / WINDOWS)
    return np.diff(window_bounds(time), prepend=0.0, append=planned.steps)


def least_cycles(traffic: Traffic, gpu: Gpu) -> np.ndarray:
    """Cycles of the busiest slice in each window, float64[WINDOWS]."""
    slowest = min(gpu.memory.l2_clock_khz, gpu.memory.interconnect_clock_khz)
    return (traffic.asked + traffic.entered).max(axis=1) * gpu.sm.clock_khz / slowest


def unhindered(cycles: float, steps: np.ndarray, least: np.ndarray) -> float:
    """Cycles of the windows without the bound of the slices, given that they take ``cycles`` with it.

    steps  float64[WINDOWS], relative lengths.
    least  float64[WINDOWS], from ``least_cycles``.

    The windows of any set that the bound holds leave (cycles - their least) / (share of the others); the smallest of
    these, at least a cycle, is the answer, since max(free x share, least) is the largest over all sets. Sets by falling
    least / share do.
    """
    share = steps / steps.sum()
    order = np.lexsort((share, -least / np.maximum(share, 1e-300)))
    held, freed = (np.concatenate([[0.0], np.cumsum(of[order])[:-1]]) for of in (least, share))
    return max(float(((cycles - held) / np.maximum(1.0 - freed, 1e-300)).min()), 1.0)
