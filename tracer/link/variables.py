"""Placement of a launch's variables: global and constant ones in device memory, shared ones in the CTA's memory.

A variable that a function declares hides a module's of the same name, and two functions may each have their own: in
tables of names it is ``function:name``.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.limits import CONSTANT_BYTES, VARIABLE_BYTES
from rayplay.ptx.ir import Function, Module, Variable
from rayplay.ptx.numbers import TYPE_BYTES
from rayplay.tracer.link.functions import definition, symbol_names
from rayplay.tracer.link.layout import align_up, place
from rayplay.tracer.memory.arena import DeviceMemory
from rayplay.tracer.memory.images import OPAQUE_TYPES, declared_sampler, is_reference, place_sampler

STORED_SPACES = ("const", "global")
SMALLEST_ALIGN = 16
Functions = list[tuple[Module, Function]]


class SharedVariables:
    """Shared memory of a CTA: the variables that its functions use, then ``.extern`` ones, all at one place."""

    def __init__(self, functions: Functions) -> None:
        used: dict[tuple[int, str], Variable] = {}
        for module, function in functions:
            own = {name: v for name, v in function.variables.items() if v.space == "shared"}
            used.update(((id(module), f"{function.name}:{name}"), v) for name, v in own.items())
            outer = {name: v for name, v in module.variables.items() if v.space == "shared"}
            named = {name for i in function.body for name in symbol_names(i)} if outer else set()
            used.update(((id(module), name), v) for name, v in outer.items() if name in named)
        static = {key: v for key, v in used.items() if v.linkage != "extern" and v.bytes}
        self.offsets, self.bytes = place(static)
        dynamic = {key: v for key, v in used.items() if key not in static}
        start = align_up(self.bytes, max((v.align for v in dynamic.values()), default=SMALLEST_ALIGN))
        self.offsets.update(dict.fromkeys(dynamic, align_up(start, SMALLEST_ALIGN)))
        if dynamic:
            self.bytes = align_up(start, SMALLEST_ALIGN)

    def of(self, module: Module, function: Function) -> dict[str, int]:
        """Offsets by the names that a function uses; its own variables hide the module's."""
        outer = {name: at for (owner, name), at in self.offsets.items() if owner == id(module) and ":" not in name}
        prefix = f"{function.name}:"
        own = {
            name.removeprefix(prefix): at
            for (owner, name), at in self.offsets.items()
            if owner == id(module) and name.startswith(prefix)
        }
        return {name: at for name, at in outer.items() if name not in function.variables} | own


def place_variables(
    functions: Functions, memory: DeviceMemory, constants: Mapping[str, bytes], libraries: Sequence[Module] = ()
) -> tuple[dict[tuple[str, str], int], np.ndarray]:
    """Variables and functions of all modules into memory, once per ``DeviceMemory``.

    ``constants`` are one buffer per symbol; initialisers may name functions of ``libraries`` that no program of this
    launch calls, as later ones may. Returns numbers of (module, name), and uint64[numbers] addresses.
    Raises ``UserError`` for constants that no module declares, and for initialisers that name nothing placed.
    """
    modules = list({id(module): module for module, _ in functions}.values())
    places = _place_constants(modules, memory, constants)
    fresh: list[tuple[Module, Variable, int]] = []
    shared = _definitions(modules)
    for module, name, variable in _stored(modules, functions):
        key = (module.source_name, name)
        if variable.linkage == "extern" and name in shared:
            continue
        if is_reference(variable) and key not in memory.variables:
            _place_reference(module, variable, functions, memory)
        if key not in places and key not in memory.variables:
            VARIABLE_BYTES.check(variable.bytes, f"the size of {variable.name}", file=module.source_name)
            address = memory.allocate(
                variable.bytes, max(variable.align, SMALLEST_ALIGN), f"variable {variable.name!r}"
            )
            memory.view(address, np.uint8, len(variable.initial))[:] = np.frombuffer(variable.initial, np.uint8)
            memory.variables[key] = address
            fresh.append((module, variable, memory.variables[key]))
        places.setdefault(key, memory.variables.get(key, 0))
    for module in modules:
        for name, variable in module.variables.items():
            if variable.linkage == "extern" and name in shared:
                places.setdefault((module.source_name, name), places[shared[name].source_name, name])
    for module, function in functions:
        if not function.is_entry:
            key = (module.source_name, function.name)
            places[key] = memory.function_address(key)
    for module, variable, address in fresh:
        _relocate(module, variable, address, places, memory, [*modules, *libraries])
    return {key: number for number, key in enumerate(places)}, np.array(list(places.values()), np.uint64)


def _definitions(modules: list[Module]) -> dict[str, Module]:
    """The module that defines a variable which others declare ``.extern``."""
    return {
        name: module
        for module in reversed(modules)
        for name, v in module.variables.items()
        if v.space in STORED_SPACES and v.linkage in ("visible", "weak")
    }


def _place_constants(
    modules: list[Module], memory: DeviceMemory, constants: Mapping[str, bytes]
) -> dict[tuple[str, str], int]:
    places: dict[tuple[str, str], int] = {}
    for module in modules:
        size = sum(v.bytes for v in module.variables.values() if v.space == "const")
        CONSTANT_BYTES.check(size, "the size of its constants", file=module.source_name)
    for name, data in constants.items():
        declared = [m for m in modules if name in m.variables]
        if not declared:
            known = sorted(v.name for m in modules for v in m.variables.values() if v.space == "const")
            raise UserError(f"constant {name}: no module declares it; there are: {', '.join(known) or 'none'}")
        size = max(len(data), *(m.variables[name].bytes for m in declared))
        address = memory.allocate(data.ljust(size, b"\0"), name=f"variable {name!r}")
        places.update({(m.source_name, name): address for m in declared})
    return places


def _stored(modules: list[Module], functions: Functions) -> list[tuple[Module, str, Variable]]:
    outer = [(module, v.name, v) for module in modules for v in module.variables.values()]
    inner = [(module, f"{f.name}:{v.name}", v) for module, f in functions for v in f.variables.values()]
    return [found for found in (*outer, *inner) if found[2].space in STORED_SPACES or is_reference(found[2])]


def _place_reference(module: Module, variable: Variable, functions: Functions, memory: DeviceMemory) -> None:
    """A texture, sampler or surface variable that nothing is bound to: a sampler may say itself what it is."""
    if variable.type == OPAQUE_TYPES["sampler"] and variable.properties:
        sampler = declared_sampler(variable.properties)
        memory.variables[module.source_name, variable.name] = place_sampler(memory, sampler)
        return
    for _, function in functions:
        for instruction in function.body:
            if variable.name in symbol_names(instruction):
                raise UserError(
                    f"{module.source_name}:{instruction.position.line}: {instruction.full_opcode}: {variable.name} "
                    "must be bound to a texture, sampler or surface, and nothing is"
                )


def _relocate(
    module: Module,
    variable: Variable,
    address: int,
    places: dict[tuple[str, str], int],
    memory: DeviceMemory,
    modules: list[Module],
) -> None:
    """Write the addresses that an initialiser names; a function may be of another of the ``modules``."""
    size = TYPE_BYTES[variable.type.rpartition(".")[2]]
    for offset, symbol in variable.relocations:
        key = (module.source_name, symbol.name)
        target = places.get(key)
        if target is None and symbol.name in module.functions:  # a kernel too: an address that nothing can call
            owner, _ = definition(module, symbol.name, modules)
            target = memory.function_address((owner.source_name, symbol.name))
        if target is None:
            raise UserError(
                f"{module.source_name}:{variable.position.line}: {variable.name}: its initialiser names {symbol.name}, "
                "which has no address in device memory"
            )
        value = (target + symbol.offset) % (1 << 8 * size)
        memory.view(address + offset, np.uint8, size)[:] = np.frombuffer(value.to_bytes(size, "little"), np.uint8)


def own_names(symbols: Mapping[tuple[str, str], int], module: Module, function: Function) -> dict[str, int]:
    """Numbers of addresses by the names that a function uses; its own variables hide the module's."""
    prefix = f"{function.name}:"
    mine = [(name, number) for (source, name), number in symbols.items() if source == module.source_name]
    outer = {name: number for name, number in mine if ":" not in name and name not in function.variables}
    return outer | {name.removeprefix(prefix): number for name, number in mine if name.startswith(prefix)}
