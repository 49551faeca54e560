"""Plain glTF 2.0 binary files, as scene packs use them: one glTF mesh is one mesh here, one node with a mesh one
instance. (trimesh splits a mesh with several materials into several, which would change the acceleration structure.)

Sources: glTF 2.0 specification, sections 3.6 (accessors), 3.5.3 (transformations), 4.4 (GLB layout).
"""

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.limits import MESH_BYTES
from rayplay.tracer.scenes.description import Instance, Mesh
from rayplay.tracer.scenes.glb_check import check_document, item, whole

DAMAGE = (KeyError, IndexError, TypeError, ValueError, AttributeError, RecursionError, OverflowError)
_MAGIC, _JSON_CHUNK, _BIN_CHUNK = 0x46546C67, 0x4E4F534A, 0x004E4942
_TRIANGLES = 4
_COMPONENTS = {5120: "<i1", 5121: "<u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
_WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4}


def read_glb(path: Path, material_names: list[str]) -> tuple[list[Mesh], list[Instance]]:
    """Meshes and instances of a GLB file; a primitive's material is its name's position in ``material_names``.

    Raises ``UserError`` for a damaged file, an unknown material, or a feature outside plain glTF (compression,
    sparse accessors, strips).
    """
    document, binary = read_chunks(path)
    try:
        check_document(path, document)
        if required := document.get("extensionsRequired"):
            raise UserError(f"{path}: a scene pack's GLB must need no extension, found {', '.join(required)}")
        meshes = [_mesh(path, document, binary, entry, material_names) for entry in document["meshes"]]
        return meshes, _instances(document)
    except DAMAGE as error:
        raise UserError(f"{path}: damaged glTF document: {type(error).__name__}: {str(error)[:300]}") from error


def read_chunks(path: Path) -> tuple[dict[str, Any], bytes]:
    """The document and the binary chunk of a GLB file; ``UserError`` for another file."""
    MESH_BYTES.check(path.stat().st_size, "its length", file=path)
    data = path.read_bytes()
    if len(data) < 20 or struct.unpack_from("<I", data)[0] != _MAGIC:
        raise UserError(f"{path}: a GLB file must begin with the word glTF, found {data[:4]!r}")
    _, version, length = struct.unpack_from("<III", data)
    if version != 2 or length > len(data):
        raise UserError(f"{path}: must be glTF 2 of {length} bytes, found version {version} and {len(data)} bytes")
    found: dict[int, bytes] = {}
    offset = 12
    while offset + 8 <= length:
        size, kind = struct.unpack_from("<II", data, offset)
        if offset + 8 + size > length:
            raise UserError(f"{path}: chunk at byte {offset} must hold {size} bytes, found {length - offset - 8}")
        found.setdefault(kind, data[offset + 8 : offset + 8 + size])
        offset += 8 + size
    try:
        document = json.loads(found[_JSON_CHUNK])
    except (KeyError, ValueError, RecursionError) as error:
        raise UserError(f"{path}: the JSON chunk of a GLB file must be readable: {error}") from error
    if not isinstance(document, dict):
        raise UserError(f"{path}: the JSON chunk must hold an object, found {type(document).__name__}")
    return document, found.get(_BIN_CHUNK, b"")


def _mesh(path: Path, document: dict[str, Any], binary: bytes, entry: dict[str, Any], names: list[str]) -> Mesh:
    vertices, triangles, uvs, materials = [], [], [], []
    vertex_count, mesh_name = 0, str(entry.get("name", "mesh"))
    for primitive in entry["primitives"]:
        if primitive.get("mode", _TRIANGLES) != _TRIANGLES:
            raise UserError(
                f"{path}: mesh {mesh_name}: mode must be {_TRIANGLES}, triangles; found {primitive['mode']}"
            )
        attributes = primitive["attributes"]
        position = _accessor(document, binary, attributes["POSITION"]).astype(np.float32)
        index = np.arange(len(position))
        if "indices" in primitive:
            index = _accessor(document, binary, primitive["indices"]).reshape(-1)
        face = index.astype(np.uint32).reshape(-1, 3) + np.uint32(vertex_count)
        uv = np.full((len(position), 2), np.nan, np.float32)
        if "TEXCOORD_0" in attributes:
            uv = _accessor(document, binary, attributes["TEXCOORD_0"]).astype(np.float32)
        number = _material_number(path, document, primitive, mesh_name, names)
        vertices.append(position)
        triangles.append(face)
        uvs.append(uv)
        materials.append(np.full(len(face), number, np.uint16))
        vertex_count += len(position)
    uv = np.concatenate(uvs)
    has_uv = bool(np.isfinite(uv).any())
    return Mesh(
        mesh_name,
        np.concatenate(vertices),
        np.concatenate(triangles),
        np.concatenate(materials),
        np.nan_to_num(uv) if has_uv else None,
    )


def _material_number(
    path: Path, document: dict[str, Any], primitive: dict[str, Any], mesh_name: str, names: list[str]
) -> int:
    name = document["materials"][primitive["material"]]["name"]
    if name not in names:
        raise UserError(f"{path}: mesh {mesh_name}: material {name} must be in the scene's JSON, which has {names}")
    return names.index(name)


def _accessor(document: dict[str, Any], binary: bytes, index: int) -> NDArray[Any]:
    """The elements of an accessor, one row each, in their own type."""
    accessor = item(document["accessors"], index, "accessor")
    if "sparse" in accessor:
        raise ValueError(f"accessor {index} is sparse")
    view = item(document["bufferViews"], accessor["bufferView"], f"accessor {index}: bufferView")
    if view.get("buffer", 0) != 0:
        raise ValueError(f"buffer view {accessor['bufferView']} must lie in the file's own buffer")
    dtype = np.dtype(_COMPONENTS[accessor["componentType"]])
    width, count = _WIDTHS[accessor["type"]], accessor["count"]
    start = whole(view.get("byteOffset", 0), f"accessor {index}") + accessor.get("byteOffset", 0)
    stride = view.get("byteStride", width * dtype.itemsize)
    if count < 0 or start < 0 or start + stride * (count - 1) + width * dtype.itemsize > len(binary):
        raise ValueError(f"accessor {index} must lie in the {len(binary)} bytes of the binary chunk")
    return np.ndarray((count, width), dtype, binary, start, (stride, dtype.itemsize)).copy()


def _instances(document: dict[str, Any]) -> list[Instance]:
    nodes = document.get("nodes", [])
    scenes = document.get("scenes")
    roots = scenes[document.get("scene", 0)].get("nodes", []) if scenes else _roots(nodes)
    found: list[Instance] = []

    def walk(number: int, parent: NDArray[np.float64]) -> None:
        node = nodes[number]
        matrix = parent @ _local_matrix(node)
        if "mesh" in node:
            found.append(Instance(node["mesh"], np.ascontiguousarray(matrix[:3], dtype=np.float32)))
        for child in node.get("children", []):
            walk(child, matrix)

    for root in roots:
        walk(root, np.eye(4))
    return found


def _roots(nodes: list[dict[str, Any]]) -> list[int]:
    children = {child for node in nodes for child in node.get("children", [])}
    return [number for number in range(len(nodes)) if number not in children]


def _local_matrix(node: dict[str, Any]) -> NDArray[np.float64]:
    if "matrix" in node:
        return np.array(node["matrix"], dtype=np.float64).reshape(4, 4).T
    x, y, z, w = node.get("rotation", (0.0, 0.0, 0.0, 1.0))
    rotation = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )
    matrix = np.eye(4)
    matrix[:3, :3] = rotation * np.array(node.get("scale", (1.0, 1.0, 1.0)))
    matrix[:3, 3] = node.get("translation", (0.0, 0.0, 0.0))
    return matrix
