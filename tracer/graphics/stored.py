"""Pictures in device memory: plain texels or compressed blocks, in rows or in tiles."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rayplay.tracer.memory.arena import DeviceMemory
from rayplay.tracer.memory.encode import encode
from rayplay.tracer.memory.images import Image, image_of
from rayplay.tracer.memory.layout import FORMATS, Layout, plain

TEXTURE_FORMATS = ("rgba8", *FORMATS)
ALIGN_BYTES = 4096
"""A multiple of every tile but those of several GOBs, whose lowest bits it keeps as well."""


@dataclass(frozen=True)
class Storage:
    """How a draw's pictures lie in memory."""

    format: str = "rgba8"
    """One of ``TEXTURE_FORMATS``. ``astc`` has addresses alone: texels are those of the file, uncompressed."""
    tiling: str = "linear"
    """One of ``TILINGS``."""

    def place(self, memory: DeviceMemory, texels: NDArray[np.uint8], name: str) -> Image:
        """The image in memory of uint8[height, width, 4] texels, compressed where the format has blocks."""
        if self == Storage():
            return image_of(memory.allocate(texels, name=name), texels, "2d", 4)
        form = plain(4) if self.format == "rgba8" else FORMATS[self.format]
        layout, (height, width) = Layout(form, self.tiling), texels.shape[:2]
        stored = texels if form.element is None else encode(texels, self.format == "bc3")
        address = memory.allocate(layout.arranged(stored, width, height), ALIGN_BYTES, name)
        recorded = 0
        if form.is_stored_beside:
            size = layout.level(width, height).extent // form.scale
            recorded = memory.allocate(size, ALIGN_BYTES, f"addresses of {name}")
        return Image(address, (height, width), "uint8", 4, layout=layout, recorded_at=recorded)
