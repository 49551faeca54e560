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
from replay.scheduler import PENDING, READY_AT, WAIT, WHEEL, Warps
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
        candidates, last = warps.candidates_of(state, row), state.last[row]
        if candidates == 0:
            continue
        candidates &= ~warps.held_back(state, row, now)
        if candidates & state.wants[row, LSU] and not lsu.has_room(lsus, sm):
            candidates &= ~state.wants[row, LSU]
        if candidates == 0:
            retry = min(retry, warps.first_free(state, row, now))
            waiting, for_lsu = count_bits(state.ready[row]), count_bits(state.ready[row] & state.wants[row, LSU])
            stack.observe(state, row, now, waiting - for_lsu | for_lsu << 8)
            continue
        stack.observe(state, row, now, 0)
        last_rank = state.warp[sm * state.warps + last, warps.RANK] if last >= 0 else -1
        index = state.member[row, warps.pick(candidates, last_rank, state.policy)]
        execution.issue(core, ctas, lsus, rays, program, work, lane_cycles, sm, now, index)
        issued += 1
        if state.ready[row]:
            retry = now + 1
    if issued:
        state.stats[sm, warps.WARP_INSTRUCTIONS] += issued
        state.stats[sm, warps.ISSUE_CYCLES] += 1
    return retry


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
