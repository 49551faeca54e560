"""Draws of a glTF file, for rasterising: triangles with texture coordinates, and surfaces with their pictures.

Sources: glTF 2.0 specification, 3.9 (materials), 3.8 (textures); EXT_mesh_gpu_instancing.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rayplay.formats.guard.errors import UserError, reason_of
from rayplay.tracer.scenes.glb import DAMAGE, QUANTISED, WITHOUT_TRIANGLES, faces
from rayplay.tracer.scenes.glb_check import check_document, item
from rayplay.tracer.scenes.gltf_accessor import read_accessor
from rayplay.tracer.scenes.gltf_file import read_buffers, read_gltf, read_uri
from rayplay.tracer.scenes.gltf_nodes import placed_meshes
from rayplay.tracer.scenes.pictures import read_texels

MAPS = ("baseColor", "metallicRoughness", "normal", "occlusion", "emissive", "height")
"""Maps of a surface; glTF has no height, which is how deep the surface lies below its triangles."""
INSTANCE = np.dtype([("position", "<f4", 3), ("rotation", "<f4", 3), ("scale", "<f4"), ("layer", "<u4")])
"""A record of an instance: angles in radians about x, then y, then z; layer of the draw's pictures."""
ALPHA_MODES = ("OPAQUE", "MASK", "BLEND")
WRAPS = {10497: "wrap", 33071: "clamp", 33648: "mirror"}
NEAREST = (9728, 9984, 9986)
"""Filters of a sampler that take the nearest texel."""
LEVEL_FILTERS = {9728: "", 9729: "", 9984: "nearest", 9985: "nearest", 9986: "linear", 9987: "linear"}
"""Filters of a sampler by how they blend levels of a mip chain; the first two read the largest alone."""


@dataclass(frozen=True, eq=False)
class Picture:
    """Texels of a texture and how they are read."""

    name: str
    texels: NDArray[np.uint8]
    """uint8[height, width, 4]; row 0 is v = 0, the top, as in glTF."""
    wrap: tuple[str, str] = ("wrap", "wrap")
    """Along u and v: wrap, clamp or mirror."""
    is_nearest: bool = False
    level_filter: str = "linear"
    """Of a mip chain: nearest, linear (between two levels), or empty where the largest level alone is read."""
    levels: tuple[NDArray[np.uint8], ...] = ()
    """The chain behind ``texels`` where the file has one; else it is made of them."""


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


@dataclass(frozen=True, eq=False)
class Draw:
    """A primitive of a mesh at its places."""

    name: str
    positions: NDArray[np.float32]
    """float32[n, 3], in object space."""
    normals: NDArray[np.float32]
    """float32[n, 3]; zero where the file has none."""
    uv: NDArray[np.float32]
    """float32[n, 2]; zero where the file has none."""
    indices: NDArray[np.uint32]
    """uint32[3 m], the index buffer."""
    places: NDArray[np.float32]
    """float32[instances, 3, 4], object to world."""
    surface: int
    """Index into ``TexturedScene.surfaces``."""
    instances: NDArray[np.void] | None = None
    """``INSTANCE`` [n] of a draw with attributes for each instance, and one place that holds for all."""
    layers: tuple[int, ...] = ()
    """Index into ``TexturedScene.pictures`` for each layer of such a draw."""
    is_template: bool = False
    """Whether its node is called ``*_template``: records of instances stand for its place."""

    @property
    def instance_count(self) -> int:
        return len(self.places) if self.instances is None else len(self.instances)

    def corners(self) -> NDArray[np.float32]:
        """float32[n, 3], in world space: its vertices, or the boxes of spheres about its instances."""
        with np.errstate(over="ignore", invalid="ignore"):
            if self.instances is None:
                return np.concatenate([self.positions @ place[:, :3].T + place[:, 3] for place in self.places])
            place = self.places[0].astype(np.float64)
            reach = np.sqrt((self.positions.astype(np.float64) ** 2).sum(axis=1).max(initial=0))
            box = reach * np.abs(self.instances["scale"])[:, None] * np.sqrt((place[:, :3] ** 2).sum(axis=1))
            middle = self.instances["position"] @ place[:, :3].T + place[:, 3]
            return np.concatenate([middle - box, middle + box]).astype(np.float32)


@dataclass(frozen=True, eq=False)
class TexturedScene:
    """All that is drawn, in the order in which it is drawn: what blends comes last."""

    name: str
    draws: list[Draw]
    surfaces: list[Surface]
    pictures: list[Picture]

    def bounds(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Lowest and highest corner in world space, float32[3] each, of the finite corners; zero without any."""
        low, high = np.full(3, np.inf, np.float32), np.full(3, -np.inf, np.float32)
        for draw in self.draws:
            corners = draw.corners()
            finite = corners[np.isfinite(corners).all(axis=1)]
            low, high = np.vstack([low, finite]).min(axis=0), np.vstack([high, finite]).max(axis=0)
        return (low, high) if np.isfinite(low).all() else (np.zeros(3, np.float32), np.zeros(3, np.float32))


def read_textured(path: Path) -> TexturedScene:
    """Draws of a .glb or .gltf file: one for each primitive of each mesh that a node places.

    Nodes that share a mesh give an instance each. Raises ``UserError`` for a damaged file or picture.
    """
    try:
        document, binary = read_gltf(path)
        check_document(path, document)
        for name in document.get("extensionsRequired", []):
            if name != QUANTISED:
                raise UserError(f"{path}: extensionsRequired must be of extensions that are read here, found {name}")
        buffers = read_buffers(path, document, binary)
        pictures = [_picture(path, document, buffers, number) for number in range(len(document.get("textures", [])))]
        surfaces = [_surface(document, entry) for entry in document.get("materials", [])]
        surfaces.append(Surface())  # of primitives without a material
        draws = _draws(document, buffers, len(surfaces) - 1)
    except DAMAGE as error:
        raise UserError(f"{path}: damaged glTF document: {type(error).__name__}: {reason_of(error)}") from error
    if not draws:
        raise UserError(f"{path}: must have a mesh with triangles that a node places, found none")
    draws.sort(key=lambda draw: surfaces[draw.surface].alpha == "BLEND")
    return TexturedScene(path.stem, draws, surfaces, pictures)


def _draws(document: dict[str, Any], buffers: list[memoryview], default: int) -> list[Draw]:
    places: dict[int, list[NDArray[np.float32]]] = {}
    for mesh, matrix in placed_meshes(document):
        places.setdefault(mesh, []).append(matrix)
    nodes = [node for node in document.get("nodes", []) if str(node.get("name", "")).endswith("_template")]
    templates = {node.get("mesh") for node in nodes}
    return [
        replace(
            _draw(
                document,
                buffers,
                str(document["meshes"][mesh].get("name", f"mesh {mesh}")),
                primitive,
                matrices,
                default,
            ),
            is_template=mesh in templates,
        )
        for mesh, matrices in places.items()
        for primitive in document["meshes"][mesh]["primitives"]
        if primitive.get("mode", 4) not in WITHOUT_TRIANGLES
    ]


def _draw(
    document: dict[str, Any],
    buffers: list[memoryview],
    name: str,
    primitive: dict[str, Any],
    matrices: list[NDArray[np.float32]],
    default: int,
) -> Draw:
    attributes = primitive["attributes"]
    position = read_accessor(document, buffers, attributes["POSITION"], "VEC3").astype(np.float32)

    def attribute(key: str, width: int) -> NDArray[np.float32]:
        if key not in attributes:
            return np.zeros((len(position), width), np.float32)
        values = read_accessor(document, buffers, attributes[key], f"VEC{width}").astype(np.float32)
        if len(values) != len(position):
            raise ValueError(f"{name}: {key} must have {len(position)} elements, found {len(values)}")
        return values

    index = np.ascontiguousarray(faces(document, buffers, primitive, len(position)).reshape(-1))
    number = primitive.get("material", default)
    if number != default:
        item(document.get("materials", []), number, f"{name}: material")
    return Draw(name, position, attribute("NORMAL", 3), attribute("TEXCOORD_0", 2), index, np.stack(matrices), number)


def _surface(document: dict[str, Any], entry: dict[str, Any]) -> Surface:
    base = entry.get("pbrMetallicRoughness", {})
    holders = {"baseColor": base, "metallicRoughness": base}
    name = str(entry.get("name", "material"))

    def number(key: str) -> int:
        chosen = holders.get(key, entry).get(f"{key}Texture")
        if chosen is None:
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


def _picture(path: Path, document: dict[str, Any], buffers: list[memoryview], number: int) -> Picture:
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
