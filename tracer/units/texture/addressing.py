"""From texture coordinates to texels: CUDA C++ Programming Guide, texture fetching.

A coordinate is scaled by the axis' length where it is normalised. The nearest texel is its floor. For linear filtering
the coordinate less 0.5 is rounded to eight fractional bits (to nearest, upwards half-way): its whole part is the first
texel, its fraction the weight of the second in 1/256. Wrap and mirror need normalised coordinates, else they clamp.
"""

from typing import Any

import numpy as np

from rayplay.tracer.memory.image_record import ADDRESS_X, CLAMP, FILTER, MIRROR, NORMALIZED, OUTSIDE, WRAP
from rayplay.tracer.native.jit import compiled
from rayplay.tracer.native.memory import f32_of_bits
from rayplay.tracer.units.texture.texel import word

single: Any = np.float32  # of a float, in compiled code
FAR = single(32.0)  # beyond an axis by more than any offset
WEIGHT_ONE = 256


@compiled
def address_mode(sampler: int, axis: int, normalized: bool) -> int:
    """The mode that counts along an axis."""
    mode = word(sampler, ADDRESS_X + axis)
    return CLAMP if not normalized and mode in (WRAP, MIRROR) else mode


@compiled
def is_normalized(record: int, sampler: int) -> bool:
    """Whether coordinates are: what the texture and its sampler both say."""
    return word(record, NORMALIZED) != 0 and word(sampler, NORMALIZED) != 0


@compiled
def scaled(x: float, length: int, mode: int, normalized: bool) -> float:
    """A coordinate in texels, float32, brought into reach of the axis; NaN is 0."""
    zero, one, size = single(0.0), single(1.0), single(length)
    if x != x:
        return zero
    if normalized:
        if mode in (WRAP, MIRROR):
            if abs(x) > single(8388608.0):  # no fraction left
                return zero
            whole = single(np.floor(x))
            x = single(x - whole)
            if mode == MIRROR and int(whole) & 1:
                x = single(one - x)
        x = single(x * size)
    return min(max(x, -FAR), single(size + FAR))


@compiled
def first_texel(bits: int, integer: bool, length: int, mode: int, normalized: bool, linear: bool) -> tuple[int, int]:
    """The first texel along an axis, not yet brought into it, and the weight of the one after it."""
    if integer:
        signed = (bits ^ 0x80000000) - 0x80000000
        return signed, 0
    x = scaled(f32_of_bits(bits), length, mode, normalized)
    if not linear:
        return int(np.floor(x)), 0
    fixed = int(np.floor(float(x) * 256.0 - 127.5))  # (x - 0.5) * 256, rounded
    return fixed >> 8, fixed & 255


@compiled
def weight_of(tap: int, x: int, y: int, z: int) -> int:
    """Weight of a texel in 1/256; ``x``, ``y`` and ``z`` are the weights of the second texel along each axis.

    The hardware rounds the products of weights to eight bits. The product of two second weights is rounded to nearest,
    upwards half-way, and the other three are what it leaves, so that the weights make up 1. Along z each of the four
    is divided the same way. Measured on a GPU: 41/256 for two weights of 102/256.
    """
    both = x * y + 128 >> 8
    rest = WEIGHT_ONE - x - y + both
    flat = both if tap & 3 == 3 else x - both if tap & 3 == 1 else y - both if tap & 3 == 2 else rest
    far = flat * z + 128 >> 8
    return far if tap & 4 else flat - far


@compiled
def inside(index: int, length: int, mode: int) -> int:
    """The texel that stands for ``index``; -1 for the border."""
    if mode == WRAP:
        return index % length
    if mode == MIRROR:
        index %= 2 * length
        return index if index < length else 2 * length - 1 - index
    if mode == OUTSIDE:
        return index if 0 <= index < length else -1
    return min(max(index, 0), length - 1)


@compiled
def filters(sampler: int) -> bool:
    """Whether texels are blended."""
    return word(sampler, FILTER) != 0


@compiled
def cube_face(x: float, y: float, z: float) -> tuple[int, float, float]:
    """Face and normalised coordinates on it of a direction (CUDA C++ Programming Guide, cubemap textures)."""
    half, one = single(0.5), single(1.0)
    across, up, down = abs(x), abs(y), abs(z)
    if across >= up and across >= down:
        face, m, s, t = (0, across, -z, -y) if x >= 0 else (1, across, z, -y)
    elif up >= down:
        face, m, s, t = (2, up, x, z) if y >= 0 else (3, up, x, -z)
    else:
        face, m, s, t = (4, down, x, -y) if z >= 0 else (5, down, -x, -y)
    return face, single((s / m + one) * half), single((t / m + one) * half)


@compiled
def cube_slope(x: float, y: float, z: float, dx: float, dy: float, dz: float, axis: int) -> float:
    """The derivative of a coordinate on the face of a cube, float64, where a direction changes by ``dx, dy, dz``."""
    across, up, down = abs(x), abs(y), abs(z)
    if across >= up and across >= down:
        m, dm = across, dx if x >= 0 else -dx
        c, dc = (z, dz) if axis == 0 else (y, dy)
    elif up >= down:
        m, dm = up, dy if y >= 0 else -dy
        c, dc = (x, dx) if axis == 0 else (z, dz)
    else:
        m, dm = down, dz if z >= 0 else -dz
        c, dc = (x, dx) if axis == 0 else (y, dy)
    return 0.5 * (float(m) * dc - float(c) * dm) / (float(m) * m) if m != 0 else 0.0
