"""Exact arithmetic on floating point numbers of any format: the definition that machine code is held against.

A number is a ``Fraction`` where it is finite and not 0, else a Python float: a signed zero, an infinity or NaN.
Rounding modes are PTX's: rn (ties to even), rna (ties away from 0), rz, rm, rp.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

Number = Fraction | float


@dataclass(frozen=True)
class Format:
    """Sign, ``exponent_bits``, ``mantissa_bits``; ``largest`` and ``nan`` are codes without sign.

    Formats without an ``infinity`` have None; the code above the largest number then is NaN or does not exist.
    """

    exponent_bits: int
    mantissa_bits: int
    largest: int
    infinity: int | None
    nan: int | None

    @property
    def width(self) -> int:
        """Bits of a number."""
        return 1 + self.exponent_bits + self.mantissa_bits

    @property
    def bias(self) -> int:
        """The exponent field less the exponent."""
        return (1 << self.exponent_bits - 1) - 1


def _ieee(exponent_bits: int, mantissa_bits: int, nan: int) -> Format:
    infinity = ((1 << exponent_bits) - 1) << mantissa_bits
    return Format(exponent_bits, mantissa_bits, infinity - 1, infinity, nan)


FORMATS = {
    "f16": _ieee(5, 10, 0x7FFF), "bf16": _ieee(8, 7, 0x7FFF), "f32": _ieee(8, 23, 0x7FFFFFFF),
    "f64": _ieee(11, 52, 0x7FF8000000000000), "tf32": _ieee(8, 10, 0x3FFFF), "e5m2": _ieee(5, 2, 0x7F),
    "e4m3": Format(4, 3, 0x7E, None, 0x7F), "e2m1": Format(2, 1, 0x7, None, None),
    "e2m3": Format(2, 3, 0x1F, None, None), "e3m2": Format(3, 2, 0x1F, None, None),
}  # fmt: skip


def decode(bits: int, kind: Format) -> Number:
    """The number that bits stand for."""
    sign = -1 if bits >> (kind.width - 1) & 1 else 1
    code = bits & ((1 << kind.width - 1) - 1)
    if code > kind.largest:
        return math.copysign(math.inf if code == kind.infinity else math.nan, sign)
    if code == 0:
        return math.copysign(0.0, sign)
    exponent, mantissa = code >> kind.mantissa_bits, code & ((1 << kind.mantissa_bits) - 1)
    digits = mantissa if exponent == 0 else mantissa | 1 << kind.mantissa_bits
    return sign * digits * power(max(exponent, 1) - kind.bias - kind.mantissa_bits)


def power(exponent: int) -> Fraction:
    """2 to the ``exponent``."""
    return Fraction(1 << exponent) if exponent >= 0 else Fraction(1, 1 << -exponent)


def encode(number: Number, kind: Format, mode: str = "rn", finite: bool = False) -> int:
    """The bits of a number rounded to a format; ``finite`` gives the largest number for all above it."""
    if isinstance(number, float) and math.isnan(number):
        return kind.largest if kind.nan is None else kind.nan
    negative = sign_of(number) < 0
    sign = int(negative) << (kind.width - 1)
    if isinstance(number, float):
        code = 0 if number == 0 else kind.infinity
    else:
        code = _magnitude(abs(number), kind, mode, negative)
    if code is None or code > kind.largest:
        code = kind.largest if finite or kind.infinity is None else code
    assert code is not None
    return sign | code


def _magnitude(size: Fraction, kind: Format, mode: str, negative: bool) -> int:
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if power(exponent) > size:
        exponent -= 1
    exponent = max(exponent, 1 - kind.bias)
    steps = size / power(exponent - kind.mantissa_bits)
    whole = rounded(steps, mode, negative)
    code = whole + ((exponent + kind.bias - 1) << kind.mantissa_bits)
    if code <= kind.largest or kind.infinity is None:
        return code
    shrinks = mode == "rz" or mode == ("rp" if negative else "rm")
    return kind.largest if shrinks else kind.infinity


def rounded(size: Fraction, mode: str, negative: bool) -> int:
    """A magnitude rounded to a whole number; ``negative`` says which way rm and rp go."""
    if mode == "rn":
        return round(size)
    if mode == "rna":
        return math.floor(size + Fraction(1, 2))
    up = mode == ("rm" if negative else "rp")
    return math.ceil(size) if up else math.floor(size)


def sign_of(number: Number) -> float:
    """1 or -1; also of a zero."""
    return (1.0 if number > 0 else -1.0) if isinstance(number, Fraction) else math.copysign(1.0, number)


def magnitude(number: Number) -> Number:
    """The number without its sign."""
    return -number if sign_of(number) < 0 else number


def _float(number: Number) -> float:
    """A float with the same sign and kind, for results that are no Fraction."""
    return sign_of(number) if isinstance(number, Fraction) else number


def multiply(x: Number, y: Number) -> Number:
    """x * y, exact."""
    if isinstance(x, Fraction) and isinstance(y, Fraction):
        return x * y
    return _float(x) * _float(y)


def add(x: Number, y: Number, mode: str = "rn") -> Number:
    """x + y, exact; an exact 0 of two numbers is -0 under rm."""
    if isinstance(x, Fraction) and isinstance(y, Fraction):
        return x + y or (-0.0 if mode == "rm" else 0.0)
    if isinstance(x, Fraction) and y == 0:
        return x
    if isinstance(y, Fraction) and x == 0:
        return y
    if x == 0 and y == 0 and sign_of(x) != sign_of(y):
        return -0.0 if mode == "rm" else 0.0
    return _float(x) + _float(y)


def divide(x: Number, y: Number) -> Number:
    """x / y, exact."""
    if isinstance(x, Fraction) and isinstance(y, Fraction):
        return x / y
    sign = sign_of(x) * sign_of(y)
    x, y = _float(x), _float(y)
    if math.isnan(x) or math.isnan(y) or (x == 0 and y == 0) or (math.isinf(x) and math.isinf(y)):
        return math.nan
    return math.copysign(math.inf if math.isinf(x) or y == 0 else 0.0, sign)


def square_root(x: Number) -> Number:
    """The square root to 200 bits, the last of which is set where more would follow: it rounds as the root does."""
    if not isinstance(x, Fraction):
        return math.nan if x < 0 else x
    if x < 0:
        return math.nan
    shift = max(0, 200 - (x.numerator.bit_length() - x.denominator.bit_length()) // 2)
    scaled = x * power(2 * shift)
    whole = math.floor(scaled)
    root = math.isqrt(whole)
    return Fraction(2 * root + (root * root != scaled), 2 << shift)
