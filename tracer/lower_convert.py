"""cvt, cvta and isspacep, bfe, bfi, bmsk, prmt, lop3 and sad as LLVM IR."""

from collections.abc import Callable

from ptx.ir import Immediate, Instruction
from tracer.lower_emit import FLOAT, INT, TYPES, Emitter, type_names
from tracer.lower_float import flush, saturate, to_bits, to_float

ROUND_TO_INTEGER = {"rni": "roundeven", "rzi": "trunc", "rmi": "floor", "rpi": "ceil"}


def lower_cvt(e: Emitter, i: Instruction) -> None:
    """cvt between integers and floats; float to integer clamps, NaN gives 0."""
    types = [m for m in i.modifiers if m in TYPES or m in ("f16", "f16x2", "bf16")]
    if len(types) != 2 or any(name not in TYPES for name in types) or "relu" in i.modifiers:
        raise e.unknown()
    out, name = types
    value = e.read(i.operands[1], name)
    if name[0] == "f" and "ftz" in i.modifiers and name == "f32":
        value = flush(e, value)
    if name[0] == "f" and out[0] == "f":
        bits = _float_to_float(e, i, value, out, name)
    elif name[0] == "f":
        bits = _float_to_int(e, i, value, out, name)
    elif out[0] == "f":
        bits = _int_to_float(e, i, value, out, name)
    else:
        bits = _int_to_int(e, i, value, out, name)
    e.write(i.operands[0], bits, TYPES[out], out[0] == "s")


def _float_to_float(e: Emitter, i: Instruction, value: str, out: str, name: str) -> str:
    width, have = TYPES[out], TYPES[name]
    number = to_float(e, value, have)
    word = next((m for m in i.modifiers if m in ROUND_TO_INTEGER), None)
    if word is not None:
        number = e.op(f"call {FLOAT[have]} @llvm.{ROUND_TO_INTEGER[word]}.v32f{have}({FLOAT[have]} {number})")
    if width < have:
        if {"rz", "rm", "rp"} & set(i.modifiers):
            raise e.unknown()
        number = e.op(f"fptrunc {FLOAT[have]} {number} to {FLOAT[width]}")
    elif width > have:
        number = e.op(f"fpext {FLOAT[have]} {number} to {FLOAT[width]}")
    bits = to_bits(e, number, width)
    if "ftz" in i.modifiers and width == 32:
        bits = flush(e, bits)
    return saturate(e, bits, width) if "sat" in i.modifiers else bits


def _float_to_int(e: Emitter, i: Instruction, value: str, out: str, name: str) -> str:
    width, have = TYPES[out], TYPES[name]
    word = next((m for m in i.modifiers if m in ROUND_TO_INTEGER), "rzi")
    number = to_float(e, value, have)
    number = e.op(f"call {FLOAT[have]} @llvm.{ROUND_TO_INTEGER[word]}.v32f{have}({FLOAT[have]} {number})")
    convert = f"fpto{'s' if out[0] == 's' else 'u'}i"
    return e.op(f"call {INT[width]} @llvm.{convert}.sat.v32i{width}.v32f{have}({FLOAT[have]} {number})")


def _int_to_float(e: Emitter, i: Instruction, value: str, out: str, name: str) -> str:
    if {"rz", "rm", "rp"} & set(i.modifiers):
        raise e.unknown()
    width, have = TYPES[out], TYPES[name]
    word = "sitofp" if name[0] == "s" else "uitofp"
    number = e.op(f"{word} {INT[have]} {value} to {FLOAT[width]}")
    bits = e.op(f"bitcast {FLOAT[width]} {number} to {INT[width]}")
    return saturate(e, bits, width) if "sat" in i.modifiers else bits


def _int_to_int(e: Emitter, i: Instruction, value: str, out: str, name: str) -> str:
    have, width = TYPES[name], TYPES[out]
    if "sat" in i.modifiers:
        value, have = _clamp_integer(e, value, out, name), 64
    return e.resize(value, have, width, name[0] == "s")


def _clamp_integer(e: Emitter, value: str, out: str, name: str) -> str:
    """Clamp to the range of ``out``, in 64 bits."""
    signed_in, signed_out, width = name[0] == "s", out[0] == "s", TYPES[out]
    value = e.resize(value, TYPES[name], 64, signed_in)
    high = (1 << (width - signed_out)) - 1
    kind = "<32 x i64>"
    if signed_in:
        low = -(1 << (width - 1)) if signed_out else 0
        value = e.op(f"call {kind} @llvm.smax.v32i64({kind} {value}, {kind} splat (i64 {low}))")
        if high >= 1 << 63:
            return value
        return e.op(f"call {kind} @llvm.smin.v32i64({kind} {value}, {kind} splat (i64 {high}))")
    return e.op(f"call {kind} @llvm.umin.v32i64({kind} {value}, {kind} splat (i64 {high}))")


def lower_cvta(e: Emitter, i: Instruction) -> None:
    """cvta: shared addresses are offsets, all other spaces are generic already."""
    width = TYPES[type_names(i)[-1]]
    value = e.read(i.operands[1], f"u{width}")
    if "shared" in i.modifiers:
        base = e.resize(e.splat(e.machine("shared_base"), "i64"), 64, width)
        value = e.op(f"{'sub' if 'to' in i.modifiers else 'add'} {INT[width]} {value}, {base}")
    e.write(i.operands[0], value, width)


def lower_isspacep(e: Emitter, i: Instruction) -> None:
    """isspacep: shared and local are ranges, global is the rest."""
    value = e.read(i.operands[1], "u64")

    def inside(base: str, size: str) -> str:
        offset = e.op(f"sub <32 x i64> {value}, {e.splat(base, 'i64')}")
        return e.op(f"icmp ult <32 x i64> {offset}, {e.splat(size, 'i64')}")

    shared = inside(e.machine("shared_base"), e.machine("shared_bytes"))
    local = inside(e.machine("local_base"), e.machine("local_total_bytes"))
    if "shared" in i.modifiers:
        result = shared
    elif "local" in i.modifiers:
        result = local
    elif "global" in i.modifiers:
        result = e.op(f"xor <32 x i1> {e.op(f'or <32 x i1> {shared}, {local}')}, splat (i1 true)")
    else:
        raise e.unknown()
    e.write(i.operands[0], result, 1)


def lower_bfe(e: Emitter, i: Instruction) -> None:
    """bfe: field of ``len`` bits at ``pos``, sign extended for signed types."""
    name = type_names(i)[-1]
    width, kind = TYPES[name], INT[TYPES[name]]
    a = e.read(i.operands[1], name)
    pos, length = (e.op(f"and <32 x i32> {e.read(op, 'u32')}, splat (i32 255)") for op in i.operands[2:4])
    if name[0] == "s":
        end = e.op(f"add <32 x i32> {pos}, {length}")
        end = e.op(f"call <32 x i32> @llvm.umin.v32i32(<32 x i32> {end}, <32 x i32> splat (i32 {width}))")
        up = e.resize(e.op(f"sub <32 x i32> splat (i32 {width}), {end}"), 32, width)
        moved = shift(e, "shl", a, up, width)
        top = e.op(f"sub <32 x i32> {end}, {pos}")
        down = e.resize(e.op(f"sub <32 x i32> splat (i32 {width}), {top}"), 32, width)
        # a field that begins past the end is all sign bits
        past = e.op(f"icmp uge <32 x i32> {pos}, splat (i32 {width})")
        sign = e.op(f"ashr {kind} {a}, splat (i{width} {width - 1})")
        value = shift(e, "ashr", moved, down, width)
        value = e.op(f"select <32 x i1> {past}, {kind} {sign}, {kind} {value}")
        none = e.op(f"icmp eq <32 x i32> {length}, zeroinitializer")
        value = e.op(f"select <32 x i1> {none}, {kind} zeroinitializer, {kind} {value}")
    else:
        value = e.op(f"and {kind} {shift(e, 'lshr', a, e.resize(pos, 32, width), width)}, {low_mask(e, length, width)}")
    e.write(i.operands[0], value, width)


def shift(e: Emitter, word: str, value: str, amount: str, width: int) -> str:
    """A shift defined for every amount: past the width all bits go (ashr: the sign stays)."""
    kind = INT[width]
    limited = e.op(f"call {kind} @llvm.umin.v32i{width}({kind} {amount}, {kind} splat (i{width} {width - 1}))")
    result = e.op(f"{word} {kind} {value}, {limited}")
    if word == "ashr":
        return result
    past = e.op(f"icmp uge {kind} {amount}, splat (i{width} {width})")
    return e.op(f"select <32 x i1> {past}, {kind} zeroinitializer, {kind} {result}")


def low_mask(e: Emitter, length: str, width: int) -> str:
    """The low ``length`` (i32 lanes) bits set."""
    up = shift(e, "shl", f"splat (i{width} 1)", e.resize(length, 32, width), width)
    return e.op(f"sub {INT[width]} {up}, splat (i{width} 1)")


def lower_bfi(e: Emitter, i: Instruction) -> None:
    """bfi: the low ``len`` bits of a replace those of b at ``pos``."""
    width = TYPES[type_names(i)[-1]]
    kind, name = INT[width], f"b{width}"
    a, b = e.read(i.operands[1], name), e.read(i.operands[2], name)
    pos, length = (e.op(f"and <32 x i32> {e.read(op, 'u32')}, splat (i32 255)") for op in i.operands[3:5])
    by = e.resize(pos, 32, width)
    mask = shift(e, "shl", low_mask(e, length, width), by, width)
    field = e.op(f"and {kind} {shift(e, 'shl', a, by, width)}, {mask}")
    rest = e.op(f"and {kind} {b}, {e.op(f'xor {kind} {mask}, splat (i{width} -1)')}")
    e.write(i.operands[0], e.op(f"or {kind} {field}, {rest}"), width)


def lower_bmsk(e: Emitter, i: Instruction) -> None:
    """bmsk: ``len`` ones at ``pos``; .wrap takes both modulo 32."""
    pos, length = (e.read(operand, "u32") for operand in i.operands[1:3])
    if "wrap" in i.modifiers:
        pos, length = (e.op(f"and <32 x i32> {value}, splat (i32 31)") for value in (pos, length))
    e.write(i.operands[0], shift(e, "shl", low_mask(e, length, 32), pos, 32), 32)


def lower_lop3(e: Emitter, i: Instruction) -> None:
    """lop3: any function of three bits, its truth table as the immediate."""
    a, b, c = (e.read(operand, "b32") for operand in i.operands[1:4])
    table = i.operands[4]
    if not isinstance(table, Immediate) or len(i.modifiers) != 1:
        raise e.unknown()
    inverse = [e.op(f"xor <32 x i32> {value}, splat (i32 -1)") for value in (a, b, c)]
    result = "zeroinitializer"
    for row in range(8):
        if table.bits >> row & 1:
            x, y, z = (v if row >> (2 - k) & 1 else n for k, (v, n) in enumerate(zip((a, b, c), inverse, strict=True)))
            term = e.op(f"and <32 x i32> {e.op(f'and <32 x i32> {x}, {y}')}, {z}")
            result = e.op(f"or <32 x i32> {result}, {term}")
    e.write(i.operands[0], result, 32)


def lower_prmt(e: Emitter, i: Instruction) -> None:
    """prmt, default mode: each result byte is one of the eight of {b, a}, or its sign replicated."""
    if i.modifiers != ("b32",):
        raise e.unknown()
    a, b, c = (e.read(operand, "b32") for operand in i.operands[1:4])
    high = e.op(f"shl <32 x i64> {e.resize(b, 32, 64)}, splat (i64 32)")
    both = e.op(f"or <32 x i64> {e.resize(a, 32, 64)}, {high}")
    result = "zeroinitializer"
    for index in range(4):
        nibble = e.op(f"lshr <32 x i32> {c}, splat (i32 {4 * index})")
        by = e.op(f"shl <32 x i32> {e.op(f'and <32 x i32> {nibble}, splat (i32 7)')}, splat (i32 3)")
        byte = e.op(f"trunc <32 x i64> {e.op(f'lshr <32 x i64> {both}, {e.resize(by, 32, 64)}')} to <32 x i8>")
        sign = e.op(f"ashr <32 x i8> {byte}, splat (i8 7)")
        mode = e.op(f"trunc <32 x i32> {e.op(f'lshr <32 x i32> {nibble}, splat (i32 3)')} to <32 x i1>")
        byte = e.op(f"select <32 x i1> {mode}, <32 x i8> {sign}, <32 x i8> {byte}")
        placed = e.op(f"shl <32 x i32> {e.resize(byte, 8, 32)}, splat (i32 {8 * index})")
        result = e.op(f"or <32 x i32> {result}, {placed}")
    e.write(i.operands[0], result, 32)


def lower_sad(e: Emitter, i: Instruction) -> None:
    """sad: c + |a - b|."""
    name = type_names(i)[-1]
    width, kind = TYPES[name], INT[TYPES[name]]
    a, b, c = (e.read(operand, name) for operand in i.operands[1:4])
    less = e.op(f"icmp {'slt' if name[0] == 's' else 'ult'} {kind} {a}, {b}")
    up, down = e.op(f"sub {kind} {b}, {a}"), e.op(f"sub {kind} {a}, {b}")
    distance = e.op(f"select <32 x i1> {less}, {kind} {up}, {kind} {down}")
    e.write(i.operands[0], e.op(f"add {kind} {c}, {distance}"), width)


HANDLERS: dict[str, Callable[[Emitter, Instruction], None]] = {
    "cvt": lower_cvt, "cvta": lower_cvta, "isspacep": lower_isspacep, "bfe": lower_bfe, "bfi": lower_bfi,
    "bmsk": lower_bmsk, "lop3": lower_lop3, "prmt": lower_prmt, "sad": lower_sad,
}  # fmt: skip
