"""Sectors that a unit beside the SMs writes into the L2: they are there as they are read.

Nothing else moves for them, but the line that gives way is written back where it is dirty. Which sectors they are
``launch.fills`` says. Source: ``docs/sources/crisp.md#traffic-between-stages``.
"""

from rayplay.replay.jit.bits import compiled, inlined
from rayplay.replay.memory.cache import state as cache
from rayplay.replay.memory.cache.fill import fill_sector
from rayplay.replay.memory.cache.tags import allocate, find, reserve_sector, victim
from rayplay.replay.memory.l2 import state as l2
from rayplay.replay.memory.port import READ


@inlined
def queued_with_filled(state: l2.L2, part: int, used: int, sector: int, kind: int, home: int) -> int:
    """Requests in the miss queue, after such a sector was put where it is read."""
    unit = state.tags.unit
    queued = unit[part, cache.QUEUE_TAIL] - unit[part, cache.QUEUE_HEAD]
    if state.filled.shape[0] == 0 or kind != READ or not is_filled(state, sector):
        return queued
    give(state.tags, part, used, sector, home, queued)
    return unit[part, cache.QUEUE_TAIL] - unit[part, cache.QUEUE_HEAD]


@inlined
def is_filled(state: l2.L2, sector: int) -> bool:
    """Whether a range has the sector."""
    low, high = 0, state.filled.shape[0]
    while low < high:
        middle = (low + high) >> 1
        if state.filled[middle, 1] > sector:
            high = middle
        else:
            low = middle + 1
    return low < state.filled.shape[0] and state.filled[low, 0] <= sector


@compiled
def give(tags: cache.Cache, at: int, now: int, sector: int, index: int, queued: int) -> None:
    """Have a sector that a unit beside the SMs wrote in the cache, unless it is there or under way.

    Its victim is written back. Where its set has no line to give, or the miss queue no place, nothing happens: a read
    of the sector fails for the same reason.
    """
    offset = sector & ((1 << tags.sector_shift) - 1)
    row = find(tags, at, sector >> tags.sector_shift)
    if row >= 0:
        if (tags.line[row, cache.STATUS] >> offset) & cache.SECTOR_IN_USE:
            return
        reserve_sector(tags, at, now, row, offset)
    else:
        row = victim(tags, at, at * tags.sets + cache.chosen_set(tags, index))
        if row < 0 or queued + 1 >= tags.miss_queue:
            return
        allocate(tags, at, now, row, sector >> tags.sector_shift, offset, tags.write_policy != cache.THROUGH)
    fill_sector(tags, at, row, offset, 0)
