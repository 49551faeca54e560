"""The trace call that the running program belongs to, and the tables of its launch."""

from collections.abc import Callable

import numpy as np

from rayplay.tracer.abi.layout import LANES
from rayplay.tracer.abi.trace_frame import FRAME
from rayplay.tracer.abi.words import KIND, VIEW
from rayplay.tracer.interp.values import Lanes
from rayplay.tracer.link.launches import ImageLaunch
from rayplay.tracer.warp.arrays import nodes_of
from rayplay.tracer.warp.warps import Warps


def take(table: np.ndarray, index: np.ndarray, lanes: np.ndarray) -> np.ndarray:
    """Entries of a table per lane, 0 beyond it and outside ``lanes``."""
    made = np.zeros(LANES, table.dtype)
    for lane in np.flatnonzero(lanes & (index.astype(np.uint64) < np.uint64(len(table)))):
        made[lane] = table[int(index[lane])]
    return made


class TraceState:
    """The trace call that the innermost program belongs to."""

    def __init__(self, warps: Warps, launch: ImageLaunch, callables: np.ndarray) -> None:
        self.warps = warps
        self.launch = launch
        self.nodes = nodes_of(launch)
        self.callables = callables.astype(np.uint64)
        self.depth = 0
        self.view = warps.views[0]

    @property
    def frame(self) -> np.ndarray:
        """uint32[len(FRAME), 32] of the program's own trace call."""
        return self.warps.frames[self.depth - 1]

    @property
    def next_frame(self) -> np.ndarray:
        """The frame of a trace call made now."""
        return self.warps.frames[self.depth]

    @property
    def object(self) -> np.ndarray:
        """The hit object of the running program, uint32[len(FRAME), 32]."""
        return self.warps.objects[self.depth]

    def hit(self, field: str) -> np.ndarray:
        """A field of the candidate in any-hit and intersection programs, of the committed hit in the others."""
        which = "candidate" if self.view[VIEW.kind] >= KIND.any_hit else "committed"
        return self.frame[FRAME[f"{which}_{field}"]].copy()

    def t_max(self) -> np.ndarray:
        """The ray's end as the program's kind sees it."""
        kind = self.view[VIEW.kind]
        name = "candidate_t" if kind == KIND.any_hit else "t_max" if kind == KIND.miss else "committed_t"
        return self.frame[FRAME[name]].copy()


Handler = Callable[[Lanes, TraceState, list[np.ndarray]], list[np.ndarray]]
"""A getter: arguments to results."""
