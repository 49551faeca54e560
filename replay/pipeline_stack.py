"""What the warps of the pipelined SM wait for, observed at the end of each cycle for the cycle stack (``stack``).

A warp that may issue but does not is refused by a latch: of the LD/ST unit, or of another one. A warp with an empty
buffer waits for fetch and decode. The others wait for a register; for memory, when a load will write it.
"""

from replay import stack
from replay.bits import count_bits, inlined
from replay.pipeline_state import COLLIDES, LIVE, MEMORY, ON_MEMORY, VALID, WAITING, Pipeline


@inlined
def observe(core: Pipeline, sm: int, now: int) -> None:
    """Note what the warps of an SM will wait for from the next cycle on."""
    for row in range(sm * core.schedulers, (sm + 1) * core.schedulers):
        free = core.row[row, LIVE] & ~core.row[row, WAITING]
        valid, on_memory = core.row[row, VALID] & free, core.row[row, ON_MEMORY] & free
        able = valid & ~core.row[row, COLLIDES]
        for_lsu = able & core.wants[row, MEMORY]
        fetches = free & ~valid & ~on_memory
        seen = count_bits(able & ~for_lsu) | count_bits(for_lsu) << 8
        stack.observe(core, row, now + 1, seen | count_bits(fetches) << 16 | count_bits(on_memory) << 24)
