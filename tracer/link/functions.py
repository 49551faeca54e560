"""Functions that a launch can run: called by name, or through an address that its programs hold."""

from collections.abc import Sequence
from dataclasses import dataclass

from rayplay.formats.guard.errors import UserError
from rayplay.ptx.flow.spin import Spins
from rayplay.ptx.graph import Cfg
from rayplay.ptx.ir import Address, Function, Immediate, Instruction, Module, Register, Symbol, Texture, Vector
from rayplay.tracer.link.layout import FunctionLayout, Signature, indirect_calls, signature_of

KEPT = 16
"""Programs of the latest launches whose linked form and machine code are kept."""


@dataclass(frozen=True)
class Callee:
    """A function that a call names; numbers past the launch's functions are external ones."""

    number: int
    signature: Signature


@dataclass(frozen=True, eq=False)
class LinkedFunction:
    """A function of a launch with everything that running it needs; ``number`` is its program id.

    ``callees`` are the functions that its calls name; ``calls`` numbers all that it may run, through registers too.
    """

    module: Module
    function: Function
    cfg: Cfg
    spins: Spins
    layout: FunctionLayout
    number: int
    block_base: int
    instruction_base: int
    callees: dict[str, Callee]
    calls: tuple[int, ...]


def called_names(function: Function) -> dict[str, None]:
    """Names of the functions that a function calls directly, in order of first call."""
    return {i.callee: None for i in function.body if i.callee and not i.callee.startswith("_optix_")}


def symbol_names(instruction: Instruction) -> list[str]:
    """Variables and functions that the operands of an instruction name, the callee aside."""
    call = instruction.call
    found = []
    for operand in (*call.results, *call.arguments) if call is not None else instruction.operands:
        if isinstance(operand, (Register, Immediate)):
            continue
        for element in operand.elements if isinstance(operand, Vector) else (operand,):
            bases = (element.name, element.sampler) if isinstance(element, Texture) else (element,)
            for base in (each.base if isinstance(each, Address) else each for each in bases):
                if isinstance(base, Symbol):
                    found.append(base.name)
    return found


class Taken:
    """Addresses of functions that functions hold; each body is read once."""

    def __init__(self) -> None:
        self._of: dict[int, tuple[Function, bool, dict[str, None]]] = {}

    def calls_indirectly(self, function: Function) -> bool:
        """Whether it has a call through a register."""
        return self._read(function)[1]

    def names(self, module: Module, functions: list[Function]) -> dict[str, None]:
        """Names of a module's functions whose address ``functions`` or the module's variables hold, in order."""
        found = {name: None for f in functions for name in self._read(f)[2]}
        variables = (*module.variables.values(), *(v for f in functions for v in f.variables.values()))
        found.update((symbol.name, None) for v in variables for _, symbol in v.relocations)
        return {name: None for name in found if name in module.functions and not module.functions[name].is_entry}

    def _read(self, function: Function) -> tuple[Function, bool, dict[str, None]]:
        if id(function) not in self._of:
            names: dict[str, None] = {}
            for instruction in function.body:
                names.update(dict.fromkeys(symbol_names(instruction)))
                if instruction.call is not None:
                    names.update(dict.fromkeys(function.branch_targets.get(instruction.call.prototype or "", ())))
            self._of[id(function)] = function, bool(indirect_calls(function)), names
        return self._of[id(function)]


def definition(module: Module, name: str, modules: Sequence[Module]) -> tuple[Module, Function | None]:
    """The function that a module names, with its owner: the module, or another one that shows it."""
    function = module.functions.get(name)
    if function is not None and function.is_declaration:
        for other in modules:
            found = other.functions.get(name)
            if found is not None and not found.is_declaration and found.linkage in ("visible", "weak"):
                return other, found
    return module, function


def with_called(
    programs: tuple[tuple[Module, Function], ...], modules: Sequence[Module], taken: Taken
) -> list[tuple[Module, Function]]:
    """Programs and every function with a body that they may call, of any of the ``modules``."""
    functions, known = list(programs), {(id(module), function.name) for module, function in programs}
    for module, function in functions:
        own = [f for m, f in functions if m is module]
        indirect = any(taken.calls_indirectly(f) for f in own)
        for name in called_names(function) | (taken.names(module, own) if indirect else {}):
            owner, callee = definition(module, name, modules)
            if callee is not None and not callee.is_declaration and (id(owner), name) not in known:
                known.add((id(owner), name))
                functions.append((owner, callee))
    return functions


def external_function(module: Module, name: str) -> Function:
    """A declared function without a body."""
    declared = module.functions.get(name)
    if declared is None or declared.is_entry:
        raise UserError(f"{module.source_name}: function {name} is called but not declared")
    return declared


def callees_of(module: Module, function: Function, numbers: dict[tuple[int, str], int]) -> dict[str, Callee]:
    """Callees of a function by name."""
    return {
        name: Callee(numbers[id(module), name], signature_of(module.functions[name])) for name in called_names(function)
    }


def calls_of(
    module: Module,
    function: Function,
    functions: list[tuple[Module, Function]],
    numbers: dict[tuple[int, str], int],
    taken: Taken,
) -> tuple[int, ...]:
    """Numbers of all functions that one may call, directly or not."""
    names = called_names(function)
    if taken.calls_indirectly(function):
        names |= taken.names(module, [f for m, f in functions if m is module])
    found = (numbers.get((id(module), name), -1) for name in names)
    return tuple(dict.fromkeys(number for number in found if number >= 0))
