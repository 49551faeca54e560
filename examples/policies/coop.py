"""CoopRT: lanes of a warp that have nothing left take over subtrees of lanes that have.

Tozlu and Zhou (ISCA 2025). At most one take-over a warp and cycle: the lowest idle lane looks through its group for the
first lane with an entry behind its front record, and takes that entry with all that is below it. Ray and nearest hit
stay with the lane that began the ray: a hit found by any lane ends, for all of them, the subtrees that begin behind it.
What a ray reads is the same without culling; with it, lanes that run ahead may read what a hit would have spared. A
record that waits to be requested as the hit comes is read all the same.
"""

import numpy as np

from rayplay.policy import compiled, hook, lowest_bit, parameter, rays, rt

NEEDS = ("subtrees", "distances", "culled", "rays")
PARAMETERS = {
    "group": parameter(32, "lanes", "That help each other: 1, 4, 8, 16 or 32", minimum=1),
    "culling": parameter("on", "word", "Whether hits end what lies behind them", choices=("on", "off")),
}
COUNTERS = ("taken", "culled", "read_in_vain")
TAKEN, CULLED, IN_VAIN = range(3)
LANES, STRETCHES, GROUPS = 32, 48, (1, 4, 8, 16, 32)
NO_LIMIT, NOTHING_ELSE = 0x7F800000, -1
FIRST, END = 0, 1


def arrays(unit, state, parameters):
    """By lane: whose ray it works for, and stretches of that ray's records left to it, from the warp's first record;
    of a ray the distance of its nearest hit; by slot the lanes that have nothing to give before their next record."""
    if parameters["group"] not in GROUPS:
        raise ValueError(f"group must be one of {GROUPS}, not {parameters['group']}")
    lanes, slots = state.lane.shape[1], len(state.slot)
    return {
        "main": np.zeros(lanes, int), "count": np.zeros(lanes, int), "stretch": np.zeros((lanes, 2 * STRETCHES), int),
        "limit": np.zeros(lanes, int), "last": np.zeros(lanes, int), "first_hit_ends": np.zeros(lanes, int),
        "nothing": np.zeros(slots, int),
    }  # fmt: skip


@hook("rt.entered")
def begin(state, own, records, sm, at, now):
    """Each lane with a ray has all that is behind its front record."""
    own.nothing[at] = 0
    for row in range(at * LANES, (at + 1) * LANES):
        own.count[row], own.main[row] = 0, row
        if state.slot[at, rt.OPEN] >> (row - at * LANES) & 1:
            ray = state.lane[rt.RAY, row]
            push(own, row, state.lane[rt.CURSOR, row] + 1 - state.slot[at, rt.FIRST_RECORD],
                 state.lane[rt.END, row] - state.slot[at, rt.FIRST_RECORD])  # fmt: skip
            own.limit[row], own.last[row] = records.hit[ray, 0], records.hit[ray, 1]
            own.first_hit_ends[row] = records.lane[ray] & rays.EARLY_OUT


@compiled
def push(own, row, first, end):
    """Put a stretch in front of a lane's others."""
    if first < end:
        own.stretch[row, 2 * own.count[row] + FIRST] = first
        own.stretch[row, 2 * own.count[row] + END] = end
        own.count[row] += 1


@compiled
def is_culled(own, records, main, record):
    """Whether the nearest hit of a ray lies before a record's box; a leaf's test is its descriptor's."""
    if own.culling != 0:
        return False
    kind = records.info[np.int64(records.node[record]) & rays.NODE_BITS] & 15
    is_leaf = kind == rays.TRIANGLE or kind == rays.PROCEDURAL or kind == rays.TABLE_LOAD
    return not is_leaf and records.distance[record] > own.limit[main]


@hook("rt.next_record")
def next_record(state, own, records, sm, at, lane, record, now):
    """Choose the first record of the lane's stretches that no hit has spared."""
    row, warp_first = at * LANES + lane, state.slot[at, rt.FIRST_RECORD]
    main = own.main[row]
    own.nothing[at] &= ~(1 << lane)
    if record >= 0:
        note_hit(own, records, sm, main, record)
    while own.count[row]:
        top = 2 * own.count[row] - 2
        first = own.stretch[row, top + FIRST]
        if first == own.stretch[row, top + END]:
            own.count[row] -= 1
        elif is_culled(own, records, main, warp_first + first):
            own.stretch[row, top + FIRST] += records.subtree[warp_first + first]
            own.counters[sm, CULLED] += records.subtree[warp_first + first]
        else:
            own.stretch[row, top + FIRST] += 1
            return warp_first + first
    return -1


@compiled
def note_hit(own, records, sm, main, record):
    """A triangle that is hit and not refused by a program bounds what its ray has left to read."""
    node, distance = np.int64(records.node[record]), np.int64(records.distance[record])
    own.counters[sm, IN_VAIN] += node >> rays.CULLED_SHIFT & 1
    if node >> 31 and distance >= own.last[main]:
        own.limit[main] = NOTHING_ELSE if own.first_hit_ends[main] else min(own.limit[main], distance)


@hook("rt.start_lane")
def take_over(state, own, records, sm, at, idle, now):
    """Choose the lowest idle lane of the first group in which a lane has an entry to give; it has it from now on."""
    able = state.slot[at, rt.OPEN] & ~own.nothing[at]
    if able == 0:
        return -1
    for start in range(0, LANES, own.group):
        group = ((1 << own.group) - 1) << start
        rest = able & group if idle & group else 0
        while rest:
            lane = lowest_bit(rest)
            rest &= rest - 1
            helper = lowest_bit(idle & group)
            if give(state, own, records, sm, at, lane, helper):
                own.counters[sm, TAKEN] += 1
                return helper
            own.nothing[at] |= 1 << lane
    return -1


@compiled
def give(state, own, records, sm, at, lane, helper):
    """Give the first entry behind what is below a lane's front record to a helper; whether there is one."""
    row, other, warp_first = at * LANES + lane, at * LANES + helper, state.slot[at, rt.FIRST_RECORD]
    if own.count[row] == 0 or own.count[row] >= STRETCHES - 1:
        return False
    front = state.lane[rt.CURSOR, row]
    below = front + records.subtree[front] - warp_first
    place = own.count[row] - 1
    while place >= 0:
        end = own.stretch[row, 2 * place + END]
        first = max(own.stretch[row, 2 * place + FIRST], below if place == own.count[row] - 1 else 0)
        while first < end and is_culled(own, records, own.main[row], warp_first + first):
            first += records.subtree[warp_first + first]
        if first < end:
            break
        place -= 1
    if place < 0:
        return False
    after = first + records.subtree[warp_first + first]
    if place == own.count[row] - 1:
        kept = own.stretch[row, 2 * place + FIRST]
        own.count[row] -= 1
        push(own, row, after, end)
        push(own, row, kept, min(below, end))
    else:
        own.stretch[row, 2 * place + FIRST] = after
    own.count[other], own.main[other] = 0, own.main[row]
    push(own, other, first, after)
    return True
