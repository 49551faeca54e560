"""Life of a warp of the model ``characterised``: it begins, issues, waits at barriers, and retires."""

import numpy as np

from rayplay.replay.input import work as op
from rayplay.replay.jit.bits import compiled, inlined, lowest_bit
from rayplay.replay.lsu import entry as lsu_entry
from rayplay.replay.lsu.state import Lsu
from rayplay.replay.rt.state import RtUnit
from rayplay.replay.sm import barrier, visit, warps
from rayplay.replay.sm.ctas import Dispatch
from rayplay.replay.sm.rays import end_visit
from rayplay.replay.sm.warps import Warps
from rayplay.replay.unit import cycle_stack as stack
from rayplay.replay.unit import cycle_stack_streams as stack_shares
from rayplay.replay.unit.streams import count_for


@inlined
def begin(core: Warps, program: op.Program, work: op.Work, sm: int, now: int, index: int) -> None:
    """A warp is in its slot: it is the youngest of its scheduler, and may issue in this cycle."""
    show(core, program, sm * core.warps + index)
    warps.join(core, sm, now, index)
    warps.set_ready(core, sm, index)


@inlined
def show(core: Warps, program: op.Program, here: int) -> None:
    """Note what a warp's next instruction needs; at its end it waits for all slots."""
    warp = core.warp
    if warp[here, warps.INSTRUCTION] < 0:
        warp[here, warps.CODE] = op.ALL_SLOTS << op.WAIT_SHIFT
    else:
        warp[here, warps.CODE] = program.code[warp[here, warps.INSTRUCTION]]


@inlined
def go_on(core: Warps, ctas: Dispatch, sm: int, now: int, index: int) -> None:
    """A warp has nothing left to wait for: it may issue, or retires when it has finished."""
    if core.warp[sm * core.warps + index, warps.INSTRUCTION] >= 0:
        warps.set_ready(core, sm, index)
    else:
        retire(core, ctas, sm, now, index)


@compiled
def release(core: Warps, ctas: Dispatch, sm: int, now: int, index: int, slot: int) -> None:
    """A result of a warp's slot has come."""
    if warps.release(core, sm, now, index, slot):
        go_on(core, ctas, sm, now, index)


@compiled
def retire(core: Warps, ctas: Dispatch, sm: int, now: int, index: int) -> None:
    """A warp leaves its scheduler and the SM; a barrier may open without it."""
    warps.leave(core, sm, now, index)
    pass_barrier(core, sm, now, barrier.leave(core, sm, index))
    visit.retire(core, ctas, sm, now, sm * core.warps + index)


@compiled
def arrive(core: Warps, sm: int, now: int, index: int) -> None:
    """A warp reaches a barrier: it is held until the barrier opens."""
    warps.hold(core, sm, index, op.HELD_SLOT, 1)
    core.warp[sm * core.warps + index, warps.TRACE_MASK] = -1
    pass_barrier(core, sm, now, barrier.arrive(core, sm, index))


@inlined
def pass_barrier(core: Warps, sm: int, now: int, arrived: int) -> None:
    """The warps of a mask pass their barrier; they issue from the next cycle on.

    They come back through the wheel and not by ``go_on``: machine code that calls itself through other functions
    cannot be loaded from numba's cache.
    """
    while arrived:
        index = lowest_bit(arrived)
        arrived &= arrived - 1
        here = sm * core.warps + index
        core.warp[here, warps.TRACE_MASK] = 0
        core.warp[here, warps.READY_AT] = max(
            core.warp[here, warps.READY_AT], now + 1
        )  # of one not looked at in this cycle
        if warps.release(core, sm, now, index, op.HELD_SLOT):
            warps.stall_until(core, sm, core.warp[here, warps.RANK], now, now + 1, 1)


@inlined
def issue(
    core: Warps, lsus: Lsu, rays: RtUnit, program: op.Program, work: op.Work, lane_cycles: np.ndarray,
    sm: int, now: int, scheduler: int, lane: int, rank: int,
) -> None:  # fmt: skip
    """Issue the next instruction of a scheduler's warp: start its work in its unit, stall the warp, and move it on."""
    index, bit, warp = core.member[sm, rank], 1 << rank, core.warp
    here = sm * core.warps + index
    code = warp[here, warps.CODE]
    kind = (code >> op.KIND_SHIFT) & 15
    if kind == op.BARRIER:
        arrive(core, sm, now, index)
    elif kind != op.PLAIN:
        issue_memory(core, lsus, work, sm, now, index, kind, (code >> op.SLOT_SHIFT) & 15)
    warp[here, warps.ISSUED] += 1
    unit = code & 15
    core.free_at[scheduler, unit] = now + ((code >> op.INITIATION_SHIFT) & 0xFFFF)
    core.mask[sm, warps.READY] &= ~bit
    core.mask[sm, warps.LAST] = core.mask[sm, warps.LAST] & ~lane | bit
    count_for(core, sm, warp[here, warps.STREAM])
    core.stats[sm, warps.UNIT_ISSUES + unit] += 1
    core.stats[sm, warps.UNIT_THREADS + unit] += warp[here, warps.THREADS]
    stack.issued(core, scheduler, now)
    stack_shares.issued(core, scheduler, warp[here, warps.STREAM])
    if warp[here, warps.INSTRUCTION] + 1 < warp[here, warps.BLOCK_END]:
        warp[here, warps.INSTRUCTION] += 1
        warp[here, warps.CODE] = program.code[warp[here, warps.INSTRUCTION]]
    else:
        if end_visit(core, rays, work, lane_cycles, sm, now, index, here):
            warps.hold(core, sm, index, op.HELD_SLOT, 1)
        visit.start(core, program, work, here)
        show(core, program, here)
        finished = warp[here, warps.INSTRUCTION] < 0
        core.mask[sm, warps.CHECKED] |= finished << rank  # when its stall ends it may retire
    next_unit = warp[here, warps.CODE] & 15
    core.mask[sm, warps.WANTS + unit] &= ~bit  # mostly the units differ: asking whether they do takes longer
    core.mask[sm, warps.WANTS + next_unit] |= bit
    warp[here, warps.READY_AT] = now + ((code >> op.STALL_SHIFT) & 0xFFFF)
    warps.stall_until(core, sm, rank, now, warp[here, warps.READY_AT], warps.awaited(core, here) != 0)


@inlined
def issue_memory(core: Warps, lsus: Lsu, work: op.Work, sm: int, now: int, index: int, kind: int, slot: int) -> None:
    """Send a memory instruction's access, if any lane made one, to the LSU and hold its scoreboard slot."""
    here = sm * core.warps + index
    if not visit.has_access(core, work, here):
        return
    access = core.warp[here, warps.ACCESS]
    core.warp[here, warps.ACCESS] = access + 1
    if slot < op.NO_SLOT:
        warps.hold(core, sm, index, slot, 1)
    if kind == op.STORE and not (lsus.perfect or op.is_shared(work, access)):
        sectors = work.access_first[access + 1] - work.access_first[access]
        warps.hold(core, sm, index, op.STORES_SLOT, sectors)
    lsu_entry.enqueue(lsus, work, sm, now, index, kind, slot, access, core.warp[here, warps.STREAM])
