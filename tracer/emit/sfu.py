"""The special function unit (``tracer.meaning.sfu``) as LLVM IR: a function ``<32 x i32> @sfu.NAME(<32 x i32>)`` each.

Bits go in and come out. The steps follow ``tracer.meaning.sfu``, in vectors of 32 or 64 bits a lane.
"""

import struct
from collections.abc import Callable

import numpy as np

from rayplay.tracer.emit.text import Text
from rayplay.tracer.meaning import sfu

WORD, LONG, REAL, FLAGS = "<32 x i32>", "<32 x i64>", "<32 x float>", "<32 x i1>"


class _Steps:
    """The body of one function; operands are names or whole numbers."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def put(self, text: str) -> str:
        """A step; returns its name."""
        name = f"%v{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        return name

    def op(self, word: str, a: str, b: str | int, kind: str = WORD) -> str:
        """A step with two operands of a kind."""
        return self.put(f"{word} {kind} {a}, {_operand(b, kind)}")

    def choose(self, where: str, a: str | int, b: str | int, kind: str = WORD) -> str:
        """``a`` where the flag is set, else ``b``."""
        return self.put(f"select {FLAGS} {where}, {kind} {_operand(a, kind)}, {kind} {_operand(b, kind)}")

    def to_long(self, value: str, signed: bool = False) -> str:
        """64 bits a lane."""
        return self.put(f"{'sext' if signed else 'zext'} {WORD} {value} to {LONG}")

    def to_word(self, value: str) -> str:
        """The low 32 bits."""
        return self.put(f"trunc {LONG} {value} to {WORD}")

    def real(self, bits: str) -> str:
        """The floats of these bits."""
        return self.put(f"bitcast {WORD} {bits} to {REAL}")

    def bits(self, real: str) -> str:
        """The bits of floats."""
        return self.put(f"bitcast {REAL} {real} to {WORD}")

    def is_nan(self, bits: str) -> str:
        """Lanes whose bits are NaN."""
        return self.op("icmp ugt", self.op("and", bits, ~sfu.SIGN), sfu.INFINITY)

    def multiply(self, bits: str, factor: str) -> str:
        """``tracer.meaning.sfu.multiply`` with floats."""
        product = self.bits(self.put(f"fmul {REAL} {self.real(bits)}, {factor}"))
        return self.choose(self.is_nan(bits), bits, product)

    def size_is(self, word: str, bits: str, limit: np.floating) -> str:
        """Compare the absolute value."""
        return self.put(f"fcmp {word} {REAL} {self.real(self.op('and', bits, ~sfu.SIGN))}, {_real(limit)}")


def _operand(value: str | int, kind: str) -> str:
    if isinstance(value, str):
        return value
    bits = 32 if kind == WORD else 64
    value &= (1 << bits) - 1
    return f"splat (i{bits} {value - (1 << bits) if value >> (bits - 1) else value})"


def _real(value: float | np.floating) -> str:
    return f"splat (float 0x{struct.unpack('<Q', struct.pack('<d', float(value)))[0]:016X})"


def _square(s: _Steps, x: str) -> str:
    total = "zeroinitializer"
    for bit in range(2, 17):  # the two lowest bits leave nothing of a number of 17 bits
        kept = s.op("lshr", x, 18 - bit)
        all_ones = s.op("ashr", s.op("shl", x, 31 - bit), 31)
        total = s.op("add", total, s.op("and", kept, all_ones))
    return s.op("lshr", total, 1)


def _coefficient(s: _Steps, name: str, column: int, index: str) -> str:
    """One column of a table, gathered; 64 bits a lane."""
    address = f"getelementptr i32, ptr @sfu.{name}.c{column}, {WORD} {index}"
    pointers = s.put(address)
    everywhere = f"{FLAGS} splat (i1 true), {WORD} poison"
    value = s.put(f"call {WORD} @llvm.masked.gather.v32i32.v32p0(<32 x ptr> {pointers}, i32 4, {everywhere})")
    return s.to_long(value, signed=True)


def _evaluate(s: _Steps, name: str, fraction: str) -> str:
    """``tracer.meaning.sfu.evaluate``; 64 bits a lane."""
    p = sfu.POLYNOMIALS[name]
    index, x = s.op("lshr", fraction, p.bits), s.op("and", fraction, (1 << p.bits) - 1)
    second = s.to_long(_square(s, s.op("shl", x, p.square_shift)))
    value = s.op("shl", _coefficient(s, name, 0, index), p.c0_shift, LONG)
    value = s.op("add", value, s.op("mul", _coefficient(s, name, 1, index), s.to_long(x), LONG), LONG)
    term = s.op("shl", s.op("mul", _coefficient(s, name, 2, index), second, LONG), p.c2_shift, LONG)
    total = s.op("add", s.op("add", value, term, LONG), p.constant, LONG)
    return s.op("ashr", total, p.result_shift, LONG)


def _exponent(s: _Steps, bits: str) -> str:
    return s.op("and", s.op("lshr", bits, 23), 0xFF)


def _normal(s: _Steps, exponent: str, significand: str) -> str:
    value = s.op("add", s.op("shl", exponent, 23), s.op("sub", significand, sfu.ONE))
    return s.choose(s.op("icmp slt", value, sfu.ONE), 0, value)


def _minus(s: _Steps, constant: int, value: str) -> str:
    return s.put(f"sub {WORD} {_operand(constant, WORD)}, {value}")


def _unit_rcp(s: _Steps, bits: str) -> str:
    exponent, sign = _exponent(s, bits), s.op("and", bits, sfu.SIGN)
    significand = s.to_word(_evaluate(s, "rcp", s.op("and", bits, sfu.FRACTION)))
    value = _normal(s, _minus(s, 253, exponent), significand)
    value = s.choose(s.op("icmp eq", exponent, 255), 0, value)
    value = s.op("or", s.choose(s.op("icmp eq", exponent, 0), sfu.INFINITY, value), sign)
    return s.choose(s.is_nan(bits), sfu.NAN, value)


def _unit_root(s: _Steps, bits: str, name: str) -> str:
    inverse = name == "rsqrt"
    exponent, sign = _exponent(s, bits), s.op("and", bits, sfu.SIGN)
    power = s.op("sub", exponent, 127)
    odd = s.op("shl", s.op("and", power, 1), 23)
    fraction = s.op("or", s.op("and", bits, sfu.FRACTION), odd)
    half = s.op("ashr", power, 1)
    significand = s.to_word(_evaluate(s, name, fraction))
    significand = s.choose(s.op("icmp eq", fraction, 0), 2 * sfu.ONE if inverse else sfu.ONE, significand)
    value = _normal(s, _minus(s, 126, half) if inverse else s.op("add", half, 127), significand)
    value = s.choose(s.op("icmp eq", bits, sfu.INFINITY), 0 if inverse else sfu.INFINITY, value)
    bad = s.put(f"or {FLAGS} {s.op('icmp ne', sign, 0)}, {s.is_nan(bits)}")
    zero = s.op("or", sign, sfu.INFINITY) if inverse else sign
    return s.choose(s.op("icmp eq", exponent, 0), zero, s.choose(bad, sfu.NAN, value))


def _float_of_fixed(s: _Steps, magnitude: str, point: int) -> str:
    """``tracer.meaning.sfu.float_of_fixed`` of 64-bit lanes."""
    zeros = s.put(f"call {LONG} @llvm.ctlz.v32i64({LONG} {magnitude}, i1 false)")
    significand = s.op("lshr", s.op("shl", magnitude, zeros, LONG), 40, LONG)
    top = _minus(s, 63 - point + 126, s.to_word(zeros))
    value = s.op("add", s.op("shl", top, 23), s.to_word(significand))
    return s.choose(s.op("icmp eq", magnitude, 0, LONG), 0, value)


def _fixed_of_float(s: _Steps, bits: str, point: int) -> str:
    """``tracer.meaning.sfu.fixed_of_float``; 64 bits a lane."""
    exponent = _exponent(s, bits)
    significand = s.to_long(s.op("or", s.op("and", bits, sfu.FRACTION), sfu.ONE))
    shift = s.op("sub", exponent, 150 - point)
    left = s.put(f"call {WORD} @llvm.smax.v32i32({WORD} {shift}, {WORD} zeroinitializer)")
    right = s.put(f"call {WORD} @llvm.smax.v32i32({WORD} {_minus(s, 0, shift)}, {WORD} zeroinitializer)")
    most = [s.put(f"call {WORD} @llvm.smin.v32i32({WORD} {v}, {WORD} {_operand(38, WORD)})") for v in (left, right)]
    value = s.op("shl", significand, s.to_long(most[0]), LONG)
    value = s.op("lshr", value, s.to_long(most[1]), LONG)
    value = s.choose(s.op("icmp sgt", shift, 38), 1 << 62, value, LONG)
    return s.choose(s.op("icmp eq", exponent, 0), 0, value, LONG)


def _unit_lg2(s: _Steps, bits: str) -> str:
    exponent, sign = _exponent(s, bits), s.op("and", bits, sfu.SIGN)
    inside = s.choose(s.op("icmp eq", bits, 127 << 23), 0, _evaluate(s, "lg2", s.op("and", bits, sfu.FRACTION)), LONG)
    whole = s.op("shl", s.to_long(s.op("sub", exponent, 127), signed=True), 36, LONG)
    fixed = s.op("add", inside, whole, LONG)
    below = s.op("ashr", fixed, 63, LONG)
    value = _float_of_fixed(s, s.op("xor", fixed, below, LONG), 36)
    value = s.op("or", value, s.op("and", s.to_word(below), sfu.SIGN))
    value = s.choose(s.op("icmp eq", bits, sfu.INFINITY), sfu.INFINITY, value)
    bad = s.put(f"or {FLAGS} {s.op('icmp ne', sign, 0)}, {s.is_nan(bits)}")
    return s.choose(s.op("icmp eq", exponent, 0), sfu.SIGN | sfu.INFINITY, s.choose(bad, sfu.NAN, value))


def _unit_ex2(s: _Steps, bits: str) -> str:
    fixed = _fixed_of_float(s, bits, 23)
    negative = s.op("icmp slt", bits, 0)
    far = s.op("icmp ugt", fixed, (128 << 23) - 1, LONG)
    low = s.to_word(fixed)
    inside = s.op("and", low, sfu.FRACTION)
    whole = s.op("and", s.op("lshr", low, 23), 127)
    broken = s.op("icmp ne", inside, 0)
    turned = s.put(f"and {FLAGS} {negative}, {broken}")
    inside = s.op("xor", inside, s.choose(turned, sfu.FRACTION, 0))
    minus = s.op("sub", _minus(s, 0, whole), s.put(f"zext {FLAGS} {broken} to {WORD}"))
    power = s.op("add", s.choose(negative, minus, whole), 127)
    value = _normal(s, power, s.to_word(_evaluate(s, "ex2", inside)))
    value = s.choose(far, s.choose(negative, 0, sfu.INFINITY), value)
    return s.choose(s.is_nan(bits), sfu.NAN, value)


def _unit_sine(s: _Steps, bits: str, quarter_turns: int) -> str:
    """sin or cos of an angle in radians."""
    wide = s.put(f"fpext {REAL} {s.real(bits)} to <32 x double>")
    factor = struct.unpack("<Q", struct.pack("<d", float(sfu.TURNS_PER_RADIAN)))[0]
    exact = s.put(f"fmul <32 x double> {wide}, splat (double 0x{factor:016X})")
    kept = s.op("and", s.put(f"bitcast <32 x double> {exact} to {LONG}"), -1 << 29, LONG)  # towards 0 at 24 bits
    turns = s.put(f"fptrunc <32 x double> {s.put(f'bitcast {LONG} {kept} to <32 x double>')} to {REAL}")
    fixed = _fixed_of_float(s, s.bits(turns), 25)
    quadrant = s.op("add", s.to_word(s.op("lshr", fixed, 23, LONG)), quarter_turns)
    odd = s.op("icmp ne", s.op("and", quadrant, 1), 0)
    inside = s.op("and", s.op("xor", s.to_word(fixed), s.choose(odd, sfu.FRACTION, 0)), sfu.FRACTION)
    value = _float_of_fixed(s, _evaluate(s, "sin", inside), 37)
    sign = s.op("shl", s.op("and", quadrant, 2), 30)
    if quarter_turns == 0:
        sign = s.op("xor", sign, s.op("and", bits, sfu.SIGN))
    value = s.op("or", value, sign)
    return s.choose(s.op("icmp eq", _exponent(s, bits), 255), sfu.NAN, value)


def _scaled_root(s: _Steps, bits: str, name: str) -> str:
    small = s.size_is("olt", bits, sfu.SMALLEST)
    value = _unit_root(s, s.choose(small, s.multiply(bits, _real(sfu.SCALE_UP)), bits), name)
    down = 2.0**12 if name == "rsqrt" else 2.0**-12
    return s.choose(small, s.multiply(value, _real(down)), value)


def _rcp(s: _Steps, bits: str) -> str:
    factor = s.choose(s.size_is("olt", bits, sfu.SMALLEST), _real(sfu.SCALE_UP), _real(1.0), REAL)
    factor = s.choose(s.size_is("ogt", bits, sfu.LARGE), _real(sfu.SCALE_DOWN), factor, REAL)
    return s.multiply(_unit_rcp(s, s.multiply(bits, factor)), factor)


def _lg2(s: _Steps, bits: str) -> str:
    small = s.size_is("olt", bits, sfu.SMALLEST)
    value = _unit_lg2(s, s.choose(small, s.multiply(bits, _real(sfu.SCALE_UP)), bits))
    less = s.bits(s.put(f"fsub {REAL} {s.real(value)}, {_real(sfu.SUBNORMAL_POWERS)}"))
    return s.choose(small, s.choose(s.is_nan(value), value, less), value)


def _ex2(s: _Steps, bits: str) -> str:
    small = s.put(f"fcmp olt {REAL} {s.real(bits)}, {_real(sfu.LOWEST_POWER)}")
    value = _unit_ex2(s, s.choose(small, s.multiply(bits, _real(0.5)), bits))
    return s.choose(small, s.multiply(value, s.real(value)), value)


FUNCTIONS: dict[str, Callable[[_Steps, str], str]] = {
    "rcp": _rcp, "lg2": _lg2, "ex2": _ex2, "sin": lambda s, x: _unit_sine(s, x, 0),
    "cos": lambda s, x: _unit_sine(s, x, 1), "sqrt": lambda s, x: _scaled_root(s, x, "sqrt"),
    "rsqrt": lambda s, x: _scaled_root(s, x, "rsqrt"), "rcp.ftz": _unit_rcp, "lg2.ftz": _unit_lg2,
    "ex2.ftz": _unit_ex2, "sqrt.ftz": lambda s, x: _unit_root(s, x, "sqrt"),
    "rsqrt.ftz": lambda s, x: _unit_root(s, x, "rsqrt"),
}  # fmt: skip
"""As ``tracer.meaning.sfu.APPROXIMATIONS``."""


def call_unit(e: Text, name: str, bits: str) -> str:
    """The bits that a unit function gives for the lanes' bits."""
    table = "sin" if name == "cos" else name.removesuffix(".ftz")
    e.helper(f"sfu.{table}.c", lambda: _table(table))
    e.helper(f"sfu.{name}", lambda: _definition(name))
    return e.op(f"call {WORD} @sfu.{name}({WORD} {bits})")


def _definition(name: str) -> str:
    """An internal LLVM function."""
    steps = _Steps()
    result = FUNCTIONS[name](steps, "%x")
    head = f"define internal {WORD} @sfu.{name}({WORD} %x) #0 {{"
    return "\n".join((head, *steps.lines, f"ret {WORD} {result}", "}"))


def _table(name: str) -> str:
    columns = sfu.TABLES[name].T
    rows = [", ".join(f"i32 {value}" for value in column) for column in columns]
    return "\n".join(f"@sfu.{name}.c{k} = internal constant [{len(columns[k])} x i32] [{rows[k]}]" for k in range(3))
