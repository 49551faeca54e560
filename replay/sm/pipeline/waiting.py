"""What holds a warp of the pipelined SM back besides its registers: a barrier, a fence, an atomic, its rays.

Source: ``docs/sources/accel-sim.md#execution-model, #asynchronous-copies``.
"""

from rayplay.replay.jit.bits import compiled, inlined, lowest_bit
from rayplay.replay.memory import l1
from rayplay.replay.memory.l1 import L1
from rayplay.replay.sm.ctas import MAX_CTAS
from rayplay.replay.sm.pipeline.state import FENCES, WAITING, WRITES, Pipeline
from rayplay.replay.sm.warps import BARRIERS, CTA, STREAM
from rayplay.replay.unit import cycle_stack as stack
from rayplay.replay.unit import cycle_stack_streams as stack_shares
from rayplay.replay.unit.streams import count_for


@inlined
def wait(core: Pipeline, sm: int, row: int, index: int, here: int, now: int, reason: int) -> None:
    """The warp may not issue until what it waits for has come."""
    core.unit[sm, WAITING] |= 1 << index
    stack.begin_wait(core, row, here, now, reason)


@inlined
def wake(core: Pipeline, sm: int, index: int, now: int) -> None:
    """What the warp waited for has come."""
    row = sm * core.schedulers + (index & (core.schedulers - 1))
    here = sm * core.warps + index
    core.unit[sm, WAITING] &= ~(1 << index)
    stack_shares.end_wait(core, row, here, now, core.warp[here, STREAM])
    stack.end_wait(core, row, here, now)


@compiled
def open_barrier(core: Pipeline, sm: int, at: int, now: int) -> None:
    """Every warp at the barrier of a CTA goes on."""
    waiting = core.barrier[at, 1]
    count_for(core, sm, core.warp[sm * core.warps + lowest_bit(waiting), STREAM])
    core.stats[sm, BARRIERS] += 1
    core.barrier[at, 1] = 0
    while waiting:
        index = lowest_bit(waiting)
        waiting &= waiting - 1
        wake(core, sm, index, now)


@inlined
def arrive(core: Pipeline, sm: int, row: int, index: int, here: int, now: int) -> None:
    """A warp reaches a barrier: it waits until every warp of its CTA that still runs has come."""
    at = sm * MAX_CTAS + core.warp[here, CTA]
    wait(core, sm, row, index, here, now, stack.BARRIER)
    core.barrier[at, 1] |= 1 << index
    if core.barrier[at, 1] == core.barrier[at, 0]:
        open_barrier(core, sm, at, now)


@inlined
def open_fence(core: Pipeline, caches: L1, sm: int, index: int, now: int) -> None:
    """A warp at a fence goes on: the L1 is emptied."""
    core.unit[sm, FENCES] &= ~(1 << index)
    wake(core, sm, index, now)
    l1.invalidate_sm(caches, sm)


@inlined
def pass_fence(core: Pipeline, caches: L1, sm: int, index: int, now: int) -> None:
    """The scheduler looks at a warp: if it is at a fence and all its registers are written, it goes on."""
    if (core.unit[sm, FENCES] >> index) & 1 and core.warp[sm * core.warps + index, WRITES] == 0:
        open_fence(core, caches, sm, index, now)
