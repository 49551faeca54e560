"""cvt of packed numbers as LLVM IR: pairs of half precision, 8-bit and smaller floats, and cvt.pack of integers."""

from rayplay.ptx.ir import Instruction
from rayplay.ptx.isa.types import HALVES, TYPES, type_names
from rayplay.tracer.emit.emitter import INT, Emitter
from rayplay.tracer.emit.narrow import SINGLE, WORD, as_single, as_word, narrow, widen, widen_small, word
from rayplay.tracer.lower.convert import clamp_integer
from rayplay.tracer.lower.floats import to_float
from rayplay.tracer.lower.half import joined, parts_of
from rayplay.tracer.meaning.exact import FORMATS

PACKED_BITS = {"u2": 2, "s2": 2, "u4": 4, "s4": 4, "u8": 8, "s8": 8, "u16": 16, "s16": 16}


def lower_cvt_packed(e: Emitter, i: Instruction) -> None:
    """A pair of numbers; the first of two sources goes to the high part."""
    out, name = (each.removesuffix("x2") for each in type_names(i))
    values = [_value(e, part, name) for part in _parts(e, i)]
    if out == "ue8m0":
        codes = [_to_power(e, i, value) for value in values]
        _write_bytes(e, i, codes, 8)
        return
    mode = "rz" if "rz" in i.modifiers else "rn"
    bits = [narrow(e, value, out, mode, "satfinite" in i.modifiers, "relu" in i.modifiers) for value in values]
    if out in HALVES:
        e.write(i.operands[0], joined(e, bits), 32)
    else:
        _write_bytes(e, i, bits, 4 if out == "e2m1" else 8)


def _parts(e: Emitter, i: Instruction) -> list[str]:
    """Both numbers, that of the low part first, as lanes of their own width."""
    name = type_names(i)[-1]
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
    if "rp" in i.modifiers:
        above = e.op(f"and {WORD} {size}, {word((1 << 23) - 1)}")
        tiny = e.op(f"icmp ult {WORD} {size}, {word(1 << 23)}")
        # the least power, 2**-127, is a subnormal number of f32
        least = e.op(f"select <32 x i1> {tiny}, {WORD} {word(1 << 22)}, {WORD} zeroinitializer")
        more = e.resize(e.op(f"icmp ugt {WORD} {above}, {least}"), 1, 32)
        exponent = e.op(f"add {WORD} {exponent}, {more}")
    if "satfinite" in i.modifiers:
        exponent = e.op(f"call {WORD} @llvm.umin.v32i32({WORD} {exponent}, {WORD} {word(254)})")
    nan = e.op(f"fcmp uno {SINGLE} {value}, zeroinitializer")
    return e.resize(e.op(f"select <32 x i1> {nan}, {WORD} {word(255)}, {WORD} {exponent}"), 32, 8)


def lower_pack(e: Emitter, i: Instruction) -> None:
    """cvt.pack: two clamped integers, the first above the second, below the low bits of a third."""
    name = next(m for m in i.modifiers if m in PACKED_BITS)
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
