"""Schedule of the warps from their work alone: ramp-up, steady state and drain of the GPU.

A warp alternates between two phases: memory accesses, then a trace call. An SM holds a fixed number of warps and its RT
units some of these; the others queue for the RT unit. A record of a trace call takes one step and an access ``cost``
steps, without contention. In steady state the RT units are full; in the drain the last long warps run alone. So the
drain is neither ignored nor scaled with the rest.
"""

from typing import NamedTuple

import numpy as np

from rayplay.zatel.model.accesses import Accesses
from rayplay.zatel.model.follow import inner, loop
from rayplay.zatel.model.walk import Rays

VISIT_BITS = 32


class Phases(NamedTuple):
    """Phases of warps, alternately accesses and a trace call.

    first   int64[warps + 1], index of each warp's first phase (accesses, so an even index).
    length  int64[phases], steps: accesses, or records on the longest path of a trace call's rays. Either may be 0.
    cta     int64[CTAs + 1], each CTA's first warp, and the number of warps; a CTA may have fewer than it has places.
    """

    first: np.ndarray
    length: np.ndarray
    cta: np.ndarray


class Machine(NamedTuple):
    """SMs and memory controllers of a GPU, warp slots of an SM (``places``), and warp slots of its RT units.

    warps  that a CTA has places for, which share an SM; a multiple of them are the slots.
    """

    sms: int
    controllers: int
    places: int
    slots: int
    warps: int = 1


class Schedule(NamedTuple):
    """Start of each phase in steps, float64[phases]; warp slot of each warp, int64[warps]; length of the schedule.

    The SM of a slot is the slot modulo the number of SMs.

    resident  mean number of warps on an SM.
    """

    begins: np.ndarray
    place: np.ndarray
    steps: float
    resident: float


class Run(NamedTuple):
    """State of the simulation.

    phase, end           of each slot: its phase, and the end of its warp's phases.
    live                 of each place for a CTA, how many of its warps have not ended.
    time, slot, events   heap of the phases' ends: time and slot of each, the earliest first, and their number.
    busy                 of each SM, the warps in its RT units.
    ring, head, waiting  queue of slots that wait for the SM's RT units.
    """

    phase: np.ndarray
    end: np.ndarray
    live: np.ndarray
    time: np.ndarray
    slot: np.ndarray
    events: np.ndarray
    busy: np.ndarray
    ring: np.ndarray
    head: np.ndarray
    waiting: np.ndarray


def phases_of(rays: Rays, accesses: Accesses, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
    """Number of phases of each warp from ``first`` to before ``last``, and ``Phases.length`` of all."""
    asked = (accesses.warp << VISIT_BITS) + accesses.visit
    called = (rays.warp << VISIT_BITS) + rays.visit
    begin = np.flatnonzero(np.diff(called, prepend=-1))
    longest = np.maximum.reduceat(np.diff(rays.offset), begin) if len(begin) else np.zeros(0, np.int64)
    final = (np.arange(first + 1, last + 1) << VISIT_BITS) - 1  # accesses after the warp's last call
    calls, steps = np.append(called[begin], final), np.append(longest, np.zeros(len(final), np.int64))
    order = np.argsort(calls, kind="stable")
    before = np.searchsorted(asked, calls[order], side="right")
    length = np.stack([np.diff(before, prepend=0), steps[order]], axis=1).ravel()
    return 2 * np.bincount((calls >> VISIT_BITS) - first, minlength=last - first), length


def schedule(phases: Phases, warps: np.ndarray, machine: Machine, cost: float = 1.0) -> Schedule:
    """Schedule the ``warps``, bool[warps] of whole CTAs, in launch order on ``machine``.

    A CTA takes the slots of one that ended with its last warp.
    """
    places, sms = np.zeros(machine.sms * machine.places, np.int64), np.zeros(machine.sms, np.int64)
    ring = np.zeros((machine.sms, machine.places), np.int64)
    ctas = np.zeros(len(places) // machine.warps, np.int64)
    heap = np.zeros(len(places)), places.copy(), np.zeros(1, np.int64)
    state = Run(places.copy(), places, ctas, *heap, sms.copy(), ring, sms.copy(), sms)
    begins, place = np.zeros(len(phases.length)), np.zeros(len(warps), np.int64)
    rows = np.unique(np.concatenate([[0], np.cumsum(warps)])[phases.cta])  # CTAs outside have no rows
    ended, resident = run(phases, np.flatnonzero(warps), rows, machine.slots, machine.warps, cost, state, begins, place)
    return Schedule(begins, place, ended, resident / (machine.sms * ended) if ended else 0.0)


@inner
def run(
    phases: Phases, warps: np.ndarray, rows: np.ndarray, slots: int, together: int, cost: float, state: Run,
    begins: np.ndarray, place_of: np.ndarray,
) -> tuple[float, float]:  # fmt: skip
    """Fill ``begins`` and ``place_of``; return the end of the last warp and the sum of all warps' resident times.

    rows  int64[CTAs + 1], of each CTA's first warp among ``warps``.
    """
    sms, following, now, resident, waiting = state.busy.size, 0, 0.0, 0.0, 0
    for cta in range(min(state.live.size, rows.size - 1)):
        own = warps[rows[cta] : rows[cta + 1]]
        waiting += take(phases, own, together, cta, 0.0, slots, cost, state, begins, place_of)
        following += 1
    while state.events[0]:
        resident += (state.events[0] + waiting) * (state.time[0] - now)
        now, place = state.time[0], pop(state)
        ended, sm = state.phase[place], place % sms
        if ended & 1 and phases.length[ended]:
            if state.waiting[sm]:
                first = state.ring[sm, state.head[sm]]
                state.head[sm] = (state.head[sm] + 1) % state.ring.shape[1]
                state.waiting[sm] -= 1
                waiting -= 1
                begins[state.phase[first]] = now
                push(state, now + phases.length[state.phase[first]], first)
            else:
                state.busy[sm] -= 1
        state.phase[place] += 1
        if state.phase[place] < state.end[place]:
            waiting += begin(phases, place, now, slots, cost, state, begins)
            continue
        cta = place // sms // together * sms + sm
        state.live[cta] -= 1
        if not state.live[cta] and following < rows.size - 1:
            own = warps[rows[following] : rows[following + 1]]
            waiting += take(phases, own, together, cta, now, slots, cost, state, begins, place_of)
            following += 1
    return now, resident


@inner
def take(
    phases: Phases, warps: np.ndarray, together: int, cta: int, now: float, slots: int, cost: float, state: Run,
    begins: np.ndarray, place_of: np.ndarray,
) -> int:  # fmt: skip
    """Start the warps of a CTA in the slots numbered ``cta``: SM after SM, then further slots of each.

    Returns how many wait for an RT unit.
    """
    sms, waiting = state.busy.size, 0
    state.live[cta] = warps.size
    for row in range(warps.size):
        warp, place = warps[row], (cta // sms * together + row) * sms + cta % sms
        place_of[warp] = place
        state.phase[place], state.end[place] = phases.first[warp], phases.first[warp + 1]
        waiting += begin(phases, place, now, slots, cost, state, begins)
    return waiting


@inner
def begin(
    phases: Phases, place: int, now: float, slots: int, cost: float, state: Run, begins: np.ndarray
) -> int:  # fmt: skip
    """Start the phase of a slot and return 0, or queue it for the RT unit and return 1."""
    phase, sm = state.phase[place], place % state.busy.size
    length = phases.length[phase]
    if phase & 1 and length:
        if state.busy[sm] == slots:
            state.ring[sm, (state.head[sm] + state.waiting[sm]) % state.ring.shape[1]] = place
            state.waiting[sm] += 1
            return 1
        state.busy[sm] += 1
    begins[phase] = now
    push(state, now + length * (1.0 if phase & 1 else cost), place)
    return 0


@inner
def push(state: Run, time: float, slot: int) -> None:
    """Add an event to the heap."""
    at = state.events[0]
    state.events[0] += 1
    while at:
        above = (at - 1) >> 1
        if state.time[above] < time or (state.time[above] == time and state.slot[above] < slot):
            break
        state.time[at], state.slot[at] = state.time[above], state.slot[above]
        at = above
    state.time[at], state.slot[at] = time, slot


@inner
def pop(state: Run) -> int:
    """Remove the earliest event, of equally early ones the lowest slot's; return its slot."""
    first, last, at = state.slot[0], state.events[0] - 1, 0
    state.events[0] = last
    time, slot = state.time[last], state.slot[last]
    while 2 * at + 1 < last:
        below = 2 * at + 1
        right = below + 1
        if right < last and (
            state.time[right] < state.time[below]
            or (state.time[right] == state.time[below] and state.slot[right] < state.slot[below])
        ):
            below = right
        if time < state.time[below] or (time == state.time[below] and slot < state.slot[below]):
            break
        state.time[at], state.slot[at] = state.time[below], state.slot[below]
        at = below
    state.time[at], state.slot[at] = time, slot
    return int(first)


@loop
def moments(
    phases: Phases, begins: np.ndarray, cost: float, warps: np.ndarray, requests: np.ndarray, step: np.ndarray
) -> np.ndarray:
    """Time of each request of the ``warps``, float64; ``requests`` and ``step`` as in a stream."""
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
