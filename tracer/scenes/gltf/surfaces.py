"""Surfaces of a glTF document, and the pictures that they are made of.

Sources: glTF 2.0 specification, 3.9 (materials), 3.8 (textures).
"""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rayplay.tracer.scenes.description import Picture
from rayplay.tracer.scenes.gltf.check import item
from rayplay.tracer.scenes.gltf.file import read_uri
from rayplay.tracer.scenes.pictures import read_texels

MAPS = ("baseColor", "metallicRoughness", "normal", "occlusion", "emissive", "height")
"""Maps of a surface; glTF has no height, which is how deep the surface lies below its triangles."""
ALPHA_MODES = ("OPAQUE", "MASK", "BLEND")
WRAPS = {10497: "wrap", 33071: "clamp", 33648: "mirror"}
NEAREST = (9728, 9984, 9986)
"""Filters of a sampler that take the nearest texel."""
LEVEL_FILTERS = {9728: "", 9729: "", 9984: "nearest", 9985: "nearest", 9986: "linear", 9987: "linear"}
"""Filters of a sampler by how they blend levels of a mip chain; the first two read the largest alone."""


@dataclass(frozen=True)
class Surface:
    """A material of the metallic-roughness model. Factors are linear; pictures of colours hold sRGB."""

    name: str = "default"
    base_color: tuple[float, ...] = (1.0, 1.0, 1.0, 1.0)
    metallic: float = 1.0
    roughness: float = 1.0
    emissive: tuple[float, ...] = (0.0, 0.0, 0.0)
    alpha: str = "OPAQUE"
    """One of ``ALPHA_MODES``."""
    cutoff: float = 0.5
    """A fragment of MASK is kept where its alpha is at least this."""
    is_double_sided: bool = False
    pictures: tuple[int, ...] = (-1,) * len(MAPS)
    """Index into ``TexturedScene.pictures`` for each of ``MAPS``; -1 for none."""


def read_surface(document: dict[str, Any], entry: dict[str, Any], maps: Collection[str] = MAPS) -> Surface:
    """A material of a document with its maps among ``maps``; ``ValueError`` for a wrong one."""
    base = entry.get("pbrMetallicRoughness", {})
    holders = {"baseColor": base, "metallicRoughness": base}
    name = str(entry.get("name", "material"))

    def number(key: str) -> int:
        chosen = holders.get(key, entry).get(f"{key}Texture")
        if chosen is None or key not in maps:
            return -1
        item(document.get("textures", []), chosen["index"], f"{name}: {key}Texture")
        if chosen.get("texCoord", 0) != 0:
            raise ValueError(f"{name}: {key}Texture: texCoord must be 0, found {chosen['texCoord']}")
        return int(chosen["index"])

    alpha = entry.get("alphaMode", "OPAQUE")
    if alpha not in ALPHA_MODES:
        raise ValueError(f"{name}: alphaMode must be one of {', '.join(ALPHA_MODES)}, found {str(alpha)[:50]}")
    color, emissive = base.get("baseColorFactor", (1, 1, 1, 1)), entry.get("emissiveFactor", (0, 0, 0))
    factors = [*color, *emissive, base.get("metallicFactor", 1), base.get("roughnessFactor", 1)]
    factors.append(entry.get("alphaCutoff", 0.5))
    if len(color) != 4 or len(emissive) != 3 or not np.isfinite(np.array(factors, np.float64)).all():
        raise ValueError(f"{name}: factors must be finite numbers, four of baseColorFactor and three of emissiveFactor")
    values = [float(value) for value in factors]
    return Surface(
        name, tuple(values[:4]), values[7], values[8], tuple(values[4:7]), alpha, values[9],
        bool(entry.get("doubleSided", False)), (*tuple(number(key) for key in MAPS[:-1]), -1),
    )  # fmt: skip


def read_picture(path: Path, document: dict[str, Any], buffers: list[memoryview], number: int) -> Picture:
    """The picture of a texture and how it is read; ``UserError`` for a damaged one."""
    texture = document["textures"][number]
    sampler: dict[str, Any] = {}
    if "sampler" in texture:
        sampler = item(document.get("samplers", []), texture["sampler"], f"textures[{number}].sampler")
    image = item(document.get("images", []), texture["source"], f"textures[{number}].source")
    name = str(image.get("name", f"image {texture['source']}"))
    place = f"image {name}"
    if "bufferView" in image:
        view = item(document.get("bufferViews", []), image["bufferView"], f"{place}: bufferView")
        start = view.get("byteOffset", 0)
        data = bytes(item(buffers, view["buffer"], f"{place}: buffer")[start : start + view["byteLength"]])
    else:
        data = read_uri(path, image["uri"], place)
    along_u, along_v = (WRAPS[sampler.get(axis, 10497)] for axis in ("wrapS", "wrapT"))
    texels, is_nearest = read_texels(data, f"{path}: {place}"), sampler.get("magFilter") in NEAREST
    return Picture(name, texels, (along_u, along_v), is_nearest, LEVEL_FILTERS[sampler.get("minFilter", 9987)])
