"""One function while it is read: its instructions, labels and names, and the scopes they stand in."""

from dataclasses import replace

from rayplay.ptx.ir import Annotation, Function, Instruction, Position, Symbol, Variable
from rayplay.ptx.isa.form import instruction
from rayplay.ptx.isa.table import FINAL
from rayplay.ptx.text.scopes import Scopes

Use = int | tuple[str, int]  # of a label: the index of a branch, or a place in a list of branch targets


class Body:
    """Collects the parts of a function; ``head`` is the function without them."""

    def __init__(self, head: Function) -> None:
        self.head = head
        self.scopes = Scopes()
        self.instructions: list[Instruction] = []
        self.annotations: list[Annotation] = []
        self.labels: dict[str, int] = {}
        self.variables: dict[str, Variable] = {}
        self.branch_targets: dict[str, list[str]] = {}
        self.prototypes: dict[str, Function] = {}
        self._labels: list[dict[str, str]] = [{}]  # per open scope: labels and their unique names
        self._uses: list[dict[str, list[Use]]] = [{}]  # per open scope: uses of labels that it has not had yet
        for variable in (*head.returns, *head.parameters):
            if variable.space == "reg":
                self.scopes.declare_register(variable.name, variable.type)
            else:
                self.scopes.declare_variable(variable.name)

    def declare_variable(self, variable: Variable) -> None:
        """A .local, .shared, .param, ... variable of the innermost scope."""
        unique = self.scopes.declare_variable(variable.name)
        self.variables[unique] = replace(variable, name=unique)

    def variable(self, name: str) -> Variable | None:
        """The variable or parameter of a unique name."""
        known = self.variables.get(name)
        return known or next((p for p in (*self.head.returns, *self.head.parameters) if p.name == name), None)

    def declare_label(self, name: str) -> bool:
        """A label before the next instruction; False when its scope has one of that name.

        Labels of nested scopes are seen only there and renamed at once; the branches to them follow at the ``}``,
        because a branch may come before its label.
        """
        scope = self._labels[-1]
        if name in scope:
            return False
        if len(self._labels) > 1:
            self.scopes.uses.setdefault(name, 1)
            scope[name] = self.scopes.unique(name)
        else:
            scope[name] = name
        self.labels[scope[name]] = len(self.instructions)
        return True

    def add(self, instruction: Instruction) -> None:
        """The next instruction."""
        if instruction.opcode == "bra" and self._labels[1:]:
            for operand in instruction.operands:
                if isinstance(operand, Symbol):
                    self._uses[-1].setdefault(operand.name, []).append(len(self.instructions))
        self.instructions.append(instruction)

    def add_targets(self, name: str, labels: list[str]) -> None:
        """A list of branch targets."""
        self.branch_targets[name] = labels
        for place, label in enumerate(labels):
            self._uses[-1].setdefault(label, []).append((name, place))

    def open(self) -> None:
        """A ``{`` among the statements."""
        self.scopes.open()
        self._labels.append({})
        self._uses.append({})

    def close(self) -> None:
        """Its ``}``: uses of its labels get their unique names, the others wait on (the fewer join the more)."""
        self.scopes.close()
        uses, outer = self._uses.pop(), self._uses.pop()
        for name, unique in self._labels.pop().items():
            for use in uses.pop(name, ()):
                self._rename(use, name, unique)
        more, fewer = (uses, outer) if len(uses) > len(outer) else (outer, uses)
        for name, found in fewer.items():
            known = more.get(name, [])
            longer, shorter = (known, found) if len(known) > len(found) else (found, known)
            longer += shorter
            more[name] = longer
        self._uses.append(more)

    def _rename(self, use: Use, name: str, unique: str) -> None:
        if isinstance(use, int):
            branch = self.instructions[use]
            operands = (
                Symbol(unique, o.offset) if isinstance(o, Symbol) and o.name == name else o for o in branch.operands
            )
            self.instructions[use] = replace(branch, operands=tuple(operands))
        else:
            self.branch_targets[use[0]][use[1]] = unique

    def finish(self, is_declaration: bool, end: Position | None = None) -> Function:
        """The function read so far; a body that can run off its ``}`` gets the ``ret`` that PTX implies there."""
        if end is not None and self._runs_off():
            self.instructions.append(instruction("ret", (), (), None, end, "ret;"))
        targets = {name: tuple(labels) for name, labels in self.branch_targets.items()}
        return replace(
            self.head, registers=self.scopes.registers, variables=self.variables, body=tuple(self.instructions),
            labels=self.labels, branch_targets=targets, prototypes=self.prototypes, is_declaration=is_declaration,
            annotations=tuple(self.annotations),
        )  # fmt: skip

    def _runs_off(self) -> bool:
        if not self.instructions or len(self.instructions) in self.labels.values():
            return True
        last = self.instructions[-1]
        return last.guard is not None or last.opcode not in FINAL


def redeclaration_problem(first: Function, second: Function) -> str | None:
    """Why two declarations of one name cannot be the same function, None when they can."""
    for what, before, after in (
        ("results", first.returns, second.returns), ("parameters", first.parameters, second.parameters),
    ):  # fmt: skip
        if len(before) != len(after):
            return f"'{first.name}' was declared with {len(before)} {what}, now it has {len(after)}"
        for one, other in zip(before, after, strict=True):
            if (one.type, one.bytes, one.align, one.space) != (other.type, other.bytes, other.align, other.space):
                return f"'{first.name}' was declared with other {what} before"
    return None
