"""The special function unit: rcp, sqrt, rsqrt, sin, cos, lg2 and ex2 of f32 as the hardware's ``.approx`` gives them.

A function is cut into 64 or 128 equal pieces. In each the unit evaluates ``c0 + c1 x + c2 x^2`` in whole numbers, with
a squarer that drops low bits, adds a constant and cuts off what does not fit the result. Structure: Oberman and Siu,
"A high-performance area-efficient multifunction interpolator", ARITH 2005; widths, squarer and constants:
envytools, ``nvhw``. ``sfu_tables.csv`` holds c0, c1 and c2 of each piece, found by ``tools.sfu_fit`` from 2,048 results
of hardware per function (``docs/sources/measurements.md#approximate-functions``), which they give bit for bit.

What surrounds the unit (scaling of subnormal arguments, the reduction of angles) is what ``ptxas`` writes for sm_75.
Everything here is on the bits of numbers: int64 arrays of values below 2^32.
"""

import csv
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rayplay.ptx.ir import Instruction

Bits = np.ndarray

ONE, FRACTION, INFINITY, NAN, SIGN = 1 << 23, (1 << 23) - 1, 0x7F80_0000, 0x7FFF_FFFF, 0x8000_0000
SCALE_UP, SCALE_DOWN = np.float32(2.0**24), np.float32(0.25)
TURNS_PER_RADIAN = np.uint32(0x3E22F983).view(np.float32)
SMALLEST, LARGE, LOWEST_POWER = np.float32(2.0**-126), np.float32(2.0**126), np.float32(-126.0)
SUBNORMAL_POWERS = np.float32(24.0)


class Polynomial(NamedTuple):
    """How the unit evaluates one function.

    pieces                    how many there are
    bits                      of an argument inside a piece
    square_shift              bits the argument is shifted before it is squared
    c0_shift, c2_shift        weights of c0 and of the term of second order
    constant, result_shift    added at the end, and the bits then cut off
    widths                    bits of c0, c1 and c2, signs implied
    """

    pieces: int
    bits: int
    square_shift: int
    c0_shift: int
    c2_shift: int
    constant: int
    result_shift: int
    widths: tuple[int, int, int] = (26, 16, 10)


POLYNOMIALS = {
    "rcp": Polynomial(128, 16, 1, 13, 0, 0x47E7, 15),
    "sqrt": Polynomial(128, 17, 0, 13, 0, 0x7FFF, 16, (27, 16, 10)),
    "rsqrt": Polynomial(128, 17, 0, 14, 2, 0x7FFF, 16),
    "sin": Polynomial(64, 17, 0, 11, 0, 0, 0, (26, 15, 11)),
    "lg2": Polynomial(64, 17, 0, 12, 1, 0x3345, 2),
    "ex2": Polynomial(64, 17, 0, 13, 0, 0x77E2, 15),
}


def read_tables() -> dict[str, np.ndarray]:
    """int64[pieces, 3] of each function: c0, c1, c2."""
    rows: dict[str, list[list[int]]] = {name: [] for name in POLYNOMIALS}
    with open(Path(__file__).with_name("sfu_tables.csv"), newline="") as file:
        for row in csv.DictReader(file):
            rows[row["function"]].append([int(row[key]) for key in ("c0", "c1", "c2")])
    return {name: np.array(values, np.int64) for name, values in rows.items()}


TABLES = read_tables()


def square(x: Bits) -> Bits:
    """x^2 / 2^19 of a number of 17 bits, as the unit's squarer gives it: the low bits of each partial product drop."""
    total = np.zeros_like(x)
    for bit in range(17):
        total += np.where(x >> bit & 1, x >> (18 - bit), 0)
    return total >> 1


def evaluate(name: str, fraction: Bits) -> Bits:
    """The polynomial of the piece that the top bits of ``fraction`` name."""
    p = POLYNOMIALS[name]
    rows = TABLES[name][fraction >> p.bits]
    x = fraction & ((1 << p.bits) - 1)
    second = rows[:, 2] * square(x << p.square_shift) << p.c2_shift
    return (rows[:, 0] << p.c0_shift) + rows[:, 1] * x + second + p.constant >> p.result_shift


def _parts(bits: Bits) -> tuple[Bits, Bits, Bits]:
    return bits & SIGN, bits >> 23 & 0xFF, bits & FRACTION


def _normal(exponent: Bits, significand: Bits) -> Bits:
    """Bits of a positive number, a significand of 2^24 included; numbers below the normal ones are 0."""
    value = (exponent << 23) + significand - ONE
    return np.where(value >> 23 <= 0, 0, value)


def unit_rcp(bits: Bits) -> Bits:
    """1 / x; subnormal arguments and results are 0."""
    sign, exponent, fraction = _parts(bits)
    value = _normal(253 - exponent, evaluate("rcp", fraction))
    value = np.where(exponent == 0, INFINITY, np.where(exponent == 255, 0, value)) | sign
    return np.where((exponent == 255) & (fraction != 0), NAN, value)


def _root(bits: Bits, name: str, sign_of_result: int, of_one: int) -> Bits:
    """2^(sign (log2 x) / 2) of a normal x; ``of_one`` is the significand where x is a power of 4."""
    power = (bits >> 23) - 127
    fraction = bits & FRACTION | (power & 1) << 23
    exponent = 127 + (power >> 1) if sign_of_result > 0 else 126 - (power >> 1)
    return _normal(exponent, np.where(fraction == 0, of_one, evaluate(name, fraction & (ONE << 1) - 1)))


def unit_rsqrt(bits: Bits) -> Bits:
    """1 / sqrt(x); subnormal arguments are 0."""
    sign, exponent, fraction = _parts(bits)
    value = np.where(bits == INFINITY, 0, _root(bits & ~SIGN, "rsqrt", -1, 2 * ONE))
    bad = (sign != 0) | (exponent == 255) & (fraction != 0)
    return np.where(exponent == 0, sign | INFINITY, np.where(bad, NAN, value))


def unit_sqrt(bits: Bits) -> Bits:
    """sqrt(x); subnormal arguments are 0."""
    sign, exponent, fraction = _parts(bits)
    value = np.where(bits == INFINITY, INFINITY, _root(bits & ~SIGN, "sqrt", 1, ONE))
    bad = (sign != 0) | (exponent == 255) & (fraction != 0)
    return np.where(exponent == 0, sign, np.where(bad, NAN, value))


def unit_lg2(bits: Bits) -> Bits:
    """log2(x); subnormal arguments are 0."""
    sign, exponent, fraction = _parts(bits)
    inside = np.where((fraction == 0) & (exponent == 127), 0, evaluate("lg2", fraction))
    fixed = inside + ((exponent - 127) << 36)  # 36 bits behind the point
    magnitude = np.where(fixed < 0, ~fixed, fixed)
    value = np.where(fixed < 0, SIGN, 0) | float_of_fixed(magnitude, 36)
    value = np.where(bits == INFINITY, INFINITY, value)
    bad = (sign != 0) | (exponent == 255) & (fraction != 0)
    return np.where(exponent == 0, SIGN | INFINITY, np.where(bad, NAN, value))


def float_of_fixed(magnitude: Bits, point: int) -> Bits:
    """Bits of ``magnitude / 2^point``, cut off to 24 bits; magnitudes below 2^53."""
    top = np.frexp(magnitude.astype(np.float64))[1] - 1
    significand = magnitude << np.maximum(23 - top, 0) >> np.maximum(top - 23, 0)
    return np.where(magnitude == 0, 0, (top - point + 126 << 23) + significand)


def fixed_of_float(bits: Bits, point: int) -> Bits:
    """``|x| 2^point`` cut off to a whole number; 2^62 and above are 2^62."""
    exponent, significand = bits >> 23 & 0xFF, bits & FRACTION | ONE
    shift = exponent - 150 + point
    value = significand << np.clip(shift, 0, 38) >> np.clip(-shift, 0, 62)
    return np.where(exponent == 0, 0, np.where(shift > 38, 1 << 62, value))


def unit_ex2(bits: Bits) -> Bits:
    """2^x; results below the normal numbers are 0."""
    sign, exponent, fraction = _parts(bits)
    fixed = fixed_of_float(bits, 23)
    inside, whole = fixed & FRACTION, fixed >> 23
    negative = sign != 0
    whole = np.where(negative, np.where(inside != 0, -whole - 1, -whole), whole)
    inside = np.where(negative & (inside != 0), ~inside & FRACTION, inside)
    value = _normal(127 + np.clip(whole, -200, 200), evaluate("ex2", inside))
    value = np.where(fixed >> 23 >= 128, np.where(negative, 0, INFINITY), value)
    return np.where((exponent == 255) & (fraction != 0), NAN, value)


def unit_sine(bits: Bits, quarter_turns: int) -> Bits:
    """sin(2 pi (x + quarter_turns / 4)) of x in turns; with a quarter turn, the sign of x drops out."""
    sign, exponent, _ = _parts(bits)
    fixed = fixed_of_float(bits, 25)  # in quarter turns, 23 bits behind the point
    quadrant = (fixed >> 23) + quarter_turns
    inside = np.where(quadrant & 1, ~fixed & FRACTION, fixed & FRACTION)
    value = float_of_fixed(evaluate("sin", inside), 37)
    value |= (quadrant & 2) << 30 ^ (sign if quarter_turns == 0 else 0)
    return np.where(exponent == 255, NAN, value)


def float_of(bits: Bits) -> np.ndarray:
    """float32 of bits."""
    return bits.astype(np.uint32).view(np.float32)


def bits_of(value: np.ndarray) -> Bits:
    """Bits of float32."""
    return value.view(np.uint32).astype(np.int64)


def multiply(bits: Bits, factor: np.float32 | np.ndarray) -> Bits:
    """The product with a float, rounded to nearest; NaN stays as it is."""
    with np.errstate(all="ignore"):
        return np.where(bits & ~SIGN > INFINITY, bits, bits_of(float_of(bits) * factor))


def turns(bits: Bits) -> Bits:
    """An angle in turns: the product with 1 / (2 pi), rounded towards 0."""
    with np.errstate(all="ignore"):
        exact = float_of(bits).astype(np.float64) * np.float64(TURNS_PER_RADIAN)
        near = exact.astype(np.float32)
    return bits_of(near) - (np.abs(near.astype(np.float64)) > np.abs(exact))


def _scaled(unit: Callable[[Bits], Bits], down: float) -> Callable[[Bits], Bits]:
    """``unit`` with subnormal arguments taken 2^24 times and their results ``down`` times."""

    def function(bits: Bits) -> Bits:
        small = np.abs(float_of(bits)) < SMALLEST
        value = unit(np.where(small, multiply(bits, SCALE_UP), bits))
        return np.where(small, multiply(value, np.float32(down)), value)

    return function


def _rcp(bits: Bits) -> Bits:
    size = np.abs(float_of(bits))
    factor = np.where(size > LARGE, SCALE_DOWN, np.where(size < SMALLEST, SCALE_UP, np.float32(1)))
    return multiply(unit_rcp(multiply(bits, factor)), factor)


def _lg2(bits: Bits) -> Bits:
    small = np.abs(float_of(bits)) < SMALLEST
    value = unit_lg2(np.where(small, multiply(bits, SCALE_UP), bits))
    with np.errstate(invalid="ignore"):
        return np.where(small, bits_of(float_of(value) - SUBNORMAL_POWERS), value)


def _ex2(bits: Bits) -> Bits:
    small = float_of(bits) < LOWEST_POWER
    value = unit_ex2(np.where(small, multiply(bits, np.float32(0.5)), bits))
    return np.where(small, multiply(value, float_of(value)), value)


APPROXIMATIONS: dict[str, Callable[[Bits], Bits]] = {
    "rcp": _rcp, "sqrt": _scaled(unit_sqrt, 2.0**-12), "rsqrt": _scaled(unit_rsqrt, 2.0**12), "lg2": _lg2, "ex2": _ex2,
    "sin": lambda bits: unit_sine(turns(bits), 0), "cos": lambda bits: unit_sine(turns(bits), 1),
    "rcp.ftz": unit_rcp, "sqrt.ftz": unit_sqrt, "rsqrt.ftz": unit_rsqrt, "lg2.ftz": unit_lg2, "ex2.ftz": unit_ex2,
}  # fmt: skip
"""Bits of ``NAME.approx[.ftz].f32``; flushing changes nothing for angles."""


def unit_name(i: Instruction) -> str:
    """The name in ``APPROXIMATIONS`` of an .approx.f32 form."""
    name = f"{i.opcode}.ftz"
    return name if i.form.ftz and name in APPROXIMATIONS else i.opcode
