"""Reads, writes and class of an instruction: its row of ``ptx.isa.table`` with its own operands.

An opcode without a row parses and keeps its text; ``describe`` raises UserError where its meaning is needed.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from rayplay.formats.guard.errors import UserError
from rayplay.ptx import ir
from rayplay.ptx.isa.matrix import SHAPE
from rayplay.ptx.isa.optix import INTRINSICS, RUNTIME_CLASS
from rayplay.ptx.isa.special import SPECIAL
from rayplay.ptx.isa.table import TABLE

DESTINATION_ROLES = frozenset("dDrPqXm")
ROW_BYTES = 16  # of ldmatrix and stmatrix: 8 elements


@dataclass(frozen=True, slots=True)
class Description:
    """Class, access and registers of one instruction.

    Registers are names; special registers (``%tid``) and the sink ``_`` are left out.

    ``sources`` has the guard's predicate as well. Each name appears once. ``timing`` is the class of latencies.
    """

    operation_class: str
    memory_space: str
    access_bytes: int
    destinations: tuple[str, ...]
    sources: tuple[str, ...]
    type: str
    timing: str


@lru_cache(maxsize=4096)
def operand_uses(key: str, count: int) -> tuple[tuple[bool, bool], ...]:
    """For each of ``count`` operands of an instruction of a row whether it is read, and whether it is written."""
    roles = [role.lstrip("?") for role in TABLE[key].roles.split()] + ["x"] * count
    return tuple((role == "m" or role not in DESTINATION_ROLES, role in DESTINATION_ROLES) for role in roles[:count])


def describe(instruction: ir.Instruction, function: ir.Function) -> Description:
    """Class, memory access and registers of one instruction of ``function``.

    Raises UserError naming the opcode and its line when the table has no row for it.
    """
    form = instruction.form
    if form is ir.NO_FORM:
        raise UserError(
            f"line {instruction.position.line}: opcode '{instruction.full_opcode}' of function '{function.name}' "
            f"is not one that can be executed or analysed, in: {instruction.text}"
        )
    destinations: list[str] = []
    sources: list[str] = []
    if instruction.guard is not None:
        sources.append(instruction.guard.register.name)
    operation_class = form.operation_class
    if instruction.call is not None:
        operation_class = call_class(instruction)
        for operand in instruction.call.results:
            collect_registers(operand, function, destinations, sources)
        for operand in (instruction.call.target, *instruction.call.arguments):
            collect_registers(operand, function, sources, sources)
    else:
        uses = operand_uses(form.key, len(instruction.operands))
        for operand, (read, written) in zip(instruction.operands, uses, strict=True):
            if written:
                collect_registers(operand, function, destinations, sources)
            if read:
                collect_registers(operand, function, sources, sources)
    return Description(
        operation_class, form.memory_space, access_bytes(instruction, form),
        tuple(dict.fromkeys(destinations)), tuple(dict.fromkeys(sources)), form.type, TABLE[form.key].timing,
    )  # fmt: skip


def require_rows(function: ir.Function) -> None:
    """Raises the UserError of ``describe`` for the first instruction that the table has no row for."""
    for instruction in function.body:
        if instruction.form is ir.NO_FORM:
            describe(instruction, function)


def access_bytes(instruction: ir.Instruction, form: ir.Form) -> int:
    """Bytes a lane reads or writes; ``cp.async`` says it in an operand."""
    by = TABLE[form.key].memory.by
    if by == "copy" and len(instruction.operands) > 2:
        size = getattr(instruction.operands[2], "bits", 0)
        return size if size in (4, 8, 16) else 0
    if by == "rows":
        return _fragment_bytes(form.modifiers) if instruction.opcode == "wmma" else ROW_BYTES
    return form.access_bytes


def _fragment_bytes(modifiers: tuple[str, ...]) -> int:
    """A lane's share of the matrix that wmma.load or wmma.store moves."""
    shape = next((found for m in modifiers if (found := SHAPE.fullmatch(m))), None)
    bits = next((int(found[1]) for m in modifiers if (found := _ELEMENT.fullmatch(m))), 0)
    if shape is None:
        return 0
    m, n, k = map(int, shape.groups())
    elements = m * k if "a" in modifiers else k * n if "b" in modifiers else m * n
    return elements * bits // 8 // 32


_ELEMENT = re.compile(r"(?:f|bf|tf|s|u|b)(\d+)")


def call_class(instruction: ir.Instruction) -> str:
    """Operation class of a ``call``: the runtime's services have their own, anything else is a branch."""
    assert instruction.call is not None
    name = getattr(instruction.call.target, "name", "")
    if name in INTRINSICS:
        return INTRINSICS[name].operation_class
    return RUNTIME_CLASS if name.startswith("_optix_") else "branch"


def collect_registers(operand: "ir.Operand | None", function: ir.Function, into: list[str], read: list[str]) -> None:
    """Append the registers of an operand to ``into``; registers of addresses are always ``read``."""
    if isinstance(operand, ir.Register):
        _register(operand, function, into)
    elif isinstance(operand, ir.Address):
        collect_registers(operand.base, function, read, read)
    elif isinstance(operand, ir.Vector):
        for element in operand.elements:
            collect_registers(element, function, into, read)
    elif isinstance(operand, ir.Pair):
        collect_registers(operand.first, function, into, read)
        collect_registers(operand.second, function, into, read)
    elif isinstance(operand, ir.Modified):
        collect_registers(operand.operand, function, read, read)
    elif isinstance(operand, ir.Not):
        _register(operand.register, function, read)
    elif isinstance(operand, ir.Texture):
        for part in (operand.name, operand.sampler, operand.coordinates):
            collect_registers(part, function, read, read)


def _register(register: ir.Register, function: ir.Function, into: list[str]) -> None:
    name = register.name
    if name in SPECIAL or name == "_":
        return
    declared = function.registers.get(name, "")
    if not declared.startswith("v"):
        into.append(name)
    elif register.component:
        into.append(f"{name}.{register.component.translate(_COLOURS)}")
    else:
        into.extend(f"{name}.{component}" for component in "xyzw"[: int(declared[1])])


_COLOURS = str.maketrans("rgba", "xyzw")
