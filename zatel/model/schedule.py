"""When each warp does what, from the warps' work alone: ramp-up, steady state and drain of the GPU.

A warp goes through phases in turn: accesses to memory, then a trace call. An SM holds some warps at a time and its RT
units some of these; others wait in line for the RT unit. A record of a trace call takes a step and an access ``cost``
steps, whoever else is there. In the middle the RT units are full, at the end the last long warps are alone; so the
drain is neither ignored nor stretched with the rest.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from rayplay.formats.guard.code_cache import kept
from rayplay.zatel import CODE
from rayplay.zatel.model.accesses import Accesses
from rayplay.zatel.model.walk import Rays

loop: Any = kept(njit(cache=True), CODE)

VISIT_BITS = 32


class Phases(NamedTuple):
    """What warps do: accesses, a trace call, accesses, a trace call and so on.

    first   int64[warps + 1], the number of each warp's first phase, which is one of accesses; even.
    length  int64[phases], their steps: accesses, or records on the longest way of a trace call's rays. Either may be 0.
    """

    first: np.ndarray
    length: np.ndarray


class Machine(NamedTuple):
    """SMs and memory controllers of a GPU, the warps that an SM holds at a time, and those that its RT units hold."""

    sms: int
    controllers: int
    places: int
    slots: int


class Schedule(NamedTuple):
    """When phases begin, float64[phases], in steps; the place of each warp, int64[warps]; how long all of it takes.

    The SM of a place is its remainder by the number of SMs. resident  mean number of warps on an SM.
    """

    begins: np.ndarray
    place: np.ndarray
    steps: float
    resident: float


class Run(NamedTuple):
    """What changes while warps run.

    time, who   a heap of the phases that end: when, and at which place.
    phase, end  of each place: its phase, and where those of its warp end.
    busy        of each SM the warps in its RT units; ring, head, waiting  the places that wait for them.
    """

    time: np.ndarray
    who: np.ndarray
    phase: np.ndarray
    end: np.ndarray
    busy: np.ndarray
    ring: np.ndarray
    head: np.ndarray
    waiting: np.ndarray


def phases_of(rays: Rays, accesses: Accesses, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
    """Of the warps from ``first`` to before ``last``: how many phases each has, and ``Phases.length`` of all."""
    asked = (accesses.warp << VISIT_BITS) + accesses.visit
    called = (rays.warp << VISIT_BITS) + rays.visit
    begin = np.flatnonzero(np.diff(called, prepend=-1))
    longest = np.maximum.reduceat(np.diff(rays.offset), begin) if len(begin) else np.zeros(0, np.int64)
    over = (np.arange(first + 1, last + 1) << VISIT_BITS) - 1  # what a warp does after its last call
    calls, steps = np.append(called[begin], over), np.append(longest, np.zeros(len(over), np.int64))
    order = np.argsort(calls, kind="stable")
    before = np.searchsorted(asked, calls[order], side="right")
    length = np.stack([np.diff(before, prepend=0), steps[order]], axis=1).ravel()
    return 2 * np.bincount((calls >> VISIT_BITS) - first, minlength=last - first), length


def schedule(phases: Phases, warps: np.ndarray, machine: Machine, cost: float = 1.0) -> Schedule:
    """The ``warps``, bool[warps], in launch order on ``machine``; a free place takes the next one."""
    count = machine.sms * machine.places
    places, sms = np.zeros(count, np.int64), np.zeros(machine.sms, np.int64)
    ring = np.zeros((machine.sms, machine.places), np.int64)
    state = Run(np.zeros(count), places.copy(), places.copy(), places, sms.copy(), ring, sms.copy(), sms)
    begins, place = np.zeros(len(phases.length)), np.zeros(len(warps), np.int64)
    ended, resident = run(phases, np.flatnonzero(warps), machine.slots, cost, state, begins, place)
    return Schedule(begins, place, ended, resident / (machine.sms * ended) if ended else 0.0)


@loop
def run(
    phases: Phases, warps: np.ndarray, slots: int, cost: float, state: Run, begins: np.ndarray, place_of: np.ndarray
) -> tuple[float, float]:
    """Fill ``begins`` and ``place_of``; returns the end of the last warp and the sum of all warps' times."""
    sms, events, following, now, resident = len(state.busy), 0, 0, 0.0, 0.0
    for place in range(min(len(state.who), len(warps))):
        events = take(phases, warps[place], place, 0.0, slots, cost, state, events, begins, place_of)
        following += 1
    while events:
        live = events + state.waiting.sum()
        resident += live * (state.time[0] - now)
        now, place = state.time[0], state.who[0]
        events = pop(state, events)
        over, sm = state.phase[place], place % sms
        if over & 1 and phases.length[over]:
            if state.waiting[sm]:
                first = state.ring[sm, state.head[sm]]
                state.head[sm] = (state.head[sm] + 1) % state.ring.shape[1]
                state.waiting[sm] -= 1
                begins[state.phase[first]] = now
                events = push(state, events, now + phases.length[state.phase[first]], first)
            else:
                state.busy[sm] -= 1
        state.phase[place] += 1
        if state.phase[place] < state.end[place]:
            events = begin(phases, place, now, slots, cost, state, events, begins)
        elif following < len(warps):
            events = take(phases, warps[following], place, now, slots, cost, state, events, begins, place_of)
            following += 1
    return now, resident


@loop
def take(
    phases: Phases, warp: int, place: int, now: float, slots: int, cost: float, state: Run, events: int,
    begins: np.ndarray, place_of: np.ndarray,
) -> int:  # fmt: skip
    """A warp begins at a place; returns the number of events."""
    place_of[warp] = place
    state.phase[place], state.end[place] = phases.first[warp], phases.first[warp + 1]
    return begin(phases, place, now, slots, cost, state, events, begins)


@loop
def begin(
    phases: Phases, place: int, now: float, slots: int, cost: float, state: Run, events: int, begins: np.ndarray
) -> int:
    """The phase of a place begins, or its warp waits for the RT unit; returns the number of events."""
    phase, sm = state.phase[place], place % len(state.busy)
    length = phases.length[phase]
    if phase & 1 and length:
        if state.busy[sm] == slots:
            state.ring[sm, (state.head[sm] + state.waiting[sm]) % state.ring.shape[1]] = place
            state.waiting[sm] += 1
            return events
        state.busy[sm] += 1
    begins[phase] = now
    return push(state, events, now + length * (1.0 if phase & 1 else cost), place)


@loop
def push(state: Run, events: int, time: float, place: int) -> int:
    """Add an event to the heap; returns their number."""
    at = events
    while at and (time, place) < (state.time[(at - 1) // 2], state.who[(at - 1) // 2]):
        state.time[at], state.who[at] = state.time[(at - 1) // 2], state.who[(at - 1) // 2]
        at = (at - 1) // 2
    state.time[at], state.who[at] = time, place
    return events + 1


@loop
def pop(state: Run, events: int) -> int:
    """Remove the first event from the heap; returns the number of the others."""
    last, at = events - 1, 0
    time, place = state.time[last], state.who[last]
    while 2 * at + 1 < last:
        child = 2 * at + 1
        other = child + 1
        if other < last and (state.time[other], state.who[other]) < (state.time[child], state.who[child]):
            child = other
        if (time, place) <= (state.time[child], state.who[child]):
            break
        state.time[at], state.who[at] = state.time[child], state.who[child]
        at = child
    state.time[at], state.who[at] = time, place
    return last


@loop
def moments(
    phases: Phases, begins: np.ndarray, cost: float, warps: np.ndarray, requests: np.ndarray, step: np.ndarray
) -> np.ndarray:
    """float64[requests of the ``warps``]: when each is made; requests and step as in a stream."""
    found = np.empty(requests[warps].sum())
    row = at = 0
    for warp in range(len(requests)):
        if not warps[warp]:
            row += requests[warp]
            continue
        phase, before = phases.first[warp], 0
        for _ in range(requests[warp]):
            while step[row] >= before + phases.length[phase]:
                before += phases.length[phase]
                phase += 1
            found[at] = begins[phase] + (step[row] - before) * (1.0 if phase & 1 else cost)
            row += 1
            at += 1
    return found
