"""Reads that leave no line in a cache, where a policy says so.

The MSHR entry of such a read holds ``BYPASSED`` in place of a row. An access that joins it takes no row either; a write
or an atomic, which needs one, is tried again until the data has come.
"""

from rayplay.replay.jit.bits import inlined
from rayplay.replay.jit.hooks import hook, is_replaced
from rayplay.replay.memory.cache import state as cache
from rayplay.replay.memory.cache.mshr import find_entry


@hook("cache.allocates")
def allocates(state: cache.Cache, at: int, sector: int, waiter: int) -> bool:
    """Choose whether a read that misses gets a line. ``waiter``: who reads; in an L1, odd for the RT unit.

    Asked again in each cycle in which the read is tried. Reads of a line that the cache holds, writes and atomics are
    not asked about.
    """
    return True


may_bypass = is_replaced("cache.allocates")


@inlined
def is_bypassed(state: cache.Cache, at: int, sector: int, row: int, atomic: int, waiter: int) -> bool:
    """Whether a read that misses leaves no line: the one under way does not, or the policy says so. row: its line."""
    entry = find_entry(state, at, cache.fetched(state, sector))
    if entry >= 0:
        return holds_no_row(state, at, entry)
    return row < 0 and atomic == 0 and not allocates(state, at, sector, waiter)


@inlined
def holds_no_row(state: cache.Cache, at: int, entry: int) -> bool:
    """Whether the data of an MSHR entry passes the cache by."""
    return bool(state.mshr[at * state.pitch + entry, cache.ROW] == cache.BYPASSED)
