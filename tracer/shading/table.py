"""The shader binding table and the launch parameters: bytes in device memory, laid out by a program configuration."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.strict import check_choice
from rayplay.ptx.ir import Function, Module
from rayplay.ptx.isa.optix import kind_of_program
from rayplay.tracer.link.functions import called_names, symbol_names
from rayplay.tracer.link.launches import SBT_HEADER_BYTES, require_sound
from rayplay.tracer.memory.arena import DeviceMemory
from rayplay.tracer.scenes.description import Geometry
from rayplay.tracer.shading.config import RECORD_ALIGN, HitGroup, ProgramConfig
from rayplay.tracer.shading.fields import Field, Values, pack_fields

NO_PROGRAM = -1


@dataclass(frozen=True)
class ShaderTable:
    """Addresses of the records, and the programs they name (docs/sources/optix.md#shader-binding-table).

    hit_programs   int32[hit records, 3]: program ids closest-hit, any-hit, intersection; -1 for none.
    """

    raygen_record_address: int
    miss_record_addresses: NDArray[np.uint64]
    hit_record_addresses: NDArray[np.uint64]
    miss_programs: NDArray[np.int32]
    hit_programs: NDArray[np.int32]
    callable_record_addresses: NDArray[np.uint64]
    callables: tuple[int, ...]
    exception_record_address: int
    exception_index: int


def program_names(config: ProgramConfig) -> list[str]:
    """The programs of a launch in the order of their ids: ray generation is 0, then as the configuration names them,
    callables and the exception program last."""
    names = [config.raygen.program, *(miss.program for miss in config.miss)]
    for group in config.hit_groups:
        names += [name for name in (group.closest_hit, group.any_hit, group.intersection) if name]
    names += [each.program for each in config.callables]
    names += [config.exception.program] if config.exception else []
    return list(dict.fromkeys(names))


def _kinds(config: ProgramConfig) -> dict[str, tuple[str, ...]]:
    """How the name of each program begins."""
    kinds: dict[str, tuple[str, ...]] = {config.raygen.program: ("__raygen__",)}
    kinds |= {miss.program: ("__miss__",) for miss in config.miss}
    for group in config.hit_groups:
        kinds |= {group.closest_hit or "": ("__closesthit__",), group.any_hit or "": ("__anyhit__",)}
        kinds |= {group.intersection or "": ("__intersection__",)}
    kinds |= {each.program: ("__direct_callable__", "__continuation_callable__") for each in config.callables}
    return kinds | ({config.exception.program: ("__exception__",)} if config.exception else {})


def find_programs(config: ProgramConfig, modules: Sequence[Module], place: str) -> list[tuple[Module, Function]]:
    """The functions behind ``program_names``, and the module of each, the first that has it.

    ``UserError`` with the nearest name where no module has one, and with line and column where one, or a function that
    it calls by name, is not valid.
    """
    kinds = _kinds(config)
    there: dict[str, Module] = {}
    for module in reversed(modules):
        there.update(
            (name, module) for name, f in module.functions.items() if not f.is_declaration and kind_of_program(name)
        )
    found = []
    for name in program_names(config):
        if not name.startswith(kinds[name]):
            raise UserError(f"{place}: program {name!r} must be one called {' or '.join(kinds[name])}...")
        check_choice(name, list(there), f"{place}: programs of {', '.join(module.source_name for module in modules)}")
        found.append((there[name], there[name].functions[name]))
    for module in modules:
        own = [function for owner, function in found if owner is module]
        if own:
            require_sound(replace(module, functions=_with_named(module, own)))
    return found


def _with_named(module: Module, programs: list[Function]) -> dict[str, Function]:
    """Programs of a module, all functions that they name, and its declarations."""
    found = {f.name: f for f in module.functions.values() if f.is_declaration}
    found |= {f.name: f for f in programs}
    for function in (todo := list(programs)):
        for name in {*called_names(function), *(n for i in function.body for n in symbol_names(i))}:
            if name in module.functions and name not in found:
                found[name] = module.functions[name]
                todo.append(module.functions[name])
    held = [symbol.name for v in module.variables.values() for _, symbol in v.relocations]
    return found | {name: module.functions[name] for name in held if name in module.functions}


def build_table(
    config: ProgramConfig,
    geometries: Sequence[Geometry],
    values: Sequence[Values],
    missing: Values,
    memory: DeviceMemory,
) -> ShaderTable:
    """Lay out all records: hit record ``geometry * ray_types + ray_type``, miss records as listed.

    values    what the record fields of each geometry may name besides ``missing``, which all records may.
    Raises ``UserError`` where a geometry has no hit group, and where a record is longer than the stride.
    """
    ids = {name: number for number, name in enumerate(program_names(config))}
    raygen = _record((ids[config.raygen.program],), config.raygen.record, missing, "raygen")
    misses = [_record((ids[m.program],), m.record, missing, f"miss[{i}]") for i, m in enumerate(config.miss)]
    hits, programs = [], []
    for geometry, source in zip(geometries, values, strict=True):
        for group in _groups(config, geometry):
            row = tuple(ids[n] if n else NO_PROGRAM for n in (group.closest_hit, group.any_hit, group.intersection))
            programs.append(row)
            hits.append(_record(row, group.record, {**missing, **source}, f"hit_group {group.geometry}"))
    called = [_record((ids[c.program],), c.record, missing, f"callable[{i}]") for i, c in enumerate(config.callables)]
    thrown, strides = config.exception, config.strides
    exception = [_record((ids[thrown.program],), thrown.record, missing, "exception")] if thrown else []
    return ShaderTable(
        raygen_record_address=int(_place([raygen], memory, 0, "")[0]),
        miss_record_addresses=_place(misses, memory, strides.miss, f"{config.name}: strides.miss"),
        hit_record_addresses=_place(hits, memory, strides.hit, f"{config.name}: strides.hit"),
        callable_record_addresses=_place(called, memory, strides.callable, f"{config.name}: strides.callable"),
        callables=tuple(ids[each.program] for each in config.callables),
        exception_record_address=int(_place(exception, memory, 0, "")[0]) if exception else 0,
        exception_index=ids[thrown.program] if thrown else NO_PROGRAM,
        miss_programs=np.array([ids[miss.program] for miss in config.miss], np.int32),
        hit_programs=np.array(programs, np.int32).reshape(-1, 3),
    )


def geometry_kind(geometry: Geometry) -> str:
    """A program configuration's name for this kind of geometry."""
    if geometry.procedural:
        return "curves" if geometry.curves else "spheres"
    kind = "triangles" if geometry.opaque else "alpha_triangles"
    return f"textured_{kind}" if geometry.textured else kind


def _groups(config: ProgramConfig, geometry: Geometry) -> tuple[HitGroup, ...]:
    kind = geometry_kind(geometry)
    groups = config.groups_of(kind)
    if not groups:
        raise UserError(f"{config.name}: the scene has {kind}, so the program needs a hit_group with geometry {kind!r}")
    return groups


def _record(programs: tuple[int, ...], fields: tuple[Field, ...], values: Values, place: str) -> bytes:
    """The 32-byte header, which holds the program ids, and the user's data."""
    header = struct.pack(f"<{len(programs)}i", *programs).ljust(SBT_HEADER_BYTES, b"\0")
    return header + pack_fields(fields, values, place)


def _place(records: list[bytes], memory: DeviceMemory, stride: int, place: str) -> NDArray[np.uint64]:
    """Put records of one kind behind each other, at one stride; their addresses."""
    if not records and place.endswith("callable"):
        return np.zeros(0, np.uint64)
    least = -(-max((len(record) for record in records), default=0) // RECORD_ALIGN) * RECORD_ALIGN
    if stride and stride < least:
        raise UserError(f"{place}: must be at least {least}, the bytes of the longest record, found {stride}")
    stride = stride or least
    base = memory.allocate(b"".join(record.ljust(stride, b"\0") for record in records))
    return base + stride * np.arange(len(records), dtype=np.uint64)
