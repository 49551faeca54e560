"""The look at low resolution by the host: what each ray of the program visits, a ray at a time.

It does what ``look`` of ``programs/occlusion.cu`` does, in the same order, three times as fast; the kernel is its twin.
"""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from rayplay.formats.guard.code_cache import kept
from rayplay.tuner.settings import COLUMN, RANKS, ROW

compiled: Any = kept(njit(cache=True, error_model="numpy"), ["tuner/host_look.py", "tuner/settings.py"])
inlined: Any = kept(njit(cache=True, inline="always", error_model="numpy"), ["tuner/host_look.py", "tuner/settings.py"])

DONE, STACK = 0x7FFFFFFF, 64
ZERO, ONE, TWO, START, FAR = (np.float32(value) for value in (0, 1, 2, 1e-3, 1e30))
TURN, LSB = np.float32(6.2831853), np.float32(1 / 16777216)
WORD = 0xFFFFFFFF
NODES, TRIANGLES, LEAF, HIT = range(4)
EYE, RIGHT, UP, FORWARD, LIGHT = range(5)


@compiled
def look(
    boxes: NDArray[np.float32], child: NDArray[np.int32], triangles: NDArray[np.float32], root: int,
    places: NDArray[np.float32], counts: NDArray[np.float32], radius: float, seed: int, visits: NDArray[np.int32],
) -> None:  # fmt: skip
    """Trace a pixel's primary ray, shadow rays and rays of ambient occlusion.

    boxes, child  as of ``kernel.Tree``; triangles float32[m, 12].
    places        float32[5, 3]: eye, right, up, forward of the camera, and the light.
    counts        float32[2]: shadow rays, rays of ambient occlusion.
    visits        int32[rays, height, width, 4]: nodes, triangles, last leaf, whether it hit; zeros at first.
    """
    stack = np.empty(STACK, np.int32)
    stack[0] = DONE
    ray, inverse = np.empty((2, 3), np.float32), np.empty(3, np.float32)
    height, width = visits.shape[1:3]
    length: Any = np.float32(radius)
    for y in range(height):
        for x in range(width):
            rank = np.float32(((COLUMN * (x // 8) + ROW * (y // 4)) & WORD) >> 24) / np.float32(RANKS)
            shadow, occlusion = int(counts[0] + rank), int(counts[1] + rank)
            state = _mixed(y * width + x, seed)
            u = TWO * (np.float32(x) + np.float32(0.5)) / np.float32(width) - ONE
            v = ONE - TWO * (np.float32(y) + np.float32(0.5)) / np.float32(height)
            for axis in range(3):
                ray[0, axis] = places[EYE, axis]
                ray[1, axis] = places[FORWARD, axis] + u * places[RIGHT, axis] + v * places[UP, axis]
            _normalise(ray[1])
            found, limit = _traverse(boxes, child, triangles, root, ray, inverse, FAR, False, stack, visits[0, y, x])
            if found < 0:
                continue
            nx, ny, nz = _normal(triangles[found], ray[1])
            for axis, part in enumerate((nx, ny, nz)):
                ray[0, axis] = ray[0, axis] + limit * ray[1, axis] + START * part
            for number in range(1, 1 + shadow + occlusion):
                if number <= shadow:
                    reach: Any = ONE
                    for axis in range(3):
                        ray[1, axis] = places[LIGHT, axis] - ray[0, axis]
                else:
                    reach = length
                    state = _above(nx, ny, nz, state, ray[1])
                _traverse(boxes, child, triangles, root, ray, inverse, reach, True, stack, visits[number, y, x])


@compiled
def _traverse(
    boxes: Any, child: Any, triangles: Any, root: int, ray: Any, inverse: Any, limit: Any, stops: bool, stack: Any,
    seen: Any,
) -> tuple[int, Any]:  # fmt: skip
    """The closest triangle, -1 for none, and its distance; with ``stops`` the first one met."""
    top, node, found, nodes, tests = 0, root, -1, 0, 0
    seen[LEAF] = -1
    ox, oy, oz = ray[0, 0], ray[0, 1], ray[0, 2]
    ix, iy, iz = ONE / ray[1, 0], ONE / ray[1, 1], ONE / ray[1, 2]
    while node != DONE:
        while node >= 0 and node != DONE:
            nodes += 1
            t0 = _entry(boxes[node], ox, oy, oz, ix, iy, iz, limit)
            t1 = _entry(boxes[node + 1], ox, oy, oz, ix, iy, iz, limit)
            near, far = child[node], child[node + 1]
            if t1 < t0:
                near, far = far, near
            if t0 < FAR and t1 < FAR:
                top += 1
                stack[top] = far
                node = near
            elif t0 < FAR or t1 < FAR:
                node = near
            else:
                node = stack[top]
                top -= 1
        while node < 0:
            tests += 1
            seen[LEAF] = ~node
            t = _meets(triangles[~node], ray, limit)
            if t < limit:
                limit = t
                found = ~node
            if stops and found >= 0:
                node = DONE
            else:
                node = stack[top]
                top -= 1
    seen[NODES], seen[TRIANGLES], seen[HIT] = nodes, tests, found >= 0
    return found, limit


@inlined
def _entry(box: Any, ox: Any, oy: Any, oz: Any, ix: Any, iy: Any, iz: Any, limit: Any) -> Any:
    """Distance at which the ray enters the box, or ``FAR``."""
    x0, x1 = (box[0] - ox) * ix, (-box[4] - ox) * ix
    y0, y1 = (box[1] - oy) * iy, (-box[5] - oy) * iy
    z0, z1 = (box[2] - oz) * iz, (-box[6] - oz) * iz
    near = max(max(min(x0, x1), min(y0, y1)), max(min(z0, z1), START))
    far = min(min(max(x0, x1), max(y0, y1)), min(max(z0, z1), limit))
    return near if near <= far else FAR


@inlined
def _meets(row: Any, ray: Any, limit: Any) -> Any:
    """Distance of a triangle (Moeller and Trumbore), ``limit`` where the ray misses it."""
    dx, dy, dz = ray[1, 0], ray[1, 1], ray[1, 2]
    ax, ay, az = dy * row[10] - dz * row[9], dz * row[8] - dx * row[10], dx * row[9] - dy * row[8]
    fx, fy, fz = ray[0, 0] - row[0], ray[0, 1] - row[1], ray[0, 2] - row[2]
    lx, ly, lz = fy * row[6] - fz * row[5], fz * row[4] - fx * row[6], fx * row[5] - fy * row[4]
    scale = ONE / (row[4] * ax + row[5] * ay + row[6] * az)
    u, v = scale * (fx * ax + fy * ay + fz * az), scale * (dx * lx + dy * ly + dz * lz)
    t = scale * (row[8] * lx + row[9] * ly + row[10] * lz)
    return t if u >= ZERO and v >= ZERO and u + v <= ONE and t > START else limit


@compiled
def _normal(row: Any, direction: Any) -> tuple[Any, Any, Any]:
    """Normal of a triangle, on the side from which the ray comes."""
    x = row[5] * row[10] - row[6] * row[9]
    y = row[6] * row[8] - row[4] * row[10]
    z = row[4] * row[9] - row[5] * row[8]
    scale = ONE / np.sqrt(x * x + y * y + z * z)
    if x * direction[0] + y * direction[1] + z * direction[2] > ZERO:
        scale = -scale
    return scale * x, scale * y, scale * z


@compiled
def _normalise(vector: Any) -> None:
    scale = ONE / np.sqrt(vector[0] * vector[0] + vector[1] * vector[1] + vector[2] * vector[2])
    for axis in range(3):
        vector[axis] = scale * vector[axis]


@compiled
def _above(nx: Any, ny: Any, nz: Any, state: int, direction: Any) -> int:
    """A direction, uniform on the hemisphere above the surface; returns the next state."""
    state = (1664525 * state + 1013904223) & WORD
    z = TWO * (np.float32(state >> 8) * LSB) - ONE
    state = (1664525 * state + 1013904223) & WORD
    angle = TURN * (np.float32(state >> 8) * LSB)
    radius = np.sqrt(max(ONE - z * z, ZERO))
    direction[0], direction[1], direction[2] = radius * np.cos(angle), radius * np.sin(angle), z
    if direction[0] * nx + direction[1] * ny + direction[2] * nz < ZERO:
        for axis in range(3):
            direction[axis] = -direction[axis]
    return state


@compiled
def _mixed(a: int, b: int) -> int:
    hashed = (a * 0x9E3779B1 & WORD) ^ (b + 0x85EBCA77 & WORD)
    hashed = (hashed ^ (hashed >> 15)) * 0x2C1B3C6D & WORD
    hashed = (hashed ^ (hashed >> 12)) * 0x297A2D39 & WORD
    return hashed ^ (hashed >> 15)
