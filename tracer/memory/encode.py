"""Pictures as BC1 and BC3 blocks: the same bytes on every machine, in whole numbers alone.

Endpoints of a block's colours are corners of the box around them, or of a box smaller by 1/16 at each end, along
one of its four diagonals: the choice with the least squared error. In a block of one colour a channel errs by
half a step of 5 or 6 bits at most, 4.2 and 2.1 of 255; alpha of BC3 by 1/14 of its range in the block at most. BC1
makes texels with an alpha below 128 transparent black, the others opaque. Texels beyond the picture repeat its last
ones.
"""

import numpy as np
from numpy.typing import NDArray

from rayplay.tracer.native.jit import compiled, entry_point

SIDE = 4
OPAQUE = 128
SCALES = (63, 31, 63)
"""Factors that bring errors of 6 * 31 parts and of 6 * 63 to one unit."""


@entry_point
def encode(texels: NDArray[np.uint8], with_alpha: bool) -> NDArray[np.uint8]:
    """uint8[rows, columns, 16] BC3 blocks, or [.., 8] BC1 blocks, of uint8[height, width, 4] texels."""
    height, width = texels.shape[0], texels.shape[1]
    first = 8 if with_alpha else 0
    made = np.zeros((-(-height // SIDE), -(-width // SIDE), 8 + first), np.uint8)
    block, codes = np.zeros((16, 4), np.int64), np.zeros((2, 16), np.int64)
    for row in range(made.shape[0]):
        for column in range(made.shape[1]):
            for texel in range(16):
                y, x = SIDE * row + (texel >> 2), SIDE * column + (texel & 3)
                for number in range(4):
                    block[texel, number] = texels[min(y, height - 1), min(x, width - 1), number]
            if with_alpha:
                _put_alpha(block, made[row, column])
            _put_colours(block, with_alpha, codes, made[row, column, first:])
    return made


@compiled
def _put_alpha(block: NDArray[np.int64], out: NDArray[np.uint8]) -> None:
    high, low = block[:, 3].max(), block[:, 3].min()
    out[0], out[1] = high, low
    for texel in range(16):
        best, code = 1 << 30, 0
        for number in range(8 if high > low else 1):
            share = 7 * number if number < 2 else number - 1
            error = abs((7 - share) * high + share * low - 7 * block[texel, 3])
            if error < best:
                best, code = error, number
        for bit in range(3):
            place = 3 * texel + bit
            out[2 + (place >> 3)] |= (code >> bit & 1) << (place & 7)


@compiled
def _put_colours(block: NDArray[np.int64], with_alpha: bool, codes: NDArray[np.int64], out: NDArray[np.uint8]) -> None:
    is_thirds, some = True, False
    for texel in range(16):
        is_shown = with_alpha or block[texel, 3] >= OPAQUE
        is_thirds, some = is_thirds and is_shown, some or is_shown
    best, first, second = -1, 0, 0
    for choice in range(8 if some else 0):
        ends = _ends(block, with_alpha, choice)
        if (ends[0] < ends[1]) == is_thirds:
            ends = ends[1], ends[0]
        error = _fit(block, with_alpha, is_thirds, ends, codes[0])
        if best < 0 or error < best:
            best, first, second = error, ends[0], ends[1]
            codes[1] = codes[0]
    if not some:
        codes[1] = 3
    out[0], out[1], out[2], out[3] = first & 255, first >> 8, second & 255, second >> 8
    for texel in range(16):
        out[4 + (texel >> 2)] |= codes[1, texel] << 2 * (texel & 3)


@compiled
def _ends(block: NDArray[np.int64], with_alpha: bool, choice: int) -> tuple[int, int]:
    """Two corners of the box around the colours, 5:6:5: along diagonal ``choice`` & 3, pulled in where 4 is set."""
    first, second = 0, 0
    for number in range(3):
        low, high = 255, 0
        for texel in range(16):
            if with_alpha or block[texel, 3] >= OPAQUE:
                low, high = min(low, block[texel, number]), max(high, block[texel, number])
        inset = high - low >> 4 if choice & 4 else 0
        low, high = low + inset, high - inset
        if number > 0 and choice >> number - 1 & 1:
            low, high = high, low
        bits = 6 if number == 1 else 5
        top = (1 << bits) - 1
        first = first << bits | (high * top + 127) // 255
        second = second << bits | (low * top + 127) // 255
    return first, second


@compiled
def _fit(
    block: NDArray[np.int64], with_alpha: bool, is_thirds: bool, ends: tuple[int, int], codes: NDArray[np.int64]
) -> int:
    """Squared error of the nearest colours between two ends, whose codes it leaves in ``codes``."""
    first, second = ends
    count = 1 if first == second else 4 if is_thirds else 3
    total = 0
    for texel in range(16):
        if not with_alpha and block[texel, 3] < OPAQUE:
            codes[texel] = 3
            continue
        best = -1
        for code in range(count):
            share = 6 * code if code < 2 else 2 * (code - 1) if is_thirds else 3
            error = 0
            for number in range(3):
                shift, top = (11, 31) if number == 0 else (5, 63) if number == 1 else (0, 31)
                parts = (6 - share) * (first >> shift & top) + share * (second >> shift & top)
                difference = (parts * 255 - 6 * top * block[texel, number]) * SCALES[number]
                error += difference * difference
            if best < 0 or error < best:
                best, codes[texel] = error, code
        total += best
    return total
