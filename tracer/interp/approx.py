"""The meaning of the .approx forms: the special function unit, and what ``ptxas`` makes of div and of f64."""

import numpy as np

from rayplay.ptx.ir import Instruction
from rayplay.tracer.interp.floats import as_bits, as_float, flushed, read, write
from rayplay.tracer.interp.values import Handler, Lanes
from rayplay.tracer.meaning.floats import HALF_UPPER
from rayplay.tracer.meaning.sfu import APPROXIMATIONS, LARGE, SCALE_DOWN, SCALE_UP, SMALLEST, unit_name


def run_approx(w: Lanes, i: Instruction) -> None:
    """An .approx or .full form."""
    with np.errstate(all="ignore"):
        if i.opcode == "div":
            _divide(w, i)
        elif i.form.type == "f64":
            _upper(w, i)
        else:
            bits = w.read(i.operands[1], "f32").astype(np.int64)
            w.write(i.operands[0], APPROXIMATIONS[unit_name(i)](bits).astype(np.uint32))


def _divide(w: Lanes, i: Instruction) -> None:
    a, b = read(w, i, 1, "f32"), read(w, i, 2, "f32")
    size, factor = np.abs(b), np.ones(32, np.float32)
    if not i.form.ftz:
        factor[size < SMALLEST] = SCALE_UP
    if i.form.accuracy == "full":
        factor[size > LARGE] = SCALE_DOWN
    reciprocal = APPROXIMATIONS["rcp.ftz"]((b * factor).view(np.uint32).astype(np.int64))
    write(w, i, as_float(reciprocal.astype(np.uint32)) * (a * factor))


def _upper(w: Lanes, i: Instruction) -> None:
    """rcp and rsqrt of the upper word of an f64, as an upper word; without .ftz rsqrt is 1 / sqrt of it all."""
    bits = w.read(i.operands[1], "f64")
    upper, ftz = np.uint64(0xFFFFFFFF << 32), i.form.ftz
    value = as_float(flushed(bits & upper) if ftz else bits)
    result = as_bits(1.0 / (np.sqrt(value) if i.opcode == "rsqrt" else value))
    if ftz:
        result = flushed((result + np.uint64(HALF_UPPER)) & upper)
    w.write(i.operands[0], result)


HANDLERS: dict[str, Handler] = dict.fromkeys(("rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2", "div"), run_approx)
