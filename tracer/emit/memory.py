"""Memory as LLVM IR: checked addresses, recorded accesses, gathers and scatters in lane order."""

from rayplay.ptx.ir import Address, Immediate, Module, Operand, Register, Symbol
from rayplay.tracer.abi.words import ACCESS_BYTES, RECORD_ALL, STOP
from rayplay.tracer.emit.emitter import Emitter
from rayplay.tracer.emit.text import INT, Text
from rayplay.tracer.units.call import NUMBERS
from rayplay.tracer.units.settings import BOUNDS

LOCAL_ALIGN = 16  # of a thread's local memory
LANE_OFFSETS = [f"i64 {lane}" for lane in range(32)]


def effective_address(e: Emitter, operand: Operand | None) -> str:
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
    arena = e.machine("arena_first")
    if space == "shared":
        check(e, _outside(e, address, e.splat(e.machine("shared_bytes"), "i64"), size, lanes), address)
        start = e.op(f"sub i64 {e.machine('shared_base')}, {arena}")
        return e.op(f"add <32 x i64> {address}, {e.splat(start, 'i64')}")
    if space == "local" and size <= LOCAL_ALIGN:
        offset = e.op(f"sub <32 x i64> {address}, {e.register_local_base()}")
        offset = e.op(f"add <32 x i64> {offset}, {e.splat(e.local_offset(), 'i64')}")
        check(e, _outside(e, offset, e.splat(e.machine("local_bytes"), "i64"), size, lanes), address)
    else:
        _check_bounds(e, address, size, lanes)
    return e.op(f"sub <32 x i64> {address}, {e.splat(arena, 'i64')}")


def _outside(e: Emitter, offset: str, bytes_: str, size: int, lanes: str) -> str:
    """Lanes of which ``size`` bytes at an offset leave the first ``bytes_``, or are not aligned."""
    shift = size.bit_length() - 1
    if shift:  # a misaligned offset becomes a huge one
        offset = e.op(
            f"call <32 x i64> @llvm.fshr.v32i64(<32 x i64> {offset}, <32 x i64> {offset}, "
            f"<32 x i64> splat (i64 {shift}))"
        )
        bytes_ = e.op(f"lshr <32 x i64> {bytes_}, splat (i64 {shift})")
    outside = e.op(f"icmp uge <32 x i64> {offset}, {bytes_}")
    return e.op(f"and <32 x i1> {outside}, {lanes}")


def _check_bounds(e: Emitter, address: str, size: int, lanes: str) -> None:
    """Compare with the allocation in which the instruction last found itself; the bounds unit looks for another one."""
    table = e.op(f"inttoptr i64 {e.machine('bounds')} to ptr")
    first, length = (
        e.op(f"load i64, ptr {e.op(f'getelementptr i64, ptr {table}, i64 {2 * e.instruction_id + k}')}") for k in (0, 1)
    )
    offset = e.op(f"sub <32 x i64> {address}, {e.splat(first, 'i64')}")
    bad = _outside(e, offset, e.splat(length, "i64"), size, lanes)
    bits = e.op(f"bitcast <32 x i1> {bad} to i32")
    good, other = e.label(), e.label()
    e.put(f"br i1 {e.op(f'icmp eq i32 {bits}, 0')}, label %{good}, label %{other}, !prof !0")
    e.put(f"{other}:")
    rows = e.op(f"inttoptr i64 {e.machine('unit_rows')} to ptr")
    e.put(f"store <32 x i64> {address}, ptr {rows}, align 64")
    call_unit(e, "bounds", rows, bits, BOUNDS.pack(size=size, instruction=e.instruction_id))
    e.put(f"br label %{good}")
    e.put(f"{good}:")


def call_unit(e: Emitter, unit: str, rows: str, bits: str, settings: int, function: str = "") -> None:
    """Run a unit, or the ``function`` before it, on its rows for the lanes of an i32; leave the function for the reason
    that it returns, if any."""
    mask = e.op(f"zext i32 {bits} to i64")
    if not function:
        table = e.op(f"inttoptr i64 {e.machine('units')} to ptr")
        place = e.op(f"getelementptr i64, ptr {table}, i64 {NUMBERS[unit]}")
        function = e.op(f"load ptr, ptr {place}")
    code = e.op(f"call i64 {function}(ptr %machine, ptr {rows}, i64 {mask}, i64 {settings})")
    good, wrong = e.label(), e.label()
    e.put(f"br i1 {e.op(f'icmp eq i64 {code}, 0')}, label %{good}, label %{wrong}, !prof !0")
    e.put(f"{wrong}:")
    e.put_machine("suspend_instruction", str(e.instruction_id))
    e.put(f"store i64 {code}, ptr %reason")
    e.put("br label %leave")
    e.put(f"{good}:")


def check(e: Emitter, bad: str, address: str, reason: int = STOP.illegal_address) -> None:
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


def _pack_inline(e: Text, address: str, bits: str, place: str) -> str:
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
    """The same by a call, for code that runs once: a third of the cost of compiling an access."""
    e.helper("pack", lambda: _pack_function(e.module))
    return e.op(f"call ptr @pack(<32 x i64> {address}, i32 {bits}, ptr {place})")


def _pack_function(module: Module) -> str:
    text = Text(module)
    result = _pack_inline(text, "%address", "%bits", "%place")
    head = "define internal ptr @pack(<32 x i64> %address, i32 %bits, ptr %place) noinline #0 {"
    return "\n".join((head, *text.lines, f"ret ptr {result}", "}"))


def record(e: Emitter, address: str, lanes: str, further: str = "") -> None:
    """Append an access: instruction, visit, lane mask, and the addresses of the set lanes.

    further  pointer to more addresses behind their number, int64 all.
    """
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
    if further:
        count = e.op(f"load i64, ptr {further}")
        row = e.op(f"insertelement <4 x i32> {row}, i32 {e.op(f'trunc i64 {count} to i32')}, i64 3")
    e.put(f"store <4 x i32> {row}, ptr {e.op(f'inttoptr i64 {next_access} to ptr')}, align 4")
    next_address = (_pack_inline if e.hot else _pack_call)(e, address, bits, next_address)
    if further:
        size, start = e.op(f"shl i64 {count}, 3"), e.op(f"getelementptr i8, ptr {further}, i64 8")
        e.put(f"call void @llvm.memcpy.p0.p0.i64(ptr {next_address}, ptr {start}, i64 {size}, i1 false)")
        next_address = e.op(f"getelementptr i8, ptr {next_address}, i64 {size}")
    # an instruction without lanes leaves no row: the next one overwrites it
    some = e.op(f"zext i1 {e.op(f'icmp ne i32 {bits}, 0')} to i64")
    step = e.op(f"mul i64 {some}, {ACCESS_BYTES}")
    e.put(f"store i64 {e.op(f'add i64 {next_access}, {step}')}, ptr %access.next")
    e.put(f"store i64 {e.op(f'ptrtoint ptr {next_address} to i64')}, ptr %address.next")


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
    return e.lane_pointers(start + offset, size)
