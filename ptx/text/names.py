"""Meaning of the names in a function, and names that nothing declares."""

from collections.abc import Collection, Iterator

from rayplay.formats.guard.nearest import meant
from rayplay.ptx import ir
from rayplay.ptx.isa.special import SPECIAL

MOST_HINTS = 20
MOST_COMPARED = 1000
MOST_LETTERS = 100


class Hints:
    """Near names for messages: only for the first of many, because looking for them takes longer than all the rest."""

    def __init__(self) -> None:
        self._left = MOST_HINTS

    def __call__(self, name: str, known: Collection[str]) -> str:
        """`` (did you mean 'x'?)`` where something known is near."""
        if self._left <= 0 or len(known) > MOST_COMPARED or len(name) > MOST_LETTERS:
            return ""
        self._left -= 1
        near = meant(name, known)
        return f" ({near})" if near else ""


class Names:
    """The declarations that one function sees."""

    def __init__(self, module: ir.Module, function: ir.Function, hint: Hints) -> None:
        self.module, self.function, self.hint = module, function, hint
        self.parameters = {p.name: p for p in (*function.returns, *function.parameters)}

    def variable(self, name: str) -> ir.Variable | None:
        """The variable or parameter of that name."""
        found = self.function.variables.get(name) or self.parameters.get(name)
        return found or self.module.variables.get(name)

    def is_symbol(self, name: str) -> bool:
        """Whether anything but a register has the name."""
        function, module = self.function, self.module
        scopes = (function.variables, self.parameters, function.labels, module.variables, module.functions)
        return any(name in scope for scope in (*scopes, function.prototypes, function.branch_targets))

    def undeclared(self, operand: "ir.Operand | None") -> Iterator[str]:
        """A sentence for every name in an operand that nothing declares."""
        if isinstance(operand, ir.Register):
            if operand.name not in self.function.registers and operand.name not in SPECIAL and operand.name != "_":
                yield f"register '{operand.name}' is not declared"
        elif isinstance(operand, ir.Symbol):
            if not self.is_symbol(operand.name):
                yield f"'{operand.name}' is neither a register nor a variable"
        elif isinstance(operand, ir.Address):
            yield from self.undeclared(operand.base)
        elif isinstance(operand, ir.Vector):
            for element in operand.elements:
                yield from self.undeclared(element)
        elif isinstance(operand, ir.Not):
            yield from self.undeclared(operand.register)
        elif isinstance(operand, ir.Modified):
            yield from self.undeclared(operand.operand)
        elif isinstance(operand, ir.Pair):
            yield from self.undeclared(operand.first)
            yield from self.undeclared(operand.second)
        elif isinstance(operand, ir.Texture):
            for part in (operand.name, operand.sampler, operand.coordinates):
                yield from self.undeclared(part)

    def label_problem(self, operand: ir.Operand, instruction: ir.Instruction) -> Iterator[str]:
        """A branch that goes nowhere."""
        name = operand.name if isinstance(operand, ir.Symbol) else ""
        known = self.function.branch_targets if instruction.opcode == "brx" else self.function.labels
        if name not in known:
            yield f"'{name or 'the target'}' is not a label of the function{self.hint(name, known)}"


def outside_registers(function: ir.Function, module: ir.Module) -> frozenset[str]:
    """The registers of a function that its module declares outside functions: by name, or in a range."""
    found = set(module.registers) & function.registers.keys()
    for written in module.registers:
        prefix, _, count = written.partition("<")
        if count:
            numbers = ((name, name.removeprefix(prefix)) for name in function.registers if name.startswith(prefix))
            found |= {name for name, digits in numbers if digits.isdecimal() and int(digits) < int(count[:-1])}
    return frozenset(found)
