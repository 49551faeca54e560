"""Compiled shaders bound to a scene: what fills each parameter follows from its type and its name.

A scene fills acceleration structures; the picture the texture or buffer that shaders write; fields of constant buffers
and plain values have the names of launch parameters, or values from a file; buffers have the names of a scene's data
(docs/programs/shaders.md).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.nearest import hint
from rayplay.formats.guard.strict import check_choice, read
from rayplay.ptx import parse
from rayplay.ptx.ir import Module
from rayplay.tracer.memory.arena import DeviceMemory
from rayplay.tracer.memory.images import Image, place_surface
from rayplay.tracer.scenes.description import Scene
from rayplay.tracer.shading.config import LAUNCH_SOURCES, HitGroup, ProgramConfig, Record
from rayplay.tracer.shading.fields import Field, WrittenField, pack_fields, place_fields
from rayplay.tracer.slang.compile import compile_shader
from rayplay.tracer.vulkansim.scene_data import SOURCES

SYMBOL = "SLANG_globalParams"
SCALARS = {
    "float32": "f32", "uint32": "u32", "int32": "i32", "float64": "f64", "uint64": "u64", "int64": "i64",
    "uint16": "u16", "int16": "i16", "uint8": "u8", "int8": "i8",
}  # fmt: skip
PIXEL_BYTES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    """``values`` of plain parameters, by name, and of members of constant buffers, by ``BUFFER.NAME``."""

    values: dict[str, float | tuple[float, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Bound:
    """Compiled shaders that are ready to be prepared as a launch."""

    module: Module
    config: ProgramConfig
    scene: Scene
    constants: Mapping[str, tuple[Field, ...]]
    buffers: Mapping[str, tuple[str, int]]
    place_name: str

    def place(self, memory: DeviceMemory, values: Mapping[str, Any]) -> dict[str, Any]:
        """Values of the parameters that need memory, by the names of their sources."""
        size = (values["height"], values["width"])
        surface = place_surface(memory, Image(values["image"], size, "float32", 4))
        made: dict[str, Any] = {"picture": surface, "pixels": size[0] * size[1]}
        for name, fields in self.constants.items():
            made[f"{name} constants"] = memory.allocate(pack_fields(fields, values, f"{self.place_name}: {name}"))
        for name, (source, stride) in self.buffers.items():
            data = SOURCES[source](self.scene, values)
            made[f"{name} address"], made[f"{name} count"] = memory.allocate(data), len(data) // stride
        return made


def bind_shader(path: Path, scene: Scene, file: Path | None = None) -> Bound:
    """Compile a file of shaders and bind it to a scene; ``file`` has values of parameters that no scene fills.

    Raises ``UserError`` for what does not compile, for a parameter that nothing fills, and for a value of none.
    """
    values = read(_File, file).values if file else {}
    compiled = compile_shader(path)
    module = parse(compiled.ptx, str(path))
    parameters = compiled.reflection.get("parameters", [])
    fields: list[Field] = []
    constants: dict[str, tuple[Field, ...]] = {}
    buffers: dict[str, tuple[str, int]] = {}
    for parameter in parameters:
        fields += _fields(parameter, f"{path}: {parameter['name']}", constants, buffers, values)
    known = [each["name"] for each in parameters if each["type"]["kind"] in ("scalar", "vector")]
    known += [f"{name}.{member.name}" for name, members in constants.items() for member in members]
    for name in values:
        check_choice(name, known, f"{file}: values")
    if not any(field.source in ("picture", "image") for field in fields):
        raise UserError(f"{path}: must have a RWTexture2D<float4> or a RWStructuredBuffer<float4> image, found none")
    return Bound(module, _config(path, module, tuple(fields)), scene, constants, buffers, str(path))


def _fields(
    parameter: dict[str, Any],
    place: str,
    constants: dict[str, tuple[Field, ...]],
    buffers: dict[str, tuple[str, int]],
    values: Mapping[str, Any],
) -> Iterator[Field]:
    """The members of the launch parameters that one parameter of the shaders is."""
    name, kind, offset = parameter["name"], parameter["type"], parameter["binding"]["offset"]
    shape, writes = kind.get("baseShape", ""), kind.get("access") == "readWrite"
    if shape == "accelerationStructure":
        yield Field(name, "u64", offset, source="scene")
    elif shape == "texture2D" and writes:
        _require_pixels(kind, place)
        yield Field(name, "u64", offset, source="picture")
    elif shape == "structuredBuffer" and writes:
        _require_pixels(kind, place)
        yield from (Field(name, "pointer", offset, source="image"), Field(name, "u64", offset + 8, source="pixels"))
    elif shape == "structuredBuffer":
        check_choice(name, SOURCES, f"{place}: buffers of a scene")
        buffers[name] = (name, max(1, _bytes(kind["resultType"])))
        yield Field(name, "pointer", offset, source=f"{name} address")
        yield Field(name, "u64", offset + 8, source=f"{name} count")
    elif kind["kind"] == "constantBuffer":
        members = kind["elementType"].get("fields", [])
        constants[name] = tuple(
            _value(member, f"{place}.{member['name']}", values.get(f"{name}.{member['name']}")) for member in members
        )
        yield Field(name, "pointer", offset, source=f"{name} constants")
    elif kind["kind"] in ("scalar", "vector"):
        yield _value(parameter, place, values.get(name))
    else:
        raise UserError(f"{place}: a parameter of this kind, {shape or kind['kind']}, is not bound")


def _require_pixels(kind: dict[str, Any], place: str) -> None:
    if _bytes(kind["resultType"]) != PIXEL_BYTES:
        raise UserError(f"{place}: what shaders write must be the picture, of float4")


def _value(member: dict[str, Any], place: str, given: Any) -> Field:
    """A value that a launch parameter fills, or the given one."""
    name, type_name = member["name"], _type(member["type"], place)
    if given is not None:
        (placed,) = place_fields((WrittenField(name=name, type=type_name, value=given),), {}, place)
        return replace(placed, offset=member["binding"]["offset"])
    if name not in LAUNCH_SOURCES:
        raise UserError(f"{place}: must have a value in a file (--program-config), or be called as a launch parameter; "
                        f"{hint(name, LAUNCH_SOURCES)}")  # fmt: skip
    if type_name != LAUNCH_SOURCES[name]:
        raise UserError(f"{place}: must have the type {LAUNCH_SOURCES[name]}, found {type_name}")
    return Field(name, type_name, member["binding"]["offset"], source=name)


def _type(kind: dict[str, Any], place: str) -> str:
    scalar = kind.get("elementType", kind).get("scalarType", "")
    if kind["kind"] not in ("scalar", "vector") or scalar not in SCALARS:
        raise UserError(f"{place}: must be a number or a vector, found {kind['kind']}")
    return SCALARS[scalar] + (f"x{kind['elementCount']}" if kind["kind"] == "vector" else "")


def _bytes(kind: dict[str, Any]) -> int:
    """Bytes of an element of a buffer or texture; 0 for one that is no vector of floats and has no known size."""
    known = next((size["value"] for size in kind.get("sizes", ()) if size["kind"] == "uniform"), 0)
    is_floats = kind.get("elementType", {}).get("scalarType") == "float32"
    return known or (4 * kind["elementCount"] if kind["kind"] == "vector" and is_floats else 0)


def _config(path: Path, module: Module, fields: tuple[Field, ...]) -> ProgramConfig:
    """Programs by their kinds, in the order of the file: triangles take the first closest-hit and any-hit shader,
    spheres the intersection shader and the second closest-hit shader, if there is one."""
    names = [name for name, function in module.functions.items() if function.is_entry]
    of = {kind: [n for n in names if n.startswith(f"__{kind}__")] for kind in
          ("raygen", "miss", "closesthit", "anyhit", "intersection")}  # fmt: skip
    if len(of["raygen"]) != 1 or len(of["intersection"]) > 1 or len(of["closesthit"]) > 2 or len(of["anyhit"]) > 1:
        counts = ", ".join(f"{len(found)} {kind}" for kind, found in of.items())
        raise UserError(f"{path}: must have one raygeneration shader, at most two closesthit, and one anyhit and "
                        f"intersection; found {counts}")  # fmt: skip
    closest: list[str | None] = [*of["closesthit"], None]
    groups = [HitGroup("triangles", closest[0], next(iter(of["anyhit"]), None))]
    if of["intersection"]:
        groups.append(
            HitGroup("spheres", of["closesthit"][-1] if of["closesthit"] else None, None, of["intersection"][0])
        )
    ordered = tuple(sorted(fields, key=lambda field: field.offset))
    return ProgramConfig(
        name=path.stem, raygen=Record(of["raygen"][0]), miss=tuple(map(Record, of["miss"])), hit_groups=tuple(groups),
        params=ordered, params_symbol=SYMBOL, image_format="rgba32f",
    )  # fmt: skip
