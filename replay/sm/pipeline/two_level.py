"""Policy two-level of the pipelined SM: which warps a scheduler looks at, and in what order.

The first ``active_warps`` of a scheduler's pool are active, the others pend. In every cycle of the SM the active warps
that wait (barrier, fence, atomic, copies, rays), have nothing to do, or would read a register that a load from memory
wrote last, even if it is done, go to the pool's end, so that as many pending warps, waiting or not, become active. The
first active warp that is able issues; it and those before it are the last of the active ones then. Source:
``docs/sources/accel-sim.md#two-level-scheduler``.
"""

from rayplay.replay.jit.bits import compiled, inlined
from rayplay.replay.memory.l1 import L1
from rayplay.replay.sm import warps
from rayplay.replay.sm.pipeline import state as pipe
from rayplay.replay.sm.pipeline.scoreboard import reads_long
from rayplay.replay.sm.pipeline.waiting import pass_fence


@compiled
def choose_active(core: pipe.Pipeline, caches: L1, sm: int, row: int, scheduler: int, now: int, hindered: int) -> int:
    """The warp that issues, or -1. ``hindered``: mask of the warps whose latch is full."""
    admit(core, caches, sm, row, scheduler, now)
    unit = core.unit
    for place in range(core.active_warps):
        index = core.pool[row, place] * core.schedulers + scheduler
        pass_fence(core, caches, sm, index, now)
        able = unit[sm, pipe.VALID] & ~unit[sm, pipe.WAITING] & ~unit[sm, pipe.COLLIDES] & ~hindered
        if (able >> index) & 1:
            core.row[row, pipe.TURN] = place
            turn(core, row, place)
            return int(index)
    return -1


@inlined
def admit(core: pipe.Pipeline, caches: L1, sm: int, row: int, scheduler: int, now: int) -> None:
    """Send the active warps that wait to the end of the pool, in their order."""
    pool, size = core.pool[row], core.pool.shape[1] // 2
    kept = sent = 0
    for place in range(core.active_warps):
        position = pool[place]
        index = position * core.schedulers + scheduler
        pass_fence(core, caches, sm, index, now)
        waits = core.unit[sm, pipe.WAITING] | core.unit[sm, pipe.ENDED_WARPS] | ~core.unit[sm, pipe.LIVE]
        here, buffered = sm * core.warps + index, (core.unit[sm, pipe.VALID] >> index) & 1
        if (waits >> index) & 1 or (buffered and reads_long(core, here, core.warp[here, warps.INSTRUCTION])):
            pool[size + sent] = position
            sent += 1
        else:
            pool[kept] = position
            kept += 1
    for place in range(core.active_warps, size):
        pool[kept] = pool[place]
        kept += 1
    for place in range(sent):
        pool[kept + place] = pool[size + place]


@inlined
def turn(core: pipe.Pipeline, row: int, place: int) -> None:
    """The active warp of a place issues: those behind it come before it and those in front of it."""
    pool, size = core.pool[row], core.pool.shape[1] // 2
    for index in range(core.active_warps):
        pool[size + index] = pool[(place + 1 + index) % core.active_warps]
    for index in range(core.active_warps):
        pool[index] = pool[size + index]
