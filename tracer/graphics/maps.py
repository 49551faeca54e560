"""Textures of a draw: pictures and their mip chains in device memory, and how they are filtered."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rayplay.formats.guard.strict import check_choice
from rayplay.tracer.graphics.mipmaps import box_levels
from rayplay.tracer.graphics.shaders import LAYERS, SURFACE_MAPS
from rayplay.tracer.graphics.stored import Storage
from rayplay.tracer.memory import images
from rayplay.tracer.memory.arena import DeviceMemory
from rayplay.tracer.scenes.description import Picture
from rayplay.tracer.scenes.textured import Draw, TexturedScene

COLOUR_MAPS = ("base_color", "emissive")
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


class PlacedMaps:
    """Textures of a scene in device memory; pictures used twice have one copy for each colour space."""

    def __init__(
        self,
        scene: TexturedScene,
        memory: DeviceMemory,
        filtering: Filtering,
        storage: Storage,
        rules: str = "hardware",
    ) -> None:
        self.scene, self.memory, self.filtering, self.storage, self.rules = scene, memory, filtering, storage, rules
        self.bases: dict[tuple[str, tuple[int, ...]], images.Image] = {}
        self.handles: dict[tuple[str, tuple[int, ...], bool], int] = {}

    def of_draw(self, draw: Draw, bound: Collection[str]) -> dict[str, int]:
        """Handles of a draw's maps among those ``bound``, by the names of their sources."""
        surface = self.scene.surfaces[draw.surface]
        found = {
            f"{name}_map": self._handle("2d", (number,), name in COLOUR_MAPS)
            for name, number in zip(SURFACE_MAPS, surface.pictures, strict=True)
            if number >= 0 and name in bound
        }
        if draw.layers and LAYERS in bound:
            found[f"{LAYERS}_map"] = self._handle("a2d", draw.layers, True)
        return found

    def _handle(self, kind: str, numbers: tuple[int, ...], is_colour: bool) -> int:
        if (kind, numbers, is_colour) not in self.handles:
            pictures = [self.scene.pictures[number] for number in numbers]
            first, name = pictures[0], f"picture {pictures[0].name}"
            texels = np.stack([each.texels for each in pictures]) if kind == "a2d" else first.texels
            chain = self._levels(pictures, is_colour)
            levels = [np.stack(each) if kind == "a2d" else each[0] for each in zip(*chain, strict=True)]
            if self.storage.tiling_by(self.rules) == "crisp":
                base, *rest = self._placed(kind, [texels, *levels], name)
            else:
                if (kind, numbers) not in self.bases:
                    self.bases[kind, numbers] = self._placed(kind, [texels], name)[0]
                base, rest = self.bases[kind, numbers], []
                if levels:
                    rest = self._placed(kind, levels, f"levels of {name}")
            sampler = self.filtering.sampler(first, self.rules)
            texture = images.Texture(base, sampler, "normalized", is_colour, tuple(rest))
            self.handles[kind, numbers, is_colour] = images.place_texture(self.memory, texture)
        return self.handles[kind, numbers, is_colour]

    def _levels(self, pictures: list[Picture], is_colour: bool) -> list[list[NDArray[np.uint8]]]:
        """The mip chain of each picture behind its first level."""
        always = self.filtering.filter != "file" or self.rules == "crisp"
        if not self.filtering.lod or not (always or pictures[0].level_filter):
            return [[] for _ in pictures]
        return [list(each.levels or box_levels(each.texels, is_colour)) for each in pictures]

    def _placed(self, kind: str, levels: list[NDArray[np.uint8]], name: str) -> list[images.Image]:
        return self.storage.place(self.memory, levels, name, kind, self.rules)
