"""Small scenes with known pictures: squares that face the camera, at chosen depths and with chosen surfaces."""

from pathlib import Path

import numpy as np

from rayplay.tracer.graphics.shaders import BUILT_IN, Shaders, read_shaders
from rayplay.tracer.graphics.stages import Picture, Rules, draw_scene
from rayplay.tracer.record.visits import AnySink
from rayplay.tracer.scenes.description import Camera
from rayplay.tracer.scenes.description import Picture as Texels
from rayplay.tracer.scenes.gltf.surfaces import Surface
from rayplay.tracer.scenes.textured import Draw, TexturedScene

CAMERA = Camera(eye=(0, 0, 10), look_at=(0, 0, 0), vfov_deg=40)
SIZE = (24, 16)
IDENTITY = np.eye(3, 4, dtype=np.float32)[None]
TRACE = Path("drawn.trace")


def square(z: float, half: float = 1.0, surface: int = 0, name: str = "square") -> Draw:
    """A square that faces the camera, with texture coordinates from 0 to 1, v downwards."""
    corners = np.array([[-half, -half, z], [half, -half, z], [half, half, z], [-half, half, z]], np.float32)
    normals = np.tile(np.array([0, 0, 1], np.float32), (4, 1))
    uv = np.array([[0, 1], [1, 1], [1, 0], [0, 0]], np.float32)
    return Draw(name, corners, normals, uv, np.array([0, 1, 2, 0, 2, 3], np.uint32), IDENTITY, surface)


def joined(first: Draw, second: Draw) -> Draw:
    """One draw with the triangles of two, in this order."""
    parts = {
        name: np.concatenate([getattr(first, name), getattr(second, name)]) for name in ("positions", "normals", "uv")
    }
    indices = np.concatenate([first.indices, second.indices + np.uint32(len(first.positions))])
    return Draw(first.name, **parts, indices=indices, places=IDENTITY, surface=first.surface)


def scene(draws: list[Draw], surfaces: list[Surface], pictures: tuple[np.ndarray, ...] = ()) -> TexturedScene:
    """A scene of these parts; pictures are uint8[h, w, 4] and are read at the nearest texel."""
    return TexturedScene("test", draws, surfaces, [Texels(f"p{n}", p, is_nearest=True) for n, p in enumerate(pictures)])


def drawn(
    made: TexturedScene,
    shader: str | Shaders = "lit",
    sink: AnySink = None,
    backend: str = "machine",
    camera: Camera = CAMERA,
    rules: Rules | None = None,
) -> Picture:
    """The picture of a scene."""
    shaders = read_shaders(BUILT_IN, shader) if isinstance(shader, str) else shader
    return draw_scene(made, shaders, camera, SIZE, rules or Rules(), sink, backend, progress=False)


def middle(picture: Picture) -> np.ndarray:
    """Linear RGB in the middle of the picture."""
    return picture.framebuffer.colour[SIZE[1] // 2, SIZE[0] // 2, :3]
