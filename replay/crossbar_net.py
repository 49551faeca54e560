"""One direction of the crossbar: which inputs compete for which outputs, and who wins.

A packet competes from the cycle on in which it is its input's oldest. The outputs that are wanted are known, so that a
cycle costs what is transferred in it.
"""

from typing import NamedTuple

import numpy as np

from replay.bits import FAR, inlined, lowest_bit

WORD_SHIFT = 5
WORD = 1 << WORD_SHIFT  # inputs per word of ``wants``, outputs per word of ``wanted``
TICK, SOONEST, WANTED = range(3)  # columns of net: next cycle, first cycle of another packet, packets that compete


class Net(NamedTuple):
    """One direction: what competes for the outputs."""

    wants: np.ndarray  # int64[outputs, words]: inputs whose oldest packet is for the output
    wanting: np.ndarray  # int64[outputs]: number of them
    wanted: np.ndarray  # int64[words of outputs]: outputs that have some
    pointer: np.ndarray  # int64[outputs]: input that an output looks at first
    arrives: np.ndarray  # int64[inputs]: cycle from which the oldest packet competes, FAR once it does or without one
    competes: np.ndarray  # int64[inputs]: 1 while it does
    net: np.ndarray  # int64[3]


def make_net(inputs: int, outputs: int) -> Net:
    """An empty network."""
    return Net(
        np.zeros((outputs, -(-inputs // WORD)), np.int64),
        np.zeros(outputs, np.int64),
        np.zeros(-(-outputs // WORD), np.int64),
        np.zeros(outputs, np.int64),
        np.full(inputs, FAR, np.int64),
        np.zeros(inputs, np.int64),
        np.array([0, FAR, 0], np.int64),
    )


@inlined
def grant(state: Net, output: int) -> int:
    """The input whose packet a wanted output takes: the first from the pointer on, else the first."""
    wants, pointer = state.wants, state.pointer[output]
    first = -1
    for word in range(wants.shape[1]):
        mask = wants[output, word]
        if mask == 0:
            continue
        if first < 0:
            first = word * WORD + lowest_bit(mask)
        passed = max(pointer - word * WORD, 0)
        later = mask >> passed if passed < WORD else 0
        if later:
            return word * WORD + passed + lowest_bit(later)
    return first


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
    state.wants[output, source >> WORD_SHIFT] |= 1 << (source & WORD - 1)
    state.wanting[output] += 1
    state.wanted[output >> WORD_SHIFT] |= 1 << (output & WORD - 1)
    state.arrives[source] = FAR
    state.competes[source] = 1
    state.net[WANTED] += 1


@inlined
def win(state: Net, source: int, output: int) -> None:
    """An output took an input's packet."""
    state.wants[output, source >> WORD_SHIFT] &= ~(1 << (source & WORD - 1))
    state.wanting[output] -= 1
    if state.wanting[output] == 0:
        state.wanted[output >> WORD_SHIFT] &= ~(1 << (output & WORD - 1))
    state.pointer[output] = source + 1
    state.competes[source] = 0
    state.net[WANTED] -= 1


@inlined
def expect(state: Net, source: int, cycle: int) -> None:
    """An input's oldest packet competes from ``cycle`` on (FAR: it has none)."""
    state.arrives[source] = cycle
    state.net[SOONEST] = min(state.net[SOONEST], cycle)


@inlined
def next_cycle(state: Net) -> int:
    """The next cycle in which a packet competes."""
    return state.net[TICK] if state.net[WANTED] else max(state.net[TICK], state.net[SOONEST])
