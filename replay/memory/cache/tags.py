"""The lines of a cache: found by a hash of their tag, kept in order of use, and replaced.

The victim of a set is a way without a valid sector, the highest such; else the line used longest ago (of several used
in one cycle the lowest way) among those that wait for nothing, dirty ones only when enough lines of the instance are.
"""

import numpy as np

from rayplay.replay.jit.bits import FAR, bucket, compiled, inlined, lowest_bit
from rayplay.replay.jit.rows import prefetch
from rayplay.replay.memory.cache.state import (
    ALL_DIRTY,
    ALL_READABLE,
    ALL_RESERVED,
    CHAIN,
    DIRTY,
    DIRTY_LINES,
    DIRTY_ON_FILL,
    EVICTIONS,
    FOUND_LINE,
    FOUND_ROW,
    FULL,
    IN_USE,
    LAZY_WHOLE_SECTORS,
    NEWER,
    NEWEST,
    OLDER,
    OLDEST,
    QUEUE_TAIL,
    READABLE,
    READABLE_ON_FILL,
    RESERVED,
    STATUS,
    TAG,
    USED,
    USED_AT,
    VALID,
    WRITE_BACK,
    WRITE_BACKS,
    WRITTEN,
    Cache,
)


@compiled
def invalidate(state: Cache, at: int) -> None:
    """Forget all lines of an instance. What waits in its MSHRs stays; what it waits for brings its line back."""
    if state.unit[at, USED] == 0:  # as in the reference, where no access has used the tags since the last time
        return
    state.unit[at, USED] = 0
    state.unit[at, DIRTY_LINES] = 0
    state.unit[at, FOUND_LINE] = -1
    first, last = at * state.sets, (at + 1) * state.sets
    state.order[2 * first : 2 * last] = -1
    for word in range(state.free_ways.shape[1]):
        ways = min(max(state.ways - 64 * word, 0), 64)
        free = -1 if ways == 64 else (1 << ways) - 1
        for group in range(first, last):
            used = free & ~state.free_ways[group, word]
            state.free_ways[group, word] = free
            while used:  # mostly few are: the others need not be brought into the host's caches
                row = (group << state.way_shift) + state.ways - 1 - (64 * word + lowest_bit(used))
                used &= used - 1
                state.line[row, STATUS] &= ~IN_USE
                state.bucket_head[at * state.buckets + bucket(state.line[row, TAG], state.buckets)] = -1


@inlined
def find(state: Cache, at: int, line: int) -> int:
    """Row that holds the line number, or -1. Mostly several sectors of a line are looked for, one after the other."""
    unit = state.unit
    if unit[at, FOUND_LINE] != line:
        unit[at, FOUND_LINE] = line
        unit[at, FOUND_ROW] = look_for(state, at, line)
    return unit[at, FOUND_ROW]


@inlined
def look_for(state: Cache, at: int, line: int) -> int:
    """Row that holds the line number, or -1, from the hash table."""
    row = int(state.bucket_head[at * state.buckets + bucket(line, state.buckets)])
    while row >= 0 and state.line[row, TAG] != line:
        row = state.line[row, CHAIN]
    return row


@inlined
def look_ahead(cache: Cache, at: int, sector: int) -> None:
    """Where an instance will look for a sector: among its lines, and among the sectors that are missing."""
    head = at * cache.buckets + bucket(sector >> cache.sector_shift, cache.buckets)
    prefetch(cache.line, int(cache.bucket_head[head]))
    prefetch(cache.mshr_head, at * cache.mshr_buckets + bucket(sector, cache.mshr_buckets))


@inlined
def list_of(state: Cache, row: int) -> int:
    """The list a row belongs to: its set's clean or dirty one."""
    return (row >> state.way_shift) * 2 + (1 if state.line[row, STATUS] & ALL_DIRTY else 0)


@inlined
def unlink(state: Cache, row: int, group: int) -> None:
    """Take a row out of a list."""
    line, order = state.line, state.order
    newer, older = line[row, NEWER], line[row, OLDER]
    if newer >= 0:
        line[newer, OLDER] = older
    else:
        order[group, NEWEST] = older
    if older >= 0:
        line[older, NEWER] = newer
    else:
        order[group, OLDEST] = newer


@inlined
def link(state: Cache, row: int, group: int) -> None:
    """Put a row into a list at its time of use; mostly that is now."""
    line, order = state.line, state.order
    newer, older = -1, order[group, NEWEST]
    while older >= 0 and line[older, USED_AT] > line[row, USED_AT]:
        newer, older = older, line[older, OLDER]
    line[row, NEWER], line[row, OLDER] = newer, older
    if newer >= 0:
        line[newer, OLDER] = row
    else:
        order[group, NEWEST] = row
    if older >= 0:
        line[older, NEWER] = row
    else:
        order[group, OLDEST] = row


@inlined
def touch(state: Cache, row: int, now: int) -> None:
    """Note a use of the row; the first one of a cycle will do, for nobody asks in which order its rows were used."""
    if state.line[row, USED_AT] == now:
        return
    group = list_of(state, row)
    state.line[row, USED_AT] = now
    if state.order[group, NEWEST] != row:
        unlink(state, row, group)
        link(state, row, group)


@inlined
def set_status(state: Cache, at: int, row: int, status: int) -> None:
    """Give a row a new status; it changes its list when it becomes dirty or clean."""
    before = state.line[row, STATUS]
    if bool(before & ALL_DIRTY) == bool(status & ALL_DIRTY):
        state.line[row, STATUS] = status
        return
    unlink(state, row, list_of(state, row))
    state.line[row, STATUS] = status
    link(state, row, list_of(state, row))
    state.unit[at, DIRTY_LINES] += 1 if status & ALL_DIRTY else -1


@inlined
def note_written(state: Cache, row: int, offset: int, byte_mask: int) -> int:
    """Bytes of a sector are written; returns all that ever were."""
    column, shift = WRITTEN + (offset >> 1), 32 * (offset & 1)
    state.line[row, column] |= np.int64(byte_mask) << shift
    return (state.line[row, column] >> shift) & FULL


@inlined
def mark_dirty(state: Cache, at: int, row: int, offset: int, byte_mask: int) -> None:
    """Bytes of a sector are written: it is dirty, and readable once all its bytes are (or all are at once)."""
    written = note_written(state, row, offset, byte_mask)
    if state.write_allocate == LAZY_WHOLE_SECTORS:
        written = byte_mask
    status = state.line[row, STATUS] & ~((1 << VALID | 1 << RESERVED) << offset) | (1 << DIRTY) << offset
    if written == FULL:
        status |= (1 << READABLE) << offset
    set_status(state, at, row, status)


@compiled
def oldest(state: Cache, at: int, group: int) -> int:
    """The row of a list used longest ago among those that wait for nothing, the lowest of several; or -1."""
    line = state.line
    row = state.order[group, OLDEST]
    while row >= 0 and line[row, STATUS] & ALL_RESERVED:
        row = line[row, NEWER]
    if row < 0:
        return -1
    best, following = row, line[row, NEWER]
    if following >= 0:  # it is the next to be replaced after this
        prefetch(line, line[following, NEWER])
        prefetch(state.bucket_head, at * state.buckets + bucket(line[following, TAG], state.buckets))
    while following >= 0 and line[following, USED_AT] == line[row, USED_AT]:
        if following < best and not line[following, STATUS] & ALL_RESERVED:
            best = following
        following = line[following, NEWER]
    return best


@inlined
def victim(state: Cache, at: int, group: int) -> int:
    """The row of a set that a new line may take, or -1 where all wait for data (or are dirty, and too few are)."""
    for word in range(state.free_ways.shape[1]):
        if state.free_ways[group, word]:
            way = state.ways - 1 - 64 * word - lowest_bit(state.free_ways[group, word])
            return (group << state.way_shift) + way
    row = oldest(state, at, 2 * group)
    if 100 * state.unit[at, DIRTY_LINES] >= state.dirty_percent * state.sets * state.ways:
        dirty = oldest(state, at, 2 * group + 1)
        clean_at = state.line[row, USED_AT] if row >= 0 else FAR
        if dirty >= 0 and (state.line[dirty, USED_AT], dirty) < (clean_at, row):
            row = dirty
    return row


@inlined
def forget(state: Cache, at: int, row: int) -> None:
    """Take a row out of its hash bucket and its list."""
    state.unit[at, FOUND_LINE] = -1
    unlink(state, row, list_of(state, row))
    head = at * state.buckets + bucket(state.line[row, TAG], state.buckets)
    here, before = int(state.bucket_head[head]), -1
    while here != row:
        here, before = state.line[here, CHAIN], here
    if before < 0:
        state.bucket_head[head] = state.line[row, CHAIN]
    else:
        state.line[before, CHAIN] = state.line[row, CHAIN]


@inlined
def free_way(state: Cache, row: int) -> tuple[int, int]:
    """Word of ``free_ways`` and bit in it that stand for the row."""
    place = state.ways - 1 - (row & ((1 << state.way_shift) - 1))
    return place >> 6, 1 << (place & 63)


@compiled
def allocate(state: Cache, at: int, now: int, row: int, line: int, offset: int, sends: bool) -> None:
    """Give a row to a line number and reserve a sector; a dirty line is written back where it ``sends``."""
    group = row >> state.way_shift
    status = state.line[row, STATUS]
    if status & IN_USE:
        forget(state, at, row)
        state.stats[at, EVICTIONS] += 1
        dirty = (status & ALL_DIRTY) >> DIRTY
        if dirty:
            state.unit[at, DIRTY_LINES] -= 1
        if dirty and sends:
            push(state, at, WRITE_BACK, state.line[row, TAG] << state.sector_shift, dirty, state.shares.stream[at])
            state.stats[at, WRITE_BACKS] += 1
    else:
        word, bit = free_way(state, row)
        state.free_ways[group, word] &= ~bit
    head = at * state.buckets + bucket(line, state.buckets)
    state.unit[at, FOUND_LINE] = -1
    state.line[row, TAG] = line
    state.line[row, USED_AT] = now
    state.line[row, STATUS] = ALL_READABLE | (1 << RESERVED) << offset
    state.line[row, WRITTEN] = state.line[row, WRITTEN + 1] = 0
    state.line[row, CHAIN] = state.bucket_head[head]
    state.bucket_head[head] = row
    link(state, row, 2 * group)


@inlined
def push(state: Cache, at: int, kind: int, sector: int, mask: int, payload: int) -> None:
    """Put a request into the miss queue."""
    row = at * state.ring + (state.unit[at, QUEUE_TAIL] & (state.ring - 1))
    state.unit[at, QUEUE_TAIL] += 1
    state.queue[row, 0] = kind
    state.queue[row, 1] = sector
    state.queue[row, 2] = mask
    state.queue[row, 3] = payload


@inlined
def reserve_sector(state: Cache, at: int, now: int, row: int, offset: int) -> None:
    """Reserve one more sector of a line; what was written to it stays dirty when the rest arrives."""
    status = state.line[row, STATUS]
    fresh = status & ~((1 << VALID | 1 << DIRTY | 1 << DIRTY_ON_FILL | 1 << READABLE_ON_FILL) << offset)
    fresh |= (1 << RESERVED | 1 << READABLE) << offset
    if (status >> DIRTY >> offset) & 1:
        fresh |= (1 << DIRTY_ON_FILL) << offset
    set_status(state, at, row, fresh)
    touch(state, row, now)


@inlined
def drop_sector(state: Cache, at: int, row: int, offset: int) -> None:
    """Make a sector invalid; a line without any other is free. The count of dirty lines stays, as in the reference."""
    dirty_lines = state.unit[at, DIRTY_LINES]
    status = state.line[row, STATUS] & ~((1 << VALID | 1 << DIRTY | 1 << RESERVED) << offset)
    if status & IN_USE:
        set_status(state, at, row, status)
    else:
        forget(state, at, row)
        state.line[row, STATUS] = status  # what it shall be on a fill stays: data under way brings it back
        word, bit = free_way(state, row)
        state.free_ways[row >> state.way_shift, word] |= bit
    state.unit[at, DIRTY_LINES] = dirty_lines
