"""Integer, logic, move and comparison instructions as LLVM IR."""

from collections.abc import Callable

from ptx.ir import Instruction, Pair, Vector
from tracer.lower_emit import INT, TYPES, Emitter, type_names
from tracer.lower_float import compare_float

Handler = Callable[[Emitter, Instruction], None]


def _binary(word: str) -> Handler:
    def lower(e: Emitter, i: Instruction) -> None:
        name = type_names(i)[-1]
        width = TYPES[name]
        a, b = e.read(i.operands[1], name), e.read(i.operands[2], name)
        e.write(i.operands[0], e.op(f"{word} {INT[width]} {a}, {b}"), width)

    return lower


def wide_product(e: Emitter, a: str, b: str, name: str, want: str) -> str:
    """``lo``, ``hi`` (as wide as the operands) or ``wide`` (twice as wide) of a product."""
    width = TYPES[name]
    if want == "lo":
        return e.op(f"mul {INT[width]} {a}, {b}")
    signed = name[0] == "s"
    x, y = e.resize(a, width, 2 * width, signed), e.resize(b, width, 2 * width, signed)
    product = e.op(f"mul {INT[2 * width]} {x}, {y}")
    if want == "wide":
        return product
    high = e.op(f"lshr {INT[2 * width]} {product}, splat (i{2 * width} {width})")
    return e.op(f"trunc {INT[2 * width]} {high} to {INT[width]}")


def lower_mul_mad(e: Emitter, i: Instruction) -> None:
    """mul and mad: .lo, .hi, .wide; mul24 and mad24: .lo of 24-bit factors."""
    name = type_names(i)[-1]
    width = TYPES[name]
    a, b = e.read(i.operands[1], name), e.read(i.operands[2], name)
    want = next((word for word in ("wide", "hi", "lo") if word in i.modifiers), "lo")
    if i.opcode.endswith("24"):
        if want != "lo":
            raise e.unknown()
        a, b = (_low_24(e, value, name) for value in (a, b))
    result = wide_product(e, a, b, name, want)
    out = 2 * width if want == "wide" else width
    if i.opcode.startswith("mad"):
        if "cc" in i.modifiers or "sat" in i.modifiers:
            raise e.unknown()
        result = e.op(f"add {INT[out]} {result}, {e.read(i.operands[3], f'{name[0]}{out}')}")
    e.write(i.operands[0], result, out, name[0] == "s")


def _low_24(e: Emitter, value: str, name: str) -> str:
    up = e.op(f"shl <32 x i32> {value}, splat (i32 8)")
    return e.op(f"{'ashr' if name[0] == 's' else 'lshr'} <32 x i32> {up}, splat (i32 8)")


def lower_divide(e: Emitter, i: Instruction) -> None:
    """div, rem. By zero: quotient all ones, remainder the dividend; lowest / -1: quotient lowest, remainder 0."""
    name = type_names(i)[-1]
    width, kind = TYPES[name], INT[TYPES[name]]
    a, b = e.read(i.operands[1], name), e.read(i.operands[2], name)
    zero = e.op(f"icmp eq {kind} {b}, zeroinitializer")
    divisor = e.op(f"select <32 x i1> {zero}, {kind} splat (i{width} 1), {kind} {b}")
    signed = name[0] == "s"
    if signed:
        minus_one = e.op(f"icmp eq {kind} {divisor}, splat (i{width} -1)")
        divisor = e.op(f"select <32 x i1> {minus_one}, {kind} splat (i{width} 1), {kind} {divisor}")
    sign = "s" if signed else "u"
    if i.opcode == "div":
        result = e.op(f"{sign}div {kind} {a}, {divisor}")
        if signed:
            negative = e.op(f"sub {kind} zeroinitializer, {a}")
            result = e.op(f"select <32 x i1> {minus_one}, {kind} {negative}, {kind} {result}")
        result = e.op(f"select <32 x i1> {zero}, {kind} splat (i{width} -1), {kind} {result}")
    else:
        result = e.op(f"{sign}rem {kind} {a}, {divisor}")
        if signed:
            result = e.op(f"select <32 x i1> {minus_one}, {kind} zeroinitializer, {kind} {result}")
        result = e.op(f"select <32 x i1> {zero}, {kind} {a}, {kind} {result}")
    e.write(i.operands[0], result, width)


def lower_min_max(e: Emitter, i: Instruction) -> None:
    """min, max; .relu also clamps at 0."""
    name = type_names(i)[-1]
    width = TYPES[name]
    kind = INT[width]
    a, b = e.read(i.operands[1], name), e.read(i.operands[2], name)
    word = f"llvm.{'s' if name[0] == 's' else 'u'}{i.opcode}.v32i{width}"
    result = e.op(f"call {kind} @{word}({kind} {a}, {kind} {b})")
    if "relu" in i.modifiers:
        result = e.op(f"call {kind} @llvm.smax.v32i{width}({kind} {result}, {kind} zeroinitializer)")
    e.write(i.operands[0], result, width)


def lower_unary(e: Emitter, i: Instruction) -> None:
    """neg, abs, not, cnot, popc, clz, brev."""
    name = type_names(i)[-1]
    width = TYPES[name]
    kind = INT[width]
    a = e.read(i.operands[1], name)
    out = width
    match i.opcode:
        case "neg":
            result = e.op(f"sub {kind} zeroinitializer, {a}")
        case "abs":
            result = e.op(f"call {kind} @llvm.abs.v32i{width}({kind} {a}, i1 false)")
        case "not":
            result = e.op(f"xor {kind} {a}, splat (i{width} -1)")
        case "cnot":
            result = e.resize(e.op(f"icmp eq {kind} {a}, zeroinitializer"), 1, width)
        case "brev":
            result = e.op(f"call {kind} @llvm.bitreverse.v32i{width}({kind} {a})")
        case "popc":
            result, out = e.resize(e.op(f"call {kind} @llvm.ctpop.v32i{width}({kind} {a})"), width, 32), 32
        case _:
            result = e.op(f"call {kind} @llvm.ctlz.v32i{width}({kind} {a}, i1 false)")
            result, out = e.resize(result, width, 32), 32
    e.write(i.operands[0], result, out)


def lower_bfind(e: Emitter, i: Instruction) -> None:
    """Position of the highest bit that differs from the sign (0 for unsigned), all ones when there is none."""
    name = type_names(i)[-1]
    width = TYPES[name]
    kind = INT[width]
    a = e.read(i.operands[1], name)
    if name[0] == "s":
        a = e.op(f"xor {kind} {a}, {e.op(f'ashr {kind} {a}, splat (i{width} {width - 1})')}")
    zeros = e.op(f"call {kind} @llvm.ctlz.v32i{width}({kind} {a}, i1 false)")
    top = zeros if "shiftamt" in i.modifiers else e.op(f"sub {kind} splat (i{width} {width - 1}), {zeros}")
    if "shiftamt" in i.modifiers:
        none = e.op(f"icmp eq {kind} {a}, zeroinitializer")
        top = e.op(f"select <32 x i1> {none}, {kind} splat (i{width} -1), {kind} {top}")
    e.write(i.operands[0], e.resize(top, width, 32), 32)


def lower_shift(e: Emitter, i: Instruction) -> None:
    """shl, shr: amounts of the width or more shift everything out."""
    name = type_names(i)[-1]
    width, kind = TYPES[name], INT[TYPES[name]]
    a = e.read(i.operands[1], name)
    amount = e.read(i.operands[2], "u32")
    limit = width - 1 if i.opcode == "shr" and name[0] == "s" else width
    clamped = e.op(f"call <32 x i32> @llvm.umin.v32i32(<32 x i32> {amount}, <32 x i32> splat (i32 {width - 1}))")
    by = e.resize(clamped, 32, width)
    word = "shl" if i.opcode == "shl" else "ashr" if name[0] == "s" else "lshr"
    result = e.op(f"{word} {kind} {a}, {by}")
    if limit == width:
        out = e.op(f"icmp uge <32 x i32> {amount}, splat (i32 {width})")
        result = e.op(f"select <32 x i1> {out}, {kind} zeroinitializer, {kind} {result}")
    e.write(i.operands[0], result, width)


def lower_funnel(e: Emitter, i: Instruction) -> None:
    """shf: 64 bits {b, a} shifted, the high (.l) or low (.r) word kept; .clamp at 32, .wrap modulo 32."""
    a, b, c = (e.read(operand, "b32") for operand in i.operands[1:4])
    low, high = e.resize(a, 32, 64), e.resize(b, 32, 64)
    both = e.op(f"or <32 x i64> {low}, {e.op(f'shl <32 x i64> {high}, splat (i64 32)')}")
    if "clamp" in i.modifiers:
        c = e.op(f"call <32 x i32> @llvm.umin.v32i32(<32 x i32> {c}, <32 x i32> splat (i32 32))")
    else:
        c = e.op(f"and <32 x i32> {c}, splat (i32 31)")
    by = e.resize(c, 32, 64)
    if "l" in i.modifiers:
        moved = e.op(f"lshr <32 x i64> {e.op(f'shl <32 x i64> {both}, {by}')}, splat (i64 32)")
    else:
        moved = e.op(f"lshr <32 x i64> {both}, {by}")
    e.write(i.operands[0], e.resize(moved, 64, 32), 32)


def lower_select(e: Emitter, i: Instruction) -> None:
    """selp: a where the predicate holds, b elsewhere; slct: a where c >= 0."""
    name = next(m for m in i.modifiers if m in TYPES)
    width = TYPES[name]
    a, b = e.read(i.operands[1], name), e.read(i.operands[2], name)
    if i.opcode == "selp":
        where = e.read(i.operands[3], "pred")
    elif type_names(i)[-1] == "s32":
        where = e.op(f"icmp sge <32 x i32> {e.read(i.operands[3], 's32')}, zeroinitializer")
    else:
        value = e.op(f"bitcast <32 x i32> {e.read(i.operands[3], 'f32')} to <32 x float>")
        where = e.op(f"fcmp oge <32 x float> {value}, zeroinitializer")
    e.write(i.operands[0], e.op(f"select <32 x i1> {where}, {INT[width]} {a}, {INT[width]} {b}"), width)


INT_COMPARISONS = {
    "eq": "eq", "ne": "ne", "lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge",
    "lo": "ult", "ls": "ule", "hi": "ugt", "hs": "uge",
}  # fmt: skip


def comparison(e: Emitter, i: Instruction, name: str) -> str:
    """The ``<32 x i1>`` of a setp or set, before it is combined with a predicate."""
    a, b = e.read(i.operands[1], name), e.read(i.operands[2], name)
    if name[0] == "f":
        return compare_float(e, i, a, b, name)
    word = INT_COMPARISONS[i.modifiers[0]]
    if name[0] in "ub" and word[0] == "s":
        word = "u" + word[1:]
    return e.op(f"icmp {word} {INT[TYPES[name]]} {a}, {b}")


def _combine(e: Emitter, i: Instruction, value: str) -> str:
    word = next((m for m in i.modifiers if m in ("and", "or", "xor")), None)
    if word is None:
        return value
    return e.op(f"{word} <32 x i1> {value}, {e.read(i.operands[3], 'pred')}")


def lower_setp(e: Emitter, i: Instruction) -> None:
    """setp: p = (a cmp b) op c, and q = !(a cmp b) op c."""
    value = comparison(e, i, type_names(i)[-1])
    target = i.operands[0]
    first = target.first if isinstance(target, Pair) else target
    positive = _combine(e, i, value)
    if isinstance(target, Pair) and target.second is not None:
        negative = _combine(e, i, e.op(f"xor <32 x i1> {value}, splat (i1 true)"))
        e.write(first, positive, 1)
        e.write(target.second, negative, 1)
        return
    e.write(first, positive, 1)


def lower_set(e: Emitter, i: Instruction) -> None:
    """set: all ones (1.0 for f32) where the comparison holds."""
    out, name = type_names(i)
    value = _combine(e, i, comparison(e, i, name))
    if out == "f32":
        result = e.op(f"select <32 x i1> {value}, <32 x i32> splat (i32 {0x3F800000}), <32 x i32> zeroinitializer")
    else:
        result = e.op(f"sext <32 x i1> {value} to <32 x i32>")
    e.write(i.operands[0], result, 32)


def lower_mov(e: Emitter, i: Instruction) -> None:
    """mov, also packing and unpacking of vectors."""
    name = type_names(i)[-1]
    width = TYPES[name]
    target, source = i.operands
    if isinstance(target, Vector):
        value = e.read(source, name)
        part = width // len(target.elements)
        for index, element in enumerate(target.elements):
            if element is not None:
                piece = e.op(f"lshr {INT[width]} {value}, splat (i{width} {index * part})") if index else value
                e.write(element, e.resize(piece, width, part), part)
    elif isinstance(source, Vector):
        part = width // len(source.elements)
        value = "zeroinitializer"
        for index, element in enumerate(source.elements):
            piece = e.resize(e.read(element, f"b{part}"), part, width)
            piece = e.op(f"shl {INT[width]} {piece}, splat (i{width} {index * part})") if index else piece
            value = e.op(f"or {INT[width]} {value}, {piece}") if index else piece
        e.write(target, value, width)
    else:
        e.write(target, e.read(source, name), width)


HANDLERS: dict[str, Handler] = {
    "mul": lower_mul_mad, "mad": lower_mul_mad, "mul24": lower_mul_mad, "mad24": lower_mul_mad,
    "div": lower_divide, "rem": lower_divide, "min": lower_min_max, "max": lower_min_max,
    "neg": lower_unary, "abs": lower_unary, "not": lower_unary, "cnot": lower_unary, "popc": lower_unary,
    "clz": lower_unary, "brev": lower_unary, "bfind": lower_bfind,
    "and": _binary("and"), "or": _binary("or"), "xor": _binary("xor"),
    "shl": lower_shift, "shr": lower_shift, "shf": lower_funnel,
    "selp": lower_select, "slct": lower_select, "setp": lower_setp, "set": lower_set, "mov": lower_mov,
}  # fmt: skip
