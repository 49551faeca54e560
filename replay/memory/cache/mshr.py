"""Miss-status registers of a cache: one entry per missing sector, keyed by it, with all that wait for the sector.

When the data has come an entry is *ready*: it hands its waiters out one by one, and is free after the last. Until then
later misses of the sector may still join. Source: ``docs/sources/accel-sim.md#mshrs``.
"""

from rayplay.replay.jit.bits import bucket, inlined
from rayplay.replay.jit.rows import wrap
from rayplay.replay.memory.cache import state as cache


@inlined
def fail(state: cache.Cache, at: int, reason: int) -> int:
    """Note why an access fails."""
    state.unit[at, cache.REASON] = reason
    return cache.FAIL


@inlined
def find_entry(state: cache.Cache, at: int, sector: int) -> int:
    """MSHR entry of a sector, or -1."""
    entry = int(state.mshr_head[at * state.mshr_buckets + bucket(sector, state.mshr_buckets)])
    while entry >= 0 and state.mshr[at * state.pitch + entry, cache.SECTOR] != sector:
        entry = state.mshr[at * state.pitch + entry, cache.NEXT]
    return entry


@inlined
def may_join(state: cache.Cache, at: int, entry: int) -> bool:
    """Whether a request finds room: in its sector's entry or, without one (-1), in a new one."""
    if entry < 0:
        if state.unit[at, cache.MSHR_FREE] == 0:
            fail(state, at, cache.NO_ENTRY)
        return state.unit[at, cache.MSHR_FREE] > 0
    full = state.mshr[at * state.pitch + entry, cache.WAITING] == state.merges
    if full:
        fail(state, at, cache.NO_MERGE)
    return not full


@inlined
def new_entry(state: cache.Cache, at: int, sector: int, index: int, byte_mask: int, row: int) -> int:
    """Take a free MSHR entry for a sector."""
    state.unit[at, cache.MSHR_FREE] -= 1
    entry = int(state.mshr_free[at, state.unit[at, cache.MSHR_FREE]])
    here, head = at * state.pitch + entry, at * state.mshr_buckets + bucket(sector, state.mshr_buckets)
    mshr = state.mshr
    mshr[here, cache.SECTOR], mshr[here, cache.NEXT] = sector, state.mshr_head[head]
    mshr[here, cache.FIRST] = mshr[here, cache.WAITING] = 0
    mshr[here, cache.ROW], mshr[here, cache.INDEX] = row, index
    label = state.shares.stream[at] << 1 | state.owners.label[at] & 1
    mshr[here, cache.BYTES] = byte_mask | label << cache.LABEL_SHIFT
    state.mshr_head[head] = entry
    return entry


@inlined
def stream_of(state: cache.Cache, at: int, entry: int) -> int:
    """Stream whose access has the sector of an entry fetched."""
    return label_of(state, at, entry) >> 1


@inlined
def label_of(state: cache.Cache, at: int, entry: int) -> int:
    """Label of the access that has the sector of an entry fetched (``owners``)."""
    return state.mshr[at * state.pitch + entry, cache.BYTES] >> cache.LABEL_SHIFT


@inlined
def join(state: cache.Cache, at: int, entry: int, waiter: int, atomic: int) -> None:
    """One more waits for the sector of an entry."""
    here = at * state.pitch + entry
    put_waiter(state, here, state.mshr[here, cache.WAITING], waiter)
    state.mshr[here, cache.WAITING] += 1
    state.mshr[here, cache.BYTES] |= atomic << cache.ATOMIC_SHIFT


@inlined
def put_waiter(state: cache.Cache, here: int, place: int, waiter: int) -> None:
    """Let ``waiter`` be the one with ``place`` others before it; row ``here`` of mshr holds the oldest."""
    if place == 0:
        state.mshr[here, cache.WAITER] = waiter
    else:
        state.waiter[here, wrap(state.mshr[here, cache.FIRST] + place, state.waiter.shape[1])] = waiter


@inlined
def get_waiter(state: cache.Cache, here: int, place: int) -> int:
    """Who waits with ``place`` others before it."""
    if place == 0:
        return state.mshr[here, cache.WAITER]
    return state.waiter[here, wrap(state.mshr[here, cache.FIRST] + place, state.waiter.shape[1])]


@inlined
def make_ready(state: cache.Cache, at: int, entry: int) -> None:
    """The data of an entry has come; entries are served in this order."""
    unit = state.unit
    if unit[at, cache.READY_HEAD] == unit[at, cache.READY_TAIL]:
        unit[at, cache.READY_HEAD] = unit[at, cache.READY_TAIL] = 0  # memory that is still in the host's caches
    state.ready[at, wrap(unit[at, cache.READY_TAIL], state.ready.shape[1])] = entry
    if state.passes_late:
        state.mshr[at * state.pitch + entry, cache.ROW] = cache.ARRIVED
    unit[at, cache.READY_TAIL] += 1


@inlined
def is_late(state: cache.Cache, at: int, entry: int) -> bool:
    """Whether a miss joins an entry (-1: none) whose data has come, in a cache where it takes no line then."""
    if state.passes_late == 0 or entry < 0:
        return False
    return bool(state.mshr[at * state.pitch + entry, cache.ROW] == cache.ARRIVED)


@inlined
def has_ready(state: cache.Cache, at: int) -> bool:
    """Whether anyone waits for data that has come."""
    return state.unit[at, cache.READY_HEAD] != state.unit[at, cache.READY_TAIL]


@inlined
def next_ready(state: cache.Cache, at: int) -> int:
    """The next waiter whose data has come."""
    entry = int(state.ready[at, wrap(state.unit[at, cache.READY_HEAD], state.ready.shape[1])])
    here = at * state.pitch + entry
    waiter = state.mshr[here, cache.WAITER]
    state.mshr[here, cache.WAITING] -= 1
    if state.mshr[here, cache.WAITING] == 0:
        state.unit[at, cache.READY_HEAD] += 1
        drop_entry(state, at, entry)
    else:
        state.mshr[here, cache.WAITER] = get_waiter(state, here, 1)
        state.mshr[here, cache.FIRST] += 1
    return waiter


@inlined
def drop_entry(state: cache.Cache, at: int, entry: int) -> None:
    """Take an entry out of its bucket and make it free."""
    base = at * state.pitch
    head = at * state.mshr_buckets + bucket(state.mshr[base + entry, cache.SECTOR], state.mshr_buckets)
    here, before = int(state.mshr_head[head]), -1
    while here != entry:
        here, before = state.mshr[base + here, cache.NEXT], here
    if before < 0:
        state.mshr_head[head] = state.mshr[base + entry, cache.NEXT]
    else:
        state.mshr[base + before, cache.NEXT] = state.mshr[base + entry, cache.NEXT]
    state.mshr_free[at, state.unit[at, cache.MSHR_FREE]] = entry
    state.unit[at, cache.MSHR_FREE] += 1
