"""SRRIP: a line is expected to be used again in a long time until it hits, and then soon.

Jaleel, Theobald, Steely and Emer, High performance cache replacement using re-reference interval prediction (ISCA
2010). Each line has a value of ``bits`` bits: 2^bits - 2 when it is allocated, 0 after a hit (hit priority), and the
line that goes is one whose value is 2^bits - 1; where none has it, all values of the set grow until one does.
"""

from rayplay.policy import cache, hook, parameter

PARAMETERS = {"bits": parameter(2, "bits", "Of a line's re-reference prediction value", minimum=1)}
COUNTERS = ("agings",)
AGINGS = 0


def arrays(unit, state, parameters):
    """Predicted interval by line, the cycle in which each was allocated, and by set the row chosen last, plus 1."""
    lines = state.line[:, 0] * 0
    return {"interval": lines, "since": lines, "chosen": state.free_ways[:, 0] * 0}


@hook("l1.replace", "l2.replace", "rt_cache.replace")
def replace(state, own, at, group):
    """Choose the lowest way with the longest interval among lines that wait for no data."""
    first, chosen, longest = group << state.way_shift, -1, -1
    for row in range(first, first + state.ways):
        if state.line[row, cache.STATUS] & cache.ALL_RESERVED == 0 and own.interval[row] > longest:
            chosen, longest = row, own.interval[row]
    own.chosen[group] = chosen + 1  # the same however often it is asked: the set ages when the way is given away
    return chosen


@hook("l1.allocated", "l2.allocated", "rt_cache.allocated")
def insert(state, own, at, row, line, now):
    """Age the set by what the line that goes lacks; expect the next use of the new one in a long time."""
    group, longest = row >> state.way_shift, (1 << own.bits) - 1
    missing = longest - own.interval[row]
    if own.chosen[group] == row + 1 and missing > 0:
        own.counters[at, AGINGS] += 1
        for other in range(group << state.way_shift, (group << state.way_shift) + state.ways):
            own.interval[other] = min(own.interval[other] + missing, longest)
    own.chosen[group] = 0
    own.interval[row] = longest - 1
    own.since[row] = now


@hook("l1.used", "l2.used", "rt_cache.used")
def promote(state, own, row, now):
    """Expect the next use soon; not for the accesses of the cycle in which it was allocated."""
    if own.since[row] != now:
        own.interval[row] = 0
