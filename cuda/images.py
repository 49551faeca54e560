"""Textures and surfaces of a program: the words that ``cuda/shim/arrays.c`` sends, to handles in device memory."""

import struct

from rayplay.cuda.messages import Error, Fields, Refused
from rayplay.formats.guard.errors import UserError
from rayplay.tracer.memory.arena import DeviceMemory
from rayplay.tracer.memory.images import Image, Sampler, Texture, place_surface, place_texture

GEOMETRIES = ("1d", "2d", "3d", "a1d", "a2d", "cube", "acube", "linear")
KINDS = ("int", "uint", "float")
MODES = ("wrap", "clamp", "mirror", "border")
FILTERS = ("nearest", "linear")
READS = ("element", "normalized")
MOST_LEVELS = 16


def create_texture(memory: DeviceMemory, fields: Fields) -> int:
    """Handle of a texture. Raises ``Refused`` for an image or a way to read it that CUDA lacks."""
    try:
        images, words = _images(fields)
        filters, levels, anisotropy = words[5:8]
        sampler = Sampler(
            filter=FILTERS[filters], level_filter=FILTERS[levels], max_anisotropy=anisotropy,
            address=tuple(MODES[mode] for mode in words[8:11]), normalized=bool(words[11]),
            border=struct.unpack("<4d", struct.pack("<4Q", *words[14:18])),
        )  # fmt: skip
        texture = Texture(images[0], sampler, READS[words[12]], bool(words[13]), images[1:])
        return place_texture(memory, texture)
    except (UserError, ValueError, IndexError):
        raise Refused(Error.INVALID_VALUE) from None


def create_surface(memory: DeviceMemory, fields: Fields) -> int:
    """Handle of a surface. Raises ``Refused`` for one that CUDA lacks."""
    try:
        images, _ = _images(fields)
        return place_surface(memory, images[0])
    except (UserError, ValueError, IndexError):
        raise Refused(Error.INVALID_VALUE) from None


def _images(fields: Fields) -> tuple[tuple[Image, ...], tuple[int, ...]]:
    """The levels of an image, and all words before them."""
    words = fields.read("19Q")
    geometry, bits, kind, channels, row_bytes = words[:5]
    if not 1 <= words[18] <= MOST_LEVELS:
        raise ValueError("levels")
    name, element = GEOMETRIES[geometry], f"{KINDS[kind]}{bits}"
    levels = [fields.read("4Q") for _ in range(words[18])]
    fields.end()
    made = tuple(
        Image(address, _shape(name, width, height, depth), element, channels, name, row_bytes)
        for address, width, height, depth in levels
    )
    return made, words


def _shape(geometry: str, width: int, height: int, depth: int) -> tuple[int, ...]:
    """Lengths with x last; layers and faces come in ``depth``."""
    if geometry in ("1d", "linear"):
        return (width,)
    if geometry == "2d":
        return (height, width)
    return (depth, width) if geometry == "a1d" else (depth, height, width)
