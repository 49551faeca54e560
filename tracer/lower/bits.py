"""Instructions on single bits, fields and bytes as LLVM IR: shifts, bfe, bfi, bmsk, szext, fns, lop3 and prmt."""

from rayplay.ptx.ir import Immediate, Instruction, Pair
from rayplay.ptx.isa.types import TYPES
from rayplay.tracer.emit.emitter import Emitter, Handler
from rayplay.tracer.emit.text import INT, typed
from rayplay.tracer.meaning.tables import PERMUTATIONS


def lower_shift(e: Emitter, i: Instruction) -> None:
    """shl, shr: amounts of the width or more shift everything out."""
    name, width, kind = typed(i)
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
    left = i.form.variant == "l"
    kind = INT[32]
    result = e.op(f"call {kind} @llvm.fsh{'l' if left else 'r'}.v32i32({kind} {b}, {kind} {a}, {kind} {c})")
    if i.form.bounds == "clamp":
        past = e.op(f"icmp ugt {kind} {c}, splat (i32 31)")
        result = e.op(f"select <32 x i1> {past}, {kind} {a if left else b}, {kind} {result}")
    e.write(i.operands[0], result, 32)


def lower_bfe(e: Emitter, i: Instruction) -> None:
    """bfe: field of ``len`` bits at ``pos``, sign extended for signed types."""
    name, width, kind = typed(i)
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
    """bfi: the low ``len`` bits of a replace bits of b at ``pos``."""
    width = TYPES[i.form.type]
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
    if i.form.bounds == "wrap":
        pos, length = (e.op(f"and <32 x i32> {value}, splat (i32 31)") for value in (pos, length))
    e.write(i.operands[0], shift(e, "shl", low_mask(e, length, 32), pos, 32), 32)


def lower_szext(e: Emitter, i: Instruction) -> None:
    """szext: the low ``n`` bits extended by their sign or by 0; n is clamped to 32 or taken modulo 32."""
    name, kind = i.form.type, INT[32]
    a, n = e.read(i.operands[1], name), e.read(i.operands[2], "u32")
    if i.form.bounds == "wrap":
        n = e.op(f"and {kind} {n}, splat (i32 31)")
    else:
        n = e.op(f"call {kind} @llvm.umin.v32i32({kind} {n}, {kind} splat (i32 32))")
    by = e.op(f"sub {kind} splat (i32 32), {n}")
    up = shift(e, "shl", a, by, 32)
    down = shift(e, "ashr" if name[0] == "s" else "lshr", up, by, 32)
    e.write(i.operands[0], down, 32)


def lower_fns(e: Emitter, i: Instruction) -> None:
    """fns: the ``offset``-th set bit of a mask, upwards or downwards from ``base``; offset 0 asks for base itself."""
    kind = INT[32]
    mask, base, offset = (e.read(operand, "b32") for operand in i.operands[1:4])
    down = e.op(f"icmp slt {kind} {offset}, zeroinitializer")
    none = e.op(f"icmp eq {kind} {offset}, zeroinitializer")
    mirrored = e.op(f"call {kind} @llvm.bitreverse.v32i32({kind} {mask})")
    from_top = e.op(f"sub {kind} splat (i32 31), {base}")
    mask = e.op(f"select <32 x i1> {down}, {kind} {mirrored}, {kind} {mask}")
    start = e.op(f"select <32 x i1> {down}, {kind} {from_top}, {kind} {base}")
    mask = e.op(f"and {kind} {mask}, {shift(e, 'shl', 'splat (i32 -1)', start, 32)}")
    first = e.op(f"and {kind} {mask}, {shift(e, 'shl', 'splat (i32 1)', start, 32)}")
    mask = e.op(f"select <32 x i1> {none}, {kind} {first}, {kind} {mask}")
    count = e.op(f"call {kind} @llvm.abs.v32i32({kind} {offset}, i1 false)")
    for number in range(2, 33):  # drop the bits before the one asked for
        less = e.op(f"and {kind} {mask}, {e.op(f'sub {kind} {mask}, splat (i32 1)')}")
        more = e.op(f"icmp uge {kind} {count}, splat (i32 {number})")
        mask = e.op(f"select <32 x i1> {more}, {kind} {less}, {kind} {mask}")
    place = e.op(f"call {kind} @llvm.cttz.v32i32({kind} {mask}, i1 false)")
    place = e.op(f"select <32 x i1> {down}, {kind} {e.op(f'sub {kind} splat (i32 31), {place}')}, {kind} {place}")
    found = e.op(f"icmp ne {kind} {mask}, zeroinitializer")
    many = e.op(f"icmp ule {kind} {count}, splat (i32 32)")
    found = e.op(f"and <32 x i1> {found}, {many}")
    e.write(i.operands[0], e.op(f"select <32 x i1> {found}, {kind} {place}, {kind} splat (i32 -1)"), 32)


def lower_lop3(e: Emitter, i: Instruction) -> None:
    """lop3: any function of three bits, its truth table as the immediate; with .or or .and also whether it is not 0."""
    values = [e.read(operand, "b32") for operand in i.operands[1:4]]
    table = i.operands[4]
    if not isinstance(table, Immediate) or (len(i.operands) > 5) != bool(i.form.operation):
        raise e.unknown()
    result = _function_of_bits(e, table.bits & 255, values)
    target = i.operands[0]
    if i.form.operation:
        if not isinstance(target, Pair):
            raise e.unknown()
        some = e.op(f"icmp ne {INT[32]} {result}, zeroinitializer")
        combined = e.op(f"{i.form.operation} <32 x i1> {some}, {e.read(i.operands[5], 'pred')}")
        e.write(target.second, combined, 1)
        e.write(target.first, result, 32)
    else:
        e.write(target, result, 32)


def _function_of_bits(e: Emitter, table: int, values: list[str]) -> str:
    """A truth table over ``values``, the first the highest bit of a row's number: f(0) ^ a & (f(0) ^ f(1))."""
    if not values:
        return "splat (i32 -1)" if table else "zeroinitializer"
    rows = 1 << len(values) - 1
    ones = (1 << rows) - 1
    low, change = table & ones, (table ^ table >> rows) & ones
    if change == 0:
        return _function_of_bits(e, low, values[1:])
    term = values[0]
    if change != ones:
        term = e.op(f"and {INT[32]} {term}, {_function_of_bits(e, change, values[1:])}")
    if low == 0:
        return term
    return e.op(f"xor {INT[32]} {term}, {_function_of_bits(e, low, values[1:])}")


def lower_prmt(e: Emitter, i: Instruction) -> None:
    """prmt: each result byte is one of the eight of {b, a}, or its sign replicated; the modes are fixed choices."""
    a, b = (e.read(operand, "b32") for operand in i.operands[1:3])
    mode = i.form.variant
    control = i.operands[3]
    if isinstance(control, Immediate):
        chosen = PERMUTATIONS[mode][control.bits & 3] if mode else control.bits
        if not chosen & 0x8888:
            e.write(i.operands[0], _shuffled(e, a, b, chosen), 32)
            return
    selector = e.read(control, "b32")
    if mode:
        selector = _fixed_selector(e, selector, PERMUTATIONS[mode])
    e.write(i.operands[0], _permuted(e, a, b, selector), 32)


def _shuffled(e: Emitter, a: str, b: str, selector: int) -> str:
    """The same choice of bytes in every lane."""
    nibbles = [selector >> 4 * k & 7 for k in range(4)]
    mask = ", ".join(f"i32 {4 * lane + n % 4 + 128 * (n // 4)}" for lane in range(32) for n in nibbles)
    x, y = (e.op(f"bitcast {INT[32]} {value} to <128 x i8>") for value in (a, b))
    chosen = e.op(f"shufflevector <128 x i8> {x}, <128 x i8> {y}, <128 x i32> <{mask}>")
    return e.op(f"bitcast <128 x i8> {chosen} to {INT[32]}")


def _fixed_selector(e: Emitter, c: str, selectors: tuple[int, ...]) -> str:
    low = e.op(f"trunc {INT[32]} {c} to <32 x i1>")
    high = e.op(f"trunc {INT[32]} {e.op(f'lshr {INT[32]} {c}, splat (i32 1)')} to <32 x i1>")
    pairs = [
        e.op(f"select <32 x i1> {low}, {INT[32]} splat (i32 {odd}), {INT[32]} splat (i32 {even})")
        for even, odd in (selectors[:2], selectors[2:])
    ]
    return e.op(f"select <32 x i1> {high}, {INT[32]} {pairs[1]}, {INT[32]} {pairs[0]}")


def _permuted(e: Emitter, a: str, b: str, selector: str) -> str:
    high = e.op(f"shl <32 x i64> {e.resize(b, 32, 64)}, splat (i64 32)")
    both = e.op(f"or <32 x i64> {e.resize(a, 32, 64)}, {high}")
    result = "zeroinitializer"
    for index in range(4):
        nibble = e.op(f"lshr <32 x i32> {selector}, splat (i32 {4 * index})")
        by = e.op(f"shl <32 x i32> {e.op(f'and <32 x i32> {nibble}, splat (i32 7)')}, splat (i32 3)")
        byte = e.op(f"trunc <32 x i64> {e.op(f'lshr <32 x i64> {both}, {e.resize(by, 32, 64)}')} to <32 x i8>")
        sign = e.op(f"ashr <32 x i8> {byte}, splat (i8 7)")
        mode = e.op(f"trunc <32 x i32> {e.op(f'lshr <32 x i32> {nibble}, splat (i32 3)')} to <32 x i1>")
        byte = e.op(f"select <32 x i1> {mode}, <32 x i8> {sign}, <32 x i8> {byte}")
        placed = e.op(f"shl <32 x i32> {e.resize(byte, 8, 32)}, splat (i32 {8 * index})")
        result = e.op(f"or <32 x i32> {result}, {placed}")
    return result


HANDLERS: dict[str, Handler] = {
    "shl": lower_shift, "shr": lower_shift, "shf": lower_funnel, "bfe": lower_bfe, "bfi": lower_bfi,
    "bmsk": lower_bmsk, "szext": lower_szext, "fns": lower_fns, "lop3": lower_lop3, "prmt": lower_prmt,
}  # fmt: skip
