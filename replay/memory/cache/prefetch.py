"""Prefetches that a policy chooses: fetches without a waiter."""

from rayplay.replay.jit.bits import compiled
from rayplay.replay.jit.hooks import hook, is_replaced
from rayplay.replay.memory.cache import access
from rayplay.replay.memory.cache import state as cache
from rayplay.replay.memory.cache.mshr import find_entry
from rayplay.replay.memory.cache.tags import find


@hook("cache.prefetch")
def prefetch(state: cache.Cache, at: int, now: int, sector: int, answer: int, waiter: int) -> int:
    """Choose a sector to prefetch after an access to ``sector``, or -1; it may be one that the cache holds.

    sector  its address / 32; a line is 1 << ``state.sector_shift`` of them.
    answer  what the read met: ``HIT``, ``HIT_RESERVED`` (on its way), ``MISS`` (no line), ``SECTOR_MISS`` (a line
            without the sector), never ``FAIL``.
    waiter  who reads; in an L1, odd for the RT unit.

    Asked once for each access, not for a prefetch. A sector that finds no MSHR entry, line or place in the miss queue
    is dropped; ``prefetched`` says so.
    """
    return -1


@hook("cache.prefetched")
def prefetched(state: cache.Cache, at: int, sector: int, answer: int) -> None:
    """Told how a prefetch went: HIT and HIT_RESERVED (there, or on its way), FAIL (no room), or that it was sent."""


prefetches = is_replaced("cache.prefetch")


@compiled
def bring(state: cache.Cache, at: int, now: int, sector: int, index: int, queued: int) -> int:
    """Fetch a sector without a waiter; answers as ``access.read`` does, and only a miss changes anything.

    index, queued  as of ``access.read``.
    """
    row = find(state, at, sector >> state.sector_shift)
    if access.may_read(state, row, sector):
        return cache.HIT
    kind = access.probed(state, row, cache.offset_of(state, sector))
    if kind == cache.HIT_RESERVED or find_entry(state, at, cache.fetched(state, sector)) >= 0:
        return cache.HIT_RESERVED
    if state.unit[at, cache.MSHR_FREE] == 0 or queued + 1 >= state.miss_queue:
        return cache.FAIL
    place = access.place_for(state, at, row, index)
    if place < 0:
        return cache.FAIL
    access.fetch(state, at, now, sector, index, cache.FULL, 0, access.NOBODY, kind, place, -1, False)
    return kind
