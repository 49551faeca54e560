"""sin, cos, ex2, lg2 and tanh of f32, each a fixed sequence of f64 additions, multiplications and divisions.

So the results are the same on every machine and equal to the interpreter's, which follows the same steps with numpy.
They are within one unit in the last place of the true value for arguments up to 1e6, nearer than hardware's.
"""

import math
import struct
from collections.abc import Callable

from ptx.ir import Instruction
from tracer.lower_emit import Emitter, type_names
from tracer.lower_float import read_float, write_float

DOUBLE = "<32 x double>"
TWO_OVER_PI = 2 / math.pi
HALF_PI_HIGH = struct.unpack("<d", struct.pack("<Q", 0x3FF921FB54400000))[0]  # 33 bits: k * this is exact, k < 2**20
HALF_PI_LOW = 6.077100506506192e-11
SIN_TERMS = tuple((-1) ** n / math.factorial(2 * n + 1) for n in range(7))
COS_TERMS = tuple((-1) ** n / math.factorial(2 * n) for n in range(8))
EX2_TERMS = tuple(math.log(2) ** n / math.factorial(n) for n in range(11))
EX2_LIMIT = 200.0
LG2_TERMS = tuple(2 / math.log(2) / (2 * n + 1) for n in range(9))
SQRT_2 = math.sqrt(2)
TWO_LOG2_E = 2 / math.log(2)
TANH_SMALL = 2.0**-13
MANTISSA_MASK, ONE_BITS = (1 << 52) - 1, 0x3FF0000000000000


def constant(value: float) -> str:
    """A double in all lanes."""
    return f"splat (double 0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X})"


def _f(e: Emitter, word: str, a: str, b: str) -> str:
    return e.op(f"{word} {DOUBLE} {a}, {b}")


def _choose(e: Emitter, where: str, a: str, b: str) -> str:
    return e.op(f"select <32 x i1> {where}, {DOUBLE} {a}, {DOUBLE} {b}")


def _less(e: Emitter, a: str, b: str) -> str:
    return e.op(f"fcmp olt {DOUBLE} {a}, {b}")


def _round(e: Emitter, a: str, word: str = "roundeven") -> str:
    return e.op(f"call {DOUBLE} @llvm.{word}.v32f64({DOUBLE} {a})")


def _polynomial(e: Emitter, x: str, terms: tuple[float, ...]) -> str:
    """Horner's rule, highest term first."""
    value = constant(terms[-1])
    for term in reversed(terms[:-1]):
        value = _f(e, "fadd", _f(e, "fmul", value, x), constant(term))
    return value


def _clamp(e: Emitter, x: str, limit: float) -> str:
    """Between -limit and limit; NaN becomes limit."""
    x = _choose(e, _less(e, x, constant(limit)), x, constant(limit))
    return _choose(e, _less(e, constant(-limit), x), x, constant(-limit))


def sine(e: Emitter, x: str, quarter_turns: float) -> str:
    """sin(x + quarter_turns * pi / 2), Cody and Waite's reduction to [-pi/4, pi/4]."""
    k = _round(e, _f(e, "fmul", x, constant(TWO_OVER_PI)))
    r = _f(e, "fsub", x, _f(e, "fmul", k, constant(HALF_PI_HIGH)))
    r = _f(e, "fsub", r, _f(e, "fmul", k, constant(HALF_PI_LOW)))
    square = _f(e, "fmul", r, r)
    odd = _f(e, "fmul", r, _polynomial(e, square, SIN_TERMS))
    even = _polynomial(e, square, COS_TERMS)
    turns = _f(e, "fadd", k, constant(quarter_turns))
    fours = _round(e, _f(e, "fmul", turns, constant(0.25)), "floor")
    quadrant = _f(e, "fsub", turns, _f(e, "fmul", fours, constant(4.0)))
    low = _less(e, quadrant, constant(2.0))
    rest = _choose(e, low, quadrant, _f(e, "fsub", quadrant, constant(2.0)))
    value = _choose(e, _less(e, rest, constant(1.0)), odd, even)
    value = _choose(e, low, value, e.op(f"fneg {DOUBLE} {value}"))
    value = _clamp(e, value, 1.0)
    bad = e.op(f"fcmp uno {DOUBLE} {r}, {r}")
    return _choose(e, bad, r, value)


def power_of_two(e: Emitter, x: str) -> str:
    """2 to the x: the whole part goes to the exponent, Taylor's series for the rest."""
    limited = _clamp(e, x, EX2_LIMIT)
    whole = _round(e, limited)
    series = _polynomial(e, _f(e, "fsub", limited, whole), EX2_TERMS)
    biased = e.op(f"add <32 x i64> {e.op(f'fptosi {DOUBLE} {whole} to <32 x i64>')}, splat (i64 1023)")
    scale = e.op(f"bitcast <32 x i64> {e.op(f'shl <32 x i64> {biased}, splat (i64 52)')} to {DOUBLE}")
    value = _f(e, "fmul", series, scale)
    return _choose(e, e.op(f"fcmp uno {DOUBLE} {x}, {x}"), x, value)


def logarithm(e: Emitter, x: str) -> str:
    """log2(x): the exponent plus the series of artanh((m - 1) / (m + 1)), m within a factor sqrt(2) of 1."""
    bits = e.op(f"bitcast {DOUBLE} {x} to <32 x i64>")
    exponent = e.op(f"lshr <32 x i64> {bits}, splat (i64 52)")
    unbiased = e.op(f"sub <32 x i64> {exponent}, splat (i64 1023)")
    power = e.op(f"sitofp <32 x i64> {unbiased} to {DOUBLE}")
    fraction = e.op(f"and <32 x i64> {bits}, splat (i64 {MANTISSA_MASK})")
    m = e.op(f"bitcast <32 x i64> {e.op(f'or <32 x i64> {fraction}, splat (i64 {ONE_BITS})')} to {DOUBLE}")
    high = _less(e, constant(SQRT_2), m)
    m = _choose(e, high, _f(e, "fmul", m, constant(0.5)), m)
    power = _choose(e, high, _f(e, "fadd", power, constant(1.0)), power)
    s = _f(e, "fdiv", _f(e, "fsub", m, constant(1.0)), _f(e, "fadd", m, constant(1.0)))
    series = _f(e, "fmul", s, _polynomial(e, _f(e, "fmul", s, s), LG2_TERMS))
    value = _f(e, "fadd", power, series)
    value = _choose(e, _less(e, x, constant(math.inf)), value, x)  # infinity and NaN stay
    zero = e.op(f"fcmp oeq {DOUBLE} {x}, zeroinitializer")
    value = _choose(e, zero, constant(-math.inf), value)
    return _choose(e, _less(e, x, "zeroinitializer"), constant(math.nan), value)


def hyperbolic_tangent(e: Emitter, x: str) -> str:
    """(1 - 2**-y) / (1 + 2**-y) with y = 2 |x| log2(e) and x's sign; x - x**3 / 3 near 0."""
    size = e.op(f"call {DOUBLE} @llvm.fabs.v32f64({DOUBLE} {x})")
    power = power_of_two(e, _f(e, "fmul", size, constant(-TWO_LOG2_E)))
    ratio = _f(e, "fdiv", _f(e, "fsub", constant(1.0), power), _f(e, "fadd", constant(1.0), power))
    signed = _choose(e, _less(e, x, "zeroinitializer"), e.op(f"fneg {DOUBLE} {ratio}"), ratio)
    cube = _f(e, "fmul", _f(e, "fmul", x, x), _f(e, "fmul", x, constant(1 / 3)))
    return _choose(e, _less(e, size, constant(TANH_SMALL)), _f(e, "fsub", x, cube), signed)


FUNCTIONS: dict[str, Callable[[Emitter, str], str]] = {
    "sin": lambda e, x: sine(e, x, 0.0),
    "cos": lambda e, x: sine(e, x, 1.0),
    "ex2": power_of_two,
    "lg2": logarithm,
    "tanh": hyperbolic_tangent,
}


def lower_function(e: Emitter, i: Instruction) -> None:
    """One of FUNCTIONS on f32."""
    if type_names(i) != ["f32"]:
        raise e.unknown()
    x = e.op(f"fpext <32 x float> {read_float(e, i, 1, 'f32')} to {DOUBLE}")
    value = FUNCTIONS[i.opcode](e, x)
    write_float(e, i, e.op(f"fptrunc {DOUBLE} {value} to <32 x float>"), "f32")
