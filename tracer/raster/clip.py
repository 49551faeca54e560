"""Clipping in clip space against the near and far plane and a guard band (Sutherland and Hodgman).

A vertex is inside where 0 <= z <= w, and where its projection lies within ``GUARD_PIXELS`` of the picture's corner, so
that snapped coordinates and edge functions stay exact in 64 bits. Triangles that only reach over the picture's border
are not clipped. A new vertex is computed from the inner end of its edge to the outer one: two triangles that share the
edge get the same vertex, and no gap opens.

Sources: Sutherland and Hodgman, "Reentrant polygon clipping", 1974; Vulkan specification, "Primitive Clipping".
"""

import numpy as np

from rayplay.tracer.native.jit import compiled

GUARD_PIXELS = 32768.0
PLANES = 6
MOST_CORNERS = 32
"""A plane adds one corner to a convex polygon; where rounding made it a little concave, half as many as it has."""
X, Y, Z, W, SECOND, THIRD = range(6)
"""Columns of a corner: its position, and the weights of the triangle's second and third vertex."""
COLUMNS = 6


@compiled
def distance(corner: np.ndarray, plane: int, half_width: float, half_height: float) -> float:
    """How far inside a plane a corner lies, times w."""
    if plane == 0:
        return corner[Z]
    if plane == 1:
        return corner[W] - corner[Z]
    if plane < 4:
        across = (corner[X] + corner[W]) * half_width
        return across + GUARD_PIXELS * corner[W] if plane == 2 else GUARD_PIXELS * corner[W] - across
    down = (corner[W] - corner[Y]) * half_height
    return down + GUARD_PIXELS * corner[W] if plane == 4 else GUARD_PIXELS * corner[W] - down


@compiled
def is_outside_view(corners: np.ndarray) -> bool:
    """Whether all three corners lie beyond one side of the picture, before the near or behind the far plane."""
    for axis in range(3):
        low, high = 0, 0
        for corner in range(3):
            value, w = corners[corner, axis], corners[corner, W]
            low += value < (0.0 if axis == Z else -w)
            high += value > w
        if low == 3 or high == 3:
            return True
    return False


@compiled
def needs_clipping(corners: np.ndarray, half_width: float, half_height: float) -> bool:
    """Whether a corner lies outside of a plane, or has no projection."""
    for corner in range(3):
        if not corners[corner, W] > 0.0:
            return True
        for plane in range(PLANES):
            if distance(corners[corner], plane, half_width, half_height) < 0.0:
                return True
    return False


@compiled
def clip(polygons: np.ndarray, half_width: float, half_height: float) -> tuple[int, int]:
    """Clip the triangle in the first three rows of ``polygons[0]``.

    polygons: float64[2, MOST_CORNERS, COLUMNS]. Returns which of the two holds the result, and its corners.
    """
    source, count = 0, 3
    for plane in range(PLANES):
        kept = 0
        for at in range(count):
            here, there = polygons[source, at], polygons[source, at + 1 if at + 1 < count else 0]
            inside = distance(here, plane, half_width, half_height)
            beyond = distance(there, plane, half_width, half_height)
            if inside >= 0.0:
                polygons[1 - source, kept] = here
                kept += 1
            if (inside >= 0.0) != (beyond >= 0.0):
                if inside >= 0.0:
                    _between(polygons[1 - source, kept], here, there, inside / (inside - beyond))
                else:
                    _between(polygons[1 - source, kept], there, here, beyond / (beyond - inside))
                kept += 1
        source, count = 1 - source, kept
    return source, count


@compiled
def _between(made: np.ndarray, inner: np.ndarray, outer: np.ndarray, part: float) -> None:
    for column in range(COLUMNS):
        made[column] = inner[column] + part * (outer[column] - inner[column])
