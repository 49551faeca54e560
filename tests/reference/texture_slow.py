"""Texture fetching by the CUDA C++ Programming Guide, one texel after the other in plain Python; mip chains by the
Vulkan specification, with every length of a footprint an exact fraction.
"""

from fractions import Fraction
from itertools import product
from math import ceil, floor

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


def _nearest(a: Fraction, b: Fraction) -> Fraction:
    return Fraction(floor(a * b / 256 + Fraction(1, 2)))


def shared(*second: Fraction) -> dict[tuple[int, ...], Fraction]:
    """The weight of each corner of a footprint; ``second`` are the weights of the second texel along each axis.

    Axis after axis from the second on, a corner's weight is divided into 1/256: what goes with the second texels of the
    axes before is rounded to nearest, and the others are what it leaves of the axes' own weights.
    """
    x, y, z = (each * 256 for each in second)
    both = _nearest(x, y)
    flat = {(1, 1): both, (1, 0): x - both, (0, 1): y - both}
    flat[0, 0] = 256 - sum(flat.values())
    made = {}
    for corner, weight in flat.items():
        far = _nearest(weight, z)
        made[*corner, 1], made[*corner, 0] = far / 256, (weight - far) / 256
    return made


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
    weights = shared(*(axis[-1][1] if len(axis) == 2 else Fraction(0) for axis in axes))
    for channel in range(4):
        total = Fraction(0)
        for corner in product(*(range(len(axis)) for axis in axes)):
            x, y, z = (axis[at][0] for axis, at in zip(axes, corner, strict=True))
            outside = min(x, y, z) < 0
            value = Fraction(border[channel]) if outside else texel(image, (z, y, x), channel, normalized_read)
            total += weights[corner] * value
        result.append(np.float32(float(total)))
    return result


def log2_floor(value: Fraction, parts: int) -> int:
    """floor(parts * log2(value)), exactly."""
    high = value**parts
    guess = high.numerator.bit_length() - high.denominator.bit_length()
    return guess if high >= Fraction(2) ** guess else guess - 1


def level_of_detail(
    lengths: list[int], along_x: list[float], along_y: list[float], most: int
) -> tuple[Fraction, int, int]:
    """Level of detail, samples, and the axis of the screen (0: x) along which they lie."""
    x, y = (
        sum(((Fraction(float(d)) * n) ** 2 for d, n in zip(step, lengths, strict=True)), Fraction(0))
        for step in (along_x, along_y)
    )
    longer, shorter, axis = max(x, y), min(x, y), 0 if x > y else 1
    if longer <= 1:
        return Fraction(0), 1, axis
    if most == 1:
        return Fraction(log2_floor(longer, 128), 256), 1, axis
    shorter = max(shorter, Fraction(1))
    squared = min(longer / shorter, Fraction(most**2))
    samples = next(n for n in range(1, most + 1) if n * n >= squared)
    return Fraction(log2_floor(longer / squared, 128), 256), samples, axis


def fetch_chain(
    chain: list[np.ndarray],
    coordinates: list[np.float32],
    detail: tuple[Fraction, int, list[float]],
    level_filter: str,
    rest: tuple[int, int, tuple[str, ...], bool, bool],
) -> list[np.float32]:
    """Four channels of a mip chain. ``detail``: level of detail, samples, and the derivatives along which they lie.

    ``rest``: layer, dimensions, modes, linear, normalized_read, as of ``fetch``.
    """
    layer, dimensions, modes, linear, normalized_read = rest
    place, samples, slopes = detail
    place = min(max(place, Fraction(0)), Fraction(len(chain) - 1))
    levels = [(ceil(place + Fraction(1, 2)) - 1, Fraction(1))]
    if level_filter == "floor":
        levels = [(floor(place), Fraction(1))]
    if level_filter == "linear":
        share = place - floor(place)
        levels = [(floor(place), 1 - share), *([(floor(place) + 1, share)] if share else [])]
    totals = [Fraction(0)] * 4
    for number in range(1, samples + 1):
        along = number / (samples + 1) - 0.5
        moved = [np.float32(float(c) + along * float(d)) for c, d in zip(coordinates, slopes, strict=False)]
        for level, weight in levels:
            colour = fetch(
                chain[level], moved if samples > 1 else coordinates, layer, dimensions, modes, True, linear,
                normalized_read,
            )  # fmt: skip
            totals = [t + weight * Fraction(float(c)) for t, c in zip(totals, colour, strict=True)]
    return [np.float32(float(total / samples)) for total in totals]
