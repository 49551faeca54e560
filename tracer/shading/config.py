"""How a ray-tracing program is bound to a scene: the TOML beside its PTX, read strictly."""

from dataclasses import dataclass, field, replace
from pathlib import Path

from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.strict import one_of, read
from rayplay.formats.guard.text import confined
from rayplay.tracer.launchfile.file import Resources
from rayplay.tracer.shading.fields import Field, WrittenField, place_fields

FALLBACK = {
    "alpha_triangles": "triangles", "textured_triangles": "triangles", "textured_alpha_triangles": "alpha_triangles",
}  # fmt: skip
"""Kinds of geometry by the kind whose hit groups serve where a program has none of their own."""
TEXTURED = ("textured_triangles", "textured_alpha_triangles")
PROCEDURAL = ("spheres", "curves")
GEOMETRIES = ("triangles", *PROCEDURAL, *FALLBACK)
IMAGE_FORMATS = {"rgba32f": 16, "rgba8": 4}
"""Formats of the output buffer and their bytes per pixel."""

BUILT_IN = ("path-tracing", "shadows", "ambient-occlusion")
VARIANTS = {"optimised": "", "vulkan-sim": "vulkan-sim"}
"""Folder of each variant of the built-in programs; all are bound to the scene in one way."""
RECORD_ALIGN = 16
PROGRAM_FOLDER = Path(__file__).parents[1] / "programs"

LAUNCH_SOURCES = {
    "image": "pointer", "scene": "u64", "world_to_object": "pointer", "object_to_world": "pointer",
    "materials": "pointer", "lights": "pointer", "light_count": "u32", "instance_count": "u32",
    "width": "u32", "height": "u32", "samples": "u32", "bounces": "u32", "seed": "u32",
    "camera_eye": "f32x3", "camera_right": "f32x3", "camera_up": "f32x3", "camera_forward": "f32x3",
    "lens_radius": "f32", "focus_distance": "f32", "has_sky": "u32", "sky_bottom": "f32x3", "sky_top": "f32x3",
}  # fmt: skip
RECORD_SOURCES = {
    **LAUNCH_SOURCES,
    "positions": "pointer", "normals": "pointer", "indices": "pointer", "uvs": "pointer",
    "spheres": "pointer", "curve_points": "pointer", "curve_segments": "pointer",
    "material_numbers": "pointer", "materials": "pointer", "maps": "pointer",
    "primitive_count": "u32", "geometry_number": "u32",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Record:
    """A shader binding table record of a program that belongs to no geometry."""

    program: str
    record: tuple[Field, ...] = ()


@dataclass(frozen=True, slots=True)
class HitGroup:
    """Programs that run where a ray meets a kind of geometry; one per ray type and kind.

    Spheres and curves without an intersection program of their own have the built-in one (``tracer.shading.built_in``).
    """

    geometry: str
    closest_hit: str | None = None
    any_hit: str | None = None
    intersection: str | None = None
    record: tuple[Field, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Strides:
    """Bytes from record to record, 0 for as few as hold the longest."""

    hit: int = 0
    miss: int = 0
    callable: int = 0

    def __post_init__(self) -> None:
        for name in ("hit", "miss", "callable"):
            if getattr(self, name) < 0 or getattr(self, name) % RECORD_ALIGN:
                raise ValueError(f"{name} must be a multiple of {RECORD_ALIGN}, found {getattr(self, name)}")


@dataclass(frozen=True, slots=True)
class ProgramConfig:
    """A whole file. ``params_symbol``: None means the modules' only ``.const`` object without contents.

    ``modules`` are PTX files beside the program's own, whose functions its programs may be and call. ``resources``
    are buffers, textures and surfaces of the program's own, ``file`` the one that lists them.
    """

    name: str
    raygen: Record
    miss: tuple[Record, ...]
    hit_groups: tuple[HitGroup, ...]
    params: tuple[Field, ...]
    params_symbol: str | None
    image_format: str
    modules: tuple[Path, ...] = ()
    callables: tuple[Record, ...] = ()
    exception: Record | None = None
    strides: Strides = Strides()
    resources: Resources = field(default_factory=Resources)
    file: Path = Path()

    def groups_of(self, geometry: str) -> tuple[HitGroup, ...]:
        """The hit groups of one kind of geometry, one per ray type, or of the kind that it falls back to."""
        found = tuple(group for group in self.hit_groups if group.geometry == geometry)
        return self.groups_of(FALLBACK[geometry]) if not found and geometry in FALLBACK else found

    def without_textures(self) -> "ProgramConfig":
        """The same without hit groups of textured triangles, for a scene that has none."""
        return replace(self, hit_groups=tuple(group for group in self.hit_groups if group.geometry not in TEXTURED))

    @property
    def ray_types(self) -> int:
        """Hit records per geometry: the ``sbt_stride`` its trace calls use."""
        return max(1, *(len(self.groups_of(geometry)) for geometry in GEOMETRIES))


@dataclass(frozen=True, slots=True)
class _Record:
    program: str
    record: tuple[WrittenField, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _HitGroup:
    geometry: str = one_of(GEOMETRIES)
    closest_hit: str | None = None
    any_hit: str | None = None
    intersection: str | None = None
    record: tuple[WrittenField, ...] = ()

    def __post_init__(self) -> None:
        if self.intersection is not None and self.geometry not in PROCEDURAL:
            raise ValueError(f"geometry {self.geometry!r} has no use for an intersection program")


@dataclass(frozen=True, slots=True, kw_only=True)
class _File(Resources):
    params_symbol: str | None = None
    image_format: str = one_of(IMAGE_FORMATS, default="rgba32f")
    params: tuple[WrittenField, ...] = ()
    raygen: _Record
    miss: tuple[_Record, ...] = ()
    hit_group: tuple[_HitGroup, ...] = ()
    modules: tuple[str, ...] = ()
    callable: tuple[_Record, ...] = ()
    exception: _Record | None = None
    strides: Strides = Strides()


def read_config(path: Path) -> ProgramConfig:
    """Read and check a program configuration; ``UserError`` names the file and the key."""
    file: _File = read(_File, path)
    own = _own_sources(file, path)
    in_records, in_launch = {**RECORD_SOURCES, **own}, {**LAUNCH_SOURCES, **own}

    def record(written: _Record, place: str) -> Record:
        return Record(written.program, place_fields(written.record, in_records, f"{path}: {place}.record"))

    config = ProgramConfig(
        name=path.stem,
        raygen=record(file.raygen, "raygen"),
        miss=tuple(record(each, f"miss[{number}]") for number, each in enumerate(file.miss)),
        hit_groups=tuple(
            HitGroup(
                each.geometry, each.closest_hit, each.any_hit, each.intersection,
                place_fields(each.record, in_records, f"{path}: hit_group[{number}].record"),
            )
            for number, each in enumerate(file.hit_group)
        ),
        params=place_fields(file.params, in_launch, f"{path}: params", per_pixel=True),
        params_symbol=file.params_symbol,
        image_format=file.image_format,
        modules=tuple(confined(path, each, "modules", "program's file") for each in file.modules),
        callables=tuple(record(each, f"callable[{number}]") for number, each in enumerate(file.callable)),
        exception=None if file.exception is None else record(file.exception, "exception"),
        strides=file.strides,
        resources=file,
        file=path,
    )  # fmt: skip
    counts = {geometry: len(config.groups_of(geometry)) for geometry in GEOMETRIES if config.groups_of(geometry)}
    if len(set(counts.values())) > 1:
        raise UserError(f"{path}: hit_group: every geometry must have one group per ray type, found {counts}")
    return config


def _own_sources(file: _File, path: Path) -> dict[str, str]:
    """Types of the sources that a file makes itself: addresses of its buffers, handles of its textures and surfaces."""
    file.check_names(str(path))
    own = dict.fromkeys(file.buffers, "pointer") | dict.fromkeys(file.handle_names(), "u64")
    if taken := sorted(own.keys() & RECORD_SOURCES.keys()):
        raise UserError(f"{path}: {taken[0]}: must be another name, for it is a source of the scene's")
    return own
