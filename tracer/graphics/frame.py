"""Parts that all draws of a picture share: camera, light, and how a surface looks, as sources of constants."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rayplay.tracer.scenes.description import Camera
from rayplay.tracer.scenes.gltf.surfaces import Surface
from rayplay.tracer.scenes.textured import TexturedScene

SUN = (0.45, 0.8, 0.4)
"""Direction to the light."""
LIGHT, AMBIENT = (3.0, 2.9, 2.7), (0.32, 0.35, 0.4)
NEAR_SHARE, MOST_DISTANCES = 1e-3, 100.0
"""Distance of the near plane, as a share of the scene's diagonal, or of a multiple of the distance to the point that
the camera looks at, where that is less: a triangle far away must not clip all others."""


def clip_matrix(camera: Camera, near: float, width: int, height: int) -> NDArray[np.float64]:
    """float64[4, 4] from world to clip space, depth 0 at the distance ``near`` and 1 infinitely far, y upwards."""
    eye = np.array(camera.eye, np.float64)
    forward = np.array(camera.look_at, np.float64) - eye
    forward /= np.sqrt((forward * forward).sum())
    right = np.cross(forward, np.array(camera.up, np.float64))
    right /= np.sqrt((right * right).sum())
    scale = 1 / np.tan(np.radians(camera.vfov_deg) / 2)
    made = np.zeros((4, 4))
    made[:, :3] = right * scale * height / width, np.cross(right, forward) * scale, forward, forward
    made[:, 3] = -(made[:, :3] * eye).sum(axis=1)
    made[2, 3] -= near
    return made


def view_values(scene: TexturedScene, camera: Camera, width: int, height: int) -> dict[str, Any]:
    """Camera and light, by the names of their sources."""
    low, high = (each.astype(np.float64) for each in scene.bounds())
    diagonal = float(np.sqrt(((high - low) ** 2).sum()))
    towards = np.array(camera.look_at, np.float64) - np.array(camera.eye, np.float64)
    near = NEAR_SHARE * min(diagonal, MOST_DISTANCES * float(np.sqrt((towards**2).sum()))) or NEAR_SHARE
    rows = clip_matrix(camera, near, width, height)
    made = {f"to_clip_{axis}": row for axis, row in zip("xyzw", rows, strict=True)}
    sun = np.array(SUN) / np.sqrt(np.dot(SUN, SUN))
    return made | {
        "eye": camera.eye, "to_light": sun, "light": LIGHT, "ambient": AMBIENT, "width": width, "height": height,
    }  # fmt: skip


def surface_values(surface: Surface) -> dict[str, Any]:
    """How a surface looks, by the names of the sources."""
    return {
        "base_color": surface.base_color, "emissive": surface.emissive, "metallic": surface.metallic,
        "roughness": surface.roughness, "cutoff": surface.cutoff if surface.alpha == "MASK" else 0.0,
    }  # fmt: skip
