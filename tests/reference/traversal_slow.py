"""Rays against every triangle and sphere of a scene, without any structure: the obvious twin of the traversal."""

import numpy as np
from numpy.typing import NDArray

from rayplay.tracer.scenes.description import Scene


def closest_hits(
    scene: Scene, origins: NDArray[np.float32], directions: NDArray[np.float32], t_min: float, t_max: float
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """t float64[n] and instance int64[n] of each ray, in double precision, alpha included; infinity, -1 for a miss."""
    best, instance = np.full(len(origins), np.inf), np.full(len(origins), -1)
    for number, item in enumerate(scene.instances):
        mesh, matrix = scene.meshes[item.mesh], item.object_to_world.astype(np.float64)
        corners = mesh.vertices.astype(np.float64) @ matrix[:, :3].T + matrix[:, 3]
        for face, material in zip(mesh.triangles, mesh.material, strict=True):
            t, u, v = plane_hit(corners[face], origins.astype(np.float64), directions.astype(np.float64))
            hit = (u >= 0) & (v >= 0) & (u + v <= 1) & (t >= t_min) & (t < np.minimum(best, t_max))
            if scene.materials[material].alpha_texture >= 0:
                assert mesh.uv is not None
                hit &= opaque_at(scene, int(material), mesh.uv[face], u, v)
            best[hit], instance[hit] = t[hit], number
    for center, radius in zip(scene.spheres.center, scene.spheres.radius, strict=True):
        t = sphere_hit(center.astype(np.float64), float(radius), origins, directions, t_min)
        hit = t < np.minimum(best, t_max)
        best[hit], instance[hit] = t[hit], len(scene.instances)
    return best, instance


def plane_hit(corners: NDArray, origins: NDArray, directions: NDArray) -> tuple[NDArray, NDArray, NDArray]:
    """t, u, v of each ray in a triangle's plane (Moeller and Trumbore); NaN where it is parallel."""
    edge1, edge2 = corners[1] - corners[0], corners[2] - corners[0]
    p = np.cross(directions, edge2)
    with np.errstate(divide="ignore", invalid="ignore"):
        inverse = 1 / (p @ edge1)
        s = origins - corners[0]
        q = np.cross(s, edge1)
        return (q @ edge2) * inverse, (s * p).sum(axis=1) * inverse, (directions * q).sum(axis=1) * inverse


def opaque_at(scene: Scene, material: int, uv: NDArray, u: NDArray, v: NDArray) -> NDArray[np.bool_]:
    """Whether the texel under each barycentric position is opaque."""
    entry = scene.materials[material]
    alpha = scene.textures[entry.alpha_texture].alpha
    height, width = alpha.shape
    inside = np.isfinite(u) & np.isfinite(v) & (np.abs(u) < 2) & (np.abs(v) < 2)
    u, v = np.where(inside, u, 0), np.where(inside, v, 0)
    place = uv[0] * (1 - u - v)[:, None] + uv[1] * u[:, None] + uv[2] * v[:, None]
    place -= np.floor(place)
    x = np.minimum((place[:, 0] * width).astype(int), width - 1)
    y = np.minimum((place[:, 1] * height).astype(int), height - 1)
    return alpha[y, x] >= 255 * entry.alpha_cutoff


def sphere_hit(center: NDArray, radius: float, origins: NDArray, directions: NDArray, t_min: float) -> NDArray:
    """The nearest meeting at or after t_min, infinity for none."""
    offset, d = origins.astype(np.float64) - center, directions.astype(np.float64)
    a, b, c = (d * d).sum(axis=1), (offset * d).sum(axis=1), (offset * offset).sum(axis=1) - radius**2
    with np.errstate(invalid="ignore"):
        root = np.sqrt(b * b - a * c)
    near, far = (-b - root) / a, (-b + root) / a
    return np.where(near >= t_min, near, np.where(far >= t_min, far, np.inf))
