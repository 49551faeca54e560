"""Video instructions as LLVM IR: arithmetic on a byte, half or word of each operand, and on all bytes or halves.

Source: PTX ISA 9.7.13 (scalar) and 9.7.14 (SIMD video instructions), whose pseudocode this follows.
"""

from rayplay.ptx.ir import Instruction
from rayplay.tracer.emit.emitter import Emitter, Handler
from rayplay.tracer.emit.text import INT
from rayplay.tracer.lower.carry import field
from rayplay.tracer.meaning import video
from rayplay.tracer.meaning.dispatch import SCALAR_VIDEO, SIMD_VIDEO

WORD, LONG, HUGE = INT[32], INT[64], INT[128]


def _source(e: Emitter, i: Instruction, index: int, name: str, width: int) -> str:
    """The selected part of an operand, extended by its type to ``width``."""
    operand = video.unsigned_operand(i.operands[index])
    value, part, signed = e.read(operand, "b32"), video.component(operand), name[0] == "s"
    if part:
        value = field(e, value, int(part[1]), video.PART_BITS[part[0]], signed)
    return e.resize(value, 32, width, signed)


def lower_scalar_video(e: Emitter, i: Instruction) -> None:
    """vadd, vsub, vabsdiff, vmin, vmax, vshl, vshr and vset."""
    types = i.form.types
    signed = i.opcode != "vset" and types[0][0] == "s"
    width = 128 if i.opcode == "vshl" else 64
    a, b = (_source(e, i, index, types[index - 3], width) for index in (1, 2))
    if i.opcode in ("vshl", "vshr"):
        value = _shifted(e, i, a, e.resize(b, width, 32), width)
    else:
        value = combined(e, i, a, b, width)
    part = video.component(i.operands[0])
    if i.form.saturates:
        value = clamped(e, value, width, signed, video.PART_BITS[part[0]] if part else 32)
    result = e.resize(value, width, 32)
    operation = i.form.operation
    c = e.read(i.operands[3], "b32") if len(i.operands) > 3 else None
    if (c is None) == bool(operation or part) or (operation and part):
        raise e.unknown()
    if operation and c is not None:
        result = _second(e, operation, result, c, signed)
    if part and c is not None:
        result = _merged(e, part, result, c)
    e.write(i.operands[0], result, 32)


def combined(e: Emitter, i: Instruction, a: str, b: str, width: int) -> str:
    """The primary operation on integers wide enough for its result."""
    kind = INT[width]
    match i.opcode.rstrip("24"):
        case "vadd":
            return e.op(f"add {kind} {a}, {b}")
        case "vsub":
            return e.op(f"sub {kind} {a}, {b}")
        case "vabsdiff":
            return e.op(f"call {kind} @llvm.abs.v32i{width}({kind} {e.op(f'sub {kind} {a}, {b}')}, i1 false)")
        case "vavrg":
            total = e.op(f"add {kind} {a}, {b}")
            # halves of sums that are not negative round up
            carry = e.op(f"xor {kind} {e.op(f'lshr {kind} {total}, splat (i{width} {width - 1})')}, splat (i{width} 1)")
            return e.op(f"ashr {kind} {e.op(f'add {kind} {total}, {carry}')}, splat (i{width} 1)")
        case "vset":
            test = i.form.compare if i.form.compare in ("eq", "ne") else f"s{i.form.compare}"
            return e.resize(e.op(f"icmp {test} {kind} {a}, {b}"), 1, width)
    word = "smin" if "min" in i.opcode else "smax"
    return e.op(f"call {kind} @llvm.{word}.v32i{width}({kind} {a}, {kind} {b})")


def _shifted(e: Emitter, i: Instruction, a: str, amount: str, width: int) -> str:
    if i.form.bounds == "wrap":
        amount = e.op(f"and {WORD} {amount}, splat (i32 31)")
    else:
        amount = e.op(f"call {WORD} @llvm.umin.v32i32({WORD} {amount}, {WORD} splat (i32 32))")
    by = e.resize(amount, 32, width)
    return e.op(f"{'shl' if i.opcode == 'vshl' else 'ashr'} {INT[width]} {a}, {by}")


def clamped(e: Emitter, value: str, width: int, signed: bool, bits: int) -> str:
    """Clamp to the integers of ``bits`` bits."""
    kind = INT[width]
    least, largest = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    for word, limit in (("smax", least), ("smin", largest)):
        value = e.op(f"call {kind} @llvm.{word}.v32i{width}({kind} {value}, {kind} splat (i{width} {limit}))")
    return value


def _second(e: Emitter, operation: str, value: str, c: str, signed: bool) -> str:
    if operation == "add":
        return e.op(f"add {WORD} {value}, {c}")
    return e.op(f"call {WORD} @llvm.{'s' if signed else 'u'}{operation}.v32i32({WORD} {value}, {WORD} {c})")


def _merged(e: Emitter, part: str, value: str, c: str) -> str:
    """The result in one part of c."""
    bits, place = video.PART_BITS[part[0]], int(part[1]) * video.PART_BITS[part[0]]
    mask = ((1 << bits) - 1) << place
    moved = e.op(f"shl {WORD} {value}, splat (i32 {place})") if place else value
    own = e.op(f"and {WORD} {moved}, splat (i32 {mask})")
    return e.op(f"or {WORD} {own}, {e.op(f'and {WORD} {c}, splat (i32 {~mask})')}")


def lower_vmad(e: Emitter, i: Instruction) -> None:
    """vmad: the product of two parts plus c, plus 1 with .po, shifted right and clamped where asked."""
    types = i.form.types
    minus_product, minus_c = video.vmad_signs(e.unknown(), i)
    signed = "s" in (types[1][0], types[2][0]) or minus_product or minus_c
    a, b = (_source(e, i, index, types[index], 128) for index in (1, 2))
    total = e.op(f"mul {HUGE} {a}, {b}")
    if minus_product:
        total = e.op(f"sub {HUGE} zeroinitializer, {total}")
    c = e.resize(e.read(video.unsigned_operand(i.operands[3]), "b32"), 32, 128, signed)
    total = e.op(f"{'sub' if minus_c else 'add'} {HUGE} {total}, {c}")
    if i.form.plus_one:
        total = e.op(f"add {HUGE} {total}, splat (i128 1)")
    if i.form.shift:
        total = e.op(f"ashr {HUGE} {total}, splat (i128 {i.form.shift})")
    if i.form.saturates:
        total = clamped(e, total, 128, signed, 32)
    e.write(i.operands[0], e.resize(total, 128, 32), 32)


def lower_simd_video(e: Emitter, i: Instruction) -> None:
    """vadd2, vsub2, vavrg2, vabsdiff2, vmin2, vmax2, vset2 and the same on four bytes.

    The chosen elements replace parts of c, or, with .add, all are added to it.
    """
    count = int(i.opcode[-1])
    bits = 32 // count
    types = i.form.types
    signed = not i.opcode.startswith("vset") and types[0][0] == "s"
    words = [e.read(i.operands[index], "b32") for index in (1, 2)]
    mask = video.component(i.operands[0])
    chosen = {int(digit) for digit in mask[1:]} if mask else set(range(count))
    result = e.read(i.operands[3], "b32")
    elements = []
    for index in range(count):
        values = []
        for operand, name, first in ((1, types[-2], 0), (2, types[-1], count)):
            place = video.selection(video.component(i.operands[operand]), count, first)[index]
            values.append(field(e, words[place // count], place % count, bits, name[0] == "s"))
        value = combined(e, i, values[0], values[1], 32)
        elements.append(clamped(e, value, 32, signed, bits) if i.form.saturates else value)
    for index in sorted(chosen):
        if i.form.operation == "add":
            result = e.op(f"add {WORD} {result}, {elements[index]}")
        else:
            result = _merged(e, f"{'h' if count == 2 else 'b'}{index}", elements[index], result)
    e.write(i.operands[0], result, 32)


HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(SCALAR_VIDEO, lower_scalar_video),
    **dict.fromkeys(SIMD_VIDEO, lower_simd_video), "vmad": lower_vmad,
}  # fmt: skip
