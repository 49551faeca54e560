"""Requests of the RT unit to its memory: the SM's L1, a private cache, the interconnect, or a memory that always hits.

A read that does not hit comes back as a response. Its waiter is one integer that says who asked for what:
core << 16 | warp << 8 | chunk << 5 | low bits of the record's address.
"""

import numpy as np

from rayplay.replay.jit.bits import compiled, inlined
from rayplay.replay.jit.rows import wrap
from rayplay.replay.memory import l1 as l1_cache
from rayplay.replay.memory.cache import access as cache
from rayplay.replay.memory.cache import state as cache_state
from rayplay.replay.memory.cache.mshr import stream_of
from rayplay.replay.memory.cache.prefetch import bring, prefetch, prefetched
from rayplay.replay.memory.cache.prefetch import prefetches as cache_prefetches
from rayplay.replay.memory.l1 import L1
from rayplay.replay.memory.port import READ, WRITE, Port, may_send, send
from rayplay.replay.rt import spec as rules
from rayplay.replay.rt import state as rt
from rayplay.replay.rt.state import RtUnit
from rayplay.replay.unit.streams import count_for

ALL_BYTES = 0xFFFFFFFF


@inlined
def waiter_of(state: RtUnit, core: int, at: int, base: int, chunk: int) -> int:
    """The waiter of a chunk of the record at the address ``base``, for the warp in slot ``at``."""
    return (core % state.cores) << 16 | state.slot[at, rt.WARP] << 8 | chunk << 5 | base & 31


@inlined
def base_of(waiter: int, sector: int) -> int:
    """Address of the record whose chunk in ``sector`` the waiter asked for."""
    return (sector - ((waiter >> 5) & 7)) << 5 | waiter & 31


@inlined
def is_full(state: RtUnit, core: int) -> bool:
    """Whether no read may be sent because too many are missing; under the other rule that holds for new records."""
    if state.mshr_limit == rules.EVERY_READ:
        return state.unit[core, rt.READS_IN_FLIGHT] >= state.mshr_entries
    used = state.private.entries - state.private.unit[core, cache_state.MSHR_FREE]
    return state.cache == rules.PRIVATE and state.unit[core, rt.SENDING] < 0 and used > state.mshr_entries


@compiled
def read(state: RtUnit, l1: L1, port: Port, sm: int, core: int, now: int, sector: int, waiter: int, kind: int) -> int:
    """Ask for a sector; HIT, FAIL (nothing happened), or another answer when a response will come."""
    count = state.stats
    answer = cache_state.HIT
    if not state.perfect:
        if state.cache == rules.L1_CACHE:
            count_for(l1.cache, sm, state.shares.stream[sm])
            answer = l1_cache.read(l1, port, sm, now, sector, waiter << 1 | 1)
        elif state.cache == rules.PRIVATE:
            count_for(state.private, core, state.shares.stream[sm])
            answer = read_privately(state, core, now, sector, waiter)
        else:
            answer = read_directly(state, port, sm, now, sector, waiter)
    if answer == cache_state.FAIL:
        count[sm, rt.REFUSED] += 1
        return cache_state.FAIL
    count[sm, rt.READS] += 1
    count[sm, rt.READS_OF_KIND + kind] += 1
    if answer == cache_state.HIT:
        count[sm, rt.READ_HITS] += 1
        count[sm, rt.CACHELINES] += 1
        return cache_state.HIT
    count[sm, rt.READ_MISSES] += 1
    state.unit[core, rt.READS_IN_FLIGHT] += 1
    return answer


@compiled
def fetch_for_nobody(state: RtUnit, l1: L1, port: Port, sm: int, core: int, now: int, sector: int) -> int:
    """Prefetch a sector into the cache that the unit reads through (``prefetch.bring``); HIT without a cache."""
    if state.perfect or state.cache == rules.NO_CACHE:
        return cache_state.HIT
    if state.cache == rules.L1_CACHE:
        return l1_cache.fetch_for_nobody(l1, port, sm, now, sector)
    private = state.private
    queued = private.unit[core, cache_state.QUEUE_TAIL] - private.unit[core, cache_state.QUEUE_HEAD]
    return bring(private, core, now, sector, sector >> private.sector_shift, queued)


@compiled
def read_privately(state: RtUnit, core: int, now: int, sector: int, waiter: int) -> int:
    """Look a sector up in the unit's private cache."""
    private = state.private
    queued = private.unit[core, cache_state.QUEUE_TAIL] - private.unit[core, cache_state.QUEUE_HEAD]
    line = sector >> private.sector_shift
    answer = cache.read(private, core, now, sector, line, ALL_BYTES, 0, waiter, queued)
    if cache_prefetches(private) and answer != cache_state.FAIL:
        wanted = prefetch(private, core, now, sector, answer, waiter)
        if wanted >= 0:
            queued = private.unit[core, cache_state.QUEUE_TAIL] - private.unit[core, cache_state.QUEUE_HEAD]
            came = bring(private, core, now, wanted, wanted >> private.sector_shift, queued)
            prefetched(private, core, wanted, came)
    if answer == cache_state.HIT:
        return cache_state.HIT
    return cache_state.FAIL if answer == cache_state.FAIL else cache_state.MISS


@inlined
def send_missing(state: RtUnit, port: Port, sm: int, core: int, now: int) -> None:
    """The private cache sends one request a cycle to the interconnect."""
    unit, private = state.private.unit, state.private
    if unit[core, cache_state.QUEUE_HEAD] == unit[core, cache_state.QUEUE_TAIL] or not may_send(port, sm, now):
        return
    row = core * private.ring + wrap(unit[core, cache_state.QUEUE_HEAD], private.ring)
    unit[core, cache_state.QUEUE_HEAD] += 1
    count_for(port, sm, stream_of(private, core, private.queue[row, 3]))
    entry = private.queue[row, 3] * state.cores + core % state.cores
    send(port, sm, now, private.queue[row, 1], READ, 0, (entry << 1 | 1) << 2 | rt.RT_TAG)


@compiled
def read_directly(state: RtUnit, port: Port, sm: int, now: int, sector: int, waiter: int) -> int:
    """Send a read past all caches."""
    free = state.direct_free
    if free[sm, 0] == 0 or not may_send(port, sm, now):
        return cache_state.FAIL
    index = free[sm, free[sm, 0]]
    free[sm, 0] -= 1
    state.direct[sm, index, 0] = waiter
    state.direct[sm, index, 1] = sector
    state.direct[sm, index, 2] = state.shares.stream[sm]
    count_for(port, sm, state.shares.stream[sm])
    send(port, sm, now, sector, READ, 0, (index << 1 | 1) << 2 | rt.RT_TAG)
    return cache_state.MISS


@inlined
def free_direct(state: RtUnit, sm: int, index: int) -> None:
    """Complete a read past all caches."""
    free = state.direct_free
    free[sm, 0] += 1
    free[sm, free[sm, 0]] = index


@compiled
def write(state: RtUnit, l1: L1, port: Port, sm: int, at: int, now: int, sector: int) -> bool:
    """Write 32 bytes for the warp in slot ``at``; False when it must be tried again."""
    count_for(state, sm, state.slot[at, rt.STREAM])
    if state.perfect:
        state.slot[at, rt.STORES] -= 1
    elif state.cache == rules.NO_CACHE:
        if not may_send(port, sm, now):
            return False
        count_for(port, sm, state.slot[at, rt.STREAM])
        send(port, sm, now, sector, WRITE, ALL_BYTES, (state.slot[at, rt.WARP] << 1) << 2 | rt.RT_TAG)
    else:
        count_for(l1.cache, sm, state.slot[at, rt.STREAM])
        tag = (state.slot[at, rt.WARP] << 1) << 2 | rt.RT_TAG
        answer = l1_cache.store(l1, port, sm, now, sector, ALL_BYTES, 0, tag)
        if answer == cache_state.FAIL:
            return False
        state.slot[at, rt.STORES] -= l1_cache.keeps(l1, sm, answer, 0)
        state.stats[sm, rt.WRITE_HITS if answer == cache_state.HIT else rt.WRITE_MISSES] += 1
    state.stats[sm, rt.STORES_SENT] += 1
    return True


@inlined
def delay_hit(state: RtUnit, core: int, cycle: int, waiter: int, sector: int) -> None:
    """Deliver a hit at ``cycle``."""
    row = wrap(state.unit[core, rt.RING_TAIL], rt.HIT_RING)
    state.ring[core, row, 0] = cycle
    state.ring[core, row, 1] = waiter
    state.ring[core, row, 2] = np.int64(sector)
    state.unit[core, rt.RING_TAIL] += 1
