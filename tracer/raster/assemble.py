"""From clip-space positions to primitives on the picture's grid: reject, clip, project, snap, cull.

Clip space is Direct3D's and Vulkan's in depth (0 <= z <= w), with y upwards; the viewport is the whole framebuffer, row
0 at the top. Coordinates are snapped to 1/256 pixel, so that everything after is exact in whole numbers: which pixels a
primitive covers, its side, and whether it has an area at all.

Sources: Direct3D 11.3 functional specification, 3.4 (rasterization rules), 15.5 (fixed-point coordinates).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rayplay.tracer.native.jit import compiled, entry_point
from rayplay.tracer.raster import clip
from rayplay.tracer.raster.clip import COLUMNS, MOST_CORNERS, SECOND, THIRD, W, X, Y, Z

SUBPIXELS = 256
"""Eight bits, as Direct3D demands and GPUs have."""
FARTHEST = int(clip.GUARD_PIXELS) * SUBPIXELS
OUTCOMES = ("not_finite", "outside", "clipped", "degenerate", "culled")
"""What happens to triangles: three kinds are not drawn, "clipped" counts those that were cut, and "degenerate" and
"culled" count primitives, of which a clipped triangle may have several."""
NOT_FINITE, OUTSIDE, CLIPPED, DEGENERATE, CULLED = range(len(OUTCOMES))


class Primitives(NamedTuple):
    """Triangles on the grid, clockwise in the picture, in the order of submission."""

    corners: NDArray[np.int32]
    """int32[n, 3, 2]: x to the right and y down, in 1/256 pixel from the corner of the picture."""
    inverse_w: NDArray[np.float64]
    """float64[n, 3]."""
    depth: NDArray[np.float64]
    """float64[n, 3]: z / w."""
    weights: NDArray[np.float64]
    """float64[n, 3, 2]: weights of the second and third vertex of its triangle at each corner."""
    triangle: NDArray[np.uint32]
    """uint32[n]: row of the triangle that it is, or is part of."""


def assemble(
    positions: NDArray[np.float32], triangles: NDArray[np.uint32], width: int, height: int, cull: str
) -> tuple[Primitives, dict[str, int]]:
    """Primitives of a draw, and how often each of ``OUTCOMES`` occurred.

    positions   float32[vertices, 4] in clip space; triangles   uint32[n, 3] of their rows.
    cull        "none", "back" or "front".

    A triangle with a coordinate that is NaN or infinite is not drawn.
    """
    kinds = np.empty(len(triangles), np.int8)
    room = _classify(positions, triangles, width / 2, height / 2, kinds)
    made = Primitives(
        np.empty((room, 3, 2), np.int32),
        np.empty((room, 3)),
        np.empty((room, 3)),
        np.empty((room, 3, 2)),
        np.empty(room, np.uint32),
    )
    outcomes = np.zeros(len(OUTCOMES), np.int64)
    culled = {"none": 0, "front": -1, "back": 1}[cull]
    count = _assemble(positions, triangles, kinds, width / 2, height / 2, culled, made, outcomes)
    found = dict(zip(OUTCOMES, outcomes.tolist(), strict=True))
    columns: list[NDArray[Any]] = [column[:count].copy() for column in made]
    return Primitives(*columns), found


_REJECTED_NAN, _REJECTED_OUTSIDE, _WHOLE, _TO_CLIP = range(4)


@compiled
def _load(positions: np.ndarray, corners: Any, polygon: np.ndarray) -> bool:
    """Put a triangle into the first rows of a polygon; whether all of it is finite."""
    finite = True
    for corner in range(3):
        for axis in range(4):
            value = np.float64(positions[corners[corner], axis])
            polygon[corner, axis] = value
            finite = finite and np.isfinite(value)
        polygon[corner, SECOND] = 1.0 if corner == 1 else 0.0
        polygon[corner, THIRD] = 1.0 if corner == 2 else 0.0
    return finite


@entry_point
def _classify(
    positions: np.ndarray, triangles: np.ndarray, half_width: float, half_height: float, kinds: np.ndarray
) -> int:
    """Fill ``kinds``; returns an upper bound of the primitives."""
    polygon, room = np.empty((MOST_CORNERS, COLUMNS)), 0
    for row in range(len(triangles)):
        if not _load(positions, triangles[row], polygon):
            kinds[row] = _REJECTED_NAN
        elif clip.is_outside_view(polygon):
            kinds[row] = _REJECTED_OUTSIDE
        elif clip.needs_clipping(polygon, half_width, half_height):
            kinds[row] = _TO_CLIP
            room += MOST_CORNERS
        else:
            kinds[row] = _WHOLE
            room += 1
    return room


@entry_point
def _assemble(
    positions: np.ndarray, triangles: np.ndarray, kinds: np.ndarray,
    half_width: float, half_height: float, culled: int, made: Primitives, outcomes: np.ndarray,
) -> int:  # fmt: skip
    """Fill ``made`` and ``outcomes``; culled: sign of the area that is not drawn, 0 for none. Returns the rows."""
    polygons, count = np.empty((2, MOST_CORNERS, COLUMNS)), 0
    for row in range(len(triangles)):
        if kinds[row] < _WHOLE:
            outcomes[NOT_FINITE if kinds[row] == _REJECTED_NAN else OUTSIDE] += 1
            continue
        _load(positions, triangles[row], polygons[0])
        source, corners = 0, 3
        if kinds[row] == _TO_CLIP:
            source, corners = clip.clip(polygons, half_width, half_height)
            outcomes[CLIPPED] += 1
        for last in range(2, corners):
            polygon = polygons[source]
            area = _project(polygon, last, half_width, half_height, made, count)
            if area == 0:
                outcomes[DEGENERATE] += 1
            elif area * culled > 0:
                outcomes[CULLED] += 1
            else:
                if area < 0:
                    _turn(made, count)
                made.triangle[count] = row
                count += 1
    return count


@compiled
def _project(polygon: np.ndarray, last: int, half_width: float, half_height: float, made: Primitives, row: int) -> int:
    """Fill a row with corners 0, last - 1 and last of a polygon; returns twice its area, positive for clockwise.

    A corner without projection (w = 0 after clipping) gives area 0.
    """
    for corner in range(3):
        at = polygon[0 if corner == 0 else last - 2 + corner]
        inverse_w = 1.0 / at[W]
        x = np.floor((at[X] * inverse_w + 1.0) * half_width * SUBPIXELS + 0.5)
        y = np.floor((1.0 - at[Y] * inverse_w) * half_height * SUBPIXELS + 0.5)
        if not (inverse_w > 0.0 and np.isfinite(x) and np.isfinite(y)):
            return 0
        made.corners[row, corner, 0] = min(max(x, -FARTHEST), FARTHEST)
        made.corners[row, corner, 1] = min(max(y, -FARTHEST), FARTHEST)
        made.inverse_w[row, corner] = inverse_w
        made.depth[row, corner] = at[Z] * inverse_w
        made.weights[row, corner, 0], made.weights[row, corner, 1] = at[SECOND], at[THIRD]
    c = made.corners[row]
    ax, ay = np.int64(c[1, 0]) - c[0, 0], np.int64(c[1, 1]) - c[0, 1]
    bx, by = np.int64(c[2, 0]) - c[0, 0], np.int64(c[2, 1]) - c[0, 1]
    return ax * by - ay * bx


@compiled
def _turn(made: Primitives, row: int) -> None:
    """Exchange the last two corners."""
    for column in range(2):
        c, w = made.corners[row], made.weights[row]
        c[1, column], c[2, column] = c[2, column], c[1, column]
        w[1, column], w[2, column] = w[2, column], w[1, column]
    for values in (made.inverse_w[row], made.depth[row]):
        values[1], values[2] = values[2], values[1]
