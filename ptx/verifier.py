"""What is wrong with a module, beyond its syntax: operands, register types, names, labels, calls.

Checks what PTX itself demands (``ptxas`` would refuse it) and that calls of ``_optix_*`` functions have the registers
that the interface gives them. The order of problems is that of the text.
"""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass

from ptx.ir import Address, Function, Instruction, Module, Not, Operand, Pair, Position, Register, Symbol, Vector
from ptx.numbers import TYPE_BYTES
from ptx.opcodes import TABLE, Opcode, lookup
from ptx.optix import INTRINSICS
from ptx.scopes import SPECIAL

OPTIX_PREFIX = "_optix_"
_WIDER_ALLOWED = frozenset(("ld", "ldu", "st", "cvt"))  # their registers may be wider than the type
_OPTIX_BITS = {"u": 32, "f": 32, "l": 64}


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong, where it is, and what must hold instead."""

    source_name: str
    position: Position
    message: str

    def __str__(self) -> str:
        return f"{self.source_name}:{self.position.line}:{self.position.column}: {self.message}"


def verify(module: Module) -> list[Problem]:
    """All problems of a module, in the order of its text; empty when there are none."""
    problems = []
    for function in module.functions.values():
        for position, message in _Verifier(module, function).problems():
            problems.append(Problem(module.source_name, position, message))
    return sorted(problems, key=lambda p: (p.position.line, p.position.column, p.message))


class _Verifier:
    """The checks of one function."""

    def __init__(self, module: Module, function: Function) -> None:
        self.module, self.function = module, function
        self.parameters = {p.name: p for p in (*function.returns, *function.parameters)}

    def problems(self) -> Iterator[tuple[Position, str]]:
        for name, labels in self.function.branch_targets.items():
            for label in labels:
                if label not in self.function.labels and label not in self.module.functions:
                    yield self.function.position, f"'{name}' lists '{label}', which is not a label of the function"
        for instruction in self.function.body:
            for message in self._instruction(instruction):
                yield instruction.position, f"{message}, in: {instruction.text}"

    def _instruction(self, instruction: Instruction) -> Iterator[str]:
        if instruction.guard is not None:
            yield from self._predicate(instruction.guard.register)
        if instruction.call is not None:
            yield from self._call(instruction)
            return
        opcode = lookup(instruction.opcode, instruction.modifiers)
        if opcode is None:
            near = difflib.get_close_matches(instruction.opcode, TABLE, 1)
            hint = f" (did you mean '{near[0]}'?)" if near else ""
            yield f"opcode '{instruction.full_opcode}' is not known{hint}"
            return
        roles = opcode.roles
        least = sum(not role.startswith("?") for role in roles)
        count = len(instruction.operands)
        if not least <= count <= len(roles):
            wanted = str(least) if least == len(roles) else f"{least} to {len(roles)}"
            yield f"{instruction.full_opcode} needs {wanted} operands, not {count}"
            return
        if not opcode.types and any(role in "dsD" for role in roles):
            yield f"{instruction.full_opcode} needs a type, such as {instruction.opcode}.u32"
            return
        for role, operand in zip(roles, instruction.operands, strict=False):
            yield from self._operand(role.lstrip("?"), operand, instruction, opcode)

    def _operand(self, role: str, operand: Operand, instruction: Instruction, opcode: Opcode) -> Iterator[str]:
        if role == "l":
            yield from self._label(operand, instruction)
            return
        yield from self._names(operand)
        if role == "a":
            yield from self._address(operand, instruction, opcode)
        elif role == "P":
            yield from self._predicates(operand)
        elif role == "p":
            if isinstance(operand, Register | Not):
                yield from self._predicate(operand.register if isinstance(operand, Not) else operand)
        elif role in "dDrq" and not isinstance(operand, Register | Vector | Pair):
            yield f"the destination must be a register, not {_kind(operand)}"
        elif role in "dDrqsSu":
            yield from self._typed(role, operand, instruction, opcode)

    def _typed(self, role: str, operand: Operand, instruction: Instruction, opcode: Opcode) -> Iterator[str]:
        """Register types against the type of the operation."""
        if isinstance(operand, Pair):
            if operand.second is not None:
                yield from self._predicate(operand.second)
            operand = operand.first if operand.first is not None else Register("_")
        if isinstance(operand, Address):
            yield f"an operand in [..] belongs to loads, stores and atomics, not to {instruction.full_opcode}"
        if role in "ru":
            wanted = "b32"
        elif not opcode.types:
            return
        else:
            wanted = opcode.types[0] if role in "dDq" else opcode.types[-1]
        if role in "DS" and wanted[1:].isdigit():
            wanted = f"{wanted[0]}{min(2 * int(wanted[1:]), 128)}"
        if isinstance(operand, Vector):
            yield from self._vector(operand, wanted, instruction, opcode)
        elif isinstance(operand, Register):
            yield from self._register(operand, wanted, instruction.opcode in _WIDER_ALLOWED)

    def _vector(self, vector: Vector, wanted: str, instruction: Instruction, opcode: Opcode) -> Iterator[str]:
        if opcode.lanes > 1:
            if len(vector.elements) != opcode.lanes:
                yield f"{instruction.full_opcode} needs {opcode.lanes} registers in {{..}}, not {len(vector.elements)}"
            for element in vector.elements:
                if isinstance(element, Register):
                    yield from self._register(element, wanted, True)
        elif instruction.opcode == "mov":
            bits = [self._bits(e) for e in vector.elements if isinstance(e, Register)]
            if len(bits) == len(vector.elements) and None not in bits:
                total = sum(b or 0 for b in bits)
                if total != 8 * TYPE_BYTES[wanted]:
                    yield f"the registers in {{..}} hold {total} bits, the type .{wanted} has {8 * TYPE_BYTES[wanted]}"

    def _register(self, register: Register, wanted: str, wider: bool) -> Iterator[str]:
        declared = self.function.registers.get(register.name)
        if declared is None:
            return
        declared = declared.rpartition(".")[2]
        if (declared == "pred") != (wanted == "pred"):
            yield f"'{register.name}' must be a .{wanted} register, it is .{declared}"
            return
        have, need = TYPE_BYTES[declared], TYPE_BYTES[wanted]
        fits = have == need or (wider and have >= need)
        # bits take anything; s and u are one kind; a float of the same size must meet a float
        same = wider or "b" in (declared[0], wanted[0]) or (declared[0] in "us") == (wanted[0] in "us")
        if not fits or not same:
            yield f"'{register.name}' must be a .{wanted} register, it is .{declared}"

    def _bits(self, register: Register) -> int | None:
        declared = self.function.registers.get(register.name)
        return None if declared is None else 8 * TYPE_BYTES[declared.rpartition(".")[2]]

    def _predicates(self, operand: Operand) -> Iterator[str]:
        for register in (operand.first, operand.second) if isinstance(operand, Pair) else (operand,):
            if isinstance(register, Register):
                yield from self._predicate(register)
            elif register is not None:
                yield f"the destination must be a predicate register, not {_kind(register)}"

    def _predicate(self, register: Register) -> Iterator[str]:
        declared = self.function.registers.get(register.name)
        if declared is None and register.name != "_":
            yield f"register '{register.name}' is not declared"
        elif declared not in (None, "pred"):
            yield f"'{register.name}' must be a .pred register, it is .{declared}"

    def _address(self, operand: Operand, instruction: Instruction, opcode: Opcode) -> Iterator[str]:
        if not isinstance(operand, Address):
            yield f"{instruction.full_opcode} needs an address in [..], not {_kind(operand)}"
            return
        base = operand.base
        if isinstance(base, Symbol) and opcode.memory_space not in ("none", "generic"):
            variable = self.function.variables.get(base.name) or self.parameters.get(base.name)
            variable = variable or self.module.variables.get(base.name)
            if variable is not None and variable.space != opcode.memory_space:
                space = opcode.memory_space
                yield f"'{base.name}' is in .{variable.space}, but {instruction.full_opcode} accesses .{space}"
        if isinstance(base, Register) and (self._bits(base) or 64) < 32:
            yield f"'{base.name}' is too small to hold an address"

    def _label(self, operand: Operand, instruction: Instruction) -> Iterator[str]:
        name = operand.name if isinstance(operand, Symbol) else ""
        known = self.function.branch_targets if instruction.opcode == "brx" else self.function.labels
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f" (did you mean '{near[0]}'?)" if near else ""
            yield f"'{name or _kind(operand)}' is not a label of the function{hint}"

    def _names(self, operand: "Operand | None") -> Iterator[str]:
        """Names in an operand that nothing declares."""
        if isinstance(operand, Register):
            if operand.name not in self.function.registers and operand.name not in SPECIAL and operand.name != "_":
                yield f"register '{operand.name}' is not declared"
        elif isinstance(operand, Symbol):
            if not self._is_symbol(operand.name):
                yield f"'{operand.name}' is neither a register nor a variable"
        elif isinstance(operand, Address):
            yield from self._names(operand.base)
        elif isinstance(operand, Vector):
            for element in operand.elements:
                yield from self._names(element)
        elif isinstance(operand, Not):
            yield from self._names(operand.register)
        elif isinstance(operand, Pair):
            yield from self._names(operand.first)
            yield from self._names(operand.second)

    def _is_symbol(self, name: str) -> bool:
        function, module = self.function, self.module
        scopes = (function.variables, self.parameters, function.labels, module.variables, module.functions)
        return any(name in scope for scope in scopes)

    def _call(self, instruction: Instruction) -> Iterator[str]:
        call = instruction.call
        assert call is not None
        for operand in (*call.results, *call.arguments):
            yield from self._names(operand)
        if isinstance(call.target, Register):
            yield from self._names(call.target)
            known = call.prototype in self.function.prototypes or call.prototype in self.function.branch_targets
            if not known:
                yield "an indirect call needs a .callprototype or .calltargets after its arguments"
            return
        name = call.target.name
        if name.startswith(OPTIX_PREFIX):
            yield from self._intrinsic(name, call.results, call.arguments)
            return
        callee = self.module.functions.get(name)
        if callee is None:
            yield f"function '{name}' is not declared"
            return
        for what, given, wanted in (
            ("results", call.results, callee.returns), ("arguments", call.arguments, callee.parameters),
        ):  # fmt: skip
            if len(given) != len(wanted):
                yield f"'{name}' has {len(wanted)} {what}, the call gives {len(given)}"

    def _intrinsic(self, name: str, results: tuple[Operand, ...], arguments: tuple[Operand, ...]) -> Iterator[str]:
        intrinsic = INTRINSICS.get(name)
        if intrinsic is None:
            near = difflib.get_close_matches(name, INTRINSICS, 1)
            yield f"'{name}' is not a known function of the OptiX interface" + (
                f" (did you mean '{near[0]}'?)" if near else ""
            )
            return
        for what, given, wanted in (
            ("results", results, intrinsic.outputs),
            ("arguments", arguments, intrinsic.inputs),
        ):
            if len(given) != len(wanted):
                yield f"'{name}' has {len(wanted)} {what}, the call gives {len(given)}"
                continue
            for operand, letter in zip(given, wanted, strict=True):
                bits = self._bits(operand) if isinstance(operand, Register) else None
                if bits is not None and bits != _OPTIX_BITS[letter]:
                    yield f"'{name}' takes {_OPTIX_BITS[letter]} bits where '{operand.name}' has {bits}"  # type: ignore[union-attr]


def _kind(operand: "Operand | None") -> str:
    match operand:
        case Register(name):
            return f"register '{name}'"
        case Symbol(name):
            return f"'{name}'"
        case Address():
            return "an address in [..]"
        case Vector():
            return "a vector in {..}"
    return "a constant" if operand is not None else "_"
