"""The meaning of cvt: values of one type as values of another, exact and then rounded once."""

import math
from fractions import Fraction

import numpy as np

from rayplay.ptx.ir import Instruction
from rayplay.ptx.isa.types import HALVES, TYPES
from rayplay.tracer.interp.arena import UNSIGNED
from rayplay.tracer.interp.floats import flushed
from rayplay.tracer.interp.half import clamped, read_parts
from rayplay.tracer.interp.integer import clamp, numbers, put
from rayplay.tracer.interp.values import Handler, Lanes
from rayplay.tracer.meaning.dispatch import is_packed_conversion
from rayplay.tracer.meaning.exact import FORMATS, Number, decode, encode, power, rounded, sign_of
from rayplay.tracer.meaning.tables import PACKED_BITS

WHOLE = {"rni": "rn", "rzi": "rz", "rmi": "rm", "rpi": "rp"}
MODES = ("rn", "rna", "rz", "rm", "rp")


def run_cvt(w: Lanes, i: Instruction) -> None:
    """cvt of one number, of a pair, or of two integers into one word."""
    if i.form.variant == "pack":
        _run_pack(w, i)
    elif is_packed_conversion(i):
        _run_pair(w, i)
    else:
        _run_one(w, i)


def _run_one(w: Lanes, i: Instruction) -> None:
    """One number."""
    out, name = i.form.types
    if name in FORMATS:
        bits = w.read(i.operands[1], name)
        if name == "f32" and i.form.ftz:
            bits = flushed(bits)
        values = [_whole(i, decode(int(b), FORMATS[name])) for b in bits]
    else:
        values = [Fraction(number) or 0.0 for number in numbers(w, i, 1, name)]
    if out in FORMATS:
        results = [_float_bits(i, value, out) for value in values]
        made = np.array(results, UNSIGNED[TYPES[out]])
        w.write(i.operands[0], flushed(made) if out == "f32" and i.form.ftz else made)
    elif name in FORMATS:
        put(w, i, [_to_integer(value, out, name) for value in values], TYPES[out], out[0] == "s")
    else:
        integers = [int(value) for value in values]
        if i.form.saturates:
            integers = [clamp(number, out[0], TYPES[out]) for number in integers]
        # the extension to a wider register is the source type's when bits are cut off, else the target's
        put(w, i, integers, TYPES[out], out[0] == "s")


def _whole(i: Instruction, value: Number) -> Number:
    word = WHOLE.get(i.form.rounding)
    if word is None or isinstance(value, float):
        return value
    size = rounded(abs(value), word, value < 0)
    return (-size if value < 0 else size) * Fraction(1) or 0.0 * sign_of(value)


def _float_bits(i: Instruction, value: Number, out: str) -> int:
    if i.form.saturates:
        value = clamped(value)
    if i.form.relu and value <= 0:
        value = 0.0
    mode = i.form.rounding if i.form.rounding in MODES else "rn"
    bits = encode(value, FORMATS[out], mode, i.form.finite)
    if out == "tf32":
        return bits << 13 if value == value else 0x7FFFFFFF
    return bits


def _to_integer(value: Number, out: str, name: str) -> int:
    """Clamped; NaN gives 0, or the top bit alone where one of the types has 64 bits."""
    width = TYPES[out]
    if value != value:
        return 1 << width - 1 if name == "f64" or width == 64 else 0
    if isinstance(value, float) and math.isinf(value):
        return clamp((1 << 70) if value > 0 else -(1 << 70), out[0], width)
    return clamp(math.trunc(value), out[0], width)


def _run_pair(w: Lanes, i: Instruction) -> None:
    """A pair of numbers; the first of two sources goes to the high part."""
    out, name = (each.removesuffix("x2") for each in i.form.types)
    total = [0] * len(w.active)
    for part, codes in enumerate(_parts(w, i)):
        for lane, code in enumerate(codes):
            value = _power(code) if name == "ue8m0" else decode(code, FORMATS[name])
            total[lane] |= _code(i, value, out) << part * (16 if out in HALVES else 4 if out == "e2m1" else 8)
    width = 32 if out in HALVES else 8 if out == "e2m1" else 16
    w.write(i.operands[0], np.array(total, UNSIGNED[width]))


def _parts(w: Lanes, i: Instruction) -> list[list[int]]:
    """Bits of both numbers, the low part first."""
    name = i.form.type
    if name == "f32":
        return [[int(b) for b in w.read(i.operands[k], name)] for k in (2, 1)]
    if name in HALVES:
        return read_parts(w, i, 1, name)
    half = TYPES[name] // 2
    return [[int(b) >> shift & (1 << half) - 1 for b in w.read(i.operands[1], name)] for shift in (0, half)]


def _power(code: int) -> Number:
    return math.nan if code == 255 else power(code - 127)


def _code(i: Instruction, value: Number, out: str) -> int:
    if out != "ue8m0":
        return _float_bits(i, value, out)
    if value != value:
        return 255
    largest = 254 if i.form.finite else 255
    if isinstance(value, float):
        return 0 if value == 0 else largest
    exponent = next(k for k in range(-200, 129) if power(k + 1) > abs(value))
    if i.form.rounding == "rp" and power(exponent) != abs(value):
        exponent += 1
    return min(max(exponent + 127, 0), largest)


def _run_pack(w: Lanes, i: Instruction) -> None:
    """cvt.pack: two clamped integers, the first above the second, below the low bits of a third."""
    name = i.form.elements[0]
    bits = PACKED_BITS[name]
    rest = numbers(w, i, 3, "u32") if len(i.operands) > 3 else [0] * len(w.active)
    lanes = zip(numbers(w, i, 1, "s32"), numbers(w, i, 2, "s32"), rest, strict=True)
    low = (1 << bits) - 1
    results = []
    for a, b, c in lanes:
        a, b = (clamp(number, name[0], bits) & low for number in (a, b))
        results.append(c << 2 * bits | a << bits | b)
    put(w, i, results, 32)


HANDLERS: dict[str, Handler] = {"cvt": run_cvt}
