"""The lines of a cache: found by a hash of their tag, kept in order of use, and replaced.

A way without a valid sector is replaced first, the highest such; else the least recently used line, or under
``replacement = "fifo"`` the line allocated first (of several in one cycle the lowest way), among lines that wait for
nothing, dirty ones only when enough lines of the instance are.
"""

import numpy as np

from rayplay.replay.jit.bits import bucket, compiled, inlined, lowest_bit
from rayplay.replay.jit.rows import host_prefetch, wrap
from rayplay.replay.memory.cache import state as cache
from rayplay.replay.memory.cache.owners import SAMPLED
from rayplay.replay.memory.cache.replacement import allocated, can_go, chooses, replace, used

ANY = -2  # in place of a row or a class


@compiled
def invalidate(state: cache.Cache, at: int) -> None:
    """Forget all lines of an instance. What waits in its MSHRs stays; what it waits for brings its line back."""
    if state.unit[at, cache.USED] == 0:  # as in Accel-Sim, where no access has used the tags since the last time
        return
    state.unit[at, cache.USED] = 0
    state.unit[at, cache.DIRTY_LINES] = 0
    state.unit[at, cache.FOUND_LINE] = -1
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
                state.line[row, cache.STATUS] &= ~cache.IN_USE
                state.bucket_head[at * state.buckets + bucket(state.line[row, cache.TAG], state.buckets)] = -1


@compiled
def flush(state: cache.Cache, at: int) -> None:
    """Forget an instance's lines with dirty sectors, without a write-back, as in Accel-Sim."""
    if state.unit[at, cache.USED] == 0:
        return
    for group in range(at * state.sets, (at + 1) * state.sets):
        row = state.order[2 * group + 1, cache.NEWEST]
        while row >= 0:
            older = state.line[row, cache.OLDER]
            forget(state, at, row)
            state.line[row, cache.STATUS] &= ~cache.IN_USE
            word, bit = free_way(state, row)
            state.free_ways[group, word] |= bit
            row = older
    state.unit[at, cache.USED] = 0
    state.unit[at, cache.DIRTY_LINES] = 0


@inlined
def find(state: cache.Cache, at: int, line: int) -> int:
    """Row that holds the line number, or -1. Mostly several sectors of a line are looked for, one after the other."""
    unit = state.unit
    if unit[at, cache.FOUND_LINE] != line:
        unit[at, cache.FOUND_LINE] = line
        unit[at, cache.FOUND_ROW] = look_for(state, at, line)
    return unit[at, cache.FOUND_ROW]


@inlined
def look_for(state: cache.Cache, at: int, line: int) -> int:
    """Row that holds the line number, or -1, from the hash table."""
    row = int(state.bucket_head[at * state.buckets + bucket(line, state.buckets)])
    while row >= 0 and state.line[row, cache.TAG] != line:
        row = state.line[row, cache.CHAIN]
    return row


@inlined
def look_ahead(state: cache.Cache, at: int, sector: int) -> None:
    """Prefetch the places where an instance will look for a sector: its lines and its MSHR entries."""
    head = at * state.buckets + bucket(sector >> state.sector_shift, state.buckets)
    host_prefetch(state.line, int(state.bucket_head[head]))
    host_prefetch(state.mshr_head, at * state.mshr_buckets + bucket(sector, state.mshr_buckets))


@inlined
def list_of(state: cache.Cache, row: int) -> int:
    """The list a row belongs to: its set's clean or dirty one."""
    return (row >> state.way_shift) * 2 + (1 if state.line[row, cache.STATUS] & cache.ALL_DIRTY else 0)


@inlined
def unlink(state: cache.Cache, row: int, group: int) -> None:
    """Take a row out of a list."""
    line, order = state.line, state.order
    newer, older = line[row, cache.NEWER], line[row, cache.OLDER]
    if newer >= 0:
        line[newer, cache.OLDER] = older
    else:
        order[group, cache.NEWEST] = older
    if older >= 0:
        line[older, cache.NEWER] = newer
    else:
        order[group, cache.OLDEST] = newer


@inlined
def link(state: cache.Cache, row: int, group: int) -> None:
    """Put a row into a list at its time of use; mostly that is now."""
    line, order = state.line, state.order
    newer, older = -1, order[group, cache.NEWEST]
    while older >= 0 and line[older, cache.USED_AT] > line[row, cache.USED_AT]:
        newer, older = older, line[older, cache.OLDER]
    line[row, cache.NEWER], line[row, cache.OLDER] = newer, older
    if newer >= 0:
        line[newer, cache.OLDER] = row
    else:
        order[group, cache.NEWEST] = row
    if older >= 0:
        line[older, cache.NEWER] = row
    else:
        order[group, cache.OLDEST] = row


@inlined
def touch(state: cache.Cache, row: int, now: int) -> None:
    """Update LRU order once a cycle: the order within a cycle is unobservable. Under FIFO a use changes nothing."""
    used(state, row, now)
    if state.line[row, cache.USED_AT] == now or state.fifo:
        return
    group = list_of(state, row)
    state.line[row, cache.USED_AT] = now
    if state.order[group, cache.NEWEST] != row:
        unlink(state, row, group)
        link(state, row, group)


@inlined
def set_status(state: cache.Cache, at: int, row: int, status: int) -> None:
    """Give a row a new status; it changes its list when it becomes dirty or clean."""
    before = state.line[row, cache.STATUS]
    if bool(before & cache.ALL_DIRTY) == bool(status & cache.ALL_DIRTY):
        state.line[row, cache.STATUS] = status
        return
    unlink(state, row, list_of(state, row))
    state.line[row, cache.STATUS] = status
    link(state, row, list_of(state, row))
    state.unit[at, cache.DIRTY_LINES] += 1 if status & cache.ALL_DIRTY else -1


@inlined
def note_written(state: cache.Cache, row: int, offset: int, byte_mask: int) -> int:
    """Bytes of a sector are written; returns all that ever were."""
    column, shift = cache.WRITTEN + (offset >> 1), 32 * (offset & 1)
    state.line[row, column] |= np.int64(byte_mask) << shift
    return (state.line[row, column] >> shift) & cache.FULL


@inlined
def mark_dirty(state: cache.Cache, at: int, row: int, sector: int, byte_mask: int, by_store: bool) -> None:
    """Bytes of a sector are written: it is dirty, and readable once all its bytes are (or all are at once).

    Only stores make a sector readable, as in Accel-Sim: an atomic that finds it partly written leaves it so.
    """
    written = note_written(state, row, sector & ((1 << state.sector_shift) - 1), byte_mask)
    offset = cache.offset_of(state, sector)
    if state.write_allocate == cache.LAZY_WHOLE_SECTORS:
        written = byte_mask
    status = state.line[row, cache.STATUS] & ~((1 << cache.VALID | 1 << cache.RESERVED) << offset)
    status |= (1 << cache.DIRTY) << offset
    if by_store and written == cache.FULL:
        status |= (1 << cache.READABLE) << offset
    set_status(state, at, row, status)


@inlined
def victim(state: cache.Cache, at: int, group: int) -> int:
    """The row of a set that a new line may take, or -1 where all wait for data (or are dirty, and too few are)."""
    if state.owners.are_limited and has_its_ways(state, at, group):
        return oldest_of_classes(state, group, state.owners.class_of[state.owners.label[at] >> 1])
    for word in range(state.free_ways.shape[1]):
        if state.free_ways[group, word]:
            way = state.ways - 1 - 64 * word - lowest_bit(state.free_ways[group, word])
            return (group << state.way_shift) + way
    if state.owners.takes_back:
        row = oldest_of_classes(state, group, ANY)
        if row >= 0:
            return row
    row = replace(state, at, group)
    return -1 if chooses(state) and not can_go(state, group, row) else row


@inlined
def class_of(state: cache.Cache, row: int) -> int:
    """Class of work that a line was allocated for."""
    return state.owners.class_of[state.owners.owner[row] >> 1]


@compiled
def lines_of(state: cache.Cache, group: int, owner: int) -> int:
    """Lines of a set that are a class's."""
    held = 0
    for row in range(group << state.way_shift, (group << state.way_shift) + state.ways):
        held += (state.line[row, cache.STATUS] & cache.IN_USE) != 0 and class_of(state, row) == owner
    return held


@inlined
def has_its_ways(state: cache.Cache, at: int, group: int) -> bool:
    """Whether the class of the access under way has as many lines of a set as it may have."""
    owner = state.owners.class_of[state.owners.label[at] >> 1]
    return lines_of(state, group, owner) >= state.owners.ways[owner]


@compiled
def oldest_of_classes(state: cache.Cache, group: int, owner: int) -> int:
    """The line of a class used longest ago, or of those above their limits (ANY); -1: all wait for data.

    Dirty or not: a class whose few lines are all dirty would wait forever for others to write.
    """
    best = -1
    for row in range(group << state.way_shift, (group << state.way_shift) + state.ways):
        status = state.line[row, cache.STATUS]
        if not status & cache.IN_USE or status & cache.ALL_RESERVED or not is_candidate(state, group, row, owner):
            continue
        if best < 0 or state.line[row, cache.USED_AT] < state.line[best, cache.USED_AT]:
            best = row
    return best


@inlined
def is_candidate(state: cache.Cache, group: int, row: int, owner: int) -> bool:
    """Whether a line is of a class, or of one above its limit (ANY)."""
    other = class_of(state, row)
    return other == owner if owner != ANY else lines_of(state, group, other) > state.owners.ways[other]


@compiled
def note_alone(state: cache.Cache, at: int, sector: int, group: int) -> None:
    """As ``note_use``, in the monitor of the access's class; group: set of the instance."""
    owners, owner = state.owners, state.owners.class_of[state.owners.label[at] >> 1]
    line, bit = (sector >> state.sector_shift) + 1, 1 << (sector & ((1 << state.sector_shift) - 1))
    row = (at * owners.classes + owner) * owners.monitored + group // SAMPLED
    place = 0
    while place < state.ways - 1 and owners.monitor[row, place] and owners.monitor[row, place] >> 4 != line:
        place += 1
    held = owners.monitor[row, place] if owners.monitor[row, place] >> 4 == line else line << 4
    owners.use[at * owners.classes + owner, place] += (held & bit) != 0
    for newer in range(place, 0, -1):
        owners.monitor[row, newer] = owners.monitor[row, newer - 1]
    owners.monitor[row, 0] = held | bit


@compiled
def note_use(state: cache.Cache, at: int, sector: int) -> None:
    """Count a hit of the access under way by the lines of its set that were used since its line was."""
    row = find(state, at, sector >> state.sector_shift)
    offset = sector & ((1 << state.sector_shift) - 1)
    if row < 0 or not (state.line[row, cache.STATUS] >> cache.VALID >> offset) & 1:
        return
    since, first = 0, row >> state.way_shift << state.way_shift
    for other in range(first, first + state.ways):
        is_newer = state.line[other, cache.USED_AT] > state.line[row, cache.USED_AT]
        since += is_newer and state.line[other, cache.STATUS] & cache.IN_USE != 0
    owner = state.owners.class_of[state.owners.label[at] >> 1]
    state.owners.use[at * state.owners.classes + owner, since] += 1


@inlined
def forget(state: cache.Cache, at: int, row: int) -> None:
    """Take a row out of its hash bucket and its list."""
    state.unit[at, cache.FOUND_LINE] = -1
    unlink(state, row, list_of(state, row))
    head = at * state.buckets + bucket(state.line[row, cache.TAG], state.buckets)
    here, before = int(state.bucket_head[head]), -1
    while here != row:
        here, before = state.line[here, cache.CHAIN], here
    if before < 0:
        state.bucket_head[head] = state.line[row, cache.CHAIN]
    else:
        state.line[before, cache.CHAIN] = state.line[row, cache.CHAIN]


@inlined
def free_way(state: cache.Cache, row: int) -> tuple[int, int]:
    """Word of ``free_ways`` and bit in it that stand for the row."""
    place = state.ways - 1 - (row & ((1 << state.way_shift) - 1))
    return place >> 6, 1 << (place & 63)


@compiled
def allocate(state: cache.Cache, at: int, now: int, row: int, line: int, offset: int, sends: bool) -> None:
    """Give a row to a line number and reserve a sector; a dirty line is written back where it ``sends``."""
    group = row >> state.way_shift
    status = state.line[row, cache.STATUS]
    if status & cache.IN_USE:
        forget(state, at, row)
        state.stats[at, cache.EVICTIONS] += 1
        dirty = (status & cache.ALL_DIRTY) >> cache.DIRTY
        if dirty and state.whole_lines:
            dirty = (1 << (1 << state.sector_shift)) - 1
        if dirty:
            state.unit[at, cache.DIRTY_LINES] -= 1
        if dirty and sends:
            push_write_back(state, at, row, dirty, line << state.sector_shift | offset)
            state.stats[at, cache.WRITE_BACKS] += 1
    else:
        word, bit = free_way(state, row)
        state.free_ways[group, word] &= ~bit
    head = at * state.buckets + bucket(line, state.buckets)
    state.unit[at, cache.FOUND_LINE] = -1
    if state.owners.are_kept:
        state.owners.owner[row] = state.owners.label[at]
    state.line[row, cache.TAG] = line
    state.line[row, cache.USED_AT] = now
    state.line[row, cache.STATUS] = cache.ALL_READABLE | (1 << cache.RESERVED) << offset
    state.line[row, cache.WRITTEN] = state.line[row, cache.WRITTEN + 1] = 0
    state.line[row, cache.CHAIN] = state.bucket_head[head]
    state.bucket_head[head] = row
    link(state, row, 2 * group)
    allocated(state, at, row, line, now)


@inlined
def push_write_back(state: cache.Cache, at: int, row: int, dirty: int, cause: int) -> None:
    """Put a line's dirty sectors into the miss queue, with their bytes, and the sector that drives them away."""
    here = at * state.ring + wrap(state.unit[at, cache.QUEUE_TAIL], state.ring)
    push(state, at, cache.WRITE_BACK, state.line[row, cache.TAG] << state.sector_shift, dirty, state.shares.stream[at])
    state.queue[here, 4] = cause
    for column in range(2):
        state.queue[here, 5 + column] = state.line[row, cache.WRITTEN + column]


@inlined
def push(state: cache.Cache, at: int, kind: int, sector: int, mask: int, payload: int) -> None:
    """Put a request into the miss queue."""
    row = at * state.ring + wrap(state.unit[at, cache.QUEUE_TAIL], state.ring)
    state.unit[at, cache.QUEUE_TAIL] += 1
    state.queue[row, 0] = kind
    state.queue[row, 1] = sector
    state.queue[row, 2] = mask
    state.queue[row, 3] = payload


@inlined
def reserve_sector(state: cache.Cache, at: int, now: int, row: int, offset: int) -> None:
    """Reserve one more sector of a line; bytes written to it stay dirty when the rest arrives."""
    status = state.line[row, cache.STATUS]
    fresh = status & ~(
        (1 << cache.VALID | 1 << cache.DIRTY | 1 << cache.DIRTY_ON_FILL | 1 << cache.READABLE_ON_FILL) << offset
    )
    fresh |= (1 << cache.RESERVED | 1 << cache.READABLE) << offset
    if (status >> cache.DIRTY >> offset) & 1:
        fresh |= (1 << cache.DIRTY_ON_FILL) << offset
    set_status(state, at, row, fresh)
    touch(state, row, now)


@inlined
def drop_sector(state: cache.Cache, at: int, row: int, offset: int) -> None:
    """Make a sector invalid; a line without any other is free. The count of dirty lines stays, as in Accel-Sim."""
    dirty_lines = state.unit[at, cache.DIRTY_LINES]
    status = state.line[row, cache.STATUS] & ~((1 << cache.VALID | 1 << cache.DIRTY | 1 << cache.RESERVED) << offset)
    if status & cache.IN_USE:
        set_status(state, at, row, status)
    else:
        forget(state, at, row)
        state.line[row, cache.STATUS] = status  # what it shall be on a fill stays: data under way brings it back
        word, bit = free_way(state, row)
        state.free_ways[row >> state.way_shift, word] |= bit
    state.unit[at, cache.DIRTY_LINES] = dirty_lines
