"""Parts that all draws of a picture share: camera, light, and the layout of the shaders' constants.

``DRAW`` and ``VIEW`` are the structures of ``tracer/programs/graphics/graphics.h``.
"""

import numpy as np
from numpy.typing import NDArray

from rayplay.tracer.scenes.description import Camera
from rayplay.tracer.scenes.textured import MAPS, Surface, TexturedScene

POINTERS = (
    "vertices", "positions", "normals", "uv", "places", "clip", "world_out", "normal_out", "uv_out", "world", "normal",
    "coordinates", "slots", "target",
)  # fmt: skip
DRAW = np.dtype(
    [(name, "<u8") for name in POINTERS]
    + [("maps", "<u8", len(MAPS)), ("base_color", "<f4", 4), ("emissive", "<f4", 4), ("metallic", "<f4")]
    + [("roughness", "<f4"), ("cutoff", "<f4"), ("has_maps", "<u4"), ("length", "<u4"), ("invocations", "<u4")]
)
VIEW = np.dtype(
    [("clip", "<f4", (4, 4)), ("eye", "<f4", 4), ("to_light", "<f4", 4), ("light", "<f4", 4), ("ambient", "<f4", 4)]
)
SUN = (0.45, 0.8, 0.4)
"""Direction to the light."""
LIGHT, AMBIENT = (3.0, 2.9, 2.7), (0.32, 0.35, 0.4)
NEAR_SHARE = 1e-3
"""Distance of the near plane, as a share of the scene's diagonal."""


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


def view_constants(scene: TexturedScene, camera: Camera, width: int, height: int) -> bytes:
    """Bytes of the constant ``view``: camera and light."""
    low, high = scene.bounds()
    near = NEAR_SHARE * float(np.sqrt(((high - low).astype(np.float64) ** 2).sum())) or NEAR_SHARE
    made = np.zeros((), VIEW)
    made["clip"] = clip_matrix(camera, near, width, height)
    made["eye"][:3] = camera.eye
    made["to_light"][:3] = np.array(SUN) / np.sqrt(np.dot(SUN, SUN))
    made["light"][:3], made["ambient"][:3] = LIGHT, AMBIENT
    return made.tobytes()


def surface_constants(made: NDArray[np.void], surface: Surface, handles: list[int]) -> None:
    """Fill the fields of a ``DRAW`` that say how a surface looks."""
    made["maps"] = handles
    made["base_color"], made["emissive"][:3] = surface.base_color, surface.emissive
    made["metallic"], made["roughness"] = surface.metallic, surface.roughness
    made["cutoff"] = surface.cutoff if surface.alpha == "MASK" else 0.0
    made["has_maps"] = sum(1 << bit for bit, each in enumerate(handles) if each)
