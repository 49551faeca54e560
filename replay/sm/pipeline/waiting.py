"""Waits of the pipelined SM's warps besides registers: a barrier, a fence, an atomic, rays.

Source: ``docs/sources/accel-sim.md#execution-model, #asynchronous-copies``.
"""

from rayplay.replay.jit.bits import inlined, lowest_bit
from rayplay.replay.memory import l1
from rayplay.replay.sm import barrier, warps
from rayplay.replay.sm.pipeline import state as pipe
from rayplay.replay.unit import cycle_stack as stack
from rayplay.replay.unit import cycle_stack_streams as stack_shares


@inlined
def wait(core: pipe.Pipeline, sm: int, row: int, index: int, here: int, now: int, reason: int) -> None:
    """The warp may not issue until what it waits for has come."""
    core.unit[sm, pipe.WAITING] |= 1 << index
    stack.begin_wait(core, row, here, now, reason)


@inlined
def wake(core: pipe.Pipeline, sm: int, index: int, now: int) -> None:
    """The warp's wait ends."""
    row = sm * core.schedulers + (index & (core.schedulers - 1))
    here = sm * core.warps + index
    core.unit[sm, pipe.WAITING] &= ~(1 << index)
    stack_shares.end_wait(core, row, here, now, core.warp[here, warps.STREAM])
    stack.end_wait(core, row, here, now)


@inlined
def arrive(core: pipe.Pipeline, sm: int, row: int, index: int, here: int, now: int) -> None:
    """A warp reaches a barrier: it waits until the barrier opens."""
    wait(core, sm, row, index, here, now, stack.BARRIER)
    pass_barrier(core, sm, now, barrier.arrive(core, sm, index))


@inlined
def pass_barrier(core: pipe.Pipeline, sm: int, now: int, arrived: int) -> None:
    """The warps of a mask pass their barrier."""
    while arrived:
        wake(core, sm, lowest_bit(arrived), now)
        arrived &= arrived - 1


@inlined
def open_fence(core: pipe.Pipeline, caches: l1.L1, sm: int, index: int, now: int) -> None:
    """A warp at a fence goes on: the L1 is emptied, if it is one that idle SMs empty."""
    core.unit[sm, pipe.FENCES] &= ~(1 << index)
    wake(core, sm, index, now)
    l1.forget_idle(caches, sm)


@inlined
def pass_fence(core: pipe.Pipeline, caches: l1.L1, sm: int, index: int, now: int) -> None:
    """The scheduler looks at a warp: if it is at a fence and all its registers are written, it goes on."""
    if (core.unit[sm, pipe.FENCES] >> index) & 1 and core.warp[sm * core.warps + index, pipe.WRITES] == 0:
        open_fence(core, caches, sm, index, now)
