"""Pictures: the output buffer as linear radiance, and as an sRGB PNG."""

from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rayplay.formats.guard.exact import power
from rayplay.formats.place.publish import atomic_file
from rayplay.tracer.memory.arena import DeviceMemory


def _to_linear(encoded: float) -> float:
    """sRGB to linear, both 0 to 1 (IEC 61966-2-1)."""
    return encoded / 12.92 if encoded <= 0.04045 else power((encoded + 0.055) / 1.055, 2.4)


@cache
def _linear_of_bytes(offset: float, count: int) -> NDArray[np.float64]:
    """Linear values of the sRGB bytes 0, 1, 2, ... plus an offset."""
    return np.array([_to_linear((byte + offset) / 255) for byte in range(count)])


def read_image(memory: DeviceMemory, address: int, width: int, height: int, image_format: str) -> NDArray[np.float32]:
    """float32[height, width, 3], linear. ``rgba8`` buffers hold sRGB bytes, ``rgba32f`` linear floats."""
    if image_format == "rgba8":
        encoded = memory.view(address, np.uint8, (height, width, 4))[..., :3]
        return _linear_of_bytes(0.0, 256).astype(np.float32)[encoded]
    return memory.view(address, np.float32, (height, width, 4))[..., :3].copy()


def to_srgb(linear: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Linear radiance to sRGB bytes; values above 1 are white (IEC 61966-2-1)."""
    clipped = np.clip(np.nan_to_num(linear), 0.0, 1.0)
    return np.searchsorted(_linear_of_bytes(0.5, 255), clipped, "right").astype(np.uint8)


def write_png(path: Path, linear: NDArray[np.float32]) -> None:
    """Write float32[height, width, 3] as PNG; the file appears whole or not at all."""
    from PIL import Image

    with atomic_file(path) as partial:
        Image.fromarray(to_srgb(linear)).save(partial, format="PNG")
