"""Faults of a module beyond its syntax: names, modifiers, operands, register types, labels, calls.

Checks what PTX itself demands (``ptxas`` would refuse it) and that calls of ``_optix_*`` functions have the registers
that the interface gives them, in programs of the kinds that may make them. Opcodes and modifiers are judged up to the
version of PTX that is known here; a module of a later version may have others. Problems follow the order of the text.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from rayplay.ptx import ir
from rayplay.ptx.isa.form import problem
from rayplay.ptx.isa.implied import FIRST_EXPLICIT_VERSION, spelled_out
from rayplay.ptx.isa.optix import PREFIX
from rayplay.ptx.isa.table import TABLE
from rayplay.ptx.isa.types import constant_fits, register_fits
from rayplay.ptx.text.names import Hints
from rayplay.ptx.verifier.declarations import module_problems
from rayplay.ptx.verifier.needs import Needs
from rayplay.ptx.verifier.operands import OperandChecks
from rayplay.ptx.verifier.optix import call_problems, kind_problems
from rayplay.ptx.verifier.targets import architecture

KNOWN_VERSION = (9, 0)


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong, where it is, and what must hold instead."""

    source_name: str
    position: ir.Position
    message: str

    def __str__(self) -> str:
        return f"{self.source_name}:{self.position.line}:{self.position.column}: {self.message}"


def verify(module: ir.Module) -> list[Problem]:
    """All problems of a module, in the order of its text."""
    found = list(module.remarks)
    hint = Hints()
    found += module_problems(module, module.version <= KNOWN_VERSION)
    found += kind_problems(module)
    for function in module.functions.values():
        if function.name not in module.aliases:
            found += _Verifier(module, function, hint).problems()
    problems = [Problem(module.source_name, position, message) for position, message in found]
    return sorted(problems, key=lambda p: (p.position.line, p.position.column, p.message))


class _Verifier:
    """The checks of one function."""

    def __init__(self, module: ir.Module, function: ir.Function, hint: Hints) -> None:
        self.module, self.function, self.hint = module, function, hint
        self.operands = OperandChecks(module, function, hint)
        self.names = self.operands.names
        self.needs = Needs(module)
        self.needs_rounding = {"f64"} if module.version >= FIRST_EXPLICIT_VERSION else set()
        self.needs_rounding |= {"f32"} if architecture(module) >= 20 else set()
        self.needs_sync = module.version >= (6, 4) and architecture(module) >= 70

    def problems(self) -> Iterator[tuple[ir.Position, str]]:
        for name, labels in self.function.branch_targets.items():
            for label in labels:
                if label not in self.function.labels and label not in self.module.functions:
                    yield self.function.position, f"'{name}' lists '{label}', which is not a label of the function"
        for instruction in self.function.body:
            for message in self._instruction(instruction):
                yield instruction.position, f"{message}, in: {instruction.text}"

    def _instruction(self, instruction: ir.Instruction) -> Iterator[str]:
        if instruction.guard is not None:
            yield from self.operands.predicate(instruction.guard.register)
        wrong = problem(instruction.opcode, instruction.modifiers)
        if wrong is not None:  # unless it is right with what early PTX implies
            wrong = problem(instruction.opcode, spelled_out(instruction, self.module).modifiers)
        known = self.module.version <= KNOWN_VERSION
        lacking = self.needs.of_instruction(instruction) if known and wrong is None else None
        if lacking is not None:
            yield lacking
        if instruction.call is not None:
            if wrong is not None and known:
                yield wrong
            yield from self._call(instruction)
            return
        if self.module.version >= (2, 2) and any(m.startswith("const[") for m in instruction.modifiers):
            yield f"{instruction.full_opcode} names a bank of .const, which .version 2.2 has abolished"
        if "sync" not in instruction.modifiers and instruction.opcode in ("shfl", "vote") and self.needs_sync:
            yield f"{instruction.full_opcode} needs '.sync' since .version 6.4 on sm_70 and later"
            return
        form = instruction.form
        if instruction.opcode == "mad" and not form.rounding and form.type in self.needs_rounding:
            since = "sm_20" if form.type == "f32" else ".version 1.4"
            yield f"{instruction.full_opcode} needs a rounding such as '.rn' since {since}"
        if form is ir.NO_FORM:
            if known:
                yield f"opcode '{instruction.full_opcode}' is not known{self.hint(instruction.opcode, TABLE)}"
        elif wrong is None:
            yield from self.operands.problems(instruction, form)
        elif known:
            yield wrong

    def _call(self, instruction: ir.Instruction) -> Iterator[str]:
        call = instruction.call
        assert call is not None
        for operand in (*call.results, *call.arguments):
            yield from self.names.undeclared(operand)
        if isinstance(call.target, ir.Register):
            yield from self.names.undeclared(call.target)
            known = call.prototype in self.function.prototypes or call.prototype in self.function.branch_targets
            if not known:
                yield "an indirect call needs a .callprototype or .calltargets after its arguments"
            return
        name = call.target.name
        if name.startswith(PREFIX):
            yield from call_problems(name, call.results, call.arguments, self.operands.declared, self.hint)
            return
        callee = self.module.functions.get(name)
        if callee is None:
            yield f"function '{name}' is not declared"
            return
        if callee.is_entry:
            yield f"'{name}' is an entry; a call needs a .func"
        for what, given, wanted in (
            ("results", call.results, callee.returns), ("arguments", call.arguments, callee.parameters),
        ):  # fmt: skip
            if len(given) != len(wanted) and not (wanted and wanted[-1].shape == (0,)):  # the last one is variadic
                yield f"'{name}' has {len(wanted)} {what}, the call gives {len(given)}"
                continue
            for operand, formal in zip(given, wanted, strict=False):
                yield from self._argument(name, operand, formal)

    def _argument(self, name: str, operand: ir.Operand, formal: ir.Variable) -> Iterator[str]:
        """A register or .param variable against the parameter that it is passed as."""
        kind = formal.type.rpartition(".")[2]
        if isinstance(operand, ir.Register):
            declared = self.function.registers.get(operand.name, "")
            if not formal.shape and declared and "." not in declared and not register_fits(kind, declared):
                yield f"'{name}' takes a .{kind} as '{formal.name}', '{operand.name}' is a .{declared}"
        elif isinstance(operand, ir.Immediate):
            if not formal.shape and kind[0] != "b" and not constant_fits(kind, operand):
                yield f"'{name}' takes a .{kind} as '{formal.name}', which the constant is not"
        elif isinstance(operand, ir.Symbol):
            actual = self.function.variables.get(operand.name) or self.names.parameters.get(operand.name)
            if actual is None or actual.space != "param" or formal.space != "param" or formal.shape == (0,):
                return
            same = bool(actual.shape) == bool(formal.shape) and actual.bytes == formal.bytes
            if not same or not register_fits(kind, actual.type.rpartition(".")[2]):
                yield f"'{name}' takes {_shown(formal)} as '{formal.name}', '{operand.name}' is {_shown(actual)}"


def _shown(variable: ir.Variable) -> str:
    return f".{variable.type}" + "".join(f"[{size}]" for size in variable.shape)
