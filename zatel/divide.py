"""Step 4: divide the image plane into K groups (paper III-D)."""

import numpy as np

CHUNK_WIDTH = 32  # pixels: the threads of a warp
CHUNK_HEIGHT = 2  # pixels: small, so that each group sees the whole scene (paper III-D)


def divide(width: int, height: int, groups: int) -> np.ndarray:
    """int32[height, width]: the group of each pixel, by the fine-grained method of the paper's Fig. 6.

    Chunks of 32x2 pixels are dealt in turn: chunk (x, y) goes to group (x + y) mod K, so that neighbours along both
    axes differ. Chunks at the right and lower edge may be smaller.
    """
    column = np.arange(width) // CHUNK_WIDTH
    row = np.arange(height) // CHUNK_HEIGHT
    return ((row[:, None] + column[None, :]) % groups).astype(np.int32)


def section_blocks(width: int, height: int) -> np.ndarray:
    """int32[height, width]: the section block of each pixel, numbered row by row.

    Blocks are 32x2 pixels (paper III-E and IV-C), so with the fine-grained division a block is a chunk.
    """
    columns = -(-width // CHUNK_WIDTH)
    row = np.arange(height) // CHUNK_HEIGHT
    return (row[:, None] * columns + np.arange(width) // CHUNK_WIDTH).astype(np.int32)
