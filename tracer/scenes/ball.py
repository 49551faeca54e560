"""A material ball: a sphere with the maps of a folder, one picture file for each.

The end of a file's name says which map it holds: ``_normal``, ``_ao``, ``_metal``, ``_rough``, ``_depth`` (white is
deepest), ``_emissive``; the file without such an end is the base colour.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rayplay.formats.guard.errors import UserError
from rayplay.tracer.scenes.description import Picture
from rayplay.tracer.scenes.drawn import sphere
from rayplay.tracer.scenes.gltf.surfaces import Surface
from rayplay.tracer.scenes.pictures import read_texels
from rayplay.tracer.scenes.textured import Draw, TexturedScene

SUFFIXES = (".png", ".jpg", ".jpeg", ".tga", ".bmp")
ENDS = ("normal", "ao", "metal", "rough", "depth", "emissive")
BASE = "base colour"
RINGS, SECTORS = 32, 64
REPEATS = np.array([4.0, 2.0], np.float32)
"""How often the maps are repeated around the ball and from pole to pole."""
ROUGHNESS = 0.7
"""Of a ball without a map of it."""


def map_files(folder: Path) -> dict[str, Path]:
    """The picture file of each map; ``UserError`` for two of one map and for no base colour."""
    found: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        if path.suffix.lower() not in SUFFIXES:
            continue
        end = path.stem.rpartition("_")[2]
        name = end if end in ENDS else BASE
        if name in found:
            raise UserError(f"{folder}: must have one picture for {name}, found {found[name].name} and {path.name}")
        found[name] = path
    if BASE not in found:
        raise UserError(
            f"{folder}: must have a picture of the base colour, whose name ends in none of {', '.join(ENDS)}"
        )
    return found


def read_ball(folder: Path) -> TexturedScene:
    """The ball of a folder of maps; ``UserError`` for a damaged picture and for maps that do not fit each other."""
    texels = {name: read_texels(path, str(path)) for name, path in map_files(folder).items()}
    packed = _metallic_roughness(folder, texels)
    maps = [texels[BASE], packed, *(texels.get(name) for name in ("normal", "ao", "emissive", "depth"))]
    pictures: list[Picture] = []
    numbers: list[int] = []
    for name, held in zip((BASE, "metallic roughness", "normal", "ao", "emissive", "depth"), maps, strict=True):
        numbers.append(-1 if held is None else len(pictures))
        if held is not None:
            pictures.append(Picture(name, held))
    surface = Surface(
        folder.name, metallic=float("metal" in texels), roughness=1.0 if "rough" in texels else ROUGHNESS,
        emissive=(float("emissive" in texels),) * 3, pictures=tuple(numbers),
    )  # fmt: skip
    normals, uv, indices = sphere(RINGS, SECTORS)
    place = np.eye(3, 4, dtype=np.float32)[None]
    return TexturedScene(
        folder.name, [Draw("ball", normals, normals, uv * REPEATS, indices, place, 0)], [surface], pictures
    )


def _metallic_roughness(folder: Path, texels: dict[str, NDArray[np.uint8]]) -> NDArray[np.uint8] | None:
    """One picture of both as in glTF: roughness is green, metallic blue."""
    held = {name: texels[name] for name in ("rough", "metal") if name in texels}
    if not held:
        return None
    shapes = {name: each.shape[1::-1] for name, each in held.items()}
    if len(set(shapes.values())) != 1:
        raise UserError(f"{folder}: pictures of rough and metal must have one size, found {shapes}")
    made = np.full(next(iter(held.values())).shape, 255, np.uint8)
    for channel, name in ((1, "rough"), (2, "metal")):
        if name in held:
            made[..., channel] = held[name][..., 0]
    return made
