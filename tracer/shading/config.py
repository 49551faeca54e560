"""How a ray-tracing program is bound to a scene: the TOML beside its PTX, read strictly.

A *field* is one member of a structure that the host fills (a launch parameter, a member of a shader binding table
record); it gets its offset by C's rules and its value from a named source or from the file itself.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.strict import check_choice
from rayplay.formats.guard.text import read_toml

GEOMETRIES = ("triangles", "alpha_triangles", "spheres")
IMAGE_FORMATS = {"rgba32f": 16, "rgba8": 4}
"""Formats of the output buffer and their bytes per pixel."""

BUILT_IN = ("path-tracing", "shadows", "ambient-occlusion")
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
    "positions": "pointer", "indices": "pointer", "uvs": "pointer", "spheres": "pointer",
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
    """What runs where a ray meets a kind of geometry; one per ray type and kind."""

    geometry: str
    closest_hit: str | None = None
    any_hit: str | None = None
    intersection: str | None = None
    record: tuple[Field, ...] = ()


@dataclass(frozen=True, slots=True)
class ProgramConfig:
    """A whole file. ``params_symbol`` is None where the module's only ``.const`` object without contents is meant."""

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


def read_config(path: Path) -> ProgramConfig:
    """Read and check a program configuration; ``UserError`` names the file and the key."""
    raw = read_toml(path)
    place = str(path)
    _check_keys(raw, ("params_symbol", "image_format", "params", "raygen", "miss", "hit_group"), ("raygen",), place)
    image_format = _text(raw, "image_format", place) or "rgba32f"
    check_choice(image_format, tuple(IMAGE_FORMATS), f"{place}: image_format")
    config = ProgramConfig(
        name=path.stem,
        raygen=_read_record(raw["raygen"], f"{place}: raygen"),
        miss=tuple(_read_record(each, where) for each, where in _tables(raw, "miss", place)),
        hit_groups=tuple(_read_hit_group(each, where) for each, where in _tables(raw, "hit_group", place)),
        params=_read_fields(raw.get("params", []), LAUNCH_SOURCES, f"{place}: params"),
        params_symbol=_text(raw, "params_symbol", place),
        image_format=image_format,
    )
    counts = {geometry: len(config.groups_of(geometry)) for geometry in GEOMETRIES if config.groups_of(geometry)}
    if len(set(counts.values())) > 1:
        raise UserError(f"{place}: hit_group: every geometry must have one group per ray type, found {counts}")
    return config


def _read_record(raw: Any, place: str) -> Record:
    _check_keys(raw, ("program", "record"), ("program",), place)
    return Record(_text(raw, "program", place) or "", _read_fields(raw.get("record", []), RECORD_SOURCES, place))


def _read_hit_group(raw: Any, place: str) -> HitGroup:
    programs = ("closest_hit", "any_hit", "intersection")
    _check_keys(raw, ("geometry", *programs, "record"), ("geometry",), place)
    geometry = _text(raw, "geometry", place) or ""
    check_choice(geometry, GEOMETRIES, f"{place}.geometry")
    names = {key: _text(raw, key, place) for key in programs}
    if (names["intersection"] is None) == (geometry == "spheres"):
        needs = "needs" if geometry == "spheres" else "has no use for"
        raise UserError(f"{place}: geometry {geometry!r} {needs} an intersection program")
    return HitGroup(geometry, **names, record=_read_fields(raw.get("record", []), RECORD_SOURCES, f"{place}.record"))


def _read_fields(raw: Any, sources: dict[str, str], place: str) -> tuple[Field, ...]:
    if not isinstance(raw, list):
        raise UserError(f"{place}: must be a list of fields, found {raw!r}")
    fields: list[Field] = []
    end = 0
    for number, each in enumerate(raw):
        field = _read_field(each, sources, end, f"{place}[{number}]")
        end = field.offset + field.bytes
        fields.append(field)
    return tuple(fields)


def _read_field(raw: Any, sources: dict[str, str], end: int, place: str) -> Field:
    _check_keys(raw, ("name", "type", "offset", "source", "value", "bytes_per_pixel"), ("name", "type"), place)
    name, kind = _text(raw, "name", place) or "", _text(raw, "type", place) or ""
    check_choice(kind, TYPES, f"{place}.type")
    align = _size_and_align(kind)[1]
    offset = raw.get("offset", -(-end // align) * align)
    if not isinstance(offset, int) or offset < end or offset % align:
        raise UserError(f"{place}.offset: must be a multiple of {align} and at least {end}, found {offset!r}")
    if len({"source", "value", "bytes_per_pixel"} & raw.keys()) > 1:
        raise UserError(f"{place}: must have one of source, value and bytes_per_pixel, found more")
    if "value" in raw:
        return Field(name, kind, offset, value=_constant(raw["value"], kind, place))
    if "bytes_per_pixel" in raw:
        count = raw["bytes_per_pixel"]
        if kind != "pointer" or sources is not LAUNCH_SOURCES or not isinstance(count, int) or count < 1:
            raise UserError(f"{place}.bytes_per_pixel: must be a positive integer of a launch parameter pointer")
        return Field(name, kind, offset, bytes_per_pixel=count)
    source = _text(raw, "source", place) or name
    check_choice(source, tuple(sources), f"{place}.source")
    if not _fits(kind, sources[source]):
        raise UserError(f"{place}.type: source {source!r} must be {sources[source]}, not {kind}")
    return Field(name, kind, offset, source=source)


def _fits(kind: str, wanted: str) -> bool:
    """Whether a value of type ``wanted`` can be stored as ``kind``: equal bytes, and both floating or both not."""
    return _size_and_align(kind)[0] == _size_and_align(wanted)[0] and (kind[0] == "f") == (wanted[0] == "f")


def _constant(raw: Any, kind: str, place: str) -> tuple[float, ...]:
    values = tuple(raw) if isinstance(raw, list) else (raw,)
    count = int(kind.partition("x")[2] or 1)
    number = (int, float) if kind[0] == "f" else (int,)
    if len(values) != count or any(isinstance(v, bool) or not isinstance(v, number) for v in values):
        raise UserError(f"{place}.value: must be {count} number{'s' * (count > 1)} of type {kind}, found {raw!r}")
    return values


def _size_and_align(kind: str) -> tuple[int, int]:
    """Bytes and alignment of a type, as CUDA's vector types have them: three components align as one."""
    base, _, count = kind.partition("x")
    size = _BASES[base][1]
    return size * int(count or 1), size if count in ("", "3") else min(16, size * int(count))


def _tables(raw: dict[str, Any], key: str, place: str) -> list[tuple[Any, str]]:
    found = raw.get(key, [])
    if not isinstance(found, list):
        raise UserError(f"{place}: {key}: must be written [[{key}]]")
    return [(each, f"{place}: {key}[{number}]") for number, each in enumerate(found)]


def _text(raw: dict[str, Any], key: str, place: str) -> str | None:
    value = raw.get(key)
    if value is not None and (not isinstance(value, str) or not value):
        raise UserError(f"{place}: {key}: must be a text, found {value!r}")
    return value


def _check_keys(raw: Any, known: tuple[str, ...], required: tuple[str, ...], place: str) -> None:
    if not isinstance(raw, dict):
        raise UserError(f"{place}: must be a table, found {raw!r}")
    for key in raw:
        check_choice(key, known, f"{place}: key")
    for key in required:
        if key not in raw:
            raise UserError(f"{place}: needs the key {key!r}")
