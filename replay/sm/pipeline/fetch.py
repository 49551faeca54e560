"""Front end of the pipelined SM: fetch, decode, and the warps that leave.

In a cycle, each of ``fetches`` slots looks round robin for a warp whose buffer is empty and brings its next two
instructions, which may issue from the next cycle on; unless the instruction cache is perfect, where the first of them
hits there. While it looks it meets the
warps that have ended: all instructions complete, all registers written, all stores acknowledged. These leave the SM.
Source: ``docs/sources/accel-sim.md#fetch, #instruction-cache``.
"""

import numpy as np

from rayplay.replay.input import work as op
from rayplay.replay.jit.bits import compiled, inlined, lowest_bit
from rayplay.replay.memory import instruction_cache
from rayplay.replay.memory.cache import state as cache_state
from rayplay.replay.memory.cache.mshr import has_ready, next_ready
from rayplay.replay.memory.port import LINE_SECTORS, Port
from rayplay.replay.memory.port import decode as decode_address
from rayplay.replay.sm import visit, warps
from rayplay.replay.sm.ctas import Dispatch
from rayplay.replay.sm.pipeline import state as pipe
from rayplay.replay.sm.pipeline.scoreboard import collides
from rayplay.replay.unit import cycle_stack as stack
from rayplay.replay.unit import cycle_stack_streams as stack_shares


@compiled
def begin(core: pipe.Pipeline, program: op.Program, work: op.Work, sm: int, now: int, index: int) -> None:
    """A warp is in its slot: its first instructions may be fetched in this cycle."""
    here = sm * core.warps + index
    warp, unit = core.warp, core.unit
    shown = warp[here, pipe.CLASS]  # of the slot's last warp: its bit of ``wants`` is to be cleared
    warp[here, warps.WARP_COLUMNS : pipe.COLUMNS] = 0
    if core.copies.shape[0]:
        core.copies[here] = 0
    warp[here, pipe.CLASS] = shown
    span = work.span[warp[here, warps.NUMBER] - work.first_warp]
    warp[here, pipe.PREDICATE] = span[op.PREDICATE_FIRST]
    warp[here, pipe.PREDICATE_END] = span[op.PREDICATE_LAST]
    warp[here, pipe.AGE] = unit[sm, pipe.LAUNCHED]
    unit[sm, pipe.LAUNCHED] += 1
    unit[sm, pipe.FETCH] |= 1 << index
    unit[sm, pipe.LIVE] |= 1 << index
    row = sm * core.schedulers + (index & (core.schedulers - 1))
    stack.change_live(core, row, now, 1)
    stack_shares.change_live(core, row, now, 1, warp[here, warps.STREAM])
    show(core, sm, index, here)


@inlined
def threads(core: pipe.Pipeline, work: op.Work, here: int) -> int:
    """Threads that execute the warp's next instruction: its active lanes but the lanes that its guard keeps out."""
    warp = core.warp
    at = warp[here, pipe.PREDICATE]
    if at < warp[here, pipe.PREDICATE_END] and work.predicate_key[at] == visit.key(core, here):
        warp[here, pipe.PREDICATE] = at + 1
        return int(work.predicate_lanes[at])
    return int(warp[here, warps.THREADS])


@inlined
def next_access(core: pipe.Pipeline, work: op.Work, here: int) -> int:
    """The access of a warp's next instruction, or NO_ACCESS: no lane makes one."""
    warp = core.warp
    access, key = warp[here, warps.ACCESS], visit.key(core, here)
    while access < warp[here, warps.ACCESS_END] and work.access_key[access] < key:
        access += 1  # of a texture instruction that has a latency alone
    if access == warp[here, warps.ACCESS_END] or work.access_key[access] != key:
        return op.NO_ACCESS
    warp[here, warps.ACCESS] = access + 1
    return int(access)


@inlined
def fetch(core: pipe.Pipeline, ctas: Dispatch, ports: Port, sm: int, now: int) -> bool:
    """The fetch and decode slots of one cycle, the last one's instructions are decoded in the next; whether any act."""
    unit = core.unit
    if not core.instructions.perfect:
        return fetch_from_cache(core, ctas, ports, sm, now)
    if unit[sm, pipe.FETCHED] < 0 and unit[sm, pipe.FETCH] | unit[sm, pipe.OVER] == 0:
        return False
    for _ in range(core.fetches):
        if unit[sm, pipe.FETCHED] >= 0:
            decode(core, sm, unit[sm, pipe.FETCHED])
            unit[sm, pipe.FETCHED] = -1
        if unit[sm, pipe.FETCH] | unit[sm, pipe.OVER] == 0:
            break
        unit[sm, pipe.FETCHED] = choose(core, ctas, sm, now)
        if ports.decoded.shape[1] and unit[sm, pipe.FETCHED] >= 0:
            decode_line(core, ports, sm, unit[sm, pipe.FETCHED])
    return True


@inlined
def decode_line(core: pipe.Pipeline, ports: Port, sm: int, index: int) -> None:
    """The address of a warp's next instruction is decoded, even where the cache is perfect."""
    line = core.instructions.line[core.warp[sm * core.warps + index, warps.INSTRUCTION]]
    decode_address(ports, sm, line * LINE_SECTORS)


@inlined
def choose(core: pipe.Pipeline, ctas: Dispatch, sm: int, now: int) -> int:
    """The next warp with an empty buffer, or -1; the warps before it that have ended leave."""
    unit, found = core.unit, -1
    wanted, over = unit[sm, pipe.FETCH], unit[sm, pipe.OVER]
    begun = (unit[sm, pipe.LAST_FETCHED] + 1) & 63
    later = (wanted >> begun) << begun
    if wanted:
        found = lowest_bit(np.int64(later if later else wanted))
        unit[sm, pipe.FETCH] &= ~(1 << found)
        unit[sm, pipe.LAST_FETCHED] = found
    if over:
        before, passed = (1 << begun) - 1, -1
        if wanted:
            passed = (1 << found) - 1
            passed = passed & ~before if later else passed | ~before
        if over & passed:
            leave_all(core, ctas, sm, now, over & passed)
    return found


@compiled
def fetch_from_cache(core: pipe.Pipeline, ctas: Dispatch, ports: Port, sm: int, now: int) -> bool:
    """``fetch`` through the instruction cache: a warp whose line has come goes first; a slot asks for one line."""
    unit, cache = core.unit, core.instructions
    acts = unit[sm, pipe.FETCHED] >= 0
    for _ in range(core.fetches):
        if unit[sm, pipe.FETCHED] >= 0:
            decode(core, sm, unit[sm, pipe.FETCHED])
            unit[sm, pipe.FETCHED] = -1
        if not instruction_cache.is_busy(cache, sm) and unit[sm, pipe.FETCH] | unit[sm, pipe.OVER] == 0:
            break
        acts = True
        if has_ready(cache.tags, sm):
            unit[sm, pipe.FETCHED] = next_ready(cache.tags, sm)
        else:
            look_up_next(core, ctas, ports, sm, now)
        instruction_cache.send_next(cache, ports, sm, now)
    return acts


@inlined
def look_up_next(core: pipe.Pipeline, ctas: Dispatch, ports: Port, sm: int, now: int) -> None:
    """The next warp with an empty buffer looks its instruction up: it fetches, waits for the line, or tries again."""
    unit, index = core.unit, choose(core, ctas, sm, now)
    if index < 0:
        return
    decode_line(core, ports, sm, index)
    warp, here = core.warp, sm * core.warps + index
    line, stream = core.instructions.line[warp[here, warps.INSTRUCTION]], warp[here, warps.STREAM]
    answer = instruction_cache.look_up(core.instructions, sm, now, line, stream, index)
    if answer == cache_state.HIT:
        unit[sm, pipe.FETCHED] = index
    elif answer == cache_state.FAIL:
        unit[sm, pipe.FETCH] |= 1 << index


@inlined
def receive_line(core: pipe.Pipeline, sm: int, now: int, entry: int) -> None:
    """A sector of a line of the instruction cache has come, for the fetch stage of this cycle."""
    instruction_cache.fill(core.instructions, sm, now, entry)
    core.unit[sm, pipe.NEXT_CYCLE] = min(core.unit[sm, pipe.NEXT_CYCLE], now)


@inlined
def decode(core: pipe.Pipeline, sm: int, index: int) -> None:
    """Two instructions, or the trace's last one, come into a warp's empty buffer."""
    here = sm * core.warps + index
    warp = core.warp
    last = (
        warp[here, warps.INSTRUCTION] + 1 == warp[here, warps.BLOCK_END]
        and warp[here, warps.VISIT] + 1 == warp[here, warps.VISIT_END]
    )
    warp[here, pipe.BUFFERED] = 1 if last else 2
    warp[here, pipe.FLYING] += warp[here, pipe.BUFFERED]
    reveal(core, sm, index, here, True)


@inlined
def show(core: pipe.Pipeline, sm: int, index: int, here: int) -> None:
    """Note what a warp's next instruction needs."""
    warp, unit, bit = core.warp, core.unit, 1 << index
    instruction = warp[here, warps.INSTRUCTION]
    code = core.code[instruction]
    warp[here, warps.CODE] = code
    before, after = warp[here, pipe.CLASS], code & 15
    core.wants[sm, before] &= ~bit
    core.wants[sm, after] |= bit
    warp[here, pipe.CLASS] = after
    unit[sm, pipe.COLLIDES] = unit[sm, pipe.COLLIDES] & ~bit | collides(core, here, instruction) << index


@inlined
def reveal(core: pipe.Pipeline, sm: int, index: int, here: int, is_there: bool) -> None:
    """The instruction shown last comes before its scheduler, where it ``is_there`` in the warp's buffer."""
    unit, loads = core.unit, core.warp[here, pipe.LOADS] & core.filters[core.warp[here, warps.INSTRUCTION]]
    unit[sm, pipe.VALID] = unit[sm, pipe.VALID] & ~(1 << index) | is_there << index
    unit[sm, pipe.ON_MEMORY] |= unit[sm, pipe.COLLIDES] & (is_there & (loads != 0)) << index


@inlined
def check_over(core: pipe.Pipeline, sm: int, index: int, here: int) -> None:
    """Note a warp that has nothing left to do or to wait for: the fetch stage takes it away."""
    warp = core.warp
    left = warp[here, pipe.FLYING] | warp[here, pipe.WRITES] | warp[here, pipe.STORES]
    if warp[here, pipe.ENDED] and left == 0:
        core.unit[sm, pipe.OVER] |= 1 << index


@compiled
def leave_all(core: pipe.Pipeline, ctas: Dispatch, sm: int, now: int, over: int) -> None:
    """Warps leave the SM; a CTA without warps makes place for the next."""
    unit = core.unit
    unit[sm, pipe.OVER] &= ~over
    while over:
        index = lowest_bit(over)
        over &= over - 1
        here = sm * core.warps + index
        row = sm * core.schedulers + (index & (core.schedulers - 1))
        bit, stream = 1 << index, core.warp[here, warps.STREAM]
        if unit[sm, pipe.ON_MEMORY] & bit:  # the slot now under way is divided among the others alone
            stack.observe(core, row, now, core.slot[row, stack.SEEN] - stack.ONE_FOR_MEMORY)
            stack_shares.forget_one(core, row, now, stream)
            unit[sm, pipe.SEEN_ON_MEMORY] |= bit  # to be told in any case that it has left
        unit[sm, pipe.LIVE] &= ~bit
        unit[sm, pipe.ON_MEMORY] &= ~bit
        unit[sm, pipe.ENDED_WARPS] &= ~bit
        stack.change_live(core, row, now, -1)
        stack_shares.change_live(core, row, now, -1, stream)
        if visit.retire(core, ctas, sm, now, here):
            unit[sm, pipe.CTAS] -= 1
            if unit[sm, pipe.CTAS] == 0:
                unit[sm, pipe.ACTIVE_BEFORE] += now + 1 - unit[sm, pipe.ACTIVE_SINCE]
