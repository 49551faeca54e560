"""The arithmetic of a ray: transform, box test, triangle test; float32 throughout, without contraction.

Sources: Davidovic et al., "3D rasterization: a bridge between rasterization and ray casting", 2012 (edge functions in
three dimensions); Ize, "Robust BVH ray traversal", 2013 (the factor that keeps the box test conservative).
"""

import math

import numpy as np
from numba import njit

ZERO, ONE = np.float32(0.0), np.float32(1.0)
SMALLEST_DIRECTION = np.float32(2.0**-80)
"""Components nearer to zero are pushed to this size for the box test, so that no product is NaN."""
FAR_SLACK = np.float32(1.0 + 6.0 * 2.0**-24 + 2.0**-22)

HIT_FRONT, HIT_BACK, NO_HIT = 1, 2, 0


@njit(cache=True, error_model="numpy", inline="always")
def safe_inverse(component: np.float32) -> np.float32:
    """1 / component, finite also for zero."""
    if abs(component) < SMALLEST_DIRECTION:
        component = math.copysign(SMALLEST_DIRECTION, component)
    return ONE / np.float32(component)


@njit(cache=True, error_model="numpy", inline="always")
def transform_point(
    matrix: np.ndarray, x: np.float32, y: np.float32, z: np.float32
) -> tuple[np.float32, np.float32, np.float32]:
    """matrix: float32[12], a 3x4 matrix row by row."""
    return (
        matrix[0] * x + matrix[1] * y + matrix[2] * z + matrix[3],
        matrix[4] * x + matrix[5] * y + matrix[6] * z + matrix[7],
        matrix[8] * x + matrix[9] * y + matrix[10] * z + matrix[11],
    )


@njit(cache=True, error_model="numpy", inline="always")
def transform_vector(
    matrix: np.ndarray, x: np.float32, y: np.float32, z: np.float32
) -> tuple[np.float32, np.float32, np.float32]:
    """As ``transform_point`` without the translation; the result is not normalised, so distances stay comparable."""
    return (
        matrix[0] * x + matrix[1] * y + matrix[2] * z,
        matrix[4] * x + matrix[5] * y + matrix[6] * z,
        matrix[8] * x + matrix[9] * y + matrix[10] * z,
    )


@njit(cache=True, error_model="numpy", inline="always")
def intersect_triangle(
    corners: np.ndarray,
    origin: tuple[np.float32, np.float32, np.float32],
    direction: tuple[np.float32, np.float32, np.float32],
) -> tuple[int, np.float32, np.float32, np.float32]:
    """Where a ray's line meets a triangle, edges included.

    corners: float32[9], three vertices. Returns (NO_HIT, HIT_FRONT or HIT_BACK, t, u, v): u weighs vertex 1, v vertex
    2; the front is the side from which the vertices run counter-clockwise. NaN anywhere is no hit. Watertight: the two
    triangles of an edge compute exactly opposite values for it, so a ray cannot slip between them.
    """
    ax, ay, az = corners[0] - origin[0], corners[1] - origin[1], corners[2] - origin[2]
    bx, by, bz = corners[3] - origin[0], corners[4] - origin[1], corners[5] - origin[2]
    cx, cy, cz = corners[6] - origin[0], corners[7] - origin[1], corners[8] - origin[2]
    u = _edge(cx, cy, cz, ax, ay, az, direction)
    v = _edge(ax, ay, az, bx, by, bz, direction)
    w = _edge(bx, by, bz, cx, cy, cz, direction)
    inside = (u >= ZERO and v >= ZERO and w >= ZERO) or (u <= ZERO and v <= ZERO and w <= ZERO)
    total = u + v + w
    e1x, e1y, e1z = bx - ax, by - ay, bz - az
    e2x, e2y, e2z = cx - ax, cy - ay, cz - az
    nx, ny, nz = e1y * e2z - e1z * e2y, e1z * e2x - e1x * e2z, e1x * e2y - e1y * e2x
    facing = nx * direction[0] + ny * direction[1] + nz * direction[2]
    if not (inside and total != ZERO and facing != ZERO):
        return NO_HIT, ZERO, ZERO, ZERO
    t = (nx * ax + ny * ay + nz * az) / facing
    weight = ONE / total
    return (HIT_FRONT if facing < ZERO else HIT_BACK), t, u * weight, v * weight


@njit(cache=True, error_model="numpy", inline="always")
def _edge(
    px: np.float32,
    py: np.float32,
    pz: np.float32,
    qx: np.float32,
    qy: np.float32,
    qz: np.float32,
    direction: tuple[np.float32, np.float32, np.float32],
) -> np.float32:
    """On which side of the edge from p to q a ray from the origin passes; swapping p and q negates it exactly."""
    ex, ey, ez = px - qx, py - qy, pz - qz
    sx, sy, sz = px + qx, py + qy, pz + qz
    return (sy * ez - sz * ey) * direction[0] + (sz * ex - sx * ez) * direction[1] + (sx * ey - sy * ex) * direction[2]
