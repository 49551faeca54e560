"""Ray-tracing unit of an SM: replays the BVH records of up to ``warps`` warps at a time.

Peak rate: one memory request (32 B) per cycle, one warp accepted and one completed per cycle; any number of lanes
intersect at once, each for the latency of its record's kind. The rules (``docs/sources/vulkan-sim.md#rt-unit``), each
cycle, in this order: delays that end (a triangle hit queues a 32 B store); a response; a warp accepted; one request
sent, of a record's remaining chunks first, then of stores, then of the oldest warp that has something to ask for; one
warp completed. Lanes of a warp that ask for the same (address, size) share a request; a response serves every lane
whose front record has its base address. Instead of ticking lanes, each lane keeps the cycle its delay ends.

The protocol between the unit and the rest of the machine: ``entry.enqueue``, ``entry.due``, ``entry.wake``, and
through ``run`` ``cycle``, ``receive_own`` and ``receive_sector``; for Python ``outside``. A plug-in that replaces the
hooks among them is another unit.
"""

import numpy as np

from rayplay.replay.input.rays import Records
from rayplay.replay.jit.bits import FAR, compiled, inlined
from rayplay.replay.jit.hooks import hook
from rayplay.replay.jit.rows import wrap
from rayplay.replay.jit.separate import separate
from rayplay.replay.memory.cache import state as cache_state
from rayplay.replay.memory.cache.access import NOBODY
from rayplay.replay.memory.cache.fill import fill
from rayplay.replay.memory.cache.mshr import has_ready, next_ready, stream_of
from rayplay.replay.memory.cache.prefetch import prefetches as cache_prefetches
from rayplay.replay.memory.l1 import L1
from rayplay.replay.memory.port import Port
from rayplay.replay.rt import spec as rules
from rayplay.replay.rt import state as rt
from rayplay.replay.rt.count import count_lanes, count_stores, count_warp
from rayplay.replay.rt.deliver import deliver, deliver_to_all, end_delays, give_work, next_due
from rayplay.replay.rt.entry import accept, next_arrival
from rayplay.replay.rt.hooks import (
    began,
    completed,
    emptied,
    gives_work,
    may_complete,
    prefetches,
    responded,
    serves_all,
    wakes_at,
)  # fmt: skip
from rayplay.replay.rt.memory import base_of, free_direct, is_full, send_missing
from rayplay.replay.rt.send import choose, send_idle, send_one
from rayplay.replay.rt.state import RtUnit
from rayplay.replay.unit.streams import count_for

CYCLE, OWN_RESPONSE, SECTOR_RESPONSE = range(3)  # what ``run`` does


@inlined
def count_skipped(state: RtUnit, sm: int, core: int, now: int) -> None:
    """Count the cycles before ``now`` in which the unit slept."""
    skipped = now - 1 - state.unit[core, rt.COUNTED]
    if skipped > 0 and state.unit[core, rt.RESIDENT]:
        count_lanes(state, sm, core, choose(state, core), skipped)
        if state.unit[core, rt.STORE_HEAD] != state.unit[core, rt.STORE_TAIL]:
            state.stats[sm, rt.STORE_QUEUE_CYCLES] += skipped
    state.unit[core, rt.COUNTED] = now - 1


@compiled
def begin(state: RtUnit, records: Records, sm: int, now: int) -> None:
    """Begin a cycle, before its response: delays end, and waiting warps take free places."""
    if state.gate[sm, rt.BEGUN] == now:
        return
    state.gate[sm, rt.BEGUN] = now
    state.gate[sm, rt.NEXT_CYCLE] = now
    for core in range(sm * state.cores, (sm + 1) * state.cores):
        count_skipped(state, sm, core, now)
        at = next_due(state, core, now, 0)
        while at >= 0:
            end_delays(state, records, sm, at, now)
            at = next_due(state, core, now, state.slot[at, rt.AGE])
        count_stores(state, sm, core)
        if next_arrival(state, sm) <= now and state.unit[core, rt.RESIDENT] < state.warps:
            accept(state, records, sm, core, now)
        while state.unit[core, rt.RING_HEAD] != state.unit[core, rt.RING_TAIL]:
            row = wrap(state.unit[core, rt.RING_HEAD], rt.HIT_RING)
            if state.ring[core, row, 0] > now:
                break
            state.unit[core, rt.RING_HEAD] += 1
            waiter, sector = state.ring[core, row, 1], state.ring[core, row, 2]
            serve(state, records, sm, core, now, waiter, waiter, sector)


@compiled
def complete_one(state: RtUnit, sm: int, core: int, now: int) -> int:
    """End the oldest warp that has nothing left: no record, delay, queued request or store. Its number, or -1."""
    unit, slot = state.unit, state.slot
    done, age = -1, FAR
    for at in range(core * state.warps, (core + 1) * state.warps):
        left = slot[at, rt.OPEN] | slot[at, rt.DELAYED] | slot[at, rt.STORES]
        left |= slot[at, rt.QUEUE_TAIL] - slot[at, rt.QUEUE_HEAD]
        is_done = slot[at, rt.WARP] >= 0 and left == 0 and slot[at, rt.AGE] < age and unit[core, rt.SENDING] != at
        if is_done and may_complete(state, sm, at):
            done, age = at, slot[at, rt.AGE]
    if done < 0:
        return -1
    warp = slot[done, rt.WARP]
    count_warp(state, sm, done, now)
    completed(state, sm, done, now)
    slot[done, rt.WARP] = -1
    state.place[sm * rt.WARPS_PER_SM + warp] = -1
    unit[core, rt.RESIDENT] -= 1
    if unit[core, rt.RESIDENT] == 0:
        state.stats[sm, rt.BUSY_CYCLES] += now - unit[core, rt.BUSY_SINCE] + 1
        emptied(state, sm, core, now)
    return warp


@hook("rt.cycle", inline=False)
def cycle(state: RtUnit, l1: L1, port: Port, records: Records, sm: int, number: int, now: int) -> int:
    """Of a whole unit: run one cycle of unit ``number`` of the SM; the warp of the SM that completes, or -1.

    After the SM's last unit, ``NEXT_CYCLE`` says when the units are to run again.
    """
    core = sm * state.cores + number
    begin(state, records, sm, now)
    if number == 0:
        state.gate[sm, rt.NEXT_CYCLE] = FAR
    send_missing(state, port, sm, core, now)
    began(state, records, sm, core, now)
    more = gives_work(state) and give_work(state, records, sm, core, now)
    chosen = choose(state, core)
    count_lanes(state, sm, core, chosen, 1)
    state.unit[core, rt.COUNTED] = now
    sent = state.stats[sm, rt.READS] + state.stats[sm, rt.STORES_SENT]
    send_one(state, l1, port, records, sm, core, now, chosen)
    if prefetches(state):
        is_idle = state.stats[sm, rt.READS] + state.stats[sm, rt.STORES_SENT] == sent
        more |= not is_idle or send_idle(state, l1, port, records, sm, core, now)
    warp = complete_one(state, sm, core, now)
    following = next_cycle(state, sm, core, now) if warp < 0 and not more else now + 1
    state.gate[sm, rt.NEXT_CYCLE] = min(state.gate[sm, rt.NEXT_CYCLE], following)
    return warp


@compiled
def next_cycle(state: RtUnit, sm: int, core: int, now: int) -> int:
    """The next cycle in which a unit can do something by itself (responses also wake it)."""
    unit, slot = state.unit, state.slot
    if choose(state, core) >= 0:
        if not is_full(state, core):
            return now + 1
    elif unit[core, rt.STORE_HEAD] != unit[core, rt.STORE_TAIL]:
        return now + 1
    if state.private.unit[core, cache_state.QUEUE_HEAD] != state.private.unit[core, cache_state.QUEUE_TAIL]:
        return now + 1
    soonest = wakes_at(state, core, now)
    if unit[core, rt.RESIDENT] < state.warps:
        soonest = min(soonest, max(next_arrival(state, sm), now + 1))
    if unit[core, rt.RING_HEAD] != unit[core, rt.RING_TAIL]:
        soonest = min(soonest, state.ring[core, wrap(unit[core, rt.RING_HEAD], rt.HIT_RING), 0])
    for at in range(core * state.warps, (core + 1) * state.warps):
        if slot[at, rt.WARP] >= 0:
            soonest = min(soonest, slot[at, rt.NEXT_READY])
    return soonest


@compiled
def serve(state: RtUnit, records: Records, sm: int, core: int, now: int, waiter: int, source: int, sector: int) -> None:
    """Deliver the sector to the waiter's warp, or to all, as a chunk of the record ``source`` asked for."""
    base, chunk = base_of(source, sector), (source >> 5) & 7
    responded(state, records, sm, core, base, chunk, now)
    if serves_all(state):
        deliver_to_all(state, records, sm, core, now, base, chunk, -1)
        return
    at = state.place[sm * rt.WARPS_PER_SM + ((waiter >> 8) & 255)]
    if at >= 0 and state.slot[at, rt.START] != now:  # a warp that has just come is looked at after the response
        deliver(state, records, sm, at, now, base, chunk)


@hook("rt.receive_sector", inline=False)
def receive_sector(
    state: RtUnit, records: Records, sm: int, now: int, waiter: int, leader: int, sector: int, stream: int
) -> None:
    """Of a whole unit: a missing sector of the L1 has come for a waiter; ``leader``: the first one served, or -1.

    stream  who had it fetched.

    Where all warps share, one waiter of a unit serves the others that asked for the same record.
    """
    begin(state, records, sm, now)
    count_for(state, sm, stream)
    core = sm * state.cores + (waiter >> 16)
    state.unit[core, rt.READS_IN_FLIGHT] -= 1
    state.stats[sm, rt.CACHELINES] += leader < 0
    source = waiter if leader < 0 or state.response == rules.WAITER else leader
    if leader < 0 or not serves_all(state) or (source ^ leader) & ~0xFF00 or (waiter ^ leader) >> 16:
        serve(state, records, sm, core, now, waiter, source, sector)


@compiled
def fill_private(state: RtUnit, records: Records, sm: int, now: int, number: int) -> None:
    """A sector arrived for an MSHR entry of a private cache: serve all who wait for it."""
    private, core = state.private, sm * state.cores + number % state.cores
    entry = number // state.cores
    sector, leader = private.mshr[core * private.pitch + entry, cache_state.SECTOR], np.int64(-1)
    stream = stream_of(private, core, entry)
    fill(private, core, now, entry)
    while has_ready(private, core):
        waiter = next_ready(private, core)
        if (prefetches(state) or cache_prefetches(private)) and waiter == NOBODY:
            continue
        receive_sector(state, records, sm, now, waiter, leader, sector, stream)
        leader = waiter if leader < 0 else leader


@hook("rt.receive_own", inline=False)
def receive_own(state: RtUnit, records: Records, sm: int, now: int, number: int) -> None:
    """Of a whole unit: a response to its own request, data past the L1 (bit 0 of ``number``) or a store's end."""
    begin(state, records, sm, now)
    if number & 1 and state.cache == rules.PRIVATE:
        fill_private(state, records, sm, now, number >> 1)
    elif number & 1:
        index = number >> 1
        free_direct(state, sm, index)
        waiter, sector, stream = state.direct[sm, index, 0], state.direct[sm, index, 1], state.direct[sm, index, 2]
        receive_sector(state, records, sm, now, waiter, -1, sector, stream)
    else:
        state.slot[state.place[sm * rt.WARPS_PER_SM + (number >> 1)], rt.STORES] -= 1


@separate
def run(
    job: int, state: RtUnit, l1: L1, port: Port, records: Records, sm: int, number: int, now: int, waiter: int,
    leader: int, sector: int, stream: int,
) -> int:  # fmt: skip
    """A ``cycle`` of a unit, or one of the two ways in which a response comes: all that the SM calls while it runs."""
    if job == CYCLE:
        return cycle(state, l1, port, records, sm, number, now)
    if job == OWN_RESPONSE:
        receive_own(state, records, sm, now, number)
    else:
        receive_sector(state, records, sm, now, waiter, leader, sector, stream)
    return -1
