"""atom and red as LLVM IR: one lane after the other, lowest first."""

from collections.abc import Callable

from rayplay.ptx.ir import Instruction, Vector
from rayplay.ptx.isa.types import HALVES, TYPES, elements
from rayplay.tracer.emit.emitter import Emitter, Handler
from rayplay.tracer.emit.memory import arena_offset, effective_address, record
from rayplay.tracer.emit.text import FLOAT, INT, lowest_lane
from rayplay.tracer.lower.floats import to_bits, to_float
from rayplay.tracer.meaning.floats import CANONICAL_NAN
from rayplay.tracer.meaning.tables import ATOMIC_OPERANDS


def lower_atom(e: Emitter, i: Instruction) -> None:
    """atom, red, of a scalar or of every element of a vector: one lane after the other, lowest first."""
    operation, name, space = i.form.operation, i.form.type, i.form.space
    width, length = TYPES[name], i.form.lanes
    returns = i.opcode == "atom"
    count = ATOMIC_OPERANDS.get(operation, 1)
    source = i.operands[int(returns) :]
    if len(source) < 1 + count or any(isinstance(o, Vector) != (length > 1) for o in source[1 : 1 + count]):
        raise e.unknown()
    address, lanes = effective_address(e, source[0]), e.lanes()
    offset = arena_offset(e, address, space, width // 8 * length, lanes)
    record(e, address, lanes)
    values = [[e.read(part, name) for part in elements(operand)] for operand in source[1 : 1 + count]]
    results = []
    for index in range(length):
        place = offset
        if index:
            place = e.op(f"add {INT[64]} {offset}, splat (i64 {index * width // 8})")
        results.append(
            lane_loop(e, (place, *(value[index] for value in values)), lanes, width, _combiner(operation, name))
        )
    if returns:
        for target, value in zip(elements(i.operands[0]), results, strict=True):
            e.write(target, value, width)


Combiner = Callable[[Emitter, str, list[str]], str]


def lane_loop(e: Emitter, inputs: tuple[str, ...], lanes: str, width: int, combine: Combiner) -> str:
    """Read, combine and write memory, one set lane after the other; returns what memory held before.

    ``inputs`` are offsets in the arena and the operands; ``combine`` gives the new value from the old one, scalar.
    """
    slots = []
    for index, value in enumerate(inputs):
        slot = f"%lanes.{64 if index == 0 else width}.{index}"
        e.put(f"store {INT[64 if index == 0 else width]} {value}, ptr {slot}")
        slots.append(slot)
    out = f"%lanes.{width}.result"
    e.put(f"store {INT[width]} zeroinitializer, ptr {out}")
    with lowest_lane(e, lanes) as (left, lane):
        below = e.op(f"sub i32 {left}, 1")
        e.put(f"store i32 {e.op(f'and i32 {left}, {below}')}, ptr %lanes.left")
        offset, *operands = (
            e.op(f"load {kind}, ptr {e.op(f'getelementptr {kind}, ptr {slot}, i32 {lane}')}")
            for kind, slot in zip(("i64", *[f"i{width}"] * (len(slots) - 1)), slots, strict=True)
        )
        place = e.op(f"getelementptr i8, ptr %arena, i64 {offset}")
        old = e.op(f"load i{width}, ptr {place}, align {min(width // 8, 8)}")
        e.put(f"store i{width} {combine(e, old, operands)}, ptr {place}, align {min(width // 8, 8)}")
        e.put(f"store i{width} {old}, ptr {e.op(f'getelementptr i{width}, ptr {out}, i32 {lane}')}")
    return e.op(f"load {INT[width]}, ptr {out}")


def _combiner(operation: str, name: str) -> Combiner:
    """The value that an atomic stores."""
    if name in HALVES and operation not in ("exch", "cas"):
        return lambda e, old, operands: _halves(e, operation, name, old, operands[0])
    if name in ("f32", "f64") and operation == "add":
        return lambda e, old, operands: _add_float(e, old, operands[0], TYPES[name])
    return lambda e, old, operands: _integer(e, operation, name, old, operands)


def _integer(e: Emitter, operation: str, name: str, old: str, operands: list[str]) -> str:
    kind = f"i{TYPES[name]}"
    new = operands[0]
    if operation == "exch":
        return new
    if operation == "cas":
        return e.op(f"select i1 {e.op(f'icmp eq {kind} {old}, {new}')}, {kind} {operands[1]}, {kind} {old}")
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


def _add_float(e: Emitter, old: str, new: str, width: int) -> str:
    """A lane's float addition, through the 32-lane helpers so that NaN is treated alike."""
    a, b = e.splat(old, f"i{width}"), e.splat(new, f"i{width}")
    total = e.op(f"fadd {FLOAT[width]} {to_float(e, a, width)}, {to_float(e, b, width)}")
    return e.op(f"extractelement {INT[width]} {to_bits(e, total, width)}, i64 0")


def _halves(e: Emitter, operation: str, name: str, old: str, new: str) -> str:
    """add, min, max of one or two 16-bit floats."""
    kind = name.removesuffix("x2")
    if not name.endswith("x2"):
        return _half(e, operation, kind, old, new)
    parts = []
    for shift in (0, 16):
        pair = [e.op(f"trunc i32 {e.op(f'lshr i32 {value}, {shift}')} to i16") for value in (old, new)]
        parts.append(e.op(f"zext i16 {_half(e, operation, kind, *pair)} to i32"))
    return e.op(f"or i32 {e.op(f'shl i32 {parts[1]}, 16')}, {parts[0]}")


def _half(e: Emitter, operation: str, kind: str, old: str, new: str) -> str:
    """One 16-bit float; both kinds are exact in f32, where a sum rounds once more without harm."""
    a, b = (_widened(e, kind, value) for value in (old, new))
    if operation == "add":
        return _narrowed(e, kind, e.op(f"fadd float {a}, {b}"))
    # -0 is below +0; a NaN gives way to a number
    order = [e.op(f"sext i16 {value} to i32") for value in (old, new)]
    for index, value in enumerate(order):
        sign = e.op(f"ashr i32 {value}, 31")
        order[index] = e.op(f"xor i32 {value}, {e.op(f'and i32 {sign}, 32767')}")
    less = e.op(f"icmp slt i32 {order[0]}, {order[1]}")
    first, second = (old, new) if operation == "min" else (new, old)
    chosen = e.op(f"select i1 {less}, i16 {first}, i16 {second}")
    nan_a, nan_b = (e.op(f"fcmp uno float {value}, 0.0") for value in (a, b))
    chosen = e.op(f"select i1 {nan_a}, i16 {new}, i16 {chosen}")
    chosen = e.op(f"select i1 {nan_b}, i16 {old}, i16 {chosen}")
    return e.op(f"select i1 {e.op(f'and i1 {nan_a}, {nan_b}')}, i16 {CANONICAL_NAN[16]}, i16 {chosen}")


def _widened(e: Emitter, kind: str, value: str) -> str:
    if kind == "f16":
        return e.op(f"fpext half {e.op(f'bitcast i16 {value} to half')} to float")
    wide = e.op(f"zext i16 {value} to i32")
    return e.op(f"bitcast i32 {e.op(f'shl i32 {wide}, 16')} to float")


def _narrowed(e: Emitter, kind: str, value: str) -> str:
    """To the nearest 16-bit float, ties to even; NaN becomes the canonical one."""
    nan = e.op(f"fcmp uno float {value}, 0.0")
    if kind == "f16":
        bits = e.op(f"bitcast half {e.op(f'fptrunc float {value} to half')} to i16")
    else:
        wide = e.op(f"bitcast float {value} to i32")
        odd = e.op(f"and i32 {e.op(f'lshr i32 {wide}, 16')}, 1")
        rounded = e.op(f"add i32 {e.op(f'add i32 {wide}, 32767')}, {odd}")
        bits = e.op(f"trunc i32 {e.op(f'lshr i32 {rounded}, 16')} to i16")
    return e.op(f"select i1 {nan}, i16 {CANONICAL_NAN[16]}, i16 {bits}")


HANDLERS: dict[str, Handler] = {"atom": lower_atom, "red": lower_atom}
