"""The SM of the model ``characterised``: stalls and scoreboard slots of the trace's characterisation.

Each warp stalls for the cycles that its last instruction's row says, and waits for the slots that its next names; a
scheduler issues one ready warp whose unit is free. What a warp does is in ``sm``, which warps are ready in
``scheduler``.
"""

import numpy as np

from rayplay.replay.input import work as op
from rayplay.replay.jit.bits import FAR, compiled, count_bits, inlined, lowest_bit, lowest_bits
from rayplay.replay.lsu import unit as lsu
from rayplay.replay.lsu.state import Lsu
from rayplay.replay.memory.l1 import L1
from rayplay.replay.memory.port import Port
from rayplay.replay.rt.state import RtUnit
from rayplay.replay.sm import warps
from rayplay.replay.sm.characterised import warp as execution
from rayplay.replay.sm.ctas import Dispatch
from rayplay.replay.sm.policies import choose_warp, chooses, is_able
from rayplay.replay.unit import cycle_stack as stack
from rayplay.replay.unit import cycle_stack_streams as stack_shares


@inlined
def begin_cta(core: warps.Warps, sm: int, now: int) -> None:
    """A CTA comes into the SM."""


@inlined
def end_stalls(core: warps.Warps, ctas: Dispatch, sm: int, now: int) -> None:
    """Warps whose stall ends now become ready, or are parked until the slots they wait for are clear."""
    warps.end_stalls(core, sm, now)
    rank = warps.next_checked(core, sm, now)
    while rank >= 0:
        look_at(core, ctas, sm, now, rank)
        rank = warps.next_checked(core, sm, now)


@inlined
def look_at(core: warps.Warps, ctas: Dispatch, sm: int, now: int, rank: int) -> None:
    """A warp is back from the wheel, which may not be all that it has to wait for."""
    index = core.member[sm, rank]
    here = sm * core.warps + index
    if core.warp[here, warps.READY_AT] > now:
        warps.stall_until(core, sm, rank, now, core.warp[here, warps.READY_AT], 1)
    elif warps.awaited(core, here):
        warps.park(core, sm, now, index)
    else:
        execution.go_on(core, ctas, sm, now, index)


@inlined
def issue(
    core: warps.Warps, ctas: Dispatch, lsus: Lsu, caches: L1, rays: RtUnit, ports: Port, program: op.Program,
    work: op.Work, lane_cycles: np.ndarray, sm: int, now: int,
) -> int:  # fmt: skip
    """Each scheduler issues one ready warp whose unit is free. Returns the next cycle to try again, FAR for none."""
    issued, issuing, retry, left = 0, 0, FAR, core.mask[sm, warps.READY]
    while left:
        scheduler = core.scheduler_at[lowest_bit(left)]
        row, lane = sm * core.schedulers + scheduler, core.lane[scheduler]
        left &= ~lane
        candidates = warps.candidates_of(core, sm, lane)
        if candidates == 0:
            continue
        rank, free_at = choose(core, lsus, sm, row, lane, candidates, now)
        if rank < 0:
            retry = min(retry, free_at)
            waiting = core.mask[sm, warps.READY] & lane
            for_lsu = count_bits(waiting & core.mask[sm, warps.WANTS + op.LSU])
            stack.observe(core, row, now, count_bits(waiting) - for_lsu | for_lsu << 8)
            observe_streams(core, sm, row, now, waiting)
            continue
        stack.observe(core, row, now, 0)
        observe_streams(core, sm, row, now, 0)
        execution.issue(core, lsus, rays, program, work, lane_cycles, sm, now, row, lane, rank)
        issued += 1
        issuing |= lane
    if issued:
        core.stats[sm, warps.WARP_INSTRUCTIONS] += issued
        core.stats[sm, warps.ISSUE_CYCLES] += 1
    return now + 1 if core.mask[sm, warps.READY] & issuing else retry


@compiled
def observe_streams(core: warps.Warps, sm: int, row: int, now: int, waiting: int) -> None:
    """Note for each stream how many of a scheduler's ``waiting`` warps, a mask of ranks, are its own."""
    if core.shares.streams == 1:
        return
    left = lowest_bits(core.members[row]) << lowest_bit(core.lane[row - sm * core.schedulers])
    while left:
        stream, own, others = core.warp[sm * core.warps + core.member[sm, lowest_bit(left)], warps.STREAM], 0, 0
        while left:
            rank = lowest_bit(left)
            left &= left - 1
            here = sm * core.warps + core.member[sm, rank]
            if core.warp[here, warps.STREAM] != stream:
                others |= 1 << rank
            elif (waiting >> rank) & 1:
                own += 1 << 8 if core.warp[here, warps.CODE] & 15 == op.LSU else 1
        stack_shares.observe(core, row, now, own, stream)
        left = others


@inlined
def choose(core: warps.Warps, lsus: Lsu, sm: int, row: int, lane: int, candidates: int, now: int) -> tuple[int, int]:
    """Rank of the warp of a scheduler's ``candidates`` that issues; -1 where the units of all are busy.

    The policy's first warp is first among any subset, so that mostly one warp's unit is checked. The
    second number is the first cycle in which one of the busy units is free, or FAR.
    """
    soonest = FAR
    while candidates:
        rank = choose_warp(core, sm, row, candidates, core.mask[sm, warps.LAST] & lane)
        if chooses(core) and not is_able(candidates, rank):
            rank = lowest_bit(candidates)
        unit = core.warp[sm * core.warps + core.member[sm, rank], warps.CODE] & 15
        if core.free_at[row, unit] > now:
            soonest = min(soonest, core.free_at[row, unit])
        elif unit != op.LSU or lsu.has_room(lsus, sm):
            return rank, soonest
        candidates &= ~core.mask[sm, warps.WANTS + unit]
    return -1, soonest


@inlined
def first_event(core: warps.Warps, sm: int, now: int) -> int:
    """The next cycle after ``now`` in which a warp is ready or its stall ends, FAR without one."""
    return now + 1 if core.mask[sm, warps.READY] else warps.next_stall_end(core, sm, now)


def live_warps(core: warps.Warps) -> np.ndarray:
    """Rows of ``core.warp`` that hold a warp which has not retired."""
    return np.concatenate([sm * core.warps + warps.live_warps(core, sm) for sm in range(len(core.mask))])


@inlined
def receive_line(core: warps.Warps, sm: int, now: int, entry: int) -> None:
    """Nothing: no instruction is fetched."""


@inlined
def can_write_back(core: warps.Warps, sm: int, now: int, index: int, slot: int) -> bool:
    """Whether the result of a warp's slot may be written now: there are no register banks to wait for."""
    return True


@inlined
def atomic_taken(core: warps.Warps, sm: int, now: int, index: int, slot: int) -> None:
    """The last response of an atomic was chosen to be written: its warp waits for the slot alone."""
