"""Integer arithmetic on more than one word as LLVM IR: sums with carries, and dot products of packed bytes."""

from ptx.ir import Instruction
from tracer.lower_emit import INT, TYPES, Emitter, type_names
from tracer.lower_int import Handler, lower_mul_mad, wide_product

CARRY = "carry flag"
WORD = INT[32]


def sum_with_carry(e: Emitter, i: Instruction, word: str, a: str, b: str, width: int) -> str:
    """``a`` add or sub ``b``: addc, subc and madc take the carry flag, .cc sets it."""
    kind = INT[width]
    result = e.op(f"{word} {kind} {a}, {b}")
    overflow = e.op(f"icmp ult {kind} {result}, {a}") if word == "add" else e.op(f"icmp ult {kind} {a}, {b}")
    if i.opcode.endswith("c"):
        carry = e.op(f"zext <32 x i1> {e.register(CARRY)} to {kind}")
        first = result
        result = e.op(f"{word} {kind} {first}, {carry}")
        test = f"icmp ult {kind} {result}, {first}" if word == "add" else f"icmp ult {kind} {first}, {carry}"
        overflow = e.op(f"or <32 x i1> {overflow}, {e.op(test)}")
    if "cc" in i.modifiers:
        e.values[CARRY] = overflow
        e.written[CARRY] = None
    return result


def lower_add_sub(e: Emitter, i: Instruction) -> None:
    """add, sub, addc, subc."""
    name = type_names(i)[-1]
    width, kind = TYPES[name], INT[TYPES[name]]
    word = i.opcode[:3]
    a, b = e.read(i.operands[1], name), e.read(i.operands[2], name)
    if "sat" in i.modifiers:
        result = e.op(f"call {kind} @llvm.s{word}.sat.v32i{width}({kind} {a}, {kind} {b})")
    else:
        result = sum_with_carry(e, i, word, a, b, width)
    e.write(i.operands[0], result, width)


def lower_mad(e: Emitter, i: Instruction) -> None:
    """mad, and madc: .lo and .hi products in sums with carries."""
    if i.opcode == "mad" and "cc" not in i.modifiers:
        lower_mul_mad(e, i)
        return
    name = type_names(i)[-1]
    a, b, c = (e.read(operand, name) for operand in i.operands[1:4])
    product = wide_product(e, a, b, name, "hi" if "hi" in i.modifiers else "lo")
    e.write(i.operands[0], sum_with_carry(e, i, "add", product, c, TYPES[name]), TYPES[name])


def lower_dot(e: Emitter, i: Instruction) -> None:
    """dp4a: the sum of c and four products of bytes; each factor is signed or not as its type says."""
    signed = [name[0] == "s" for name in type_names(i)]
    a, b, result = (e.read(operand, "b32") for operand in i.operands[1:4])
    for byte in range(4):
        x, y = (_byte(e, value, byte, sign) for value, sign in zip((a, b), signed, strict=True))
        result = e.op(f"add {WORD} {result}, {e.op(f'mul {WORD} {x}, {y}')}")
    e.write(i.operands[0], result, 32)


def _byte(e: Emitter, value: str, byte: int, signed: bool) -> str:
    top = e.op(f"shl {WORD} {value}, splat (i32 {24 - 8 * byte})")
    return e.op(f"{'ashr' if signed else 'lshr'} {WORD} {top}, splat (i32 24)")


HANDLERS: dict[str, Handler] = {
    "add": lower_add_sub, "sub": lower_add_sub, "addc": lower_add_sub, "subc": lower_add_sub,
    "mad": lower_mad, "madc": lower_mad, "dp4a": lower_dot,
}  # fmt: skip
