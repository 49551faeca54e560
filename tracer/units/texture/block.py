"""Texels of BC1 and BC3 blocks, decoded exactly: channels as whole numbers of ``TOPS``.

Colours are interpolated between 5:6:5 fractions, alpha between bytes, without rounding
(``docs/sources/textures.md#bc1-and-bc3``): in sixths of a colour and 35ths of an alpha all values are whole.
"""

import numpy as np

from rayplay.tracer.memory import image_record as image
from rayplay.tracer.native.jit import compiled
from rayplay.tracer.native.memory import load_u8, load_u16, load_u32

TOPS = (6 * 31, 6 * 63, 6 * 31, 35 * 255)
"""A channel of 1.0."""


def _linear(top: int) -> list[float]:
    parts = (number / top for number in range(top + 1))
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


GREEN_FIRST = TOPS[0] + 1
SRGB = np.array(_linear(TOPS[0]) + _linear(TOPS[1]))
"""Linear values of red and blue, and from ``GREEN_FIRST`` on of green, by their number: IEC 61966-2-1."""


@compiled
def numerator(element: int, place: int, texel: int, number: int) -> int:
    """A channel of a texel, 4 y + x, of the block at a host address, in parts of ``TOPS``."""
    if number == 3 and element == image.BC3:
        return _alpha(place, texel)
    colours = place + 8 if element == image.BC3 else place
    first, second = load_u16(colours), load_u16(colours + 2)
    code = load_u32(colours + 4) >> 2 * texel & 3
    in_thirds = element == image.BC3 or first > second
    if code == 3 and not in_thirds:
        return 0
    if number == 3:
        return TOPS[3]
    share = 6 * code if code < 2 else 2 * (code - 1) if in_thirds else 3
    shift, mask = (11, 31) if number == 0 else (5, 63) if number == 1 else (0, 31)
    return (6 - share) * (first >> shift & mask) + share * (second >> shift & mask)


@compiled
def _alpha(place: int, texel: int) -> int:
    first, second = load_u8(place), load_u8(place + 1)
    half = texel >> 3  # 24 bits hold the codes of eight texels
    code = (load_u32(place + 2 + 3 * half) & 0xFFFFFF) >> 3 * (texel & 7) & 7
    parts = 7 if first > second else 5
    if parts == 5 and code >= 6:
        return TOPS[3] if code == 7 else 0
    share = parts * code if code < 2 else code - 1
    return ((parts - share) * first + share * second) * (35 // parts)


@compiled
def fraction(record_srgb: bool, element: int, place: int, texel: int, number: int) -> float:
    """A channel of a texel, sRGB made linear where the texture says so."""
    value = numerator(element, place, texel, number)
    if record_srgb and number < 3:
        return SRGB[value + (GREEN_FIRST if number == 1 else 0)]
    return value / TOPS[number]
