"""Textures, samplers and surfaces of a launch file: tables of the file, and their handles in device memory."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.strict import check_choice
from rayplay.ptx.ir import Module
from rayplay.tracer.memory import images
from rayplay.tracer.memory.arena import DeviceMemory

HANDLE_BYTES = 8
Placed = Mapping[str, tuple[int, np.ndarray]]
"""Address and values of each buffer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A place in a buffer that holds a handle before the first launch."""

    buffer: str
    offset_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SurfaceTable:
    """``[surfaces.NAME]``: the texels of a buffer, last axis x; with ``channels`` its last axis is theirs.

    A module's variable of the same name stands for it; ``stored`` are places that hold its handle.
    """

    buffer: str
    geometry: str = "2d"
    channels: int = 1
    stored: tuple[Stored, ...] = ()

    def image(self, address: int, values: np.ndarray) -> images.Image:
        """The image in a buffer. Raises ``UserError`` when they do not fit."""
        return images.image_of(address, values, self.geometry, self.channels)

    def place(self, memory: DeviceMemory, buffers: Placed) -> int:
        """The handle of a record of the image in its buffer."""
        return images.place_surface(memory, self.image(*buffers[self.buffer]))

    def named(self) -> tuple[str, ...]:
        """The buffers that its texels are."""
        return (self.buffer,)

    def __post_init__(self) -> None:
        check_choice(self.geometry, images.AXES, "geometry")


@dataclass(frozen=True, slots=True, kw_only=True)
class TextureTable(SurfaceTable):
    """``[textures.NAME]``: a surface that is only read, through a sampler's settings (``tracer.memory.images``).

    ``levels`` are buffers of the rest of a mip chain.
    """

    filter: str = "nearest"
    address: str | tuple[str, ...] = "clamp"
    normalized: bool = False
    border: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0)
    read: str = "element"
    srgb: bool = False
    levels: tuple[str, ...] = ()
    level_filter: str = "nearest"
    max_anisotropy: int = 1

    def place(self, memory: DeviceMemory, buffers: Placed) -> int:
        sampler = images.Sampler(
            filter=self.filter, level_filter=self.level_filter, max_anisotropy=self.max_anisotropy,
            address=self.address, normalized=self.normalized, border=self.border,
        )  # fmt: skip
        first, *rest = (self.image(*buffers[name]) for name in self.named())
        return images.place_texture(memory, images.Texture(first, sampler, self.read, self.srgb, tuple(rest)))

    def named(self) -> tuple[str, ...]:
        return (self.buffer, *self.levels)


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplerTable(images.Sampler):
    """``[samplers.NAME]``: for programs that keep samplers and textures apart."""

    stored: tuple[Stored, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageTables:
    """The tables of a file that name handles; no two have the same name."""

    textures: dict[str, TextureTable] = field(default_factory=dict)
    samplers: dict[str, SamplerTable] = field(default_factory=dict)
    surfaces: dict[str, SurfaceTable] = field(default_factory=dict)

    def tables(self) -> Iterator[tuple[str, str, TextureTable | SamplerTable | SurfaceTable]]:
        """Key of the file, name, table."""
        for key in ("textures", "samplers", "surfaces"):
            for name, table in getattr(self, key).items():
                yield key, name, table

    def handle_names(self) -> list[str]:
        """Names of all tables."""
        return [name for _, name, _ in self.tables()]

    def check(self, buffers: Mapping[str, object], place: str) -> None:
        """Every buffer that a table names is one of the file's, and no name stands for two things (``UserError``)."""
        names = [*buffers, *self.handle_names()]
        twice = sorted(name for name, times in Counter(names).items() if times > 1)
        if twice:
            raise UserError(f"{place}: buffers, textures, samplers and surfaces must have different names: {twice[0]}")
        for key, name, table in self.tables():
            if isinstance(table, SurfaceTable):
                for buffer in table.named():
                    check_choice(buffer, buffers, f"{place}: {key}.{name}.buffer")
            for number, stored in enumerate(table.stored):
                check_choice(stored.buffer, buffers, f"{place}: {key}.{name}.stored[{number}].buffer")


def place_images(
    plan: ImageTables, place: str, modules: Sequence[Module], memory: DeviceMemory, buffers: Placed
) -> dict[str, int]:
    """Put the records of all tables into device memory, bind variables and store handles: name -> handle.

    Raises ``UserError`` naming the table whose buffer does not fit.
    """
    handles: dict[str, int] = {}
    for key, name, table in plan.tables():
        try:
            if isinstance(table, SurfaceTable):
                handles[name] = table.place(memory, buffers)
            else:
                handles[name] = images.place_sampler(memory, table)
            for stored in table.stored:
                _store(handles[name], stored, buffers[stored.buffer][1])
        except UserError as error:
            raise UserError(f"{place}: {key}.{name}: {error}") from None
        for module in modules:
            variable = module.variables.get(name)
            if variable is not None and images.is_reference(variable):
                images.bind_reference(memory, module, name, handles[name])
    return handles


def _store(handle: int, stored: Stored, values: np.ndarray) -> None:
    raw = values.reshape(-1).view(np.uint8)
    if not 0 <= stored.offset_bytes <= raw.size - HANDLE_BYTES:
        raise UserError(
            f"stored.offset_bytes must leave {HANDLE_BYTES} bytes in {stored.buffer}, found {stored.offset_bytes}"
        )
    raw[stored.offset_bytes : stored.offset_bytes + HANDLE_BYTES] = list(handle.to_bytes(HANDLE_BYTES, "little"))
