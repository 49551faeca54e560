"""Functions that a launch can run: called by name, or through an address that its programs hold."""

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


def taken_names(module: Module, functions: list[Function]) -> dict[str, None]:
    """Names of a module's functions whose address ``functions`` or the module's variables hold, in order."""
    found: dict[str, None] = {}
    for function in functions:
        for instruction in function.body:
            found.update((name, None) for name in symbol_names(instruction) if name in module.functions)
            if instruction.call is not None:
                found.update(dict.fromkeys(function.branch_targets.get(instruction.call.prototype or "", ())))
    for variable in (*module.variables.values(), *(v for f in functions for v in f.variables.values())):
        found.update((symbol.name, None) for _, symbol in variable.relocations if symbol.name in module.functions)
    return {name: None for name in found if name in module.functions and not module.functions[name].is_entry}


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


def with_called(programs: tuple[tuple[Module, Function], ...]) -> list[tuple[Module, Function]]:
    """Programs and every function with a body that they may call."""
    functions = list(programs)
    for module, function in functions:
        own = [f for m, f in functions if m is module]
        indirect = any(indirect_calls(f) for f in own)
        for name in called_names(function) | (taken_names(module, own) if indirect else {}):
            callee = module.functions.get(name)
            if callee is not None and not callee.is_declaration and (module, callee) not in functions:
                functions.append((module, callee))
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
    module: Module, function: Function, functions: list[tuple[Module, Function]], numbers: dict[tuple[int, str], int]
) -> tuple[int, ...]:
    """Numbers of all functions that one may call, directly or not."""
    names = called_names(function)
    if indirect_calls(function):
        names |= taken_names(module, [f for m, f in functions if m is module])
    found = (numbers.get((id(module), name), -1) for name in names)
    return tuple(dict.fromkeys(number for number in found if number >= 0))
