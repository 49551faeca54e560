"""Meshes without a scene description: GLB and glTF files; OBJ, PLY and STL files, read by trimesh.

They bring geometry and placement only; every triangle gets one grey material and the camera is fitted to the bounds.
"""

import io
from dataclasses import replace
from pathlib import Path

import numpy as np

from rayplay.formats.guard.errors import UserError, reason_of
from rayplay.formats.guard.limits import MESH_BYTES, MESH_ELEMENTS, OBJ_BYTES
from rayplay.tracer.scenes.camera import fit_camera
from rayplay.tracer.scenes.description import Camera, Instance, Material, Mesh, Scene
from rayplay.tracer.scenes.glb import read_glb
from rayplay.tracer.scenes.sound import validate

GLTF_SUFFIXES = (".glb", ".gltf")
GEOMETRY_LINES = tuple(word + end for word in (b"v", b"vn", b"vt", b"f") for end in (b" ", b"\t"))
SUFFIXES = (*GLTF_SUFFIXES, ".obj", ".ply", ".stl")


def read_mesh_file(path: Path) -> Scene:
    """The triangles of ``path``: a mesh per mesh of a glTF file, one mesh of any other; materials divide none.

    Raises ``UserError``, on one line, for whatever keeps trimesh from reading it, and for a file without triangles.
    """
    try:
        if path.suffix.lower() in GLTF_SUFFIXES:
            meshes, instances = read_glb(path)
        else:
            meshes, instances = _by_trimesh(path)
    except UserError:
        raise
    except Exception as error:  # trimesh raises whatever its many parsers meet
        raise UserError(f"{path}: cannot be read as a mesh: {type(error).__name__}: {reason_of(error)}") from error
    if not instances:
        raise UserError(f"{path}: a scene needs at least one triangle or sphere, found none")
    scene = Scene(path.stem, meshes, instances, [Material("grey")], Camera((0.0, 0.0, 1.0), (0.0, 0.0, 0.0)))
    validate(scene, str(path))
    placed = sum(len(meshes[instance.mesh].vertices) for instance in instances)
    MESH_ELEMENTS.check(placed, "vertices that its instances place", file=path)
    return replace(scene, camera=fit_camera(scene))


def _by_trimesh(path: Path) -> tuple[list[Mesh], list[Instance]]:
    import trimesh  # scene packs, glTF files and procedural scenes do without it

    is_obj = path.suffix.lower() == ".obj"
    (OBJ_BYTES if is_obj else MESH_BYTES).check(path.stat().st_size, "its length", file=path)
    file = io.BytesIO(_without_groups(path.read_bytes())) if is_obj else path
    with np.errstate(over="ignore", invalid="ignore"):  # values that are not finite are refused with the scene
        return _convert(
            trimesh.load_scene(
                file, file_type=path.suffix[1:], process=False, skip_materials=True, resolver=_beside(path)
            )
        )


def _without_groups(text: bytes) -> bytes:
    """An OBJ file's vertices and faces, one mesh: trimesh takes time for each material times all vertices."""
    lines = text.replace(b"\r\n", b"\n").replace(b"\\\n", b" ").split(b"\n")
    return b"\n".join(line for line in map(bytes.lstrip, lines) if line.startswith(GEOMETRY_LINES))


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
        triangles = np.ascontiguousarray(faces, dtype=np.uint32)
        vertices = np.ascontiguousarray(geometry.vertices, dtype=np.float32)
        if vertices.shape[1:] != (3,) or triangles.shape[1:] != (3,):
            raise ValueError(f"vertices must have three coordinates and faces three corners, not {vertices.shape[1:]}")
        has_normals = "vertex_normals" in geometry._cache  # trimesh keeps there what the file has
        normals = np.ascontiguousarray(geometry.vertex_normals, np.float32) if has_normals else None
        meshes.append(Mesh(name, vertices, triangles, np.zeros(len(triangles), np.uint16), normals=normals))
    instances = []
    for node in sorted(loaded.graph.nodes_geometry):
        matrix, name = loaded.graph[node]
        if name in numbers:
            instances.append(Instance(numbers[name], np.ascontiguousarray(matrix[:3], dtype=np.float32)))
    return meshes, instances
