"""Set sampling: which lines the functional caches follow, in compiled code.

A cache of one in 2^n sets, sent the requests for the lines of these sets alone, misses as often as the whole cache.
Source: C. A. Waldspurger et al., Efficient MRC construction with SHARDS, FAST 2015.
"""

from typing import Any

import numpy as np
from numba import njit

from rayplay.formats.guard.code_cache import kept
from rayplay.zatel import CODE

jit: Any = njit  # its stub lacks an option used here
loop: Any = kept(jit(cache=True), CODE)
# Of functions that allocate nothing: no references are counted (atomic counters took up to two thirds of the time).
inner: Any = kept(jit(cache=True, _nrt=False), CODE)

MOST_SHIFT = 6  # one of 2^6 lines is followed at least: of the 512 of an L1 of 64 KB eight are left
GOLDEN, MIX = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)


@inner
def spread(line: int) -> int:
    """31 well-mixed bits of a line number (splitmix64's last steps)."""
    mixed = np.uint64(line) * GOLDEN
    mixed = (mixed ^ (mixed >> np.uint64(30))) * MIX
    return int((mixed ^ (mixed >> np.uint64(27))) >> np.uint64(33))


@inner
def is_followed(line: int, only: int) -> bool:
    """Whether set sampling follows a line; caches choose their sets by the bits from ``MOST_SHIFT`` on."""
    return spread(line) & only == 0


def followed(line: np.ndarray, shift: int) -> np.ndarray:
    """Lines followed by set sampling of one in 2^``shift``, bool[lines]; caches shrink by the same factor."""
    return np.asarray(which_are_followed(line, (1 << shift) - 1))


@loop
def which_are_followed(line: np.ndarray, only: int) -> np.ndarray:
    """``is_followed`` of each line: bool[lines]."""
    return np.array([is_followed(number, only) for number in line], np.bool_)
