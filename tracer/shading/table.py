"""The shader binding table and the launch parameters: bytes in device memory, laid out by a program configuration."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.strict import check_choice
from rayplay.ptx.ir import Function, Module
from rayplay.tracer.link.launches import SBT_HEADER_BYTES, require_sound
from rayplay.tracer.memory.arena import DeviceMemory
from rayplay.tracer.scenes.description import Geometry
from rayplay.tracer.shading.config import HitGroup, ProgramConfig
from rayplay.tracer.shading.fields import Field, Values, pack_fields

RECORD_ALIGN = 16
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


def program_names(config: ProgramConfig) -> list[str]:
    """The programs of a launch in the order of their ids: ray generation is 0, then as the configuration names them."""
    names = [config.raygen.program, *(miss.program for miss in config.miss)]
    for group in config.hit_groups:
        names += [name for name in (group.closest_hit, group.any_hit, group.intersection) if name]
    return list(dict.fromkeys(names))


def find_programs(config: ProgramConfig, module: Module, place: str) -> list[Function]:
    """The functions behind ``program_names``.

    ``UserError`` with the nearest name where the module has none, and with line and column where one is not valid.
    """
    kinds = {config.raygen.program: "__raygen__", **{miss.program: "__miss__" for miss in config.miss}}
    for group in config.hit_groups:
        kinds |= {group.closest_hit or "": "__closesthit__", group.any_hit or "": "__anyhit__"}
        kinds |= {group.intersection or "": "__intersection__"}
    entries = [name for name, function in module.functions.items() if function.is_entry]
    for name in program_names(config):
        if not name.startswith(kinds[name]):
            raise UserError(f"{place}: program {name!r} must be one called {kinds[name]}...")
        check_choice(name, entries, f"{place}: programs of {module.source_name}")
    found = {name: module.functions[name] for name in program_names(config)}
    helpers = {name: function for name, function in module.functions.items() if not function.is_entry}
    require_sound(replace(module, functions={**found, **helpers}))
    return list(found.values())


def build_table(
    config: ProgramConfig,
    geometries: Sequence[Geometry],
    values: Sequence[Values],
    missing: Values,
    memory: DeviceMemory,
) -> ShaderTable:
    """Lay out all records: hit record ``geometry * ray_types + ray_type``, miss records as listed.

    values    what the record fields of each geometry may name; ``missing`` the same for the other records.
    Raises ``UserError`` where a geometry has no hit group.
    """
    ids = {name: number for number, name in enumerate(program_names(config))}
    raygen = _record((ids[config.raygen.program],), config.raygen.record, missing, "raygen")
    misses = [_record((ids[m.program],), m.record, missing, f"miss[{i}]") for i, m in enumerate(config.miss)]
    hits, programs = [], []
    for geometry, source in zip(geometries, values, strict=True):
        for group in _groups(config, geometry):
            row = tuple(ids[n] if n else NO_PROGRAM for n in (group.closest_hit, group.any_hit, group.intersection))
            programs.append(row)
            hits.append(_record(row, group.record, source, f"hit_group {group.geometry}"))
    return ShaderTable(
        raygen_record_address=int(_place([raygen], memory)[0]),
        miss_record_addresses=_place(misses, memory),
        hit_record_addresses=_place(hits, memory),
        miss_programs=np.array([ids[miss.program] for miss in config.miss], np.int32),
        hit_programs=np.array(programs, np.int32).reshape(-1, 3),
    )


def geometry_kind(geometry: Geometry) -> str:
    """A program configuration's name for this kind of geometry."""
    if geometry.procedural:
        return "spheres"
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


def _place(records: list[bytes], memory: DeviceMemory) -> NDArray[np.uint64]:
    """Put records of one kind behind each other, at one stride; their addresses."""
    stride = -(-max((len(record) for record in records), default=0) // RECORD_ALIGN) * RECORD_ALIGN
    base = memory.allocate(b"".join(record.ljust(stride, b"\0") for record in records))
    return base + stride * np.arange(len(records), dtype=np.uint64)
