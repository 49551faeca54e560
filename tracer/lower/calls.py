"""Calls of functions as LLVM IR: arguments into the callee's activation, results out of it, one function at a time.

The lanes of an indirect call may want different functions: these run one after the other, in the order of their
numbers, which does not depend on the lanes that take part.
"""

from rayplay.ptx.ir import Instruction, Operand, Symbol
from rayplay.tracer.abi.layout import LANES
from rayplay.tracer.abi.words import ACTIVATION_HEADER_BYTES, STOP
from rayplay.tracer.emit.control import Control
from rayplay.tracer.emit.emitter import PIECES, Emitter
from rayplay.tracer.emit.memory import check
from rayplay.tracer.emit.text import INT, gather, scatter
from rayplay.tracer.link.functions import Callee
from rayplay.tracer.link.layout import Signature, align_up, signature_of
from rayplay.tracer.memory.arena import FIRST_FUNCTION, FUNCTION_STEP_BYTES

TARGET_BYTES = 8 * LANES


def lower_call(control: Control, i: Instruction, callee: Callee | None, live: int, after: int | None) -> None:
    """A ``call`` of a function by name (``callee``), or through a register."""
    e = control.e
    assert i.call is not None
    if callee is None:
        return _indirect(control, i, live, after)
    _check_counts(e, i, callee.signature)
    control.call_lanes(after)
    for operand, place in zip(i.call.arguments, callee.signature.parameters, strict=True):
        _pass(e, operand, place, e.layout.bytes + place[0])
    e.put_machine("suspend_function", str(callee.number))
    e.put_machine("suspend_signature", "-1")
    control.suspend(STOP.call)
    _results(control, i, callee.signature, live)
    return control.go(after)


def prototype_of(e: Emitter, i: Instruction) -> Signature:
    """The signature that an indirect call states: its ``.callprototype``, or the one its ``.calltargets`` share."""
    assert i.call is not None
    name = i.call.prototype or ""
    targets = e.function.branch_targets.get(name, ())
    function = e.function.prototypes.get(name) or e.module.functions.get(targets[0] if targets else "")
    if function is None:
        raise e.unknown("an indirect call without .callprototype or .calltargets")
    return signature_of(function)


def _indirect(control: Control, i: Instruction, live: int, after: int | None) -> None:
    e = control.e
    assert i.call is not None
    signature = prototype_of(e, i)
    _check_counts(e, i, signature)
    control.call_lanes(after)
    bits = e.op(f"zext i32 {e.op(f'bitcast <32 x i1> {e.lanes()} to i32')} to i64")
    e.put(f"store i64 {bits}, ptr {e.header('todo_mask')}")
    e.put(f"store {INT[64]} {e.read(i.call.target, 'u64')}, ptr {e.at(e.layout.outgoing)}, align 64")
    kept = e.layout.outgoing + TARGET_BYTES - ACTIVATION_HEADER_BYTES
    for operand, place in zip(i.call.arguments, signature.parameters, strict=True):
        _pass(e, operand, place, kept + place[0])
    head, group, done = e.label(), e.label(), e.label()
    e.put(f"br label %{head}")
    e.put(f"{head}:")
    e.values, e.written = {}, {}
    waiting = e.header("todo_mask")
    todo = e.op(f"trunc i64 {e.op(f'load i64, ptr {waiting}')} to i32")
    e.put(f"br i1 {e.op(f'icmp eq i32 {todo}, 0')}, label %{done}, label %{group}")
    e.put(f"{group}:")
    _choose(e, todo, signature)
    size = signature.returns_start - ACTIVATION_HEADER_BYTES
    target, source = e.at(e.layout.bytes + ACTIVATION_HEADER_BYTES), e.at(e.layout.outgoing + TARGET_BYTES)
    e.put(f"call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, i64 {size}, i1 false)")
    control.suspend(STOP.call)
    _results(control, i, signature, live)
    e.put(f"br label %{head}")
    e.put(f"{done}:")
    e.values, e.written = {}, {}
    control.go(after)


def _choose(e: Emitter, todo: str, signature: Signature) -> None:
    """The waiting lanes whose function has the lowest number call it."""
    address = e.op(f"load {INT[64]}, ptr {e.at(e.layout.outgoing)}, align 64")
    lanes = e.op(f"bitcast i32 {todo} to <32 x i1>")
    step = FUNCTION_STEP_BYTES.bit_length() - 1
    offset = e.op(f"sub {INT[64]} {address}, splat (i64 {FIRST_FUNCTION})")
    index = e.op(
        f"call {INT[64]} @llvm.fshr.v32i64({INT[64]} {offset}, {INT[64]} {offset}, {INT[64]} splat (i64 {step}))"
    )
    count = e.splat(e.machine("function_count"), "i64")
    bad = e.op(f"and <32 x i1> {lanes}, {e.op(f'icmp uge {INT[64]} {index}, {count}')}")
    check(e, bad, address, STOP.bad_call)
    table = e.op(f"inttoptr i64 {e.machine('functions')} to ptr")
    number = gather(e, e.op(f"getelementptr i32, ptr {table}, {INT[64]} {index}"), lanes, 32)
    missing = e.op(f"icmp eq {INT[32]} {number}, splat (i32 -1)")
    check(e, e.op(f"and <32 x i1> {lanes}, {missing}"), address, STOP.bad_call)
    waiting = e.op(f"select <32 x i1> {lanes}, {INT[32]} {number}, {INT[32]} splat (i32 -1)")
    lowest = e.op(f"call i32 @llvm.vector.reduce.umin.v32i32({INT[32]} {waiting})")
    same = e.op(f"icmp eq {INT[32]} {waiting}, {e.splat(lowest, 'i32')}")
    chosen = e.op(f"bitcast <32 x i1> {same} to i32")
    rest = e.op(f"xor i32 {todo}, {chosen}")
    e.put(f"store i64 {e.op(f'zext i32 {rest} to i64')}, ptr {e.header('todo_mask')}")
    wide = e.op(f"zext i32 {chosen} to i64")
    e.put(f"store i64 {wide}, ptr {e.header('call_mask')}")
    e.put_machine("suspend_mask", wide)
    e.put_machine("suspend_instruction", str(e.instruction_id))
    e.put_machine("suspend_function", e.op(f"zext i32 {lowest} to i64"))
    e.put_machine("suspend_signature", str(signature.identity))


def _check_counts(e: Emitter, i: Instruction, signature: Signature) -> None:
    assert i.call is not None
    if (len(i.call.arguments), len(i.call.results)) != (len(signature.parameters), len(signature.returns)):
        raise e.unknown(
            f"a call with {len(i.call.arguments)} arguments and {len(i.call.results)} results of a function that has "
            f"{len(signature.parameters)} and {len(signature.returns)}"
        )


def _own_variable(e: Emitter, operand: Operand, place: tuple[int, int]) -> int | None:
    """Offset of a ``.param`` variable of the caller; None for other operands."""
    if not isinstance(operand, Symbol) or operand.name not in e.layout.lane_variables:
        return None
    start, size = e.layout.lane_variables[operand.name]
    if size != place[1] or operand.offset:
        raise e.unknown(f"the {size} bytes of {operand.name} for a parameter of {place[1]} bytes")
    return start


def _pass(e: Emitter, operand: Operand, place: tuple[int, int], to: int) -> None:
    """An argument, of all lanes, to a place in this activation or past its end."""
    own = _own_variable(e, operand, place)
    if own is not None:
        size = align_up(LANES * place[1], 8)
        e.put(f"call void @llvm.memcpy.p0.p0.i64(ptr {e.at(to)}, ptr {e.at(own)}, i64 {size}, i1 false)")
    elif place[1] == 0:
        bits = e.op(f"bitcast <32 x i1> {e.read(operand, 'pred')} to i32")
        e.put(f"store i32 {bits}, ptr {e.at(to)}")
    elif place[1] in (1, 2, 4, 8, 16):
        width = 8 * place[1]
        e.put(f"store {INT[width]} {e.read(operand, f'b{width}')}, ptr {e.at(to)}, align 64")
    else:
        raise e.unknown(f"a register for a parameter of {place[1]} bytes")


def _results(control: Control, i: Instruction, signature: Signature, live: int) -> None:
    """Results of a function, for the lanes that called it."""
    e = control.e
    assert i.call is not None
    control.returned_lanes(i)
    lanes = e.values["lanes"]
    for operand, place in zip(i.call.results, signature.returns, strict=True):
        source = e.layout.bytes + place[0]
        own = _own_variable(e, operand, place)
        if own is not None:
            _copy_lanes(e, own, source, place[1], lanes)
        elif place[1] == 0:
            e.write(operand, e.op(f"bitcast i32 {e.op(f'load i32, ptr {e.at(source)}')} to <32 x i1>"), 1)
        elif place[1] in (1, 2, 4, 8, 16):
            width = 8 * place[1]
            e.write(operand, e.op(f"load {INT[width]}, ptr {e.at(source)}, align 64"), width)
        else:
            raise e.unknown(f"a register for a result of {place[1]} bytes")
    e.spill(live)


def _copy_lanes(e: Emitter, to: int, source: int, size: int, lanes: str) -> None:
    """``size`` bytes of each set lane from one place of the activation to another."""
    done = 0
    while done < size:
        piece = next(p for p in PIECES if p <= size - done)
        read, written = (e.lane_pointers(start + done, size) for start in (source, to))
        scatter(e, gather(e, read, lanes, 8 * piece, 1), written, lanes, 8 * piece, 1)
        done += piece
