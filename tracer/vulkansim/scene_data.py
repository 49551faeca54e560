"""Buffers of descriptor sets that are made of a scene, in the layouts that public workloads read.

The layouts are RayTracingInVulkan's, whose programs Vulkan-Sim runs: vertices of nine words, indices, two offsets and a
sphere an instance, materials of 32 B, one uniform block; and the uniform block of two matrices of the Vulkan samples.
Source: ``docs/sources/vulkan-sim.md#workloads``.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rayplay.formats.guard.errors import UserError
from rayplay.tracer.scenes.description import MODELS, Mesh, Scene

Values = Mapping[str, Any]
VERTEX_WORDS = 9  # position, normal, texture coordinates, number of the material
MODEL_NUMBERS = {"lambertian": 0, "metallic": 1, "dielectric": 2, "diffuse_light": 4}
NEAR, FAR = 0.1, 10000.0
UNIFORM_BYTES = 320
MATERIAL = np.dtype(
    [("diffuse", "<f4", 4), ("texture", "<i4"), ("fuzziness", "<f4"), ("refraction", "<f4"), ("model", "<u4")]
)


def camera_matrices(scene: Scene, values: Values) -> bytes:
    """Inverse view and inverse projection, 4 x 4 floats each, column by column."""
    view, projection = _inverse_matrices(values)
    return view.T.tobytes() + projection.T.tobytes()


def uniform(scene: Scene, values: Values) -> bytes:
    """Matrices and settings of RayTracingInVulkan's uniform block; the pinhole's focus is 1."""
    view, projection = _inverse_matrices(values)
    matrices = [np.linalg.inv(view), np.linalg.inv(projection), view, projection]
    data = b"".join(np.ascontiguousarray(matrix.T, np.float32).tobytes() for matrix in matrices)
    lens = np.array([2 * values["lens_radius"], values["focus_distance"] or 1.0, 1.0], "<f4")
    counts = [values[name] for name in ("samples", "samples", "bounces", "seed", "has_sky")]
    return (data + lens.tobytes() + np.array(counts, "<u4").tobytes()).ljust(UNIFORM_BYTES, b"\0")


def _inverse_matrices(values: Values) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Camera to world, and the image plane to directions of the camera, which looks along -z with y up.

    The plane reaches from -1 to 1 along x and, downwards, along y.
    """
    right, up = (np.array(values[f"camera_{name}"], np.float64) for name in ("right", "up"))
    width, height = np.linalg.norm(right), np.linalg.norm(up)
    view, projection = np.eye(4), np.zeros((4, 4))
    view[:3, 0], view[:3, 1] = right / width, up / height
    view[:3, 2], view[:3, 3] = -np.array(values["camera_forward"]), values["camera_eye"]
    projection[0, 0], projection[1, 1], projection[2, 3] = width, -height, -1.0
    projection[3, 2], projection[3, 3] = (NEAR - FAR) / (NEAR * FAR), 1 / NEAR
    return view.astype(np.float32), projection.astype(np.float32)


def vertices(scene: Scene, values: Values) -> bytes:
    """Three vertices a triangle, mesh by mesh; then, for spheres apart, one a sphere that tells its material."""
    parts = [_mesh_vertices(mesh) for mesh in scene.meshes]
    tail = np.zeros((len(scene.spheres), VERTEX_WORDS), np.float32)
    tail[:, 8] = scene.spheres.material.astype(np.int32).view(np.float32)
    return np.concatenate([*parts, tail]).tobytes() if len(tail) or parts else b""


def _mesh_vertices(mesh: Mesh) -> NDArray[np.float32]:
    corners = mesh.triangles.reshape(-1)
    made = np.zeros((len(corners), VERTEX_WORDS), np.float32)
    made[:, :3] = mesh.vertices[corners]
    first, second, third = (mesh.vertices[mesh.triangles[:, corner]].astype(np.float64) for corner in range(3))
    flat = np.cross(second - first, third - first)
    flat /= np.maximum(np.linalg.norm(flat, axis=1, keepdims=True), 1e-30)
    made[:, 3:6] = np.repeat(flat, 3, axis=0)
    if mesh.normals is not None:
        own = mesh.normals[corners].astype(np.float64)
        length = np.linalg.norm(own, axis=1, keepdims=True)
        made[:, 3:6] = np.where(length > 0, own / np.maximum(length, 1e-30), made[:, 3:6])
    if mesh.uv is not None:
        made[:, 6:8] = mesh.uv[corners]
    made[:, 8] = np.repeat(mesh.material.astype(np.int32), 3).view(np.float32)
    return made


def indices(scene: Scene, values: Values) -> bytes:
    """Indices of each mesh's vertices from its first, then a sphere's: 0 three times."""
    parts = [np.arange(mesh.triangles.size, dtype=np.uint32) for mesh in scene.meshes]
    return np.concatenate([*parts, np.zeros(3 * len(scene.spheres), np.uint32)]).tobytes()


def offsets(scene: Scene, values: Values) -> bytes:
    """First index and first vertex of each instance, by its custom index."""
    mixed = {g.mesh for g in scene.geometries() if not g.procedural and g.first_primitive > 0}
    if mixed:
        name = scene.meshes[min(mixed)].name
        raise UserError(f"scene: mesh {name!r} must have triangles of one kind for the source 'offsets', found several")
    sizes = np.array([mesh.triangles.size for mesh in scene.meshes], np.int64)
    first = np.concatenate([[0], np.cumsum(sizes)])
    rows = [(first[instance.mesh], first[instance.mesh]) for instance in scene.instances]
    spheres = range(scene.spheres.instance_count)
    rows += [(first[-1] + 3 * number, first[-1] + number) for number in spheres]
    return np.array(rows, np.uint32).tobytes()


def materials(scene: Scene, values: Values) -> bytes:
    """Colour (of a light what it emits), texture or -1, fuzziness, index of refraction, model."""
    table = np.zeros(len(scene.materials), MATERIAL)
    for row, material in zip(table, scene.materials, strict=True):
        colour = material.emission if material.model == MODELS[3] else material.albedo
        row["diffuse"], row["texture"], row["fuzziness"] = (*colour, 1.0), material.base_color, material.fuzz
        row["refraction"], row["model"] = material.ior, MODEL_NUMBERS[material.model]
    return table.tobytes()


def spheres(scene: Scene, values: Values) -> bytes:
    """Centre and radius of each sphere, by its primitive."""
    return np.column_stack([scene.spheres.center, scene.spheres.radius]).astype("<f4").tobytes()


def instance_spheres(scene: Scene, values: Values) -> bytes:
    """The same by custom index, for spheres apart: zeros for instances of meshes."""
    return bytes(16 * len(scene.instances)) + spheres(scene, values)


SOURCES: dict[str, Callable[[Scene, Values], bytes]] = {
    "camera_matrices": camera_matrices, "uniform": uniform, "vertices": vertices, "indices": indices,
    "offsets": offsets, "materials": materials, "spheres": spheres, "instance_spheres": instance_spheres,
}  # fmt: skip
"""Buffers by the name that a file of bindings uses."""
