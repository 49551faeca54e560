"""Tiles of 8x8 pixels, in Z order, and the primitives that meet each, in the order of submission.

A primitive is put into every tile whose pixel centres no edge shuts out as a whole. Binning does not change what a
pixel sees, since each belongs to one tile; it brings fragments that lie together into the same warps
(``docs/sources/crisp.md#fragments-and-warps``).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rayplay.tracer.native.jit import compiled, entry_point, inlined
from rayplay.tracer.raster.assemble import SUBPIXELS, Primitives

TILE = 8
TILE_QUADS = 16
_LAST = (TILE - 1) * SUBPIXELS
HALF = SUBPIXELS // 2


class Bins(NamedTuple):
    """Primitives by tile."""

    order: NDArray[np.int64]
    """int64[tiles]: tiles in Z order; a tile's number is its row times the tiles of a row, plus its column."""
    starts: NDArray[np.int64]
    """int64[tiles + 1]: first entry of each tile, by number."""
    entries: NDArray[np.int32]
    """int32[n]: primitives, tile after tile."""
    most_quads: int
    """An upper bound of the quads that primitives cover."""


def bin_primitives(primitives: Primitives, width: int, height: int) -> Bins:
    """Bins of the primitives on a framebuffer."""
    columns, rows = -(-width // TILE), -(-height // TILE)
    starts = np.zeros(columns * rows + 1, np.int64)
    most_quads = _count(primitives.corners, width, height, columns, starts)
    np.cumsum(starts, out=starts)
    entries = np.empty(int(starts[-1]), np.int32)
    _fill(primitives.corners, width, height, columns, starts[:-1].copy(), entries)
    return Bins(z_order(columns, rows), starts, entries, most_quads)


def z_order(columns: int, rows: int) -> NDArray[np.int64]:
    """int64[columns * rows]: cells of a grid, numbered row by row, by the interleaved bits of column and row."""
    y, x = np.divmod(np.arange(columns * rows), columns)
    code = np.zeros(columns * rows, np.int64)
    for bit in range(max(columns, rows).bit_length()):
        code |= (x >> bit & 1) << 2 * bit | (y >> bit & 1) << 2 * bit + 1
    return np.argsort(code, kind="stable")


@inlined
def edge(corners: np.ndarray, number: int, x: int, y: int) -> tuple[int, int, int]:
    """Edge opposite to corner ``number``: its function at a point of the grid, and its change along x and y.

    The function is positive inside. A point on the edge belongs to the primitive whose top or left edge it is; for
    others the function is lowered by one, so that >= 0 means covered.
    """
    first, second = (number + 1) % 3, (number + 2) % 3
    px, py = np.int64(corners[first, 0]), np.int64(corners[first, 1])
    dx, dy = corners[second, 0] - px, corners[second, 1] - py
    is_top_left = dy < 0 or (dy == 0 and dx > 0)
    return dx * (y - py) - dy * (x - px) - (0 if is_top_left else 1), -dy, dx


@compiled
def _box(corners: np.ndarray, width: int, height: int) -> tuple[int, int, int, int]:
    """First and last column, first and last row of the pixels whose centres lie in the corners' box."""
    low_x, high_x = min(corners[0, 0], corners[1, 0], corners[2, 0]), max(corners[0, 0], corners[1, 0], corners[2, 0])
    low_y, high_y = min(corners[0, 1], corners[1, 1], corners[2, 1]), max(corners[0, 1], corners[1, 1], corners[2, 1])
    return (
        max((low_x - HALF + SUBPIXELS - 1) // SUBPIXELS, 0),
        min((high_x - HALF) // SUBPIXELS, width - 1),
        max((low_y - HALF + SUBPIXELS - 1) // SUBPIXELS, 0),
        min((high_y - HALF) // SUBPIXELS, height - 1),
    )


@compiled
def _meets(corners: np.ndarray, column: int, row: int) -> bool:
    """Whether no edge has all pixel centres of a tile on its outer side."""
    x, y = column * TILE * SUBPIXELS + HALF, row * TILE * SUBPIXELS + HALF
    for number in range(3):
        value, along_x, along_y = edge(corners, number, x, y)
        if value + max(along_x, 0) * _LAST + max(along_y, 0) * _LAST < 0:
            return False
    return True


@entry_point
def _count(corners: np.ndarray, width: int, height: int, columns: int, counts: np.ndarray) -> int:
    """Add the entries of each tile to ``counts``, one place on; returns a bound of the quads."""
    quads = 0
    for primitive in range(len(corners)):
        x0, x1, y0, y1 = _box(corners[primitive], width, height)
        if x0 > x1 or y0 > y1:
            continue
        for row in range(y0 // TILE, y1 // TILE + 1):
            high = min(y1 // 2, row * 4 + 3) - max(y0 // 2, row * 4) + 1
            for column in range(x0 // TILE, x1 // TILE + 1):
                if _meets(corners[primitive], column, row):
                    counts[row * columns + column + 1] += 1
                    quads += high * (min(x1 // 2, column * 4 + 3) - max(x0 // 2, column * 4) + 1)
    return quads


@entry_point
def _fill(corners: np.ndarray, width: int, height: int, columns: int, places: np.ndarray, entries: np.ndarray) -> None:
    """Put primitives into ``entries``; places: int64[tiles], where each tile begins."""
    for primitive in range(len(corners)):
        x0, x1, y0, y1 = _box(corners[primitive], width, height)
        if x0 > x1 or y0 > y1:
            continue
        for row in range(y0 // TILE, y1 // TILE + 1):
            for column in range(x0 // TILE, x1 // TILE + 1):
                if _meets(corners[primitive], column, row):
                    tile = row * columns + column
                    entries[places[tile]] = primitive
                    places[tile] += 1
