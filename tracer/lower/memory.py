"""ld and st as LLVM IR: gathers and scatters, uniform loads of constants, and ``.param`` variables of functions."""

from rayplay.ptx.ir import Address, Instruction, Operand, Symbol
from rayplay.ptx.isa.types import TYPES, elements
from rayplay.tracer.emit.emitter import Emitter, Handler
from rayplay.tracer.emit.memory import (
    LANE_OFFSETS,
    arena_offset,
    effective_address,
    lane_variable,
    lane_variable_pointers,
    record,
)
from rayplay.tracer.emit.text import gather, scatter

ALIGNED_BYTES = 16  # what the address of every variable is a multiple of


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
    width = TYPES[name]
    size, lanes, align = width // 8 * len(targets), "splat (i1 true)", 1
    uniform = uniform_symbol(e, i.operands[1], size) if space in ("const", "param") else None
    if lane_variable(e, i.operands[1]):
        pointers = lane_variable_pointers(e, i.operands[1], size)
    elif uniform is not None:
        return _load_uniform(e, targets, uniform, name)
    else:
        address, lanes, align = effective_address(e, i.operands[1]), e.lanes(), 0
        offset = arena_offset(e, address, space, size, lanes)
        if space not in ("const", "param"):
            record(e, address, lanes)
        pointers = e.op(f"getelementptr i8, ptr %arena, <32 x i64> {offset}")
    values = [gather(e, _element(e, pointers, index, width), lanes, width, align) for index in range(len(targets))]
    for target, value in zip(targets, values, strict=True):
        e.write(target, value, width, name[0] == "s")
    return None


def _element(e: Emitter, pointers: str, index: int, width: int) -> str:
    """Pointers to the element ``index`` of a vector."""
    return e.op(f"getelementptr i8, <32 x ptr> {pointers}, i64 {index * width // 8}") if index else pointers


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
        address, lanes = effective_address(e, i.operands[0]), e.lanes()
        offset = arena_offset(e, address, space, width // 8 * len(sources), lanes)
        record(e, address, lanes)
        pointers = e.op(f"getelementptr i8, ptr %arena, <32 x i64> {offset}")
    for index, source in enumerate(sources):
        at = _element(e, pointers, index, width)
        scatter(e, e.read(source, name), at, lanes, width, int(lane_variable(e, i.operands[0])))


def lower_filter(e: Emitter, i: Instruction) -> None:
    """filter_shader: 1 where the thread's pixel is selected, 0 elsewhere."""
    lanes = e.lanes()
    first = e.op(f"mul i64 {e.machine('ctaid_y')}, {e.machine('width')}")
    column, selected = e.machine("ctaid_x"), e.machine("selected")
    first = e.op(f"add i64 {first}, {e.op(f'shl i64 {column}, 5')}")
    table = e.op(f"inttoptr i64 {e.op(f'add i64 {selected}, {first}')} to ptr")
    pointers = e.op(f"getelementptr i8, ptr {table}, <32 x i64> <{', '.join(LANE_OFFSETS)}>")
    e.write(i.operands[0], gather(e, pointers, lanes, 8), 8)


HANDLERS: dict[str, Handler] = {
    "ld": lower_ld, "ldu": lower_ld, "st": lower_st,
}  # fmt: skip
