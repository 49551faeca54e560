"""Traversal-trend prefetcher: lanes that climb the tree have what lies on top of their stacks prefetched.

Tozlu, Naithani and Zhou (ISCA 2026, arXiv 2605.16253). A lane that pops twice in a row is on its way up: it will pop
again soon. After its 1st, 2nd, 3rd and each further pop without a push, the top 1, 2, 16 and 16 entries of its stack
join a queue, except those among the warp's last 16. A chunk leaves the queue in a cycle in which the unit sends nothing
else. What is on a stack is read later unless culling removes it, so that hardly a prefetch is in vain.
"""

import numpy as np

from rayplay.policy import cache, compiled, hook, parameter, rays, rt

NEEDS = ("subtrees",)
PARAMETERS = {
    "first": parameter(1, "entries", "Prefetched after the first pop in a row"),
    "second": parameter(2, "entries", "After the second"),
    "further": parameter(16, "entries", "After the third and each further one"),
    "queue": parameter(256, "chunks", "Of 32 B that a unit's queue holds, a power of two", minimum=4),
}
COUNTERS = ("sent", "used", "known", "dropped", "refused")
SENT, USED, KNOWN, DROPPED, REFUSED = range(5)
LANES, RECENT, TABLE = 32, 16, 1 << 14
HEAD, TAIL = range(2)


def arrays(unit, state, parameters):
    """By lane its pops in a row; by slot the records prefetched last; by unit its queue, and sectors not yet used."""
    units, slots = len(state.unit), len(state.slot)
    if parameters["queue"] & parameters["queue"] - 1:
        raise ValueError(f"queue must be a power of two, not {parameters['queue']}")
    return {
        "pops": np.zeros(slots * LANES, int), "recent": np.full((slots, RECENT), -1), "place": np.zeros(slots, int),
        "sector": np.zeros((units, parameters["queue"]), int), "ends": np.zeros((units, 2), int),
        "unused": np.full((units, TABLE), -1),
    }  # fmt: skip


@hook("rt.entered")
def begin(state, own, records, sm, at, now):
    """No lane has popped."""
    own.pops[at * LANES : (at + 1) * LANES] = 0
    own.recent[at, :] = -1


@hook("rt.pushed")
def reset(state, own, records, sm, at, lane, number, now):
    """A push ends the row of pops; that a leaf follows its descriptor is none."""
    kind = records.info[np.int64(records.node[state.lane[rt.CURSOR, at * LANES + lane]]) & rays.NODE_BITS] & 15
    if kind != rays.TRIANGLE and kind != rays.PROCEDURAL:
        own.pops[at * LANES + lane] = 0


@hook("rt.popped")
def follow(state, own, records, sm, at, lane, now):
    """Queue the top of the lane's stack, below the entry that it reads now: more of it the longer it climbs."""
    row = at * LANES + lane
    own.pops[row] = min(own.pops[row] + 1, 3)
    wanted = own.first if own.pops[row] == 1 else own.second if own.pops[row] == 2 else own.further
    entry = state.lane[rt.CURSOR, row]
    for _ in range(wanted):
        entry += records.subtree[entry]
        if entry >= state.lane[rt.END, row]:
            return
        put(state, own, records, sm, at, entry)
        if records.subtree[entry] == 2:  # a leaf behind its descriptor
            put(state, own, records, sm, at, entry + 1)


@compiled
def put(state, own, records, sm, at, entry):
    """Queue the chunks of a record, unless it is among the warp's last ones or there is no room."""
    core = at // state.warps
    info = records.info[np.int64(records.node[entry]) & rays.NODE_BITS]
    address = info >> rays.ADDRESS_SHIFT
    if info & 15 == rays.TABLE_LOAD:
        return
    for place in range(RECENT):
        if own.recent[at, place] == address:
            return
    chunks = ((info >> rays.BYTES_SHIFT & 255) + 31) >> 5
    if own.ends[core, TAIL] - own.ends[core, HEAD] + chunks > own.queue:
        own.counters[sm, DROPPED] += chunks
        return
    own.recent[at, own.place[at]] = address
    own.place[at] = (own.place[at] + 1) % RECENT
    for chunk in range(chunks):
        own.sector[core, own.ends[core, TAIL] & (own.queue - 1)] = (address >> 5) + chunk
        own.ends[core, TAIL] += 1


@hook("rt.prefetch")
def prefetch(state, own, records, sm, core, now):
    """Choose the chunk that waits longest."""
    head = own.ends[core, HEAD]
    return own.sector[core, head & (own.queue - 1)] if head < own.ends[core, TAIL] else -1


@compiled
def place_of(sector):
    """Place of a sector in the table of those not yet used."""
    return (sector ^ sector >> 14) & (TABLE - 1)


@hook("rt.prefetched")
def sent(state, own, sm, core, sector, answer):
    """The chunk leaves the queue, whatever the cache answered."""
    own.ends[core, HEAD] += 1
    if answer == cache.FAIL:
        own.counters[sm, REFUSED] += 1
    elif answer == cache.HIT or answer == cache.HIT_RESERVED:
        own.counters[sm, KNOWN] += 1
    else:
        own.counters[sm, SENT] += 1
        own.unused[core, place_of(sector)] = sector


@hook("rt.requested")
def use(state, own, sm, core, at, record, chunk, answer, now):
    """Count prefetches that are read: each once."""
    sector = (record >> rays.ADDRESS_SHIFT + 5) + chunk
    if answer != cache.FAIL and own.unused[core, place_of(sector)] == sector:
        own.unused[core, place_of(sector)] = -1
        own.counters[sm, USED] += 1


@hook("rt.emptied")
def clear(state, own, sm, core, now):
    """Nobody is left to read what is queued."""
    own.ends[core, HEAD] = own.ends[core, TAIL]
