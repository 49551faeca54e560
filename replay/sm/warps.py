"""Warps of an SM: which are ready, which stall, and which wait for results.

Peak rate: one warp-instruction per cycle and scheduler, 4 per cycle and SM. Warp w belongs to scheduler w mod 4.
A warp is ready when the stall of its last instruction has passed and no slot it waits for is pending. The ready warps
of an SM are bits of one word, scheduler by scheduler, and in each in order of age, so that the oldest is the lowest.
Stalled warps are the same bits in a timing wheel of 64 cycles: most become ready together, by one operation, and
only warps that may wait for results are checked. ``policies`` chooses among the ready ones.
Source: ``docs/sources/accel-sim.md#schedulers``, the wheel ``docs/sources/measurements.md#replay-prototype``.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rayplay.formats.schema.trace import UNITS as UNIT_NAMES
from rayplay.replay.input import work as op
from rayplay.replay.jit.bits import FAR, compiled, count_bits, inlined, lowest_bit, rotate_right, shift_right
from rayplay.replay.jit.hooks import NOTHING
from rayplay.replay.jit.rows import CACHE_LINE_WORDS, FixedRows, wrap
from rayplay.replay.sm.ctas import MAX_CTAS
from rayplay.replay.sm.policies import POLICIES, TWO_LEVEL
from rayplay.replay.unit import cycle_stack as stack
from rayplay.replay.unit import cycle_stack_streams as stack_shares
from rayplay.replay.unit.schema import law, value
from rayplay.replay.unit.streams import Shares, make_shares

UNITS = len(UNIT_NAMES)
WHEEL = 64
MOST_WARPS = 64  # of an SM

# Columns of ``warp``; every instruction uses the first eight, a line of the host's caches.
CODE = 0  # of the next instruction
INSTRUCTION = 1  # the next instruction, -1: finished
BLOCK_END = 2  # end of its block
RANK = 3  # bit of the warp in masks
THREADS = 4  # active threads
ISSUED = 5  # instructions issued
PENDING = 6  # slots with results to come, as a mask
READY_AT = 7  # cycle its stall ends
VISIT = 8  # the visit it is in
VISIT_END = 9  # end of its visits
FIRST_VISIT = 10
MASK = 11  # active lanes
ACCESS = 12  # its next access
ACCESS_END = 13
TRACE = 14  # its next trace operation
TRACE_END = 15
PARKED = 16  # 1: its stall has ended, slots are pending
NUMBER = 17  # in the trace
CTA = 18  # its CTA's place
SINCE = 19  # cycle until which its lanes are accounted
TRACE_MASK = 20  # lanes of its trace operation
STREAM = 21
WARP_COLUMNS = 3 * CACHE_LINE_WORDS

# Columns of ``barrier``, a row per CTA; both are masks of warps.
RUNNING = 0  # warps that a barrier waits for
ARRIVED = 1  # warps at the barrier

# Columns of ``mask``.
READY = 0
CHECKED = 1  # to be checked when their stall ends: they may not be ready
ACTIVE = 2  # two-level: the warps to choose among
LAST = 3  # the warp of each scheduler that issued last
OCCUPIED = 4  # no warps, but entries of the wheel in use
WANTS = 5  # from here on, per unit: the warps whose next instruction uses it
ENDS = WANTS + UNITS  # from here on, the wheel's entries: the warps whose stall ends in a cycle
MASK_COLUMNS = 10 * CACHE_LINE_WORDS

COUNTERS = ("warp_instructions", "issue_cycles", "retired_instructions", "retired_warps", "retired_ctas",
            "barrier_releases")  # fmt: skip
(WARP_INSTRUCTIONS, ISSUE_CYCLES, RETIRED_INSTRUCTIONS, RETIRED_WARPS, RETIRED_CTAS, BARRIERS,
 UNIT_ISSUES) = range(7)  # fmt: skip
UNIT_THREADS = UNIT_ISSUES + UNITS


RULES = "; ".join(f"{name}, {rule}" for name, rule in POLICIES.items())


@dataclass(frozen=True)
class Spec:
    """Warp schedulers of an SM."""

    count: int = value("count", "Schedulers of an SM; each issues one warp-instruction per cycle", 1)
    policy: str = value("name", f"Which ready warp issues: {RULES}", choices=tuple(POLICIES))
    active_warps: int = value("warps", "Warps a scheduler chooses among with the policies two-level and limited", 1)
    issues: int = value("instructions", "Instructions of one warp that a scheduler may issue in a cycle (pipeline)", 1)
    different_units: bool = value("switch", "Whether two instructions of one cycle go to units of different kinds")

    def __post_init__(self) -> None:
        law(self.count <= 8, f"count must be at most 8, not {self.count}")
        law(self.issues <= 2, f"issues must be at most 2, not {self.issues}")


class Warps(NamedTuple):
    """Warps and schedulers of all SMs: warp w of SM s is row s * warps + w, scheduler q row s * schedulers + q."""

    warp: FixedRows  # int64[sms * warps, WARP_COLUMNS]
    pending: FixedRows  # int32[sms * warps, SLOTS]: results still to come, per slot
    mask: FixedRows  # int64[sms, MASK_COLUMNS]: warps of an SM, bit = rank
    barrier: FixedRows  # int64[sms * MAX_CTAS, 2]: warps of a CTA, bit = warp
    free_at: FixedRows  # int64[sms * schedulers, UNITS]: first cycle the unit accepts an instruction
    member: FixedRows  # int64[sms, MOST_WARPS]: warp of a rank
    members: np.ndarray  # int64[sms * schedulers]
    scheduler_of: np.ndarray  # int64[warps]: warp mod schedulers
    scheduler_at: np.ndarray  # int64[warps]: scheduler of a rank
    lane: np.ndarray  # int64[schedulers]: ranks of its warps, as a mask
    stats: FixedRows  # int64[sms, UNIT_THREADS + UNITS]: the counters, then warp and thread instructions per unit
    shares: Shares
    slot: FixedRows  # the arrays of replay.stack
    wait: FixedRows
    account: FixedRows  # of replay.stack_shares
    warps: int
    schedulers: int
    policy: int
    active_warps: int
    own: Any = NOTHING  # of a plug-in


def make_state(spec: Spec, sms: int, warps: int, streams: int = 1) -> Warps:
    """SMs without warps."""
    rows, scheduler_of = sms * spec.count, np.arange(warps) % spec.count
    scheduler_at = np.sort(scheduler_of)
    lane = np.zeros(spec.count, np.int64)
    np.bitwise_or.at(lane, scheduler_at, np.int64(1) << np.arange(warps))
    stats = np.zeros((sms, UNIT_THREADS + UNITS), np.int64)
    return Warps(
        np.zeros((sms * warps, WARP_COLUMNS), np.int64),
        np.zeros((sms * warps, op.SLOTS), np.int32),
        np.zeros((sms, MASK_COLUMNS), np.int64),
        np.zeros((sms * MAX_CTAS, 2), np.int64),
        np.zeros((rows, UNITS), np.int64),
        np.zeros((sms, MOST_WARPS), np.int64),
        np.zeros(rows, np.int64),
        scheduler_of,
        scheduler_at,
        lane,
        stats,
        make_shares(stats, streams),
        *stack.make_arrays(rows, sms * warps),
        stack_shares.make_accounts(rows, streams),
        warps,
        spec.count,
        tuple(POLICIES).index(spec.policy),
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
    rank = lowest_bit(state.lane[state.scheduler_of[warp]]) + state.members[row]
    state.members[row] += 1
    state.member[sm, rank] = warp
    here = sm * state.warps + warp
    state.warp[here, RANK] = rank
    state.mask[sm, WANTS + (state.warp[here, CODE] & 15)] |= 1 << rank
    stack.change_live(state, row, now, 1)
    stack_shares.change_live(state, row, now, 1, state.warp[here, STREAM])


@compiled
def leave(state: Warps, sm: int, now: int, warp: int) -> None:
    """A warp retires: the ranks of all younger warps of its scheduler move down by one."""
    row, rank = row_of(state, sm, warp), state.warp[sm * state.warps + warp, RANK]
    lane = state.lane[state.scheduler_of[warp]]
    younger = lane & (-2 << rank)
    for column in range(ENDS + WHEEL):
        if column != OCCUPIED:
            mask = state.mask[sm, column]
            state.mask[sm, column] = mask & ~(younger | 1 << rank) | shift_right(mask & younger, 1)
    state.members[row] -= 1
    for index in range(rank, lowest_bit(lane) + state.members[row]):
        moved = state.member[sm, index + 1]
        state.member[sm, index] = moved
        state.warp[sm * state.warps + moved, RANK] = index
    stack.change_live(state, row, now, -1)
    stack_shares.change_live(state, row, now, -1, state.warp[sm * state.warps + warp, STREAM])


@inlined
def stall_until(state: Warps, sm: int, rank: int, now: int, cycle: int, waits: int) -> None:
    """A warp stalls until ``cycle``; then it is ready or, where it ``waits`` (0 or 1) for more, looked at.

    The wheel's end, if nearer, has it checked as well.
    """
    end = now + WHEEL - 1
    place = wrap(min(cycle, end), WHEEL)
    state.mask[sm, ENDS + place] |= 1 << rank
    state.mask[sm, OCCUPIED] |= 1 << place
    state.mask[sm, CHECKED] |= (waits | (cycle > end)) << rank


@inlined
def end_stalls(state: Warps, sm: int, now: int) -> None:
    """Warps whose stall ends now become ready; warps to be checked stay in their entry of the wheel."""
    place = wrap(now, WHEEL)
    ended, checked = state.mask[sm, ENDS + place], state.mask[sm, CHECKED]
    state.mask[sm, READY] |= ended & ~checked
    state.mask[sm, CHECKED] = checked & ~ended
    state.mask[sm, ENDS + place] = ended & checked
    state.mask[sm, OCCUPIED] &= ~(1 << place)


@inlined
def next_checked(state: Warps, sm: int, now: int) -> int:
    """Rank of the next warp to be looked at, -1 after the last. Ranks in the wheel move where a warp retires."""
    place = ENDS + wrap(now, WHEEL)
    left = state.mask[sm, place]
    state.mask[sm, place] = left & (left - 1)
    return lowest_bit(left) if left else -1


@inlined
def next_stall_end(state: Warps, sm: int, now: int) -> int:
    """The next cycle at which the wheel holds a warp, FAR without one. ``now``'s own place is empty."""
    occupied = state.mask[sm, OCCUPIED]
    if occupied == 0:
        return FAR
    return now + 1 + lowest_bit(rotate_right(occupied, wrap(now + 1, WHEEL)))


@inlined
def set_ready(state: Warps, sm: int, warp: int) -> None:
    """The warp may issue."""
    state.mask[sm, READY] |= 1 << state.warp[sm * state.warps + warp, RANK]


@inlined
def awaited(state: Warps, here: int) -> int:
    """Pending slots that a warp waits for, as a mask."""
    return state.warp[here, PENDING] & (state.warp[here, CODE] >> op.WAIT_SHIFT)


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
    if state.warp[here, PARKED] == 0 or awaited(state, here):
        return False
    state.warp[here, PARKED] = 0
    row = row_of(state, sm, warp)
    stack_shares.end_wait(state, row, here, now, state.warp[here, STREAM])
    stack.end_wait(state, row, here, now)
    return True


@inlined
def park(state: Warps, sm: int, now: int, warp: int) -> None:
    """The warp's stall has passed, but it waits for slots."""
    here, row = sm * state.warps + warp, row_of(state, sm, warp)
    state.warp[here, PARKED] = 1
    state.mask[sm, ACTIVE] &= ~(1 << state.warp[here, RANK])
    held = awaited(state, here) & op.HELD_BIT
    reason = stack.MEMORY if held == 0 else stack.BARRIER if state.warp[here, TRACE_MASK] == -1 else stack.RT_UNIT
    stack.begin_wait(state, row, here, now, reason)


@inlined
def candidates_of(state: Warps, sm: int, lane: int) -> int:
    """The ready warps a scheduler may choose from, as a mask of ranks. lane: the scheduler's."""
    ready = state.mask[sm, READY] & lane
    if state.policy != TWO_LEVEL:
        return ready
    waiting = ready & ~state.mask[sm, ACTIVE]
    for _ in range(state.active_warps - count_bits(state.mask[sm, ACTIVE] & lane)):
        state.mask[sm, ACTIVE] |= waiting & -waiting
        waiting &= waiting - 1
    return ready & state.mask[sm, ACTIVE]


def live_warps(state: Warps, sm: int) -> np.ndarray:
    """Warps of an SM that have not retired, scheduler by scheduler in order of age."""
    rows = range(sm * state.schedulers, (sm + 1) * state.schedulers)
    held = [np.flatnonzero(state.scheduler_at == row - rows.start)[: state.members[row]] for row in rows]
    warps: np.ndarray = state.member[sm, np.concatenate(held)]
    return warps


def stats(state: Any) -> dict[str, np.ndarray]:
    """Every counter per SM; warp and thread instructions of each unit as ``issued_UNIT`` and ``threads_UNIT``."""
    threads = state.stats[:, UNIT_THREADS:]
    named = {name: state.stats[:, index] for index, name in enumerate(COUNTERS)}
    named["thread_instructions"] = threads.sum(axis=1)
    named |= {f"issued_{name}": state.stats[:, UNIT_ISSUES + index] for index, name in enumerate(UNIT_NAMES)}
    return named | {f"threads_{name}": threads[:, index] for index, name in enumerate(UNIT_NAMES)}
