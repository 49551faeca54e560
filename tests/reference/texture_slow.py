"""Texture fetching by the CUDA C++ Programming Guide, one texel after the other in plain Python."""

from fractions import Fraction
from itertools import product
from math import floor

import numpy as np

FLOATS = ("float16", "float32")


def texel(image: np.ndarray, index: tuple[int, ...], channel: int, normalized_read: bool) -> Fraction:
    """A channel of ``image`` [z or layer, y, x, channel]."""
    if channel >= image.shape[-1]:
        return Fraction(int(channel == 3))
    value = image[index][channel]
    if not normalized_read:
        return Fraction(float(value))
    most = np.iinfo(image.dtype).max
    return max(Fraction(int(value), int(most)), Fraction(-1))


def along(x: np.float32, length: int, mode: str, normalized: bool, linear: bool) -> list[tuple[int, Fraction]]:
    """The texels along an axis, -1 for the border, and their weights."""
    if not normalized and mode in ("wrap", "mirror"):
        mode = "clamp"
    if normalized:
        if mode == "wrap":
            x = np.float32(x - np.floor(x))
        elif mode == "mirror":
            odd = floor(x) % 2 == 1
            x = np.float32(x - np.floor(x))
            x = np.float32(1 - x) if odd else x
        x = np.float32(x * np.float32(length))
    exact = Fraction(float(x))
    if not linear:
        return [(placed(floor(exact), length, mode), Fraction(1))]
    back = exact - Fraction(1, 2)
    first = floor(back)
    weight = Fraction(floor((back - first) * 256 + Fraction(1, 2)), 256)
    taps = [(first, 1 - weight), (first + 1, weight)]
    return [(placed(index, length, mode), w) for index, w in taps]


def placed(index: int, length: int, mode: str) -> int:
    """An index brought into the axis."""
    if mode == "wrap":
        return index % length
    if mode == "mirror":
        index %= 2 * length
        return index if index < length else 2 * length - 1 - index
    if mode == "border":
        return index if 0 <= index < length else -1
    return min(max(index, 0), length - 1)


def fetch(
    image: np.ndarray,
    coordinates: list[np.float32],
    layer: int,
    dimensions: int,
    modes: tuple[str, ...],
    normalized: bool,
    linear: bool,
    normalized_read: bool,
    border: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0),
) -> list[np.float32]:
    """Four channels; ``image`` is [z or layer, y, x, channel]."""
    lengths = (image.shape[2], image.shape[1], image.shape[0])
    axes = [
        along(coordinates[a], lengths[a], modes[a], normalized, linear) if a < dimensions else [(0, Fraction(1))]
        for a in range(3)
    ]
    if dimensions < 3:
        axes[2] = [(min(max(layer, 0), image.shape[0] - 1), Fraction(1))]
    result = []
    for channel in range(4):
        total = Fraction(0)
        for (x, wx), (y, wy), (z, wz) in product(*axes):
            outside = min(x, y, z) < 0
            value = Fraction(border[channel]) if outside else texel(image, (z, y, x), channel, normalized_read)
            total += wx * wy * wz * value
        result.append(np.float32(float(total)))
    return result
