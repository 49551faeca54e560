"""Issue of the pipelined SM: each scheduler sends one warp's next instruction into a latch.

Peak rate: one warp-instruction per cycle and scheduler. A warp may issue when its buffer holds an instruction, it does
not wait (barrier, fence, atomic, copies, rays), the scoreboard lets it pass, and the ID_OC latch of its class is free.
Policies: ``pipeline_policy``, ``pipeline_pool``. Source: ``docs/sources/accel-sim.md#schedulers, #scoreboard``.
"""

import numpy as np

from rayplay.replay.input.work import (
    ATOMIC,
    AWAIT,
    BARRIER,
    COMMIT,
    DESTINATIONS_SHIFT,
    FENCE,
    GROUPS_SHIFT,
    KIND_SHIFT,
    MOST_GROUPS,
    NO_ACCESS,
    PLAIN,
    REDUCTION,
    Program,
    Work,
)  # fmt: skip
from rayplay.replay.jit.bits import compiled, count_bits, fold, inlined, lowest_bit
from rayplay.replay.memory.l1 import L1
from rayplay.replay.rt import entry as rt_unit_entry
from rayplay.replay.rt.state import RtUnit
from rayplay.replay.sm.characterised.warp import account_lanes
from rayplay.replay.sm.ctas import MAX_CTAS
from rayplay.replay.sm.pipeline.async_copies import await_groups, begin_copy, end_group
from rayplay.replay.sm.pipeline.fetch import next_access, reveal, show, start_visit, threads
from rayplay.replay.sm.pipeline.scoreboard import reserve
from rayplay.replay.sm.pipeline.state import (
    ACTIVE_BEFORE,
    ACTIVE_SINCE,
    BUFFERED,
    COLLIDES,
    CTAS,
    ENDED,
    FENCES,
    FETCH,
    INSTRUCTION_BITS,
    ISSUED_TO,
    LAST,
    LATCHES,
    ON_MEMORY,
    OPERATION,
    PLACE,
    SERIAL,
    UNIT_OF_CLASS,
    VALID,
    WAITING,
    WRITES,
    Pipeline,
)  # fmt: skip
from rayplay.replay.sm.pipeline.two_level import choose_active
from rayplay.replay.sm.pipeline.waiting import arrive, open_barrier, open_fence, wait
from rayplay.replay.sm.policies import choose, first_in_turn, in_turn
from rayplay.replay.sm.warps import (
    BLOCK_END,
    CODE,
    CTA,
    FIRST_VISIT,
    INSTRUCTION,
    ISSUE_CYCLES,
    ISSUED,
    MASK,
    STREAM,
    TRACE,
    TRACE_END,
    TRACE_MASK,
    TWO_LEVEL,
    UNIT_ISSUES,
    UNIT_THREADS,
    VISIT,
    VISIT_END,
    WARP_INSTRUCTIONS,
)  # fmt: skip
from rayplay.replay.unit import cycle_stack as stack
from rayplay.replay.unit import cycle_stack_streams as stack_shares
from rayplay.replay.unit.streams import count_for


@inlined
def issue(
    core: Pipeline, caches: L1, rays: RtUnit, program: Program, work: Work, lane_cycles: np.ndarray, sm: int,
    now: int,
) -> bool:  # fmt: skip
    """One cycle of all schedulers, of which another is the first in each; whether any issues."""
    unit, issued, refused = core.unit, 0, hindered(core, sm)
    first = (unit[sm, ACTIVE_BEFORE] + now - unit[sm, ACTIVE_SINCE]) & (core.schedulers - 1)
    each = core.policy == TWO_LEVEL or unit[sm, FENCES] != 0  # what a scheduler sees when it looks may then change
    free = able_warps(core, sm) & ~refused
    turns = (1 << core.schedulers) - 1 if each else turns_of(core, free, first)
    while turns:
        turn = lowest_bit(turns)
        scheduler = (first + turn) & (core.schedulers - 1)
        row = sm * core.schedulers + scheduler
        if each:
            index = look(core, caches, sm, row, scheduler, now, refused)
        else:
            index = choose(core, sm, row, free & (core.every << scheduler))
        if index >= 0:
            issue_instruction(core, rays, program, work, lane_cycles, sm, now, row, scheduler, index)
            issued += 1
        turns &= turns - 1
        woken = able_warps(core, sm) & ~refused & ~free
        if woken:  # a barrier has opened
            free |= woken
            turns |= turns_of(core, woken, first) & (-2 << turn)
    if issued:
        core.stats[sm, WARP_INSTRUCTIONS] += issued
        core.stats[sm, ISSUE_CYCLES] += 1
    return issued > 0


@inlined
def able_warps(core: Pipeline, sm: int) -> int:
    """Warps that may issue as far as they themselves go, bit = warp."""
    return core.unit[sm, VALID] & ~core.unit[sm, WAITING] & ~core.unit[sm, COLLIDES]


@inlined
def turns_of(core: Pipeline, warps: int, first: int) -> int:
    """The turns of those schedulers, from the ``first`` one on, that have any of some warps: bit = turn."""
    having = fold(warps, core.schedulers)
    return (having << core.schedulers | having) >> first & ((1 << core.schedulers) - 1)


@compiled
def look(core: Pipeline, caches: L1, sm: int, row: int, scheduler: int, now: int, refused: int) -> int:
    """The warp that a scheduler issues from, or -1, with all that happens to warps because it looks at them."""
    if core.policy == TWO_LEVEL and core.unit[sm, CTAS]:
        return choose_active(core, caches, sm, row, scheduler, now, refused)
    if core.unit[sm, FENCES]:
        open_fences(core, caches, sm, row, scheduler, now, refused)
    free = able_warps(core, sm) & ~refused & (core.every << scheduler)
    return choose(core, sm, row, free) if free else -1


@inlined
def hindered(core: Pipeline, sm: int) -> int:
    """Warps whose next instruction is of a class whose latch of their scheduler is full."""
    full, warps = core.unit[sm, ISSUED_TO], 0
    while full:
        latch = lowest_bit(full)
        full &= full - 1
        warps |= core.wants[sm, latch >> core.shift] & (core.every << (latch & (core.schedulers - 1)))
    return warps


@inlined
def issue_instruction(
    core: Pipeline, rays: RtUnit, program: Program, work: Work, lane_cycles: np.ndarray, sm: int,
    now: int, row: int, scheduler: int, index: int,
) -> None:  # fmt: skip
    """Send a warp's next instruction into the latch of its class, and move the warp on."""
    here = sm * core.warps + index
    warp, unit = core.warp, core.unit
    code, instruction = warp[here, CODE], warp[here, INSTRUCTION]
    kind, group = (code >> KIND_SHIFT) & 15, code & 15
    latch = group * core.schedulers + scheduler
    before = count_bits(unit[sm, ISSUED_TO] >> (group * core.schedulers) & ((1 << core.schedulers) - 1))
    core.order[sm, group] = core.order[sm, group] | scheduler << 2 * before
    unit[sm, ISSUED_TO] |= 1 << latch
    unit[sm, SERIAL] += 1
    core.issued[sm * LATCHES + latch, OPERATION] = unit[sm, SERIAL] << 32 | index << INSTRUCTION_BITS | instruction
    core.row[row, LAST] = index
    counter = UNIT_OF_CLASS[group]
    count_for(core, sm, warp[here, STREAM])
    core.stats[sm, UNIT_ISSUES + counter] += 1
    stack.issued(core, row, now)
    stack_shares.issued(core, row, warp[here, STREAM])
    warp[here, ISSUED] += 1
    if kind != PLAIN:
        core.issued[sm * LATCHES + latch, PLACE] = special(core, work, sm, row, here, index, now, kind)
    core.stats[sm, UNIT_THREADS + counter] += threads(core, work, here)
    count = (code >> DESTINATIONS_SHIFT) & 255
    if count:
        reserve(core, here, instruction, count)
    advance(core, rays, program, work, lane_cycles, sm, now, row, here, index)
    warp[here, BUFFERED] -= 1
    if warp[here, ENDED]:
        unit[sm, VALID] &= ~(1 << index)
    else:
        is_there = warp[here, BUFFERED] != 0
        show(core, sm, index, here)
        reveal(core, sm, index, here, is_there)
        unit[sm, FETCH] |= (not is_there) << index


@compiled
def special(core: Pipeline, work: Work, sm: int, row: int, here: int, index: int, now: int, kind: int) -> int:
    """A barrier, a fence or an access issues: what the warp waits for from now on. Returns the access, or none."""
    groups = (core.warp[here, CODE] >> GROUPS_SHIFT) & MOST_GROUPS
    if kind == BARRIER:
        arrive(core, sm, row, index, here, now)
    elif kind == FENCE:
        wait(core, sm, row, index, here, now, stack.MEMORY)
        core.unit[sm, FENCES] |= 1 << index
    elif kind == COMMIT:
        end_group(core, sm, here)
    elif kind == AWAIT:
        await_groups(core, sm, row, index, here, now, groups)
    else:
        access = next_access(core, work, here)
        if access != NO_ACCESS and kind in (ATOMIC, REDUCTION):
            wait(core, sm, row, index, here, now, stack.MEMORY)
        elif access != NO_ACCESS and groups:
            begin_copy(core, here)
        return access
    return NO_ACCESS


@compiled
def open_fences(core: Pipeline, caches: L1, sm: int, row: int, scheduler: int, now: int, refused: int) -> None:
    """Warps at a fence go on when all their registers are written and the scheduler looks at them: the L1 is emptied.

    In turn it looks at the warps up to the one that it issues from; other policies look at all.
    """
    fences, written = core.unit[sm, FENCES], 0
    while fences:
        index = lowest_bit(fences)
        fences &= fences - 1
        if index & (core.schedulers - 1) == scheduler and core.warp[sm * core.warps + index, WRITES] == 0:
            written |= 1 << index
    if in_turn(core):
        able = core.unit[sm, VALID] & ~(core.unit[sm, WAITING] & ~written) & ~core.unit[sm, COLLIDES]
        able &= (core.every << scheduler) & ~refused
        if able:
            first, chosen = first_in_turn(core, row), choose(core, sm, row, able)
            before = (2 << chosen) - 1
            passed = (1 << first) - 1
            written &= before & ~passed if chosen >= first else before | ~passed
    while written:
        index = lowest_bit(written)
        written &= written - 1
        open_fence(core, caches, sm, index, now)


@inlined
def advance(
    core: Pipeline, rays: RtUnit, program: Program, work: Work, lane_cycles: np.ndarray, sm: int,
    now: int, row: int, here: int, index: int,
) -> None:  # fmt: skip
    """Go to the warp's next instruction; after a visit's last, its rays go to the RT unit and the warp waits."""
    warp = core.warp
    warp[here, INSTRUCTION] += 1
    if warp[here, INSTRUCTION] < warp[here, BLOCK_END]:
        return
    account_lanes(core, lane_cycles, here, now, warp[here, MASK])
    trace, visit = warp[here, TRACE], warp[here, VISIT] - warp[here, FIRST_VISIT]
    if trace < warp[here, TRACE_END] and work.trace_visit[trace] == visit:
        wait(core, sm, row, index, here, now, stack.RT_UNIT)
        warp[here, TRACE_MASK] = warp[here, MASK]
        rt_unit_entry.enqueue(rays, sm, now + 1, index, trace, warp[here, STREAM])
        warp[here, TRACE] = trace + 1
    warp[here, VISIT] += 1
    if warp[here, VISIT] < warp[here, VISIT_END]:
        start_visit(core, program, work, here)
    else:
        end(core, sm, index, here, now)


@compiled
def end(core: Pipeline, sm: int, index: int, here: int, now: int) -> None:
    """A warp's last instruction issues: no barrier waits for the warp any more."""
    warp = core.warp
    warp[here, ENDED] = 1
    core.unit[sm, ON_MEMORY] |= 1 << index
    at = sm * MAX_CTAS + warp[here, CTA]
    core.barrier[at, 0] &= ~(1 << index)
    if core.barrier[at, 0] and core.barrier[at, 1] == core.barrier[at, 0]:
        open_barrier(core, sm, at, now)
