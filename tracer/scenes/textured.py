"""Draws of a glTF file, for rasterising: triangles with texture coordinates, and surfaces with their pictures.

Sources: glTF 2.0 specification, 3.9 (materials), 3.8 (textures), 3.7.2 (colours of vertices), 3.7.4 (winding);
EXT_mesh_gpu_instancing; KHR_texture_transform.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rayplay.formats.guard.errors import UserError
from rayplay.tracer.scenes.description import Camera, Picture
from rayplay.tracer.scenes.gltf.accessor import COLORS, read_accessor, read_colors
from rayplay.tracer.scenes.gltf.check import item
from rayplay.tracer.scenes.gltf.coordinates import KEPT, TRANSFORM, moved, note_meshes, transform_of
from rayplay.tracer.scenes.gltf.file import damage_of, open_gltf
from rayplay.tracer.scenes.gltf.meshes import WITHOUT_TRIANGLES, faces
from rayplay.tracer.scenes.gltf.model import read_camera
from rayplay.tracer.scenes.gltf.nodes import placed_meshes
from rayplay.tracer.scenes.gltf.surfaces import Surface, read_picture, read_surface
from rayplay.tracer.scenes.look import Look

INSTANCE = np.dtype([("position", "<f4", 3), ("rotation", "<f4", 3), ("scale", "<f4"), ("layer", "<u4")])
"""A record of an instance: angles in radians about x, then y, then z; layer of the draw's pictures."""


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
    colors: NDArray[np.float32] | None = None
    """float32[n, 4], linear, which multiply the base colour; None where the file has none."""

    @property
    def instance_count(self) -> int:
        return len(self.places) if self.instances is None else len(self.instances)

    def matrices(self) -> NDArray[np.float64]:
        """float64[instances, 3, 4]: object to world of each instance, of its record where it has one."""
        places = self.places.astype(np.float64)
        if self.instances is None:
            return places
        own = rotations(self.instances["rotation"].astype(np.float64)) * self.instances["scale"][:, None, None]
        moved_to = places[0, :, :3] @ self.instances["position"].astype(np.float64)[:, :, None]
        moved_to[:, :, 0] += places[0, :, 3]
        return np.concatenate([places[0, :, :3] @ own, moved_to], axis=2)

    def is_mirrored(self) -> NDArray[np.bool_]:
        """bool[instances]: places of a negative determinant, whose triangles show their fronts clockwise."""
        with np.errstate(all="ignore"):
            sides = np.sign(np.linalg.det(self.places[:, :, :3].astype(np.float64)))
        return (sides if self.instances is None else sides * np.sign(self.instances["scale"])) < 0

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


def rotations(angles: NDArray[np.float64]) -> NDArray[np.float64]:
    """float64[n, 3, 3]: rotations by angles float64[n, 3] about x, then y, then z."""
    (sx, sy, sz), (cx, cy, cz) = np.sin(angles).T, np.cos(angles).T
    rows = [
        [cy * cz, sx * sy * cz - cx * sz, cx * sy * cz + sx * sz],
        [cy * sz, sx * sy * sz + cx * cz, cx * sy * sz - sx * cz],
        [-sy, sx * cy, cx * cy],
    ]
    return np.moveaxis(np.array(rows), 2, 0)


@dataclass(frozen=True, eq=False)
class TexturedScene:
    """All that is drawn, in the order in which it is drawn: what blends comes last."""

    name: str
    draws: list[Draw]
    surfaces: list[Surface]
    pictures: list[Picture]
    camera: Camera | None = None
    """The file's; None where it has none."""
    unused: tuple[str, ...] = ()
    """What its file says and no draw uses."""

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
    look = Look()
    with damage_of(path):
        document, buffers = open_gltf(path, (TRANSFORM,))
        pictures = [
            read_picture(path, document, buffers, number) for number in range(len(document.get("textures", [])))
        ]
        surfaces = [read_surface(document, entry) for entry in document.get("materials", [])]
        surfaces.append(Surface())  # of primitives without a material
        transforms = [transform_of(entry, look.unused) for entry in document.get("materials", [])] + [KEPT]
        note_meshes(document, look.unused, used=(COLORS,))
        draws, camera = _draws(document, buffers, len(surfaces) - 1), read_camera(document)
        draws = [replace(draw, uv=moved(draw.uv, transforms[draw.surface])) for draw in draws]
    if not draws:
        raise UserError(f"{path}: must have a mesh with triangles that a node places, found none")
    draws.sort(key=lambda draw: surfaces[draw.surface].alpha == "BLEND")
    return TexturedScene(path.stem, draws, surfaces, pictures, camera, look.left_out())


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

    def checked(key: str, values: NDArray[np.float32]) -> NDArray[np.float32]:
        if len(values) != len(position):
            raise ValueError(f"{name}: {key} must have {len(position)} elements, found {len(values)}")
        return values

    def attribute(key: str, width: int) -> NDArray[np.float32]:
        if key not in attributes:
            return np.zeros((len(position), width), np.float32)
        return checked(key, read_accessor(document, buffers, attributes[key], f"VEC{width}").astype(np.float32))

    colors = None
    if COLORS in attributes:
        colors = checked(COLORS, read_colors(document, buffers, attributes[COLORS]))
    index = np.ascontiguousarray(faces(document, buffers, primitive, len(position)).reshape(-1))
    number = primitive.get("material", default)
    if number != default:
        item(document.get("materials", []), number, f"{name}: material")
    normals, uv = attribute("NORMAL", 3), attribute("TEXCOORD_0", 2)
    return Draw(name, position, normals, uv, index, np.stack(matrices), number, colors=colors)
