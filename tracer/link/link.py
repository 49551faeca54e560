"""A launch put together: its programs, their variables in device memory, memory per thread."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from rayplay.formats.guard.errors import UserError
from rayplay.ptx.isa.optix import INTRINSICS
from rayplay.tracer.link.functions import LinkedFunction
from rayplay.tracer.link.launches import ImageLaunch
from rayplay.tracer.link.programs import LinkedPrograms, Programs, link_programs
from rayplay.tracer.link.variables import place_variables
from rayplay.tracer.memory.arena import FIRST_FUNCTION, FUNCTION_STEP_BYTES, DeviceMemory


@dataclass(frozen=True)
class LinkedLaunch(LinkedPrograms):
    """Programs with their variables in device memory.

    symbols    number the addresses of the table ``addresses``.
    by_address int32[functions that have an address]: the number of each, -1 where it is not part of the launch.
    """

    symbols: dict[tuple[str, str], int]
    addresses: np.ndarray
    by_address: np.ndarray


def link_launch(programs: Programs, memory: DeviceMemory, constants: Mapping[str, bytes]) -> LinkedLaunch:
    """Put programs and everything they call together, and their variables into device memory.

    Raises ``UserError`` for an opcode the executor lacks, and for constants that no module declares.
    """
    linked = link_programs(programs)
    functions = [(f.module, f.function) for f in linked.functions]
    called = [f for f in linked.functions if not f.function.is_entry]
    places = {f.number: memory.function_address((f.module.source_name, f.function.name)) for f in called}
    symbols, addresses = place_variables(functions, memory, constants)
    by_address = np.full(len(memory.functions), -1, np.int32)
    for number, place in places.items():
        by_address[(place - FIRST_FUNCTION) // FUNCTION_STEP_BYTES] = number
    return LinkedLaunch(**vars(linked), symbols=symbols, addresses=addresses, by_address=by_address)


def refuse_image_services(linked: LinkedLaunch) -> None:
    """``UserError`` for the first instruction of a compute kernel that needs what only an image launch has."""
    for f in linked.functions:
        _refuse(f, r"filter_shader|_optix_.*", "needs a scene or pixels, which a compute launch does not have")


def refuse_raygen_payload(linked: LinkedLaunch, raygen: int) -> None:
    """``UserError`` where ray generation sets a payload: it answers no ray."""
    for number in linked.reached(raygen):
        _refuse(linked.functions[number], r"_optix_set_payload(_\d+)?", "has no ray to answer in ray generation")


def _refuse(f: LinkedFunction, names: str, why: str) -> None:
    is_refused = re.compile(names).fullmatch
    for i in f.function.body:
        name = i.opcode if i.call is None else i.callee
        if is_refused(name):
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
