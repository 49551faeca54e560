"""Writes of fragments to the framebuffer: the late depth test of shaders that discard, and blending.

Source: Vulkan specification, "Blending"; colours are linear.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rayplay.formats.guard.errors import UserError
from rayplay.tracer.native.jit import compiled, entry_point
from rayplay.tracer.raster.cover import passes
from rayplay.tracer.raster.crisp import PASSES
from rayplay.tracer.raster.fragments import Fragments
from rayplay.tracer.raster.state import BLENDS, COMPARES, DrawState, Framebuffer

OPAQUE, ALPHA, ADDITIVE = range(len(BLENDS))


def write_colours(
    framebuffer: Framebuffer,
    state: DrawState,
    fragments: Fragments,
    colours: NDArray[np.float32],
    kept: NDArray[np.bool_] | None = None,
) -> int:
    """Write the colours of a draw's live fragments in their order; returns how many were written.

    colours   float32[n, 4], linear RGB and alpha, of every fragment, helpers included.
    kept      bool[n]: False where the shader discarded; only a state that ``discards`` may have it.

    Where the state discards, each fragment is tested again and writes its depth here. Raises ``UserError`` for a
    discard that the state does not announce: its depth is written already.
    """
    if kept is not None and not state.discards:
        raise UserError("fragments can be discarded only in a draw whose state has discards=True")
    written = fragments.live if kept is None else fragments.live & kept
    compare = PASSES[state.depth_compare] if state.rules == "crisp" else COMPARES.index(state.depth_compare)
    return int(
        _write(
            framebuffer.colour, framebuffer.depth, fragments.x, fragments.y, written, fragments.depth, colours,
            BLENDS.index(state.blend), compare, state.discards, state.depth_write,
        )
    )  # fmt: skip


@entry_point
def _write(
    target: np.ndarray, depth: np.ndarray, x: np.ndarray, y: np.ndarray, written: np.ndarray, z: np.ndarray,
    colours: np.ndarray, blend: int, compare: int, tests: bool, writes_depth: bool,
) -> int:  # fmt: skip
    count = 0
    for row in range(len(written)):
        if not written[row]:
            continue
        old = depth[y[row], x[row]]
        if tests and not passes(compare, z[row], old):
            continue
        if tests and writes_depth:
            depth[y[row], x[row]] = z[row]
        _blend(target[y[row], x[row]], colours[row], blend)
        count += 1
    return count


@compiled
def _blend(target: Any, colour: Any, blend: int) -> None:
    one = np.float32(1.0)
    alpha = colour[3]
    for channel in range(4):
        if blend == OPAQUE:
            target[channel] = colour[channel]
        elif blend == ALPHA:
            own = alpha * colour[channel] if channel < 3 else alpha
            target[channel] = own + (one - alpha) * target[channel]
        else:
            target[channel] = target[channel] + colour[channel]
