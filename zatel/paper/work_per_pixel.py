"""The loop over visits that numba compiles.

The machine-code cache is announced here and not in the package's ``__init__``, so that a process that only replays a
group uses the very cache of ``python -m replay``.
"""

import numpy as np
from numba import njit

from rayplay.formats.guard.code_cache import use_numba_cache

use_numba_cache("zatel")


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
