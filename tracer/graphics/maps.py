"""Textures of a draw: pictures and their mip chains in device memory, and how they are filtered."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rayplay.formats.guard.strict import check_choice
from rayplay.tracer.graphics.mipmaps import box_levels
from rayplay.tracer.memory import images
from rayplay.tracer.memory.arena import DeviceMemory
from rayplay.tracer.scenes.textured import MAPS, Picture, TexturedScene

COLOUR_MAPS = ("baseColor", "emissive")
"""Maps whose texels hold sRGB."""
FILTERS = {"nearest": ("nearest", "nearest"), "bilinear": ("linear", "nearest"), "trilinear": ("linear", "linear")}
"""Filter within a level and filter of levels."""


@dataclass(frozen=True)
class Filtering:
    """How textures are filtered."""

    lod: bool = True
    """Whether look-ups choose a level of a mip chain; otherwise textures have their first level alone."""
    filter: str = "file"
    """One of ``FILTERS``, or as the scene's file says for each picture."""
    max_anisotropy: int = 1
    """Samples along the longer side of a pixel's footprint, 1 to 16."""

    def __post_init__(self) -> None:
        check_choice(self.filter, ("file", *FILTERS), "filter")
        images.Sampler(max_anisotropy=self.max_anisotropy)

    def sampler(self, picture: Picture, rules: str) -> images.Sampler:
        """The sampler of a picture; CRISP's released code takes the nearest texel of the level's floor."""
        texels, levels = "nearest" if picture.is_nearest else "linear", picture.level_filter or "nearest"
        if self.filter != "file":
            texels, levels = FILTERS[self.filter]
        most = self.max_anisotropy
        if rules == "crisp":
            texels, levels, most = "nearest", "floor", 1
        return images.Sampler(
            filter=texels, level_filter=levels, max_anisotropy=most, address=picture.wrap, normalized=True
        )


def place_maps(
    scene: TexturedScene, memory: DeviceMemory, filtering: Filtering, rules: str = "hardware"
) -> list[list[int]]:
    """Handles of each surface's textures, 0 for none; pictures used twice have one copy for each colour space."""
    texels = [memory.allocate(each.texels, name=f"picture {each.name}") for each in scene.pictures]
    made: dict[tuple[int, bool], int] = {}

    def handle(number: int, is_colour: bool) -> int:
        if number < 0:
            return 0
        if (number, is_colour) not in made:
            held = scene.pictures[number]
            has_levels = filtering.lod and (held.level_filter or filtering.filter != "file" or rules == "crisp")
            chain = list(held.levels or box_levels(held.texels, is_colour)) if has_levels else []
            base, *rest = (
                images.image_of(address, values, "2d", 4)
                for address, values in [(texels[number], held.texels), *_placed(chain, held.name, memory)]
            )
            texture = images.Texture(base, filtering.sampler(held, rules), "normalized", is_colour, tuple(rest))
            made[number, is_colour] = images.place_texture(memory, texture)
        return made[number, is_colour]

    return [
        [handle(number, name in COLOUR_MAPS) for name, number in zip(MAPS, surface.pictures, strict=True)]
        for surface in scene.surfaces
    ]


def _placed(chain: list[NDArray[np.uint8]], name: str, memory: DeviceMemory) -> list[tuple[int, NDArray[np.uint8]]]:
    """Levels one after the other in one allocation, each with its address."""
    if not chain:
        return []
    start = memory.allocate(np.concatenate([level.reshape(-1) for level in chain]), name=f"levels of picture {name}")
    ends = np.cumsum([level.nbytes for level in chain])
    return [(start + int(end) - level.nbytes, level) for end, level in zip(ends, chain, strict=True)]
