"""Small floating-point formats, bits to float64 and back: what textures and matrix units read and write."""

import numpy as np

from rayplay.tracer.native.jit import compiled
from rayplay.tracer.native.memory import f32_bits, f32_of_bits, f64_bits, f64_of_bits

F32_NAN = 0x7FFFFFFF
F16_NAN = 0x7FFF


@compiled
def f16_value(bits: int) -> float:
    """The value of a half-precision number: exact."""
    magnitude = f32_of_bits((bits & 0x7FFF) << 13) * f32_of_bits(0x77800000)  # 2**112 makes up for the exponents
    word = f32_bits(magnitude)
    if bits & 0x7C00 == 0x7C00:
        word |= 0x7F800000
    return float(f32_of_bits(word | (bits & 0x8000) << 16))


@compiled
def e5m2_value(bits: int) -> float:
    """The value of an 8-bit number with 5 bits of exponent: the upper half of an f16."""
    return f16_value(bits << 8)


@compiled
def e4m3_value(bits: int) -> float:
    """The value of an 8-bit number with 4 bits of exponent: no infinities, and NaN only with all bits set."""
    if bits & 0x7F == 0x7F:
        return float(f32_of_bits(F32_NAN))
    value = f32_of_bits((bits & 0x7F) << 20) * f32_of_bits(0x7B800000)  # 2**120
    return float(f32_of_bits(f32_bits(value) | (bits & 0x80) << 24))


@compiled
def f16_of(value: float) -> int:
    """Half-precision bits of a float64, rounded once to nearest even; NaN is canonical."""
    bits = f64_bits(value)
    sign = bits >> 48 & 0x8000
    magnitude = bits & 0x7FFFFFFFFFFFFFFF
    if magnitude > 0x7FF0000000000000:
        return F16_NAN
    if magnitude >= 0x40EFFE0000000000:  # 65520, half-way beyond the largest
        return sign | 0x7C00
    if magnitude < 0x3F10000000000000:  # below 2**-14: a multiple of 2**-24, rounded by adding 1.5 * 2**28
        rounded = f64_bits(f64_of_bits(magnitude) + 402653184.0)
        return sign | (rounded & 0x7FFF)
    magnitude += 0x1FFFFFFFFFF + (magnitude >> 42 & 1)
    return sign | ((magnitude >> 42) - (1008 << 10))


@compiled
def f32_of(value: float) -> int:
    """Single-precision bits of a float64, rounded once to nearest even; NaN is canonical."""
    if value != value:
        return F32_NAN
    return f32_bits(np.float32(value))
