"""How a ray-tracing program is bound to a scene: the TOML beside its PTX, read strictly.

A *field* is one member of a structure that the host fills (a launch parameter, a member of a shader binding table
record); it gets its offset by C's rules and its value from a named source or from the file itself.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.strict import check_choice, one_of, read

GEOMETRIES = ("triangles", "alpha_triangles", "spheres")
IMAGE_FORMATS = {"rgba32f": 16, "rgba8": 4}
"""Formats of the output buffer and their bytes per pixel."""

BUILT_IN = ("path-tracing", "shadows", "ambient-occlusion")
VARIANTS = {"optimised": "", "vulkan-sim": "vulkan-sim"}
"""Folder of each variant of the built-in programs; all are bound to the scene in one way."""
PROGRAM_FOLDER = Path(__file__).parents[1] / "programs"

_BASES = {
    "u8": ("<u1", 1), "i8": ("<i1", 1), "u16": ("<u2", 2), "i16": ("<i2", 2), "u32": ("<u4", 4), "i32": ("<i4", 4),
    "u64": ("<u8", 8), "i64": ("<i8", 8), "f32": ("<f4", 4), "f64": ("<f8", 8), "pointer": ("<u8", 8),
}  # fmt: skip
TYPES = (*_BASES, *(f"{base}x{count}" for base in _BASES if base != "pointer" for count in (2, 3, 4)))

LAUNCH_SOURCES = {
    "image": "pointer", "scene": "u64", "world_to_object": "pointer", "object_to_world": "pointer",
    "materials": "pointer", "lights": "pointer", "light_count": "u32", "instance_count": "u32",
    "width": "u32", "height": "u32", "samples": "u32", "bounces": "u32", "seed": "u32",
    "camera_eye": "f32x3", "camera_right": "f32x3", "camera_up": "f32x3", "camera_forward": "f32x3",
    "lens_radius": "f32", "focus_distance": "f32", "has_sky": "u32", "sky_bottom": "f32x3", "sky_top": "f32x3",
}  # fmt: skip
RECORD_SOURCES = {
    "positions": "pointer", "normals": "pointer", "indices": "pointer", "uvs": "pointer",
    "spheres": "pointer",
    "material_numbers": "pointer", "materials": "pointer", "primitive_count": "u32", "geometry_number": "u32",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Field:
    """One member of a structure. ``source`` names what fills it, ``value`` is a constant, ``bytes_per_pixel`` asks for
    a zeroed buffer of that many bytes per pixel; exactly one of the three is set."""

    name: str
    type: str
    offset: int
    source: str | None = None
    value: tuple[float, ...] | None = None
    bytes_per_pixel: int | None = None

    @property
    def dtype(self) -> str:
        """numpy's name for one component."""
        return _BASES[self.type.partition("x")[0]][0]

    @property
    def bytes(self) -> int:
        return _size_and_align(self.type)[0]


@dataclass(frozen=True, slots=True)
class Record:
    """A shader binding table record of a ray generation or miss program."""

    program: str
    record: tuple[Field, ...] = ()


@dataclass(frozen=True, slots=True)
class HitGroup:
    """Programs that run where a ray meets a kind of geometry; one per ray type and kind."""

    geometry: str
    closest_hit: str | None = None
    any_hit: str | None = None
    intersection: str | None = None
    record: tuple[Field, ...] = ()


@dataclass(frozen=True, slots=True)
class ProgramConfig:
    """A whole file. ``params_symbol``: None means the module's only ``.const`` object without contents."""

    name: str
    raygen: Record
    miss: tuple[Record, ...]
    hit_groups: tuple[HitGroup, ...]
    params: tuple[Field, ...]
    params_symbol: str | None
    image_format: str

    def groups_of(self, geometry: str) -> tuple[HitGroup, ...]:
        """The hit groups of one kind of geometry, one per ray type; alpha-tested triangles fall back to plain ones."""
        found = tuple(group for group in self.hit_groups if group.geometry == geometry)
        return self.groups_of("triangles") if not found and geometry == "alpha_triangles" else found

    @property
    def ray_types(self) -> int:
        """Hit records per geometry: the ``sbt_stride`` its trace calls use."""
        return max(1, *(len(self.groups_of(geometry)) for geometry in GEOMETRIES))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Field:
    """A field as it is written; without ``source``, ``value`` and ``bytes_per_pixel`` its name is its source."""

    name: str
    type: str = one_of(TYPES)
    offset: int | None = None
    source: str | None = None
    value: float | tuple[float, ...] | None = None
    bytes_per_pixel: int | None = None

    def __post_init__(self) -> None:
        if sum(each is not None for each in (self.source, self.value, self.bytes_per_pixel)) > 1:
            raise ValueError("must have one of source, value and bytes_per_pixel, found more")


@dataclass(frozen=True, slots=True)
class _Record:
    program: str
    record: tuple[_Field, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _HitGroup:
    geometry: str = one_of(GEOMETRIES)
    closest_hit: str | None = None
    any_hit: str | None = None
    intersection: str | None = None
    record: tuple[_Field, ...] = ()

    def __post_init__(self) -> None:
        if (self.intersection is None) == (self.geometry == "spheres"):
            needs = "needs" if self.geometry == "spheres" else "has no use for"
            raise ValueError(f"geometry {self.geometry!r} {needs} an intersection program")


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    params_symbol: str | None = None
    image_format: str = one_of(IMAGE_FORMATS, default="rgba32f")
    params: tuple[_Field, ...] = ()
    raygen: _Record
    miss: tuple[_Record, ...] = ()
    hit_group: tuple[_HitGroup, ...] = ()


def read_config(path: Path) -> ProgramConfig:
    """Read and check a program configuration; ``UserError`` names the file and the key."""
    file: _File = read(_File, path)
    config = ProgramConfig(
        name=path.stem,
        raygen=_record(file.raygen, f"{path}: raygen"),
        miss=tuple(_record(each, f"{path}: miss[{number}]") for number, each in enumerate(file.miss)),
        hit_groups=tuple(
            HitGroup(
                each.geometry, each.closest_hit, each.any_hit, each.intersection,
                _placed(each.record, RECORD_SOURCES, f"{path}: hit_group[{number}].record"),
            )
            for number, each in enumerate(file.hit_group)
        ),
        params=_placed(file.params, LAUNCH_SOURCES, f"{path}: params"),
        params_symbol=file.params_symbol,
        image_format=file.image_format,
    )  # fmt: skip
    counts = {geometry: len(config.groups_of(geometry)) for geometry in GEOMETRIES if config.groups_of(geometry)}
    if len(set(counts.values())) > 1:
        raise UserError(f"{path}: hit_group: every geometry must have one group per ray type, found {counts}")
    return config


def _record(written: _Record, place: str) -> Record:
    return Record(written.program, _placed(written.record, RECORD_SOURCES, f"{place}.record"))


def _placed(written: tuple[_Field, ...], sources: dict[str, str], place: str) -> tuple[Field, ...]:
    """The fields of a structure, each at its offset: the one written, or the next that fits its alignment."""
    fields: list[Field] = []
    end = 0
    for number, each in enumerate(written):
        align = _size_and_align(each.type)[1]
        offset = -(-end // align) * align if each.offset is None else each.offset
        if offset < end or offset % align:
            raise UserError(
                f"{place}[{number}].offset: must be a multiple of {align} and at least {end}, found {offset!r}"
            )
        fields.append(_filled(each, offset, sources, f"{place}[{number}]"))
        end = offset + fields[-1].bytes
    return tuple(fields)


def _filled(written: _Field, offset: int, sources: dict[str, str], place: str) -> Field:
    """The field with its constant, buffer or source, checked."""
    name, kind, count = written.name, written.type, written.bytes_per_pixel
    if written.value is not None:
        return Field(name, kind, offset, value=_constant(written.value, kind, place))
    if count is not None:
        if kind != "pointer" or sources is not LAUNCH_SOURCES or count < 1:
            raise UserError(f"{place}.bytes_per_pixel: must be a positive integer of a launch parameter pointer")
        return Field(name, kind, offset, bytes_per_pixel=count)
    source = written.source or name
    check_choice(source, sources, f"{place}.source")
    if not _fits(kind, sources[source]):
        raise UserError(f"{place}.type: source {source!r} must be {sources[source]}, not {kind}")
    return Field(name, kind, offset, source=source)


def _fits(kind: str, wanted: str) -> bool:
    """Whether a value of type ``wanted`` can be stored as ``kind``: equal bytes, and both floating or both not."""
    return _size_and_align(kind)[0] == _size_and_align(wanted)[0] and (kind[0] == "f") == (wanted[0] == "f")


def _constant(given: float | tuple[float, ...], kind: str, place: str) -> tuple[float, ...]:
    values = given if isinstance(given, tuple) else (given,)
    count = int(kind.partition("x")[2] or 1)
    if len(values) != count or not (kind[0] == "f" or all(isinstance(value, int) for value in values)):
        found = list(given) if isinstance(given, tuple) else given
        raise UserError(f"{place}.value: must be {count} number{'s' * (count > 1)} of type {kind}, found {found!r}")
    dtype = np.dtype(_BASES[kind.partition("x")[0]][0])
    most = np.finfo(dtype) if kind[0] == "f" else np.iinfo(dtype)
    if not all(most.min <= value <= most.max for value in values):
        raise UserError(f"{place}.value: must be from {most.min} to {most.max} as {kind}, found {given!r}")
    return values


def _size_and_align(kind: str) -> tuple[int, int]:
    """Bytes and alignment of a type, as CUDA's vector types have them: three components align as one."""
    base, _, count = kind.partition("x")
    size = _BASES[base][1]
    return size * int(count or 1), size if count in ("", "3") else min(16, size * int(count))
