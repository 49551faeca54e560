"""Barriers of CTAs, alike in every model: a warp waits until every warp of its CTA that still runs has arrived.

``core.barrier`` has a row per CTA: the warps that run, and the warps that have arrived, bit = warp. A model holds a
warp that arrives, and wakes the warps that ``arrive`` or ``leave`` return.
"""

from typing import Any

from rayplay.replay.jit.bits import compiled, inlined, lowest_bit
from rayplay.replay.sm import ctas as dispatch
from rayplay.replay.sm import warps
from rayplay.replay.unit.streams import count_for


@inlined
def row_of(core: Any, sm: int, index: int) -> int:
    """Row of a warp's CTA."""
    return sm * dispatch.MAX_CTAS + core.warp[sm * core.warps + index, warps.CTA]


@inlined
def arrive(core: Any, sm: int, index: int) -> int:
    """A warp arrives. Returns the warps that go on, itself among them, as a mask; 0: they wait."""
    row = row_of(core, sm, index)
    core.barrier[row, warps.ARRIVED] |= 1 << index
    return release(core, sm, row)


@inlined
def leave(core: Any, sm: int, index: int) -> int:
    """A warp issues no more: barriers do not wait for it. Returns the warps that go on, as a mask."""
    row = row_of(core, sm, index)
    core.barrier[row, warps.RUNNING] &= ~(1 << index)
    return release(core, sm, row)


@compiled
def release(core: Any, sm: int, row: int) -> int:
    """The warps of a barrier that opens, as a mask; 0 while one is missing, or no warp waits."""
    arrived = core.barrier[row, warps.ARRIVED]
    if arrived == 0 or arrived != core.barrier[row, warps.RUNNING]:
        return 0
    core.barrier[row, warps.ARRIVED] = 0
    count_for(core, sm, core.warp[sm * core.warps + lowest_bit(arrived), warps.STREAM])
    core.stats[sm, warps.BARRIERS] += 1
    return int(arrived)
