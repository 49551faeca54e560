"""Threads that draws launch, from the sizes of their triangles: helper lanes are what geometry says.

A quad runs where one of its four pixel centres is covered. Of a triangle that lies anywhere on the grid of quads it is
touched by as many as the triangle's four copies, moved by a pixel along x, y and both, cover together, over 4.
Copies of a triangle meet in a smaller one of the same shape, so that the area follows by inclusion and exclusion. A
large triangle launches about its area and the width and height of its box.
"""

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rayplay.crisp.suite import Workload
from rayplay.tracer.draw import load_drawn
from rayplay.tracer.graphics.frame import view_values
from rayplay.tracer.graphics.geometry import fronts_first
from rayplay.tracer.raster.assemble import SUBPIXELS, assemble
from rayplay.tracer.scenes.camera_text import change_camera
from rayplay.tracer.scenes.textured import Draw, TexturedScene

MOVES = np.array([(0, 0), (1, 0), (0, 1), (1, 1)])
WHOLE = 2  # sum of the weights of a triangle's corners


def expected_threads(corners: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Threads, on average over places on the grid, and area of triangles float64[n, 3, 2] in pixels: float64[n] each.

    NaN for a triangle without area.
    """
    edges = np.roll(corners, -1, axis=1) - corners
    double = edges[:, 0, 0] * edges[:, 1, 1] - edges[:, 0, 1] * edges[:, 1, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        # how far a move shifts each edge outwards, as a share of the triangle's height over it
        shift = (edges[:, :, None, 1] * MOVES[:, 0] - edges[:, :, None, 0] * MOVES[:, 1]) / double[:, None, None]
        together = np.zeros(len(corners))
        for count in range(1, 5):
            for chosen in combinations(range(4), count):
                scale = np.maximum(1 + shift[:, :, list(chosen)].min(axis=2).sum(axis=1), 0)
                together -= (-1) ** count * scale**2
        return together * np.abs(double) / 2, np.abs(double) / 2


def by_draw(workload: Workload, size: tuple[int, int]) -> dict[str, list[Any]]:
    """Columns by draw of a picture: ``name``, ``triangles`` that are whole inside the picture, their ``area`` in pixels
    and the ``threads`` that they launch.
    """
    scene, camera, _ = load_drawn(workload.scene)
    seen = view_values(scene, change_camera(camera, workload.camera) if workload.camera else camera, *size)
    to_clip = np.stack([seen[f"to_clip_{axis}"] for axis in "xyzw"])
    found: dict[str, list[Any]] = {"name": [], "triangles": [], "area": [], "threads": []}
    for draw in scene.draws:
        corners = whole_triangles(scene, draw, to_clip, size)
        threads, area = expected_threads(corners)
        row = (draw.name, len(corners), float(np.nansum(area)), float(np.nansum(threads)))
        for values, value in zip(found.values(), row, strict=True):
            values.append(value)
    return found


def whole_triangles(
    scene: TexturedScene, draw: Draw, to_clip: NDArray[np.float64], size: tuple[int, int]
) -> NDArray[np.float64]:
    """float64[n, 3, 2] in pixels: triangles of a draw that it shows, that the near plane leaves whole, and that lie in
    the picture; others have another shape than their own. to_clip: float64[4, 4], world to clip space.
    """
    places = draw.matrices()
    points = np.column_stack([draw.positions.astype(np.float64), np.ones(len(draw.positions))])
    with np.errstate(over="ignore", invalid="ignore"):
        world = np.concatenate([points @ place.T for place in places])
        positions = (world @ to_clip[:, :3].T + to_clip[:, 3]).astype(np.float32)
    first = np.arange(len(places), dtype=np.uint32)[:, None] * np.uint32(len(points))
    rows = fronts_first((draw.indices[None] + first).reshape(-1, 3), draw)
    cull = "none" if scene.surfaces[draw.surface].is_double_sided else "back"
    made, _ = assemble(positions, rows, *size, cull)
    corners = made.corners / SUBPIXELS
    is_inside = ((corners >= 0) & (corners <= size)).all(axis=(1, 2))
    return corners[is_inside & (made.weights.sum(axis=(1, 2)) == WHOLE)]
