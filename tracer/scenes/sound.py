"""Laws of a scene that can be traced: finite numbers, indices that point somewhere; and of a camera with a view."""

import dataclasses
import math
from typing import Any

import numpy as np

from rayplay.formats.guard.errors import UserError
from rayplay.tracer.scenes.description import CONTROL_POINTS, LARGEST_COORDINATE, Camera, Mesh, Scene

SHORTEST_VIEW = 1e-15
MOST_MATERIALS = 1 << 16  # a primitive's material is a uint16


def validate(scene: Scene, place: str) -> None:
    """Raise ``UserError`` naming ``place`` where the scene cannot be traced: no primitive, an index that points
    nowhere, a number that is not finite, a camera without a view, an alpha texture on a mesh without UV."""
    check_camera(scene.camera, place)
    _check_numbers(scene.sky, f"{place}: sky")
    for number, light in enumerate(scene.lights):
        _check_numbers(light, f"{place}: lights[{number}]")
    if len(scene.materials) > MOST_MATERIALS:
        raise UserError(f"{place}: materials must be at most {MOST_MATERIALS}, found {len(scene.materials)}")
    for material in scene.materials:
        _check_numbers(material, f"{place}: materials.{material.name}")
    _check_instances(scene, place)
    if not scene.instanced_triangles and not len(scene.spheres) and not len(scene.curves):
        raise UserError(f"{place}: a scene needs at least one triangle, sphere or curve, found none")
    _check_curves(scene, place)
    for mesh in scene.meshes:
        _check_mesh(scene, mesh, f"{place}: mesh {mesh.name}")
    center, radius = scene.spheres.center, scene.spheres.radius
    sound = (np.abs(center) < LARGEST_COORDINATE).all(axis=1) & (radius > 0) & (radius < LARGEST_COORDINATE)
    if not sound.all():
        row = int(np.argmin(sound))
        found = f"{center[row].tolist()} and {radius[row]:g}"
        raise UserError(f"{place}: spheres[{row}]: its centre must be finite, its radius above 0; found {found}")


def _check_curves(scene: Scene, place: str) -> None:
    curves = scene.curves
    if curves.basis not in CONTROL_POINTS:
        raise UserError(f"{place}: curves: basis must be one of {', '.join(CONTROL_POINTS)}, found {curves.basis!r}")
    points = curves.points
    sound = (np.abs(points) < LARGEST_COORDINATE).all(axis=1) & (points[:, 3] > 0)
    if not sound.all():
        row = int(np.argmin(sound))
        raise UserError(
            f"{place}: curves: points[{row}] must be finite, its radius above 0; found {points[row].tolist()}"
        )
    last = len(points) - CONTROL_POINTS[curves.basis]
    if len(curves) and (int(curves.first.max()) > last or int(curves.material.max()) >= len(scene.materials)):
        raise UserError(f"{place}: curves: segments must begin at point 0 to {last}, with a material that is there")


def check_camera(camera: Camera, place: str) -> None:
    """Raise ``UserError`` where the camera has no view, or a number that is not finite or too large."""
    _check_numbers(camera, f"{place}: camera")
    forward = tuple(a - b for a, b in zip(camera.look_at, camera.eye, strict=True))
    if math.hypot(*forward) < SHORTEST_VIEW:
        raise UserError(f"{place}: the eye must not be the point it looks at, found both at {camera.eye}")
    right = tuple(
        forward[(i + 1) % 3] * camera.up[(i + 2) % 3] - forward[(i + 2) % 3] * camera.up[(i + 1) % 3] for i in range(3)
    )
    if math.hypot(*right) < SHORTEST_VIEW**2:
        raise UserError(f"{place}: up must not lie along the view {forward}, found {camera.up}")
    if not 0.0 < camera.vfov_deg < 180.0:
        raise UserError(f"{place}: vfov must be more than 0 and less than 180 degrees, found {camera.vfov_deg}")
    if camera.aperture < 0.0 or camera.focus_distance <= 0.0:
        found = f"{camera.aperture} and {camera.focus_distance}"
        raise UserError(f"{place}: aperture must not be negative and focus must be positive, found {found}")


def _check_numbers(part: Any, place: str) -> None:
    """Every number of a dataclass is finite, and so small that no product of two overflows a float32."""
    for field in dataclasses.fields(part):
        value = getattr(part, field.name)
        numbers = value if isinstance(value, tuple) else (value,)
        if not all(abs(number) < LARGEST_COORDINATE for number in numbers if not isinstance(number, str)):
            limit = f"finite and below {LARGEST_COORDINATE:g}"
            raise UserError(f"{place}.{field.name} must be {limit}, found {value}")


def _check_instances(scene: Scene, place: str) -> None:
    for number, instance in enumerate(scene.instances):
        if not 0 <= instance.mesh < len(scene.meshes):
            found = f"below {len(scene.meshes)}, found {instance.mesh}"
            raise UserError(f"{place}: instance {number}: its mesh must be {found}")
    if not scene.instances:
        return
    matrices = np.array([instance.object_to_world for instance in scene.instances])
    with np.errstate(all="ignore"):
        sound = (np.abs(matrices) < LARGEST_COORDINATE).all(axis=(1, 2))
        square = np.where(sound[:, None, None], matrices[:, :, :3].astype(np.float64), np.eye(3))
        sound &= np.linalg.det(square) != 0
        square[~sound] = np.eye(3)
        sound &= (np.abs(np.linalg.inv(square)) < LARGEST_COORDINATE).all(axis=(1, 2))
    if not sound.all():
        row = int(np.argmin(sound))
        raise UserError(f"{place}: instance {row}: its matrix must be invertible, found {matrices[row].tolist()}")


def _check_mesh(scene: Scene, mesh: Mesh, where: str) -> None:
    vertices, materials, kinds = len(mesh.vertices), len(scene.materials), scene.kinds()
    if len(mesh.triangles) and (found := int(mesh.triangles.max())) >= vertices:
        raise UserError(f"{where}: a vertex number must be below {vertices}, found {found}")
    for name, values in {"vertex": mesh.vertices, "UV of vertex": mesh.uv, "normal of vertex": mesh.normals}.items():
        if values is None:
            continue
        sound = (np.abs(values) < LARGEST_COORDINATE).all(axis=1)  # False for NaN too
        if not sound.all():
            row = int(np.argmin(sound))
            limit = f"finite and below {LARGEST_COORDINATE:g}, found {values[row].tolist()}"
            raise UserError(f"{where}: {name} {row} must be {limit}")
    if len(mesh.material) and (found := int(mesh.material.max())) >= materials:
        raise UserError(f"{where}: a material number must be below {materials}, found {found}")
    if mesh.uv is None and kinds[mesh.material].any():
        name = scene.materials[int(mesh.material[np.argmax(kinds[mesh.material] > 0)])].name
        raise UserError(f"{where}: material {name} has a texture, which needs UV coordinates; found none")
