"""Code of a launch put together: its functions, their layouts and numbers. Programs that run again are found again."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from rayplay.formats.guard.errors import UserError
from rayplay.ptx.flow.spin import spins
from rayplay.ptx.graph import post_order
from rayplay.ptx.ir import Function, Immediate, Instruction, Module, Operand, Register
from rayplay.ptx.isa.optix import INTRINSICS, STATES, kind_of_program
from rayplay.ptx.isa.types import elements
from rayplay.ptx.program import Program, link
from rayplay.ptx.text.names import outside_registers
from rayplay.tracer.abi.trace_frame import KNOWN_FLAGS, UNKNOWN_FLAGS
from rayplay.tracer.link.explicit import explicit
from rayplay.tracer.link.functions import (
    KEPT,
    LinkedFunction,
    Taken,
    called_names,
    callees_of,
    calls_of,
    definition,
    external_function,
    with_called,
)
from rayplay.tracer.link.layout import layout
from rayplay.tracer.link.scalarise import scalar_function, scalar_module
from rayplay.tracer.link.variables import SharedVariables
from rayplay.tracer.meaning.optix import CALLABLE_CALLS, TRACE_CALL, trace_arguments

RECURSION_DEPTH = 1024  # how deep the functions of a cycle of calls may be in flight

Programs = tuple[tuple[Module, Function], ...]


@dataclass(frozen=True)
class LinkedPrograms:
    """Everything that a launch can run, wherever its variables lie.

    externals  functions without a body that are called; their numbers follow ``functions``.
    """

    programs: Programs
    program: Program
    functions: tuple[LinkedFunction, ...]
    externals: tuple[Function, ...]
    shared_bytes: int

    def chain(self, cost: Callable[[LinkedFunction], int], number: int, depth: int = RECURSION_DEPTH) -> int:
        """The most that a function and the functions it calls have of something at once.

        Functions that can call themselves may all be in flight ``depth`` times.
        """
        reached = self.reached(number)
        if self.is_recursive(number):
            return depth * sum(cost(self.functions[k]) for k in reached)
        most: dict[int, int] = {}
        for k in reached:  # callees come first
            most[k] = cost(self.functions[k]) + max((most[c] for c in self._called(k)), default=0)
        return most[number]

    def reached(self, number: int) -> list[int]:
        """Numbers of the functions that one can run, itself the last; callees come before their callers."""
        return post_order(self._called, number)

    def is_recursive(self, number: int) -> bool:
        """Whether a function, or one it calls, can be in flight more than once."""
        position = {k: place for place, k in enumerate(self.reached(number))}
        return any(position[c] >= position[k] for k in position for c in self._called(k))

    def _called(self, number: int) -> list[int]:
        return [k for k in self.functions[number].calls if k < len(self.functions)]

    def called_by_name(self, number: int) -> list[int]:
        """Numbers of the functions that one calls by name."""
        called = (callee.number for callee in self.functions[number].callees.values())
        return [k for k in called if k < len(self.functions)]

    def at(self, instruction_id: int) -> tuple[LinkedFunction, int]:
        """The function of an instruction, and the index in its body."""
        owner = max(
            (f for f in self.functions if f.instruction_base <= instruction_id), key=lambda f: f.instruction_base
        )
        return owner, instruction_id - owner.instruction_base


_kept: dict[tuple[int, ...], tuple[LinkedPrograms, tuple[Module, ...]]] = {}


def link_programs(programs: Programs, libraries: tuple[Module, ...] = ()) -> LinkedPrograms:
    """Put programs and everything they call together, or find what the same objects were linked to before.

    ``libraries`` are modules whose functions the programs may call by name, beside their own modules' functions.

    Blocks and instructions count from 0, so that the same launch later in a trace runs the same machine code.

    Raises ``UserError`` for declarations that are not executed, and for an opcode the executor lacks.
    """
    key = (*(id(part) for pair in programs for part in pair), *map(id, libraries))
    if key not in _kept:
        linked = _linked(programs, libraries)
        if len(_kept) == KEPT:
            del _kept[next(iter(_kept))]
        _kept[key] = linked, libraries  # which keeps the objects, so that their ids stay theirs
    return _kept[key][0]


def _linked(programs: Programs, libraries: tuple[Module, ...]) -> LinkedPrograms:
    refuse_unexecuted(programs)
    modules = {id(module): scalar_module(module) for module in (*(module for module, _ in programs), *libraries)}
    taken, others = Taken(), tuple(modules.values())
    called = with_called(tuple((modules[id(module)], scalar_function(f)) for module, f in programs), others, taken)
    functions = [(module, explicit(module, function)) for module, function in called]
    numbers = {(id(module), function.name): number for number, (module, function) in enumerate(functions)}
    externals: list[Function] = []
    for module, function in functions:
        for name in called_names(function):
            owner, _ = definition(module, name, others)
            if (id(module), name) not in numbers and (id(owner), name) in numbers:
                numbers[id(module), name] = numbers[id(owner), name]
            elif (id(module), name) not in numbers:
                numbers[id(module), name] = len(functions) + len(externals)
                externals.append(external_function(module, name))
    refuse_unbuilt(functions)
    program = link(functions)
    shared = SharedVariables(functions)
    waiting = [spins(module, f, cfg) for (module, f), cfg in zip(functions, program.cfgs, strict=True)]
    linked = tuple(
        LinkedFunction(
            module, function, cfg, waits, layout(function, cfg, shared.of(module, function), waits), number,
            program.block_base[number], program.instruction_base[number], callees_of(module, function, numbers),
            calls_of(module, function, functions, numbers, taken) + _callables(function, called[: len(programs)]),
        )
        for number, ((module, function), cfg, waits) in enumerate(zip(functions, program.cfgs, waiting, strict=True))
    )  # fmt: skip
    return LinkedPrograms(programs, program, linked, tuple(externals), shared.bytes)


def refuse_unexecuted(programs: tuple[tuple[Module, Function], ...]) -> None:
    """``UserError`` for declarations that parse and have no meaning here, rather than a wrong one."""
    for module in {id(module): module for module, _ in programs}.values():
        users = [f for f in module.functions.values() if outside_registers(f, module)]
        if len(users) > 1 and not all(f.is_entry for f in users):  # a call would have to share the values
            shared = f"functions {users[0].name} and {users[1].name} share registers declared outside functions"
            raise UserError(f"{module.source_name}: {shared}, which is not executed")
        for function in (f for m, f in programs if m is module):
            _refuse_cluster(module, function)
        for variable in module.variables.values():
            if variable.masked:
                place = f"{module.source_name}:{variable.position.line}"
                raise UserError(f"{place}: '{variable.name}' has single bytes of an address, which are not executed")


def refuse_unbuilt(functions: list[tuple[Module, Function]]) -> None:
    """``UserError`` for the first call of OptiX's interface that is not built, with its reason."""
    for module, function in functions:
        for i in function.body:
            intrinsic = INTRINSICS.get(i.callee)
            if intrinsic is not None and intrinsic.is_refused:
                place = f"{module.source_name}:{i.position.line}:{i.position.column}"
                raise UserError(f"{place}: {i.callee} (tier T{intrinsic.tier}) is refused: {STATES[intrinsic.state]}")
            if TRACE_CALL.fullmatch(i.callee) and (flags := _constant_flags(function, i) & ~KNOWN_FLAGS):
                place = f"{module.source_name}:{i.position.line}:{i.position.column}"
                raise UserError(f"{place}: {i.callee} with the ray flag {flags:#x} is refused: {UNKNOWN_FLAGS}")


def _constant_flags(function: Function, call: Instruction) -> int:
    """Ray flags of a trace call that are a constant, or a register that one ``mov`` of a constant writes; else 0."""
    flags = dict(trace_arguments(call)).get("flags")
    if isinstance(flags, Register):
        writers = [i for i in function.body if flags in (i.call.results if i.call else _first(i))]
        is_moved = len(writers) == 1 and writers[0].opcode == "mov" and writers[0].guard is None
        flags = writers[0].operands[1] if is_moved else None
    return flags.bits & 0xFFFFFFFF if isinstance(flags, Immediate) else 0


def _first(i: Instruction) -> tuple[Operand | None, ...]:
    """The first operand, or its registers."""
    return elements(i.operands[0]) if i.operands else ()


def _callables(function: Function, programs: list[tuple[Module, Function]]) -> tuple[int, ...]:
    """Numbers of the callable programs that a function can run, by an index."""
    if not any(i.callee in CALLABLE_CALLS for i in function.body):
        return ()
    return tuple(number for number, (_, program) in enumerate(programs) if kind_of_program(program.name) in ("D", "T"))


def _refuse_cluster(module: Module, function: Function) -> None:
    """``UserError`` for an entry whose CTAs run in clusters of more than one, or of a size that the launch says."""
    directives = function.directives
    size = math.prod(directives.get("reqnctapercluster", (1,)))
    named = ".reqnctapercluster" if size > 1 else ".explicitcluster"
    if size > 1 or ("explicitcluster" in directives and "reqnctapercluster" not in directives):
        place = f"{module.source_name}:{function.position.line}"
        raise UserError(f"{place}: {function.name} has {named}: clusters of more than one CTA are not executed")
