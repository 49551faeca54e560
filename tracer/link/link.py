"""A launch put together: its programs, their variables in device memory, memory per thread."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rayplay.formats.guard.errors import UserError
from rayplay.ptx.graph import post_order
from rayplay.ptx.ir import Module
from rayplay.ptx.isa.optix import INTRINSICS, TRACE_CLASS, kind_of_program, words_of
from rayplay.tracer.link.functions import LinkedFunction
from rayplay.tracer.link.launches import ImageLaunch
from rayplay.tracer.link.programs import LinkedPrograms, Programs, link_programs
from rayplay.tracer.link.variables import place_variables
from rayplay.tracer.meaning.optix import CALLABLE_CALLS
from rayplay.tracer.memory.arena import FIRST_FUNCTION, FUNCTION_STEP_BYTES, DeviceMemory

NESTING_CALLS = ("_optix_hitobject_invoke", *CALLABLE_CALLS)
"""Calls beside those of trace that may run a program which traces."""


@dataclass(frozen=True)
class LinkedLaunch(LinkedPrograms):
    """Programs with their variables in device memory.

    symbols    number the addresses of the table ``addresses``.
    by_address int32[functions that have an address]: the number of each, -1 where it is not part of the launch.
    callables  int64[callable records]: addresses of their functions; each record has one of its own, which says too
               whose data the callable sees.
    """

    symbols: dict[tuple[str, str], int]
    addresses: np.ndarray
    by_address: np.ndarray
    callables: np.ndarray

    def callable_rows(self) -> np.ndarray:
        """int64[callable records]: rows of ``by_address``."""
        return (self.callables - FIRST_FUNCTION) // FUNCTION_STEP_BYTES


def link_launch(
    programs: Programs,
    memory: DeviceMemory,
    constants: Mapping[str, bytes],
    callables: Sequence[int] = (),
    libraries: tuple[Module, ...] = (),
) -> LinkedLaunch:
    """Put programs and everything they call together, and their variables into device memory.

    ``callables`` are the program ids of the callable records; ``libraries``: of ``link_programs``.
    Raises ``UserError`` for an opcode the executor lacks, and for constants that no module declares.
    """
    linked = link_programs(programs, libraries)
    functions = [(f.module, f.function) for f in linked.functions]
    called = [f for f in linked.functions if not f.function.is_entry]
    places = {f.number: memory.function_address((f.module.source_name, f.function.name)) for f in called}
    records = [linked.functions[number] for number in callables]
    own = [
        memory.function_address((f.module.source_name, f"{f.function.name}:{index}")) for index, f in enumerate(records)
    ]
    symbols, addresses = place_variables(functions, memory, constants, libraries)
    by_address = np.full(len(memory.functions), -1, np.int32)
    for number, place in (*places.items(), *zip(callables, own, strict=True)):
        by_address[(place - FIRST_FUNCTION) // FUNCTION_STEP_BYTES] = number
    return LinkedLaunch(
        **vars(linked), symbols=symbols, addresses=addresses, by_address=by_address, callables=np.array(own, np.int64)
    )


def refuse_image_services(linked: LinkedLaunch) -> None:
    """``UserError`` for the first instruction of a compute kernel that needs what only an image launch has."""
    for f in linked.functions:
        _refuse(f, r"filter_shader|_optix_.*", "needs a scene or pixels, which a compute launch does not have")


def refuse_wrong_kinds(linked: LinkedLaunch, launch: ImageLaunch) -> None:
    """``UserError`` for a call in a kind of program that may not make it, also in functions that it calls by name."""
    entries = {number: kind_of_program(function.name) for number, (_, function) in enumerate(launch.programs)}
    for number, kind in entries.items():
        for reached in post_order(linked.called_by_name, number) if kind else ():
            f = linked.functions[reached]
            for i in f.function.body:
                intrinsic = INTRINSICS.get(i.callee)
                if intrinsic is not None and kind not in intrinsic.kinds:
                    place = f"{f.module.source_name}:{i.position.line}:{i.position.column}"
                    allowed, name = words_of(intrinsic.kinds), launch.programs[number][1].name
                    raise UserError(f"{place}: '{i.callee}' can be called in {allowed} programs, not in '{name}'")


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
    thrown = costs[launch.exception_index] if launch.exception_index >= 0 else 0
    return raygen + nested * max(after, default=0) + 2 * max(inside, default=0) + thrown


def _traces_from_shaders(launch: ImageLaunch) -> bool:
    """Whether a program other than ray generation traces (or calls a function, which might)."""
    for number, (_, function) in enumerate(launch.programs):
        for instruction in function.body:
            intrinsic = INTRINSICS.get(name := instruction.callee)
            calls = intrinsic is None or intrinsic.operation_class == TRACE_CLASS or name in NESTING_CALLS
            if number != launch.raygen_index and name and calls:
                return True
    return False
