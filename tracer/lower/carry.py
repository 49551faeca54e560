"""Integer arithmetic on parts of words and on several words: carries, 24-bit factors, dot products, pairs."""

from rayplay.ptx.ir import Instruction
from rayplay.tracer.emit.emitter import Emitter, Handler
from rayplay.tracer.emit.text import INT, typed
from rayplay.tracer.lower.integer import lower_mul_mad, wide_product

CARRY = "carry flag"
WORD = INT[32]


def sum_with_carry(e: Emitter, i: Instruction, word: str, a: str, b: str, width: int) -> str:
    """``a`` add or sub ``b``: addc, subc and madc take the carry flag, .cc sets it.

    A difference is ``a + ~b + 1``, so the flag of sub.cc is set where nothing was borrowed, as on hardware.
    """
    kind = INT[width]
    if i.opcode.endswith("c"):
        if CARRY not in e.values:
            raise e.unknown(f"{i.full_opcode} without an instruction with .cc before it in its basic block, so it")
        carry = e.op(f"zext <32 x i1> {e.register(CARRY)} to {kind}")
    else:
        carry = f"splat (i{width} {int(word == 'sub')})"
    if word == "sub":
        b = e.op(f"xor {kind} {b}, splat (i{width} -1)")
    first = e.op(f"add {kind} {a}, {b}")
    result = e.op(f"add {kind} {first}, {carry}")
    if i.form.carries:
        overflow = e.op(f"icmp ult {kind} {first}, {a}")
        overflow = e.op(f"or <32 x i1> {overflow}, {e.op(f'icmp ult {kind} {result}, {first}')}")
        guard = e.guard()
        if guard is not None:
            overflow = e.op(f"select <32 x i1> {guard}, <32 x i1> {overflow}, <32 x i1> {e.register(CARRY)}")
        e.values[CARRY] = overflow
    return result


def lower_add_sub(e: Emitter, i: Instruction) -> None:
    """add, sub, addc, subc."""
    name, width, kind = typed(i)
    word = i.opcode[:3]
    a, b = e.read(i.operands[1], name), e.read(i.operands[2], name)
    if i.form.saturates:
        result = e.op(f"call {kind} @llvm.s{word}.sat.v32i{width}({kind} {a}, {kind} {b})")
    else:
        result = sum_with_carry(e, i, word, a, b, width)
    e.write(i.operands[0], result, width)


def lower_mad(e: Emitter, i: Instruction) -> None:
    """mad with .cc or .sat, and madc: .lo and .hi products in sums with carries."""
    if i.opcode == "mad" and not i.form.carries and not i.form.saturates:
        lower_mul_mad(e, i)
        return
    name, width, kind = typed(i)
    a, b, c = (e.read(operand, name) for operand in i.operands[1:4])
    product = wide_product(e, a, b, name, i.form.part)
    if i.form.saturates:
        result = e.op(f"call {kind} @llvm.sadd.sat.v32i{width}({kind} {product}, {kind} {c})")
    else:
        result = sum_with_carry(e, i, "add", product, c, width)
    e.write(i.operands[0], result, width)


def lower_24(e: Emitter, i: Instruction) -> None:
    """mul24, mad24: the low or the high 32 of the 48 bits that two 24-bit factors give."""
    signed = i.form.type[0] == "s"
    factors = []
    for operand in i.operands[1:3]:
        up = e.op(f"shl {WORD} {e.read(operand, 'b32')}, splat (i32 8)")
        factors.append(e.resize(e.op(f"{'ashr' if signed else 'lshr'} {WORD} {up}, splat (i32 8)"), 32, 64, signed))
    product = e.op(f"mul {INT[64]} {factors[0]}, {factors[1]}")
    if i.form.part == "hi":
        product = e.op(f"lshr {INT[64]} {product}, splat (i64 16)")
    result = e.resize(product, 64, 32)
    if i.opcode == "mad24":
        c = e.read(i.operands[3], "b32")
        if i.form.saturates:
            result = e.op(f"call {WORD} @llvm.sadd.sat.v32i32({WORD} {result}, {WORD} {c})")
        else:
            result = e.op(f"add {WORD} {result}, {c}")
    e.write(i.operands[0], result, 32)


def lower_dot(e: Emitter, i: Instruction) -> None:
    """dp4a, dp2a: c and the products of four bytes, or of two halves and two bytes (.lo or .hi ones of b)."""
    signed = [name[0] == "s" for name in i.form.types]
    a, b, result = (e.read(operand, "b32") for operand in i.operands[1:4])
    first = 2 if i.form.part == "hi" else 0
    for index in range(4 if i.opcode == "dp4a" else 2):
        x = field(e, a, index, 8, signed[0]) if i.opcode == "dp4a" else field(e, a, index, 16, signed[0])
        y = field(e, b, index + first, 8, signed[1])
        result = e.op(f"add {WORD} {result}, {e.op(f'mul {WORD} {x}, {y}')}")
    e.write(i.operands[0], result, 32)


def field(e: Emitter, value: str, index: int, bits: int, signed: bool) -> str:
    """The ``index``-th byte or half of a word, extended to 32 bits."""
    up = 32 - bits * (index + 1)
    top = e.op(f"shl {WORD} {value}, splat (i32 {up})") if up else value
    return e.op(f"{'ashr' if signed else 'lshr'} {WORD} {top}, splat (i32 {32 - bits})")


def lower_packed(e: Emitter, i: Instruction) -> None:
    """add, min and max of both halves of a word; .relu also clamps them at 0."""
    signed = i.form.type[0] == "s"
    kind = "<64 x i16>"
    a, b = (e.op(f"bitcast {WORD} {e.read(operand, 'b32')} to {kind}") for operand in i.operands[1:3])
    if i.opcode == "add":
        result = e.op(f"add {kind} {a}, {b}")
    else:
        result = e.op(f"call {kind} @llvm.{'s' if signed else 'u'}{i.opcode}.v64i16({kind} {a}, {kind} {b})")
    if i.form.relu:
        result = e.op(f"call {kind} @llvm.smax.v64i16({kind} {result}, {kind} zeroinitializer)")
    e.write(i.operands[0], e.op(f"bitcast {kind} {result} to {WORD}"), 32)


HANDLERS: dict[str, Handler] = {
    "add": lower_add_sub, "sub": lower_add_sub, "addc": lower_add_sub, "subc": lower_add_sub,
    "mad": lower_mad, "madc": lower_mad, "mul24": lower_24, "mad24": lower_24, "dp4a": lower_dot, "dp2a": lower_dot,
}  # fmt: skip
PACKED_HANDLERS: dict[str, Handler] = dict.fromkeys(("add", "min", "max"), lower_packed)
