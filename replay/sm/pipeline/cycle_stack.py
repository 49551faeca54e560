"""Waits of the pipelined SM's warps, observed at the end of each cycle for the cycle stack (``stack``).

A warp that may issue but does not is refused by a latch: of the LD/ST unit, or of another one. A warp with an empty
buffer waits for fetch and decode. The others wait for a register; for memory, when a load will write it.
"""

from rayplay.replay.jit.bits import compiled, count_bits, inlined, lowest_bit
from rayplay.replay.sm import warps
from rayplay.replay.sm.pipeline import state as pipe
from rayplay.replay.unit import cycle_stack as stack
from rayplay.replay.unit import cycle_stack_streams as stack_shares


@inlined
def observe(core: pipe.Pipeline, sm: int, now: int) -> None:
    """Note what the warps of an SM will wait for from the next cycle on."""
    unit = core.unit
    free = unit[sm, pipe.LIVE] & ~unit[sm, pipe.WAITING]
    valid, on_memory = unit[sm, pipe.VALID] & free, unit[sm, pipe.ON_MEMORY] & free
    able = valid & ~unit[sm, pipe.COLLIDES]
    for_lsu, fetching = able & core.wants[sm, pipe.MEMORY], free & ~valid & ~on_memory
    for_unit = able & ~for_lsu
    changed = (unit[sm, pipe.SEEN_FOR_UNIT] ^ for_unit) | (unit[sm, pipe.SEEN_FOR_LSU] ^ for_lsu)
    changed |= (unit[sm, pipe.SEEN_FETCHING] ^ fetching) | (unit[sm, pipe.SEEN_ON_MEMORY] ^ on_memory)
    if changed == 0:
        return
    unit[sm, pipe.SEEN_FOR_UNIT], unit[sm, pipe.SEEN_FOR_LSU] = for_unit, for_lsu
    unit[sm, pipe.SEEN_FETCHING], unit[sm, pipe.SEEN_ON_MEMORY] = fetching, on_memory
    while changed:
        scheduler = lowest_bit(changed) & (core.schedulers - 1)
        mine = pipe.warps_of(core, scheduler)
        changed &= ~mine
        seen = count_bits(for_unit & mine) | count_bits(for_lsu & mine) << 8
        seen |= count_bits(fetching & mine) << 16 | count_bits(on_memory & mine) << 24
        stack.observe(core, sm * core.schedulers + scheduler, now + 1, seen)
        if core.shares.streams > 1:
            observe_streams(
                core, sm, scheduler, now + 1, (for_unit & mine, for_lsu & mine, fetching & mine, on_memory & mine)
            )


@compiled
def observe_streams(core: pipe.Pipeline, sm: int, scheduler: int, now: int, seen: tuple[int, int, int, int]) -> None:
    """Note for each stream how many of a scheduler's warps that wait, a mask for each of ``OBSERVED``, are its own."""
    left = core.unit[sm, pipe.LIVE] & pipe.warps_of(core, scheduler)
    while left:
        stream = core.warp[sm * core.warps + lowest_bit(left), warps.STREAM]
        mine, own = of_stream(core, sm, left, stream), 0
        left &= ~mine
        for reason in range(4):
            own |= count_bits(seen[reason] & mine) << 8 * reason
        stack_shares.observe(core, sm * core.schedulers + scheduler, now, own, stream)


@inlined
def of_stream(core: pipe.Pipeline, sm: int, some: int, stream: int) -> int:
    """Warps among ``some``, a mask, that belong to the stream."""
    mine = 0
    while some:
        index = lowest_bit(some)
        some &= some - 1
        mine |= (core.warp[sm * core.warps + index, warps.STREAM] == stream) << index
    return mine
