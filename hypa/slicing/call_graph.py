"""Who calls whom inside a launch, and which values pass between a call and its function."""

from collections.abc import Iterator
from dataclasses import dataclass

from rayplay.ptx.ir import Call, Function, Operand, Symbol
from rayplay.ptx.program import Program

Place = tuple[int, str]  # number of a function of the program, name of one of its parameters or .param variables


@dataclass(frozen=True, slots=True)
class CallSite:
    """The call at index ``index`` of function ``caller``; ``callees`` are the functions of the program it can run.

    An indirect call can run every function that takes and returns as many values. A call without callees runs code
    outside of the program (``malloc``).
    """

    caller: int
    index: int
    call: Call
    callees: tuple[int, ...]

    @property
    def is_indirect(self) -> bool:
        """Whether the function is found in a register."""
        return not isinstance(self.call.target, Symbol)


def call_sites(program: Program) -> list[CallSite]:
    """All calls of a program's functions, in order."""
    numbers = {(id(m), f.name): k for k, (m, f) in enumerate(zip(program.modules, program.functions, strict=True))}
    sites = []
    for caller, function in enumerate(program.functions):
        for index, instruction in enumerate(function.body):
            call = instruction.call
            if call is None:
                continue
            if isinstance(call.target, Symbol) and call.target.name not in function.registers:
                number = numbers.get((id(program.modules[caller]), call.target.name))
                is_entry = number is not None and program.functions[number].is_entry
                callees: tuple[int, ...] = () if number is None or is_entry else (number,)
            else:
                callees = tuple(k for k, f in enumerate(program.functions) if _fits(f, call))
            sites.append(CallSite(caller, index, call, callees))
    return sites


def _fits(function: Function, call: Call) -> bool:
    same = len(function.parameters) == len(call.arguments) and len(function.returns) == len(call.results)
    return not function.is_entry and same


def passed(program: Program, site: CallSite) -> Iterator[tuple[Operand, Place]]:
    """(operand of the call, parameter that it becomes) of every argument and callee."""
    for callee in site.callees:
        for operand, variable in zip(site.call.arguments, program.functions[callee].parameters, strict=False):
            yield operand, (callee, variable.name)


def returned(program: Program, site: CallSite) -> Iterator[tuple[Operand, Place]]:
    """(operand of the call, returned variable that it gets) of every result and callee."""
    for callee in site.callees:
        for operand, variable in zip(site.call.results, program.functions[callee].returns, strict=False):
            yield operand, (callee, variable.name)
