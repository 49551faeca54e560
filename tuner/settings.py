"""Rendering parameters that the tuner chooses, and how a fraction of a ray is rendered."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

RANKS = 256
COLUMN, ROW = 3242174889, 2447445414
"""2^32 times Roberts' R2: a lattice of low discrepancy over columns and rows."""


@dataclass(frozen=True)
class Settings:
    """Rendering parameters.

    occlusion_rays  rays of ambient occlusion a sample, 0 or more; of 2.25 a quarter of the warps, spread over the
                    picture, traces 3 and the others 2. So do the next two.
    radius          their length, as a share of the diagonal of the scene.
    shadow_rays     rays to the light a sample, 0 or more.
    samples         primary rays a pixel, 1 or more.
    scale           of the width and the height that are rendered, above 0 to 1.
    """

    occlusion_rays: float = 8.0
    radius: float = 0.1
    shadow_rays: float = 0.0
    samples: float = 1.0
    scale: float = 1.0

    def scaled(self, size: tuple[int, int]) -> tuple[int, int]:
        """Pixels that are rendered of a frame of ``size``."""
        width, height = (max(1, round(pixels * self.scale)) for pixels in size)
        return width, height

    @property
    def work(self) -> float:
        """Length of all rays in a rough unit: what a controller without a model takes for the time."""
        return self.samples * self.scale**2 * (1 + self.shadow_rays + 10 * self.radius * self.occlusion_rays)


def rank(column: NDArray[np.int64], row: NDArray[np.int64]) -> NDArray[np.float64]:
    """Ranks of warps, 0 to 255/256: a warp traces floor(wanted + rank) rays. The programs say it again."""
    return ((COLUMN * column + ROW * row) % 2**32 >> 24) / RANKS


def rays_of(wanted: float, column: NDArray[np.int64], row: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rays that warps trace, int64 of the shape of ``column`` and ``row``; their mean is near ``wanted``."""
    return np.floor(wanted + rank(column, row)).astype(np.int64)
