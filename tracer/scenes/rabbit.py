"""A rabbit in the Cornell box: one dense, curved mesh in a closed room, as BUNNY has, of ellipsoids with fur.

Stands in for a scan where no data folder is there: triangles overlap where parts meet, and their sizes are alike.
"""

import numpy as np
from numpy.typing import NDArray

from rayplay.formats.guard.errors import UserError
from rayplay.tracer.scenes.cornell import MATERIALS, cornell, room
from rayplay.tracer.scenes.description import Instance, Material, Mesh, Scene, turned
from rayplay.tracer.scenes.terrain import grid_triangles

LEAST_TRIANGLES, MOST_TRIANGLES = 1_000, 4_000_000
PARTS = np.array(
    [
        # centre, radii, tilt about x in degrees
        [0.00, 0.52, -0.05, 0.44, 0.47, 0.60, -12],  # body
        [0.30, 0.36, -0.22, 0.22, 0.34, 0.38, 0],  # haunches
        [-0.30, 0.36, -0.22, 0.22, 0.34, 0.38, 0],
        [0.00, 0.99, 0.46, 0.28, 0.27, 0.33, 20],  # head
        [0.00, 0.91, 0.70, 0.15, 0.13, 0.14, 0],  # muzzle
        [0.13, 1.41, 0.27, 0.085, 0.36, 0.055, -18],  # ears
        [-0.13, 1.41, 0.27, 0.085, 0.36, 0.055, -18],
        [0.17, 0.20, 0.40, 0.11, 0.24, 0.13, 0],  # paws
        [-0.17, 0.20, 0.40, 0.11, 0.24, 0.13, 0],
        [0.30, 0.08, 0.08, 0.12, 0.08, 0.30, 0],  # feet
        [-0.30, 0.08, 0.08, 0.12, 0.08, 0.30, 0],
        [0.00, 0.42, -0.66, 0.16, 0.16, 0.16, 0],  # tail
    ]
)
FUR, FUR_WAVES = 0.012, (11.0, 23.0, 47.0)
"""Height of the fur, and how many waves of it go around a part."""


def rabbit(triangles: int = 144_000) -> Scene:
    """About as many triangles as asked for in one mesh, in a room of 12, lit by its lamp; stands in for bunny."""
    if not LEAST_TRIANGLES <= triangles <= MOST_TRIANGLES:
        limits = f"from {LEAST_TRIANGLES} to {MOST_TRIANGLES}"
        raise UserError(f"rabbit: the number of triangles must be {limits}, found {triangles}")
    box = cornell()
    return Scene(
        name="rabbit",
        meshes=[room(), _mesh(triangles)],
        instances=[Instance(0), turned(1, np.deg2rad(25.0), (270.0, 0.0, -290.0), 210.0)],
        materials=[*MATERIALS, Material("fur", albedo=(0.7, 0.6, 0.5))],
        camera=box.camera,
        sky=box.sky,
        lights=box.lights,
    )


def _mesh(triangles: int) -> Mesh:
    """All parts, each with triangles by its surface."""
    radii = PARTS[:, 3:6]
    area = (radii[:, 0] * radii[:, 1]) + (radii[:, 1] * radii[:, 2]) + (radii[:, 2] * radii[:, 0])
    cells = np.maximum(np.sqrt(triangles * area / area.sum() / 12).round().astype(int), 1)
    vertices, normals, faces, count = [], [], [], 0
    for part, across in zip(PARTS, cells, strict=True):
        points, index = _ball(int(across))
        place, normal = _part(part, points)
        vertices.append(place)
        normals.append(normal)
        faces.append(index + np.uint32(count))
        count += len(points)
    made = np.concatenate(faces)
    material = np.full(len(made), len(MATERIALS), np.uint16)
    corners, upright = (np.concatenate(each).astype(np.float32) for each in (vertices, normals))
    return Mesh("rabbit", corners, made, material, normals=upright)


def _part(part: NDArray[np.float64], points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Vertices and normals, float64[n, 3], of an ellipsoid on which fur stands."""
    center, radii, tilt = part[:3], part[3:6], np.deg2rad(part[6])
    turn = np.array([[1, 0, 0], [0, np.cos(tilt), -np.sin(tilt)], [0, np.sin(tilt), np.cos(tilt)]])
    normal = points / radii
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    height = np.zeros(len(points))
    for number, waves in enumerate(FUR_WAVES):
        height += np.sin(waves * points + number).prod(axis=1) / (number + 1)
    return (points * radii + FUR * height[:, None] * normal) @ turn.T + center, normal @ turn.T


def _ball(across: int) -> tuple[NDArray[np.float64], NDArray[np.uint32]]:
    """Points of the unit sphere, float64[n, 3], and triangles: a cube whose sides have ``across`` squares a row."""
    along, up = np.meshgrid(np.linspace(-1, 1, across + 1), np.linspace(-1, 1, across + 1))
    side = np.stack([along.ravel(), up.ravel(), np.ones(along.size)], axis=1)
    outwards = grid_triangles(across)[:, [0, 2, 1]]  # a terrain faces down its z
    points: list[NDArray[np.float64]] = []
    faces: list[NDArray[np.int64]] = []
    for axis in range(3):
        for sign in (1, -1):
            placed = sign * np.roll(side, axis, axis=1)
            points.append(placed / np.linalg.norm(placed, axis=1, keepdims=True))
            faces.append(outwards[:, ::sign] + len(faces) * len(side))
    return np.concatenate(points), np.concatenate(faces).astype(np.uint32)
