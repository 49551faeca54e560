"""End of a visit: rays of a trace operation, if it ends with one, go to the RT unit; its cycles go to its lanes."""

from typing import Any

import numpy as np

from rayplay.replay.input.work import LANES, Work
from rayplay.replay.jit.bits import compiled, inlined
from rayplay.replay.rt import entry as rt_entry
from rayplay.replay.rt.state import RtUnit
from rayplay.replay.sm import warps


@inlined
def traces(core: Any, work: Work, here: int) -> bool:
    """Whether a warp's current visit ends with a trace operation."""
    warp = core.warp
    trace, visit = warp[here, warps.TRACE], warp[here, warps.VISIT] - warp[here, warps.FIRST_VISIT]
    return bool(trace < warp[here, warps.TRACE_END] and work.trace_visit[trace] == visit)


@inlined
def end_visit(
    core: Any, rays: RtUnit, work: Work, lane_cycles: np.ndarray, sm: int, now: int, index: int, here: int
) -> bool:
    """The last instruction of a warp's visit issues: the warp moves to its next visit.

    Returns whether there are rays, which the RT unit takes from the next cycle on: the model then holds the warp.
    """
    warp = core.warp
    account_lanes(core, lane_cycles, here, now, warp[here, warps.MASK])
    traced = traces(core, work, here)
    if traced:
        warp[here, warps.TRACE_MASK] = warp[here, warps.MASK]
        rt_entry.enqueue(rays, sm, now + 1, index, warp[here, warps.TRACE], warp[here, warps.STREAM])
        warp[here, warps.TRACE] += 1
    warp[here, warps.VISIT] += 1
    return traced


@compiled
def account_lanes(core: Any, lane_cycles: np.ndarray, here: int, now: int, mask: int) -> None:
    """Add the cycles since the last call to the lanes in ``mask``."""
    elapsed = now - core.warp[here, warps.SINCE]
    core.warp[here, warps.SINCE] = now
    if lane_cycles.shape[0] > 1:
        row = lane_cycles[core.warp[here, warps.NUMBER]]
        for lane in range(LANES):
            row[lane] += elapsed * ((mask >> lane) & 1)
