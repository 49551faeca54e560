"""Parts that all draws of a picture share: camera, light and textures, as sources of the shaders' constants."""

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rayplay.tracer.graphics.shaders import SURFACE_MAPS
from rayplay.tracer.memory import images
from rayplay.tracer.memory.arena import DeviceMemory
from rayplay.tracer.scenes.description import Camera
from rayplay.tracer.scenes.textured import Draw, Surface, TexturedScene

COLOUR_MAPS = ("base_color", "emissive")
"""Maps whose texels hold sRGB."""
SUN = (0.45, 0.8, 0.4)
"""Direction to the light."""
LIGHT, AMBIENT = (3.0, 2.9, 2.7), (0.32, 0.35, 0.4)
NEAR_SHARE = 1e-3
"""Distance of the near plane, as a share of the scene's diagonal."""


def clip_matrix(camera: Camera, near: float, width: int, height: int) -> NDArray[np.float64]:
    """float64[4, 4] from world to clip space, depth 0 at the distance ``near`` and 1 infinitely far, y upwards."""
    eye = np.array(camera.eye, np.float64)
    forward = np.array(camera.look_at, np.float64) - eye
    forward /= np.sqrt((forward * forward).sum())
    right = np.cross(forward, np.array(camera.up, np.float64))
    right /= np.sqrt((right * right).sum())
    scale = 1 / np.tan(np.radians(camera.vfov_deg) / 2)
    made = np.zeros((4, 4))
    made[:, :3] = right * scale * height / width, np.cross(right, forward) * scale, forward, forward
    made[:, 3] = -(made[:, :3] * eye).sum(axis=1)
    made[2, 3] -= near
    return made


def view_values(scene: TexturedScene, camera: Camera, width: int, height: int) -> dict[str, Any]:
    """Camera and light, by the names of their sources."""
    low, high = scene.bounds()
    near = NEAR_SHARE * float(np.sqrt(((high - low).astype(np.float64) ** 2).sum())) or NEAR_SHARE
    rows = clip_matrix(camera, near, width, height)
    made = {f"to_clip_{axis}": row for axis, row in zip("xyzw", rows, strict=True)}
    sun = np.array(SUN) / np.sqrt(np.dot(SUN, SUN))
    return made | {
        "eye": camera.eye, "to_light": sun, "light": LIGHT, "ambient": AMBIENT, "width": width, "height": height,
    }  # fmt: skip


class PlacedMaps:
    """Textures of a scene in device memory; pictures used twice have one copy for each colour space."""

    def __init__(self, scene: TexturedScene, memory: DeviceMemory) -> None:
        self.scene, self.memory = scene, memory
        self.texels: dict[tuple[str, tuple[int, ...]], int] = {}
        self.handles: dict[tuple[str, tuple[int, ...], bool], int] = {}

    def of_draw(self, draw: Draw, bound: Collection[str]) -> dict[str, int]:
        """Handles of a draw's maps among those ``bound``, by the names of their sources."""
        surface = self.scene.surfaces[draw.surface]
        found = {
            f"{name}_map": self._handle("2d", (picture,), name in COLOUR_MAPS)
            for name, picture in zip(SURFACE_MAPS, surface.pictures, strict=True)
            if picture >= 0 and name in bound
        }
        if draw.layers and "layers" in bound:
            found["layers_map"] = self._handle("a2d", draw.layers, True)
        return found

    def _handle(self, kind: str, pictures: tuple[int, ...], is_colour: bool) -> int:
        if (kind, pictures, is_colour) not in self.handles:
            held = self.scene.pictures[pictures[0]]
            texels = held.texels
            if kind == "a2d":
                texels = np.stack([self.scene.pictures[number].texels for number in pictures])
            if (kind, pictures) not in self.texels:
                self.texels[kind, pictures] = self.memory.allocate(texels, name=f"picture {held.name}")
            image = images.image_of(self.texels[kind, pictures], texels, kind, 4)
            chosen = "nearest" if held.is_nearest else "linear"
            sampler = images.Sampler(filter=chosen, address=held.wrap, normalized=True)
            self.handles[kind, pictures, is_colour] = images.place_texture(
                self.memory, images.Texture(image, sampler, "normalized", is_colour)
            )
        return self.handles[kind, pictures, is_colour]


def surface_values(surface: Surface) -> dict[str, Any]:
    """How a surface looks, by the names of the sources."""
    return {
        "base_color": surface.base_color, "emissive": surface.emissive, "metallic": surface.metallic,
        "roughness": surface.roughness, "cutoff": surface.cutoff if surface.alpha == "MASK" else 0.0,
    }  # fmt: skip
