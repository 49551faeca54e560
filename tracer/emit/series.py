"""ex2 and tanh as fixed sequences of f64 additions, multiplications and divisions, for tanh and half precision.

So the results are the same on every machine and equal to the interpreter's, which follows the same steps with numpy.
They are nearer to the true values than hardware's, whose bits for these forms are not known.
"""

import struct
from collections.abc import Callable

from rayplay.tracer.emit.emitter import Emitter
from rayplay.tracer.meaning.floats import EX2_LIMIT, EX2_TERMS, TANH_SMALL, TWO_LOG2_E

DOUBLE = "<32 x double>"


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


def power_of_two(e: Emitter, x: str) -> str:
    """2 to the x: the whole part goes to the exponent, Taylor's series for the rest."""
    limited = _clamp(e, x, EX2_LIMIT)
    whole = _round(e, limited)
    series = _polynomial(e, _f(e, "fsub", limited, whole), EX2_TERMS)
    biased = e.op(f"add <32 x i64> {e.op(f'fptosi {DOUBLE} {whole} to <32 x i64>')}, splat (i64 1023)")
    scale = e.op(f"bitcast <32 x i64> {e.op(f'shl <32 x i64> {biased}, splat (i64 52)')} to {DOUBLE}")
    value = _f(e, "fmul", series, scale)
    return _choose(e, e.op(f"fcmp uno {DOUBLE} {x}, {x}"), x, value)


def hyperbolic_tangent(e: Emitter, x: str) -> str:
    """(1 - 2**-y) / (1 + 2**-y) with y = 2 |x| log2(e) and x's sign; x (1 - x**2 / 3) near 0, which keeps -0."""
    size = e.op(f"call {DOUBLE} @llvm.fabs.v32f64({DOUBLE} {x})")
    power = power_of_two(e, _f(e, "fmul", size, constant(-TWO_LOG2_E)))
    ratio = _f(e, "fdiv", _f(e, "fsub", constant(1.0), power), _f(e, "fadd", constant(1.0), power))
    signed = _choose(e, _less(e, x, "zeroinitializer"), e.op(f"fneg {DOUBLE} {ratio}"), ratio)
    third = _f(e, "fmul", _f(e, "fmul", x, x), constant(1 / 3))
    small = _f(e, "fmul", x, _f(e, "fsub", constant(1.0), third))
    return _choose(e, _less(e, size, constant(TANH_SMALL)), small, signed)


FUNCTIONS: dict[str, Callable[[Emitter, str], str]] = {"ex2": power_of_two, "tanh": hyperbolic_tangent}
