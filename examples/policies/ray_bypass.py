"""Ray bypass: a part of the BVH leaves no line in the L1 unless it missed there before, a short time ago.

A bypass for streams, as in Tyson, Farrens, Matthews and Pleszkun, A modified approach to data cache management (MICRO
1995), with a table of sectors read once in place of one by instruction: the RT unit has no instructions. What is read
again within the reach of the table is worth its line. Loads of the program always get theirs.
"""

import numpy as np

from rayplay.policy import cache, hook, parameter

MOST = 4096
PARAMETERS = {"reach": parameter(256, "entries", "Entries of an SM's table, a power of two up to 4096", minimum=1)}
COUNTERS = ("first_reads", "repeated_reads")
FIRST, REPEATED = range(2)


def arrays(unit, state, parameters):
    """The sectors read once, by SM."""
    if parameters["reach"] not in [1 << bit for bit in range(MOST.bit_length())]:
        raise ValueError(f"reach must be a power of two up to {MOST}, not {parameters['reach']}")
    return {"seen": np.full((len(state.unit), MOST), -1)}


@hook("l1.allocates")
def allocates(state, own, at, sector, waiter):
    """Choose a line for loads, and for records whose sector the table knows; an odd waiter is the RT unit."""
    return waiter & 1 == 0 or own.seen[at, sector & (own.reach - 1) & (MOST - 1)] == sector


@hook("l1.prefetch")
def note(state, own, at, now, sector, answer, waiter):
    """Note the sectors of records whose line is missing; prefetch nothing."""
    if waiter & 1 and answer == cache.MISS:
        place = sector & (own.reach - 1) & (MOST - 1)
        own.counters[at, REPEATED if own.seen[at, place] == sector else FIRST] += 1
        own.seen[at, place] = sector
    return -1
