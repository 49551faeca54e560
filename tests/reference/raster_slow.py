"""Rasterisation in exact arithmetic, one pixel after the other in plain Python.

Written from the words of Direct3D's rules: a top edge is exactly horizontal and above the other edges; a left edge is
not horizontal and on the left side of the triangle.
"""

from collections.abc import Iterator
from fractions import Fraction
from math import floor

import numpy as np

Point = tuple[Fraction, Fraction]
HALF = Fraction(1, 2)


def snapped(value: Fraction) -> Fraction:
    """To the nearest 1/256, upwards half-way."""
    return Fraction(floor(value * 256 + HALF), 256)


def on_picture(position: np.ndarray, width: int, height: int) -> Point:
    """A clip-space position projected and snapped, in pixels."""
    x, y, _, w = (Fraction(float(value)) for value in position)
    return snapped((x / w + 1) * Fraction(width, 2)), snapped((1 - y / w) * Fraction(height, 2))


def cross(p: Point, q: Point, r: Point) -> Fraction:
    return (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])


def is_top_or_left(p: Point, q: Point, third: Point) -> bool:
    """Of the edge from p to q, where the third corner lies elsewhere; y grows downwards."""
    if p[1] == q[1]:
        return third[1] > p[1]
    crossing = p[0] + (q[0] - p[0]) * (third[1] - p[1]) / (q[1] - p[1])
    return crossing < third[0]


def weights_at(corners: list[Point], x: int, y: int) -> list[Fraction] | None:
    """Weights of the corners at a pixel's centre, linear in the picture; None for a triangle without area."""
    area = cross(*corners)
    if area == 0:
        return None
    centre = (x + HALF, y + HALF)
    return [cross(corners[(k + 1) % 3], corners[(k + 2) % 3], centre) / area for k in range(3)]


def is_covered(corners: list[Point], x: int, y: int) -> bool:
    weights = weights_at(corners, x, y)
    if weights is None or min(weights) < 0:
        return False
    edges = ((corners[(k + 1) % 3], corners[(k + 2) % 3], corners[k]) for k in range(3))
    return all(weight > 0 or is_top_or_left(*edge) for weight, edge in zip(weights, edges, strict=True))


def in_z_order(side: int, x: int = 0, y: int = 0) -> Iterator[tuple[int, int]]:
    """Cells of a square grid: its four quarters one after the other, each in the same order."""
    if side == 1:
        yield x, y
        return
    half = side // 2
    for down in (0, half):
        for right in (0, half):
            yield from in_z_order(half, x + right, y + down)


def fragments(
    triangles: list[list[Point]], depths: list[Fraction], width: int, height: int, depth: np.ndarray
) -> Iterator[tuple[int, int, int, bool]]:
    """(x, y, triangle, live) of each thread of a draw of flat triangles, where smaller depths pass.

    depth: float32[height, width], changed.
    """
    tiles = 1
    while tiles * 8 < max(width, height):
        tiles *= 2
    for tile_x, tile_y in in_z_order(tiles):
        for number, (corners, z) in enumerate(zip(triangles, depths, strict=True)):
            for quad_x, quad_y in in_z_order(4):
                x, y = tile_x * 8 + quad_x * 2, tile_y * 8 + quad_y * 2
                rows = [(x, y), (x + 1, y), (x, y + 1), (x + 1, y + 1)]
                live = [
                    px < width and py < height and is_covered(corners, px, py) and bool(z < depth[py, px])
                    for px, py in rows
                ]
                for (px, py), passed in zip(rows, live, strict=True):
                    if passed:
                        depth[py, px] = float(z)
                if any(live):
                    yield from ((px, py, number, passed) for (px, py), passed in zip(rows, live, strict=True))


def perspective(weights: list[Fraction], w: list[Fraction]) -> list[Fraction]:
    """Weights of the vertices on the triangle itself."""
    total = sum((weight / each for weight, each in zip(weights, w, strict=True)), Fraction(0))
    return [weight / each / total for weight, each in zip(weights, w, strict=True)]


def crisp_fragments(
    positions: np.ndarray, triangles: np.ndarray, width: int, height: int
) -> list[tuple[int, int, int]]:
    """(x, y, triangle) by CRISP's released rules without a depth test, where screen coordinates are whole numbers."""
    buckets: dict[int, list[tuple[int, int, int]]] = {}
    for number, triangle in enumerate(triangles):
        clip = [[Fraction(float(value)) for value in positions[vertex]] for vertex in triangle]
        if all(max(abs(each) for each in vertex[:3]) > abs(vertex[3]) for vertex in clip):
            continue
        corners = [((v[0] / v[3] + 1) * (width // 2), (v[1] / v[3] + 1) * (height // 2)) for v in clip]
        area = cross(*corners)
        xs, ys = (sorted(corner[axis] for corner in corners) for axis in (0, 1))
        if area == 0:
            continue
        bucket = int((max(ys[0], 0) * width + max(xs[0], 0)) / 64)
        for x in range(width):
            for y in range(height):
                second, third = (
                    float(cross(corners[k], corners[(k + 1) % 3], (Fraction(x), Fraction(y))) / area) for k in (2, 0)
                )
                if min(1 - second - third, second, third) >= 0:  # the first is what doubles leave
                    buckets.setdefault(bucket, []).append((x, y, number))
    return [fragment for bucket in sorted(buckets) for fragment in buckets[bucket]]
