"""Accesses of a sectored cache: hits, misses that wait in MSHRs, write policies, and fills.

Peak rate: ``port_bytes`` per cycle and instance in and out of the data array; one request to the next level per cycle.
Every decision and counter is Accel-Sim's: an access that cannot have all it needs (a line, a place in
the miss queue, an MSHR entry) fails without a trace and is tried again. Source:
``docs/sources/accel-sim.md#cache-strings, #mshrs, #cache-counters``.
"""

from rayplay.replay.input.work import SECTOR_BYTES
from rayplay.replay.jit.bits import compiled, count_bits, inlined
from rayplay.replay.jit.rows import wrap
from rayplay.replay.memory.cache import state as cache
from rayplay.replay.memory.cache.bypass import holds_no_row, is_bypassed, may_bypass
from rayplay.replay.memory.cache.mshr import fail, find_entry, is_late, join, may_join, new_entry
from rayplay.replay.memory.cache.state import Cache, chosen_set, fetched, offset_of
from rayplay.replay.memory.cache.tags import (
    allocate,
    drop_sector,
    find,
    mark_dirty,
    push,
    reserve_sector,
    touch,
    victim,
)

NOBODY = -1  # waiter of a prefetch
FETCHER = -2  # of a fetch that a write made: it has its turn among results, though nothing is written


@inlined
def use_port(state: Cache, at: int, now: int, cycles: int) -> None:
    """The data array reads or writes for ``cycles`` from ``now`` on."""
    state.unit[at, cache.DATA_FREE_AT] = max(state.unit[at, cache.DATA_FREE_AT], now) + cycles


@compiled
def read(
    state: Cache, at: int, now: int, sector: int, index: int, byte_mask: int, atomic: int, waiter: int, queued: int
) -> int:
    """Look a sector up for ``waiter``.

    index      what chooses the set (``cache_state.chosen_set``).
    byte_mask  bytes of the sector that are read; an atomic (``atomic`` 1) also writes them.
    queued     requests in the miss queue.

    Returns HIT (the data is there), FAIL (try again; ``unit[at, REASON]`` says why), or what kind of miss it is: then
    ``next_ready`` gives ``waiter`` back, and a request may have been put into the miss queue.
    """
    row = find(state, at, sector >> state.sector_shift)
    if may_read(state, row, sector):
        read_hit(state, at, now, row)
        if atomic:
            mark_dirty(state, at, row, sector, byte_mask, False)
        return cache.HIT
    return read_miss(state, at, now, sector, index, byte_mask, atomic, waiter, queued, row)


@inlined
def may_read(state: Cache, row: int, sector: int) -> bool:
    """Whether the data of a sector is in its line's row (-1: the cache does not hold the line)."""
    status = state.line[row, cache.STATUS] if row >= 0 else 0
    offset = offset_of(state, sector)
    return ((status >> cache.VALID | (status >> cache.DIRTY & status >> cache.READABLE)) >> offset) & 1 != 0


@inlined
def read_hit(state: Cache, at: int, now: int, row: int) -> None:
    """A sector of the row is read."""
    state.unit[at, cache.USED] = 1
    touch(state, row, now)
    use_port(state, at, now, state.sector_cycles)
    state.stats[at, cache.HIT] += 1


@inlined
def probed(state: Cache, row: int, offset: int) -> int:
    """Kind of a known miss."""
    if row < 0:
        return cache.MISS
    return cache.HIT_RESERVED if (state.line[row, cache.STATUS] >> cache.RESERVED >> offset) & 1 else cache.SECTOR_MISS


@inlined
def place_for(state: Cache, at: int, row: int, index: int) -> int:
    """Row that the access will use: its line's, else the victim of its set, or -1."""
    if row >= 0 or state.on_fill:
        return max(row, 0)
    return victim(state, at, at * state.sets + chosen_set(state, index))


@compiled
def read_miss(
    state: Cache, at: int, now: int, sector: int, index: int, byte_mask: int, atomic: int, waiter: int, queued: int,
    row: int,
) -> int:  # fmt: skip
    """Fetch a missing sector, or join a fetch under way."""
    answer = probed(state, row, offset_of(state, sector))
    bypassed = may_bypass(state) and is_bypassed(state, at, sector, row, atomic, waiter)
    place, entry = 0 if bypassed else place_for(state, at, row, index), -1
    if place < 0:
        answer = fail(state, at, cache.NO_LINE)
    elif queued + 1 >= state.miss_queue:  # it might need two places
        answer = fail(state, at, cache.NO_QUEUE)
    else:
        entry = find_entry(state, at, fetched(state, sector))
        if not may_join(state, at, entry):
            answer = cache.FAIL
        elif atomic and (bypassed or is_late(state, at, entry)):
            answer = fail(state, at, cache.NO_MERGE)
    state.stats[at, answer] += 1
    if answer != cache.FAIL:
        fetch(state, at, now, sector, index, byte_mask, atomic, waiter, answer, place, entry, bypassed)
    return answer


@inlined
def fetch(
    state: Cache, at: int, now: int, sector: int, index: int, byte_mask: int, atomic: int, waiter: int, kind: int,
    place: int, entry: int, bypassed: bool,
) -> None:  # fmt: skip
    """Wait in the sector's MSHR entry; where it has none (-1), make one and request it. Then take the place."""
    takes = not state.on_fill and not bypassed and not is_late(state, at, entry)
    if entry < 0:
        row = cache.BYPASSED if bypassed else -1 if state.on_fill else place
        entry = new_entry(state, at, fetched(state, sector), index, byte_mask, row)
        push(state, at, cache.READ_SECTOR, sector, byte_mask, entry)
    else:
        state.stats[at, cache.MERGES] += 1
    join(state, at, entry, waiter, atomic)
    state.unit[at, cache.USED] = 1
    if takes:
        take(state, at, now, place, sector, kind)


@inlined
def take(state: Cache, at: int, now: int, row: int, sector: int, kind: int) -> None:
    """Reserve a sector of a row for an access that misses in the way ``kind`` says."""
    offset = offset_of(state, sector)
    if kind == cache.MISS:
        allocate(state, at, now, row, sector >> state.sector_shift, offset, state.write_policy != cache.THROUGH)
    elif kind == cache.SECTOR_MISS:
        reserve_sector(state, at, now, row, offset)
    else:
        touch(state, row, now)


@compiled
def write(
    state: Cache, at: int, now: int, sector: int, index: int, byte_mask: int, is_local: int, waiter: int, queued: int
) -> int:
    """Write bytes of a sector.

    is_local  1 for local memory, which policy evict_global keeps.
    waiter    payload of the request to the next level where the write goes through; where the write has to wait for
              its fetch (``unit[at, PARKED]`` is 1), what ``next_ready`` gives back.

    Returns HIT, FAIL (try again), or what kind of miss it was.
    """
    offset = offset_of(state, sector)
    row = find(state, at, sector >> state.sector_shift)
    status = state.line[row, cache.STATUS] if row >= 0 else 0
    state.unit[at, cache.PARKED] = 0
    readable = status >> cache.READABLE if state.write_allocate == cache.LAZY_WHOLE_SECTORS else -1
    if ((status >> cache.VALID | (status >> cache.DIRTY & readable)) >> offset) & 1:
        answer = write_hit(state, at, now, sector, byte_mask, is_local, waiter, queued, row)
    elif state.write_allocate == cache.NO_ALLOCATE:
        answer = fail(state, at, cache.NO_QUEUE) if queued >= state.miss_queue else probed(state, row, offset)
        if answer != cache.FAIL:
            push(state, at, cache.WRITE_THROUGH, sector, byte_mask, waiter)
    else:
        answer = write_miss(state, at, now, sector, index, byte_mask, waiter, queued, row)
    state.stats[at, 5 + answer] += 1
    return answer


@inlined
def write_hit(
    state: Cache, at: int, now: int, sector: int, byte_mask: int, is_local: int, waiter: int, queued: int, row: int
) -> int:
    """A write to a sector that is there: it becomes dirty, or (evict) goes to the next level alone."""
    policy = state.write_policy
    if policy == cache.EVICT_GLOBAL:
        policy = cache.BACK if is_local else cache.EVICT
    if policy != cache.BACK:
        if queued >= state.miss_queue:
            return fail(state, at, cache.NO_QUEUE)
        push(state, at, cache.WRITE_THROUGH, sector, byte_mask, waiter)
    offset = offset_of(state, sector)
    if policy == cache.EVICT:
        drop_sector(state, at, row, offset)
    else:
        state.unit[at, cache.USED] = 1
        touch(state, row, now)
        mark_dirty(state, at, row, sector, byte_mask, True)
    use_port(state, at, now, state.sector_cycles)
    return cache.HIT


@compiled
def write_miss(
    state: Cache, at: int, now: int, sector: int, index: int, byte_mask: int, waiter: int, queued: int, row: int
) -> int:
    """A write that allocates: with a fetch at once (naive, or partial under fetch_on_write) or when it is read.

    Under fetch_on_write a sector written in full goes nowhere, not even where writes go through, as in Accel-Sim.
    """
    offset = offset_of(state, sector)
    kind = probed(state, row, offset)
    place = place_for(state, at, row, index)
    if place < 0:
        return fail(state, at, cache.NO_LINE)
    fetches = state.write_allocate == cache.NAIVE or (
        state.write_allocate == cache.FETCH_ON_WRITE and byte_mask != cache.FULL
    )
    room = 2 if state.write_allocate == cache.NAIVE else int(fetches)
    if queued + room >= state.miss_queue:
        return fail(state, at, cache.NO_QUEUE)
    before = state.unit[at, cache.QUEUE_TAIL]
    if fetches:
        parked = state.write_allocate == cache.FETCH_ON_WRITE
        entry = find_entry(state, at, fetched(state, sector))
        if not may_join(state, at, entry):
            return cache.FAIL
        if may_bypass(state) and entry >= 0 and holds_no_row(state, at, entry):
            return fail(state, at, cache.NO_MERGE)
        if not parked:
            push(state, at, cache.WRITE_THROUGH, sector, byte_mask, waiter)
        fetch(state, at, now, sector, index, byte_mask, 0, waiter if parked else FETCHER, kind, place, entry, False)
        state.unit[at, cache.PARKED] = int(parked)
        if parked:
            state.line[place, cache.STATUS] |= (1 << cache.DIRTY_ON_FILL) << offset | 1 << cache.BYTES_ON_FILL
    else:
        if state.write_policy == cache.THROUGH and state.write_allocate >= cache.LAZY_FETCH_ON_READ:
            push(state, at, cache.WRITE_THROUGH, sector, byte_mask, waiter)
        state.unit[at, cache.USED] = 1
        take(state, at, now, place, sector, kind)
        write_reserved(state, at, place, sector, byte_mask, kind)
    use_port_for_write_back(state, at, now, before)
    return kind


@inlined
def write_reserved(state: Cache, at: int, row: int, sector: int, byte_mask: int, kind: int) -> None:
    """Write a sector without its other bytes; where a fetch is under way, these come with it."""
    status, offset = state.line[row, cache.STATUS], offset_of(state, sector)
    lazy = state.write_allocate >= cache.LAZY_FETCH_ON_READ
    if lazy and byte_mask != cache.FULL:
        status &= ~((1 << cache.READABLE) << offset)
    if lazy and kind == cache.HIT_RESERVED:
        status |= (1 << cache.DIRTY_ON_FILL) << offset | 1 << cache.BYTES_ON_FILL
        if byte_mask != cache.FULL and state.write_allocate == cache.LAZY_FETCH_ON_READ:
            status |= (1 << cache.READABLE_ON_FILL) << offset
    state.line[row, cache.STATUS] = status
    mark_dirty(state, at, row, sector, byte_mask, True)


@inlined
def use_port_for_write_back(state: Cache, at: int, now: int, before: int) -> None:
    """A write miss reads out the dirty sectors that it drives away; read misses do not, as in Accel-Sim."""
    for place in range(before, state.unit[at, cache.QUEUE_TAIL]):
        row = at * state.ring + wrap(place, state.ring)
        if state.queue[row, 0] == cache.WRITE_BACK:
            size = count_bits(state.queue[row, 2]) * SECTOR_BYTES
            use_port(state, at, now, (size + state.port_bytes - 1) // state.port_bytes)
