"""Integer and logic instructions as LLVM IR."""

from rayplay.ptx.ir import Instruction
from rayplay.ptx.isa.types import TYPES
from rayplay.tracer.emit.emitter import Emitter, Handler
from rayplay.tracer.emit.text import INT, typed


def _binary(word: str) -> Handler:
    def lower(e: Emitter, i: Instruction) -> None:
        name, width, _ = typed(i)
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
    """mul and mad: .lo, .hi, .wide."""
    name, width, _ = typed(i)
    a, b = e.read(i.operands[1], name), e.read(i.operands[2], name)
    result = wide_product(e, a, b, name, i.form.part)
    out = 2 * width if i.form.part == "wide" else width
    if i.opcode == "mad":
        result = e.op(f"add {INT[out]} {result}, {e.read(i.operands[3], f'{name[0]}{out}')}")
    e.write(i.operands[0], result, out, name[0] == "s")


def lower_divide(e: Emitter, i: Instruction) -> None:
    """div, rem. By zero: all ones, as ptxas has it; lowest / -1: quotient lowest, remainder 0."""
    name, width, kind = typed(i)
    a, b = e.read(i.operands[1], name), e.read(i.operands[2], name)
    zero = e.op(f"icmp eq {kind} {b}, zeroinitializer")
    divisor = e.op(f"select <32 x i1> {zero}, {kind} splat (i{width} 1), {kind} {b}")
    signed = name[0] == "s"
    if signed:
        minus_one = e.op(f"icmp eq {kind} {divisor}, splat (i{width} -1)")
        divisor = e.op(f"select <32 x i1> {minus_one}, {kind} splat (i{width} 1), {kind} {divisor}")
    result = e.op(f"{'s' if signed else 'u'}{i.opcode} {kind} {a}, {divisor}")
    if signed:
        other = e.op(f"sub {kind} zeroinitializer, {a}") if i.opcode == "div" else "zeroinitializer"
        result = e.op(f"select <32 x i1> {minus_one}, {kind} {other}, {kind} {result}")
    e.write(i.operands[0], e.op(f"select <32 x i1> {zero}, {kind} splat (i{width} -1), {kind} {result}"), width)


def lower_min_max(e: Emitter, i: Instruction) -> None:
    """min, max; .relu also clamps at 0."""
    name, width, kind = typed(i)
    a, b = e.read(i.operands[1], name), e.read(i.operands[2], name)
    word = f"llvm.{'s' if name[0] == 's' else 'u'}{i.opcode}.v32i{width}"
    result = e.op(f"call {kind} @{word}({kind} {a}, {kind} {b})")
    if i.form.relu:
        result = e.op(f"call {kind} @llvm.smax.v32i{width}({kind} {result}, {kind} zeroinitializer)")
    e.write(i.operands[0], result, width)


UNARY = {
    "neg": "sub {kind} zeroinitializer, {a}", "not": "xor {kind} {a}, splat (i{width} -1)",
    "cnot": "icmp eq {kind} {a}, zeroinitializer", "abs": "call {kind} @llvm.abs.v32i{width}({kind} {a}, i1 false)",
    "brev": "call {kind} @llvm.bitreverse.v32i{width}({kind} {a})",
    "popc": "call {kind} @llvm.ctpop.v32i{width}({kind} {a})",
    "clz": "call {kind} @llvm.ctlz.v32i{width}({kind} {a}, i1 false)",
}  # fmt: skip


def lower_unary(e: Emitter, i: Instruction) -> None:
    """The instructions of UNARY; counts have 32 bits."""
    name, width, _ = typed(i)
    result = e.op(UNARY[i.opcode].format(kind=INT[width], width=width, a=e.read(i.operands[1], name)))
    out = 32 if i.opcode in ("popc", "clz") else width
    e.write(i.operands[0], e.resize(result, 1 if i.opcode == "cnot" else width, out), out)


def lower_bfind(e: Emitter, i: Instruction) -> None:
    """Position of the highest bit that differs from the sign (0 for unsigned), all ones without one."""
    name, width, kind = typed(i)
    a = e.read(i.operands[1], name)
    if name[0] == "s":
        a = e.op(f"xor {kind} {a}, {e.op(f'ashr {kind} {a}, splat (i{width} {width - 1})')}")
    zeros = e.op(f"call {kind} @llvm.ctlz.v32i{width}({kind} {a}, i1 false)")
    if i.form.shift_amount:
        none = e.op(f"icmp eq {kind} {a}, zeroinitializer")
        top = e.op(f"select <32 x i1> {none}, {kind} splat (i{width} -1), {kind} {zeros}")
    else:
        top = e.op(f"sub {kind} splat (i{width} {width - 1}), {zeros}")
    e.write(i.operands[0], e.resize(top, width, 32), 32)


def lower_sad(e: Emitter, i: Instruction) -> None:
    """sad: c + |a - b|."""
    name, width, kind = typed(i)
    a, b, c = (e.read(operand, name) for operand in i.operands[1:4])
    less = e.op(f"icmp {'slt' if name[0] == 's' else 'ult'} {kind} {a}, {b}")
    up, down = e.op(f"sub {kind} {b}, {a}"), e.op(f"sub {kind} {a}, {b}")
    distance = e.op(f"select <32 x i1> {less}, {kind} {up}, {kind} {down}")
    e.write(i.operands[0], e.op(f"add {kind} {c}, {distance}"), width)


HANDLERS: dict[str, Handler] = {
    "mul": lower_mul_mad, "div": lower_divide, "rem": lower_divide, "min": lower_min_max, "max": lower_min_max,
    **dict.fromkeys(UNARY, lower_unary), "bfind": lower_bfind, "sad": lower_sad,
    "and": _binary("and"), "or": _binary("or"), "xor": _binary("xor"),
}  # fmt: skip
