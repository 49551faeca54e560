"""Comparison, selection and move instructions as LLVM IR."""

from rayplay.ptx.ir import Instruction, Pair, Vector
from rayplay.ptx.isa.types import HALVES, TYPES
from rayplay.tracer.emit.emitter import Emitter, Handler
from rayplay.tracer.emit.narrow import widen
from rayplay.tracer.emit.text import FLOAT, INT, typed
from rayplay.tracer.lower.floats import flush, to_float
from rayplay.tracer.lower.half import joined, read_parts
from rayplay.tracer.meaning.floats import ONE

INT_TESTS = {
    "eq": "eq", "ne": "ne", "lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge",
    "lo": "ult", "ls": "ule", "hi": "ugt", "hs": "uge",
}  # fmt: skip
FLOAT_TESTS = {
    "eq": "oeq", "ne": "one", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge",
    "equ": "ueq", "neu": "une", "ltu": "ult", "leu": "ule", "gtu": "ugt", "geu": "uge", "num": "ord", "nan": "uno",
}  # fmt: skip


def comparisons(e: Emitter, i: Instruction, name: str) -> list[str]:
    """The ``<32 x i1>`` of a setp or set before a predicate is combined with it; two for packed types."""
    word = i.form.compare
    if name in HALVES:
        base = name.removesuffix("x2")
        pairs = zip(read_parts(e, i, 1, name), read_parts(e, i, 2, name), strict=True)
        return [compare_float(e, word, widen(e, x, base), widen(e, y, base), 32) for x, y in pairs]
    a, b = e.read(i.operands[1], name), e.read(i.operands[2], name)
    width = TYPES[name]
    if name[0] == "f":
        if i.form.ftz and width == 32:
            a, b = flush(e, a), flush(e, b)
        return [compare_float(e, word, to_float(e, a, width), to_float(e, b, width), width)]
    test = INT_TESTS[word]
    if name[0] in "ub" and test[0] == "s":
        test = "u" + test[1:]
    return [e.op(f"icmp {test} {INT[width]} {a}, {b}")]


def compare_float(e: Emitter, word: str, a: str, b: str, width: int) -> str:
    """The ``<32 x i1>`` of a comparison of float lanes."""
    return e.op(f"fcmp {FLOAT_TESTS[word]} {FLOAT[width]} {a}, {b}")


def _combine(e: Emitter, i: Instruction, value: str) -> str:
    if not i.form.operation:
        return value
    return e.op(f"{i.form.operation} <32 x i1> {value}, {e.read(i.operands[3], 'pred')}")


def lower_setp(e: Emitter, i: Instruction) -> None:
    """setp: p = (a cmp b) op c, and q = !(a cmp b) op c; of packed types p is the low half's and q the high half's."""
    values = comparisons(e, i, i.form.type)
    target = i.operands[0]
    if not isinstance(target, Pair):
        e.write(target, _combine(e, i, values[0]), 1)
        return
    if len(values) == 1:
        values.append(e.op(f"xor <32 x i1> {values[0]}, splat (i1 true)"))
    results = [_combine(e, i, value) for value in values]  # before either is written: c may be one of them
    e.write(target.first, results[0], 1)
    e.write(target.second, results[1], 1)


def lower_set(e: Emitter, i: Instruction) -> None:
    """set: all ones, or 1.0 for float results, where the comparison holds; packed types per half."""
    out, name = i.form.types
    values = [_combine(e, i, value) for value in comparisons(e, i, name)]
    base = out.removesuffix("x2")
    width = 16 if len(values) == 2 else TYPES[out]
    true = ONE.get(base, -1)
    bits = [
        e.op(f"select <32 x i1> {value}, {INT[width]} splat (i{width} {true}), {INT[width]} zeroinitializer")
        for value in values
    ]
    e.write(i.operands[0], joined(e, bits), TYPES[out])


def lower_select(e: Emitter, i: Instruction) -> None:
    """selp: a where the predicate holds, b elsewhere; slct: a where c >= 0, which no NaN is."""
    name = i.form.types[0]
    width = TYPES[name]
    a, b = e.read(i.operands[1], name), e.read(i.operands[2], name)
    if i.opcode == "selp":
        where = e.read(i.operands[3], "pred")
    elif i.form.type == "s32":
        where = e.op(f"icmp sge <32 x i32> {e.read(i.operands[3], 's32')}, zeroinitializer")
    else:
        bits = e.read(i.operands[3], "f32")
        value = to_float(e, flush(e, bits) if i.form.ftz else bits, 32)
        where = e.op(f"fcmp oge <32 x float> {value}, zeroinitializer")
    e.write(i.operands[0], e.op(f"select <32 x i1> {where}, {INT[width]} {a}, {INT[width]} {b}"), width)


def _part(e: Emitter, width: int, count: int) -> int:
    """Bits of an element of a packed value."""
    if width % count or f"b{width // count}" not in TYPES:
        raise e.unknown()
    return width // count


def lower_mov(e: Emitter, i: Instruction) -> None:
    """mov, also packing and unpacking of vectors."""
    name, width, _ = typed(i)
    target, source = i.operands
    if isinstance(target, Vector) and isinstance(source, Vector):
        values = [e.read(element, name) for element in source.elements]
        for element, value in zip(target.elements, values, strict=True):
            e.write(element, value, width)
    elif isinstance(target, Vector):
        part = _part(e, width, len(target.elements))
        value = e.read(source, name)
        for index, element in enumerate(target.elements):
            if element is not None:
                piece = e.op(f"lshr {INT[width]} {value}, splat (i{width} {index * part})") if index else value
                e.write(element, e.resize(piece, width, part), part)
    elif isinstance(source, Vector):
        part = _part(e, width, len(source.elements))
        value = "zeroinitializer"
        for index, element in enumerate(source.elements):
            piece = e.resize(e.read(element, f"b{part}"), part, width)
            piece = e.op(f"shl {INT[width]} {piece}, splat (i{width} {index * part})") if index else piece
            value = e.op(f"or {INT[width]} {value}, {piece}") if index else piece
        e.write(target, value, width)
    else:
        e.write(target, e.read(source, name), width)


HANDLERS: dict[str, Handler] = {
    "selp": lower_select, "slct": lower_select, "setp": lower_setp, "set": lower_set, "mov": lower_mov,
}  # fmt: skip
