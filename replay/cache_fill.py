"""Data that arrives in a cache: from the next level, for those who wait in an MSHR entry, or by a copy of the host."""

from replay.bits import compiled, inlined
from replay.cache_lines import allocate, fill_sector, find, mark_dirty, reserve_sector, victim
from replay.cache_mshr import make_ready
from replay.cache_state import (
    ATOMIC_SHIFT,
    BYTES,
    FILLS,
    FULL,
    INDEX,
    ROW,
    SECTOR,
    SECTOR_IN_USE,
    STATUS,
    Cache,
    set_of,
)


@compiled
def fill(state: Cache, at: int, now: int, entry: int) -> None:
    """The sector of an MSHR entry arrived: it is in the cache, and ``next_ready`` hands out those who wait."""
    place(state, at, now, entry)
    make_ready(state, at, entry)


@compiled
def place(state: Cache, at: int, now: int, entry: int) -> None:
    """Put the sector of an MSHR entry, which arrived, into the cache."""
    here = at * state.entries + entry
    sector, byte_mask = state.mshr[here, SECTOR], state.mshr[here, BYTES] & FULL
    offset = sector & ((1 << state.sector_shift) - 1)
    row = state.mshr[here, ROW]
    if state.on_fill:
        row = settle(state, at, now, sector, state.mshr[here, INDEX])
    if row >= 0:
        fill_sector(state, at, row, offset, byte_mask)
        if state.mshr[here, BYTES] >> ATOMIC_SHIFT:
            mark_dirty(state, at, row, offset, byte_mask)
    state.stats[at, FILLS] += 1


@inlined
def settle(state: Cache, at: int, now: int, sector: int, index: int) -> int:
    """Find or make a place for a sector that arrives without one; -1 where its set has none to give."""
    offset = sector & ((1 << state.sector_shift) - 1)
    row = find(state, at, sector >> state.sector_shift)
    if row >= 0:
        if not (state.line[row, STATUS] >> offset) & SECTOR_IN_USE:
            reserve_sector(state, at, now, row, offset)
        return row
    row = victim(state, at, at * state.sets + set_of(state, index))
    if row >= 0:
        allocate(state, at, now, row, sector >> state.sector_shift, offset, False)
    return row


@compiled
def warm(state: Cache, at: int, now: int, sector: int, index: int) -> None:
    """Have a sector in the cache without any traffic, as a copy from the host leaves it."""
    row = settle(state, at, now, sector, index)
    if row >= 0:
        fill_sector(state, at, row, sector & ((1 << state.sector_shift) - 1), 0)
