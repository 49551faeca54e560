"""Light from around, procedural: irradiance, prefiltered reflections and the look-up table of the BRDF.

Radiance is a polynomial of degree two in the height of its direction, blue above, bright at the horizon, brown below.
Filters around an axis scale each Legendre polynomial by a factor, so that both maps are exact.

Sources: R. Ramamoorthi and P. Hanrahan, "An efficient representation for irradiance environment maps", 2001 (factors of
the cosine); B. Karis, "Real shading in Unreal Engine 4", 2013 (prefiltered reflections, split sum).
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from rayplay.tracer.memory import images
from rayplay.tracer.memory.arena import DeviceMemory

ABOVE, LEVEL, BELOW = (0.35, 0.48, 0.7), (0.5, 0.5, 0.48), (0.22, 0.19, 0.16)
"""Radiance from straight above, from the horizon and from straight below."""
IRRADIANCE_SIDE, PREFILTERED_SIDE, TABLE_SIDE = 16, 64, 32
ROUGHNESSES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Of the levels of prefiltered reflections."""
COSINE = (1.0, 2 / 3, 1 / 4)
"""Factors of a diffuse surface for the polynomials of degree 0, 1 and 2."""
_PARTS, _TURNS = 64, 32
"""Samples of the half vector: of its distribution, and over half a turn, which the other half mirrors."""


def legendre() -> NDArray[np.float64]:
    """float64[3, 3]: red, green and blue of each polynomial's part of the radiance."""
    above, level, below = np.array([ABOVE, LEVEL, BELOW])
    square = (above + below) / 2 - level
    return np.stack([level + square / 3, (above - below) / 2, square * 2 / 3])


def lobe(roughness: float) -> tuple[float, float, float]:
    """Factors of a reflection seen head on: directions weighted by GGX and by their cosine."""
    squared = roughness**4
    part = (np.arange(1024) + 0.5) / 1024
    cosine = 2 * (1 - part) / (1 + (squared - 1) * part) - 1  # between the reflection and the mirror's direction
    weight = np.maximum(cosine, 0)
    total = float(weight.sum())
    return 1.0, float((weight * cosine).sum()) / total, float((weight * (1.5 * cosine**2 - 0.5)).sum()) / total


def cube(side: int, factors: tuple[float, float, float]) -> NDArray[np.float16]:
    """float16[6, side, side, 4]: radiance by direction, each polynomial scaled; faces as CUDA's: +x, -x, +y ... -z."""
    centre = (np.arange(side) + 0.5) * 2 / side - 1
    across, down = np.meshgrid(centre, centre)
    length = np.sqrt(across**2 + down**2 + 1)
    y = np.stack([-down, -down, np.ones_like(down), -np.ones_like(down), -down, -down]) / length
    polynomials = np.stack([np.ones_like(y), y, 1.5 * y**2 - 0.5], axis=-1) * np.array(factors)
    return np.concatenate([polynomials @ legendre(), np.ones((*y.shape, 1))], axis=-1).astype(np.float16)


@cache
def brdf_table() -> NDArray[np.float16]:
    """float16[n, n, 2], rows of roughness and columns of the cosine to the eye: scale and offset of the reflectance."""
    cosine = (np.arange(TABLE_SIDE) + 0.5) / TABLE_SIDE
    seen, rough, part, turn = np.meshgrid(
        cosine, cosine, (np.arange(_PARTS) + 0.5) / _PARTS, (np.arange(_TURNS) + 0.5) / _TURNS, sparse=True
    )
    squared = rough.swapaxes(0, 1) ** 4  # meshgrid's first two axes are exchanged
    seen = seen.swapaxes(0, 1)
    towards = np.sqrt((1 - part) / (1 + (squared - 1) * part))
    across = np.sqrt(np.maximum(1 - towards**2, 0)) * np.cos(np.pi * turn)
    bent = np.maximum(seen * towards + np.sqrt(1 - seen**2) * across, 1e-9)
    lit = np.maximum(2 * bent * towards - seen, 0)
    height = lit * np.sqrt(seen**2 * (1 - squared) + squared) + seen * np.sqrt(lit**2 * (1 - squared) + squared)
    share = 2 * lit * bent / (np.maximum(height, 1e-9) * towards)
    fresnel = (1 - bent) ** 5
    table = np.stack([(share * (1 - fresnel)).mean(axis=(2, 3)), (share * fresnel).mean(axis=(2, 3))], axis=-1)
    return np.ascontiguousarray(table.swapaxes(0, 1)).astype(np.float16)


def place_environment(memory: DeviceMemory) -> dict[str, int]:
    """Handles of the maps of the light from around, by the names of their sources."""
    sharp = [cube(PREFILTERED_SIDE >> level, lobe(roughness)) for level, roughness in enumerate(ROUGHNESSES)]
    held = {
        "irradiance": ([cube(IRRADIANCE_SIDE, COSINE)], "cube", 4),
        "prefiltered": (sharp, "cube", 4),
        "brdf": ([brdf_table()], "2d", 2),
    }
    sampler = images.Sampler(filter="linear", level_filter="linear", address="clamp", normalized=True)
    made = {}
    for name, (chain, kind, channels) in held.items():
        placed = (images.image_of(memory.allocate(each, name=name), each, kind, channels) for each in chain)
        first, *levels = placed
        made[f"{name}_map"] = images.place_texture(memory, images.Texture(first, sampler, levels=tuple(levels)))
    return made
