"""The Cornell box with two white boxes: scene 4 of LumiBench's code base (``docs/sources/scenes.md#cornell-box``)."""

import numpy as np
from numpy.typing import NDArray

from rayplay.tracer.scenes.description import Camera, Instance, Light, Material, Mesh, Scene, Sky, turned

SIDE = 555.0
BOX_WIDTH = 165.0
GREEN, RED, WHITE, LIGHT = range(4)

MATERIALS = [
    Material("green", albedo=(0.12, 0.45, 0.15)),
    Material("red", albedo=(0.65, 0.05, 0.05)),
    Material("white", albedo=(0.73, 0.73, 0.73)),
    Material("light", model="diffuse_light", albedo=(0.0, 0.0, 0.0), emission=(15.0, 15.0, 15.0)),
]

_Corner = tuple[float, float, float]


def cornell() -> Scene:
    """36 triangles in 3 meshes, room open towards +z, black background."""
    return Scene(
        name="cornell",
        meshes=[room(), _box_mesh("box_short", 165.0), _box_mesh("box_tall", 330.0)],
        instances=[
            Instance(0),
            turned(1, np.deg2rad(-18.0), (260.0, 0.0, -65.0)),
            turned(2, np.deg2rad(15.0), (125.0, 0.0, -295.0)),
        ],
        materials=list(MATERIALS),
        camera=Camera(eye=(278.0, 278.0, 800.0), look_at=(278.0, 278.0, 0.0), vfov_deg=40.0),
        sky=Sky(gradient=False),
        lights=[Light((280.0, 500.0, -100.0), 10.0)],
    )


def room() -> Mesh:
    """Five walls and the lamp, 12 triangles."""
    s, lamp = SIDE, 0.998 * SIDE
    quads: list[tuple[int, tuple[_Corner, _Corner, _Corner, _Corner]]] = [
        (GREEN, ((0, 0, 0), (0, 0, -s), (0, s, -s), (0, s, 0))),
        (RED, ((s, 0, -s), (s, 0, 0), (s, s, 0), (s, s, -s))),
        (WHITE, ((0, 0, -s), (s, 0, -s), (s, s, -s), (0, s, -s))),
        (WHITE, ((0, 0, 0), (s, 0, 0), (s, 0, -s), (0, 0, -s))),
        (WHITE, ((0, s, -s), (s, s, -s), (s, s, 0), (0, s, 0))),
        (LIGHT, ((213, lamp, -328), (343, lamp, -328), (343, lamp, -223), (213, lamp, -223))),
    ]
    corners = np.array([quad for _, quad in quads], dtype=np.float64)
    materials = np.array([material for material, _ in quads])
    return quad_mesh("cornell_box", corners, materials)


def quad_mesh(name: str, corners: NDArray[np.float64], materials: NDArray[np.int64]) -> Mesh:
    """Two triangles per quad. corners: float[q, 4, 3] counter-clockwise seen from the front; materials: int[q]."""
    first = 4 * np.arange(len(corners), dtype=np.uint32)[:, None]
    triangles = (first[:, :, None] + np.array([[0, 1, 2], [0, 2, 3]], dtype=np.uint32)).reshape(-1, 3)
    vertices = corners.reshape(-1, 3).astype(np.float32)
    return Mesh(name, vertices, triangles.astype(np.uint32), np.repeat(materials, 2).astype(np.uint16))


def _box_mesh(name: str, height: float) -> Mesh:
    """A white box over a square, local z in [-165, 0]."""
    x, y, z = BOX_WIDTH, height, -BOX_WIDTH
    quads = [
        [(0, 0, 0), (x, 0, 0), (x, y, 0), (0, y, 0)],
        [(x, 0, 0), (x, 0, z), (x, y, z), (x, y, 0)],
        [(x, 0, z), (0, 0, z), (0, y, z), (x, y, z)],
        [(0, 0, z), (0, 0, 0), (0, y, 0), (0, y, z)],
        [(0, y, 0), (x, y, 0), (x, y, z), (0, y, z)],
        [(0, 0, z), (x, 0, z), (x, 0, 0), (0, 0, 0)],
    ]
    return quad_mesh(name, np.array(quads, dtype=np.float64), np.full(len(quads), WHITE))
