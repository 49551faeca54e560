"""Shaders of draws: the TOML that binds entries of a PTX file to buffers, textures and varyings, read strictly."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from rayplay import ptx
from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.strict import check_choice, read
from rayplay.formats.guard.text import confined
from rayplay.ptx.ir import Module
from rayplay.tracer.link.launches import require_sound
from rayplay.tracer.shading.fields import Field, WrittenField, pack_fields, params_symbol, place_fields

BUILT_IN = Path(__file__).parents[1] / "programs" / "graphics" / "surface.toml"
SURFACE_MAPS = ("base_color", "metallic_roughness", "normal", "occlusion", "emissive", "height")
"""Sources of ``scenes.textured.MAPS``, in their order."""
LAYERS = "layers"
AROUND = ("irradiance", "prefiltered", "brdf")
MAPS = (*SURFACE_MAPS, LAYERS, *AROUND)
ADDRESSES = (
    "vertices", "positions", "normals", "uv", "colors", "places", "instances", "clip", "steps", "slots", "target",
    "window", "depth",
)  # fmt: skip
SOURCES = {
    **dict.fromkeys(ADDRESSES, "pointer"), **{f"{name}_map": "u64" for name in MAPS},
    "base_color": "f32x4", "emissive": "f32x3", "metallic": "f32", "roughness": "f32", "cutoff": "f32",
    "length": "u32", "invocations": "u32", "width": "u32", "height": "u32", "depth_write": "u32", "blends": "u32",
    "to_clip_x": "f32x4", "to_clip_y": "f32x4", "to_clip_z": "f32x4", "to_clip_w": "f32x4",
    "eye": "f32x3", "to_light": "f32x3", "light": "f32x3", "ambient": "f32x3",
}  # fmt: skip
OF_MERGERS = ("depth_write", "blends")
"""Numbers that only entries with the output merger's traffic read."""
NEEDED = ("clip", "slots", "target")
"""Without these no vertex has a place and no fragment a colour."""
COLUMNS = {"f32": 1, "f32x2": 2, "f32x3": 3, "f32x4": 4}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entries:
    """The two entries of a draw, what goes from one to the other, and the maps that are bound."""

    vertex: str
    fragment: str
    varyings: tuple[str, ...] | None = None
    """None: all of the file."""
    maps: tuple[str, ...] = field(default=MAPS)
    merged: str | None = None
    """The fragment entry that also makes the output merger's traffic."""
    colored: "Entries | None" = None
    """The pair for draws whose vertices have colours; None: the same for all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    program: str
    params_symbol: str | None = None
    params: tuple[WrittenField, ...]
    varyings: dict[str, str] = field(default_factory=dict)
    shader: dict[str, Entries]
    instanced: Entries | None = None


@dataclass(frozen=True)
class Shaders:
    """A program, its constants, and the entries that draws run."""

    place: str
    module: Module
    symbol: str
    params: tuple[Field, ...]
    varyings: Mapping[str, int]
    """Columns of each varying."""
    entries: Entries
    instanced: Entries | None
    """Of draws with attributes for each instance."""

    def columns(self, entries: Entries) -> dict[str, int]:
        """Columns of the varyings of a pair of entries."""
        names = self.varyings if entries.varyings is None else entries.varyings
        return {name: self.varyings[name] for name in names}

    def constants(self, values: Mapping[str, object]) -> dict[str, bytes]:
        """The program's constants; an address or handle that has no value is 0."""
        nothing = {each.source: 0 for each in self.params if each.type in ("pointer", "u64") and each.source}
        nothing |= dict.fromkeys(OF_MERGERS, 0)
        packed = pack_fields(self.params, {**nothing, **values}, f"{self.place}: params")
        return {self.symbol: packed.ljust(self.module.variables[self.symbol].bytes, b"\0")}


def read_shaders(path: Path, name: str | None) -> Shaders:
    """The shaders of a file; ``name`` chooses among its pairs and may be left out where there is one.

    Raises ``UserError`` for whatever is wrong with the file or its program: an unknown key, entry, map or varying, an
    entry with parameters, and constants that do not fit the program's.
    """
    file: _File = read(_File, path)
    for varying, kind in file.varyings.items():
        check_choice(kind, COLUMNS, f"{path}: varyings.{varying}")
        if varying in SOURCES or f"{varying}_out" in SOURCES:
            raise UserError(f"{path}: varyings.{varying}: must not be called like a source of params")
    chosen = _chosen(path, file, name)
    own = {each: "pointer" for varying in file.varyings for each in (varying, f"{varying}_out")}
    params = place_fields(file.params, SOURCES | own, f"{path}: params")
    for needed in NEEDED:
        if needed not in {each.source for each in params}:
            raise UserError(f"{path}: params: needs a field with the source {needed!r}")
    module = ptx.parse_file(confined(path, file.program, "program", "shaders' file"))
    pairs = {f"shader.{chosen}": file.shader[chosen], "instanced": file.instanced}
    pairs |= {f"{where}.colored": entries.colored for where, entries in pairs.items() if entries is not None}
    for where, entries in pairs.items():
        if entries is not None:
            _check_entries(entries, module, file, f"{path}: {where}")
    _require_sound(module, tuple(pairs.values()))
    symbol = params_symbol(file.params_symbol, params, [module], str(path))
    assert symbol is not None  # some parameters are needed
    columns = {varying: COLUMNS[kind] for varying, kind in file.varyings.items()}
    return Shaders(str(path), module, symbol, params, columns, file.shader[chosen], file.instanced)


def _chosen(path: Path, file: _File, name: str | None) -> str:
    if not file.shader:
        raise UserError(f"{path}: shader: must have at least one pair of entries, [shader.NAME]")
    if name is None and len(file.shader) > 1 and path != BUILT_IN:
        raise UserError(f"{path}: --shader must choose one of {', '.join(file.shader)}")
    chosen = name or next(iter(file.shader))
    check_choice(chosen, file.shader, f"{path}: --shader")
    return chosen


def _check_entries(entries: Entries, module: Module, file: _File, place: str) -> None:
    known = [function.name for function in module.functions.values() if function.is_entry]
    for key in ("vertex", "fragment", "merged"):
        name = getattr(entries, key)
        if name is None:
            continue
        check_choice(name, known, f"{place}.{key}: entries of {module.source_name}")
        if count := len(module.functions[name].parameters):
            raise UserError(
                f"{place}.{key}: entry {name} must have no parameters, since it reads params; found {count}"
            )
    for number, name in enumerate(entries.maps):
        check_choice(name, MAPS, f"{place}.maps[{number}]")
    for number, name in enumerate(entries.varyings or ()):
        check_choice(name, file.varyings, f"{place}.varyings[{number}]")


def _require_sound(module: Module, chosen: tuple[Entries | None, ...]) -> None:
    """``UserError`` for the first problem in an entry that is run, or in a function that entries call."""
    used = {name for one in chosen if one for name in (one.vertex, one.fragment, one.merged)}
    functions = {name: each for name, each in module.functions.items() if name in used or not each.is_entry}
    require_sound(replace(module, functions=functions))
