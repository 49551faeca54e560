"""Whitted's ray tracing of spheres in plain Python, double precision: the twin of ``examples/gallery/whitted.cu``."""

from typing import NamedTuple

import numpy as np

from rayplay.tracer.scenes.description import Material, Scene

NEAR, FAR, DEEPEST = 0.001, 1e4, 6
Vector = np.ndarray


class Spheres(NamedTuple):
    """float64[n, 3] and float64[n]."""

    center: np.ndarray
    radius: np.ndarray

    @classmethod
    def of(cls, scene: Scene) -> "Spheres":
        """The spheres of a scene."""
        return cls(scene.spheres.center.astype(np.float64), scene.spheres.radius.astype(np.float64))


def nearest(spheres: Spheres, origin: Vector, direction: Vector) -> tuple[float, int]:
    """Distance and number of the nearest sphere along a unit direction; infinity and -1 for none."""
    offset = origin - spheres.center
    half = offset @ direction
    root = half**2 - (offset**2).sum(1) + spheres.radius**2
    with np.errstate(invalid="ignore"):
        near, far = -half - np.sqrt(root), -half + np.sqrt(root)
    t = np.where(near > NEAR, near, far)
    t = np.where((root >= 0) & (t > NEAR) & (t < FAR), t, np.inf)
    first = int(np.argmin(t))
    return (float(t[first]), first) if np.isfinite(t[first]) else (np.inf, -1)


def whitted_colour(s: Spheres, scene: Scene, sun: Vector, origin: Vector, direction: Vector, depth: int) -> Vector:
    """Colour seen from a place along a unit direction."""
    t, number = nearest(s, origin, direction)
    if number < 0:
        share = 0.5 * (direction[1] + 1)
        return (1 - share) * np.array(scene.sky.bottom) + share * np.array(scene.sky.top)
    point = origin + t * direction
    normal = (point - s.center[number]) / s.radius[number]
    material = scene.materials[scene.spheres.material[number]]
    if material.model == "lambertian":
        cosine = max(float(normal @ sun), 0.0)
        lit = cosine > 0 and nearest(s, point, sun)[1] < 0
        return (0.3 + 0.7 * lit * cosine) * np.array(material.albedo)
    if depth + 1 >= DEEPEST:
        return np.zeros(3)
    share, refracted = through(material, direction, normal)
    mirrored = direction - 2 * (direction @ normal) * normal
    colour = share * whitted_colour(s, scene, sun, point, mirrored, depth + 1)
    if share < 1:
        colour = colour + (1 - share) * whitted_colour(s, scene, sun, point, refracted, depth + 1)
    return colour if material.model == "dielectric" else colour * np.array(material.albedo)


def through(material: Material, direction: Vector, normal: Vector) -> tuple[float, Vector]:
    """Share of light that is reflected (Schlick), and the refracted direction."""
    if material.model != "dielectric":
        return 1.0, direction
    along = float(direction @ normal)
    leaving, cosine = along > 0, abs(along)
    ratio = material.ior if leaving else 1 / material.ior
    squared = 1 - ratio**2 * (1 - cosine**2)
    if squared <= 0:
        return 1.0, direction
    refracted = ratio * direction + (ratio * cosine - np.sqrt(squared)) * (-normal if leaving else normal)
    base = ((1 - material.ior) / (1 + material.ior)) ** 2
    return base + (1 - base) * (1 - (material.ior * along if leaving else cosine)) ** 5, refracted
