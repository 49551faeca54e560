"""Miss-status registers of a cache: one entry per missing sector, keyed by it, with all that wait for the sector.

When the data has come an entry is *ready*: it hands its waiters out one by one, and is free after the last. Until then
later misses of the sector may still join. Source: ``docs/sources/accel-sim.md#mshrs``.
"""

from rayplay.replay.jit.bits import bucket, inlined
from rayplay.replay.memory.cache.state import (
    ATOMIC_SHIFT,
    BYTES,
    FAIL,
    FIRST,
    INDEX,
    MSHR_FREE,
    NEXT,
    NO_ENTRY,
    NO_MERGE,
    READY_HEAD,
    READY_TAIL,
    REASON,
    ROW,
    SECTOR,
    STREAM_SHIFT,
    WAITER,
    WAITING,
    Cache,
)


@inlined
def fail(state: Cache, at: int, reason: int) -> int:
    """Note why an access fails."""
    state.unit[at, REASON] = reason
    return FAIL


@inlined
def find_entry(state: Cache, at: int, sector: int) -> int:
    """MSHR entry of a sector, or -1."""
    entry = int(state.mshr_head[at * state.mshr_buckets + bucket(sector, state.mshr_buckets)])
    while entry >= 0 and state.mshr[at * state.pitch + entry, SECTOR] != sector:
        entry = state.mshr[at * state.pitch + entry, NEXT]
    return entry


@inlined
def may_join(state: Cache, at: int, entry: int) -> bool:
    """Whether a request finds room: in the entry of its sector or, where there is none (-1), in a new one."""
    if entry < 0:
        if state.unit[at, MSHR_FREE] == 0:
            fail(state, at, NO_ENTRY)
        return state.unit[at, MSHR_FREE] > 0
    full = state.mshr[at * state.pitch + entry, WAITING] == state.merges
    if full:
        fail(state, at, NO_MERGE)
    return not full


@inlined
def new_entry(state: Cache, at: int, sector: int, index: int, byte_mask: int, row: int) -> int:
    """Take a free MSHR entry for a sector."""
    state.unit[at, MSHR_FREE] -= 1
    entry = int(state.mshr_free[at, state.unit[at, MSHR_FREE]])
    here, head = at * state.pitch + entry, at * state.mshr_buckets + bucket(sector, state.mshr_buckets)
    mshr = state.mshr
    mshr[here, SECTOR], mshr[here, NEXT] = sector, state.mshr_head[head]
    mshr[here, FIRST] = mshr[here, WAITING] = 0
    mshr[here, ROW], mshr[here, INDEX] = row, index
    mshr[here, BYTES] = byte_mask | state.shares.stream[at] << STREAM_SHIFT
    state.mshr_head[head] = entry
    return entry


@inlined
def stream_of(state: Cache, at: int, entry: int) -> int:
    """Stream whose access has the sector of an entry fetched."""
    return state.mshr[at * state.pitch + entry, BYTES] >> STREAM_SHIFT


@inlined
def join(state: Cache, at: int, entry: int, waiter: int, atomic: int) -> None:
    """One more waits for the sector of an entry."""
    here = at * state.pitch + entry
    put_waiter(state, here, state.mshr[here, WAITING], waiter)
    state.mshr[here, WAITING] += 1
    state.mshr[here, BYTES] |= atomic << ATOMIC_SHIFT


@inlined
def put_waiter(state: Cache, here: int, place: int, waiter: int) -> None:
    """Let ``waiter`` be the one with ``place`` others before it; row ``here`` of mshr holds the oldest."""
    if place == 0:
        state.mshr[here, WAITER] = waiter
    else:
        state.waiter[here, (state.mshr[here, FIRST] + place) & (state.waiter.shape[1] - 1)] = waiter


@inlined
def get_waiter(state: Cache, here: int, place: int) -> int:
    """Who waits with ``place`` others before it."""
    if place == 0:
        return state.mshr[here, WAITER]
    return state.waiter[here, (state.mshr[here, FIRST] + place) & (state.waiter.shape[1] - 1)]


@inlined
def make_ready(state: Cache, at: int, entry: int) -> None:
    """The data of an entry has come; entries are served in this order."""
    unit = state.unit
    if unit[at, READY_HEAD] == unit[at, READY_TAIL]:
        unit[at, READY_HEAD] = unit[at, READY_TAIL] = 0  # memory that is still in the host's caches
    state.ready[at, unit[at, READY_TAIL] & (state.ready.shape[1] - 1)] = entry
    unit[at, READY_TAIL] += 1


@inlined
def has_ready(state: Cache, at: int) -> bool:
    """Whether anyone waits for data that has come."""
    return state.unit[at, READY_HEAD] != state.unit[at, READY_TAIL]


@inlined
def next_ready(state: Cache, at: int) -> int:
    """The next waiter whose data has come."""
    entry = int(state.ready[at, state.unit[at, READY_HEAD] & (state.ready.shape[1] - 1)])
    here = at * state.pitch + entry
    waiter = state.mshr[here, WAITER]
    state.mshr[here, WAITING] -= 1
    if state.mshr[here, WAITING] == 0:
        state.unit[at, READY_HEAD] += 1
        drop_entry(state, at, entry)
    else:
        state.mshr[here, WAITER] = get_waiter(state, here, 1)
        state.mshr[here, FIRST] += 1
    return waiter


@inlined
def drop_entry(state: Cache, at: int, entry: int) -> None:
    """Take an entry out of its bucket and make it free."""
    base = at * state.pitch
    head = at * state.mshr_buckets + bucket(state.mshr[base + entry, SECTOR], state.mshr_buckets)
    here, before = int(state.mshr_head[head]), -1
    while here != entry:
        here, before = state.mshr[base + here, NEXT], here
    if before < 0:
        state.mshr_head[head] = state.mshr[base + entry, NEXT]
    else:
        state.mshr[base + before, NEXT] = state.mshr[base + entry, NEXT]
    state.mshr_free[at, state.unit[at, MSHR_FREE]] = entry
    state.unit[at, MSHR_FREE] += 1
