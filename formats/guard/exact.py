"""Elementary functions and sums that give the same bits on every processor.

numpy and the C library choose other code where a processor has AVX-512 or fused multiply-add, whose last bits differ;
so do BLAS and its users (``@``, ``polyfit``, ``corrcoef``). A number that is published is made of these
functions, of Python's arithmetic, and of numpy's sums, which have one order. Values are rounded once, from 40 digits.
"""

import math
from collections.abc import Iterable, Sequence
from decimal import Context, Decimal
from fractions import Fraction

_DIGITS = Context(prec=40)
QUANTILE_DIGITS = 12


def exp(value: float) -> float:
    """e to the power of a number."""
    return float(_DIGITS.exp(Decimal(float(value))))


def log(value: float) -> float:
    """Natural logarithm of a positive number."""
    return float(_DIGITS.ln(Decimal(float(value))))


def power(base: float, exponent: float) -> float:
    """A positive number to the power of another."""
    return float(_DIGITS.power(Decimal(float(base)), Decimal(float(exponent))))


def length(*sides: float) -> float:
    """Root of the sum of the squares."""
    return math.sqrt(math.fsum(side * side for side in sides))


def floor_log2(value: float) -> int:
    """Largest whole n with 2^n at most a positive ``value``."""
    return math.frexp(value)[1] - 1


def ceil_log2(value: float) -> int:
    """Least whole n with 2^n at least a positive ``value``."""
    fraction, exponent = math.frexp(value)
    return exponent - (fraction == 0.5)


def mean(values: Iterable[float]) -> float:
    """Mean of some numbers."""
    known = [float(value) for value in values]
    return math.fsum(known) / len(known)


def moments(x: Sequence[float], y: Sequence[float]) -> tuple[Fraction, Fraction, Fraction]:
    """Sums of (x - mean)^2, (x - mean)(y - mean) and (y - mean)^2, exact."""
    away, off = ([value - middle for value in values] for values, middle in (_fractions(x), _fractions(y)))
    pairs = ((away, away), (away, off), (off, off))
    first, both, last = (sum((a * b for a, b in zip(*pair, strict=True)), Fraction()) for pair in pairs)
    return first, both, last


def _fractions(values: Sequence[float]) -> tuple[list[Fraction], Fraction]:
    """The values, and their mean."""
    known = [Fraction(float(value)) for value in values]
    return known, sum(known, Fraction()) / len(known)


def line(x: Sequence[float], y: Sequence[float]) -> tuple[float, float]:
    """Slope and offset of the line of least squares through points with two different x."""
    own, both, _ = moments(x, y)
    slope = both / own
    return float(slope), float(_fractions(y)[1] - slope * _fractions(x)[1])


def correlation(x: Sequence[float], y: Sequence[float]) -> float:
    """Pearson's correlation of values that vary."""
    own, both, theirs = moments(x, y)
    return math.copysign(math.sqrt(both * both / (own * theirs)), both)


def rounded(value: float) -> float:
    """A library's value to 12 digits, beyond which libraries and processors differ."""
    return float(f"{value:.{QUANTILE_DIGITS}g}")
