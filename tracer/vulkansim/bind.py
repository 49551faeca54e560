"""A folder of Vulkan-Sim's shaders bound to a scene: the module, its configuration, and the memory that they read."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.strict import check_choice, read
from rayplay.ptx.ir import Module
from rayplay.ptx.vulkansim.code import PARAMETERS as SYMBOL
from rayplay.ptx.vulkansim.images import TEXEL_BYTES
from rayplay.ptx.vulkansim.layout import FIRST_DESCRIPTOR, PARAMETERS, Descriptor, Key
from rayplay.ptx.vulkansim.pipeline import Pipeline, lower_pipeline
from rayplay.tracer.bvh.instances import all_instances
from rayplay.tracer.memory.arena import DeviceMemory
from rayplay.tracer.scenes.description import Scene
from rayplay.tracer.shading.config import LAUNCH_SOURCES, HitGroup, ProgramConfig, Record
from rayplay.tracer.shading.fields import Field, WrittenField, pack_fields, place_fields
from rayplay.tracer.shading.upload import place_picture
from rayplay.tracer.vulkansim.folder import Folder, read_folder
from rayplay.tracer.vulkansim.groups import Group, Table, read_table
from rayplay.tracer.vulkansim.scene_data import SOURCES

BINDINGS = "bindings.toml"
GEOMETRIES = {"triangles": "triangles", "procedural": "spheres"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _WrittenField(WrittenField):
    """A field of a structure: as elsewhere, or the address of a ``buffer`` of the scene."""

    buffer: str | None = None

    def __post_init__(self) -> None:
        WrittenField.__post_init__(self)
        if self.buffer is not None and (self.source, self.value, self.bytes_per_pixel) != (None, None, None):
            raise ValueError("must have one of source, value and buffer, found more")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Written:
    """A descriptor in a file of bindings: a buffer of the scene, or a structure."""

    set: int
    binding: int
    source: str | None = None
    fields: tuple[_WrittenField, ...] = ()

    def __post_init__(self) -> None:
        if (self.source is None) == (not self.fields):
            raise ValueError("must have one of source and fields")


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    descriptor: tuple[_Written, ...] = ()


@dataclass(frozen=True)
class Bound:
    """A folder that is ready to be prepared as a launch; ``place`` fills what its launch parameters point to."""

    module: Module
    config: ProgramConfig
    folder: Folder
    pipeline: Pipeline
    scene: Scene
    structures: Mapping[Key, tuple[Field, ...]]
    sources: Mapping[Key, str]

    def place(self, memory: DeviceMemory, values: Mapping[str, Any]) -> dict[str, int]:
        """Addresses of the buffers that descriptors and matrices need, by the names of their parameters' sources."""
        made = {}
        values = {**values, **self._addresses(memory, values)}
        for key, descriptor in self.pipeline.layout.descriptors.items():
            if descriptor.kind == "textures":
                made[_name(key)] = memory.allocate(_textures(self.scene, memory, descriptor.stride))
            elif descriptor.kind == "buffer":
                made[_name(key)] = memory.allocate(self._contents(key, values), name=f"descriptor {key}")
        if self.pipeline.layout.uses_matrices:
            matrices = np.zeros((len(all_instances(self.scene).matrix), 4, 4))
            matrices[:, :3], matrices[:, 3, 3] = all_instances(self.scene).matrix, 1.0
            for name, each in (("object_to_world", matrices), ("world_to_object", np.linalg.inv(matrices))):
                columns = each.transpose(0, 2, 1).astype(np.float32)
                made[f"{name}_columns"] = memory.allocate(np.ascontiguousarray(columns))
        return made

    def _addresses(self, memory: DeviceMemory, values: Mapping[str, Any]) -> dict[str, int]:
        """Addresses of the buffers of the scene to which structures point, once for all structures."""
        named = {field.source for fields in self.structures.values() for field in fields}
        return {
            _address(name): memory.allocate(make(self.scene, values), name=name)
            for name, make in SOURCES.items()
            if _address(name) in named
        }

    def _contents(self, key: Key, values: Mapping[str, Any]) -> bytes:
        if key in self.sources:
            return SOURCES[self.sources[key]](self.scene, values)
        if key in self.structures:
            return pack_fields(self.structures[key], values, f"{self.folder.path}: set {key[0]} binding {key[1]}")
        return self.folder.buffers[key]


def bind_folder(path: Path, bindings: Path | None, scene: Scene) -> Bound:
    """Read a folder and bind it to a scene.

    bindings  file that says which descriptors the scene fills; None: ``bindings.toml`` of the folder, if there is one.
    Raises ``UserError`` for what cannot be read or lowered, and for a buffer that nothing fills.
    """
    folder = read_folder(path)
    table = read_table(folder)
    pipeline = lower_pipeline(folder.shaders, table.hits(), folder.formats, str(path))
    file = bindings or path / BINDINGS
    structures, sources = _read_bindings(file) if bindings or file.exists() else ({}, {})
    for key, descriptor in pipeline.layout.descriptors.items():
        filled = key in structures or key in sources or key in folder.buffers
        if descriptor.kind == "buffer" and not filled:
            wanted = f"{key[0]}_{key[1]}_BYTES_TYPE.vkdescrptorsetdata, or a descriptor in {BINDINGS}"
            raise UserError(f"{path}: set {key[0]} binding {key[1]}: a buffer must have its bytes: {wanted}")
    config = _config(path, pipeline, table)
    return Bound(pipeline.module, config, folder, pipeline, scene, structures, sources)


def _read_bindings(path: Path) -> tuple[dict[Key, tuple[Field, ...]], dict[Key, str]]:
    file: _File = read(_File, path)
    structures: dict[Key, tuple[Field, ...]] = {}
    sources: dict[Key, str] = {}
    for number, each in enumerate(file.descriptor):
        key, place = (each.set, each.binding), f"{path}: descriptor[{number}]"
        if key in structures or key in sources:
            raise UserError(f"{place}: set {each.set} binding {each.binding} must stand once")
        if each.source is not None:
            check_choice(each.source, SOURCES, f"{place}.source")
            sources[key] = each.source
        else:
            structures[key] = _placed(each.fields, f"{place}.fields")
    return structures, sources


def _placed(written: tuple[_WrittenField, ...], place: str) -> tuple[Field, ...]:
    """The fields at their offsets; where one names a buffer, its source is that buffer's address."""
    plain = []
    for number, each in enumerate(written):
        if each.buffer is not None:
            check_choice(each.buffer, SOURCES, f"{place}[{number}].buffer")
            if each.type != "pointer":
                raise UserError(f"{place}[{number}].type: must be pointer for a buffer, not {each.type}")
        plain.append(each if each.buffer is None else replace(each, buffer=None, value=0))
    placed = place_fields(tuple(plain), LAUNCH_SOURCES, place)
    return tuple(
        field if each.buffer is None else replace(field, value=None, source=_address(each.buffer))
        for each, field in zip(written, placed, strict=True)
    )


def _address(buffer: str) -> str:
    return f"address of {buffer}"


def _name(key: Key) -> str:
    return f"descriptor_{key[0]}_{key[1]}"


def _config(path: Path, pipeline: Pipeline, table: Table) -> ProgramConfig:
    layout, names = pipeline.layout, pipeline.names
    stored = [key for key, descriptor in layout.descriptors.items() if descriptor.is_stored]
    if not stored:
        raise UserError(f"{path}: a shader must store to an image (image_deref_store), found none that does")
    picture = max(stored)
    fields = [_null("variables"), Field("width", "u32", PARAMETERS["width"], source="width")]
    if layout.block_bytes:
        fields[0] = Field("variables", "pointer", PARAMETERS["variables"], bytes_per_pixel=layout.block_bytes)
    for name in ("object_to_world", "world_to_object"):
        bound = Field(name, "pointer", PARAMETERS[name], source=f"{name}_columns")
        fields.append(bound if layout.uses_matrices else _null(name))
    for key, descriptor in layout.descriptors.items():
        fields.append(_field(key, descriptor, picture, layout.formats.get(key, "rgba32f")))
    assert layout.parameter_bytes == FIRST_DESCRIPTOR + 8 * len(layout.descriptors)
    return ProgramConfig(
        name=path.name,
        raygen=Record(names[table.raygen]),
        miss=tuple(Record(names[number]) for number in table.miss),
        hit_groups=tuple(_group(group, names) for group in table.groups),
        params=tuple(fields),
        params_symbol=SYMBOL,
        image_format=layout.formats.get(picture, "rgba32f"),
    )


def _null(name: str) -> Field:
    return Field(name, "pointer", PARAMETERS[name], value=(0,))


def _field(key: Key, descriptor: Descriptor, picture: Key, image_format: str) -> Field:
    if descriptor.kind == "image" and key != picture:
        return Field(_name(key), "pointer", descriptor.offset, bytes_per_pixel=TEXEL_BYTES[image_format])
    source = "image" if descriptor.kind == "image" else "scene" if descriptor.kind == "scene" else _name(key)
    return Field(_name(key), "pointer", descriptor.offset, source=source)


def _group(group: Group, names: Mapping[int, str]) -> HitGroup:
    shaders = (group.closest_hit, group.any_hit, group.intersection)
    closest_hit, any_hit, intersection = (None if number is None else names[number] for number in shaders)
    return HitGroup(GEOMETRIES[group.geometry], closest_hit, any_hit, intersection)


def _textures(scene: Scene, memory: DeviceMemory, stride: int) -> np.ndarray:
    """The table of a scene's pictures: handles in the first bytes of its entries."""
    table = np.zeros((max(len(scene.pictures), 1), stride // 8), np.uint64)
    table[: len(scene.pictures), 0] = [place_picture(picture, memory) for picture in scene.pictures]
    return table
