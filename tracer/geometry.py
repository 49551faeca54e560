"""The arithmetic of a ray: transform, box test, triangle test; float32 throughout, without contraction.

Sources: Moeller and Trumbore, "Fast, minimum storage ray-triangle intersection", 1997; Ize, "Robust BVH ray
traversal", 2013 (the factor that keeps the box test conservative).
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
    """Where a ray's line meets a triangle's plane inside it.

    corners: float32[9], three vertices. Returns (NO_HIT, HIT_FRONT or HIT_BACK, t, u, v): u weighs vertex 1, v vertex
    2; the front is the side from which the vertices run counter-clockwise. NaN anywhere is no hit.
    """
    e1x, e1y, e1z = corners[3] - corners[0], corners[4] - corners[1], corners[5] - corners[2]
    e2x, e2y, e2z = corners[6] - corners[0], corners[7] - corners[1], corners[8] - corners[2]
    dx, dy, dz = direction
    px, py, pz = dy * e2z - dz * e2y, dz * e2x - dx * e2z, dx * e2y - dy * e2x
    determinant = e1x * px + e1y * py + e1z * pz
    inverse = ONE / determinant
    sx, sy, sz = origin[0] - corners[0], origin[1] - corners[1], origin[2] - corners[2]
    u = (sx * px + sy * py + sz * pz) * inverse
    qx, qy, qz = sy * e1z - sz * e1y, sz * e1x - sx * e1z, sx * e1y - sy * e1x
    v = (dx * qx + dy * qy + dz * qz) * inverse
    t = (e2x * qx + e2y * qy + e2z * qz) * inverse
    if not (determinant != ZERO and u >= ZERO and v >= ZERO and u + v <= ONE):
        return NO_HIT, t, u, v
    return (HIT_FRONT if determinant > ZERO else HIT_BACK), t, u, v
