"""All code of a launch put together: functions and their layouts, variables in device memory, memory per thread."""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from rayplay.formats.guard.errors import UserError
from rayplay.ptx.flow.spin import spins
from rayplay.ptx.graph import post_order
from rayplay.ptx.ir import Function, Module
from rayplay.ptx.isa.optix import INTRINSICS
from rayplay.ptx.program import Program, link
from rayplay.ptx.text.names import outside_registers
from rayplay.tracer.link.explicit import explicit
from rayplay.tracer.link.functions import (
    LinkedFunction,
    called_names,
    callees_of,
    calls_of,
    external_function,
    with_called,
)
from rayplay.tracer.link.launches import ImageLaunch
from rayplay.tracer.link.layout import layout
from rayplay.tracer.link.scalarise import scalar_function, scalar_module
from rayplay.tracer.link.variables import SharedVariables, place_variables
from rayplay.tracer.memory.arena import FIRST_FUNCTION, FUNCTION_STEP_BYTES, DeviceMemory

RECURSION_DEPTH = 1024  # how deep the functions of a cycle of calls may be in flight


@dataclass(frozen=True)
class LinkedLaunch:
    """Everything that a launch can run.

    symbols    number the addresses of the table ``addresses``.
    externals  functions without a body that are called; their numbers follow ``functions``.
    by_address int32[functions that have an address]: the number of each, -1 where it is not part of the launch.
    """

    program: Program
    functions: tuple[LinkedFunction, ...]
    externals: tuple[Function, ...]
    symbols: dict[tuple[str, str], int]
    addresses: np.ndarray
    by_address: np.ndarray
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

    def at(self, instruction_id: int) -> tuple[LinkedFunction, int]:
        """The function of an instruction, and the index in its body."""
        owner = max(
            (f for f in self.functions if f.instruction_base <= instruction_id), key=lambda f: f.instruction_base
        )
        return owner, instruction_id - owner.instruction_base


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


def _refuse_cluster(module: Module, function: Function) -> None:
    """``UserError`` for an entry whose CTAs run in clusters of more than one, or of a size that the launch says."""
    directives = function.directives
    size = math.prod(directives.get("reqnctapercluster", (1,)))
    named = ".reqnctapercluster" if size > 1 else ".explicitcluster"
    if size > 1 or ("explicitcluster" in directives and "reqnctapercluster" not in directives):
        place = f"{module.source_name}:{function.position.line}"
        raise UserError(f"{place}: {function.name} has {named}: clusters of more than one CTA are not executed")


def link_launch(
    programs: tuple[tuple[Module, Function], ...], memory: DeviceMemory, constants: Mapping[str, bytes]
) -> LinkedLaunch:
    """Put programs and everything they call together, and their variables into device memory.

    Blocks and instructions count from 0, so that the same launch later in a trace runs the same machine code.

    Raises ``UserError`` for an opcode the executor lacks, and for constants that no module declares.
    """
    refuse_unexecuted(programs)
    modules = {id(module): scalar_module(module) for module, _ in programs}
    called = with_called(tuple((modules[id(module)], scalar_function(f)) for module, f in programs))
    functions = [(module, explicit(module, function)) for module, function in called]
    numbers = {(id(module), function.name): number for number, (module, function) in enumerate(functions)}
    externals: list[Function] = []
    for module, function in functions:
        for name in called_names(function):
            if (id(module), name) not in numbers:
                numbers[id(module), name] = len(functions) + len(externals)
                externals.append(external_function(module, name))
    program = link(functions)
    shared = SharedVariables(functions)
    for module, function in functions:
        if not function.is_entry:
            memory.function_address((module.source_name, function.name))
    symbols, addresses = place_variables(functions, memory, constants)
    waiting = [spins(module, f, cfg) for (module, f), cfg in zip(functions, program.cfgs, strict=True)]
    linked = tuple(
        LinkedFunction(
            module, function, cfg, waits, layout(function, cfg, shared.of(module, function), waits), number,
            program.block_base[number], program.instruction_base[number], callees_of(module, function, numbers),
            calls_of(module, function, functions, numbers),
        )
        for number, ((module, function), cfg, waits) in enumerate(zip(functions, program.cfgs, waiting, strict=True))
    )  # fmt: skip
    by_address = np.full(len(memory.functions), -1, np.int32)
    for module, function in functions:
        place = memory.functions.get((module.source_name, function.name))
        if place is not None and not function.is_entry:
            by_address[(place - FIRST_FUNCTION) // FUNCTION_STEP_BYTES] = numbers[id(module), function.name]
    return LinkedLaunch(program, linked, tuple(externals), symbols, addresses, by_address, shared.bytes)


def refuse_image_services(linked: LinkedLaunch) -> None:
    """``UserError`` for the first instruction of a compute kernel that needs what only an image launch has."""
    for f in linked.functions:
        _refuse(f, r"filter_shader|_optix_.*", "needs a scene or pixels, which a compute launch does not have")


def refuse_raygen_payload(linked: LinkedLaunch, raygen: int) -> None:
    """``UserError`` where ray generation sets a payload: it answers no ray."""
    for number in linked.reached(raygen):
        _refuse(linked.functions[number], r"_optix_set_payload(_\d+)?", "has no ray to answer in ray generation")


def _refuse(f: LinkedFunction, names: str, why: str) -> None:
    for i in f.function.body:
        name = i.opcode if i.call is None else i.callee
        if re.fullmatch(names, name):
            place = f"{f.module.source_name}:{i.position.line}:{i.position.column}"
            raise UserError(f"{place}: {name} {why}")


def image_chain(linked: LinkedLaunch, launch: ImageLaunch, cost: Callable[[LinkedFunction], int]) -> int:
    """The most that the programs of an image launch have of something at once, trace calls nested as deep as may be."""
    costs = {number: linked.chain(cost, number) for number in range(len(launch.programs))}
    names = [function.name for _, function in launch.programs]
    after = [costs[k] for k, name in enumerate(names) if name.startswith(("__closesthit__", "__miss__"))]
    inside = [costs[k] for k, name in enumerate(names) if name.startswith(("__anyhit__", "__intersection__"))]
    raygen = costs[launch.raygen_index]
    nested = launch.trace_depth if _traces_from_shaders(launch) else 1
    return raygen + nested * max(after, default=0) + 2 * max(inside, default=0)


def _traces_from_shaders(launch: ImageLaunch) -> bool:
    """Whether a program other than ray generation traces (or calls a function, which might)."""
    for number, (_, function) in enumerate(launch.programs):
        for instruction in function.body:
            name = instruction.callee
            if number != launch.raygen_index and name and (name.startswith("_optix_trace") or name not in INTRINSICS):
                return True
    return False
