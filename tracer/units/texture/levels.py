"""Levels of a mip chain: the level of detail of a look-up, and its samples.

A footprint is an ellipse whose axes are the derivatives of the coordinates, in texels of the largest level; lengths
count as squares in float64, so that no root is rounded. A level of detail has eight fractional bits, cut off. Source:
``docs/sources/filtering.md``.
"""

from math import isqrt
from typing import NamedTuple

from rayplay.tracer.memory import image_record as image
from rayplay.tracer.native.jit import compiled
from rayplay.tracer.native.memory import f32_of_bits, f64_bits, load_u32
from rayplay.tracer.units.call import SLOT_BYTES
from rayplay.tracer.units.settings import take
from rayplay.tracer.units.texture.addressing import cube_slope, is_normalized, single
from rayplay.tracer.units.texture.plan import COORDINATE, GIVEN_LEVEL, LEVEL, TEXTURE
from rayplay.tracer.units.texture.texel import word

ONE = 256
"""A level, in the fixed point of levels of detail."""
MANTISSA_BITS = 52
FAR = 1e30


class Chosen(NamedTuple):
    """Samples of a look-up: a level and the weight of the next one in 1/256, and samples along an axis of the
    screen, 0 for x and 1 for y.
    """

    level: int
    weight: int
    samples: int
    axis: int


def _step(part: int) -> int:
    """The least mantissa, an integer with ``MANTISSA_BITS`` behind the point, that is at least 2**(part / 128)."""
    power = root = 1 << (128 * MANTISSA_BITS + part)
    for _ in range(7):
        root = isqrt(root)
    return root + (root**128 < power)


STEPS = tuple(_step(part) for part in range(128))


@compiled
def log2_parts(value: float) -> int:
    """floor(128 log2(value)) of a positive normal number, exactly."""
    bits = f64_bits(value)
    mantissa = bits & (1 << MANTISSA_BITS) - 1 | 1 << MANTISSA_BITS
    low, high = 0, 128
    while high - low > 1:
        middle = (low + high) >> 1
        if STEPS[middle] <= mantissa:
            low = middle
        else:
            high = middle
    return 128 * ((bits >> MANTISSA_BITS) - 1023) + low


@compiled
def operand(rows: int, slot: int, lane: int) -> float:
    """A float32 operand of a lane."""
    return f32_of_bits(load_u32(rows + slot * SLOT_BYTES + 4 * lane))


@compiled
def slope(rows: int, lane: int, settings: int, step: int, axis: int) -> float:
    """The derivative of a coordinate along x (``step`` 0) or y of the screen; on its face for a cube."""
    geometry, first = take(settings, TEXTURE.geometry), LEVEL + 3 * step
    if geometry != image.G_CUBE and geometry != image.G_ACUBE:
        return float(operand(rows, first + axis, lane))
    x, y, z = (
        operand(rows, COORDINATE, lane), operand(rows, COORDINATE + 1, lane), operand(rows, COORDINATE + 2, lane)
    )  # fmt: skip
    dx, dy, dz = operand(rows, first, lane), operand(rows, first + 1, lane), operand(rows, first + 2, lane)
    return cube_slope(x, y, z, dx, dy, dz, axis)


@compiled
def extent(record: int, rows: int, lane: int, settings: int, step: int) -> float:
    """Square of the footprint's length along x or y of the screen, in texels; NaN counts as 0."""
    total = 0.0
    for axis in range(image.DIMENSIONS[take(settings, TEXTURE.geometry)]):
        texels = slope(rows, lane, settings, step, axis) * word(record, image.WIDTH + axis)
        total += texels * texels
    return min(total, FAR) if total == total else 0.0


@compiled
def detail_of(record: int, sampler: int, rows: int, lane: int, settings: int) -> tuple[int, int, int]:
    """Level of detail in 1/256, at least 0, samples along the longer axis of the footprint, and which axis it is."""
    if take(settings, TEXTURE.detail) == GIVEN_LEVEL:
        given = float(operand(rows, LEVEL, lane))
        return int(min(max(given, 0.0), 64.0) * ONE) if given == given else 0, 1, 0
    along_x, along_y = extent(record, rows, lane, settings, 0), extent(record, rows, lane, settings, 1)
    longer, shorter, axis = (along_x, along_y, 0) if along_x > along_y else (along_y, along_x, 1)
    if longer <= 1.0:
        return 0, 1, axis
    most, samples = word(sampler, image.MAX_ANISOTROPY), 1
    geometry = take(settings, TEXTURE.geometry)
    if most > 1 and (geometry == image.G_2D or geometry == image.G_A2D):
        shorter = max(shorter, 1.0)
        while samples < most and samples * samples * shorter < longer:
            samples += 1
        longer = max(longer / (most * most), shorter)
    return max(log2_parts(longer), 0), samples, axis


@compiled
def chosen(record: int, sampler: int, rows: int, lane: int, settings: int) -> Chosen:
    """Levels and samples of a lane's look-up."""
    last, kind = word(record, image.LEVELS) - 1, word(sampler, image.LEVEL_FILTER)
    integer = take(settings, TEXTURE.integer) != 0
    if last <= 0 or take(settings, TEXTURE.detail) == 0 or not (integer or is_normalized(record, sampler)):
        return Chosen(0, 0, 1, 0)
    detail, samples, axis = detail_of(record, sampler, rows, lane, settings)
    detail = min(detail, last * ONE)
    if integer or kind == image.NEAREST_LEVEL:
        return Chosen((detail + ONE // 2 - 1) // ONE, 0, 1 if integer else samples, axis)
    return Chosen(detail // ONE, detail % ONE if kind == image.BOTH_LEVELS else 0, samples, axis)


@compiled
def moved(rows: int, lane: int, settings: int, pick: Chosen, sample: int, axis: int) -> float:
    """A coordinate of a sample, float32: samples lie evenly along the longer axis of the footprint."""
    start = operand(rows, COORDINATE + axis, lane)
    if pick.samples == 1:
        return start
    share = (2 * sample + 1 - pick.samples) / (2.0 * (pick.samples + 1))
    return single(start + slope(rows, lane, settings, pick.axis, axis) * share)
