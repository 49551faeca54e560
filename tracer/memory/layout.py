"""Layouts of images: from a texel of a level to its offset, and texels put in that order.

A texel (x, y) lies at the offset X(x) + Y(y), each a sum over fields of (index & mask) * factor: every bit of x and y
adds its own distance, as in all tilings here. An offset counts bytes of plain texels; sixteenths of a block of BC1 and
BC3, so that its four low bits are the texel in the block (4 y + x); and bytes of the decoded texels of ASTC, 256 for a
block. What an access is recorded with follows by a shift and a mask. Sources: docs/sources/textures.md.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rayplay.tracer.memory import image_record as record

TILINGS = ("linear", "block", "crisp")
GOB_BYTES, GOB_WIDTH_BYTES, GOB_ROWS, MOST_GOBS = 512, 64, 8, 32
GOB_X, GOB_Y = (1, 2, 4, 8, 64, 256), (16, 32, 128)
"""Distance in a GOB by bit of the byte in a row, and of the row (``docs/sources/textures.md#block-linear``)."""
CRISP_SIDE = 32
"""Texels along the sides of a tile (``docs/sources/crisp.md#texture-addresses``)."""


@dataclass(frozen=True)
class Format:
    """A square of texels in memory, its block: ``block_bytes``, counted as ``offsets``."""

    side: int
    block_bytes: int
    offsets: int
    element: int | None = None
    """Of the record, where it is not the texels' own."""
    is_stored_beside: bool = False
    """Whether decoded texels lie beside addresses that hold no blocks."""

    @property
    def scale(self) -> int:
        """Offsets of a byte."""
        return self.offsets // self.block_bytes

    def inner(self) -> tuple[list[int], list[int]]:
        """Distances in a block by bit of x and of y."""
        bits, texel = self.side.bit_length() - 1, self.offsets // self.side**2
        return [texel << bit for bit in range(bits)], [texel * self.side << bit for bit in range(bits)]


FORMATS = {
    "bc1": Format(4, 8, 16, record.BC1), "bc3": Format(4, 16, 16, record.BC3),
    "astc": Format(8, 16, 256, is_stored_beside=True),
}  # fmt: skip


def plain(texel_bytes: int) -> Format:
    """The format of texels that stand alone: 1 to 16 bytes, a power of two."""
    return Format(1, texel_bytes, texel_bytes)


@dataclass(frozen=True)
class Level:
    """The map of one level."""

    x: list[tuple[int, int]]
    """Mask and factor of each field."""
    y: list[tuple[int, int]]
    extent: int
    """Offsets of the level, whole tiles."""

    def offsets(
        self, width: int, height: int, step: int = 1, origin: tuple[int, int] = (0, 0)
    ) -> Iterator[NDArray[np.int64]]:
        """int64[columns] of every ``step``-th texel from ``origin`` on, row after row."""
        x = _along(self.x, origin[0] + np.arange(0, width, step))
        y = _along(self.y, origin[1] + np.arange(0, height, step))
        return (x + row for row in y)


def _along(fields: list[tuple[int, int]], index: NDArray[np.int64]) -> NDArray[np.int64]:
    return sum(((index & mask) * factor for mask, factor in fields), np.zeros_like(index))


@dataclass(frozen=True)
class Layout:
    """A format in an order of tiles, one of ``TILINGS``."""

    format: Format
    tiling: str = "linear"
    around: tuple[int, int] | None = None
    """Width and height of the image whose tiles a level lies in; None: its own."""
    origin: tuple[int, int] = (0, 0)
    """Column and row of the level's first texel there, multiples of the format's ``side``."""

    def level(self, width: int, height: int) -> Level:
        """The map of ``width`` x ``height`` texels, or of all ``around`` them, up to whole tiles."""
        form = self.format
        width, height = self.around or (width, height)
        blocks = -(-width // form.side), -(-height // form.side)
        columns, rows = self._tile(blocks[1])
        tile = form.block_bytes << len(columns) + len(rows)
        across, down = -(-blocks[0] >> len(columns)), -(-blocks[1] >> len(rows))
        inner = form.inner()
        x = inner[0] + [form.scale * distance for distance in columns]
        y = inner[1] + [form.scale * distance for distance in rows]
        return Level(
            _fields([*x, form.scale * tile]), _fields([*y, form.scale * tile * across]),
            form.scale * tile * across * down,
        )  # fmt: skip

    def _tile(self, block_rows: int) -> tuple[list[int], list[int]]:
        """Distances in bytes in a tile, by bit of the block's column and of its row."""
        size = self.format.block_bytes
        if self.tiling == "linear":
            return [], []
        if self.tiling == "block":
            gobs = min(MOST_GOBS, 1 << (-(-block_rows // GOB_ROWS) - 1).bit_length())
            stacked = [GOB_BYTES << bit for bit in range(gobs.bit_length() - 1)]
            return list(GOB_X[size.bit_length() - 1 :]), [*GOB_Y, *stacked]
        if self.format.side == 4:
            bits = (CRISP_SIDE // 4).bit_length() - 1
            return [size << bit for bit in range(bits)], [size << bits + bit for bit in range(bits)]
        bits = CRISP_SIDE.bit_length() - 1
        columns = bits if self.format.side == 1 else bits - 2
        return [size << bits + bit for bit in range(columns)], [size << bit for bit in range(bits)]

    def words(self, width: int, height: int) -> dict[int, int]:
        """Words of a record that depend on the layout."""
        level, scale = self.level(width, height), self.format.scale
        shift = 0 if self.format.side == 1 else scale.bit_length() - 1
        made = {
            record.SLICE_BYTES: level.extent, record.ADDRESS_SHIFT: shift, record.FIELDS: record.AXIS_FIELDS,
            record.ADDRESS_MASK: -1 if self.format.side == 1 else -self.format.block_bytes,
            record.ORIGIN_X: self.origin[0], record.ORIGIN_Y: self.origin[1],
        }  # fmt: skip
        for first, fields in ((record.FIELD_X, level.x), (record.FIELD_Y, level.y)):
            for number, pair in enumerate(fields):
                made[first + 2 * number], made[first + 2 * number + 1] = pair
        return made

    def level_bytes(self, width: int, height: int) -> int:
        """Bytes of memory that hold a level."""
        return self.level(width, height).extent // (1 if self.format.is_stored_beside else self.format.scale)

    def arranged(self, blocks: NDArray[np.uint8], width: int, height: int) -> NDArray[np.uint8]:
        """uint8[bytes] of a level in memory from uint8[rows, columns, bytes of a block or stored texel]."""
        level, form = self.level(width, height), self.format
        beside = form.is_stored_beside
        step, scale = (1, 1) if beside else (form.side, form.scale)
        item = blocks.shape[-1]
        made = np.zeros((level.extent // scale // item, item), np.uint8)
        for row, offsets in zip(blocks, level.offsets(width, height, step, self.origin), strict=True):
            made[offsets // (scale * item)] = row
        return made.reshape(-1)


def below(form: Format, sizes: list[tuple[int, int]]) -> list[Layout]:
    """Layouts of a mip chain of widths and heights in CRISP's tiles: all levels in one image, below the first.

    Where a level is smaller than a block or a half of the first level than a texel, the next one keeps clear of it.
    """
    side = form.side
    across, down = -(-max(sizes[0][0] // 2, 1) // side) * side, 0
    origins = []
    for number, (_, height) in enumerate(sizes):
        origins.append((across if number > 1 else 0, down))
        down += 0 if number == 1 else -(-height // side) * side
    ends = [(x + width, y + height) for (x, y), (width, height) in zip(origins, sizes, strict=True)]
    around = max(x for x, _ in ends), max(y for _, y in ends)
    return [Layout(form, "crisp", around, origin) for origin in origins]


def _fields(distances: list[int]) -> list[tuple[int, int]]:
    """Masks and factors of distances by bit; the last one holds for all higher bits."""
    last = len(distances) - 1
    made: list[tuple[int, int]] = []
    for bit, distance in enumerate(distances):
        mask, factor = -1 << bit if bit == last else 1 << bit, distance >> bit
        if made and made[-1][1] == factor:
            made[-1] = made[-1][0] | mask, factor
        else:
            made.append((mask, factor))
        assert factor << bit == distance, "tiles are square enough"
    assert len(made) <= record.AXIS_FIELDS
    return made
