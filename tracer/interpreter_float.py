"""The meaning of floating point instructions, with numpy's correctly rounded operations and exact arithmetic."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from ptx.ir import Instruction
from tracer import lower_math as terms
from tracer.interpreter_rounding import binary_directed, fused_directed
from tracer.interpreter_values import FLOATS, UNSIGNED, Lanes
from tracer.lower_emit import TYPES, type_names
from tracer.lower_float import CANONICAL_NAN
from tracer.lower_rounding import directed_rounding

Handler = Callable[[Lanes, Instruction], None]


def as_float(bits: np.ndarray) -> np.ndarray:
    """Bits as floats."""
    return bits.view(FLOATS[8 * bits.itemsize])


def as_bits(value: np.ndarray) -> np.ndarray:
    """Bits of floats, every NaN the canonical one."""
    width = 8 * value.itemsize
    canonical = np.array(CANONICAL_NAN[width], UNSIGNED[width])
    return np.where(np.isnan(value), canonical, value.view(UNSIGNED[width]))


def flushed(bits: np.ndarray) -> np.ndarray:
    """Subnormal f32 become zero with their sign."""
    return np.where(bits & np.uint32(0x7F800000) == 0, bits & np.uint32(0x80000000), bits)


def read(w: Lanes, i: Instruction, index: int, name: str) -> np.ndarray:
    """Operand ``index`` as floats, flushed under .ftz."""
    bits = w.read(i.operands[index], name)
    return as_float(flushed(bits) if "ftz" in i.modifiers and name == "f32" else bits)


def write(w: Lanes, i: Instruction, value: np.ndarray) -> None:
    """Assign a float result: canonical NaN, then .ftz and .sat."""
    w.write(i.operands[0], finished(i, as_bits(value)))


def finished(i: Instruction, bits: np.ndarray) -> np.ndarray:
    """.ftz, then .sat."""
    if "ftz" in i.modifiers and bits.itemsize == 4:
        bits = flushed(bits)
    return saturated(bits) if "sat" in i.modifiers else bits


def saturated(bits: np.ndarray) -> np.ndarray:
    """Clamped to [0, 1]; NaN and -0 give +0."""
    value = as_float(bits)
    one = value.dtype.type(1)
    return np.where(value > 0, np.minimum(value, one), value.dtype.type(0)).view(bits.dtype)


def fused(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """a * b + c rounded once."""
    out = a.dtype.type
    with np.errstate(all="ignore"):
        special = ~np.isfinite(a) | ~np.isfinite(b) | ~np.isfinite(c)
        result = a * b + c  # right where something is infinite or NaN
    for lane in np.flatnonzero(~special):
        x, y, z = float(a[lane]), float(b[lane]), float(c[lane])
        exact = Fraction(x) * Fraction(y) + Fraction(z)
        if exact == 0:
            result[lane] = _zero_sum(x, y, z)
        else:
            result[lane] = round_fraction(exact, out)
    return result


def _zero_sum(x: float, y: float, z: float) -> float:
    """The signed zero of an exact sum x * y + z that is 0."""
    negative = (np.signbit(x) ^ np.signbit(y)) and np.signbit(z) and z == 0
    return -0.0 if negative else 0.0


def round_fraction(exact: Fraction, out: type) -> float:
    """The nearest f32 or f64, ties to even, of a number that is not 0."""
    digits, lowest, largest = (24, -149, 128) if out is np.float32 else (53, -1074, 1024)
    size = abs(exact)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if Fraction(2) ** exponent > size:
        exponent -= 1
    unit = max(exponent - digits + 1, lowest)
    steps = round(size / Fraction(2) ** unit)  # ties to even
    if steps * Fraction(2) ** unit >= Fraction(2) ** largest:
        return float("inf") if exact > 0 else float("-inf")
    value = float(steps * Fraction(2) ** unit)
    return value if exact > 0 else -value


def _binary(function: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Handler:
    def run(w: Lanes, i: Instruction) -> None:
        name = type_names(i)[-1]
        a, b = read(w, i, 1, name), read(w, i, 2, name)
        rounding = directed_rounding(i)
        with np.errstate(all="ignore"):
            write(w, i, binary_directed(i.opcode, a, b, rounding) if rounding else function(a, b))

    return run


def run_fma(w: Lanes, i: Instruction) -> None:
    """fma, mad: one rounding."""
    name = type_names(i)[-1]
    a, b, c = (read(w, i, index, name) for index in (1, 2, 3))
    rounding = directed_rounding(i)
    write(w, i, fused_directed(a, b, c, rounding) if rounding else fused(a, b, c))


def run_min_max(w: Lanes, i: Instruction) -> None:
    """min, max: a number wins over NaN (unless .NaN), -0 is below +0."""
    name = type_names(i)[-1]
    a, b = read(w, i, 1, name), read(w, i, 2, name)
    result = a.copy()
    for lane in range(32):
        x, y = a[lane], b[lane]
        if np.isnan(x) or np.isnan(y):
            result[lane] = np.nan if "NaN" in i.modifiers else y if np.isnan(x) else x
        elif x == y:
            result[lane] = x if np.signbit(x) == (i.opcode == "min") else y
        else:
            result[lane] = min(x, y) if i.opcode == "min" else max(x, y)
    write(w, i, result)


def run_sign(w: Lanes, i: Instruction) -> None:
    """neg, abs, copysign: the sign bit alone."""
    name = type_names(i)[-1]
    bits = read(w, i, 1, name).view(UNSIGNED[TYPES[name]])
    sign = bits.dtype.type(1 << TYPES[name] - 1)
    if i.opcode == "neg":
        w.write(i.operands[0], bits ^ sign)
    elif i.opcode == "abs":
        w.write(i.operands[0], bits & ~sign)
    else:
        w.write(i.operands[0], bits & sign | w.read(i.operands[2], name) & ~sign)


def run_testp(w: Lanes, i: Instruction) -> None:
    """testp: the class of a float."""
    name = type_names(i)[-1]
    value = as_float(w.read(i.operands[1], name))
    size, tiny = np.abs(value), np.finfo(value.dtype).tiny
    tests = {
        "finite": np.isfinite(value), "infinite": np.isinf(value), "number": ~np.isnan(value),
        "notanumber": np.isnan(value), "normal": np.isfinite(value) & (size >= tiny),
        "subnormal": (size > 0) & (size < tiny),
    }  # fmt: skip
    w.write(i.operands[0], next(tests[m] for m in i.modifiers if m in tests))


COMPARE: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip


def compare(i: Instruction, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A comparison of float bits; ``u`` ones hold for NaN, the others do not."""
    if "ftz" in i.modifiers and a.itemsize == 4:
        a, b = flushed(a), flushed(b)
    x, y = as_float(a), as_float(b)
    nan = np.isnan(x) | np.isnan(y)
    word = i.modifiers[0]
    if word in ("num", "nan"):
        return nan == (word == "nan")
    if word in COMPARE:
        return COMPARE[word](x, y) & ~nan
    return COMPARE[word[:2]](x, y) | nan


def run_root(w: Lanes, i: Instruction) -> None:
    """sqrt, rcp: correctly rounded; rsqrt: through f64."""
    name = type_names(i)[-1]
    a = read(w, i, 1, name)
    with np.errstate(all="ignore"):
        if i.opcode == "sqrt":
            write(w, i, np.sqrt(a))
        elif i.opcode == "rcp":
            write(w, i, a.dtype.type(1) / a)
        else:
            write(w, i, (1.0 / np.sqrt(a.astype(np.float64))).astype(a.dtype))


def _polynomial(x: np.ndarray, coefficients: tuple[float, ...]) -> np.ndarray:
    value = np.full(32, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        value = value * x + coefficient
    return value


def _clamp(x: np.ndarray, limit: float) -> np.ndarray:
    x = np.where(x < limit, x, limit)
    return np.where(-limit < x, x, -limit)


def sine(x: np.ndarray, quarter_turns: float) -> np.ndarray:
    """sin(x + quarter_turns * pi / 2), step by step as ``tracer.lower_math.sine``."""
    k = np.rint(x * terms.TWO_OVER_PI)
    r = x - k * terms.HALF_PI_HIGH - k * terms.HALF_PI_LOW
    odd, even = r * _polynomial(r * r, terms.SIN_TERMS), _polynomial(r * r, terms.COS_TERMS)
    turns = k + quarter_turns
    quadrant = turns - np.floor(turns * 0.25) * 4.0
    value = np.where(np.where(quadrant < 2.0, quadrant, quadrant - 2.0) < 1.0, odd, even)
    value = _clamp(np.where(quadrant < 2.0, value, -value), 1.0)
    return np.where(np.isnan(r), r, value)


def power_of_two(x: np.ndarray) -> np.ndarray:
    """2 to the x."""
    limited = _clamp(x, terms.EX2_LIMIT)
    whole = np.rint(limited)
    value = np.ldexp(_polynomial(limited - whole, terms.EX2_TERMS), whole.astype(np.int64))
    return np.where(np.isnan(x), x, value)


def logarithm(x: np.ndarray) -> np.ndarray:
    """log2(x)."""
    m, power = np.frexp(np.where(np.isfinite(x) & (x > 0), x, 1.0))
    m, power = m * 2.0, power - 1.0
    high = m > terms.SQRT_2
    m, power = np.where(high, m * 0.5, m), np.where(high, power + 1.0, power)
    s = (m - 1.0) / (m + 1.0)
    value = power + s * _polynomial(s * s, terms.LG2_TERMS)
    value = np.where(x < np.inf, value, x)
    return np.where(x < 0.0, np.nan, np.where(x == 0.0, -np.inf, value))


def hyperbolic_tangent(x: np.ndarray) -> np.ndarray:
    """tanh(x)."""
    size = np.abs(x)
    power = power_of_two(size * -terms.TWO_LOG2_E)
    ratio = (1.0 - power) / (1.0 + power)
    small = x - x * x * (x * (1 / 3))
    return np.where(size < terms.TANH_SMALL, small, np.where(x < 0.0, -ratio, ratio))


FUNCTIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "sin": lambda x: sine(x, 0.0), "cos": lambda x: sine(x, 1.0), "ex2": power_of_two, "lg2": logarithm,
    "tanh": hyperbolic_tangent,
}  # fmt: skip


def run_function(w: Lanes, i: Instruction) -> None:
    """sin, cos, ex2, lg2, tanh."""
    with np.errstate(all="ignore"):
        write(w, i, FUNCTIONS[i.opcode](read(w, i, 1, "f32").astype(np.float64)).astype(np.float32))


HANDLERS: dict[str, Handler] = {
    "add": _binary(np.add), "sub": _binary(np.subtract), "mul": _binary(np.multiply), "div": _binary(np.divide),
    "fma": run_fma, "mad": run_fma, "min": run_min_max, "max": run_min_max, "neg": run_sign, "abs": run_sign,
    "copysign": run_sign, "testp": run_testp, "sqrt": run_root, "rcp": run_root, "rsqrt": run_root,
    **dict.fromkeys(FUNCTIONS, run_function),
}  # fmt: skip
