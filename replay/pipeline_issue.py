"""Issue of the pipelined SM: each scheduler sends one warp's next instruction into a latch.

Peak rate: one warp-instruction per cycle and scheduler. A warp may issue when its buffer holds an instruction, it does
not wait (barrier, fence, atomic, copies, rays), the scoreboard lets it pass, and the ID_OC latch of its class is free.
Policies: ``choose``; ``pipeline_pool``. Source: ``reference/accel-sim.md`` B.2.
"""

import numpy as np

from replay import rt_unit, stack
from replay.bits import compiled, inlined, lowest_bit
from replay.dispatch import MAX_CTAS
from replay.l1 import L1
from replay.pipeline_copies import await_groups, begin_copy, end_group
from replay.pipeline_fetch import next_access, show, start_visit, threads
from replay.pipeline_holds import arrive, open_barrier, open_fence, wait
from replay.pipeline_pool import choose_active
from replay.pipeline_scoreboard import reserve
from replay.pipeline_state import (
    ACTIVE_BEFORE,
    ACTIVE_SINCE,
    AGE,
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
from replay.rt_unit_state import RtUnit
from replay.scheduler import (
    BLOCK_END,
    CODE,
    CTA,
    FIRST_VISIT,
    GTO,
    INSTRUCTION,
    ISSUE_CYCLES,
    ISSUED,
    LRR,
    MASK,
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
from replay.sm import account_lanes
from replay.work import (
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


@inlined
def issue(
    core: Pipeline, caches: L1, rays: RtUnit, program: Program, work: Work, lane_cycles: np.ndarray, sm: int,
    now: int,
) -> bool:  # fmt: skip
    """One cycle of all schedulers, of which another is the first in each; whether any issues."""
    unit = core.unit
    first = (unit[sm, ACTIVE_BEFORE] + now - unit[sm, ACTIVE_SINCE]) & (core.schedulers - 1)
    issued = 0
    for turn in range(core.schedulers):
        scheduler = first + turn
        if scheduler >= core.schedulers:
            scheduler -= core.schedulers
        row = sm * core.schedulers + scheduler
        position = find(core, caches, sm, row, scheduler, now)
        if position >= 0:
            index = position * core.schedulers + scheduler
            issue_instruction(core, rays, program, work, lane_cycles, sm, now, row, scheduler, position, index)
            issued += 1
    if issued:
        core.stats[sm, WARP_INSTRUCTIONS] += issued
        core.stats[sm, ISSUE_CYCLES] += 1
    return issued > 0


@inlined
def find(core: Pipeline, caches: L1, sm: int, row: int, scheduler: int, now: int) -> int:
    """Position of the warp that a scheduler issues from, or -1."""
    if core.policy == TWO_LEVEL and core.unit[sm, CTAS]:
        return choose_active(core, caches, sm, row, scheduler, now, hindered(core, sm, row, scheduler))
    if core.unit[sm, FENCES]:
        open_fences(core, caches, sm, row, scheduler, now)
    able = core.row[row, VALID] & ~core.row[row, WAITING] & ~core.row[row, COLLIDES]
    if able == 0:
        return -1
    free = able & ~hindered(core, sm, row, scheduler)
    return choose(core, sm, row, scheduler, free) if free else -1


@inlined
def hindered(core: Pipeline, sm: int, row: int, scheduler: int) -> int:
    """Warps whose next instruction is of a class whose latch is full."""
    full, warps = (core.unit[sm, ISSUED_TO] >> scheduler) & core.classes, 0
    while full:
        warps |= core.wants[row, lowest_bit(full) >> core.shift]
        full &= full - 1
    return warps


@inlined
def choose(core: Pipeline, sm: int, row: int, scheduler: int, able: int) -> int:
    """Position of the warp to issue from, by the policy: ``able`` is a mask of positions, not 0."""
    last = core.row[row, LAST]
    if core.policy == LRR:
        later = (able >> (last + 1)) << (last + 1)
        return lowest_bit(later) if later else lowest_bit(able)
    if core.policy == GTO and last >= 0 and (able >> last) & 1:
        return last
    return oldest(core, sm, scheduler, able)


@inlined
def oldest(core: Pipeline, sm: int, scheduler: int, able: int) -> int:
    """Position of the warp that was launched first."""
    best, best_age = -1, np.int64(1) << 62
    while able:
        position = lowest_bit(able)
        able &= able - 1
        age = core.warp[sm * core.warps + position * core.schedulers + scheduler, AGE]
        if age < best_age:
            best, best_age = position, age
    return best


@inlined
def issue_instruction(
    core: Pipeline, rays: RtUnit, program: Program, work: Work, lane_cycles: np.ndarray, sm: int,
    now: int, row: int, scheduler: int, position: int, index: int,
) -> None:  # fmt: skip
    """Send a warp's next instruction into the latch of its class, and move the warp on."""
    here = sm * core.warps + index
    warp, unit = core.warp, core.unit
    code, instruction = warp[here, CODE], warp[here, INSTRUCTION]
    kind, group = (code >> KIND_SHIFT) & 15, code & 15
    latch = group * core.schedulers + scheduler
    unit[sm, ISSUED_TO] |= 1 << latch
    unit[sm, SERIAL] += 1
    core.issued[sm * LATCHES + latch, OPERATION] = unit[sm, SERIAL] << 32 | index << INSTRUCTION_BITS | instruction
    core.row[row, LAST] = position
    counter = UNIT_OF_CLASS[group]
    core.stats[sm, UNIT_ISSUES + counter] += 1
    stack.issued(core, row, now)
    warp[here, ISSUED] += 1
    if kind != PLAIN:
        core.issued[sm * LATCHES + latch, PLACE] = special(core, work, sm, row, position, here, index, now, kind)
    core.stats[sm, UNIT_THREADS + counter] += threads(core, work, here)
    count = (code >> DESTINATIONS_SHIFT) & 255
    if count:
        reserve(core, here, instruction, count)
    advance(core, rays, program, work, lane_cycles, sm, now, row, position, here, index)
    warp[here, BUFFERED] -= 1
    if warp[here, BUFFERED]:
        show(core, sm, index, here)
    else:
        core.row[row, VALID] &= ~(1 << position)
        if warp[here, ENDED] == 0:
            unit[sm, FETCH] |= 1 << index


@compiled
def special(
    core: Pipeline, work: Work, sm: int, row: int, position: int, here: int, index: int, now: int, kind: int
) -> int:
    """A barrier, a fence or an access issues: what the warp waits for from now on. Returns the access, or none."""
    groups = (core.warp[here, CODE] >> GROUPS_SHIFT) & MOST_GROUPS
    if kind == BARRIER:
        arrive(core, sm, row, position, index, here, now)
    elif kind == FENCE:
        wait(core, row, position, here, now, stack.MEMORY)
        core.unit[sm, FENCES] |= 1 << index
    elif kind == COMMIT:
        end_group(core, sm, here)
    elif kind == AWAIT:
        await_groups(core, row, position, here, now, groups)
    else:
        access = next_access(core, work, here)
        if access != NO_ACCESS and kind in (ATOMIC, REDUCTION):
            wait(core, row, position, here, now, stack.MEMORY)
        elif access != NO_ACCESS and groups:
            begin_copy(core, here)
        return access
    return NO_ACCESS


@compiled
def open_fences(core: Pipeline, caches: L1, sm: int, row: int, scheduler: int, now: int) -> None:
    """Warps at a fence go on when all their registers are written and the scheduler looks at them: the L1 is emptied.

    In turn (LRR) it looks at the warps up to the one that it issues from; other policies look at all.
    """
    fences, written = core.unit[sm, FENCES], 0
    while fences:
        index = lowest_bit(fences)
        fences &= fences - 1
        if index & (core.schedulers - 1) == scheduler and core.warp[sm * core.warps + index, WRITES] == 0:
            written |= 1 << (index >> core.shift)
    if core.policy == LRR:
        able = core.row[row, VALID] & ~(core.row[row, WAITING] & ~written) & ~core.row[row, COLLIDES]
        able &= ~hindered(core, sm, row, scheduler)
        if able:
            last, position = core.row[row, LAST], choose(core, sm, row, scheduler, able)
            before = (2 << position) - 1
            passed = (1 << (last + 1)) - 1
            written &= before & ~passed if position > last else before | ~passed
    while written:
        index = lowest_bit(written) * core.schedulers + scheduler
        written &= written - 1
        open_fence(core, caches, sm, index, now)


@inlined
def advance(
    core: Pipeline, rays: RtUnit, program: Program, work: Work, lane_cycles: np.ndarray, sm: int,
    now: int, row: int, position: int, here: int, index: int,
) -> None:  # fmt: skip
    """Go to the warp's next instruction; after a visit's last, its rays go to the RT unit and the warp waits."""
    warp = core.warp
    warp[here, INSTRUCTION] += 1
    if warp[here, INSTRUCTION] < warp[here, BLOCK_END]:
        return
    account_lanes(core, lane_cycles, here, now, warp[here, MASK])
    trace, visit = warp[here, TRACE], warp[here, VISIT] - warp[here, FIRST_VISIT]
    if trace < warp[here, TRACE_END] and work.trace_visit[trace] == visit:
        wait(core, row, position, here, now, stack.RT_UNIT)
        warp[here, TRACE_MASK] = warp[here, MASK]
        rt_unit.enqueue(rays, sm, now + 1, index, trace)
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
    core.row[sm * core.schedulers + (index & (core.schedulers - 1)), ON_MEMORY] |= 1 << (index >> core.shift)
    at = sm * MAX_CTAS + warp[here, CTA]
    core.barrier[at, 0] &= ~(1 << index)
    if core.barrier[at, 0] and core.barrier[at, 1] == core.barrier[at, 0]:
        open_barrier(core, sm, at, now)
