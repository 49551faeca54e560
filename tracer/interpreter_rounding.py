"""The meaning of .rz, .rm and .rp on f32: exact arithmetic, then the neighbour on the side that is asked for."""

import math
from fractions import Fraction

import numpy as np

DIGITS, LOWEST_EXPONENT, LARGEST_EXPONENT = 24, -149, 128


def binary_directed(opcode: str, a: np.ndarray, b: np.ndarray, rounding: str) -> np.ndarray:
    """add, sub or mul; float32[32]."""
    if opcode == "mul":
        return fused_directed(a, b, None, rounding)
    return fused_directed(a, np.ones_like(a), -b if opcode == "sub" else b, rounding)


def fused_directed(a: np.ndarray, b: np.ndarray, c: np.ndarray | None, rounding: str) -> np.ndarray:
    """a * b + c, or a * b where ``c`` is None; float32[32]."""
    with np.errstate(all="ignore"):
        result = a * b if c is None else a * b + c  # right where something is infinite or NaN
    for lane in range(len(a)):
        x, y, z = (float(each[lane]) for each in (a, b, c if c is not None else np.zeros_like(a)))
        if not (math.isfinite(x) and math.isfinite(y) and math.isfinite(z)):
            continue
        exact = Fraction(x) * Fraction(y) + Fraction(z)
        signs = [math.copysign(1, x) * math.copysign(1, y), math.copysign(1, z)]
        if exact != 0:
            result[lane] = round_directed(exact, rounding)
        elif c is None:
            result[lane] = math.copysign(0.0, signs[0])
        else:
            is_negative = min(signs) < 0 if rounding == "rm" else max(signs) < 0
            result[lane] = -0.0 if is_negative else 0.0
    return result


def round_directed(exact: Fraction, rounding: str) -> float:
    """The f32 next to a number that is not 0, towards zero, minus or plus infinity."""
    size = abs(exact)
    exponent = math.floor(math.log2(size.numerator) - math.log2(size.denominator)) + 1
    while Fraction(2) ** exponent > size:
        exponent -= 1
    unit = Fraction(2) ** max(exponent - DIGITS + 1, LOWEST_EXPONENT)
    shrinks = rounding == "rz" or (rounding == "rm") == (exact > 0)
    steps = math.floor(size / unit) if shrinks else math.ceil(size / unit)
    value = float(steps * unit)
    if steps * unit >= Fraction(2) ** LARGEST_EXPONENT:
        value = float(np.finfo(np.float32).max) if shrinks else math.inf
    return math.copysign(value, exact)
