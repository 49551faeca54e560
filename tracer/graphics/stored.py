"""Pictures in device memory: plain texels or compressed blocks, in rows or in tiles."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rayplay.tracer.memory.arena import DeviceMemory
from rayplay.tracer.memory.encode import encode
from rayplay.tracer.memory.images import Image
from rayplay.tracer.memory.layout import FORMATS, Layout, plain

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

    def place(
        self, memory: DeviceMemory, levels: list[NDArray[np.uint8]], name: str, kind: str, rules: str
    ) -> list[Image]:
        """Images of uint8[(layers,) height, width, 4] levels, one after the other, compressed where the format has
        blocks; ``kind`` is their geometry, 2d or a2d.
        """
        tiling = self.tiling or ("crisp" if rules == "crisp" else "linear")
        form = plain(4) if self.format == "rgba8" else FORMATS[self.format]
        is_plain = self.format == "rgba8" and tiling == "linear"
        layout = None if is_plain else Layout(form, tiling)
        held = [self._stored(layout, level) for level in levels]
        align, ends = 256 if is_plain else ALIGN_BYTES, np.cumsum([each.nbytes for each in held])
        start, recorded = memory.allocate(np.concatenate(held), align, name), 0
        if form.is_stored_beside:
            recorded = memory.allocate(int(ends[-1]) // form.scale, align, f"addresses of {name}")
        made = []
        for end, each, level in zip(ends, held, levels, strict=True):
            before = int(end) - each.nbytes
            at = recorded + before // form.scale if recorded else 0
            made.append(Image(start + before, level.shape[:-1], "uint8", 4, kind, layout=layout, recorded_at=at))
        return made

    def _stored(self, layout: Layout | None, texels: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """A level's bytes as memory holds them."""
        if layout is None:
            return texels.reshape(-1)
        height, width = texels.shape[-3:-1]
        layers = texels.reshape(-1, height, width, 4)
        blocks = layers if layout.format.element is None else [encode(each, self.format == "bc3") for each in layers]
        return np.concatenate([layout.arranged(each, width, height) for each in blocks])
