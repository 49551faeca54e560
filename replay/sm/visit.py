"""Life of a warp, alike in every model: it begins, goes from visit to visit, and retires.

A visit is one pass of a warp through a basic block. A model adds what it must know of the next instruction.
"""

from typing import Any

import numpy as np

from rayplay.replay.input import work as op
from rayplay.replay.jit.bits import count_bits, inlined
from rayplay.replay.jit.rows import CACHE_LINE_WORDS, host_prefetch
from rayplay.replay.sm import ctas as dispatch
from rayplay.replay.sm import warps
from rayplay.replay.unit.streams import count_for


@inlined
def has_work(work: op.Work, number: int) -> bool:
    """Whether a warp of the window has any visit."""
    span = work.span[number - work.first_warp]
    return bool(span[op.VISIT_FIRST] < span[op.VISIT_LAST])


@inlined
def begin(
    core: Any, program: op.Program, work: op.Work, here: int, now: int, number: int, place: int, stream: int
) -> None:  # fmt: skip
    """Put a warp of the window into row ``here``, before its first instruction."""
    span, warp = work.span[number - work.first_warp], core.warp
    warp[here, warps.VISIT] = span[op.VISIT_FIRST]
    warp[here, warps.VISIT_END] = span[op.VISIT_LAST]
    warp[here, warps.FIRST_VISIT] = span[op.VISIT_FIRST]
    warp[here, warps.ACCESS] = span[op.ACCESS_FIRST]
    warp[here, warps.ACCESS_END] = span[op.ACCESS_LAST]
    warp[here, warps.TRACE] = span[op.TRACE_FIRST]
    warp[here, warps.TRACE_END] = span[op.TRACE_LAST]
    warp[here, warps.READY_AT] = now
    warp[here, warps.PENDING] = 0
    warp[here, warps.PARKED] = 0
    warp[here, warps.NUMBER] = number
    warp[here, warps.CTA] = place
    warp[here, warps.STREAM] = stream
    warp[here, warps.SINCE] = now
    warp[here, warps.ISSUED] = 0
    start(core, program, work, here)


@inlined
def start(core: Any, program: op.Program, work: op.Work, here: int) -> None:
    """Set a warp's next instruction to the first of its current visit; to -1 after its last visit."""
    warp = core.warp
    visit = warp[here, warps.VISIT]
    if visit == warp[here, warps.VISIT_END]:
        warp[here, warps.INSTRUCTION] = -1
        return
    block = work.block[visit]
    host_prefetch(work.block, visit + 2 * CACHE_LINE_WORDS)
    host_prefetch(work.mask, visit + 2 * CACHE_LINE_WORDS)
    first = program.first[block]
    warp[here, warps.INSTRUCTION] = first
    warp[here, warps.BLOCK_END] = first + program.length[block]
    warp[here, warps.MASK] = work.mask[visit]
    warp[here, warps.THREADS] = count_bits(np.int64(work.mask[visit]))


@inlined
def key(core: Any, here: int) -> int:
    """Key of a warp's next instruction in the window: visit of the warp << 32 | instruction."""
    warp = core.warp
    return (warp[here, warps.VISIT] - warp[here, warps.FIRST_VISIT]) << 32 | warp[here, warps.INSTRUCTION]


@inlined
def has_access(core: Any, work: op.Work, here: int) -> bool:
    """Whether a lane makes an access with the warp's next instruction: the one at the warp's cursor."""
    access = core.warp[here, warps.ACCESS]
    return bool(access < core.warp[here, warps.ACCESS_END] and work.access_key[access] == key(core, here))


@inlined
def retire(core: Any, ctas: dispatch.Dispatch, sm: int, now: int, here: int) -> bool:
    """Count a warp that leaves its SM, and free its CTA's place after the last one. Whether the CTA has ended."""
    place = core.warp[here, warps.CTA]
    row = sm * dispatch.MAX_CTAS + place
    count_for(core, sm, core.warp[here, warps.STREAM])
    core.stats[sm, warps.RETIRED_WARPS] += 1
    core.stats[sm, warps.RETIRED_INSTRUCTIONS] += core.warp[here, warps.ISSUED]
    ctas.cta[row, dispatch.LIVE] -= 1
    if ctas.cta[row, dispatch.LIVE]:
        return False
    core.stats[sm, warps.RETIRED_CTAS] += 1
    dispatch.end_cta(ctas, sm, now, place)
    return True
