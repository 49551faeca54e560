"""Texels of BC1 and BC3 blocks in exact fractions, and addresses of tiled images, one texel after the other.

Sources: Khronos Data Format Specification 1.3, S3TC compressed texture image formats; docs/sources/textures.md.
"""

from fractions import Fraction

import numpy as np

Colour = tuple[Fraction, Fraction, Fraction]
Texel = tuple[Fraction, Fraction, Fraction, Fraction]
SECTORS = ((0, 2, 8, 10), (1, 3, 9, 11), (4, 6, 12, 14), (5, 7, 13, 15))
"""Number of each sector of 16 bytes x 2 rows in a GOB, as the table of the Turing format has them."""


def colour(word: int) -> Colour:
    """Red, green and blue of a 5:6:5 word."""
    return Fraction(word >> 11, 31), Fraction(word >> 5 & 63, 63), Fraction(word & 31, 31)


def mixed(a: Colour, b: Colour, share: Fraction) -> Colour:
    """The share of ``b``, the rest of ``a``."""
    red, green, blue = ((1 - share) * x + share * y for x, y in zip(a, b, strict=True))
    return red, green, blue


def colours_of(block: bytes) -> list[Texel]:
    """The colour of each code in a block of 8 bytes, BC1, or 16 bytes, BC3; alpha as far as the code says it."""
    words = int.from_bytes(block[-8:-6], "little"), int.from_bytes(block[-6:-4], "little")
    first, second, one = colour(words[0]), colour(words[1]), Fraction(1)
    if len(block) == 16 or words[0] > words[1]:
        shares = Fraction(0), one, Fraction(1, 3), Fraction(2, 3)
        return [(*mixed(first, second, share), one) for share in shares]
    shares = Fraction(0), one, Fraction(1, 2)
    return [*((*mixed(first, second, share), one) for share in shares), (Fraction(0),) * 4]


def decode(block: bytes) -> list[Texel]:
    """The 16 texels of a block, row by row."""
    colours, codes = colours_of(block), int.from_bytes(block[-4:], "little")
    texels = [colours[codes >> 2 * texel & 3] for texel in range(16)]
    if len(block) == 8:
        return texels
    steps, values = int.from_bytes(block[2:8], "little"), alphas(block[0], block[1])
    return [(*texels[texel][:3], values[steps >> 3 * texel & 7]) for texel in range(16)]


def alphas(first: int, second: int) -> list[Fraction]:
    """The eight values of alpha between two bytes."""
    parts = 7 if first > second else 5
    between = [Fraction((parts - k) * first + k * second, parts * 255) for k in range(1, parts)]
    ends = [Fraction(first, 255), Fraction(second, 255), *between]
    return ends if parts == 7 else [*ends, Fraction(0), Fraction(1)]


def picture(blocks: np.ndarray, width: int, height: int) -> np.ndarray:
    """float64[height, width, 4] of uint8[rows, columns, bytes] blocks."""
    made = np.zeros((4 * blocks.shape[0], 4 * blocks.shape[1], 4))
    for row, line in enumerate(blocks):
        for column, block in enumerate(line):
            texels = np.array(decode(bytes(block))).astype(np.float64)
            made[4 * row : 4 * row + 4, 4 * column : 4 * column + 4] = texels.reshape(4, 4, 4)
    return made[:height, :width]


def in_gob(byte: int, row: int) -> int:
    """Place of a byte of a row of a GOB."""
    return SECTORS[row // 2][byte // 16] * 32 + row % 2 * 16 + byte % 16


def address(tiling: str, name: str, x: int, y: int, width: int, height: int) -> int:
    """Byte of the texel, or of its block, from the image's first, by quotients and remainders."""
    side, size = {"rgba8": (1, 4), "r8": (1, 1), "bc1": (4, 8), "bc3": (4, 16), "astc": (8, 16)}[name]
    across, down = -(-width // side), -(-height // side)
    column, row = x // side, y // side
    if tiling == "linear":
        return (row * across + column) * size
    if tiling == "block":
        gobs = 1
        while gobs < 32 and 8 * gobs < down:
            gobs *= 2
        byte, blocks = column * size, -(-across * size // 64)
        tile = row // (8 * gobs) * blocks + byte // 64
        return (tile * gobs + row % (8 * gobs) // 8) * 512 + in_gob(byte % 64, row % 8)
    wide, tall = {1: (32, 32), 4: (8, 8), 8: (8, 32)}[side]
    tile = column // wide + row // tall * -(-across // wide)
    inside = row % tall * wide + column % wide if side == 4 else column % wide * tall + row % tall
    return (tile * wide * tall + inside) * size
