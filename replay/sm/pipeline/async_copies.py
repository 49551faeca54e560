"""Groups of asynchronous copies (LDGSTS, ``cp.async``) of the warps of the pipelined SM.

A copy belongs to the group that is being filled when it issues; COMMIT (LDGDEPBAR, ``cp.async.commit_group``) ends that
group, and AWAIT n (DEPBAR, ``cp.async.wait_group n``) holds its warp until all groups that have ended but the latest n
are done. A copy is done when the last of its data has been written. Of more than GROUPS - 1 groups under way the latest
are one. Source: ``docs/sources/accel-sim.md#asynchronous-copies``.
"""

from rayplay.replay.jit.bits import compiled, inlined
from rayplay.replay.jit.rows import wrap
from rayplay.replay.sm.pipeline import state as pipe
from rayplay.replay.sm.pipeline.waiting import wait, wake
from rayplay.replay.unit import cycle_stack as stack


@inlined
def begin_copy(core: pipe.Pipeline, here: int) -> None:
    """A copy issues."""
    core.copies[here, pipe.UNDER_WAY + wrap(core.copies[here, pipe.LAST_GROUP], pipe.GROUPS)] += 1


@inlined
def pass_done(core: pipe.Pipeline, here: int) -> None:
    """Move to the first group that still has copies under way, or to the one that is being filled."""
    first = core.copies[here, pipe.FIRST_GROUP]
    while (
        first < core.copies[here, pipe.LAST_GROUP] and core.copies[here, pipe.UNDER_WAY + wrap(first, pipe.GROUPS)] == 0
    ):
        first += 1
    core.copies[here, pipe.FIRST_GROUP] = first


@compiled
def end_group(core: pipe.Pipeline, sm: int, here: int) -> None:
    """The copies that have issued since the last group are one; what follows belongs to the next."""
    last = core.copies[here, pipe.LAST_GROUP]
    if last - core.copies[here, pipe.FIRST_GROUP] == pipe.GROUPS - 1:
        return
    core.copies[here, pipe.ENDED_BY + wrap(last, pipe.GROUPS)] = core.unit[sm, pipe.SERIAL]
    core.copies[here, pipe.LAST_GROUP] = last + 1
    core.copies[here, pipe.UNDER_WAY + wrap(last + 1, pipe.GROUPS)] = 0
    pass_done(core, here)


@compiled
def await_groups(core: pipe.Pipeline, sm: int, row: int, index: int, here: int, now: int, spared: int) -> None:
    """The warp waits until all groups that have ended, but the latest ``spared``, are done."""
    until = core.copies[here, pipe.LAST_GROUP] - spared
    if core.copies[here, pipe.FIRST_GROUP] < until:
        core.copies[here, pipe.AWAITED] = until
        wait(core, sm, row, index, here, now, stack.MEMORY)


@compiled
def end_copy(core: pipe.Pipeline, sm: int, index: int, here: int, now: int, serial: int) -> None:
    """A copy is done, by its serial number; its warp may have waited for that."""
    group = core.copies[here, pipe.FIRST_GROUP]
    while (
        group < core.copies[here, pipe.LAST_GROUP]
        and core.copies[here, pipe.ENDED_BY + wrap(group, pipe.GROUPS)] < serial
    ):
        group += 1
    core.copies[here, pipe.UNDER_WAY + wrap(group, pipe.GROUPS)] -= 1
    pass_done(core, here)
    if core.copies[here, pipe.AWAITED] and core.copies[here, pipe.FIRST_GROUP] >= core.copies[here, pipe.AWAITED]:
        core.copies[here, pipe.AWAITED] = 0
        wake(core, sm, index, now)
