"""Issue of the pipelined SM: each scheduler sends one warp's next instruction into a latch.

Peak rate: ``issues`` instructions of one warp per cycle and scheduler. A warp may issue when its buffer holds an
instruction, it does not wait (barrier, fence, atomic, copies, rays), the scoreboard lets it pass, and an ID_OC latch of
its class is free.
Policies: ``policies``, ``two_level``. Source: ``docs/sources/accel-sim.md#schedulers, #scoreboard, #two-issues``.
"""

import numpy as np

from rayplay.replay.input import work as op
from rayplay.replay.jit.bits import compiled, count_bits, fold, inlined, lowest_bit
from rayplay.replay.jit.hooks import hook
from rayplay.replay.memory.l1 import L1
from rayplay.replay.rt.state import RtUnit
from rayplay.replay.sm import barrier, policies, visit, warps
from rayplay.replay.sm.pipeline import state as pipe
from rayplay.replay.sm.pipeline.async_copies import await_groups, begin_copy, end_group
from rayplay.replay.sm.pipeline.collector import free_latch
from rayplay.replay.sm.pipeline.fetch import next_access, reveal, show, threads
from rayplay.replay.sm.pipeline.scoreboard import mark_long, reserve
from rayplay.replay.sm.pipeline.two_level import choose_active
from rayplay.replay.sm.pipeline.two_level import turn as turn_pool
from rayplay.replay.sm.pipeline.waiting import arrive, open_fence, pass_barrier, pass_fence, wait
from rayplay.replay.sm.rays import end_visit
from rayplay.replay.unit import cycle_stack as stack
from rayplay.replay.unit import cycle_stack_streams as stack_shares
from rayplay.replay.unit.streams import count_for


@inlined
def issue(
    core: pipe.Pipeline, caches: L1, rays: RtUnit, program: op.Program, work: op.Work, lane_cycles: np.ndarray, sm: int,
    now: int,
) -> bool:  # fmt: skip
    """One cycle of all schedulers, of which another is the first in each; whether any issues."""
    unit, issued, refused = core.unit, 0, hindered(core, sm)
    first = (unit[sm, pipe.ACTIVE_BEFORE] + now - unit[sm, pipe.ACTIVE_SINCE]) & (core.schedulers - 1)
    each = (
        core.policy == policies.TWO_LEVEL or unit[sm, pipe.FENCES] != 0 or not core.sub_cores
    )  # what a scheduler sees when it looks may then change
    free = able_warps(core, sm) & ~refused
    turns = (1 << core.schedulers) - 1 if each else turns_of(core, free, first)
    while turns:
        turn = lowest_bit(turns)
        scheduler = (first + turn) & (core.schedulers - 1)
        row = sm * core.schedulers + scheduler
        if not core.sub_cores:
            refused = hindered(core, sm)
        if each:
            index = look(core, caches, sm, row, scheduler, now, refused)
        else:
            index = choose(core, sm, row, free & pipe.warps_of(core, scheduler))
        if index >= 0:
            stack.issued(core, row, now)
            stack_shares.issued(core, row, core.warp[sm * core.warps + index, warps.STREAM])
            kind = core.warp[sm * core.warps + index, pipe.CLASS]
            issue_instruction(core, rays, program, work, lane_cycles, sm, now, row, scheduler, index)
            issued += 1
            if core.issues > 1 and may_follow(core, caches, sm, now, scheduler, index, kind):
                issue_instruction(core, rays, program, work, lane_cycles, sm, now, row, scheduler, index)
                issued += 1
                if core.policy == policies.TWO_LEVEL:
                    turn_pool(core, row, core.row[row, pipe.TURN])
        turns &= turns - 1
        woken = able_warps(core, sm) & ~refused & ~free
        if woken:  # a barrier has opened
            free |= woken
            turns |= turns_of(core, woken, first) & (-2 << turn)
    if issued:
        core.stats[sm, warps.WARP_INSTRUCTIONS] += issued
        core.stats[sm, warps.ISSUE_CYCLES] += 1
    return issued > 0


@inlined
def able_warps(core: pipe.Pipeline, sm: int) -> int:
    """Warps that may issue as far as they themselves go, bit = warp."""
    return core.unit[sm, pipe.VALID] & ~core.unit[sm, pipe.WAITING] & ~core.unit[sm, pipe.COLLIDES]


@compiled
def may_follow(core: pipe.Pipeline, caches: L1, sm: int, now: int, scheduler: int, index: int, kind: int) -> bool:
    """Whether a warp that has issued to a class may issue once more in this cycle, right behind a fence as well."""
    pass_fence(core, caches, sm, index, now)
    following = core.warp[sm * core.warps + index, pipe.CLASS]
    if (able_warps(core, sm) >> index) & 1 == 0:
        return False
    if core.different_units and unit_kind(following) == unit_kind(kind):
        return False
    return free_latch(core, core.unit[sm, pipe.ISSUED_TO], following * core.schedulers + scheduler) >= 0


@inlined
def unit_kind(group: int) -> int:
    """The kind of a class's units: branch, texture, tensor and uniform are one, as Accel-Sim's specialised units."""
    return pipe.BRANCH if pipe.BRANCH <= group <= pipe.UNIFORM else group


@inlined
def turns_of(core: pipe.Pipeline, some: int, first: int) -> int:
    """The turns of those schedulers, from the ``first`` one on, that have any of some warps: bit = turn."""
    having = fold(some, core.schedulers)
    return (having << core.schedulers | having) >> first & ((1 << core.schedulers) - 1)


@compiled
def look(core: pipe.Pipeline, caches: L1, sm: int, row: int, scheduler: int, now: int, refused: int) -> int:
    """The warp that a scheduler issues from, or -1, with all that happens to warps because it looks at them."""
    if core.policy == policies.TWO_LEVEL and core.unit[sm, pipe.CTAS]:
        return choose_active(core, caches, sm, row, scheduler, now, refused)
    if core.unit[sm, pipe.FENCES]:
        open_fences(core, caches, sm, row, scheduler, now, refused)
    free = able_warps(core, sm) & ~refused & pipe.warps_of(core, scheduler)
    return choose(core, sm, row, free) if free else -1


@inlined
def choose(core: pipe.Pipeline, sm: int, row: int, able: int) -> int:
    """The warp to issue from, or -1: ``able`` is a mask of some of the scheduler's, not 0."""
    bit = choose_warp(core, sm, row, able, core.row[row, pipe.LAST])
    return lowest_bit(able) if policies.chooses(core) and not policies.is_able(able, bit) else bit


@hook("sm.choose_warp")
def choose_warp(core: pipe.Pipeline, sm: int, row: int, able: int, last: int) -> int:
    """As ``policies.choose_warp``; -1 where the policy wants a warp that is not able."""
    if core.policy == policies.RRR:
        index = policies.pick(core.policy, standing(core, sm, row), last)
        return index if (able >> index) & 1 else -1
    if core.policy == policies.LIMITED:
        able = limited(core, sm, row, able)
        if able == 0:
            return -1
    if policies.in_turn(core.policy) or policies.preferred(core.policy, able, last):
        return policies.pick(core.policy, able, last)
    return by_age(core, sm, able, -1 if policies.youngest_first(core.policy) else 1)


@inlined
def standing(core: pipe.Pipeline, sm: int, row: int) -> int:
    """Warps of a scheduler that wait for nothing besides registers, instructions and latches, bit = warp."""
    unit = core.unit
    found = unit[sm, pipe.LIVE] & ~unit[sm, pipe.WAITING] & ~unit[sm, pipe.ENDED_WARPS]
    return int(found & pipe.warps_of(core, row & (core.schedulers - 1)))


@compiled
def limited(core: pipe.Pipeline, sm: int, row: int, able: int) -> int:
    """Of some warps those among the ``active_warps`` oldest that stand, and the one that issued last."""
    left, found = standing(core, sm, row), able & core.row[row, pipe.LAST]
    for _ in range(core.active_warps):
        if left:
            bit = 1 << by_age(core, sm, left, 1)
            left &= ~bit
            found |= able & bit
    return int(found)


@inlined
def by_age(core: pipe.Pipeline, sm: int, able: int, sign: int) -> int:
    """The warp that was launched first, for a sign of -1 last."""
    best, best_age = -1, np.int64(1) << 62
    while able:
        index = lowest_bit(able)
        able &= able - 1
        age = sign * core.warp[sm * core.warps + index, pipe.AGE]
        if age < best_age:
            best, best_age = index, age
    return best


@inlined
def hindered(core: pipe.Pipeline, sm: int) -> int:
    """Warps whose next instruction is of a class without a free latch that their scheduler may use."""
    full, found, all_of_class = core.unit[sm, pipe.ISSUED_TO], 0, (1 << core.schedulers) - 1
    while full:
        latch = lowest_bit(full)
        first = latch & ~(core.schedulers - 1)
        if core.sub_cores:
            found |= core.wants[sm, latch >> core.shift] & pipe.warps_of(core, latch - first)
        elif (full >> first) & all_of_class == all_of_class:
            found |= core.wants[sm, latch >> core.shift]
        full &= full - 1 if core.sub_cores else ~(all_of_class << first)
    return found


@inlined
def issue_instruction(
    core: pipe.Pipeline, rays: RtUnit, program: op.Program, work: op.Work, lane_cycles: np.ndarray, sm: int,
    now: int, row: int, scheduler: int, index: int,
) -> None:  # fmt: skip
    """Send a warp's next instruction into the latch of its class, and move the warp on."""
    here = sm * core.warps + index
    warp, unit = core.warp, core.unit
    code, instruction = warp[here, warps.CODE], warp[here, warps.INSTRUCTION]
    kind, group = (code >> op.KIND_SHIFT) & 15, code & 15
    latch = free_latch(core, unit[sm, pipe.ISSUED_TO], group * core.schedulers + scheduler)
    before = count_bits(unit[sm, pipe.ISSUED_TO] >> (group * core.schedulers) & ((1 << core.schedulers) - 1))
    core.order[sm, group] = core.order[sm, group] | (latch & (core.schedulers - 1)) << 2 * before
    unit[sm, pipe.ISSUED_TO] |= 1 << latch
    unit[sm, pipe.SERIAL] += 1
    core.issued[sm * pipe.LATCHES + latch, pipe.OPERATION] = (
        unit[sm, pipe.SERIAL] << 32 | index << pipe.INSTRUCTION_BITS | instruction
    )
    core.row[row, pipe.LAST] = 1 << index
    counter = pipe.UNIT_OF_CLASS[group]
    count_for(core, sm, warp[here, warps.STREAM])
    core.stats[sm, warps.UNIT_ISSUES + counter] += 1
    warp[here, warps.ISSUED] += 1
    access = op.NO_ACCESS
    if kind != op.PLAIN:
        access = special(core, work, sm, row, here, index, now, kind)
        core.issued[sm * pipe.LATCHES + latch, pipe.PLACE] = access
    core.stats[sm, warps.UNIT_THREADS + counter] += threads(core, work, here)
    count = (code >> op.DESTINATIONS_SHIFT) & 255
    if count:
        reserve(core, here, instruction, count)
        if is_long(work, code, kind, access):
            mark_long(core, here, instruction, True)
    advance(core, rays, program, work, lane_cycles, sm, now, row, here, index)
    warp[here, pipe.BUFFERED] -= 1
    if warp[here, pipe.ENDED]:
        unit[sm, pipe.VALID] &= ~(1 << index)
    else:
        is_there = warp[here, pipe.BUFFERED] != 0
        show(core, sm, index, here)
        reveal(core, sm, index, here, is_there)
        unit[sm, pipe.FETCH] |= (not is_there) << index


@inlined
def is_long(work: op.Work, code: int, kind: int, access: int) -> bool:
    """Whether an instruction is a load from memory, not from shared memory."""
    if kind not in (op.LOAD, op.LOAD_BYPASS, op.ATOMIC, op.TEXTURE) or (code >> op.SHARED_SHIFT) & 1:
        return False
    return access < 0 or not op.is_shared(work, access)


@compiled
def special(core: pipe.Pipeline, work: op.Work, sm: int, row: int, here: int, index: int, now: int, kind: int) -> int:
    """A barrier, a fence or an access issues: what the warp waits for from now on. Returns the access, or none."""
    groups = (core.warp[here, warps.CODE] >> op.GROUPS_SHIFT) & op.MOST_GROUPS
    if kind == op.BARRIER:
        arrive(core, sm, row, index, here, now)
    elif kind == op.FENCE:
        wait(core, sm, row, index, here, now, stack.MEMORY)
        core.unit[sm, pipe.FENCES] |= 1 << index
    elif kind == op.COMMIT:
        end_group(core, sm, here)
    elif kind == op.AWAIT:
        await_groups(core, sm, row, index, here, now, groups)
    else:
        access = next_access(core, work, here)
        if access != op.NO_ACCESS and kind in (op.ATOMIC, op.REDUCTION):
            wait(core, sm, row, index, here, now, stack.MEMORY)
        elif access != op.NO_ACCESS and groups:
            begin_copy(core, here)
        return access
    return op.NO_ACCESS


@compiled
def open_fences(core: pipe.Pipeline, caches: L1, sm: int, row: int, scheduler: int, now: int, refused: int) -> None:
    """Warps at a fence go on when all their registers are written and the scheduler looks at them: the L1 is emptied.

    In turn it looks at the warps up to the one that it issues from; other policies look at all.
    """
    fences, written = core.unit[sm, pipe.FENCES], 0
    while fences:
        index = lowest_bit(fences)
        fences &= fences - 1
        if index & (core.schedulers - 1) == scheduler and core.warp[sm * core.warps + index, pipe.WRITES] == 0:
            written |= 1 << index
    if policies.in_turn(core.policy):
        able = core.unit[sm, pipe.VALID] & ~core.unit[sm, pipe.COLLIDES] & ~refused
        if core.policy == policies.RRR:
            able = core.unit[sm, pipe.LIVE] & ~core.unit[sm, pipe.ENDED_WARPS]
        able &= ~(core.unit[sm, pipe.WAITING] & ~written) & pipe.warps_of(core, scheduler)
        if able:
            start = policies.preferred(core.policy, -1, core.row[row, pipe.LAST])
            first, chosen = lowest_bit(start) & 63, policies.pick(core.policy, able, core.row[row, pipe.LAST])
            before = (2 << chosen) - 1
            passed = (1 << first) - 1
            written &= before & ~passed if chosen >= first else before | ~passed
    while written:
        index = lowest_bit(written)
        written &= written - 1
        open_fence(core, caches, sm, index, now)


@inlined
def advance(
    core: pipe.Pipeline, rays: RtUnit, program: op.Program, work: op.Work, lane_cycles: np.ndarray, sm: int,
    now: int, row: int, here: int, index: int,
) -> None:  # fmt: skip
    """Go to the warp's next instruction; after a visit's last, its rays go to the RT unit and the warp waits."""
    warp = core.warp
    warp[here, warps.INSTRUCTION] += 1
    if warp[here, warps.INSTRUCTION] < warp[here, warps.BLOCK_END]:
        return
    if end_visit(core, rays, work, lane_cycles, sm, now, index, here):
        wait(core, sm, row, index, here, now, stack.RT_UNIT)
    if warp[here, warps.VISIT] < warp[here, warps.VISIT_END]:
        visit.start(core, program, work, here)
    else:
        end(core, sm, index, here, now)


@compiled
def end(core: pipe.Pipeline, sm: int, index: int, here: int, now: int) -> None:
    """A warp's last instruction issues: no barrier waits for the warp any more."""
    core.warp[here, pipe.ENDED] = 1
    core.unit[sm, pipe.ON_MEMORY] |= 1 << index
    core.unit[sm, pipe.ENDED_WARPS] |= 1 << index
    pass_barrier(core, sm, now, barrier.leave(core, sm, index))
