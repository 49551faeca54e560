"""glTF 2.0 files: one glTF mesh is one mesh here, one node with a mesh one instance, in the order of the document.

A mesh with several materials stays one, which decides the acceleration structure. Points and lines have nothing that
a ray can hit and are left out. Skins, morph targets and animations are not applied.

Sources: glTF 2.0 specification, sections 3.7.2 (meshes), 3.5.3 (transformations).
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rayplay.formats.guard.errors import UserError, reason_of
from rayplay.tracer.scenes.description import Instance, Mesh
from rayplay.tracer.scenes.glb_check import check_document, item
from rayplay.tracer.scenes.gltf_accessor import read_accessor, read_indices
from rayplay.tracer.scenes.gltf_file import read_buffers, read_gltf
from rayplay.tracer.scenes.gltf_nodes import placed_meshes

DAMAGE = (KeyError, IndexError, TypeError, ValueError, AttributeError, RecursionError, OverflowError)
_TRIANGLES, _STRIP, _FAN = 4, 5, 6
WITHOUT_TRIANGLES = (0, 1, 2, 3)
"""Modes of a primitive that is points or lines."""
QUANTISED = "KHR_mesh_quantization"
APPEARANCE = ("KHR_materials_", "KHR_texture_", "EXT_texture_", "KHR_lights_")
"""Beginnings of extensions that say how surfaces look; a file that is rendered without a scene pack has one grey."""


def read_glb(path: Path, material_names: list[str] | None = None) -> tuple[list[Mesh], list[Instance]]:
    """Meshes with triangles of a .glb or .gltf file, and their instances.

    material_names   a primitive's material is its name's position there; None: all materials are 0, without UV.

    Raises ``UserError`` for a damaged file, an unknown material, or a required extension that is not read.
    """
    try:
        document, binary = read_gltf(path)
        check_document(path, document)
        _check_extensions(path, document, material_names is None)
        buffers = read_buffers(path, document, binary)
        made = [_mesh(path, document, buffers, entry, material_names) for entry in document.get("meshes", [])]
        numbers = {mesh: number for number, mesh in enumerate(n for n, each in enumerate(made) if each is not None)}
        instances = [Instance(numbers[mesh], matrix) for mesh, matrix in placed_meshes(document) if mesh in numbers]
        return [mesh for mesh in made if mesh is not None], instances
    except DAMAGE as error:
        raise UserError(f"{path}: damaged glTF document: {type(error).__name__}: {reason_of(error)}") from error


def _check_extensions(path: Path, document: dict[str, Any], any_appearance: bool) -> None:
    for name in document.get("extensionsRequired", []):
        if name != QUANTISED and not (any_appearance and str(name).startswith(APPEARANCE)):
            raise UserError(f"{path}: extensionsRequired must be of extensions that are read here, found {name}")


def _mesh(
    path: Path, document: dict[str, Any], buffers: list[memoryview], entry: dict[str, Any], names: list[str] | None
) -> Mesh | None:
    vertices, triangles, uvs, normals, materials = [], [], [], [], []
    vertex_count, mesh_name, has_uv, has_normals = 0, str(entry.get("name", "mesh")), False, False
    for primitive in entry["primitives"]:
        if primitive.get("mode", _TRIANGLES) in WITHOUT_TRIANGLES:
            continue
        attributes = primitive["attributes"]
        position = read_accessor(document, buffers, attributes["POSITION"], "VEC3").astype(np.float32)
        face = faces(document, buffers, primitive, len(position))
        uv = np.zeros((len(position), 2), np.float32)
        number = 0
        if names is not None:
            number = _material_number(path, document, primitive, mesh_name, names)
            if "TEXCOORD_0" in attributes:
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
