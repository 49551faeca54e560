"""One function while it is read: its instructions, labels and names, and the scopes they stand in."""

from dataclasses import replace
from typing import Any

from ptx.ir import Function, Instruction, Position, Symbol, Variable
from ptx.scopes import Scopes

_FINAL = frozenset(("ret", "exit", "trap", "bra", "brx"))


class Body:
    """Collects what ``finish`` makes a ``Function`` of."""

    def __init__(
        self, name: str, is_entry: bool, linkage: list[str], returns: list[Variable], parameters: list[Variable],
        directives: dict[str, tuple[int, ...]], position: Position,
    ) -> None:  # fmt: skip
        self.name, self.is_entry, self.position, self.directives = name, is_entry, position, directives
        self.linkage = linkage[0][1:] if linkage else ""
        self.returns, self.parameters = tuple(returns), tuple(parameters)
        self.scopes = Scopes()
        self.instructions: list[Instruction] = []
        self.labels: dict[str, int] = {}
        self.registers: dict[str, str] = {}
        self.variables: dict[str, Variable] = {}
        self.branch_targets: dict[str, tuple[str, ...]] = {}
        self.prototypes: dict[str, Function] = {}
        self._nested: list[tuple[int, dict[str, str]]] = []  # per open scope: first instruction, renamed labels
        for variable in (*returns, *parameters):
            if variable.space == "reg":
                self.declare_register(variable.name, variable.type)
            else:
                self.scopes.declare_variable(variable.name)

    def declare_register(self, name: str, type_name: str) -> None:
        """A register of the innermost scope."""
        self.registers[self.scopes.declare_register(name)] = type_name

    def declare_variable(self, variable: Variable) -> None:
        """A .local, .shared, .param, ... variable of the innermost scope."""
        unique = self.scopes.declare_variable(variable.name)
        self.variables[unique] = replace(variable, name=unique)

    def declare_label(self, name: str) -> bool:
        """A label before the next instruction; False when its scope has one of that name.

        Labels of nested scopes are seen only there; they are renamed at once, and the branches to them at the ``}``,
        because a branch may come before its label.
        """
        if not self._nested:
            if name in self.labels:
                return False
            self.labels[name] = len(self.instructions)
            return True
        renamed = self._nested[-1][1]
        if name in renamed:
            return False
        self.scopes.uses.setdefault(name, 1)
        renamed[name] = self.scopes.unique(name)
        self.labels[renamed[name]] = len(self.instructions)
        return True

    def open(self) -> None:
        """A ``{`` among the statements."""
        self.scopes.open()
        self._nested.append((len(self.instructions), {}))

    def close(self) -> None:
        """Its ``}``."""
        self.scopes.close()
        first, renamed = self._nested.pop()
        if not renamed:
            return
        for index in range(first, len(self.instructions)):
            instruction = self.instructions[index]
            if instruction.opcode == "bra":
                self.instructions[index] = replace(instruction, operands=_renamed(instruction.operands, renamed))
            elif instruction.opcode == "brx":
                name = getattr(instruction.operands[-1], "name", "")
                targets = self.branch_targets.get(name, ())
                self.branch_targets[name] = tuple(renamed.get(target, target) for target in targets)

    def finish(self, is_declaration: bool, end: Position | None = None) -> Function:
        """The function read so far; a body that can run off its ``}`` gets the ``ret`` that PTX implies there."""
        if end is not None and self._runs_off():
            self.instructions.append(Instruction("ret", (), (), None, end, "ret;"))
        return Function(
            self.name, self.is_entry, self.linkage, self.returns, self.parameters, self.registers, self.variables,
            tuple(self.instructions), self.labels, self.position, self.directives, self.branch_targets,
            self.prototypes, is_declaration,
        )  # fmt: skip

    def _runs_off(self) -> bool:
        if not self.instructions or len(self.instructions) in self.labels.values():
            return True
        last = self.instructions[-1]
        return last.guard is not None or last.opcode not in _FINAL


def _renamed(operands: tuple[Any, ...], renamed: dict[str, str]) -> tuple[Any, ...]:
    return tuple(Symbol(renamed.get(o.name, o.name), o.offset) if isinstance(o, Symbol) else o for o in operands)
