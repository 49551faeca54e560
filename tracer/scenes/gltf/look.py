"""Materials of a glTF document as rays see them: the metallic-roughness model by the nearest of the four models.

metallic of at least a half is a mirror of that roughness, transmission of at least a half is glass, emission without
a map is a light; everything else is matte. Maps of base colour and emission become texture fetches.

Sources: glTF 2.0 specification, 3.9; KHR_materials_emissive_strength, KHR_materials_ior, KHR_materials_transmission.
"""

from pathlib import Path
from typing import Any

import numpy as np

from rayplay.tracer.scenes.description import Material, Picture, triple
from rayplay.tracer.scenes.gltf.surfaces import Surface, read_picture, read_surface
from rayplay.tracer.scenes.look import GREY, Look

FETCHED = ("baseColor", "metallicRoughness", "emissive")
OTHER_MAPS = {"normalTexture": "normal maps", "occlusionTexture": "occlusion maps"}
USED_EXTENSIONS = ("KHR_materials_emissive_strength", "KHR_materials_ior", "KHR_materials_transmission")
HALF = 0.5
OPAQUE = 255
GLASS_IOR = 1.5


def read_look(path: Path, document: dict[str, Any], buffers: list[memoryview]) -> Look:
    """Materials in the order of the document, then grey for primitives without one.

    Raises ``ValueError`` or what a damaged document gives otherwise.
    """
    look = Look()
    pictures = _Pictures(path, document, buffers, look)
    for entry in document.get("materials", []):
        look.materials.append(_material(document, entry, pictures))
    look.materials.append(GREY)
    return look


class _Pictures:
    """Pictures that materials use, each read once."""

    def __init__(self, path: Path, document: dict[str, Any], buffers: list[memoryview], look: Look) -> None:
        self.path, self.document, self.buffers, self.look = path, document, buffers, look
        self.numbers: dict[int, int] = {}
        self.cut_outs: dict[int, int] = {}

    def read(self, texture: int) -> Picture:
        """The picture of a texture, also where only its mean is used."""
        return read_picture(self.path, self.document, self.buffers, texture)

    def number(self, texture: int) -> int:
        """Its number in the look; -1 for none."""
        if texture >= 0 and texture not in self.numbers:
            self.numbers[texture] = self.look.picture(self.read(texture))
        return self.numbers.get(texture, -1)

    def cut_out(self, texture: int, least: float) -> int:
        """Number of its alpha as a cut-out; -1 where all of it is at least ``least``."""
        picture = self.look.pictures[self.number(texture)]
        alpha = picture.texels[:, :, 3]
        if alpha.min() >= OPAQUE * least:
            return -1
        if texture not in self.cut_outs:
            self.cut_outs[texture] = self.look.cut_out(picture.name, alpha)
        return self.cut_outs[texture]


def _material(document: dict[str, Any], entry: dict[str, Any], pictures: _Pictures) -> Material:
    look, extensions = pictures.look, entry.get("extensions", {})
    _note(look, document, entry)
    surface = read_surface(document, entry, _fetched(look, entry))
    base, metallic_roughness, _, _, emissive, _ = surface.pictures
    metallic, roughness = surface.metallic, surface.roughness
    if metallic_roughness >= 0 and metallic:
        look.unused["metallic-roughness maps, but their mean"] += 1
        _, green, blue, _ = pictures.read(metallic_roughness).texels.mean(axis=(0, 1)) / 255
        metallic, roughness = metallic * blue, roughness * green
    strength = float(extensions.get("KHR_materials_emissive_strength", {}).get("emissiveStrength", 1.0))
    red, green, blue = (strength * value for value in surface.emissive)
    emission = (red, green, blue)
    glass = _is_glass(surface, extensions)
    shines = any(emission) and not glass
    model = "dielectric" if glass else "diffuse_light" if shines and emissive < 0 else ""
    is_plain = bool(model)  # its colour is not asked for
    least = _least_alpha(surface)
    cut = -1 if is_plain else _cut_out(pictures, surface, base, least)
    is_hidden = cut >= 0 and base < 0
    return Material(
        surface.name,
        model or ("metallic" if metallic >= HALF else "lambertian"),
        albedo=triple(surface.base_color[:3]),
        fuzz=min(max(float(roughness), 0.0), 1.0),
        ior=float(extensions.get("KHR_materials_ior", {}).get("ior", GLASS_IOR)),
        emission=emission if shines else (0.0, 0.0, 0.0),
        alpha_texture=cut,
        alpha_cutoff=least,
        base_color=-1 if is_plain else pictures.number(base),
        emissive=pictures.number(emissive) if shines and not is_hidden else -1,
    )


def _fetched(look: Look, entry: dict[str, Any]) -> tuple[str, ...]:
    """Maps that are used: of the first texture coordinates."""
    holders = {"emissive": entry}
    found = []
    for key in FETCHED:
        chosen = holders.get(key, entry.get("pbrMetallicRoughness", {})).get(f"{key}Texture", {})
        if chosen.get("texCoord", 0) != 0:
            look.unused["maps of further texture coordinates"] += 1
        else:
            found.append(key)
        if "KHR_texture_transform" in chosen.get("extensions", {}):
            look.unused["KHR_texture_transform"] += 1
    return tuple(found)


def _note(look: Look, document: dict[str, Any], entry: dict[str, Any]) -> None:
    look.unused.update(name for key, name in OTHER_MAPS.items() if key in entry)
    look.unused.update(str(name)[:50] for name in entry.get("extensions", {}) if name not in USED_EXTENSIONS)


def _is_glass(surface: Surface, extensions: dict[str, Any]) -> bool:
    transmission = float(extensions.get("KHR_materials_transmission", {}).get("transmissionFactor", 0.0))
    return transmission >= HALF or (
        surface.alpha == "BLEND" and surface.pictures[0] < 0 and surface.base_color[3] < HALF
    )


def _cut_out(pictures: _Pictures, surface: Surface, base: int, least: float) -> int:
    """Number of the cut-out of a surface; -1 where it has no holes. One pixel without alpha hides all of it."""
    if surface.alpha == "OPAQUE":
        return -1
    if surface.alpha == "BLEND":
        pictures.look.unused["blending, cut at half its alpha"] += 1
    if base >= 0:
        return pictures.cut_out(base, least)
    return -1 if least <= 1 else pictures.look.cut_out(surface.name, np.zeros((1, 1), np.uint8))


def _least_alpha(surface: Surface) -> float:
    """Of a texel that is kept: the surface's own alpha multiplies it."""
    return (HALF if surface.alpha == "BLEND" else surface.cutoff) / max(surface.base_color[3], 1e-6)
