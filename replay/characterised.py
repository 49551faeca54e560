"""The SM of the model ``characterised``: stalls and scoreboard slots of the trace's characterisation.

Each warp stalls for the cycles that its last instruction's row says, and waits for the slots that its next names; a
scheduler issues one ready warp whose unit is free. What a warp does is in ``sm``, which warps are ready in
``scheduler``.
"""

import numpy as np

from replay import lsu, stack
from replay import scheduler as warps
from replay import sm as execution
from replay.bits import FAR, count_bits, inlined, lowest_bit
from replay.dispatch import Dispatch
from replay.l1 import L1
from replay.lsu_state import Lsu
from replay.rt_unit_state import RtUnit
from replay.scheduler import CODE, PENDING, READY_AT, WAIT, WHEEL, Warps
from replay.work import LSU, Program, Work


@inlined
def end_stalls(core: Warps, ctas: Dispatch, sm: int, now: int) -> None:
    """Warps whose stall ends now become ready, or are parked until the slots they wait for are clear."""
    place = now & (WHEEL - 1)
    ended = core.wheel[sm, place]
    if ended == 0:
        return
    core.wheel[sm, place] = 0
    core.occupied[sm] &= ~(1 << place)
    while ended:
        index = lowest_bit(ended)
        ended &= ended - 1
        here = sm * core.warps + index
        if core.warp[here, READY_AT] > now:
            warps.stall_until(core, sm, index, now, core.warp[here, READY_AT])
        elif core.warp[here, PENDING] & core.warp[here, WAIT]:
            warps.park(core, sm, now, index)
        else:
            execution.go_on(core, ctas, sm, now, index)


@inlined
def issue(
    core: Warps, ctas: Dispatch, lsus: Lsu, caches: L1, rays: RtUnit, program: Program, work: Work,
    lane_cycles: np.ndarray, sm: int, now: int,
) -> int:  # fmt: skip
    """Each scheduler issues one ready warp whose unit is free. Returns the next cycle to try again, FAR for none."""
    state = core
    issued, retry, able = 0, FAR, core.able[sm]
    while able:
        row = sm * state.schedulers + lowest_bit(able)
        able &= able - 1
        candidates = warps.candidates_of(state, row)
        if candidates == 0:
            continue
        index, free_at = choose(core, lsus, sm, row, candidates, now)
        if index < 0:
            retry = min(retry, free_at)
            waiting, for_lsu = count_bits(state.ready[row]), count_bits(state.ready[row] & state.wants[row, LSU])
            stack.observe(state, row, now, waiting - for_lsu | for_lsu << 8)
            continue
        stack.observe(state, row, now, 0)
        execution.issue(core, ctas, lsus, rays, program, work, lane_cycles, sm, now, row, index)
        issued += 1
        if state.ready[row]:
            retry = now + 1
    if issued:
        state.stats[sm, warps.WARP_INSTRUCTIONS] += issued
        state.stats[sm, warps.ISSUE_CYCLES] += 1
    return retry


@inlined
def choose(core: Warps, lsus: Lsu, sm: int, row: int, candidates: int, now: int) -> tuple[int, int]:
    """The warp of a scheduler's ``candidates``, a mask of ranks, that issues; -1 where the units of all are busy.

    Who comes first by the policy comes first among any of them, too, so that mostly one warp's unit is looked at. The
    second number is the first cycle in which one of the busy units is free, or FAR.
    """
    soonest = FAR
    while candidates:
        index = core.member[row, warps.pick(candidates, core.last[row], core.policy)]
        unit = core.warp[sm * core.warps + index, CODE] & 15
        if core.free_at[row, unit] > now:
            soonest = min(soonest, core.free_at[row, unit])
        elif unit != LSU or lsu.has_room(lsus, sm):
            return index, soonest
        candidates &= ~core.wants[row, unit]
    return -1, soonest


@inlined
def first_event(core: Warps, sm: int, now: int) -> int:
    """The next cycle after ``now`` in which a warp is ready or its stall ends, FAR without one."""
    return now + 1 if core.able[sm] else warps.next_stall_end(core, sm, now)


def live_warps(core: Warps) -> np.ndarray:
    """Rows of ``core.warp`` that hold a warp which has not retired."""
    rows = [
        row // core.schedulers * core.warps + core.member[row, : core.members[row]] for row in range(len(core.members))
    ]
    return np.concatenate(rows)


@inlined
def can_write_back(core: Warps, sm: int, now: int, index: int, slot: int) -> bool:
    """Whether the result of a warp's slot may be written now: there are no register banks to wait for."""
    return True


@inlined
def atomic_taken(core: Warps, sm: int, now: int, index: int, slot: int) -> None:
    """The last response of an atomic was chosen to be written: its warp waits for the slot alone."""
