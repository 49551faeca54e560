"""All code of a launch put together: functions and their layouts, variables in device memory, memory per thread."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from formats.errors import UserError
from ptx.ir import Function, Module, Symbol, Variable
from ptx.optix import INTRINSICS
from ptx.program import Program, link
from tracer.driver import ImageLaunch
from tracer.lower import LinkedFunction, lower_program
from tracer.lower_layout import layout, shared_variables
from tracer.memory import DeviceMemory

RECURSION_DEPTH = 32  # how often a function that calls itself may be in flight
STORED_SPACES = ("const", "global")


@dataclass(frozen=True)
class LinkedLaunch:
    """``symbols`` number the addresses of the table ``addresses``; ``shared_bytes`` are the static ones."""

    program: Program
    functions: tuple[LinkedFunction, ...]
    symbols: dict[tuple[str, str], int]
    addresses: np.ndarray
    shared_bytes: int

    def chain(self, cost: Callable[[LinkedFunction], int], number: int) -> int:
        """The most that a function and the functions it calls have of something at once."""
        by_name = {(id(f.module), f.function.name): f for f in self.functions}
        return _chain(self.functions[number], by_name, cost, ())

    def at(self, instruction_id: int) -> tuple[LinkedFunction, int]:
        """The function of an instruction, and the index in its body."""
        owner = max(
            (f for f in self.functions if f.instruction_base <= instruction_id), key=lambda f: f.instruction_base
        )
        return owner, instruction_id - owner.instruction_base


def _chain(
    f: LinkedFunction,
    by_name: dict[tuple[int, str], LinkedFunction],
    cost: Callable[[LinkedFunction], int],
    above: tuple[str, ...],
) -> int:
    if f.function.name in above:
        return RECURSION_DEPTH * cost(f)
    deepest = 0
    for name in called_names(f.function):
        callee = by_name.get((id(f.module), name))
        if callee is not None:
            deepest = max(deepest, _chain(callee, by_name, cost, (*above, f.function.name)))
    return cost(f) + deepest


def called_names(function: Function) -> dict[str, None]:
    """Names of the functions that a function calls, in order of first call."""
    calls = (i.call.target for i in function.body if i.call is not None)
    return {target.name: None for target in calls if isinstance(target, Symbol) and target.name not in INTRINSICS}


def link_launch(
    programs: tuple[tuple[Module, Function], ...],
    memory: DeviceMemory,
    constants: Mapping[str, bytes],
) -> LinkedLaunch:
    """Put programs and everything they call together, and their variables into device memory.

    Blocks and instructions count from 0, so that the same launch later in a trace runs the same machine code.

    Raises ``UserError`` for an opcode the executor lacks, and for constants that no module declares.
    """
    functions = list(programs)
    for module, function in functions:
        for name in called_names(function):
            callee = module.functions.get(name)
            if callee is not None and not callee.is_declaration and (module, callee) not in functions:
                functions.append((module, callee))
    program = link(functions)
    modules = list({id(module): module for module, _ in functions}.values())
    shared, shared_bytes = shared_variables(modules)
    linked = tuple(
        LinkedFunction(
            module, function, cfg, layout(function, cfg, shared), number, program.block_base[number],
            program.instruction_base[number],
        )
        for number, ((module, function), cfg) in enumerate(zip(functions, program.cfgs, strict=True))
    )  # fmt: skip
    symbols, addresses = place_variables(modules, memory, constants)
    return LinkedLaunch(program, linked, symbols, addresses, shared_bytes)


def check_opcodes(linked: LinkedLaunch) -> None:
    """``UserError`` for the first opcode the executor lacks."""
    lower_program(linked.functions, linked.symbols)


def place_variables(
    modules: list[Module], memory: DeviceMemory, constants: Mapping[str, bytes]
) -> tuple[dict[tuple[str, str], int], np.ndarray]:
    """Variables of all modules into memory, once per ``DeviceMemory``; ``constants`` are one buffer per symbol."""
    places: dict[tuple[str, str], int] = {}
    for name, data in constants.items():
        declared = [m for m in modules if name in m.variables]
        if not declared:
            known = sorted(v.name for m in modules for v in m.variables.values() if v.space == "const")
            raise UserError(f"constant {name}: no module declares it; there are: {', '.join(known) or 'none'}")
        size = max(len(data), *(m.variables[name].bytes for m in declared))
        address = memory.allocate(data.ljust(size, b"\0"))
        places.update({(m.source_name, name): address for m in declared})
    fresh: list[tuple[Module, Variable, int]] = []
    for module in modules:
        for variable in _stored(module):
            key = (module.source_name, variable.name)
            if key not in places and key not in memory.variables:
                contents = variable.initial.ljust(variable.bytes, b"\0")
                memory.variables[key] = memory.allocate(contents, max(variable.align, 16))
                fresh.append((module, variable, memory.variables[key]))
            places.setdefault(key, memory.variables.get(key, 0))
    for module, variable, address in fresh:
        for offset, symbol in variable.relocations:
            target = places.get((module.source_name, symbol.name))
            if target is None:
                raise UserError(f"{module.source_name}: {variable.name}: the executor does not know &{symbol.name}")
            memory.view(address + offset, np.uint64, 1)[0] = target + symbol.offset
    return {key: number for number, key in enumerate(places)}, np.array(list(places.values()), np.uint64)


def _stored(module: Module) -> list[Variable]:
    inside = (variable for function in module.functions.values() for variable in function.variables.values())
    return [variable for variable in (*module.variables.values(), *inside) if variable.space in STORED_SPACES]


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
            name = getattr(instruction.call.target, "name", "") if instruction.call else ""
            if number != launch.raygen_index and name and (name.startswith("_optix_trace") or name not in INTRINSICS):
                return True
    return False
