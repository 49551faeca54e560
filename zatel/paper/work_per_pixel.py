"""Loop over visits, compiled."""

from typing import Any

import numpy as np
from numba import njit

from rayplay.formats.guard.code_cache import kept
from rayplay.zatel import CODE

loop: Any = kept(njit(cache=True), CODE)


@loop
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
