"""ld, st, atom and red as LLVM IR: checked addresses, recorded accesses, gathers and scatters in lane order."""

from collections.abc import Callable

from rayplay.ptx.ir import Address, Immediate, Instruction, Operand, Register, Symbol
from rayplay.ptx.isa.types import TYPES, elements
from rayplay.tracer.abi.words import ACCESS_BYTES, ADDRESS_BYTES, ILLEGAL_ADDRESS, RECORD_ALL
from rayplay.tracer.emit.emitter import INT, Emitter

ALIGNED_BYTES = 16  # what the address of every variable is a multiple of
LANE_OFFSETS = [f"i64 {lane}" for lane in range(32)]


def effective_address(e: Emitter, operand: Operand | None, space: str) -> str:
    """The address of every lane, i64; shared addresses are offsets in the CTA's shared memory."""
    if not isinstance(operand, Address):
        raise e.unknown()
    base = operand.base
    if isinstance(base, Symbol):
        return e.symbol_address(Symbol(base.name, base.offset + operand.offset))
    if isinstance(base, Immediate):
        return f"splat (i64 {base.bits + operand.offset})"
    width = e.width_of(base) if isinstance(base, Register) and base.name in e.function.registers else 64
    value = e.read(base, f"u{width}")
    if operand.offset:
        value = e.op(f"add {INT[width]} {value}, splat (i{width} {operand.offset})")
    return e.resize(value, width, 64)


def arena_offset(e: Emitter, address: str, space: str, size: int, lanes: str) -> str:
    """Offsets in the arena's host memory of checked addresses; leaves the function at an illegal one."""
    first, limit = ("", "shared_bytes") if space == "shared" else ("arena_first", "arena_bytes")
    offset = address
    if first:
        offset = e.op(f"sub <32 x i64> {address}, {e.splat(e.machine(first), 'i64')}")
    bound = e.machine(limit)
    shift = size.bit_length() - 1
    rotated = offset
    if shift:  # a misaligned address becomes a huge one
        rotated = e.op(
            f"call <32 x i64> @llvm.fshr.v32i64(<32 x i64> {offset}, <32 x i64> {offset}, "
            f"<32 x i64> splat (i64 {shift}))"
        )
        bound = e.op(f"lshr i64 {bound}, {shift}")
    outside = e.op(f"icmp uge <32 x i64> {rotated}, {e.splat(bound, 'i64')}")
    check(e, e.op(f"and <32 x i1> {outside}, {lanes}"), address)
    if space == "shared":
        start = e.op(f"sub i64 {e.machine('shared_base')}, {e.machine('arena_first')}")
        offset = e.op(f"add <32 x i64> {offset}, {e.splat(start, 'i64')}")
    return offset


def check(e: Emitter, bad: str, address: str, reason: int = ILLEGAL_ADDRESS) -> None:
    """Leave the function for ``reason``, an illegal address, when a lane of ``bad`` is set."""
    bits = e.op(f"bitcast <32 x i1> {bad} to i32")
    good, wrong = e.label(), e.label()
    test = e.op(f"icmp eq i32 {bits}, 0")
    e.put(f"br i1 {test}, label %{good}, label %{wrong}, !prof !0")
    e.put(f"{wrong}:")
    lane = e.op(f"call i32 @llvm.cttz.i32(i32 {bits}, i1 true)")
    e.put_machine("error_lane", e.op(f"zext i32 {lane} to i64"))
    e.put_machine("error_address", e.op(f"extractelement <32 x i64> {address}, i32 {lane}"))
    e.put_machine("suspend_instruction", str(e.instruction_id))
    e.put(f"store i64 {reason}, ptr %reason")
    e.put("br label %leave")
    e.put(f"{good}:")


def _pack_inline(e: Emitter, address: str, bits: str, place: str) -> str:
    """Write the addresses of the set lanes one after the other; returns where they end."""
    lanes = e.op(f"bitcast i32 {bits} to <32 x i1>")
    for part in range(4):
        select = ", ".join(f"i32 {8 * part + k}" for k in range(8))
        some = e.op(f"shufflevector <32 x i64> {address}, <32 x i64> poison, <8 x i32> <{select}>")
        mask = e.op(f"shufflevector <32 x i1> {lanes}, <32 x i1> poison, <8 x i32> <{select}>")
        packed = e.op(
            "call <8 x i64> @llvm.experimental.vector.compress.v8i64("
            f"<8 x i64> {some}, <8 x i1> {mask}, <8 x i64> poison)"
        )
        e.put(f"store <8 x i64> {packed}, ptr {place}, align 8")
        byte = e.op(f"trunc i32 {e.op(f'lshr i32 {bits}, {8 * part}')} to i8")
        count = e.op(f"zext i8 {e.op(f'call i8 @llvm.ctpop.i8(i8 {byte})')} to i64")
        place = e.op(f"getelementptr i64, ptr {place}, i64 {count}")
    return place


def _pack_call(e: Emitter, address: str, bits: str, place: str) -> str:
    """The same by a call, for code that runs once: a third of what an access costs to compile."""
    return e.op(f"call ptr @pack(<32 x i64> {address}, i32 {bits}, ptr {place})")


def pack_function(text: str, e: Emitter) -> str:
    """LLVM definition of the ``@pack`` that ``text`` calls; ``e`` is a fresh emitter."""
    if "@pack(" not in text:
        return ""
    result = _pack_inline(e, "%address", "%bits", "%place")
    head = "define internal ptr @pack(<32 x i64> %address, i32 %bits, ptr %place) noinline #0 {"
    return "\n".join((head, *e.lines, f"ret ptr {result}", "}"))


def record(e: Emitter, address: str, lanes: str) -> None:
    """Append an access: instruction, visit, lane mask, and the addresses of the set lanes."""
    if e.records < RECORD_ALL:
        return
    bits = e.op(f"bitcast <32 x i1> {lanes} to i32")
    next_access, first_address = e.op("load i64, ptr %access.next"), e.op("load i64, ptr %address.next")
    next_address = e.op(f"inttoptr i64 {first_address} to ptr")
    visits = e.op(f"sub i64 {e.op('load i64, ptr %visit.next')}, %visit.origin")
    visits = e.op(f"lshr i64 {visits}, 3")
    visit = e.op(f"trunc i64 {e.op(f'sub i64 {visits}, 1')} to i32")
    row = e.op(f"insertelement <4 x i32> <i32 {e.instruction_id}, i32 0, i32 0, i32 0>, i32 {visit}, i64 1")
    row = e.op(f"insertelement <4 x i32> {row}, i32 {bits}, i64 2")
    e.put(f"store <4 x i32> {row}, ptr {e.op(f'inttoptr i64 {next_access} to ptr')}, align 4")
    next_address = (_pack_inline if e.hot else _pack_call)(e, address, bits, next_address)
    # an instruction without lanes leaves no row: the next one overwrites it
    some = e.op(f"zext i1 {e.op(f'icmp ne i32 {bits}, 0')} to i64")
    step = e.op(f"mul i64 {some}, {ACCESS_BYTES}")
    e.put(f"store i64 {e.op(f'add i64 {next_access}, {step}')}, ptr %access.next")
    e.put(f"store i64 {e.op(f'ptrtoint ptr {next_address} to i64')}, ptr %address.next")


ACCESS_ROOM_BYTES = (ACCESS_BYTES, 32 * ADDRESS_BYTES)


def uniform_symbol(e: Emitter, operand: Operand | None, size: int) -> str | None:
    """The arena address of a ``const`` or entry parameter named directly, the same in all lanes; None otherwise, or
    where ``size`` bytes there have to be checked."""
    if isinstance(operand, Address) and isinstance(operand.base, Symbol):
        name, offset = operand.base.name, operand.base.offset + operand.offset
        start = e.layout.entry_params.get(name, 0)
        variable = next((p for p in e.function.parameters if p.name == name), None)
        variable = variable or e.function.variables.get(name) or e.module.variables.get(name)
        known = name in e.layout.entry_params or (name in e.symbols and name not in e.layout.locals)
        fits = variable is not None and 0 <= offset <= variable.bytes - size
        if known and fits and (start + offset) % size == 0 and size <= ALIGNED_BYTES:
            return e.symbol_scalar(Symbol(name, offset))
    return None


def _elements(e: Emitter, i: Instruction, operand: Operand) -> tuple["Operand | None", ...]:
    found = elements(operand)
    if len(found) != i.form.lanes:
        raise e.unknown(f"{i.full_opcode} with {len(found)} registers")
    return found


def lower_ld(e: Emitter, i: Instruction) -> None:
    """ld, ldu: gathers; const and parameters are not recorded."""
    name, space = i.form.type, i.form.space
    targets = _elements(e, i, i.operands[0])
    if lane_variable(e, i.operands[1]):
        return _load_lane_variable(e, i, name)
    width = TYPES[name]
    uniform = uniform_symbol(e, i.operands[1], width // 8 * len(targets)) if space in ("const", "param") else None
    if uniform is not None:
        return _load_uniform(e, targets, uniform, name)
    address, lanes = effective_address(e, i.operands[1], space), e.lanes()
    offset = arena_offset(e, address, space, width // 8 * len(targets), lanes)
    if space not in ("const", "param"):
        record(e, address, lanes)
    pointers = e.op(f"getelementptr i8, ptr %arena, <32 x i64> {offset}")
    values = []
    for index in range(len(targets)):
        at = e.op(f"getelementptr i8, <32 x ptr> {pointers}, i64 {index * width // 8}") if index else pointers
        values.append(gather(e, at, lanes, width))
    for target, value in zip(targets, values, strict=True):
        e.write(target, value, width, name[0] == "s")
    return None


def gather(e: Emitter, pointers: str, lanes: str, width: int, align: int = 0) -> str:
    """Read ``width`` bits per set lane, 0 elsewhere; pointers are as aligned as wide, or as ``align`` says."""
    return e.op(
        f"call {INT[width]} @llvm.masked.gather.v32i{width}.v32p0("
        f"<32 x ptr> align {align or width // 8} {pointers}, <32 x i1> {lanes}, {INT[width]} zeroinitializer)"
    )


def scatter(e: Emitter, value: str, pointers: str, lanes: str, width: int, align: int = 0) -> None:
    """Write ``width`` bits per set lane, lanes in order."""
    e.put(
        f"call void @llvm.masked.scatter.v32i{width}.v32p0("
        f"{INT[width]} {value}, <32 x ptr> align {align or width // 8} {pointers}, <32 x i1> {lanes})"
    )


def _load_uniform(e: Emitter, targets: tuple["Operand | None", ...], address: str, name: str) -> None:
    width = TYPES[name]
    offset = e.op(f"sub i64 {address}, {e.machine('arena_first')}")
    for index, target in enumerate(targets):
        at = e.op(f"getelementptr i8, ptr %arena, i64 {e.op(f'add i64 {offset}, {index * width // 8}')}")
        value = e.op(f"load i{width}, ptr {at}, align 1")
        e.write(target, e.splat(value, f"i{width}"), width, name[0] == "s")


def lower_st(e: Emitter, i: Instruction) -> None:
    """st: scatters, lanes in order."""
    name, space = i.form.type, i.form.space
    width, sources = TYPES[name], _elements(e, i, i.operands[1])
    if lane_variable(e, i.operands[0]):
        pointers = lane_variable_pointers(e, i.operands[0], width // 8 * len(sources))
        lanes = e.lanes()
    elif space in ("const", "param"):
        raise e.unknown()
    else:
        address, lanes = effective_address(e, i.operands[0], space), e.lanes()
        offset = arena_offset(e, address, space, width // 8 * len(sources), lanes)
        record(e, address, lanes)
        pointers = e.op(f"getelementptr i8, ptr %arena, <32 x i64> {offset}")
    for index, source in enumerate(sources):
        at = e.op(f"getelementptr i8, <32 x ptr> {pointers}, i64 {index * width // 8}") if index else pointers
        scatter(e, e.read(source, name), at, lanes, width, int(lane_variable(e, i.operands[0])))


def lane_variable(e: Emitter, operand: Operand | None) -> bool:
    """Whether an address names a ``.param`` variable of a function: part of the activation, not of device memory."""
    return (
        isinstance(operand, Address)
        and isinstance(operand.base, Symbol)
        and operand.base.name in e.layout.lane_variables
    )


def lane_variable_pointers(e: Emitter, operand: Operand | None, accessed: int) -> str:
    """Pointer to every lane's copy of a ``.param`` variable, of which ``accessed`` bytes are read or written."""
    assert isinstance(operand, Address)
    assert isinstance(operand.base, Symbol)
    start, size = e.layout.lane_variables[operand.base.name]
    offset = operand.base.offset + operand.offset
    if not 0 <= offset <= size - accessed:
        raise e.unknown(f"{accessed} bytes at {offset} of {operand.base.name}, which has {size}")
    start += offset
    offsets = ", ".join(f"i64 {start + lane * size}" for lane in range(32))
    return e.op(f"getelementptr i8, ptr %activation, <32 x i64> <{offsets}>")


PIECES = (8, 4, 2, 1)


def move_home(e: Emitter, name: str) -> None:
    """Copy a parameter whose address is taken to local memory, where the address points."""
    start, size = e.layout.lane_variables[name]
    first = e.op(f"add <32 x i64> {e.register_local_base()}, splat (i64 {e.layout.locals[name]})")
    offset = e.op(f"sub <32 x i64> {first}, {e.splat(e.machine('arena_first'), 'i64')}")
    home = e.op(f"getelementptr i8, ptr %arena, <32 x i64> {offset}")
    lanes, done = e.values["lanes"], 0
    while done < size:
        piece = next(p for p in PIECES if p <= size - done)
        offsets = ", ".join(f"i64 {start + lane * size + done}" for lane in range(32))
        source = e.op(f"getelementptr i8, ptr %activation, <32 x i64> <{offsets}>")
        target = e.op(f"getelementptr i8, <32 x ptr> {home}, i64 {done}")
        scatter(e, gather(e, source, lanes, 8 * piece, 1), target, lanes, 8 * piece, 1)
        done += piece


def _load_lane_variable(e: Emitter, i: Instruction, name: str) -> None:
    width = TYPES[name]
    pointers = lane_variable_pointers(e, i.operands[1], width // 8 * len(elements(i.operands[0])))
    for index, target in enumerate(elements(i.operands[0])):
        at = e.op(f"getelementptr i8, <32 x ptr> {pointers}, i64 {index * width // 8}") if index else pointers
        e.write(target, gather(e, at, "splat (i1 true)", width, 1), width, name[0] == "s")


def lower_filter(e: Emitter, i: Instruction) -> None:
    """filter_shader: 1 where the thread's pixel is selected, 0 elsewhere."""
    lanes = e.lanes()
    first = e.op(f"mul i64 {e.machine('ctaid_y')}, {e.machine('width')}")
    column, selected = e.machine("ctaid_x"), e.machine("selected")
    first = e.op(f"add i64 {first}, {e.op(f'shl i64 {column}, 5')}")
    table = e.op(f"inttoptr i64 {e.op(f'add i64 {selected}, {first}')} to ptr")
    pointers = e.op(f"getelementptr i8, ptr {table}, <32 x i64> <{', '.join(LANE_OFFSETS)}>")
    e.write(i.operands[0], gather(e, pointers, lanes, 8), 8)


HANDLERS: dict[str, Callable[[Emitter, Instruction], None]] = {
    "ld": lower_ld, "ldu": lower_ld, "st": lower_st,
}  # fmt: skip
