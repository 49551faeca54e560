"""Reads, writes and class of an instruction: the rows of ``ptx.isa.table`` for full opcodes and single instructions.

An opcode without a row parses and keeps its text; ``describe`` raises UserError where its meaning is needed.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from rayplay.formats.guard.errors import UserError
from rayplay.ptx.ir import Address, Function, Instruction, Modified, Not, Operand, Pair, Register, Texture, Vector
from rayplay.ptx.isa.optix import INTRINSICS, RUNTIME_CLASS
from rayplay.ptx.isa.special import SPECIAL
from rayplay.ptx.isa.table import ARITHMETIC, TABLE
from rayplay.ptx.numbers import TYPE_BYTES

DESTINATION_ROLES = frozenset("dDrPqXm")
SPACES = {
    "global": "global", "shared": "shared", "shared::cta": "shared", "shared::cluster": "shared", "local": "local",
    "const": "const", "param": "param", "param::entry": "param", "param::func": "param",
    **{f"const[{bank}]": "const" for bank in range(11)},
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Opcode:
    """A row of the table for one full opcode.

    ``roles`` as above; ``types`` are the type modifiers in order and ``type`` the last; ``lanes`` is 2, 4 or 8 for
    ``.v2``, ``.v4``, ``.v8``; ``access_bytes`` what a lane reads or writes in memory, 0 without an access.
    """

    roles: tuple[str, ...]
    operation_class: str
    memory_space: str
    access_bytes: int
    types: tuple[str, ...]
    lanes: int

    @property
    def type(self) -> str:
        """The last type modifier, ``""`` without one."""
        return self.types[-1] if self.types else ""


@dataclass(frozen=True, slots=True)
class Description:
    """What one instruction is. Registers are names; special registers (``%tid``) and the sink ``_`` are left out.

    ``sources`` has the guard's predicate, too. Each name appears once.
    """

    operation_class: str
    memory_space: str
    access_bytes: int
    destinations: tuple[str, ...]
    sources: tuple[str, ...]
    type: str
    opcode: Opcode


@lru_cache(maxsize=4096)
def lookup(opcode: str, modifiers: tuple[str, ...]) -> Opcode | None:
    """The row of a full opcode, ``None`` when the table has none."""
    row = None
    for count in (4, 3, 2, 1, 0):
        row = row or TABLE.get(".".join((opcode, *modifiers[:count])))
    if row is None:
        return None
    types = tuple(modifier for modifier in modifiers if modifier in TYPE_BYTES)
    lanes = next((int(m[1]) for m in modifiers if m in ("v2", "v4", "v8")), 1)
    space, size = "none", 0
    operation_class = _operation_class(opcode, row[1], types)
    if operation_class in ("load", "store", "atomic"):
        space = next((SPACES[m] for m in modifiers if m in SPACES), "generic")
        space = _UNUSUAL_SPACES.get(opcode, space)
        size = lanes * TYPE_BYTES[types[-1]] if types else 0
        if space in ("const", "param"):
            # arguments of calls are registers on the hardware, constants come from their own cache
            operation_class = "constant" if operation_class == "load" else "move"
    elif operation_class == "texture":
        space = "none" if opcode in ("txq", "suq") else "texture"
        size = lanes * TYPE_BYTES[types[0]] if types and space == "texture" else 0
    return Opcode(tuple(row[0].split()), operation_class, space, size, types, lanes)


@lru_cache(maxsize=4096)
def operand_uses(opcode: str, modifiers: tuple[str, ...], count: int) -> tuple[tuple[bool, bool], ...] | None:
    """For each of ``count`` operands of a full opcode whether the instruction reads it, and whether it writes it.

    ``None`` when the table has no row.
    """
    row = lookup(opcode, modifiers)
    if row is None:
        return None
    roles = [role.lstrip("?") for role in row.roles] + ["x"] * count
    return tuple((role == "m" or role not in DESTINATION_ROLES, role in DESTINATION_ROLES) for role in roles[:count])


def _operation_class(opcode: str, operation_class: str, types: tuple[str, ...]) -> str:
    kind = types[-1] if types else ""
    if operation_class == "sfu" and kind == "f64":
        return "fp64"
    if operation_class == "int" and kind == "pred":
        return "predicate"
    if operation_class != ARITHMETIC:
        return operation_class
    if kind == "f64":
        return "fp64"
    if "16" in kind and kind[0] in "fb":
        return "fp16"
    if kind in ("f32", "f32x2"):
        return "sfu" if opcode == "div" else "fp32"
    return "int"


def describe(instruction: Instruction, function: Function) -> Description:
    """Class, memory access and registers of one instruction of ``function``.

    Raises UserError naming the opcode and its line when the table has no row for it.
    """
    opcode = lookup(instruction.opcode, instruction.modifiers)
    if opcode is None:
        raise UserError(
            f"line {instruction.position.line}: opcode '{instruction.full_opcode}' of function '{function.name}' "
            f"is not one that can be executed or analysed, in: {instruction.text}"
        )
    destinations: list[str] = []
    sources: list[str] = []
    if instruction.guard is not None:
        sources.append(instruction.guard.register.name)
    operation_class = opcode.operation_class
    if instruction.call is not None:
        operation_class = call_class(instruction)
        for operand in instruction.call.results:
            collect_registers(operand, function, destinations, sources)
        for operand in (instruction.call.target, *instruction.call.arguments):
            collect_registers(operand, function, sources, sources)
    else:
        uses = operand_uses(instruction.opcode, instruction.modifiers, len(instruction.operands))
        for operand, (read, written) in zip(instruction.operands, uses or (), strict=True):
            if written:
                collect_registers(operand, function, destinations, sources)
            if read:
                collect_registers(operand, function, sources, sources)
    return Description(
        operation_class, opcode.memory_space, access_bytes(instruction, opcode),
        tuple(dict.fromkeys(destinations)), tuple(dict.fromkeys(sources)), opcode.type, opcode,
    )  # fmt: skip


def require_rows(function: Function) -> None:
    """Raises the UserError of ``describe`` for the first instruction that the table has no row for."""
    if any(lookup(*each) is None for each in {(i.opcode, i.modifiers) for i in function.body}):
        for instruction in function.body:
            describe(instruction, function)


def access_bytes(instruction: Instruction, opcode: Opcode) -> int:
    """Bytes a lane reads or writes; ``cp.async`` says it in an operand."""
    if instruction.opcode == "cp" and len(instruction.operands) > 2:
        size = getattr(instruction.operands[2], "bits", 0)
        return size if size in (4, 8, 16) else 0
    if instruction.opcode in ("ldmatrix", "stmatrix"):
        return 16  # a row of 8 elements
    if instruction.opcode == "wmma" and opcode.memory_space != "none":
        return _fragment_bytes(instruction.modifiers)
    return opcode.access_bytes


def _fragment_bytes(modifiers: tuple[str, ...]) -> int:
    """A lane's share of the matrix that wmma.load or wmma.store moves."""
    shape = next((found for m in modifiers if (found := _SHAPE.fullmatch(m))), None)
    bits = next((int(found[1]) for m in modifiers if (found := _ELEMENT.fullmatch(m))), 0)
    if shape is None:
        return 0
    m, n, k = map(int, shape.groups())
    elements = m * k if "a" in modifiers else k * n if "b" in modifiers else m * n
    return elements * bits // 8 // 32


_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)")
_ELEMENT = re.compile(r"(?:f|bf|tf|s|u|b)(\d+)")
_UNUSUAL_SPACES = {"suld": "texture", "sust": "texture", "sured": "texture", "cp": "global"}


def call_class(instruction: Instruction) -> str:
    """Operation class of a ``call``: the runtime's services have their own, anything else is a branch."""
    assert instruction.call is not None
    name = getattr(instruction.call.target, "name", "")
    if name in INTRINSICS:
        return INTRINSICS[name].operation_class
    return RUNTIME_CLASS if name.startswith("_optix_") else "branch"


def collect_registers(operand: "Operand | None", function: Function, into: list[str], read: list[str]) -> None:
    """Append the registers of an operand to ``into``; those of addresses are always ``read``."""
    if isinstance(operand, Register):
        _register(operand, function, into)
    elif isinstance(operand, Address):
        collect_registers(operand.base, function, read, read)
    elif isinstance(operand, Vector):
        for element in operand.elements:
            collect_registers(element, function, into, read)
    elif isinstance(operand, Pair):
        collect_registers(operand.first, function, into, read)
        collect_registers(operand.second, function, into, read)
    elif isinstance(operand, Modified):
        collect_registers(operand.operand, function, read, read)
    elif isinstance(operand, Not):
        _register(operand.register, function, read)
    elif isinstance(operand, Texture):
        for part in (operand.name, operand.sampler, operand.coordinates):
            collect_registers(part, function, read, read)


def _register(register: Register, function: Function, into: list[str]) -> None:
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
