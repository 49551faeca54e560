"""atom and red as LLVM IR: one lane after the other, lowest first."""

from collections.abc import Callable

from ptx.ir import Instruction
from tracer.lower_emit import FLOAT, INT, TYPES, Emitter, type_names
from tracer.lower_float import flush, to_bits, to_float
from tracer.lower_memory import arena_offset, effective_address, record, space_of


def lower_atom(e: Emitter, i: Instruction) -> None:
    """atom, red: one lane after the other, lowest first."""
    name, space = type_names(i)[-1], space_of(i)
    width = TYPES[name]
    returns = i.opcode == "atom"
    source = i.operands[int(returns) :]
    address, lanes = effective_address(e, source[0], space), e.lanes()
    offset = arena_offset(e, address, space, width // 8, lanes)
    record(e, address, lanes)
    values = [e.read(operand, name) for operand in source[1:]]
    result = lane_loop(e, i, (offset, *values), lanes, width, name)
    if returns:
        e.write(i.operands[0], result, width)


def lane_loop(e: Emitter, i: Instruction, inputs: tuple[str, ...], lanes: str, width: int, name: str) -> str:
    """The loop over set lanes of an atomic; returns what memory held before."""
    slots = []
    for index, value in enumerate(inputs):
        slot = f"%lanes.{64 if index == 0 else width}.{index}"
        e.put(f"store {INT[64 if index == 0 else width]} {value}, ptr {slot}")
        slots.append(slot)
    out = f"%lanes.{width}.result"
    e.put(f"store {INT[width]} zeroinitializer, ptr {out}")
    bits = e.op(f"bitcast <32 x i1> {lanes} to i32")
    head, body, done = e.label(), e.label(), e.label()
    e.put(f"store i32 {bits}, ptr %lanes.left")
    e.put(f"br label %{head}")
    e.put(f"{head}:")
    left = e.op("load i32, ptr %lanes.left")
    e.put(f"br i1 {e.op(f'icmp eq i32 {left}, 0')}, label %{done}, label %{body}")
    e.put(f"{body}:")
    lane = e.op(f"call i32 @llvm.cttz.i32(i32 {left}, i1 true)")
    below = e.op(f"sub i32 {left}, 1")
    e.put(f"store i32 {e.op(f'and i32 {left}, {below}')}, ptr %lanes.left")
    offset = e.op(f"load i64, ptr {e.op(f'getelementptr i64, ptr {slots[0]}, i32 {lane}')}")
    operands = [e.op(f"load i{width}, ptr {e.op(f'getelementptr i{width}, ptr {s}, i32 {lane}')}") for s in slots[1:]]
    place = e.op(f"getelementptr i8, ptr %arena, i64 {offset}")
    old = e.op(f"load i{width}, ptr {place}")
    e.put(f"store i{width} {_combine(e, i, old, operands, name)}, ptr {place}")
    e.put(f"store i{width} {old}, ptr {e.op(f'getelementptr i{width}, ptr {out}, i32 {lane}')}")
    e.put(f"br label %{head}")
    e.put(f"{done}:")
    return e.op(f"load {INT[width]}, ptr {out}")


def _combine(e: Emitter, i: Instruction, old: str, operands: list[str], name: str) -> str:
    """The value an atomic leaves in memory, scalar."""
    width = TYPES[name]
    kind = f"i{width}"
    new = operands[0]
    operation = next((m for m in i.modifiers if m in ATOMICS), None)
    if operation is None or (name[0] == "f" and operation not in ("add", "exch", "cas")):
        raise e.unknown()
    if operation == "exch":
        return new
    if operation == "cas":
        return e.op(f"select i1 {e.op(f'icmp eq {kind} {old}, {new}')}, {kind} {operands[1]}, {kind} {old}")
    if name[0] == "f":
        return _add_float(e, i, old, new, width)
    if operation in ("min", "max"):
        word = f"llvm.{'s' if name[0] == 's' else 'u'}{operation}.{kind}"
        return e.op(f"call {kind} @{word}({kind} {old}, {kind} {new})")
    if operation == "inc":
        reset = e.op(f"icmp uge {kind} {old}, {new}")
        return e.op(f"select i1 {reset}, {kind} 0, {kind} {e.op(f'add {kind} {old}, 1')}")
    if operation == "dec":
        low = e.op(f"or i1 {e.op(f'icmp eq {kind} {old}, 0')}, {e.op(f'icmp ugt {kind} {old}, {new}')}")
        return e.op(f"select i1 {low}, {kind} {new}, {kind} {e.op(f'sub {kind} {old}, 1')}")
    return e.op(f"{operation} {kind} {old}, {new}")


ATOMICS = ("add", "and", "or", "xor", "min", "max", "inc", "dec", "exch", "cas")


def _add_float(e: Emitter, i: Instruction, old: str, new: str, width: int) -> str:
    """A lane's float addition, through the 32-lane helpers so that NaN is treated alike."""
    a, b = e.splat(old, f"i{width}"), e.splat(new, f"i{width}")
    if "ftz" in i.modifiers:
        a, b = flush(e, a), flush(e, b)
    total = e.op(f"fadd {FLOAT[width]} {to_float(e, a, width)}, {to_float(e, b, width)}")
    bits = to_bits(e, total, width)
    if "ftz" in i.modifiers:
        bits = flush(e, bits)
    return e.op(f"extractelement {INT[width]} {bits}, i64 0")


HANDLERS: dict[str, Callable[[Emitter, Instruction], None]] = {"atom": lower_atom, "red": lower_atom}
