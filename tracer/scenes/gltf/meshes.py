"""glTF 2.0 files: one glTF mesh is one mesh here, one node with a mesh one instance, in the order of the document.

A mesh with several materials stays one, which decides the acceleration structure. Points and lines have nothing that
a ray can hit and are left out. Skins, morph targets and animations are not applied.

Sources: glTF 2.0 specification, sections 3.7.2 (meshes), 3.5.3 (transformations).
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rayplay.formats.guard.errors import UserError
from rayplay.tracer.scenes.description import Instance, Mesh
from rayplay.tracer.scenes.gltf.accessor import read_accessor, read_indices
from rayplay.tracer.scenes.gltf.check import item
from rayplay.tracer.scenes.gltf.file import damage_of, open_gltf
from rayplay.tracer.scenes.gltf.nodes import placed_meshes

_TRIANGLES, _STRIP, _FAN = 4, 5, 6
WITHOUT_TRIANGLES = (0, 1, 2, 3)
"""Modes of a primitive that is points or lines."""


class Placed(NamedTuple):
    """Meshes with triangles, and their instances."""

    meshes: list[Mesh]
    instances: list[Instance]


Numbers = Callable[[dict[str, Any], str], int]
"""Number of the material of a primitive, of the mesh of that name."""


def read_glb(path: Path, material_names: list[str]) -> Placed:
    """Meshes with triangles of a .glb or .gltf file whose materials are described elsewhere, and their instances.

    material_names   a primitive's material is its name's position there.

    Raises ``UserError`` for a damaged file, an unknown material, or a required extension that is not read.
    """

    def number(primitive: dict[str, Any], mesh_name: str) -> int:
        return _material_number(path, document, primitive, mesh_name, material_names)

    with damage_of(path):
        document, buffers = open_gltf(path)
        return place(document, buffers, number, is_mapped=[True] * len(material_names))


def place(document: dict[str, Any], buffers: list[memoryview], number: Numbers, is_mapped: Sequence[bool]) -> Placed:
    """Meshes with triangles, and an instance for each node with one.

    is_mapped   of each material: whether its primitives need texture coordinates.
    """
    made = [_mesh(document, buffers, entry, number, is_mapped) for entry in document.get("meshes", [])]
    numbers = {mesh: number for number, mesh in enumerate(n for n, each in enumerate(made) if each is not None)}
    instances = [Instance(numbers[mesh], matrix) for mesh, matrix in placed_meshes(document) if mesh in numbers]
    return Placed([mesh for mesh in made if mesh is not None], instances)


def _mesh(
    document: dict[str, Any], buffers: list[memoryview], entry: dict[str, Any], number_of: Numbers,
    is_mapped: Sequence[bool],
) -> Mesh | None:  # fmt: skip
    vertices, triangles, uvs, normals, materials = [], [], [], [], []
    vertex_count, mesh_name, has_uv, has_normals = 0, str(entry.get("name", "mesh")), False, False
    for primitive in entry["primitives"]:
        if primitive.get("mode", _TRIANGLES) in WITHOUT_TRIANGLES:
            continue
        attributes = primitive["attributes"]
        position = read_accessor(document, buffers, attributes["POSITION"], "VEC3").astype(np.float32)
        face = faces(document, buffers, primitive, len(position))
        uv = np.zeros((len(position), 2), np.float32)
        number = number_of(primitive, mesh_name)
        if is_mapped[number] and "TEXCOORD_0" in attributes:
            uv, has_uv = read_accessor(document, buffers, attributes["TEXCOORD_0"], "VEC2").astype(np.float32), True
        normal = np.zeros((len(position), 3), np.float32)
        if "NORMAL" in attributes:
            normal, has_normals = (
                read_accessor(document, buffers, attributes["NORMAL"], "VEC3").astype(np.float32),
                True,
            )
        for name, values in {"TEXCOORD_0": uv, "NORMAL": normal}.items():
            if len(values) != len(position):
                raise ValueError(f"mesh {mesh_name}: {name} must have {len(position)} elements, found {len(values)}")
        vertices.append(position)
        triangles.append(face + np.uint32(vertex_count))
        uvs.append(uv)
        normals.append(normal)
        materials.append(np.full(len(face), number, np.uint16))
        vertex_count += len(position)
    if not sum(len(face) for face in triangles):
        return None
    parts = (np.concatenate(vertices), np.concatenate(triangles), np.concatenate(materials))
    return Mesh(
        mesh_name, *parts, np.concatenate(uvs) if has_uv else None, np.concatenate(normals) if has_normals else None
    )


def faces(
    document: dict[str, Any], buffers: list[memoryview], primitive: dict[str, Any], vertices: int
) -> NDArray[np.uint32]:
    """uint32[n, 3]: vertex numbers of a primitive's triangles."""
    index: NDArray[Any] = np.arange(vertices, dtype=np.uint32)
    if "indices" in primitive:
        number = primitive["indices"]
        index = read_indices(document, buffers, item(document["accessors"], number, "indices"), f"accessor {number}")
        if len(index) and index.max() >= vertices:
            raise ValueError(f"accessor {number}: a vertex number must be below {vertices}, found {index.max()}")
    index, mode = index.astype(np.uint32), primitive.get("mode", _TRIANGLES)
    if mode == _TRIANGLES:
        if len(index) % 3:
            raise ValueError(f"triangles must have three corners each, found {len(index)} in all")
        return index.reshape(-1, 3)
    if mode == _STRIP:  # every second triangle is turned, so that all face the same side
        made = np.stack([index[:-2], index[1:-1], index[2:]], axis=1)
        made[1::2, 1:] = made[1::2, :0:-1]
        return made
    if mode == _FAN:
        return np.stack([index[1:-1], index[2:], np.full(max(len(index) - 2, 0), index[:1])], axis=1)
    raise ValueError(f"a primitive's mode must be 0 to 6, found {str(mode)[:50]}")


def _material_number(
    path: Path, document: dict[str, Any], primitive: dict[str, Any], mesh_name: str, names: list[str]
) -> int:
    name = item(document["materials"], primitive["material"], f"mesh {mesh_name}: material")["name"]
    if name not in names:
        raise UserError(f"{path}: mesh {mesh_name}: material {name} must be in the scene's JSON, which has {names}")
    return names.index(name)
