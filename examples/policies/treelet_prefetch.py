"""Treelet prefetching: the part of the tree that most rays are about to enter is prefetched as a whole.

Chou, Nowicki and Aamodt (MICRO 2023). Before the launch the tree is cut into treelets: breadth first from a root, up to
``bytes`` bytes; what is below begins others. Every ``delay`` cycles the treelet of most lanes' front records is found;
unless it was the last or last but one, its chunks join a queue, as many as ``heuristic`` says, and leave it in cycles
in which the unit sends nothing else. ``scheduler`` serves warps with lanes in that treelet first. Bottom levels are cut
by themselves, as a trace does not say which instances share one.
"""

import numpy as np

from rayplay.policy import cache, compiled, default, hook, parameter, rays, rt

NEEDS = ("parents",)
PARAMETERS = {
    "bytes": parameter(512, "bytes", "Of a treelet at most", minimum=128),
    "delay": parameter(32, "cycles", "Between two votes", minimum=1),
    "queue": parameter(128, "chunks", "Of 32 B that a unit's queue holds, a power of two", minimum=4),
    "heuristic": parameter("always", "word", "How much of a treelet is prefetched: all of it; all where 75 % of lanes "
                           "vote for it; the share of the lanes that do; its second half",
                           choices=("always", "popularity", "partial", "second_half")),
    "scheduler": parameter("baseline", "word", "Warp served first: as without; the oldest with a lane in the last "
                           "prefetched treelet; the one with most such lanes",
                           choices=("baseline", "oldest", "most")),
}  # fmt: skip
COUNTERS = ("votes", "treelets", "sent", "used", "known", "refused", "full")
VOTES, TREELETS, SENT, USED, KNOWN, REFUSED, FULL = range(7)
ALWAYS, POPULARITY, PARTIAL, SECOND_HALF = range(4)
BASELINE, OLDEST, MOST = range(3)
LANES, TABLE, POPULAR_PERCENT = 32, 1 << 14, 75
HEAD, TAIL, VOTED_AT, LAST, LAST_BUT_ONE = range(5)
usual_warp = default("rt.choose_warp")


def arrays(unit, state, parameters, nodes):
    """By node its treelet; by treelet its chunks; by lane the treelet of its front record, -1 for none; by unit its
    queue, the treelets prefetched last, votes, and prefetched sectors not yet used; by slot its lanes in the last."""
    if parameters["queue"] & parameters["queue"] - 1:
        raise ValueError(f"queue must be a power of two, not {parameters['queue']}")
    treelet, members = cut(nodes, parameters["bytes"])
    first = np.cumsum([0, *(len(each) for each in members)])
    units, lanes = len(state.unit), state.lane.shape[1]
    return {
        "treelet": treelet, "first": first, "chunk": np.array([one for each in members for one in each], int),
        "front": np.full(lanes, -1), "inside": np.zeros(len(state.slot), int),
        "sector": np.zeros((units, parameters["queue"]), int), "votes": np.zeros((units, len(members) + 1), int),
        "unit": np.tile([0, 0, 0, -1, -1], (units, 1)), "unused": np.full((units, TABLE), -1),
    }  # fmt: skip


def cut(nodes, most_bytes):
    """The treelet of each node, and the sectors of each treelet, in breadth-first order."""
    parent = np.asarray(nodes.get("parent", np.zeros(0, int))).astype(int)
    order = np.argsort(parent, kind="stable")
    begin = np.searchsorted(parent[order], np.arange(len(parent) + 1)).tolist()
    children, length, address = order.tolist(), nodes.get("bytes", []), nodes.get("address", [])
    length, address = np.asarray(length).tolist(), np.asarray(address).tolist()
    treelet, members = np.full(len(parent), -1), []
    roots = children[: begin[0]] if len(parent) else []
    for root in roots:  # grows
        room, queue, sectors = most_bytes, [root], []
        while queue and (length[queue[0]] <= room or not sectors):
            node = queue.pop(0)
            treelet[node], room = len(members), room - length[node]
            last = (address[node] + length[node] - 1) >> 5
            sectors += [one for one in range(address[node] >> 5, last + 1) if one not in sectors[-4:]]
            queue += children[begin[node] : begin[node + 1]]
        members.append(sectors)
        roots += queue
    return treelet, members


@compiled
def front_treelet(state, own, records, at, row):
    """The treelet of a lane's front record."""
    if state.slot[at, rt.OPEN] >> (row - at * LANES) & 1 == 0:
        return -1
    node = np.int64(records.node[state.lane[rt.CURSOR, row]]) & rays.NODE_BITS
    return own.treelet[node] if node < len(own.treelet) else -1


@hook("rt.entered")
def enter(state, own, records, sm, at, now):
    """Note where the lanes begin."""
    own.inside[at] = 0
    for row in range(at * LANES, (at + 1) * LANES):
        own.front[row] = front_treelet(state, own, records, at, row)
        own.inside[at] += own.front[row] >= 0 and own.front[row] == own.unit[at // state.warps, LAST]


@hook("rt.record_completed")
def move_on(state, own, records, sm, at, lane, kind, now):
    """Note where the lane is now."""
    row, last = at * LANES + lane, own.unit[at // state.warps, LAST]
    own.inside[at] -= own.front[row] >= 0 and own.front[row] == last
    own.front[row] = front_treelet(state, own, records, at, row)
    own.inside[at] += own.front[row] >= 0 and own.front[row] == last


@hook("rt.began")
def vote(state, own, records, sm, core, now):
    """Find the treelet that most lanes are about to read, and queue it unless it was queued just before."""
    unit = own.unit
    if now - unit[core, VOTED_AT] < own.delay:
        return
    unit[core, VOTED_AT] = now
    best, lanes, first, end = -1, 0, core * state.warps, (core + 1) * state.warps
    for row in range(first * LANES, end * LANES):
        chosen = own.front[row]
        if state.slot[row // LANES, rt.WARP] >= 0 and chosen >= 0:
            own.votes[core, chosen] += 1
            lanes += 1
            if best < 0 or own.votes[core, chosen] > own.votes[core, best]:
                best = chosen
    if best < 0:
        return
    popular = own.votes[core, best] * 100 // lanes
    for row in range(first * LANES, end * LANES):
        if own.front[row] >= 0:
            own.votes[core, own.front[row]] = 0
    own.counters[sm, VOTES] += 1
    if best != unit[core, LAST] and best != unit[core, LAST_BUT_ONE]:
        queue_treelet(state, own, sm, core, best, popular)


@compiled
def queue_treelet(state, own, sm, core, treelet, popular):
    """Queue the chunks of a treelet that the heuristic says, if there is room for all of them."""
    unit, first, end = own.unit, own.first[treelet], own.first[treelet + 1]
    if own.heuristic == POPULARITY and popular < POPULAR_PERCENT:
        return
    if own.heuristic == PARTIAL:
        end = first + (end - first) * popular // 100
    if own.heuristic == SECOND_HALF:
        first += (end - first) // 2
    if unit[core, TAIL] - unit[core, HEAD] + end - first > own.queue:
        own.counters[sm, FULL] += 1
        return
    for place in range(first, end):
        own.sector[core, unit[core, TAIL] & (own.queue - 1)] = own.chunk[place]
        unit[core, TAIL] += 1
    unit[core, LAST_BUT_ONE], unit[core, LAST] = unit[core, LAST], treelet
    own.counters[sm, TREELETS] += 1
    for at in range(core * state.warps, (core + 1) * state.warps):
        own.inside[at] = 0
        for row in range(at * LANES, (at + 1) * LANES):
            own.inside[at] += own.front[row] == treelet


@hook("rt.choose_warp")
def choose_warp(state, own, core):
    """Choose the oldest warp with lanes in the last prefetched treelet, or the one with most; else the oldest."""
    best, slot = -1, state.slot
    if own.scheduler != BASELINE:
        for at in range(core * state.warps, (core + 1) * state.warps):
            is_open = slot[at, rt.ASKING] != 0 or slot[at, rt.QUEUE_HEAD] != slot[at, rt.QUEUE_TAIL]
            if slot[at, rt.WARP] < 0 or own.inside[at] == 0 or not is_open:
                continue
            more = best >= 0 and own.scheduler == MOST and own.inside[at] > own.inside[best]
            same = best >= 0 and (own.scheduler == OLDEST or own.inside[at] == own.inside[best])
            if best < 0 or more or (same and slot[at, rt.AGE] < slot[best, rt.AGE]):
                best = at
    return best if best >= 0 else usual_warp(state, core)


@hook("rt.prefetch")
def prefetch(state, own, records, sm, core, now):
    """Choose the chunk that waits longest."""
    head = own.unit[core, HEAD]
    return own.sector[core, head & (own.queue - 1)] if head < own.unit[core, TAIL] else -1


@compiled
def place_of(sector):
    """Place of a sector in the table of those not yet used."""
    return (sector ^ sector >> 14) & (TABLE - 1)


@hook("rt.prefetched")
def sent(state, own, sm, core, sector, answer):
    """The chunk leaves the queue, unless the cache refused it."""
    if answer == cache.FAIL:
        own.counters[sm, REFUSED] += 1
        return
    own.unit[core, HEAD] += 1
    if answer == cache.HIT or answer == cache.HIT_RESERVED:
        own.counters[sm, KNOWN] += 1
    else:
        own.counters[sm, SENT] += 1
        own.unused[core, place_of(sector)] = sector


@hook("rt.requested")
def use(state, own, sm, core, at, record, chunk, answer, now):
    """Count prefetches that are read, each once; what is read needs no prefetch where it is the next."""
    sector, head = (record >> rays.ADDRESS_SHIFT + 5) + chunk, own.unit[core, HEAD]
    if head < own.unit[core, TAIL] and own.sector[core, head & (own.queue - 1)] == sector:
        own.unit[core, HEAD] += 1
    if answer != cache.FAIL and own.unused[core, place_of(sector)] == sector:
        own.unused[core, place_of(sector)] = -1
        own.counters[sm, USED] += 1


@hook("rt.emptied")
def clear(state, own, sm, core, now):
    """Nobody is left to read what is queued."""
    own.unit[core, HEAD] = own.unit[core, TAIL]
