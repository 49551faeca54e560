"""cvt as LLVM IR: integers, floats of all widths, pairs of 16-bit and smaller floats, and cvt.pack of integers."""

from rayplay.ptx.ir import Instruction
from rayplay.ptx.isa.types import HALVES, TYPES
from rayplay.tracer.emit.emitter import Emitter, Handler
from rayplay.tracer.emit.narrow import SINGLE, WORD, as_single, as_word, narrow, odd_single, widen, widen_small, word
from rayplay.tracer.emit.rounding import lower_rounded
from rayplay.tracer.emit.text import FLOAT, INT
from rayplay.tracer.lower.floats import finished, flush, saturate, to_bits, to_float
from rayplay.tracer.lower.half import joined, parts_of
from rayplay.tracer.meaning.dispatch import is_packed_conversion
from rayplay.tracer.meaning.exact import FORMATS
from rayplay.tracer.meaning.floats import directed_rounding
from rayplay.tracer.meaning.tables import PACKED_BITS

ROUND_TO_INTEGER = {"rni": "roundeven", "rzi": "trunc", "rmi": "floor", "rpi": "ceil"}
EXACT_IN_DOUBLE = 1 << 53


def lower_cvt(e: Emitter, i: Instruction) -> None:
    """cvt of one number, of a pair, or of two integers into one word."""
    if i.form.variant == "pack":
        _lower_pack(e, i)
    elif is_packed_conversion(i):
        _lower_pair(e, i)
    else:
        _lower_one(e, i)


def _lower_one(e: Emitter, i: Instruction) -> None:
    """One number; float to integer clamps."""
    out, name = i.form.types
    value = e.read(i.operands[1], name)
    if name in HALVES:
        number, have = widen(e, value, name), 32
    elif name[0] == "f":
        if i.form.ftz and name == "f32":
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
    word = ROUND_TO_INTEGER.get(i.form.rounding)
    if word is None:
        return number
    return e.op(f"call {FLOAT[have]} @llvm.{word}.v32f{have}({FLOAT[have]} {number})")


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
    if i.form.saturates:
        single = to_float(e, saturate(e, to_bits(e, single, 32), 32), 32)
    mode = i.form.rounding if i.form.rounding in ("rna", "rz", "rm", "rp") else "rn"
    return narrow(e, single, out, mode, i.form.finite, i.form.relu)


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
        if i.form.saturates:
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
    return saturate(e, bits, width) if i.form.saturates else bits


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
    if i.form.saturates:
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


def _lower_pair(e: Emitter, i: Instruction) -> None:
    """A pair of numbers; the first of two sources goes to the high part."""
    out, name = (each.removesuffix("x2") for each in i.form.types)
    values = [_value(e, part, name) for part in _pair(e, i)]
    if out == "ue8m0":
        codes = [_to_power(e, i, value) for value in values]
        _write_bytes(e, i, codes, 8)
        return
    mode = "rz" if i.form.rounding == "rz" else "rn"
    bits = [narrow(e, value, out, mode, i.form.finite, i.form.relu) for value in values]
    if out in HALVES:
        e.write(i.operands[0], joined(e, bits), 32)
    else:
        _write_bytes(e, i, bits, 4 if out == "e2m1" else 8)


def _pair(e: Emitter, i: Instruction) -> list[str]:
    """Both numbers, the low part first, as lanes of their own width."""
    name = i.form.type
    if name == "f32":
        return [e.read(i.operands[2], name), e.read(i.operands[1], name)]
    bits = e.read(i.operands[1], name)
    if name in HALVES:
        return parts_of(e, bits, True)
    width = TYPES[name]
    high = e.op(f"lshr {INT[width]} {bits}, splat (i{width} {width // 2})")
    return [e.resize(part, width, 8) for part in (bits, high)]


def _value(e: Emitter, part: str, name: str) -> str:
    """f32 lanes."""
    if name == "f32":
        return to_float(e, part, 32)
    if name in HALVES:
        return widen(e, part, name)
    return _power(e, part) if name == "ue8m0" else widen_small(e, part, name)


def _write_bytes(e: Emitter, i: Instruction, codes: list[str], bits: int) -> None:
    low, high = (e.resize(code, 8, 16) for code in codes)
    both = e.op(f"or {INT[16]} {low}, {e.op(f'shl {INT[16]} {high}, {word(bits, 16)}')}")
    e.write(i.operands[0], e.resize(both, 16, 2 * bits), 2 * bits)


def _power(e: Emitter, code: str) -> str:
    """2 to the (code - 127) as f32 lanes; 255 is NaN."""
    exponent = e.resize(code, 8, 32)
    bits = e.op(f"shl {WORD} {exponent}, {word(23)}")
    zero = e.op(f"icmp eq {WORD} {exponent}, zeroinitializer")
    bits = e.op(f"select <32 x i1> {zero}, {WORD} {word(1 << 22)}, {WORD} {bits}")
    nan = e.op(f"icmp eq {WORD} {exponent}, {word(255)}")
    return as_single(e, e.op(f"select <32 x i1> {nan}, {WORD} {word(FORMATS['f32'].nan or 0)}, {WORD} {bits}"))


def _to_power(e: Emitter, i: Instruction, value: str) -> str:
    """The exponent of a magnitude, rounded towards 0 or up; NaN gives 255, as infinity does without .satfinite."""
    size = e.op(f"and {WORD} {as_word(e, value)}, {word((1 << 31) - 1)}")
    exponent = e.op(f"lshr {WORD} {size}, {word(23)}")
    if i.form.rounding == "rp":
        above = e.op(f"and {WORD} {size}, {word((1 << 23) - 1)}")
        tiny = e.op(f"icmp ult {WORD} {size}, {word(1 << 23)}")
        # the least power, 2**-127, is a subnormal number of f32
        least = e.op(f"select <32 x i1> {tiny}, {WORD} {word(1 << 22)}, {WORD} zeroinitializer")
        more = e.resize(e.op(f"icmp ugt {WORD} {above}, {least}"), 1, 32)
        exponent = e.op(f"add {WORD} {exponent}, {more}")
    if i.form.finite:
        exponent = e.op(f"call {WORD} @llvm.umin.v32i32({WORD} {exponent}, {WORD} {word(254)})")
    nan = e.op(f"fcmp uno {SINGLE} {value}, zeroinitializer")
    return e.resize(e.op(f"select <32 x i1> {nan}, {WORD} {word(255)}, {WORD} {exponent}"), 32, 8)


def _lower_pack(e: Emitter, i: Instruction) -> None:
    """cvt.pack: two clamped integers, the first above the second, below the low bits of a third."""
    name = i.form.elements[0]
    bits = PACKED_BITS[name]
    total = "zeroinitializer"
    for index, shift in ((2, 0), (1, bits)):
        clamped = clamp_integer(e, e.read(i.operands[index], "s32"), name, "s32")
        field = e.op(f"and {WORD} {e.resize(clamped, 64, 32)}, {word((1 << bits) - 1)}")
        total = e.op(f"or {WORD} {total}, {e.op(f'shl {WORD} {field}, {word(shift)}')}")
    if len(i.operands) > 3:
        rest = e.op(f"shl {WORD} {e.read(i.operands[3], 'b32')}, {word(2 * bits)}")
        total = e.op(f"or {WORD} {total}, {rest}")
    e.write(i.operands[0], total, 32)


HANDLERS: dict[str, Handler] = {"cvt": lower_cvt}
