"""Front end of the pipelined SM: fetch, decode, and the warps that are over.

In a cycle, each of ``fetches`` slots looks round robin for a warp whose buffer is empty and brings its next two
instructions, which may issue from the next cycle on; the instruction cache is perfect. While it looks it meets the
warps that are over: all instructions complete, all registers written, all stores acknowledged. These leave the SM.
Source: ``docs/sources/accel-sim.md#fetch``.
"""

import numpy as np

from rayplay.replay.input.work import (
    ACCESS_FIRST,
    ACCESS_LAST,
    NO_ACCESS,
    PREDICATE_FIRST,
    PREDICATE_LAST,
    TRACE_FIRST,
    TRACE_LAST,
    VISIT_FIRST,
    VISIT_LAST,
    Program,
    Work,
)  # fmt: skip
from rayplay.replay.jit.bits import compiled, count_bits, inlined, lowest_bit
from rayplay.replay.sm import ctas as dispatch
from rayplay.replay.sm.ctas import LIVE as LIVE_WARPS
from rayplay.replay.sm.ctas import MAX_CTAS, Dispatch
from rayplay.replay.sm.pipeline.scoreboard import collides
from rayplay.replay.sm.pipeline.state import (
    ACTIVE_BEFORE,
    ACTIVE_SINCE,
    AGE,
    BUFFERED,
    CLASS,
    COLLIDES,
    COLUMNS,
    CTAS,
    ENDED,
    FETCH,
    FETCHED,
    FLYING,
    LAST_FETCHED,
    LAUNCHED,
    LIVE,
    LOADS,
    ON_MEMORY,
    OVER,
    PREDICATE,
    PREDICATE_END,
    SEEN_ON_MEMORY,
    STORES,
    VALID,
    WRITES,
    Pipeline,
)  # fmt: skip
from rayplay.replay.sm.warps import (
    ACCESS,
    ACCESS_END,
    BLOCK_END,
    CODE,
    CTA,
    FIRST_VISIT,
    INSTRUCTION,
    ISSUED,
    MASK,
    NUMBER,
    RETIRED_CTAS,
    RETIRED_INSTRUCTIONS,
    RETIRED_WARPS,
    SINCE,
    STREAM,
    THREADS,
    TRACE,
    TRACE_END,
    VISIT,
    VISIT_END,
)  # fmt: skip
from rayplay.replay.unit import cycle_stack as stack
from rayplay.replay.unit import cycle_stack_streams as stack_shares
from rayplay.replay.unit.streams import count_for


@compiled
def begin(
    core: Pipeline, program: Program, work: Work, sm: int, now: int, index: int, number: int, place: int, stream: int
) -> None:
    """Put a warp of the window into the SM: its first instructions may be fetched in this cycle."""
    here = sm * core.warps + index
    span = work.span[number - work.first_warp]
    warp = core.warp
    shown = warp[here, CLASS]  # of the slot's last warp: its bit of ``wants`` is to be cleared
    warp[here, :COLUMNS] = 0
    if core.copies.shape[0]:
        core.copies[here] = 0
    warp[here, CLASS] = shown
    for column, source in (
        (VISIT, VISIT_FIRST), (VISIT_END, VISIT_LAST), (FIRST_VISIT, VISIT_FIRST), (ACCESS, ACCESS_FIRST),
        (ACCESS_END, ACCESS_LAST), (TRACE, TRACE_FIRST), (TRACE_END, TRACE_LAST), (PREDICATE, PREDICATE_FIRST),
        (PREDICATE_END, PREDICATE_LAST),
    ):  # fmt: skip
        warp[here, column] = span[source]
    warp[here, NUMBER] = number
    warp[here, CTA] = place
    warp[here, STREAM] = stream
    warp[here, SINCE] = now
    warp[here, AGE] = core.unit[sm, LAUNCHED]
    core.unit[sm, LAUNCHED] += 1
    core.unit[sm, FETCH] |= 1 << index
    row = sm * core.schedulers + (index & (core.schedulers - 1))
    core.unit[sm, LIVE] |= 1 << index
    stack.change_live(core, row, now, 1)
    stack_shares.change_live(core, row, now, 1, stream)
    start_visit(core, program, work, here)
    show(core, sm, index, here)


@inlined
def start_visit(core: Pipeline, program: Program, work: Work, here: int) -> None:
    """Set a warp's next instruction to the first of its current visit."""
    warp = core.warp
    visit = warp[here, VISIT]
    block = work.block[visit]
    first = program.first[block]
    warp[here, INSTRUCTION] = first
    warp[here, BLOCK_END] = first + program.length[block]
    warp[here, MASK] = work.mask[visit]
    warp[here, THREADS] = count_bits(np.int64(work.mask[visit]))


@inlined
def threads(core: Pipeline, work: Work, here: int) -> int:
    """Threads that execute the warp's next instruction: its active lanes less those that its predicate left out."""
    warp = core.warp
    at = warp[here, PREDICATE]
    if at < warp[here, PREDICATE_END]:
        visit = warp[here, VISIT] - warp[here, FIRST_VISIT]
        if work.predicate_key[at] == (visit << 32 | warp[here, INSTRUCTION]):
            warp[here, PREDICATE] = at + 1
            return int(work.predicate_lanes[at])
    return int(warp[here, THREADS])


@inlined
def next_access(core: Pipeline, work: Work, here: int) -> int:
    """The access of a warp's next instruction, or NO_ACCESS: no lane makes one."""
    warp = core.warp
    access, key = warp[here, ACCESS], (warp[here, VISIT] - warp[here, FIRST_VISIT]) << 32 | warp[here, INSTRUCTION]
    while access < warp[here, ACCESS_END] and work.access_key[access] < key:
        access += 1  # of a texture instruction that has a latency alone
    if access == warp[here, ACCESS_END] or work.access_key[access] != key:
        return NO_ACCESS
    warp[here, ACCESS] = access + 1
    return int(access)


@inlined
def fetch(core: Pipeline, ctas: Dispatch, sm: int, now: int) -> bool:
    """The fetch and decode slots of one cycle, the last one's instructions are decoded in the next; whether any act."""
    unit = core.unit
    if unit[sm, FETCHED] < 0 and unit[sm, FETCH] | unit[sm, OVER] == 0:
        return False
    for _ in range(core.fetches):
        if unit[sm, FETCHED] >= 0:
            decode(core, sm, unit[sm, FETCHED])
            unit[sm, FETCHED] = -1
        wanted, over = unit[sm, FETCH], unit[sm, OVER]
        if wanted | over == 0:
            break
        begun = (unit[sm, LAST_FETCHED] + 1) & 63
        later = (wanted >> begun) << begun
        if wanted:
            index = lowest_bit(np.int64(later if later else wanted))
            unit[sm, FETCH] &= ~(1 << index)
            unit[sm, LAST_FETCHED] = index
            unit[sm, FETCHED] = index
        if over:
            before, passed = (1 << begun) - 1, -1
            if wanted:
                passed = (1 << unit[sm, FETCHED]) - 1
                passed = passed & ~before if later else passed | ~before
            if over & passed:
                leave_all(core, ctas, sm, now, over & passed)
    return True


@inlined
def decode(core: Pipeline, sm: int, index: int) -> None:
    """Two instructions, or the trace's last one, come into a warp's empty buffer."""
    here = sm * core.warps + index
    warp = core.warp
    last = warp[here, INSTRUCTION] + 1 == warp[here, BLOCK_END] and warp[here, VISIT] + 1 == warp[here, VISIT_END]
    warp[here, BUFFERED] = 1 if last else 2
    warp[here, FLYING] += warp[here, BUFFERED]
    reveal(core, sm, index, here, True)


@inlined
def show(core: Pipeline, sm: int, index: int, here: int) -> None:
    """Note what a warp's next instruction needs."""
    warp, unit, bit = core.warp, core.unit, 1 << index
    instruction = warp[here, INSTRUCTION]
    code = core.code[instruction]
    warp[here, CODE] = code
    before, after = warp[here, CLASS], code & 15
    core.wants[sm, before] &= ~bit
    core.wants[sm, after] |= bit
    warp[here, CLASS] = after
    unit[sm, COLLIDES] = unit[sm, COLLIDES] & ~bit | collides(core, here, instruction) << index


@inlined
def reveal(core: Pipeline, sm: int, index: int, here: int, is_there: bool) -> None:
    """The instruction shown last comes before its scheduler, where it ``is_there`` in the warp's buffer."""
    unit, loads = core.unit, core.warp[here, LOADS] & core.filters[core.warp[here, INSTRUCTION]]
    unit[sm, VALID] = unit[sm, VALID] & ~(1 << index) | is_there << index
    unit[sm, ON_MEMORY] |= unit[sm, COLLIDES] & (is_there & (loads != 0)) << index


@inlined
def check_over(core: Pipeline, sm: int, index: int, here: int) -> None:
    """Note a warp that has nothing left to do or to wait for: the fetch stage takes it away."""
    warp = core.warp
    if warp[here, ENDED] and warp[here, FLYING] == 0 and warp[here, WRITES] == 0 and warp[here, STORES] == 0:
        core.unit[sm, OVER] |= 1 << index


@compiled
def leave_all(core: Pipeline, ctas: Dispatch, sm: int, now: int, over: int) -> None:
    """Warps leave the SM; a CTA without warps makes place for the next."""
    unit = core.unit
    unit[sm, OVER] &= ~over
    while over:
        index = lowest_bit(over)
        over &= over - 1
        here = sm * core.warps + index
        row = sm * core.schedulers + (index & (core.schedulers - 1))
        bit, stream = 1 << index, core.warp[here, STREAM]
        if unit[sm, ON_MEMORY] & bit:  # the slot now under way is divided among the others alone
            stack.observe(core, row, now, core.slot[row, stack.SEEN] - stack.ONE_FOR_MEMORY)
            stack_shares.forget_one(core, row, now, stream)
            unit[sm, SEEN_ON_MEMORY] |= bit  # to be told in any case that it has left
        unit[sm, LIVE] &= ~bit
        unit[sm, ON_MEMORY] &= ~bit
        stack.change_live(core, row, now, -1)
        stack_shares.change_live(core, row, now, -1, stream)
        count_for(core, sm, stream)
        core.stats[sm, RETIRED_WARPS] += 1
        core.stats[sm, RETIRED_INSTRUCTIONS] += core.warp[here, ISSUED]
        place = core.warp[here, CTA]
        ctas.cta[sm * MAX_CTAS + place, LIVE_WARPS] -= 1
        if ctas.cta[sm * MAX_CTAS + place, LIVE_WARPS] == 0:
            core.stats[sm, RETIRED_CTAS] += 1
            unit[sm, CTAS] -= 1
            if unit[sm, CTAS] == 0:
                unit[sm, ACTIVE_BEFORE] += now + 1 - unit[sm, ACTIVE_SINCE]
            dispatch.end_cta(ctas, sm, now, place)
