"""The loops over visits, addresses and records that numba compiles.

The machine-code cache is announced here and not in the package's ``__init__``, so that a process that only replays a
group uses the very cache of ``python -m replay``.
"""

from pathlib import Path

import numpy as np
from numba import njit

from formats.code_cache import use_numba_cache

use_numba_cache(Path(__file__).parent)


@njit(cache=True)
def add_visits(
    warps: np.ndarray, instructions: np.ndarray, masks: np.ndarray, pixels: np.ndarray, work: np.ndarray
) -> None:
    """Add the ``instructions`` of each visit to the ``work`` of the pixels of its active lanes.

    pixels  int32[warps, 32], the pixel of each lane, negative for a lane without one.
    """
    for row in range(warps.size):
        mask = masks[row]
        for lane in range(32):
            if (mask >> np.uint32(lane)) & np.uint32(1):
                pixel = pixels[warps[row], lane]
                if pixel >= 0:
                    work[pixel] += instructions[row]


@njit(cache=True)
def mask_visits(
    warp: np.ndarray, block: np.ndarray, active_mask: np.ndarray, selected: np.ndarray, whole: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The mask that each visit keeps, uint32, and the ordinal in its warp of the last kept visit up to it, int64.

    selected  uint32[warps], lanes that stay. whole  bool[blocks], blocks whose visits keep all their lanes.
    """
    masks = np.empty(warp.size, np.uint32)
    ordinals = np.empty(warp.size, np.int64)
    kept = -1
    for row in range(warp.size):
        if row == 0 or warp[row] != warp[row - 1]:
            kept = -1
        mask = active_mask[row]
        if not whole[block[row]]:
            mask &= selected[warp[row]]
        if mask != 0:
            kept += 1
        masks[row] = mask
        ordinals[row] = kept
    return masks, ordinals


@njit(cache=True)
def compress(old: np.ndarray, new: np.ndarray, values: np.ndarray, total: int) -> np.ndarray:
    """Of the values, one per set bit of the masks ``old``, the ``total`` ones whose bit is set in ``new``."""
    kept = np.empty(total, values.dtype)
    read = 0
    written = 0
    for row in range(old.size):
        before = old[row]
        after = new[row]
        while before != 0:
            lowest = before & (~before + np.uint32(1))
            if after & lowest:
                kept[written] = values[read]
                written += 1
            read += 1
            before ^= lowest
    return kept


@njit(cache=True)
def take_lists(values: np.ndarray, offset: np.ndarray, rows: np.ndarray, total: int) -> np.ndarray:
    """The lists of the given rows, ``total`` values, one after the other."""
    taken = np.empty(total, values.dtype)
    written = 0
    for row in rows:
        for place in range(offset[row], offset[row + 1]):
            taken[written] = values[place]
            written += 1
    return taken
