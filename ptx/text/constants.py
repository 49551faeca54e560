"""Constant expressions: flat lists of values and operators to one constant, with the types of PTX ISA 4.6.

Integers are ``s64``, or ``u64`` with a ``U`` suffix or beyond the range of ``s64``; an operation with a ``u64`` is one
on ``u64``; a float makes the operation one of doubles. Nothing here recurses: an expression may have any length.
"""

import operator
import struct
from collections.abc import Callable
from typing import Any

from rayplay.ptx.ir import Immediate
from rayplay.ptx.numbers import Unsigned, f64_bits

_MASK = (1 << 64) - 1
_PRECEDENCE = {
    "?": 0, ":": 0, "||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, "<=": 7, ">": 7, ">=": 7,
    "<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10,
}  # fmt: skip
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_INTEGER: dict[str, Callable[[int, int], int]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "|": operator.or_, "^": operator.xor, "&": operator.and_,
}  # fmt: skip


Value = int | float


class ExpressionError(ValueError):
    """The fault in an expression, in a few words."""


def value_of(constant: Immediate) -> Value:
    """A literal as a value to compute with."""
    if constant.kind == "f32":
        return float(struct.unpack("<f", constant.bits.to_bytes(4, "little"))[0])
    if constant.kind == "f64":
        return float(struct.unpack("<d", constant.bits.to_bytes(8, "little"))[0])
    return Unsigned(constant.bits) if constant.bits >= 1 << 63 else constant.bits


def constant_of(value: Value) -> Immediate:
    """The literal that a value is."""
    return Immediate(f64_bits(value), "f64") if isinstance(value, float) else Immediate(value)


def wrap(value: int, unsigned: bool) -> int:
    """An integer as ``u64`` or ``s64`` keeps it."""
    value &= _MASK
    return Unsigned(value) if unsigned else value - (1 << 64 if value >> 63 else 0)


def cast(type_name: str, value: Value) -> Value:
    """``(.s64) value`` or ``(.u64) value``; a float may become an integer so."""
    if type_name not in (".s64", ".u64"):
        raise ExpressionError(f"expected a cast to .s64 or .u64, found '({type_name})'")
    if isinstance(value, float) and not abs(value) < 1 << 64:
        raise ExpressionError("the value of the cast does not fit 64 bits")
    return wrap(int(value), type_name == ".u64")


def unary(sign: str, value: Value) -> Value:
    """``-``, ``+``, ``!`` or ``~`` of a value."""
    if sign == "!":
        return int(not value)
    if isinstance(value, float):
        if sign == "~":
            raise ExpressionError("'~' needs an integer")
        return -value if sign == "-" else value
    if sign == "-" and value == 1 << 63:
        return -(1 << 63)  # the least s64, although its digits alone are a u64
    return wrap({"-": -value, "+": value, "~": ~value}[sign], isinstance(value, Unsigned))


def evaluate(flat: list[Any]) -> Value:
    """The value of ``[value, operator, value, ...]`` by the precedence of C. Raises ExpressionError."""
    values: list[Value] = [flat[0]]
    pending: list[str] = []
    for index in range(1, len(flat), 2):
        written, following = flat[index], flat[index + 1]
        if written == ":":
            _reduce(values, pending, 1)
            while pending and pending[-1] == ":":  # an inner choice between this '?' and its ':'
                _choose(values, pending)
            if not pending:
                raise ExpressionError("expected '?' before ':'")
            pending[-1] = ":"
        else:
            _reduce(values, pending, _PRECEDENCE[written] + (written == "?"))
            pending.append(written)
        values.append(following)
    _reduce(values, pending, 0)
    return values[0]


def _reduce(values: list[Value], pending: list[str], least: int) -> None:
    """Apply the pending operators that bind at least so strongly."""
    while pending and _PRECEDENCE[pending[-1]] >= least:
        written = pending[-1]
        if written == "?":
            raise ExpressionError("expected ':' after '?'")
        if written == ":":
            _choose(values, pending)
        else:
            pending.pop()
            second = values.pop()
            values.append(_binary(written, values.pop(), second))


def _choose(values: list[Value], pending: list[str]) -> None:
    """``condition ? first : second`` of the last three values."""
    pending.pop()
    condition, first, second = values[-3:]
    values[-3:] = [first if condition else second]


def _binary(written: str, first: Value, second: Value) -> Value:
    if written in ("&&", "||"):
        return int(bool(first) and bool(second) if written == "&&" else bool(first) or bool(second))
    if isinstance(first, float) or isinstance(second, float):
        return _of_floats(written, float(first), float(second))
    if written in ("<<", ">>"):
        unsigned = isinstance(first, Unsigned)
        distance = min(second & _MASK, 64)
        return wrap(first << distance if written == "<<" else first >> distance, unsigned)
    unsigned = isinstance(first, Unsigned) or isinstance(second, Unsigned)
    first, second = wrap(first, unsigned), wrap(second, unsigned)
    if written in _COMPARISONS:
        return int(_COMPARISONS[written](first, second))
    if written in _INTEGER:
        return wrap(_INTEGER[written](first, second), unsigned)
    if second == 0:
        raise ExpressionError("a constant is divided by zero")
    quotient = abs(first) // abs(second) * (1 if (first < 0) == (second < 0) else -1)
    return wrap(quotient if written == "/" else first - second * quotient, unsigned)


def _of_floats(written: str, first: float, second: float) -> Value:
    if written in _COMPARISONS:
        return int(_COMPARISONS[written](first, second))
    if written == "/":
        if second == 0:
            raise ExpressionError("a constant is divided by zero")
        return first / second
    if written not in ("+", "-", "*"):
        raise ExpressionError(f"'{written}' needs integers")
    return {"+": first + second, "-": first - second, "*": first * second}[written]
