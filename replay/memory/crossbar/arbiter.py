"""One direction of the crossbar: which inputs compete for which outputs, and who wins.

A packet competes from the cycle on in which it is its input's oldest. The outputs that are wanted are known, so that a
cycle costs only its transfers.
"""

from typing import NamedTuple

import numpy as np

from rayplay.replay.jit.bits import FAR, compiled, inlined, lowest_bit, rotate_right

WORD_SHIFT = 6
WORD = 1 << WORD_SHIFT  # inputs per word of ``wants``, outputs per word of ``wanted``
# Columns of net: next cycle, first cycle of another packet, cycles with packets up to one in which pointers move.
TICK, SOONEST, GRANTS = range(3)
COMPETES = FAR + 1  # in place of the cycle from which a packet competes: it does


class Net(NamedTuple):
    """One direction: what competes for the outputs."""

    wants: np.ndarray  # int64[outputs * words]: inputs whose oldest packet is for the output
    wanted: np.ndarray  # int64[words of outputs]: outputs that have some
    pointer: np.ndarray  # int64[outputs]: input that an output looks at first
    arrives: np.ndarray  # int64[inputs]: cycle from which the oldest packet competes, or COMPETES; FAR without one
    net: np.ndarray  # int64[3]
    words: int  # of ``wants`` for an output
    grant_cycles: int  # cycles with packets for each in which pointers move


def make_net(inputs: int, outputs: int, grant_cycles: int = 1) -> Net:
    """An empty network."""
    words = -(-inputs // WORD)
    return Net(
        np.zeros(outputs * words, np.int64),
        np.zeros(-(-outputs // WORD), np.int64),
        np.zeros(outputs, np.int64),
        np.full(inputs, FAR, np.int64),
        np.array([0, FAR, grant_cycles], np.int64),
        words,
        grant_cycles,
    )


@inlined
def grant(state: Net, output: int) -> int:
    """The input whose packet a wanted output takes: the first from the pointer on, going round."""
    if state.words == 1:
        first = state.pointer[output]
        return (first + lowest_bit(rotate_right(state.wants[output], first))) & (WORD - 1)
    return grant_among_many(state, output)


@compiled
def grant_among_many(state: Net, output: int) -> int:
    """The same, of more inputs than a word has bits."""
    first, base = state.pointer[output], output * state.words
    word = first >> WORD_SHIFT
    mask = state.wants[base + word] & (-1 << (first & WORD - 1))
    while mask == 0:
        word = word + 1 if word + 1 < state.words else 0
        mask = state.wants[base + word]
    return word * WORD + lowest_bit(mask)


@compiled
def any_of_many(state: Net, output: int) -> int:
    """Not 0 where a packet competes for an output, of more inputs than a word has bits."""
    found = 0
    for place in range(output * state.words, (output + 1) * state.words):
        found |= state.wants[place]
    return found


@inlined
def next_wanted(state: Net, first: int) -> int:
    """The first output from ``first`` on that a packet competes for, or -1."""
    word = first >> WORD_SHIFT
    if word == state.wanted.shape[0]:
        return -1
    later = state.wanted[word] >> (first & WORD - 1)
    if later:
        return first + lowest_bit(later)
    for index in range(word + 1, state.wanted.shape[0]):
        if state.wanted[index]:
            return index * WORD + lowest_bit(state.wanted[index])
    return -1


@inlined
def compete(state: Net, source: int, output: int) -> None:
    """An input's oldest packet competes for its output from now on."""
    state.wants[output * state.words + (source >> WORD_SHIFT)] |= 1 << (source & WORD - 1)
    state.wanted[output >> WORD_SHIFT] |= 1 << (output & WORD - 1)
    state.arrives[source] = COMPETES


@inlined
def win(state: Net, source: int, output: int) -> None:
    """An output took an input's packet; what the input has next is not known yet."""
    place = output * state.words + (source >> WORD_SHIFT)
    left = state.wants[place] & ~(1 << (source & WORD - 1))
    state.wants[place] = left
    if state.words > 1:
        left = any_of_many(state, output)
    state.wanted[output >> WORD_SHIFT] &= ~((left == 0) << (output & WORD - 1))
    if state.net[GRANTS] == 1:
        state.pointer[output] = source + 1 if source + 1 < state.arrives.shape[0] else 0


@inlined
def first_in_turn(state: Net, cycle: int, before: int) -> int:
    """Round robin over all nodes: the input that comes first, where ``before`` nodes of the other side come before."""
    inputs = state.arrives.shape[0]
    first = cycle % (inputs + state.pointer.shape[0]) - before
    return first if 0 <= first < inputs else 0


@inlined
def may_go(state: Net, source: int, output: int, cycle: int) -> bool:
    """Round robin: whether an input has a packet, and its output took none in the cycle (noted in ``pointer``)."""
    return state.arrives[source] == COMPETES and state.pointer[output] != cycle


@inlined
def expect(state: Net, source: int, cycle: int) -> None:
    """An input's oldest packet competes from ``cycle`` on (FAR: it has none)."""
    state.arrives[source] = cycle
    state.net[SOONEST] = min(state.net[SOONEST], cycle)


@inlined
def end_cycle(state: Net, cycle: int, active: bool) -> None:
    """End a cycle in which packets competed, if it was ``active``."""
    state.net[TICK] = cycle + 1
    if active:
        state.net[GRANTS] = state.net[GRANTS] - 1 if state.net[GRANTS] > 1 else state.grant_cycles


@inlined
def next_cycle(state: Net) -> int:
    """The next cycle in which a packet competes."""
    if next_wanted(state, 0) >= 0:
        return state.net[TICK]
    return max(state.net[TICK], state.net[SOONEST])
