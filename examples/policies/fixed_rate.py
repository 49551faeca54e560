"""RT unit of a textbook: a pipeline that takes records at a fixed rate and answers each after a fixed latency.

A second RT unit, whole: no memory, no warp choice, no coalescing. The records of a warp enter one after the other,
``rate`` a cycle, behind those of warps before it; a ray's next record enters when the one before has left. So a warp of
n records, the longest ray of which has m, takes max(n / rate, m x latency) cycles once the pipeline reaches it: the
roofline of throughput and latency (Hennessy and Patterson, Computer Architecture, appendix C: pipelining).
"""

from rayplay.policy import FAR, compiled, count_for, count_warp, hook, next_arrival, parameter, rays, rt

PARAMETERS = {
    "rate": parameter(1, "records/cycle", "Records that enter a unit's pipeline a cycle", 1),
    "latency": parameter(40, "cycles", "From a record's entry to its end, memory included", 1),
}


def arrays(unit, state, parameters):
    """Cycle from which each unit's pipeline takes the next warp's records, in parts of 1 / rate of a cycle."""
    import numpy as np

    return {"free": np.zeros(len(state.unit), np.int64)}


@hook("rt.cycle")
def cycle(state, own, l1, port, records, sm, number, now):
    """Take a warp that waits, end the oldest that is done, and say when to run again."""
    core, gate = sm * state.cores + number, state.gate
    if number == 0:
        gate[sm, rt.NEXT_CYCLE] = FAR
    if next_arrival(state, sm) <= now and state.unit[core, rt.RESIDENT] < state.warps:
        take(state, own, records, sm, core, now)
    done, age, soonest = -1, FAR, FAR
    for at in range(core * state.warps, (core + 1) * state.warps):
        if state.slot[at, rt.WARP] < 0:
            continue
        if state.slot[at, rt.NEXT_READY] > now:
            soonest = min(soonest, state.slot[at, rt.NEXT_READY])
        elif state.slot[at, rt.AGE] < age:
            done, age = at, state.slot[at, rt.AGE]
    warp = -1
    if done >= 0:
        warp, soonest = leave(state, sm, core, done, now), now + 1
    if state.unit[core, rt.RESIDENT] < state.warps:
        soonest = min(soonest, max(next_arrival(state, sm), now + 1))
    gate[sm, rt.NEXT_CYCLE] = min(gate[sm, rt.NEXT_CYCLE], soonest)
    return warp


@hook("rt.receive_sector")
def receive_sector(state, own, records, sm, now, waiter, leader, sector, stream):
    """Nothing is asked for, so nothing comes."""


@hook("rt.receive_own")
def receive_own(state, own, records, sm, now, number):
    """Likewise."""


@compiled
def take(state, own, records, sm, core, now):
    """A warp takes a slot, and with it the cycle in which it ends."""
    waits = state.gate[sm, rt.WAIT_HEAD] % rt.GATE_RING
    entry, slot, unit = state.waiting[sm, waits], state.slot, state.unit
    state.gate[sm, rt.WAIT_HEAD] += 1
    at = core * state.warps
    while slot[at, rt.WARP] >= 0:
        at += 1
    if unit[core, rt.RESIDENT] == 0:
        unit[core, rt.BUSY_SINCE] = now
    unit[core, rt.RESIDENT] += 1
    unit[core, rt.NEXT_AGE] += 1
    slot[at, :] = 0
    slot[at, rt.WARP], slot[at, rt.AGE] = entry & 255, unit[core, rt.NEXT_AGE]
    slot[at, rt.START], slot[at, rt.STREAM] = now, state.stream[sm, waits]
    state.place[sm * rt.WARPS_PER_SM + (entry & 255)] = at
    count_for(state, sm, slot[at, rt.STREAM])
    begin, total, longest = max(own.free[core], now * own.rate), 0, 0
    for ray in range(records.first_ray[entry >> 8], records.first_ray[(entry >> 8) + 1]):
        length = count_ray(state, records, sm, at, ray)
        total, longest = total + length, max(longest, length)
        flags = int(records.lane[ray])
        state.lane[rt.FINISHED_AT, at * 32 + (flags & 31)] = begin // own.rate + length * own.latency
    own.free[core] = begin + total
    through = (begin + total + own.rate - 1) // own.rate
    slot[at, rt.NEXT_READY] = max(through, begin // own.rate + longest * own.latency)


@compiled
def count_ray(state, records, sm, at, ray):
    """Count a ray and its records as the engine's own unit does; returns the records."""
    flags, stats = int(records.lane[ray]), state.stats
    state.slot[at, rt.ACTIVE] |= 1 << (flags & 31)
    if flags & rays.FIRST_STRETCH:
        stats[sm, rt.RAYS] += 1
        stats[sm, rt.EARLY_OUT_RAYS] += 1 if flags & rays.EARLY_OUT else 0
    for at_record in range(records.first_node[ray], records.first_node[ray + 1]):
        node = int(records.node[at_record])
        kind = rays.TRIANGLE_HIT if node >> 31 else records.info[node & rays.NODE_BITS] & 15
        stats[sm, rt.RECORDS] += 1
        stats[sm, rt.NODES] += kind not in (rays.HEADER, rays.DESCRIPTOR, rays.TABLE_LOAD)
        stats[sm, rt.INTERSECTION_CYCLES] += state.latency[kind]
    return records.first_node[ray + 1] - records.first_node[ray]


@compiled
def leave(state, sm, core, at, now):
    """The warp in a slot is done; returns its number."""
    warp = state.slot[at, rt.WARP]
    count_warp(state, sm, at, now)
    state.slot[at, rt.WARP] = -1
    state.place[sm * rt.WARPS_PER_SM + warp] = -1
    state.unit[core, rt.RESIDENT] -= 1
    if state.unit[core, rt.RESIDENT] == 0:
        state.stats[sm, rt.BUSY_CYCLES] += now - state.unit[core, rt.BUSY_SINCE] + 1
    return warp
