"""The schedule of a launch: blocks take turns on cores, resident warps share a core, the last ones leave it empty."""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from rayplay.formats.guard.code_cache import kept

compiled: Any = kept(njit(cache=True), ["tuner/schedule.py"])


@compiled
def launch_cycles(
    alone: NDArray[np.float64], busy: NDArray[np.float64], blocks: int, step: int, cores: int, resident: int
) -> float:
    """Cycles until the last block of a launch retires.

    alone     float64[sampled blocks, warps of a block], above 0: cycles of a warp that has a core to itself.
    busy      the same shape: cycles for which the warp occupies its core's scarcest unit, at most ``alone``.
    blocks    of the launch; block k is like sampled block k // step.
    resident  blocks that a core holds at a time.

    Warps of a core advance alike, slower by what they wait for each other (``slowed``).
    Blocks start in order, first one a core in turn, then where a block retires first.
    """
    warps = alone.shape[1]
    ends = np.full((cores, resident, warps), np.inf)  # on the core's own clock, which runs at its speed
    share = np.zeros((cores, resident, warps))
    left = np.zeros((cores, resident), np.int64)
    own, now, until = np.zeros(cores), np.zeros(cores), np.full(cores, np.inf)
    first = np.zeros(cores, np.int64)  # warp of a core that retires next
    begun = min(blocks, cores * resident)
    for block in range(begun):
        _start(alone, busy, min(block // step, len(alone) - 1), ends, share, left, own, block % cores, block // cores)
    for core in range(cores):
        first[core], until[core] = _next(ends, share, core, own[core], now[core])
    last = 0.0
    while True:
        core = int(np.argmin(until))
        if until[core] == np.inf:
            return last
        last = now[core] = until[core]
        slot, warp = first[core] // warps, first[core] % warps
        own[core] = ends[core, slot, warp]
        ends[core, slot, warp] = np.inf
        share[core, slot, warp] = 0.0
        left[core, slot] -= 1
        if left[core, slot] == 0 and begun < blocks:
            _start(alone, busy, min(begun // step, len(alone) - 1), ends, share, left, own, core, slot)
            begun += 1
        first[core], until[core] = _next(ends, share, core, own[core], now[core])


@compiled
def _start(alone: Any, busy: Any, row: int, ends: Any, share: Any, left: Any, own: Any, core: int, slot: int) -> None:
    left[core, slot] = alone.shape[1]
    for warp in range(alone.shape[1]):
        ends[core, slot, warp] = own[core] + alone[row, warp]
        share[core, slot, warp] = busy[row, warp] / alone[row, warp]


@compiled
def _next(ends: Any, share: Any, core: int, own: float, now: float) -> tuple[int, float]:
    """The next warp of a core that retires, and when."""
    first, end, total, place, warps = 0, np.inf, 0.0, 0, 0
    for slot in range(ends.shape[1]):
        for warp in range(ends.shape[2]):
            if ends[core, slot, warp] < np.inf:
                warps += 1
            if ends[core, slot, warp] < end:
                first, end = place, ends[core, slot, warp]
            total += share[core, slot, warp]
            place += 1
    return first, now + (end - own) * slowed(total, warps)


@compiled
def slowed(load: float, warps: int) -> float:
    """How much longer than alone warps take that come to one unit at times of their own.

    load   sum of their shares busy / alone. They form a closed queue: with d = load / warps of its time alone a warp is
           served, and waits for the warps that it finds there, whose number is the average with itself left out
           (Bard's and Schweitzer's approximation of mean value analysis). 1 for one warp, ``load`` for many.
    """
    if warps == 0:
        return 1.0
    served = load / warps
    elsewhere = 1 - served
    half = (load - elsewhere) / 2
    return elsewhere + half + np.sqrt(half * half + served * elsewhere)
