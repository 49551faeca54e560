"""Step 4: divide the image plane into K groups (Zatel III-D), and groups into section blocks (Zatel III-E)."""

import math

import numpy as np

BLOCK = (32, 2)  # pixels: the threads of a warp, and few rows, so that each group sees the whole scene (Zatel III-D)


def divide(
    width: int,
    height: int,
    groups: int,
    division: str = "fine",
    chunk: tuple[int, int] = BLOCK,
    is_released: bool = False,
) -> np.ndarray:
    """int32[height, width]: the group of each pixel.

    division     ``fine``: chunks are dealt in turn, chunk (x, y) to group (x + y) mod K, so that neighbours along both
                 axes differ (Fig. 6). ``coarse``: a grid of K tiles, as square as K allows, at least as many rows as
                 columns (Fig. 5: 3 rows, 2 columns).
    chunk        width and height of a chunk of the fine division; those at the right and lower edge may be smaller.
    is_released  number fine groups as the released code does, chunk (x, y) being in group i where (i + x + y) mod K is
                 0; and make coarse tiles of the rounded-up size, so that the last ones are smaller.
    """
    if division == "coarse":
        columns = max(factor for factor in range(1, math.isqrt(groups) + 1) if groups % factor == 0)
        rows = groups // columns
        row, column = _tiles(height, rows, is_released), _tiles(width, columns, is_released)
        return (row[:, None] * columns + column[None, :]).astype(np.int32)
    column = np.arange(width) // chunk[0]
    row = np.arange(height) // chunk[1]
    turn = row[:, None] + column[None, :]
    return ((-turn if is_released else turn) % groups).astype(np.int32)


def _tiles(length: int, count: int, is_released: bool) -> np.ndarray:
    """int64[length]: which of ``count`` tiles each place along an axis is in."""
    places = np.arange(length)
    return places // -(-length // count) if is_released else places * count // length


def section_blocks(members: np.ndarray, block: tuple[int, int] = BLOCK) -> np.ndarray:
    """int64[pixels]: the section block of each pixel of a group, ``members`` being bool[height, width], row by row.

    The grid of blocks begins at the group's top left corner: with the fine division a block is a chunk (Zatel III-E).
    """
    y, x = np.nonzero(members)
    column, row = (x - x.min()) // block[0], (y - y.min()) // block[1]
    return row * (int(column.max()) + 1) + column
