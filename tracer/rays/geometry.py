"""The arithmetic of a ray: transform, box test, triangle test; float32 throughout, without contraction.

Sources: Davidovic et al., "3D rasterization: a bridge between rasterization and ray casting", 2012 (edge functions in
three dimensions); Ize, "Robust BVH ray traversal", 2013 (the factor that keeps the box test conservative).
"""

import math

import numpy as np

from rayplay.tracer.native.jit import compiled
from rayplay.tracer.native.memory import load_f32

Triple = tuple[np.float32, np.float32, np.float32]

ZERO, ONE = np.float32(0.0), np.float32(1.0)
SMALLEST_DIRECTION = np.float32(2.0**-80)
"""Components nearer to zero are pushed to this size for the box test, so that no product is NaN."""
FAR_SLACK = np.float32(1.0 + 6.0 * 2.0**-24 + 2.0**-22)

HIT_FRONT, HIT_BACK, NO_HIT = 1, 2, 0


@compiled
def safe_inverse(component: np.float32) -> np.float32:
    """1 / component, finite also for zero."""
    if abs(component) < SMALLEST_DIRECTION:
        return ONE / np.float32(math.copysign(SMALLEST_DIRECTION, component))
    return ONE / component


@compiled
def transform_point(matrix: int, point: Triple) -> Triple:
    """matrix: address of float32[12], a 3x4 matrix row by row."""
    return (
        _row(matrix, point) + load_f32(matrix + 12),
        _row(matrix + 16, point) + load_f32(matrix + 28),
        _row(matrix + 32, point) + load_f32(matrix + 44),
    )


@compiled
def transform_vector(matrix: int, vector: Triple) -> Triple:
    """As ``transform_point`` without the translation; the result is not normalised, so distances stay comparable."""
    return _row(matrix, vector), _row(matrix + 16, vector), _row(matrix + 32, vector)


@compiled
def _row(row: int, vector: Triple) -> np.float32:
    return load_f32(row) * vector[0] + load_f32(row + 4) * vector[1] + load_f32(row + 8) * vector[2]


@compiled
def intersect_triangle(
    corners: int, origin: Triple, direction: Triple
) -> tuple[int, np.float32, np.float32, np.float32]:
    """Intersection of a ray's line with a triangle, edges included.

    corners: address of float32[9], three vertices. Returns (NO_HIT, HIT_FRONT or HIT_BACK, t, u, v): u weighs vertex 1,
    v vertex 2; the front is the side from which the vertices run counter-clockwise. NaN anywhere is no hit. Watertight:
    the two triangles of an edge compute exactly opposite values for it, so a ray cannot slip between them.
    """
    ax, ay, az = _corner(corners, origin)
    bx, by, bz = _corner(corners + 12, origin)
    cx, cy, cz = _corner(corners + 24, origin)
    u = _edge(cx, cy, cz, ax, ay, az, direction)
    v = _edge(ax, ay, az, bx, by, bz, direction)
    w = _edge(bx, by, bz, cx, cy, cz, direction)
    inside = (min(min(u, v), w) >= ZERO) | (max(max(u, v), w) <= ZERO)
    total = u + v + w
    if not (inside and abs(total) > ZERO):
        return NO_HIT, ZERO, ZERO, ZERO
    e1x, e1y, e1z = bx - ax, by - ay, bz - az
    e2x, e2y, e2z = cx - ax, cy - ay, cz - az
    nx, ny, nz = e1y * e2z - e1z * e2y, e1z * e2x - e1x * e2z, e1x * e2y - e1y * e2x
    facing = nx * direction[0] + ny * direction[1] + nz * direction[2]
    t = (nx * ax + ny * ay + nz * az) / facing
    if not (abs(facing) > ZERO and t == t):
        return NO_HIT, ZERO, ZERO, ZERO
    weight = ONE / total
    return (HIT_FRONT if facing < ZERO else HIT_BACK), t, u * weight, v * weight


@compiled
def _corner(corner: int, origin: Triple) -> Triple:
    """A vertex relative to the ray's origin."""
    return load_f32(corner) - origin[0], load_f32(corner + 4) - origin[1], load_f32(corner + 8) - origin[2]


@compiled
def _edge(
    px: np.float32, py: np.float32, pz: np.float32, qx: np.float32, qy: np.float32, qz: np.float32, direction: Triple
) -> np.float32:
    """On which side of the edge from p to q a ray from the origin passes; swapping p and q negates it exactly."""
    ex, ey, ez = px - qx, py - qy, pz - qz
    sx, sy, sz = px + qx, py + qy, pz + qz
    return (sy * ez - sz * ey) * direction[0] + (sz * ex - sx * ez) * direction[1] + (sx * ey - sy * ex) * direction[2]
