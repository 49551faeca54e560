"""First in, first out: the L1 gives up the line that it allocated first, used or not.

The engine has it built in (``l1.replacement = "fifo"``), so that this plug-in can be compared with it, cycle by cycle.
"""

from rayplay.policy import cache, hook


def arrays(unit, state, parameters):
    """When each line was allocated."""
    return {"since": state.line[:, 0] * 0}


@hook("l1.allocated")
def note(state, own, at, row, line, now):
    """Remember when."""
    own.since[row] = now


@hook("l1.replace")
def replace(state, own, at, group):
    """Choose the row of the set that was allocated first, of those that wait for no data."""
    best, first = -1, group << state.way_shift
    for row in range(first, first + state.ways):
        waits = state.line[row, cache.STATUS] & cache.ALL_RESERVED
        if not waits and (best < 0 or own.since[row] < own.since[best]):
            best = row
    return best
