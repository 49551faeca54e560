"""The .approx forms as LLVM IR: calls of the special function unit, and what ``ptxas`` makes of div and of f64.

``div.approx`` is the product with the unit's reciprocal, for whose sake tiny divisors are scaled; ``div.full`` scales
large ones as well (sm_75). The f64 forms work on the upper word of their operand (PTX ISA 9.7.3.13).
"""

import numpy as np

from rayplay.ptx.ir import Instruction
from rayplay.tracer.emit.emitter import Emitter, Handler
from rayplay.tracer.emit.narrow import SINGLE, as_single, as_word
from rayplay.tracer.emit.sfu import call_unit
from rayplay.tracer.emit.text import FLOAT, INT
from rayplay.tracer.lower.floats import flush, read_float, to_bits, to_float, write_float
from rayplay.tracer.meaning.floats import HALF_UPPER
from rayplay.tracer.meaning.sfu import LARGE, SCALE_DOWN, SCALE_UP, SMALLEST, unit_name

DOUBLE, LONG = FLOAT[64], INT[64]
UPPER_WORD = -(1 << 32)


def _lower_unit(e: Emitter, i: Instruction) -> None:
    if i.form.type == "f64":
        _lower_upper(e, i)
        return
    bits = e.read(i.operands[1], "f32")
    e.write(i.operands[0], call_unit(e, unit_name(i), bits), 32)


def _lower_divide(e: Emitter, i: Instruction) -> None:
    a, b = read_float(e, i, 1, "f32"), read_float(e, i, 2, "f32")
    size = e.op(f"call {SINGLE} @llvm.fabs.v32f32({SINGLE} {b})")
    factor = "splat (float 1.0)"
    scales = [("olt", SMALLEST, SCALE_UP)] if not i.form.ftz else []
    scales += [("ogt", LARGE, SCALE_DOWN)] if i.form.accuracy == "full" else []
    for test, limit, scale in scales:
        where = e.op(f"fcmp {test} {SINGLE} {size}, {_single(e, limit)}")
        factor = e.op(f"select <32 x i1> {where}, {SINGLE} {_single(e, scale)}, {SINGLE} {factor}")
    if scales:
        a, b = (e.op(f"fmul {SINGLE} {value}, {factor}") for value in (a, b))
    reciprocal = as_single(e, call_unit(e, "rcp.ftz", as_word(e, b)))
    write_float(e, i, e.op(f"fmul {SINGLE} {reciprocal}, {a}"), "f32")


def _single(e: Emitter, value: np.float32) -> str:
    return as_single(e, f"splat (i32 {int(value.view(np.uint32))})")


def _lower_upper(e: Emitter, i: Instruction) -> None:
    """rcp and rsqrt of the upper word of an f64, as an upper word; without .ftz rsqrt is 1 / sqrt of it all."""
    bits = e.read(i.operands[1], "f64")
    ftz = i.form.ftz
    if ftz:
        bits = flush(e, e.op(f"and {LONG} {bits}, splat (i64 {UPPER_WORD})"), "f64")
    value = to_float(e, bits, 64)
    if i.opcode == "rsqrt":
        value = e.op(f"call {DOUBLE} @llvm.sqrt.v32f64({DOUBLE} {value})")
    value = e.op(f"fdiv {DOUBLE} splat (double 1.0), {value}")
    result = to_bits(e, value, 64)
    if ftz:
        result = e.op(f"add {LONG} {result}, splat (i64 {HALF_UPPER})")
        result = flush(e, e.op(f"and {LONG} {result}, splat (i64 {UPPER_WORD})"), "f64")
    e.write(i.operands[0], result, 64)


HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(("rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2"), _lower_unit), "div": _lower_divide,
}  # fmt: skip
