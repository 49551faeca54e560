"""The loops over masks, addresses and lists that numba compiles for ``filter_rows``."""

from typing import Any

import numpy as np
from numba import njit

from rayplay.formats.guard.code_cache import kept

loop: Any = kept(njit(cache=True), ["formats/edit/filter_loops.py"])


@loop
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


@loop
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


@loop
def take_lists(values: np.ndarray, offset: np.ndarray, rows: np.ndarray, total: int) -> np.ndarray:
    """The lists of the given rows, ``total`` values, one after the other."""
    taken = np.empty(total, values.dtype)
    written = 0
    for row in rows:
        for place in range(offset[row], offset[row + 1]):
            taken[written] = values[place]
            written += 1
    return taken
