"""Features of a module against its ``.version`` and ``.target`` (``ptx.isa.needs``), as ``ptxas`` judges them."""

from collections.abc import Collection, Iterator

from rayplay.ptx.ir import Function, Instruction, Module, Position, Register, Symbol, Variable
from rayplay.ptx.isa.needs import NAMES, Need, needs_of, words_of
from rayplay.ptx.verifier.targets import architecture, gpu_target

TYPES = frozenset(("f16x2", "b128", "texref", "samplerref", "surfref"))


class Needs:
    """The features that a module may use."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.target = gpu_target(module)
        self.architecture = architecture(module)

    def lacking(self, needs: Collection[Need]) -> str | None:
        """A sentence about the features that the module does not have; None where it has all of them."""
        later = max((n for n in needs if n.version > self.module.version), key=lambda n: n.version, default=None)
        higher = max((n for n in needs if not self._has(n)), key=lambda n: (bool(n.targets), n.target), default=None)
        found = []
        if later is not None:
            declared = ".".join(map(str, self.module.version))
            wanted = ".".join(map(str, later.version))
            found.append(f"{later.shown} needs .version {wanted} or later, the module declares {declared}")
        if higher is not None:
            wanted = " or ".join(higher.targets) if higher.targets else f"sm_{higher.target} or later"
            found.append(f"{higher.shown} needs .target {wanted}, the module declares {self.target}")
        return "; ".join(found) or None

    def _has(self, need: Need) -> bool:
        """Whether the target has a feature; one of a family (``f``) has what its architecture (``a``) has."""
        if not self.target:
            return True
        if need.targets:
            name = self.target.replace("compute_", "sm_")
            return name[-1] in "af" and name[:-1] + "a" in need.targets
        return self.architecture >= need.target

    def of_instruction(self, instruction: Instruction) -> str | None:
        """The same about an instruction and the special registers that it reads."""
        needs = needs_of(instruction.opcode, words_of(instruction))
        for operand in instruction.operands:
            if isinstance(operand, Register) and operand.name in NAMES:
                needs = (*needs, *needs_of(operand.name))
            elif isinstance(operand, Symbol) and operand.name in self.module.functions and instruction.opcode == "mov":
                kind = "kernel" if self.module.functions[operand.name].is_entry else "address"
                needs = (*needs, *needs_of(kind))
        return self.lacking(needs)

    def of_declarations(self) -> Iterator[tuple[Position, str]]:
        """Problems of declarations."""
        found = [(v.position, name) for v in self.module.variables.values() for name in _of_variable(v)]
        for annotation in self.module.annotations:
            found.append((annotation.position, annotation.text.split(maxsplit=1)[0]))
        for function in self.module.functions.values():
            if function.name not in self.module.aliases:
                found += [(function.position, name) for name in _of_function(function)]
        found += [(Position(1, 1), name) for name in (*self.module.target, *([".alias"] * bool(self.module.aliases)))]
        for position, name in dict.fromkeys(found):
            message = self.lacking(needs_of(name))
            if message is not None:
                yield position, message


def _of_variable(variable: Variable) -> Iterator[str]:
    """The features of a variable or parameter."""
    kind = variable.type.rpartition(".")[2]
    yield from (f".{name}" for name in (kind, variable.linkage) if name in TYPES or name in ("weak", "common"))
    yield from (f".{text.partition('(')[0].strip().lstrip('.')}" for text in variable.attributes)
    if variable.relocations:
        yield "generic()" if any(symbol.generic for _, symbol in variable.relocations) else "address"
    if variable.masked:
        yield "mask"
    if variable.pointer is not None:
        yield ".ptr"


def _of_function(function: Function) -> Iterator[str]:
    """The features of a function's head, its variables and its registers."""
    yield from (f".{name}" for name in function.directives)
    yield from (".pragma" for _ in function.pragmas)
    yield from (f".{text.partition('(')[0].strip().lstrip('.')}" for text in function.attributes)
    if function.linkage == "weak":
        yield ".weak"
    if function.is_entry and function.is_declaration:
        yield "declaration"
    if function.is_entry and function.parameters:
        yield "parameters"
    if not function.is_entry:
        passed = (*function.returns, *function.parameters)
        yield from (".func.param" for variable in passed if variable.space == "param")
        yield from ("variadic" for variable in passed if variable.shape == (0,))
    yield from (".pragma" for annotation in function.annotations if annotation.text.startswith(".pragma"))
    for labels in function.branch_targets.values():
        yield ".branchtargets" if function.labels.keys() & set(labels) else ".calltargets"
    for prototype in function.prototypes.values():
        yield ".callprototype"
        yield from (f".{name}" for name in prototype.directives)
    for variable in (*function.parameters, *function.returns, *function.variables.values()):
        yield from _of_variable(variable)
    yield from (f".{name}" for name in {t.rpartition(".")[2] for t in function.registers.values()} & TYPES)
