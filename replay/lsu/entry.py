"""How a memory instruction enters the LSU: it becomes an operation, with the accesses that the trace has of it."""

from rayplay.replay.input import work as op
from rayplay.replay.jit.bits import inlined
from rayplay.replay.jit.rows import CACHE_LINE_WORDS, host_prefetch, wrap
from rayplay.replay.lsu import state as lsu
from rayplay.replay.unit.streams import count_for


@inlined
def enqueue(
    state: lsu.Lsu, work: op.Work, sm: int, now: int, warp: int, kind: int, slot: int, access: int, stream: int
) -> None:
    """A memory instruction issues: it reaches the unit ``issue_cycles`` later.

    access  its row in ``work``; of one without lanes NO_ACCESS, or EMPTY_SHARED, which passes the pipeline as others.
    stream  of the warp.
    """
    unit, operation = state.unit, state.operation
    count_for(state, sm, stream)
    state.stats[sm, lsu.INSTRUCTIONS] += 1
    if state.perfect:
        enqueue_perfect(state, sm, now, warp, kind, slot)
        return
    unit[sm, lsu.FREE] -= 1
    at = int(state.free[sm, unit[sm, lsu.FREE]])
    row = sm * lsu.OPERATIONS + at
    first, last, conflict = 0, 0, 0
    if access >= 0:
        first, last, conflict = work.access_first[access], work.access_first[access + 1], int(work.conflict[access])
        host_prefetch(work.sector, last)  # of the warp's next access, and some further on
        host_prefetch(work.byte_mask, last)
        host_prefetch(work.access_key, access + CACHE_LINE_WORDS)
        host_prefetch(work.access_first, access + CACHE_LINE_WORDS)
    elif access == op.EMPTY_SHARED:
        conflict = 1
    operation[row, lsu.WARP], operation[row, lsu.KIND], operation[row, lsu.SLOT] = warp, kind, slot
    operation[row, lsu.STREAM] = stream
    operation[row, lsu.CURSOR], operation[row, lsu.END], operation[row, lsu.MISSING] = first, last, last - first
    operation[row, lsu.ADDEND] = operation[row, lsu.LOCAL] = 0
    operation[row, lsu.WIDE] = int(conflict == op.IS_WIDE_TEXTURE)
    operation[row, lsu.TEXTURE] = int(conflict == op.IS_TEXTURE) | operation[row, lsu.WIDE]
    operation[row, lsu.COLOUR] = int(conflict == op.IS_COLOUR)
    if conflict >= op.IS_WIDE_TEXTURE:
        conflict = 0
    elif conflict > op.IS_LOCAL:
        warps, conflict = conflict - op.IS_LOCAL, 0
        operation[row, lsu.LOCAL] = 1
        operation[row, lsu.ADDEND] = 4 * (warps * (sm + state.sms * (warp // warps)) + warp % warps)
    operation[row, lsu.CONFLICT] = conflict
    operation[row, lsu.ARRIVES] = now + state.issue_cycles
    state.queue[sm, wrap(unit[sm, lsu.QUEUE_TAIL], lsu.QUEUE)] = at
    if unit[sm, lsu.QUEUE_HEAD] == unit[sm, lsu.QUEUE_TAIL]:
        unit[sm, lsu.FRONT_AT] = now + state.issue_cycles
    unit[sm, lsu.QUEUE_TAIL] += 1
    unit[sm, lsu.NEXT_CYCLE] = min(unit[sm, lsu.NEXT_CYCLE], max(now + state.issue_cycles, unit[sm, lsu.FRONT_AT]))


@inlined
def enqueue_perfect(state: lsu.Lsu, sm: int, now: int, warp: int, kind: int, slot: int) -> None:
    """With perfect memory a memory instruction completes after the latency of a hit; all take the same, so in order."""
    unit = state.unit
    cycle = now + state.issue_cycles + state.l1_latency
    row = state.due[sm * state.due_size + wrap(unit[sm, lsu.DUE_TAIL], state.due_size)]
    row[0], row[1], row[2], row[3] = cycle, warp, slot, kind
    unit[sm, lsu.DUE_TAIL] += 1
    unit[sm, lsu.NEXT_CYCLE] = min(unit[sm, lsu.NEXT_CYCLE], cycle)
