"""Textures, samplers and surfaces of a launch: what a handle stands for, and how it gets into device memory.

An image is memory of the device seen as texels; a texture reads it through a sampler's settings, a surface reads and
writes it. A handle is an address in device memory that stands for a record beside it (``tracer.memory.image_record``),
so that compute and image launches, kernel parameters and buffers can all hold handles. Source: CUDA C++ Programming
Guide, texture and surface memory; PTX ISA 9.0, 5.3 (texture, sampler and surface types).
"""

from dataclasses import dataclass, field, replace

import numpy as np

from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.strict import check_choice
from rayplay.ptx.ir import Module, Variable
from rayplay.tracer.memory import image_record as record
from rayplay.tracer.memory.arena import DeviceMemory
from rayplay.tracer.memory.layout import Layout

OPAQUE_TYPES = {"texture": "texref", "sampler": "samplerref", "surface": "surfref"}
AXES = {"1d": 1, "2d": 2, "3d": 3, "a1d": 2, "a2d": 3, "cube": 3, "acube": 3, "linear": 1}
"""Axes of the array behind each geometry: layers and faces count as one; ``linear`` is 1d of plain memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampler:
    """How texels become values. One ``address`` mode stands for all axes.

    level_filter: the nearest level of a mip chain, both beside the level of detail (trilinear with ``filter`` linear),
    or its ``floor``. max_anisotropy: samples along the longer side of a pixel's footprint, 1 to 16.
    """

    filter: str = "nearest"
    level_filter: str = "nearest"
    max_anisotropy: int = 1
    address: str | tuple[str, ...] = "clamp"
    normalized: bool = False
    border: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        check_choice(self.filter, record.FILTERS, "filter")
        check_choice(self.level_filter, record.LEVEL_FILTERS, "level_filter")
        if not 1 <= self.max_anisotropy <= record.MOST_ANISOTROPY:
            raise UserError(f"max_anisotropy must be 1 to {record.MOST_ANISOTROPY}, found {self.max_anisotropy}")
        for mode in self.modes():
            check_choice(mode, record.ADDRESS_MODES, "address")
        if len(self.modes()) != 3 or len(self.border) != 4:
            raise ValueError("address must be one mode or up to three, and border four numbers")

    def modes(self) -> tuple[str, ...]:
        """The modes along x, y and z."""
        given = (self.address,) * 3 if isinstance(self.address, str) else self.address
        return given + ("clamp",) * (3 - len(given))


@dataclass(frozen=True, slots=True)
class Image:
    """``shape`` texels at a device address, the last axis of the array being x; (layers, faces or z), y, x before it.

    element is one of ``ELEMENTS``, a texel has ``channels`` of it; row_bytes is the distance of rows, 0: packed.
    layout is where texels lie that are not rows of plain ones; recorded_at, unless 0, is the address that accesses are
    recorded with in place of the image's.
    """

    address: int
    shape: tuple[int, ...]
    element: str
    channels: int = 1
    geometry: str = "2d"
    row_bytes: int = 0
    layout: Layout | None = None
    recorded_at: int = 0

    def __post_init__(self) -> None:
        check_choice(self.geometry, AXES, "geometry")
        check_choice(self.element, record.ELEMENTS, "element")
        _check_channels(self.channels)
        if len(self.shape) != AXES[self.geometry] or min(self.shape) < 1:
            raise UserError(f"a {self.geometry} image must have {AXES[self.geometry]} axes, found {list(self.shape)}")
        if self.geometry.endswith("cube") and (self.shape[0] % 6 or self.shape[1] != self.shape[2]):
            raise UserError(f"a {self.geometry} image must have six square faces, found {list(self.shape)}")
        if self.layout is not None:
            form, texel = self.layout.format, self.channels * record.ELEMENT_BYTES[record.ELEMENTS.index(self.element)]
            if self.row_bytes or (
                form.block_bytes != texel if form.side == 1 else self.element != "uint8" or texel != 4
            ):
                raise UserError(f"a layout must be of packed rows and of texels of its format, found {self.element}")

    def words(self, magic: int) -> np.ndarray:
        """int64[record.RECORD_WORDS]: the record, without a sampler."""
        made = np.zeros(record.RECORD_WORDS, np.int64)
        geometry = "1d" if self.geometry == "linear" else self.geometry
        layered = geometry in ("a1d", "a2d", "cube", "acube")
        axes = list(self.shape[::-1])
        layers = axes.pop() if layered else 1
        width, height, depth = (*axes, 1, 1)[:3]
        element = record.ELEMENTS.index(self.element)
        texel = self.channels * record.ELEMENT_BYTES[element]
        row = self.row_bytes or width * texel
        values = {
            record.MAGIC: magic, record.BASE: self.address, record.WIDTH: width, record.HEIGHT: height,
            record.DEPTH: depth, record.LAYERS: layers, record.ROW_BYTES: row, record.SLICE_BYTES: row * height,
            record.ELEMENT: element, record.CHANNELS: self.channels,
            record.GEOMETRY: record.GEOMETRIES.index(geometry), record.LINEAR_MEMORY: self.geometry == "linear",
            record.TOTAL_BYTES: row * (height * depth * layers - 1) + width * texel, record.LEVELS: 1,
        }  # fmt: skip
        values |= {record.ADDRESS_BASE: self.recorded_at or self.address, record.ADDRESS_MASK: -1}
        if self.layout is not None:
            values |= self.layout.words(width, height)
            values[record.TOTAL_BYTES] = self.layout.level_bytes(width, height) * depth * layers
            values[record.ELEMENT] = element if self.layout.format.element is None else self.layout.format.element
        values[record.EXTENT] = values[record.SLICE_BYTES] * depth * layers
        made[list(values)] = list(values.values())
        return made


@dataclass(frozen=True, slots=True)
class Texture:
    """An image read through a sampler. read is ``element``, or ``normalized``: 8 and 16-bit integers as floats.

    srgb turns normalised 8-bit channels, but the fourth, from sRGB to linear. levels: the rest of a mip chain; each
    image has half the lengths of the one before, rounded down, at least 1, and as many layers.
    """

    image: Image
    sampler: Sampler = field(default_factory=Sampler)
    read: str = "element"
    srgb: bool = False
    levels: tuple[Image, ...] = ()

    def __post_init__(self) -> None:
        check_choice(self.read, ("element", "normalized"), "read")
        integer = self.image.element[0] != "f"
        if self.read == "normalized" and self.image.element not in record.ELEMENTS[:4]:
            raise UserError(f"read 'normalized' must be of 8 or 16-bit integers, not of {self.image.element}")
        for name in ("filter", "level_filter"):
            if getattr(self.sampler, name) == "linear" and integer and self.read == "element":
                raise UserError(
                    f"{name} 'linear' must be of floats or of read 'normalized', not of {self.image.element}"
                )
        form = self.image.layout.format if self.image.layout else None
        if form is not None and form.element is not None and self.read != "normalized":
            raise UserError("read must be 'normalized' for a block-compressed image")
        if self.srgb and (self.image.element != "uint8" or self.read != "normalized"):
            raise UserError("srgb must be of uint8 and read 'normalized'")
        if self.image.layout is not None and any(self.image.layout.origin):
            raise UserError("the first level must lie at the origin of its layout")
        if self.levels and not self.sampler.normalized:
            raise UserError("a texture with a mip chain must have normalized coordinates")
        for number, level in enumerate(self.levels):
            wanted = level_shape(self.image, number + 1)
            if level.shape != wanted or (level.element, level.channels) != (self.image.element, self.image.channels):
                raise UserError(f"level {number + 1} must have the shape {list(wanted)}, found {list(level.shape)}")


def level_shape(image: Image, level: int) -> tuple[int, ...]:
    """The axes of a level of an image's mip chain; layers and faces stay."""
    layered = image.geometry in ("a1d", "a2d", "cube", "acube")
    return (*image.shape[:layered], *(max(length >> level, 1) for length in image.shape[layered:]))


def _check_channels(channels: int) -> None:
    if channels not in (1, 2, 4):
        raise UserError(f"channels must be 1, 2 or 4, found {channels}")


def image_of(address: int, values: np.ndarray, geometry: str, channels: int) -> Image:
    """The image that an array is: the last axis is x, or the channels where the array has one axis more than needed;
    an array without an axis for several channels has them in turn along x. Raises ``UserError`` when it does not fit.
    """
    check_choice(geometry, AXES, "geometry")
    check_choice(values.dtype.name, record.ELEMENTS, "the type of a texel's channels")
    _check_channels(channels)
    shape = values.shape or (1,)
    if len(shape) > AXES[geometry]:
        if shape[-1] != channels:
            raise UserError(f"channels must be {shape[-1]}, the last axis of the array, found {channels}")
        shape = shape[:-1]
    elif channels != 1:
        if shape[-1] % channels:
            raise UserError(f"the last axis must be a multiple of {channels} channels, found {shape[-1]}")
        shape = (*shape[:-1], shape[-1] // channels)
    return Image(address, shape, values.dtype.name, channels, geometry)


def place_texture(memory: DeviceMemory, texture: Texture) -> int:
    """Keep a texture's records; returns its handle."""
    words = np.stack([level.words(record.TEXTURE_MAGIC) for level in (texture.image, *texture.levels)])
    for level in words:
        _sampler_words(level, texture.sampler)
    words[:, record.LEVELS] = np.arange(len(words), 0, -1)
    words[:, record.READ_FLOAT] = texture.read == "normalized" or texture.image.element[0] == "f"
    words[:, record.SRGB] = texture.srgb
    return memory.keep_record(words)


def place_sampler(memory: DeviceMemory, sampler: Sampler) -> int:
    """Keep a sampler's record; returns its handle, for programs that keep samplers apart."""
    words = np.zeros(record.RECORD_WORDS, np.int64)
    words[record.MAGIC] = record.SAMPLER_MAGIC
    _sampler_words(words, sampler)
    return memory.keep_record(words)


def place_surface(memory: DeviceMemory, image: Image) -> int:
    """Keep a surface's record; returns its handle. Raises ``UserError`` for an image with a layout."""
    if image.layout is not None:
        raise UserError("a surface must have plain texels in rows")
    return memory.keep_record(image.words(record.SURFACE_MAGIC))


def _sampler_words(words: np.ndarray, sampler: Sampler) -> None:
    words[record.FILTER] = record.FILTERS.index(sampler.filter)
    words[record.LEVEL_FILTER] = record.LEVEL_FILTERS.index(sampler.level_filter)
    words[record.MAX_ANISOTROPY] = sampler.max_anisotropy
    words[record.NORMALIZED] = sampler.normalized
    words[record.ADDRESS_X : record.ADDRESS_X + 3] = [record.ADDRESS_MODES.index(mode) for mode in sampler.modes()]
    words[record.BORDER : record.BORDER + 4] = np.array(sampler.border, np.float64).view(np.int64)


def bind_reference(memory: DeviceMemory, module: Module, name: str, handle: int) -> None:
    """Let the module's ``.texref``, ``.samplerref``, ``.surfref`` or ``.tex`` variable ``name`` stand for a handle.

    Holds for every later launch of the module with this memory. Raises ``UserError`` when it has no such variable.
    """
    known = {v.name: v for v in module.variables.values() if is_reference(v)}
    check_choice(name, known, f"{module.source_name}: texture, sampler and surface variables")
    memory.variables[module.source_name, name] = handle


def is_reference(variable: Variable) -> bool:
    """Whether a variable is a texture, sampler or surface, by its type or its state space."""
    return variable.type in OPAQUE_TYPES.values() or variable.space == "tex"


PROPERTIES = {"addr_mode_0": 0, "addr_mode_1": 1, "addr_mode_2": 2}
PTX_MODES = {
    "wrap": "wrap", "mirror": "mirror", "clamp_ogl": "clamp", "clamp_to_edge": "clamp", "clamp_to_border": "border",
}  # fmt: skip


def declared_sampler(properties: tuple[tuple[str, str], ...]) -> Sampler:
    """The sampler that an initialiser of ``.samplerref`` describes (PTX ISA 5.3)."""
    made = Sampler(normalized=True)
    modes = list(made.modes())
    for name, value in properties:
        if name in PROPERTIES and value in PTX_MODES:
            modes[PROPERTIES[name]] = PTX_MODES[value]
        elif name == "filter_mode":
            made = replace(made, filter=value)
        elif name == "force_unnormalized_coords":
            made = replace(made, normalized=value in ("0", "false"))
        else:
            raise UserError(f"a sampler must not have {name} = {value}")
    return replace(made, address=tuple(modes))
