"""cvt as LLVM IR: integers, floats of all widths, packed pairs."""

from collections.abc import Callable

from rayplay.ptx.ir import Instruction
from rayplay.ptx.isa.types import HALVES, TYPES, type_names
from rayplay.tracer.emit.emitter import FLOAT, INT, Emitter
from rayplay.tracer.emit.narrow import narrow, odd_single, widen
from rayplay.tracer.emit.rounding import directed_rounding, lower_rounded
from rayplay.tracer.lower.floats import finished, flush, saturate, to_bits, to_float

ROUND_TO_INTEGER = {"rni": "roundeven", "rzi": "trunc", "rmi": "floor", "rpi": "ceil"}
EXACT_IN_DOUBLE = 1 << 53


def lower_cvt(e: Emitter, i: Instruction) -> None:
    """cvt of one number; float to integer clamps."""
    out, name = type_names(i)
    value = e.read(i.operands[1], name)
    if name in HALVES:
        number, have = widen(e, value, name), 32
    elif name[0] == "f":
        if "ftz" in i.modifiers and name == "f32":
            value = flush(e, value)
        number, have = to_float(e, value, TYPES[name]), TYPES[name]
    elif out in FORMATS_OF_FLOATS:
        bits = _int_to_float(e, i, value, out, name)
        e.write(i.operands[0], bits, TYPES[out])
        return
    else:
        e.write(i.operands[0], _int_to_int(e, i, value, out, name), TYPES[out], out[0] == "s")
        return
    if out in FORMATS_OF_FLOATS:
        e.write(i.operands[0], _float_to_float(e, i, number, out, have), TYPES[out])
    else:
        e.write(i.operands[0], _float_to_int(e, i, number, out, name, have), TYPES[out], out[0] == "s")


FORMATS_OF_FLOATS = ("f16", "bf16", "tf32", "f32", "f64")


def _round_to_integer(e: Emitter, i: Instruction, number: str, have: int) -> str:
    word = next((m for m in i.modifiers if m in ROUND_TO_INTEGER), None)
    if word is None:
        return number
    return e.op(f"call {FLOAT[have]} @llvm.{ROUND_TO_INTEGER[word]}.v32f{have}({FLOAT[have]} {number})")


def _float_to_float(e: Emitter, i: Instruction, number: str, out: str, have: int) -> str:
    """Bits of ``out``; the last step rounds once."""
    number = _round_to_integer(e, i, number, have)
    if out in ("f32", "f64"):
        width, rounding = TYPES[out], directed_rounding(i)
        if width < have and rounding:
            number = lower_rounded(e, "fptrunc", rounding, [number], "f64", 32)
        elif width != have:
            word = "fptrunc" if width < have else "fpext"
            number = e.op(f"{word} {FLOAT[have]} {number} to {FLOAT[width]}")
        return finished(e, i, to_bits(e, number, width), out)
    single = number if have == 32 else odd_single(e, number)
    if "sat" in i.modifiers:
        single = to_float(e, saturate(e, to_bits(e, single, 32), 32), 32)
    mode = next((m for m in i.modifiers if m in ("rna", "rz", "rm", "rp")), "rn")
    return narrow(e, single, out, mode, "satfinite" in i.modifiers, "relu" in i.modifiers)


def _float_to_int(e: Emitter, i: Instruction, number: str, out: str, name: str, have: int) -> str:
    """Clamped; NaN gives 0, or the top bit alone where one of the types has 64 bits."""
    width = TYPES[out]
    number = _round_to_integer(e, i, number, have)
    convert = f"fpto{'s' if out[0] == 's' else 'u'}i"
    value = e.op(f"call {INT[width]} @llvm.{convert}.sat.v32i{width}.v32f{have}({FLOAT[have]} {number})")
    if name != "f64" and width != 64:
        return value
    nan = e.op(f"fcmp uno {FLOAT[have]} {number}, zeroinitializer")
    return e.op(f"select <32 x i1> {nan}, {INT[width]} splat (i{width} {1 << width - 1}), {INT[width]} {value}")


def _int_to_float(e: Emitter, i: Instruction, value: str, out: str, name: str) -> str:
    have, signed = TYPES[name], name[0] == "s"
    if out not in ("f32", "f64"):
        single = _int_to_odd_single(e, value, have, signed)
        if "sat" in i.modifiers:
            single = to_float(e, saturate(e, to_bits(e, single, 32), 32), 32)
        return narrow(e, single, out, directed_rounding(i) or "rn")
    width, rounding, word = TYPES[out], directed_rounding(i), "sitofp" if signed else "uitofp"
    if have < 32:
        value, have = e.resize(value, have, 32, signed), 32
    if rounding:
        number = lower_rounded(e, word, rounding, [value], f"i{have}", width)
    else:
        number = e.op(f"{word} {INT[have]} {value} to {FLOAT[width]}")
    bits = e.op(f"bitcast {FLOAT[width]} {number} to {INT[width]}")
    return saturate(e, bits, width) if "sat" in i.modifiers else bits


def _int_to_odd_single(e: Emitter, value: str, have: int, signed: bool) -> str:
    """f32 rounded to odd; of 64 bits first the last 12 are gathered in one, where f64 does not hold them all."""
    kind = INT[64]
    wide = e.resize(value, have, 64, signed)
    if have == 64:
        low = e.op(f"and {kind} {wide}, splat (i64 4095)")
        some = e.resize(e.op(f"icmp ne {kind} {low}, zeroinitializer"), 1, 64)
        gathered = e.op(f"and {kind} {wide}, splat (i64 -4096)")
        gathered = e.op(f"or {kind} {gathered}, {e.op(f'shl {kind} {some}, splat (i64 12)')}")
        size = e.op(f"call {kind} @llvm.abs.v32i64({kind} {wide}, i1 false)") if signed else wide
        large = e.op(f"icmp ugt {kind} {size}, splat (i64 {EXACT_IN_DOUBLE})")
        wide = e.op(f"select <32 x i1> {large}, {kind} {gathered}, {kind} {wide}")
    word = "sitofp" if signed else "uitofp"
    return odd_single(e, e.op(f"{word} {kind} {wide} to {FLOAT[64]}"))


def _int_to_int(e: Emitter, i: Instruction, value: str, out: str, name: str) -> str:
    have, width = TYPES[name], TYPES[out]
    if "sat" in i.modifiers:
        value, have = clamp_integer(e, value, out, name), 64
    return e.resize(value, have, width, name[0] == "s")


def clamp_integer(e: Emitter, value: str, out: str, name: str) -> str:
    """Clamp integers of type ``name`` to the range of ``out``, in 64 bits."""
    width, signed = int(out[1:]), out[0] == "s"
    value = e.resize(value, TYPES[name], 64, name[0] == "s")
    high = (1 << (width - signed)) - 1
    kind = "<32 x i64>"
    if name[0] == "s":
        low = -(1 << (width - 1)) if signed else 0
        value = e.op(f"call {kind} @llvm.smax.v32i64({kind} {value}, {kind} splat (i64 {low}))")
        if high >= 1 << 63:
            return value
        return e.op(f"call {kind} @llvm.smin.v32i64({kind} {value}, {kind} splat (i64 {high}))")
    return e.op(f"call {kind} @llvm.umin.v32i64({kind} {value}, {kind} splat (i64 {high}))")


HANDLERS: dict[str, Callable[[Emitter, Instruction], None]] = {
    "cvt": lower_cvt,
}  # fmt: skip
