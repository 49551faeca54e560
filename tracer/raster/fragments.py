"""The fragments of a draw, as threads in the order in which warps run them, and varyings at them."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rayplay.tracer.native.jit import entry_point

QUAD = 4
WARP = 32


@dataclass(frozen=True, eq=False)
class Fragments:
    """Threads of a draw's fragment shader: 32 that follow each other are a warp.

    By the rules of hardware four threads are a quad of 2x2 pixels, upper left, upper right, lower left, lower right,
    eight quads a warp, and threads of a quad that are not ``live`` help with derivatives. By CRISP's rules all live.
    """

    x: NDArray[np.uint16]
    """uint16[n]: column of the pixel; a helper's may lie right of the picture."""
    y: NDArray[np.uint16]
    """uint16[n]: row of the pixel; a helper's may lie below the picture."""
    triangle: NDArray[np.uint32]
    """uint32[n]: row in the draw's triangles."""
    live: NDArray[np.bool_]
    """bool[n]: the triangle covers the pixel, and the early test passed."""
    weights: NDArray[np.float32]
    """float32[n, 2]: weights of the triangle's second and third vertex, perspective-correct; the first has the rest."""
    depth: NDArray[np.float32]
    """float32[n]."""
    counts: dict[str, int]
    """``OUTCOMES`` of triangles, ``primitives`` and ``covered`` pixels (rejected ones included), and ``quads``."""

    def __len__(self) -> int:
        return len(self.x)

    @property
    def warps(self) -> int:
        """How many warps run them; the last may be short."""
        return -(-len(self) // WARP)

    @property
    def coverage(self) -> NDArray[np.uint8]:
        """uint8[n / 4]: live threads of each quad, bit 0 upper left, 1 upper right, 2 lower left, 3 lower right."""
        return (self.live.reshape(-1, QUAD) << np.arange(QUAD, dtype=np.uint8)).sum(axis=1, dtype=np.uint8)

    def interpolate(self, varyings: NDArray[np.float32], triangles: NDArray[np.uint32]) -> NDArray[np.float32]:
        """float32[n, k]: varyings at the fragments; varyings: float32[vertices, k]; triangles: as rasterised."""
        made = np.empty((len(self), varyings.shape[1]), np.float32)
        _interpolate(np.ascontiguousarray(varyings), triangles, self.triangle, self.weights, made)
        return made


def empty_columns(rows: int) -> tuple[NDArray[Any], ...]:
    """Columns of ``Fragments`` to be filled."""
    return (
        np.empty(rows, np.uint16),
        np.empty(rows, np.uint16),
        np.empty(rows, np.uint32),
        np.empty(rows, np.bool_),
        np.empty((rows, 2), np.float32),
        np.empty(rows, np.float32),
    )


def first_rows(columns: tuple[NDArray[Any], ...], rows: int, counts: dict[str, int]) -> Fragments:
    """Fragments of the first rows of filled columns."""
    names = [field.name for field in fields(Fragments)]
    return Fragments(**dict(zip(names, (column[:rows].copy() for column in columns), strict=False)), counts=counts)


@entry_point
def _interpolate(
    varyings: np.ndarray, triangles: np.ndarray, triangle: np.ndarray, weights: np.ndarray, made: np.ndarray
) -> None:
    for row in range(len(triangle)):
        a, b, c = triangles[triangle[row], 0], triangles[triangle[row], 1], triangles[triangle[row], 2]
        second, third = weights[row, 0], weights[row, 1]
        for column in range(varyings.shape[1]):
            first = varyings[a, column]
            made[row, column] = first + second * (varyings[b, column] - first) + third * (varyings[c, column] - first)
