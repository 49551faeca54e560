"""Mip chains of pictures: each level is the one before through a box filter, down to one texel.

A side has half the texels of the one before, rounded down, at least one; a texel covers the same share of both. Colours
are averaged as light, and rounded once: levels are made from each other before they are rounded. Only single IEEE
operations on whole arrays are used, so that every machine makes the same bytes.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rayplay.tracer.units.texture.texel import SRGB_TO_LINEAR

_TO_LIGHT = np.array(SRGB_TO_LINEAR, np.float32)
_HALF_WAY = np.array(
    [(level / 12.92 if level <= 0.04045 else ((level + 0.055) / 1.055) ** 2.4)
     for level in ((code + 0.5) / 255 for code in range(255))], np.float32,
)  # fmt: skip
"""Light at which the next code of sRGB begins."""


def box_levels(texels: NDArray[np.uint8], is_colour: bool) -> Iterator[NDArray[np.uint8]]:
    """The levels behind the first of uint8[height, width, channels]; ``is_colour``: all but the fourth are sRGB."""
    light = texels.astype(np.float32) / np.float32(255)
    if is_colour:
        light[..., :3] = _TO_LIGHT[texels[..., :3]]
    while max(light.shape[:2]) > 1:
        light = _halved(_halved(light, 0), 1)
        made = np.floor(light * np.float32(255) + np.float32(0.5)).astype(np.uint8)
        if is_colour:
            made[..., :3] = np.searchsorted(_HALF_WAY, light[..., :3], side="right")
        yield made


def _halved(light: NDArray[np.float32], axis: int) -> NDArray[np.float32]:
    """Half as many texels along an axis; of an odd number each covers two and a share of a third."""
    rows = np.moveaxis(light, axis, 0)
    count = len(rows) // 2
    if not count:
        return light
    if len(rows) % 2 == 0:
        made = (rows[0::2] + rows[1::2]) * np.float32(0.5)
    else:
        after = np.arange(1, count + 1, dtype=np.float32).reshape(-1, *(1,) * (rows.ndim - 1))
        before, middle = np.float32(count + 1) - after, rows[1::2] * np.float32(count)
        made = (rows[0:-1:2] * before + middle + rows[2::2] * after) / np.float32(len(rows))
    return np.moveaxis(made, 0, axis)
