"""Meshes without a scene description: GLB, glTF, OBJ, PLY and STL files, read by trimesh.

They bring geometry and placement only; every triangle gets one grey material and the camera is fitted to the bounds.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np

from formats.errors import UserError
from tracer.scenes.camera import fit_camera
from tracer.scenes.description import Camera, Instance, Material, Mesh, Scene

SUFFIXES = (".glb", ".gltf", ".obj", ".ply", ".stl")


def read_mesh_file(path: Path) -> Scene:
    """The triangles of ``path``, one mesh per geometry of the file and one instance per use of it.

    Raises ``UserError``, on one line, for whatever keeps trimesh from reading it, and for a file without triangles.
    """
    import trimesh  # scene packs and procedural scenes do without it

    try:
        loaded = trimesh.load_scene(path, process=False)
        meshes, instances = _convert(loaded)
    except Exception as error:  # trimesh raises whatever its many parsers meet
        reason = " ".join(str(error).split()) or "no reason given"
        raise UserError(f"{path}: cannot be read as a mesh: {type(error).__name__}: {reason}") from error
    if not sum(len(meshes[instance.mesh].triangles) for instance in instances):
        raise UserError(f"{path}: a scene needs at least one triangle or sphere, found none")
    if not all(np.isfinite(mesh.vertices).all() for mesh in meshes):
        raise UserError(f"{path}: every vertex must be finite, found NaN or infinity")
    scene = Scene(path.stem, meshes, instances, [Material("grey")], Camera((0.0, 0.0, 1.0), (0.0, 0.0, 0.0)))
    return replace(scene, camera=fit_camera(scene))


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
        meshes.append(Mesh(name, vertices, triangles, np.zeros(len(triangles), np.uint16)))
    instances = []
    for node in sorted(loaded.graph.nodes_geometry):
        matrix, name = loaded.graph[node]
        if name in numbers:
            instances.append(Instance(numbers[name], np.ascontiguousarray(matrix[:3], dtype=np.float32)))
    return meshes, instances
