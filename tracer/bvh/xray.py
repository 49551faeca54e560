"""Pictures of a structure: the boxes of each depth that a pixel's ray passes through, with nothing to stop it."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rayplay.tracer.bvh.decode import Decoded, Level
from rayplay.tracer.native.jit import compiled, entry_point

NEVER = 1e300


class XRay(NamedTuple):
    """Boxes on the ray through each pixel's centre.

    top     int64[depths, height, width]: of the top level.
    bottom  int64[depths, height, width]: of the bottom levels, one time for each instance that the ray meets.
    """

    top: NDArray[np.int64]
    bottom: NDArray[np.int64]


def x_ray(decoded: Decoded, eye: NDArray[np.float64], rays: NDArray[np.float64]) -> XRay:
    """Count the boxes on whole rays, from the eye on.

    eye   float64[3]. rays  float64[height, width, 3], a direction for each pixel.
    """
    height, width = rays.shape[:2]
    top = np.zeros((width * height, int(decoded.top.depth[-1]) + 1), np.int64)
    most = max(int(level.depth[-1]) for level in decoded.bottoms) + 1
    bottom = np.zeros((width * height, most), np.int64)
    rows = [len(level.block) for level in decoded.bottoms]
    starts = np.cumsum([0, *rows[:-1]])
    leaves = np.cumsum(decoded.top.is_leaf) - 1
    count_boxes(_columns([decoded.top]), leaves, _columns(decoded.bottoms), starts[decoded.bottom],
                decoded.to_object.astype(np.float64), eye, rays.reshape(-1, 3), top, bottom)  # fmt: skip
    return XRay(*(found.T.reshape(-1, height, width) for found in (top, bottom)))


def _columns(levels: list[Level]) -> NDArray[np.float64]:
    """float64[records, 9]: low, high, depth, first child from the level's own start, children."""
    return np.concatenate([np.column_stack([*each.low.T, *each.high.T, each.depth, each.first, each.children])
                           for each in levels], dtype=np.float64)  # fmt: skip


@entry_point
def count_boxes(
    top: np.ndarray, leaf: np.ndarray, bottom: np.ndarray, start: np.ndarray, to_object: np.ndarray,
    origin: np.ndarray, direction: np.ndarray, top_found: np.ndarray, bottom_found: np.ndarray,
) -> None:  # fmt: skip
    """Fill int64[pixels, depths] of both levels.

    leaf: int64[records of the top level], number of the instance at a leaf. start: int64[instances], first record of
    its bottom level. to_object: float64[instances, 3, 4].
    """
    met = np.empty(len(top), np.int64)
    unused = np.empty(0, np.int64)
    stack = np.empty(max(len(top), len(bottom)), np.int64)
    eye, ray = np.empty(3), np.empty(3)
    for pixel in range(len(direction)):
        count = _walk(top, 0, origin, direction[pixel], stack, top_found[pixel], met)
        for at in range(count):
            instance = leaf[met[at]]
            matrix = to_object[instance]
            for axis in range(3):
                ray[axis] = _dot(matrix[axis], direction[pixel])
                eye[axis] = _dot(matrix[axis], origin) + matrix[axis, 3]
            _walk(bottom, start[instance], eye, ray, stack, bottom_found[pixel], unused)


@compiled
def _dot(row: np.ndarray, vector: np.ndarray) -> np.float64:
    return row[0] * vector[0] + row[1] * vector[1] + row[2] * vector[2]


@compiled
def _walk(
    records: np.ndarray, start: int, eye: np.ndarray, ray: np.ndarray, stack: np.ndarray, found: np.ndarray,
    met: np.ndarray,
) -> int:  # fmt: skip
    """Count the boxes by depth; the leaves go into ``met`` as far as it reaches. Returns their number."""
    stack[0] = start
    top, leaves = 1, 0
    while top:
        top -= 1
        row = stack[top]
        if not _meets(records[row], eye, ray):
            continue
        found[int(records[row, 6])] += 1
        children = int(records[row, 8])
        if children == 0:
            if leaves < len(met):
                met[leaves] = row - start
            leaves += 1
        for child in range(children):
            stack[top] = start + int(records[row, 7]) + child
            top += 1
    return leaves


@compiled
def _meets(box: np.ndarray, eye: np.ndarray, ray: np.ndarray) -> bool:
    """Whether the ray from ``eye`` on meets a box."""
    near, far = 0.0, NEVER
    for axis in range(3):
        if ray[axis] == 0.0:
            if eye[axis] < box[axis] or eye[axis] > box[3 + axis]:
                return False
            continue
        first, last = (box[axis] - eye[axis]) / ray[axis], (box[3 + axis] - eye[axis]) / ray[axis]
        near, far = max(near, min(first, last)), min(far, max(first, last))
    return near <= far
