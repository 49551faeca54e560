"""From shaded vertices to fragments, by the rules of a draw's state."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rayplay.formats.guard.errors import UserError
from rayplay.tracer.raster.assemble import assemble
from rayplay.tracer.raster.cover import cover
from rayplay.tracer.raster.crisp import cover_crisp
from rayplay.tracer.raster.fragments import Fragments
from rayplay.tracer.raster.state import DrawState, Framebuffer


def rasterise(
    positions: NDArray[Any], triangles: NDArray[np.uint32], framebuffer: Framebuffer, state: DrawState | None = None
) -> Fragments:
    """Fragments of a draw in the order of its warps; changes the framebuffer's depth.

    positions   float32[vertices, 4]: clip-space position of each vertex invocation, y upwards, 0 <= z <= w inside.
    triangles   uint32[n, 3]: their rows, as ``VertexBatches.triangles`` gives them, in the order of submission.
    framebuffer whose depth the early test reads and writes.
    state       the draw's; None is the default one.

    Raises ``UserError`` for positions of another shape and for a triangle beyond them. Triangles that are degenerate,
    behind the eye, or not finite cover nothing (``Fragments.counts``).
    """
    state = state or DrawState()
    placed = np.ascontiguousarray(positions, np.float32)
    if placed.ndim != 2 or placed.shape[1] != 4:
        raise UserError(f"positions must be of the shape (vertices, 4), found {placed.shape}")
    if len(triangles) and int(triangles.max()) >= len(placed):
        raise UserError(f"a triangle's vertex must be below the {len(placed)} positions, found {triangles.max()}")
    if state.rules == "crisp":
        return cover_crisp(placed, triangles, framebuffer, state)
    primitives, outcomes = assemble(placed, triangles, framebuffer.width, framebuffer.height, state.cull)
    return cover(primitives, framebuffer, state, outcomes)
