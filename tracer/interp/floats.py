"""The meaning of floating point instructions, with numpy's correctly rounded operations and exact arithmetic."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from rayplay.ptx.ir import Instruction
from rayplay.ptx.isa.form import signature
from rayplay.ptx.isa.types import HALVES, TYPES
from rayplay.tracer.interp.arena import UNSIGNED
from rayplay.tracer.interp.values import FLOATS, Handler, Lanes
from rayplay.tracer.meaning import exact
from rayplay.tracer.meaning import floats as constants
from rayplay.tracer.meaning.exact import FORMATS, Number, decode, encode, magnitude, sign_of
from rayplay.tracer.meaning.floats import directed_rounding


def as_float(bits: np.ndarray) -> np.ndarray:
    """Bits as floats."""
    return bits.view(FLOATS[8 * bits.itemsize])


def as_bits(value: np.ndarray) -> np.ndarray:
    """Bits of floats, every NaN the canonical one."""
    width = 8 * value.itemsize
    canonical = np.array(constants.CANONICAL_NAN[width], UNSIGNED[width])
    return np.where(np.isnan(value), canonical, value.view(UNSIGNED[width]))


def flushed(bits: np.ndarray) -> np.ndarray:
    """Subnormal f32 or f64 become zero with their sign."""
    word, width = bits.dtype.type, 8 * bits.itemsize
    return np.where(bits & word(constants.EXPONENT[f"f{width}"]) == 0, bits & word(1 << width - 1), bits)


def read(w: Lanes, i: Instruction, index: int, name: str) -> np.ndarray:
    """Operand ``index`` as floats, flushed under .ftz; a half precision one as f32."""
    bits = w.read(i.operands[index], name)
    if name in HALVES:
        return as_float(np.array([encode(decode(int(b), FORMATS[name]), FORMATS["f32"]) for b in bits], np.uint32))
    return as_float(flushed(bits) if i.form.ftz and name == "f32" else bits)


def write(w: Lanes, i: Instruction, value: np.ndarray) -> None:
    """Assign a float result: canonical NaN, then .ftz and .sat."""
    w.write(i.operands[0], finished(i, as_bits(value)))


def finished(i: Instruction, bits: np.ndarray) -> np.ndarray:
    """.ftz, then .sat."""
    if i.form.ftz and bits.itemsize == 4:
        bits = flushed(bits)
    return saturated(bits) if i.form.saturates else bits


def saturated(bits: np.ndarray) -> np.ndarray:
    """Clamped to [0, 1]; NaN and -0 give +0."""
    value = as_float(bits)
    one = value.dtype.type(1)
    return np.where(value > 0, np.minimum(value, one), value.dtype.type(0)).view(bits.dtype)


def fused(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """a * b + c rounded once."""
    dtype = UNSIGNED[8 * a.itemsize]
    kind = FORMATS[f"f{8 * a.itemsize}"]
    lanes = zip(*(values.view(dtype).tolist() for values in (a, b, c)), strict=True)
    results = []
    for lane in lanes:
        x, y, z = (decode(bits, kind) for bits in lane)
        results.append(encode(exact.add(exact.multiply(x, y), z), kind))
    return as_float(np.array(results, dtype))


EXACT: dict[str, Callable[..., Number]] = {
    "add": lambda mode, a, b: exact.add(a, b, mode), "sub": lambda mode, a, b: exact.add(a, -b, mode),
    "mul": lambda mode, a, b: exact.multiply(a, b), "div": lambda mode, a, b: exact.divide(a, b),
    "fma": lambda mode, a, b, c: exact.add(exact.multiply(a, b), c, mode),
    "mad": lambda mode, a, b, c: exact.add(exact.multiply(a, b), c, mode),
    "rcp": lambda mode, a: exact.divide(Fraction(1), a), "sqrt": lambda mode, a: exact.square_root(a),
}  # fmt: skip


NEAREST: dict[str, Callable[..., np.ndarray]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "fma": fused, "mad": fused,
    "rcp": lambda a: a.dtype.type(1) / a, "sqrt": np.sqrt,
}  # fmt: skip


def _computed(i: Instruction, *operands: np.ndarray) -> np.ndarray:
    """An operation of EXACT: rounded to nearest by numpy; under .rz, .rm, .rp exact, then rounded to that side."""
    mode = directed_rounding(i)
    if mode is None:
        with np.errstate(all="ignore"):
            return NEAREST[i.opcode](*operands)
    width = 8 * operands[0].itemsize
    kind = FORMATS[f"f{width}"]
    bits = [values.view(UNSIGNED[width]).tolist() for values in operands]
    results = [
        encode(EXACT[i.opcode](mode, *(decode(each, kind) for each in lane)), kind, mode)
        for lane in zip(*bits, strict=True)
    ]
    return as_float(np.array(results, UNSIGNED[width]))


def run_arithmetic(w: Lanes, i: Instruction) -> None:
    """The operations of EXACT, rounded once; factors and terms may be of half precision."""
    values = [read(w, i, index, operand.type) for index, operand in enumerate(signature(i.form)[1:], 1)]
    write(w, i, _computed(i, *values))


def run_pair(w: Lanes, i: Instruction) -> None:
    """add, sub, mul, fma on f32x2: each half as f32."""
    words = [w.read(operand, "f32x2") for operand in i.operands[1:]]
    total = np.zeros(32, np.uint64)
    for shift in (np.uint64(0), np.uint64(32)):
        halves = [(bits >> shift).astype(np.uint32) for bits in words]
        values = [as_float(flushed(half) if i.form.ftz else half) for half in halves]
        total |= finished(i, as_bits(_computed(i, *values))).astype(np.uint64) << shift
    w.write(i.operands[0], total)


def run_min_max(w: Lanes, i: Instruction) -> None:
    """min, max of two or three numbers."""
    name = i.form.type
    kind, dtype = FORMATS[name], UNSIGNED[TYPES[name]]
    operands = [read(w, i, index, name).view(dtype).tolist() for index in range(1, len(i.operands))]
    lanes = zip(*operands, strict=True)
    results = [encode(extreme(i, *(decode(bits, kind) for bits in lane)), kind) for lane in lanes]
    w.write(i.operands[0], finished(i, np.array(results, dtype)))


def _ordered(number: Number) -> tuple[Number, float]:
    return number, sign_of(number)


def extreme(i: Instruction, *numbers: Number) -> Number:
    """min or max: a number wins over NaN (unless .NaN), -0 is below +0; .abs and .xorsign as in the PTX manual."""
    signs = [sign_of(number) for number in numbers]
    sizes: list[Number] = [magnitude(number) if i.form.absolute else number for number in numbers]
    known = [number for number in sizes if number == number]
    if not known or (i.form.keeps_nan and len(known) < len(numbers)):
        return math.nan
    pick = min if i.opcode == "min" else max
    result = pick(known, key=_ordered)
    return -result if i.form.xorsign and signs[0] != signs[1] else result


def run_sign(w: Lanes, i: Instruction) -> None:
    """neg, abs, copysign: the sign bit alone."""
    name = i.form.type
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
    name = i.form.type
    value = as_float(w.read(i.operands[1], name))
    size, tiny = np.abs(value), np.finfo(value.dtype).tiny
    tests = {
        "finite": np.isfinite(value), "infinite": np.isinf(value), "number": ~np.isnan(value),
        "notanumber": np.isnan(value), "normal": np.isfinite(value) & (size >= tiny),
        "subnormal": (size > 0) & (size < tiny),
    }  # fmt: skip
    w.write(i.operands[0], tests[i.form.variant])


def _polynomial(x: np.ndarray, coefficients: tuple[float, ...]) -> np.ndarray:
    value = np.full(32, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        value = value * x + coefficient
    return value


def _clamp(x: np.ndarray, limit: float) -> np.ndarray:
    x = np.where(x < limit, x, limit)
    return np.where(-limit < x, x, -limit)


def power_of_two(x: np.ndarray) -> np.ndarray:
    """2 to the x."""
    limited = _clamp(x, constants.EX2_LIMIT)
    whole = np.rint(limited)
    value = np.ldexp(_polynomial(limited - whole, constants.EX2_TERMS), whole.astype(np.int64))
    return np.where(np.isnan(x), x, value)


def hyperbolic_tangent(x: np.ndarray) -> np.ndarray:
    """tanh(x)."""
    size = np.abs(x)
    power = power_of_two(size * -constants.TWO_LOG2_E)
    ratio = (1.0 - power) / (1.0 + power)
    small = x * (1.0 - x * x * (1 / 3))
    return np.where(size < constants.TANH_SMALL, small, np.where(x < 0.0, -ratio, ratio))


FUNCTIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {"ex2": power_of_two, "tanh": hyperbolic_tangent}


def run_function(w: Lanes, i: Instruction) -> None:
    """tanh."""
    with np.errstate(all="ignore"):
        write(w, i, FUNCTIONS[i.opcode](read(w, i, 1, "f32").astype(np.float64)).astype(np.float32))


HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(EXACT, run_arithmetic), "min": run_min_max, "max": run_min_max, "neg": run_sign, "abs": run_sign,
    "copysign": run_sign, "testp": run_testp, "tanh": run_function,
}  # fmt: skip
PAIR_HANDLERS: dict[str, Handler] = dict.fromkeys(("add", "sub", "mul", "fma"), run_pair)
