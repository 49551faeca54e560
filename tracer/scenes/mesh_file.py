"""Meshes without a scene description: glTF and OBJ files; PLY and STL files, read by trimesh.

glTF and OBJ files bring their materials too. Triangles without one are grey, and a file without a camera gets one that
is fitted to its bounds.
"""

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rayplay.formats.guard.errors import UserError, reason_of
from rayplay.formats.guard.limits import MESH_BYTES, MESH_ELEMENTS, MESH_TEXT_BYTES
from rayplay.tracer.scenes.camera import fit_camera
from rayplay.tracer.scenes.description import Instance, Light, Mesh, Scene, Vector, triple
from rayplay.tracer.scenes.gltf.model import UNSEEN, Model, read_model
from rayplay.tracer.scenes.look import GREY, Look
from rayplay.tracer.scenes.mtl import read_libraries
from rayplay.tracer.scenes.obj import read_obj
from rayplay.tracer.scenes.sound import validate

GLTF_SUFFIXES = (".glb", ".gltf")
PLY_HEAD, STL_HEAD, STL_FACET = 4096, 84, 50  # bytes
SUN_DISTANCE = 1000.0
"""A distant light stands so many diagonals of the scene away."""
SUFFIXES = (*GLTF_SUFFIXES, ".obj", ".ply", ".stl")


def read_mesh_file(path: Path) -> Scene:
    """The scene of ``path``: a mesh per mesh of a glTF file, one mesh of any other; materials divide none.

    Raises ``UserError``, on one line, for whatever keeps trimesh from reading it, and for a file without triangles.
    """
    try:
        model = _read(path)
    except UserError:
        raise
    except Exception as error:  # trimesh raises whatever its many parsers meet
        raise UserError(f"{path}: cannot be read as a mesh: {type(error).__name__}: {reason_of(error)}") from error
    scene = model.scene
    if not scene.instances:
        raise UserError(f"{path}: a scene needs at least one triangle, sphere or curve, found none")
    validate(scene, str(path))
    placed = sum(len(scene.meshes[instance.mesh].vertices) for instance in scene.instances)
    MESH_ELEMENTS.check(placed, "vertices that its instances place", file=path)
    bounds = scene.bounds()
    lights = [*scene.lights, *(_distant(sun, *bounds) for sun in model.suns)]
    return replace(scene, camera=model.camera or fit_camera(*bounds), lights=lights)


def _read(path: Path) -> Model:
    if path.suffix.lower() in GLTF_SUFFIXES:
        return read_model(path)
    if path.suffix.lower() == ".obj":
        return Model(_obj_scene(path))
    meshes, instances = _by_trimesh(path)
    return Model(Scene(path.stem, meshes, instances, [GREY], UNSEEN))


def _obj_scene(path: Path) -> Scene:
    """The faces of an OBJ file as one mesh, with the materials of its libraries."""
    look = Look()
    file = read_obj(path, lambda libraries: read_libraries(path, libraries, look))
    meshes = []
    if len(file.triangles):
        mesh = _mesh(path.name, file.vertices, file.triangles, file.normals)
        uv = None if file.uv is None else np.ascontiguousarray(file.uv, np.float32)
        meshes = [replace(mesh, material=file.material, uv=uv)]
    return Scene(
        path.stem, meshes, [Instance(0)] * len(meshes), look.materials, UNSEEN,
        textures=look.textures, pictures=look.pictures, unused=look.left_out(),
    )  # fmt: skip


def _distant(sun: Vector, low: NDArray[np.float32], high: NDArray[np.float32]) -> Light:
    """A light in a direction, so far from a box, float32[3] its corners, that its rays are all but parallel."""
    first, last = low.astype(np.float64), high.astype(np.float64)
    reach = SUN_DISTANCE * max(float(np.linalg.norm(last - first)), 1e-6)
    return Light(triple(0.5 * (first + last) + reach * np.array(sun)), 0.0)


def _by_trimesh(path: Path) -> tuple[list[Mesh], list[Instance]]:
    import trimesh  # scene packs, glTF and OBJ files, and procedural scenes do without it

    MESH_BYTES.check(path.stat().st_size, "its length", file=path)
    data = path.read_bytes()
    if _is_text(data, path.suffix.lower()):
        MESH_TEXT_BYTES.check(len(data), "its length as text", file=path)
        data = _checked_ply(data) if path.suffix.lower() == ".ply" else _one_solid(data)
    with np.errstate(over="ignore", invalid="ignore"):  # values that are not finite are refused with the scene
        return _convert(
            trimesh.load_scene(
                io.BytesIO(data), file_type=path.suffix[1:].lower(), process=False, skip_materials=True,
                resolver=_beside(path),
            )
        )  # fmt: skip


def _is_text(data: bytes, suffix: str) -> bool:
    if suffix == ".ply":
        return b"format ascii" in data[:PLY_HEAD]
    return len(data) < STL_HEAD or len(data) != STL_HEAD + STL_FACET * int.from_bytes(data[80:84], "little")


def _checked_ply(data: bytes) -> bytes:
    """A text PLY file that has a line for every element of its header; ``ValueError`` otherwise."""
    head, _, body = data.partition(b"end_header")
    wanted = sum(int(line.split()[2]) for line in head.splitlines() if line.split()[:1] == [b"element"])
    found = sum(not line.isspace() for line in body.splitlines()[1:] if line)
    if found != wanted:
        raise ValueError(f"must have a line for each of {wanted} elements, found {found}")
    return data


def _one_solid(data: bytes) -> bytes:
    """The facets of a text STL file as one solid: trimesh takes time for each name times all names before it."""
    lines = (line.strip() for line in data.splitlines())
    kept = [line for line in lines if not line.lower().startswith((b"solid", b"endsolid"))]
    if not kept or not kept[0].lower().startswith(b"facet"):
        raise ValueError("must be a text of facets, or have 50 bytes for each of the facets that its header counts")
    return b"\n".join((b"solid", *kept, b"endsolid", b""))


def _beside(path: Path) -> "trimesh.resolvers.FilePathResolver":  # type: ignore[name-defined]  # noqa: F821
    """Gives files of the mesh's own folder alone (materials, which name more files, are not read at all)."""
    from trimesh.resolvers import FilePathResolver

    class Beside(FilePathResolver):
        def get(self, name: str) -> bytes:
            """The bytes of a file of the folder."""
            file = (path.parent / name).resolve()
            if not file.is_relative_to(path.parent.resolve()):
                raise ValueError(f"a mesh's files must lie in its own folder, found {name[:100]!r}")
            MESH_BYTES.check(file.stat().st_size, "its length", file=file)
            return file.read_bytes()

    return Beside(str(path))


def _convert(loaded: "trimesh.Scene") -> tuple[list[Mesh], list[Instance]]:  # type: ignore[name-defined]  # noqa: F821
    numbers: dict[str, int] = {}
    meshes: list[Mesh] = []
    for name, geometry in loaded.geometry.items():
        faces = getattr(geometry, "faces", None)
        if faces is None or not len(faces):
            continue  # point clouds and paths have nothing a ray can hit
        numbers[name] = len(meshes)
        has_normals = "vertex_normals" in geometry._cache  # trimesh keeps there what the file has
        meshes.append(_mesh(name, geometry.vertices, faces, geometry.vertex_normals if has_normals else None))
    instances = []
    for node in sorted(loaded.graph.nodes_geometry):
        matrix, name = loaded.graph[node]
        if name in numbers:
            instances.append(Instance(numbers[name], np.ascontiguousarray(matrix[:3], dtype=np.float32)))
    return meshes, instances


def _mesh(name: str, vertices: NDArray[Any], faces: NDArray[Any], normals: NDArray[Any] | None) -> Mesh:
    """A grey mesh; ``ValueError`` for vertices and faces of other shapes than triangles have."""
    if vertices.shape[1:] != (3,) or faces.shape[1:] != (3,):
        raise ValueError(f"vertices must have three coordinates and faces three corners, not {vertices.shape[1:]}")
    triangles, material = np.ascontiguousarray(faces, dtype=np.uint32), np.zeros(len(faces), np.uint16)
    with np.errstate(over="ignore"):
        corners = np.ascontiguousarray(vertices, dtype=np.float32)
        turned = None if normals is None else np.ascontiguousarray(normals, dtype=np.float32)
    return Mesh(name, corners, triangles, material, normals=turned)
