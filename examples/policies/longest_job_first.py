"""Longest job first: the RT unit serves the warp whose rays have the most records left.

The warp that takes longest decides when its CTA ends, so that it should not wait behind short ones. The classic of
scheduling theory (Graham, Bounds on multiprocessing timing anomalies, 1969: longest processing time first). It knows
the future, which hardware does not: an upper bound for predictors of a warp's length.
"""

from rayplay.policy import asks, compiled, hook, rt

COUNTERS = ("overtakes",)
OVERTAKES = 0
LANES = 32


def arrays(unit, state, parameters):
    """A warp's records left, by slot."""
    return {} if unit != "rt" else {"left": state.slot[:, 0] * 0}


@hook("rt.entered")
def count(state, own, records, sm, at, now):
    """Add up the records of the warp's lanes."""
    own.left[at] = 0
    for row in range(at * LANES, (at + 1) * LANES):
        if state.slot[at, rt.ACTIVE] >> (row - at * LANES) & 1:
            own.left[at] += state.lane[rt.END, row] - state.lane[rt.CURSOR, row]


@hook("rt.record_completed")
def count_down(state, own, records, sm, at, lane, kind, now):
    """One record less."""
    own.left[at] -= 1


@compiled
def is_before(state, own, at, other):
    """Whether a slot is served before another: it has more records left, or as many and is older."""
    if own.left[at] != own.left[other]:
        return own.left[at] > own.left[other]
    return state.slot[at, rt.AGE] < state.slot[other, rt.AGE]


@hook("rt.choose_warp")
def choose(state, own, core):
    """Choose the slot with the most records left; of several the oldest."""
    best = -1
    for at in range(core * state.warps, (core + 1) * state.warps):
        if state.slot[at, rt.WARP] >= 0 and asks(state, at) and (best < 0 or is_before(state, own, at, best)):
            best = at
    return best


@hook("rt.requested")
def note(state, own, sm, core, at, record, chunk, answer, now):
    """Count the requests that overtake an older warp's."""
    for other in range(core * state.warps, (core + 1) * state.warps):
        is_older = state.slot[other, rt.WARP] >= 0 and state.slot[other, rt.AGE] < state.slot[at, rt.AGE]
        if is_older and asks(state, other):
            own.counters[sm, OVERTAKES] += 1
            return
