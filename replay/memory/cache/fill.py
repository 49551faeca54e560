"""Data that arrives in a cache: from the next level, for the waiters of an MSHR entry, or by a copy of the host."""

from rayplay.replay.jit.bits import bucket, compiled, inlined
from rayplay.replay.memory.cache import state as cache
from rayplay.replay.memory.cache.bypass import may_bypass
from rayplay.replay.memory.cache.mshr import label_of, make_ready, stream_of
from rayplay.replay.memory.cache.state import offset_of
from rayplay.replay.memory.cache.tags import (
    allocate,
    find,
    free_way,
    link,
    mark_dirty,
    note_written,
    reserve_sector,
    set_status,
    victim,
)
from rayplay.replay.unit.streams import count_for


@compiled
def bring_back(state: cache.Cache, at: int, row: int) -> None:
    """Data arrived for a line that was forgotten meanwhile: it is there again, as in Accel-Sim.

    Another row may have the same tag by now: of several the lowest is found.
    """
    word, bit = free_way(state, row)
    state.unit[at, cache.FOUND_LINE] = -1
    state.free_ways[row >> state.way_shift, word] &= ~bit
    head, before = at * state.buckets + bucket(state.line[row, cache.TAG], state.buckets), -1
    here = int(state.bucket_head[head])
    while here >= 0:
        if state.line[here, cache.TAG] == state.line[row, cache.TAG] and here < row:
            before = here
        here = state.line[here, cache.CHAIN]
    if before < 0:
        state.line[row, cache.CHAIN] = state.bucket_head[head]
        state.bucket_head[head] = row
    else:
        state.line[row, cache.CHAIN] = state.line[before, cache.CHAIN]
        state.line[before, cache.CHAIN] = row
    link(state, row, (row >> state.way_shift) * 2)


@inlined
def fill_sector(state: cache.Cache, at: int, row: int, offset: int, byte_mask: int) -> None:
    """Data arrived for a sector: it is valid, or dirty where it was written meanwhile.

    As in Accel-Sim the count of dirty lines only grows here, even if the line becomes clean.
    """
    status = state.line[row, cache.STATUS]
    if not status & cache.IN_USE:
        bring_back(state, at, row)
    if status & (1 << cache.BYTES_ON_FILL):
        note_written(state, row, offset, byte_mask)
    if (status >> cache.READABLE_ON_FILL >> offset) & 1:
        status |= (1 << cache.READABLE) << offset
        status &= ~((1 << cache.READABLE_ON_FILL) << offset)
    dirty = (status >> cache.DIRTY_ON_FILL >> offset) & 1
    status &= ~((1 << cache.VALID | 1 << cache.DIRTY | 1 << cache.RESERVED) << offset)
    was_dirty = state.line[row, cache.STATUS] & cache.ALL_DIRTY
    set_status(state, at, row, status | (1 << (cache.DIRTY if dirty else cache.VALID)) << offset)
    if was_dirty and not state.line[row, cache.STATUS] & cache.ALL_DIRTY:
        state.unit[at, cache.DIRTY_LINES] += 1  # its fill was for another line, written and evicted meanwhile


@compiled
def fill(state: cache.Cache, at: int, now: int, entry: int) -> None:
    """The sector of an MSHR entry arrived: it is in the cache, and ``next_ready`` hands out the waiters."""
    place(state, at, now, entry)
    make_ready(state, at, entry)


@compiled
def place(state: cache.Cache, at: int, now: int, entry: int) -> None:
    """Put the sector of an MSHR entry, which arrived, into the cache."""
    count_for(state, at, stream_of(state, at, entry))
    state.owners.label[at] = label_of(state, at, entry)  # of the line that it may take
    here = at * state.pitch + entry
    sector, byte_mask = state.mshr[here, cache.SECTOR], state.mshr[here, cache.BYTES] & cache.FULL
    offset = offset_of(state, sector)
    row = state.mshr[here, cache.ROW]
    if state.on_fill and not (may_bypass(state) and row == cache.BYPASSED):
        row = settle(state, at, now, sector, state.mshr[here, cache.INDEX])
    if row >= 0:
        fill_sector(state, at, row, offset, byte_mask)
        if (state.mshr[here, cache.BYTES] >> cache.ATOMIC_SHIFT) & 1:
            mark_dirty(state, at, row, sector, byte_mask, False)
    state.stats[at, cache.FILLS] += 1


@inlined
def settle(state: cache.Cache, at: int, now: int, sector: int, index: int) -> int:
    """Find or make a place for a sector that arrives without one; -1 where its set has none to give."""
    offset = offset_of(state, sector)
    row = find(state, at, sector >> state.sector_shift)
    if row >= 0:
        status = state.line[row, cache.STATUS] >> offset
        partial = state.write_allocate == cache.LAZY_WHOLE_SECTORS and not status & (1 << cache.READABLE)
        if not status & cache.SECTOR_IN_USE or (partial and status & (1 << cache.DIRTY)):
            reserve_sector(state, at, now, row, offset)
        return row
    row = victim(state, at, at * state.sets + cache.chosen_set(state, index))
    if row >= 0:
        allocate(state, at, now, row, sector >> state.sector_shift, offset, False)
    return row


@compiled
def warm(state: cache.Cache, at: int, now: int, sector: int, index: int) -> None:
    """Have a sector in the cache without any traffic, as a copy from the host leaves it."""
    row = settle(state, at, now, sector, index)
    if row >= 0:
        fill_sector(state, at, row, offset_of(state, sector), 0)
