"""Positions of triangles on a framebuffer, and counts of what they cover."""

import numpy as np

from rayplay.tracer.raster import DrawState, Fragments, Framebuffer, rasterise

ALWAYS = DrawState(depth_compare="always")


def placed(points: np.ndarray, width: int, height: int, z: float | np.ndarray = 0.5) -> np.ndarray:
    """float32[n, 4]: clip-space positions whose projections are pixels, exact for sides that are powers of two."""
    points = np.asarray(points, np.float64)
    made = np.ones((len(points), 4))
    made[:, 0], made[:, 1] = points[:, 0] * 2 / width - 1, 1 - points[:, 1] * 2 / height
    made[:, 2] = z
    return made.astype(np.float32)


def soup(corners: np.ndarray) -> np.ndarray:
    """uint32[n, 3]: triangles that share no vertex."""
    return np.arange(len(corners), dtype=np.uint32).reshape(-1, 3)


def times_covered(fragments: Fragments, width: int, height: int) -> np.ndarray:
    """int[height, width]: live fragments of each pixel."""
    made = np.zeros((height, width), np.int64)
    np.add.at(made, (fragments.y[fragments.live], fragments.x[fragments.live]), 1)
    return made


def coverage(
    positions: np.ndarray, triangles: np.ndarray, width: int, height: int, state: DrawState = ALWAYS
) -> np.ndarray:
    """int[height, width]: how often each pixel is covered."""
    return times_covered(rasterise(positions, triangles, Framebuffer.cleared(width, height), state), width, height)
