"""How a memory instruction enters the LSU: it becomes an operation, with the accesses that the trace has of it."""

from rayplay.replay.input.work import EMPTY_SHARED, IS_LOCAL, Work
from rayplay.replay.jit.bits import inlined
from rayplay.replay.jit.rows import CACHE_LINE_WORDS, prefetch
from rayplay.replay.lsu.state import (
    ADDEND,
    ARRIVES,
    CONFLICT,
    CURSOR,
    DUE_TAIL,
    END,
    FREE,
    FRONT_AT,
    INSTRUCTIONS,
    KIND,
    LOCAL,
    MISSING,
    NEXT_CYCLE,
    OPERATIONS,
    QUEUE_HEAD,
    QUEUE_TAIL,
    SLOT,
    STREAM,
    WARP,
    Lsu,
)
from rayplay.replay.unit.streams import count_for


@inlined
def enqueue(
    state: Lsu, work: Work, sm: int, now: int, warp: int, kind: int, slot: int, access: int, stream: int
) -> None:
    """A memory instruction issues: it reaches the unit ``issue_cycles`` later.

    access  its row in ``work``; of one without lanes NO_ACCESS, or EMPTY_SHARED, which passes the pipeline as others.
    stream  of the warp.
    """
    unit, operation = state.unit, state.operation
    count_for(state, sm, stream)
    state.stats[sm, INSTRUCTIONS] += 1
    if state.perfect:
        enqueue_perfect(state, sm, now, warp, kind, slot)
        return
    unit[sm, FREE] -= 1
    at = int(state.free[sm, unit[sm, FREE]])
    row = sm * OPERATIONS + at
    first, last, conflict = 0, 0, 0
    if access >= 0:
        first, last, conflict = work.access_first[access], work.access_first[access + 1], int(work.conflict[access])
        prefetch(work.sector, last)  # of the warp's next access, and some further on
        prefetch(work.byte_mask, last)
        prefetch(work.access_key, access + CACHE_LINE_WORDS)
        prefetch(work.access_first, access + CACHE_LINE_WORDS)
    elif access == EMPTY_SHARED:
        conflict = 1
    operation[row, WARP], operation[row, KIND], operation[row, SLOT] = warp, kind, slot
    operation[row, STREAM] = stream
    operation[row, CURSOR], operation[row, END], operation[row, MISSING] = first, last, last - first
    operation[row, ADDEND] = operation[row, LOCAL] = 0
    if conflict > IS_LOCAL:
        warps, conflict = conflict - IS_LOCAL, 0
        operation[row, LOCAL] = 1
        operation[row, ADDEND] = 4 * (warps * (sm + state.sms * (warp // warps)) + warp % warps)
    operation[row, CONFLICT] = conflict
    operation[row, ARRIVES] = now + state.issue_cycles
    state.queue[sm, unit[sm, QUEUE_TAIL] & 63] = at
    if unit[sm, QUEUE_HEAD] == unit[sm, QUEUE_TAIL]:
        unit[sm, FRONT_AT] = now + state.issue_cycles
    unit[sm, QUEUE_TAIL] += 1
    unit[sm, NEXT_CYCLE] = min(unit[sm, NEXT_CYCLE], max(now + state.issue_cycles, unit[sm, FRONT_AT]))


@inlined
def enqueue_perfect(state: Lsu, sm: int, now: int, warp: int, kind: int, slot: int) -> None:
    """With perfect memory a memory instruction is over after the latency of a hit; all take the same, so in order."""
    unit = state.unit
    cycle = now + state.issue_cycles + state.l1_latency
    row = state.due[sm * state.due_size + (unit[sm, DUE_TAIL] & (state.due_size - 1))]
    row[0], row[1], row[2], row[3] = cycle, warp, slot, kind
    unit[sm, DUE_TAIL] += 1
    unit[sm, NEXT_CYCLE] = min(unit[sm, NEXT_CYCLE], cycle)
