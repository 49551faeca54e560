"""Rasterisation by the rules of CRISP's released code (``docs/sources/crisp.md#rasterisation``).

A triangle is dropped only where all three vertices are outside of the view volume; none is clipped and none culled.
Pixels are sampled at their corners, edges belong to both sides, and weights are linear in the picture. Fragments are
put into buckets by the corner of their triangle's bounding box, and run bucket after bucket without helpers.

Not drawn are two cases that its code leaves undefined: projections that are not finite, and weights that are NaN.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rayplay.formats.guard.errors import UserError
from rayplay.tracer.native.jit import compiled, entry_point
from rayplay.tracer.raster.fragments import Fragments, empty_columns, first_rows
from rayplay.tracer.raster.state import DrawState, Framebuffer

BUCKET = 64
PASSES = {"less": 3, "less_equal": 1, "greater": 6}
"""Relations that pass, as ``COMPARES`` counts them: less lets equal depths pass and less_equal does not."""


def cover_crisp(
    positions: NDArray[np.float32], triangles: NDArray[np.uint32], framebuffer: Framebuffer, state: DrawState
) -> Fragments:
    """Fragments of a draw; writes depth. ``UserError`` for a comparison that its code does not have."""
    if state.depth_compare not in PASSES:
        known = ", ".join(PASSES)
        raise UserError(f"depth_compare by the rules of crisp must be one of {known}, found {state.depth_compare!r}")
    width, height = framebuffer.width, framebuffer.height
    screen = _project(positions, width, height)
    kept = np.flatnonzero(_is_kept(positions, screen, triangles))
    corners = screen[triangles[kept]]
    most = _count(corners, width, height)
    columns, bucket = empty_columns(most), np.empty(most, np.int64)
    writes = state.depth_write and not state.discards
    rows = _cover(corners, kept, framebuffer.depth, PASSES[state.depth_compare], writes, columns, bucket)
    order = np.argsort(bucket[:rows], kind="stable")
    counts = {"outside": len(triangles) - len(kept), "primitives": len(kept), "covered": most}
    return first_rows(tuple(column[:rows][order] for column in columns), rows, counts)


def _project(positions: NDArray[np.float32], width: int, height: int) -> NDArray[np.float32]:
    """float32[n, 3]: column, row and depth of each vertex; y is not turned."""
    with np.errstate(all="ignore"):
        device = positions[:, :3] / positions[:, 3:]
        scale = np.array([width // 2, height // 2, 1], np.float32)
        return (device + np.array([1, 1, 0], np.float32)) * scale


def _is_kept(
    positions: NDArray[np.float32], screen: NDArray[np.float32], triangles: NDArray[np.uint32]
) -> NDArray[np.bool_]:
    outside = np.any(np.greater(np.abs(positions[:, :3]), np.abs(positions[:, 3:])), axis=1)
    finite = np.isfinite(np.concatenate([screen, positions], axis=1)).all(axis=1)
    kept: NDArray[np.bool_] = np.logical_and(finite[triangles].all(axis=1), ~outside[triangles].all(axis=1))
    return kept


@compiled
def _box(c: np.ndarray, width: int, height: int) -> tuple[float, float, float, float]:
    """First and last column, first and last row, not yet whole numbers."""
    return (
        max(0.0, np.float64(min(c[0, 0], c[1, 0], c[2, 0]))),
        min(width - 1.0, np.float64(max(c[0, 0], c[1, 0], c[2, 0]))),
        max(0.0, np.float64(min(c[0, 1], c[1, 1], c[2, 1]))),
        min(height - 1.0, np.float64(max(c[0, 1], c[1, 1], c[2, 1]))),
    )


@compiled
def _weights(c: np.ndarray, px: int, py: int) -> tuple[float, float]:
    """Weights of the second and third corner at a pixel's own corner; NaN where the triangle has no area."""
    x1, y1 = np.float64(c[0, 0]), np.float64(c[0, 1])
    x2, y2 = np.float64(c[1, 0]), np.float64(c[1, 1])
    x3, y3 = np.float64(c[2, 0]), np.float64(c[2, 1])
    if x1 * (y2 - y3) - y1 * (x2 - x3) + (x2 * y3 - y2 * x3) == 0.0:
        return np.nan, np.nan
    bx, by, cx, cy = x2 - x1, y2 - y1, x3 - x1, y3 - y1
    bb, bc, cc = bx * bx + by * by, bx * cx + by * cy, cx * cx + cy * cy
    pb, pc = (px - x1) * bx + (py - y1) * by, (px - x1) * cx + (py - y1) * cy
    divisor = bb * cc - bc * bc
    return (cc * pb - bc * pc) / divisor, (bb * pc - bc * pb) / divisor


@compiled
def _is_covered(second: float, third: float) -> bool:
    return np.isfinite(second + third) and 1.0 - second - third >= 0.0 and second >= 0.0 and third >= 0.0


@entry_point
def _count(corners: np.ndarray, width: int, height: int) -> int:
    """Pixels that triangles cover, one counted as often as it is covered."""
    found = 0
    for row in range(len(corners)):
        x0, x1, y0, y1 = _box(corners[row], width, height)
        for x in range(int(x0), int(x1) + 1):
            for y in range(int(y0), int(y1) + 1):
                second, third = _weights(corners[row], x, y)
                found += _is_covered(second, third)
    return found


@entry_point
def _cover(
    corners: np.ndarray, triangle: np.ndarray, depth: np.ndarray, compare: int, writes: bool,
    made: tuple[NDArray[Any], ...], bucket: np.ndarray,
) -> int:  # fmt: skip
    """Fill ``made`` and each fragment's bucket, in the order of submission; returns the rows."""
    height, width = depth.shape
    rows = 0
    for row in range(len(corners)):
        c = corners[row]
        x0, x1, y0, y1 = _box(c, width, height)
        number = int((y0 * width + x0) / BUCKET)
        for x in range(int(x0), int(x1) + 1):
            for y in range(int(y0), int(y1) + 1):
                second, third = _weights(c, x, y)
                if not _is_covered(second, third):
                    continue
                z = np.float32((1.0 - second - third) * c[0, 2] + second * c[1, 2] + third * c[2, 2])
                if compare & (1 if z < depth[y, x] else 2 if z == depth[y, x] else 4) == 0:
                    continue
                made[0][rows], made[1][rows], made[2][rows], made[3][rows] = x, y, triangle[row], True
                made[4][rows, 0], made[4][rows, 1], made[5][rows] = second, third, z
                bucket[rows] = number
                rows += 1
                if writes:
                    depth[y, x] = z
    return rows


def partner_steps(fragments: Fragments, coordinates: NDArray[np.float32], size: tuple[int, int]) -> NDArray[np.float32]:
    """float32[n, 2]: distance of the texture coordinates to the partner's along x and along y, at most 1.

    The partner's column, or row, differs in the lowest bit; of several fragments of a pixel it is the last. Without a
    partner in the draw the distance is 0. Source: ``docs/sources/crisp.md#levels-of-detail``.
    """
    last = np.full((size[1] + 1, size[0] + 1), -1, np.int64)
    x, y = fragments.x.astype(np.int64), fragments.y.astype(np.int64)
    last[y, x] = np.arange(len(x))
    steps = np.zeros((len(x), 2), np.float32)
    for axis, partner in enumerate((last[y, x ^ 1], last[y ^ 1, x])):
        with np.errstate(invalid="ignore", over="ignore"):
            change = coordinates[partner] - coordinates
            length = np.sqrt(change[:, 0] * change[:, 0] + change[:, 1] * change[:, 1])
        steps[:, axis] = np.where(partner < 0, 0, np.minimum(length, np.float32(1)))
    return steps
