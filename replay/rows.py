"""Where the units' arrays lie in the host's memory: what is used together, in one line of its caches."""

import numpy as np

CACHE_LINE_WORDS = 8  # of 8 bytes


def aligned_rows(rows: int, columns: int) -> np.ndarray:
    """int64[rows, columns] of zeros that begins at a line of the host's caches: with 8 columns each row is one."""
    words = np.zeros(rows * columns + CACHE_LINE_WORDS, np.int64)
    first = -(words.ctypes.data >> 3) % CACHE_LINE_WORDS
    return words[first : first + rows * columns].reshape(rows, columns)


def ring_size(entries: int) -> int:
    """The power of two with room for so many entries: places of a ring are found by a mask."""
    return 1 << (entries - 1).bit_length()
