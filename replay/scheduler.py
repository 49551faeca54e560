"""Warp schedulers of an SM: which warps are ready, and which of them issues next.

Peak rate: one warp-instruction per cycle and scheduler, 4 per cycle and SM. Warp w belongs to scheduler w mod 4.
A warp is ready when the stall of its last instruction has passed and no slot it waits for is pending. Each scheduler
keeps its ready warps as a bit mask in order of age, so that the oldest is the lowest bit, and the warps that stall
sit in a wheel of 64 cycles. A policy chooses among the bits: ``gto`` the warp that issued last while it can, else the
oldest; ``lrr`` the next after the last; ``oldest`` the oldest; ``two-level`` the next after the last among
``active_warps`` warps, which a warp leaves when it waits for a slot, and the oldest ready warp takes its place.
Source: ``reference/accel-sim.md`` B.2, ``reference/prototype-measurements.md`` C.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from replay import stack
from replay.bits import FAR, compiled, count_bits, inlined, lowest_bit, rotate_right
from replay.config import law, value
from replay.rows import FixedRows

POLICIES = ("gto", "lrr", "oldest", "two-level")  # the tag of a policy is its place here
GTO, LRR, OLDEST, TWO_LEVEL = range(4)
UNITS = 10  # formats.trace.UNITS
WHEEL = 64
SLOTS = 8  # scoreboard slots 0 to 5 are the characterisation's; then:
STORES_SLOT, HELD_SLOT = 6, 7  # stores not yet acknowledged; held by a barrier or a trace operation
HELD_BIT = 1 << HELD_SLOT
ALL_SLOTS = (1 << SLOTS) - 1
# columns of warp: visit now, end of visits, first visit, next instruction (-1: finished), end of its block, active
# lanes, access and trace cursors, cycle its stall ends, pending slots, slots it waits for, is it parked (stall passed,
# slots pending), its number, its CTA's place, cycle of its last accounting, lanes of its trace operation, code of its
# next instruction, its age rank, instructions issued, threads active, end of its accesses
(VISIT, VISIT_END, FIRST_VISIT, INSTRUCTION, BLOCK_END, MASK, ACCESS, TRACE, TRACE_END, READY_AT, PENDING, WAIT, PARKED,
 NUMBER, CTA, SINCE, TRACE_MASK, CODE, RANK, ISSUED, THREADS, ACCESS_END) = range(22)  # fmt: skip
WARP_COLUMNS = 22
(WARP_INSTRUCTIONS, ISSUE_CYCLES, RETIRED_INSTRUCTIONS, RETIRED_WARPS, RETIRED_CTAS, BARRIERS,
 UNIT_ISSUES) = range(7)  # fmt: skip
COUNTERS = ("warp_instructions", "issue_cycles", "retired_instructions", "retired_warps", "retired_ctas",
            "barrier_releases")  # fmt: skip
UNIT_THREADS = UNIT_ISSUES + UNITS


@dataclass(frozen=True)
class Spec:
    """Warp schedulers of an SM."""

    count: int = value("count", "Schedulers of an SM; each issues one warp-instruction per cycle", 1)
    policy: str = value(
        "name", "Which ready warp issues: greedy then oldest, loose round robin, oldest first, two-level",
        choices=POLICIES,
    )  # fmt: skip
    active_warps: int = value("warps", "Warps a scheduler chooses among with the policy two-level", 1)

    def __post_init__(self) -> None:
        law(self.count <= 8, f"count must be at most 8, not {self.count}")


class Warps(NamedTuple):
    """Warps and schedulers of all SMs: warp w of SM s is row s * warps + w, scheduler q row s * schedulers + q."""

    warp: FixedRows  # int64[sms * warps, WARP_COLUMNS]
    pending: FixedRows  # int32[sms * warps, SLOTS]: results still to come, per slot
    ready: np.ndarray  # int64[sms * schedulers]: bit = rank
    able: np.ndarray  # int64[sms]: schedulers with a ready warp, bit = scheduler
    active: np.ndarray  # int64[sms * schedulers]: the warps two-level chooses among, bit = rank
    wants: FixedRows  # int64[sms * schedulers, UNITS]: warps whose next instruction uses the unit, bit = rank
    free_at: FixedRows  # int64[sms * schedulers, UNITS]: first cycle the unit accepts an instruction
    last: np.ndarray  # int64[sms * schedulers]: rank of the warp that issued last, or -1
    member: np.ndarray  # int64[sms * schedulers, warps]: warp of a rank
    members: np.ndarray  # int64[sms * schedulers]
    wheel: FixedRows  # int64[sms, WHEEL]: warps whose stall ends in the cycle, bit = warp
    occupied: np.ndarray  # int64[sms]: wheel places in use
    scheduler_of: np.ndarray  # int64[warps]: warp mod schedulers
    stats: FixedRows  # int64[sms, UNIT_THREADS + UNITS]: the counters, then warp and thread instructions per unit
    slot: FixedRows  # the arrays of replay.stack
    wait: FixedRows
    warps: int
    schedulers: int
    policy: int
    active_warps: int


def make_state(spec: Spec, sms: int, warps: int) -> Warps:
    """SMs without warps."""
    rows = sms * spec.count
    last = np.full(rows, -1, np.int64)
    return Warps(
        np.zeros((sms * warps, WARP_COLUMNS), np.int64),
        np.zeros((sms * warps, SLOTS), np.int32),
        np.zeros(rows, np.int64),
        np.zeros(sms, np.int64),
        np.zeros(rows, np.int64),
        np.zeros((rows, UNITS), np.int64),
        np.zeros((rows, UNITS), np.int64),
        last,
        np.zeros((rows, warps), np.int64),
        np.zeros(rows, np.int64),
        np.zeros((sms, WHEEL), np.int64),
        np.zeros(sms, np.int64),
        np.arange(warps) % spec.count,
        np.zeros((sms, UNIT_THREADS + UNITS), np.int64),
        *stack.make_arrays(rows, sms * warps),
        warps,
        spec.count,
        POLICIES.index(spec.policy),
        spec.active_warps,
    )


@inlined
def row_of(state: Warps, sm: int, warp: int) -> int:
    """Row of a warp's scheduler. A look-up: division takes longer than all else that is done with it."""
    return sm * state.schedulers + state.scheduler_of[warp]


@compiled
def join(state: Warps, sm: int, now: int, warp: int) -> None:
    """A warp begins: it is the youngest of its scheduler and wants the unit of its next instruction."""
    row = row_of(state, sm, warp)
    rank = state.members[row]
    state.members[row] = rank + 1
    state.member[row, rank] = warp
    here = sm * state.warps + warp
    state.warp[here, RANK] = rank
    state.wants[row, state.warp[here, CODE] & 15] |= 1 << rank
    stack.change_live(state, row, now, 1)


@compiled
def leave(state: Warps, sm: int, now: int, warp: int) -> None:
    """A warp retires: the ranks of all younger warps of its scheduler move down by one."""
    row = row_of(state, sm, warp)
    rank = state.warp[sm * state.warps + warp, RANK]
    below = (1 << rank) - 1
    state.ready[row] = (state.ready[row] & below) | ((state.ready[row] >> 1) & ~below)
    state.active[row] = (state.active[row] & below) | ((state.active[row] >> 1) & ~below)
    for unit in range(UNITS):
        state.wants[row, unit] = (state.wants[row, unit] & below) | ((state.wants[row, unit] >> 1) & ~below)
    state.members[row] -= 1
    for index in range(rank, state.members[row]):
        moved = state.member[row, index + 1]
        state.member[row, index] = moved
        state.warp[sm * state.warps + moved, RANK] = index
    if state.last[row] >= rank:
        state.last[row] = state.last[row] - 1 if state.last[row] > rank else -1
    stack.change_live(state, row, now, -1)


@inlined
def stall_until(state: Warps, sm: int, warp: int, now: int, cycle: int) -> None:
    """Look at the warp again at ``cycle``, or at the wheel's end when that is farther away."""
    place = min(cycle, now + WHEEL - 1) & (WHEEL - 1)
    state.wheel[sm, place] |= 1 << warp
    state.occupied[sm] |= 1 << place


@inlined
def next_stall_end(state: Warps, sm: int, now: int) -> int:
    """The next cycle at which the wheel holds a warp, FAR without one. ``now``'s own place is empty."""
    occupied = state.occupied[sm]
    if occupied == 0:
        return FAR
    return now + 1 + lowest_bit(rotate_right(occupied, (now + 1) & (WHEEL - 1)))


@inlined
def set_ready(state: Warps, sm: int, warp: int) -> None:
    """The warp may issue."""
    state.ready[row_of(state, sm, warp)] |= 1 << state.warp[sm * state.warps + warp, RANK]
    state.able[sm] |= 1 << state.scheduler_of[warp]


@inlined
def set_issued(state: Warps, sm: int, row: int, warp: int) -> None:
    """The warp of the scheduler in that row has issued, and is not ready any more."""
    state.ready[row] &= ~(1 << state.warp[sm * state.warps + warp, RANK])
    state.able[sm] &= ~((state.ready[row] == 0) << state.scheduler_of[warp])


@inlined
def hold(state: Warps, sm: int, warp: int, slot: int, results: int) -> None:
    """``results`` more results are to come for a slot of the warp."""
    here = sm * state.warps + warp
    state.pending[here, slot] += results
    state.warp[here, PENDING] |= 1 << slot


@inlined
def release(state: Warps, sm: int, now: int, warp: int, slot: int) -> bool:
    """A result of a slot has come; True when the warp was parked and may go on (or has finished for good)."""
    here = sm * state.warps + warp
    state.pending[here, slot] -= 1
    if state.pending[here, slot]:
        return False
    state.warp[here, PENDING] &= ~(1 << slot)
    if state.warp[here, PARKED] == 0 or state.warp[here, PENDING] & state.warp[here, WAIT]:
        return False
    state.warp[here, PARKED] = 0
    stack.end_wait(state, row_of(state, sm, warp), here, now)
    return True


@inlined
def park(state: Warps, sm: int, now: int, warp: int) -> None:
    """The warp's stall has passed, but it waits for slots."""
    here, row = sm * state.warps + warp, row_of(state, sm, warp)
    state.warp[here, PARKED] = 1
    state.active[row] &= ~(1 << state.warp[here, RANK])
    held = state.warp[here, PENDING] & state.warp[here, WAIT] & HELD_BIT
    reason = stack.MEMORY if held == 0 else stack.BARRIER if state.warp[here, TRACE_MASK] == -1 else stack.RT_UNIT
    stack.begin_wait(state, row, here, now, reason)


@inlined
def candidates_of(state: Warps, row: int) -> int:
    """The ready warps a scheduler may choose from, as a mask of ranks."""
    ready = state.ready[row]
    if state.policy != TWO_LEVEL:
        return ready
    waiting = ready & ~state.active[row]
    for _ in range(state.active_warps - count_bits(state.active[row])):
        state.active[row] |= waiting & -waiting
        waiting &= waiting - 1
    return ready & state.active[row]


@inlined
def pick(candidates: int, last_rank: int, policy: int) -> int:
    """Rank of the warp to issue from: ``candidates`` is a mask of ranks, not 0; ``last_rank`` is -1 for none."""
    if policy == GTO:
        return greedy_then_oldest(candidates, last_rank)
    if policy == OLDEST:
        return lowest_bit(candidates)
    return round_robin(candidates, last_rank)


@inlined
def greedy_then_oldest(candidates: int, last_rank: int) -> int:
    """The last warp while it can issue, else the oldest."""
    again = candidates & (1 << last_rank) if last_rank >= 0 else 0
    return lowest_bit(again if again else candidates)


@inlined
def round_robin(candidates: int, last_rank: int) -> int:
    """The next warp after the last, in order of age."""
    later = candidates >> (last_rank + 1)
    return last_rank + 1 + lowest_bit(later) if later else lowest_bit(candidates)


def stats(state: Any) -> dict[str, np.ndarray]:
    """Every counter per SM; warp and thread instructions of each unit as ``issued_UNIT`` and ``threads_UNIT``."""
    from formats.trace import UNITS as NAMES

    threads = state.stats[:, UNIT_THREADS:]
    named = {name: state.stats[:, index] for index, name in enumerate(COUNTERS)}
    named["thread_instructions"] = threads.sum(axis=1)
    named |= {f"issued_{name}": state.stats[:, UNIT_ISSUES + index] for index, name in enumerate(NAMES)}
    return named | {f"threads_{name}": threads[:, index] for index, name in enumerate(NAMES)}
