"""Pictures in device memory: plain texels or compressed blocks, in rows or in tiles."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rayplay.tracer.memory.arena import DeviceMemory
from rayplay.tracer.memory.encode import encode
from rayplay.tracer.memory.images import Image
from rayplay.tracer.memory.layout import FORMATS, Layout, below, plain

TEXTURE_FORMATS = ("rgba8", *FORMATS)
ALIGN_BYTES = 4096
"""A multiple of every tile but those of several GOBs, whose lowest bits it keeps as well."""


@dataclass(frozen=True)
class Storage:
    """How a draw's pictures lie in memory."""

    format: str = "rgba8"
    """One of ``TEXTURE_FORMATS``. ``astc`` has addresses alone: texels are the file's, uncompressed."""
    tiling: str | None = None
    """One of ``TILINGS``; None: CRISP's under its rules, else linear."""

    def tiling_by(self, rules: str) -> str:
        """The tiling under rules of rasterisation."""
        return self.tiling or ("crisp" if rules == "crisp" else "linear")

    def place(
        self, memory: DeviceMemory, levels: list[NDArray[np.uint8]], name: str, kind: str, rules: str
    ) -> list[Image]:
        """Images of uint8[(layers,) height, width, 4] levels, one after the other or, in CRISP's tiles, below the
        first; compressed where the format has blocks. ``kind`` is their geometry, 2d or a2d.
        """
        form, tiling = plain(4) if self.format == "rgba8" else FORMATS[self.format], self.tiling_by(rules)
        if self.format == "rgba8" and tiling == "linear":
            return _placed(memory, name, levels, levels, [None] * len(levels), kind)
        if tiling == "crisp":
            layouts = below(form, [level.shape[-3:-1][::-1] for level in levels])
            together = [self._stored(layout, level) for layout, level in zip(layouts, levels, strict=True)]
            held = [np.bitwise_or.reduce(together)]
        else:
            layouts = [Layout(form, tiling)] * len(levels)
            held = [self._stored(layout, level) for layout, level in zip(layouts, levels, strict=True)]
        return _placed(memory, name, held, levels, layouts, kind)

    def _stored(self, layout: Layout, texels: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """A level's bytes as memory holds them."""
        height, width = texels.shape[-3:-1]
        layers = texels.reshape(-1, height, width, 4)
        blocks = layers if layout.format.element is None else [encode(each, self.format == "bc3") for each in layers]
        return np.concatenate([layout.arranged(each, width, height) for each in blocks])


def _placed(
    memory: DeviceMemory, name: str, held: list[NDArray[np.uint8]], levels: list[NDArray[np.uint8]],
    layouts: Sequence[Layout | None], kind: str,
) -> list[Image]:  # fmt: skip
    """Images at their bytes, ``held`` for each level or once for all, in one allocation."""
    first = layouts[0]
    align, scale = (ALIGN_BYTES, first.format.scale) if first else (256, 1)
    sizes = [each.nbytes for each in held]
    start = memory.allocate(np.concatenate([each.reshape(-1) for each in held]), align, name)
    recorded = 0
    if first and first.format.is_stored_beside:
        recorded = memory.allocate(sum(sizes) // scale, align, f"addresses of {name}")
    made = []
    for number, (level, layout) in enumerate(zip(levels, layouts, strict=True)):
        before = sum(sizes[:number]) if len(held) == len(levels) else 0
        at = recorded + before // scale if recorded else 0
        made.append(Image(start + before, level.shape[:-1], "uint8", 4, kind, layout=layout, recorded_at=at))
    return made
