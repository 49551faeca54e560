"""Threads and covered pixels of each draw, counted from its triangles alone, beside what `rayplay draw` launches.

Command: ``python -m bench.accuracy.helper_lanes [--size 2560x1440] [--picture PT IT MT]``; the scenes lie in the data
folder (``RAYPLAY_DATA``). A line per draw and one per picture: live fragments and threads, as counted here and as
drawn, and both ratios. The count shares no code with the rasteriser, its clipping or its tiles, and runs no shader:
every pixel of a triangle's box is tested against its three edges, a depth buffer is kept, and a quad of 2x2 pixels
launches four threads where one of its pixels lives. So the ratio is geometry, whatever it is. The pictures are those
whose triangles all lie beyond the near plane.
"""

import argparse
import sys
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rayplay.crisp.suite import TEXTURED, Workload
from rayplay.tracer.draw import load_drawn, textured_file
from rayplay.tracer.graphics.frame import view_values
from rayplay.tracer.graphics.shaders import BUILT_IN, read_shaders
from rayplay.tracer.graphics.stages import Rules, draw_scene
from rayplay.tracer.scenes.camera_text import change_camera
from rayplay.tracer.scenes.textured import Draw

GRID = 256  # positions on the picture are whole numbers of 1/256 pixel
ROWS = 2_000_000  # pixels of boxes tested at a time


class Count(NamedTuple):
    """Live fragments of a draw, and threads of the quads that have one."""

    name: str
    live: int
    threads: int


def counted(workload: Workload, size: tuple[int, int]) -> Iterator[Count]:
    """Of each draw of a picture, in order."""
    scene, camera, _ = load_drawn(workload.scene)
    camera = change_camera(camera, workload.camera) if workload.camera else camera
    seen = view_values(scene, camera, *size)
    matrix = np.stack([seen[f"to_clip_{axis}"] for axis in "xyzw"])
    nearest = np.ones(size[0] * size[1], np.float32)
    for draw in scene.draws:
        surface = scene.surfaces[draw.surface]
        places, depth = _on_picture(draw, matrix, size, surface.is_double_sided)
        live = threads = 0
        for pixel, z, owner in _covered(places, depth, size):
            is_live = _passing(nearest, pixel, z, surface.alpha != "BLEND")
            x, y = pixel[is_live] % size[0] // 2, pixel[is_live] // size[0] // 2
            quads = len(np.unique(np.stack([owner[is_live], y * size[0] + x]), axis=1).T)
            live, threads = live + int(is_live.sum()), threads + 4 * quads
        yield Count(draw.name, live, threads)


def _on_picture(
    draw: Draw, matrix: NDArray[np.float64], size: tuple[int, int], both_sides: bool
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Corners int64[n, 3, 2] on the grid, clockwise, of triangles that are shown, and their depths float64[n, 3]."""
    points = np.column_stack([draw.positions.astype(np.float64), np.ones(len(draw.positions))])
    world = np.concatenate([points @ place.T for place in draw.matrices()])
    clip = (world @ matrix[:, :3].T + matrix[:, 3]).astype(np.float32).astype(np.float64)
    first = np.arange(draw.instance_count)[:, None] * len(points)
    rows = (draw.indices[None].astype(np.int64) + first).reshape(-1, 3)
    if (clip[:, 3] <= 0).any() or (clip[:, 2] < 0).any():
        raise ValueError(f"{draw.name}: a triangle must lie beyond the near plane")
    place = (clip[:, :2] / clip[:, 3:] * (1, -1) + 1) * np.array(size) / 2 * GRID
    corners, depth = np.rint(place).astype(np.int64)[rows], (clip[:, 2] / clip[:, 3])[rows]
    side = _edge(corners[:, 0], corners[:, 1], corners[:, 2])  # above 0: clockwise, since rows run downwards
    front = -np.sign(side) * np.repeat(np.where(draw.is_mirrored(), -1, 1), len(draw.indices) // 3)
    shown = side != 0 if both_sides else front > 0
    turned = side < 0
    corners[turned], depth[turned] = corners[turned][:, [0, 2, 1]], depth[turned][:, [0, 2, 1]]
    return corners[shown], depth[shown]


def _edge(a: NDArray[np.int64], b: NDArray[np.int64], c: NDArray[np.int64]) -> NDArray[np.int64]:
    """Twice the area of a, b, c; above 0 where c lies to the right of the way from a to b, rows downwards."""
    return (b[..., 0] - a[..., 0]) * (c[..., 1] - a[..., 1]) - (b[..., 1] - a[..., 1]) * (c[..., 0] - a[..., 0])


def _covered(
    corners: NDArray[np.int64], depth: NDArray[np.float64], size: tuple[int, int]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.int64]]]:
    """Pixels whose centre a triangle covers, their depths and the triangle's row, some triangles at a time."""
    low = np.clip((corners.min(axis=1) - GRID // 2) // GRID, 0, size)
    high = np.clip((corners.max(axis=1) - GRID // 2) // GRID + 1, 0, size)
    sides = np.maximum(high - low, 0)
    boxes = sides.prod(axis=1)
    part = np.cumsum(boxes) // ROWS
    for number in np.unique(part):
        own = np.flatnonzero((part == number) & (boxes > 0))
        owner = np.repeat(own, boxes[own])
        if not len(owner):
            continue
        at = np.arange(len(owner)) - np.repeat(np.cumsum(boxes[own]) - boxes[own], boxes[own])
        x, y = low[owner, 0] + at % sides[owner, 0], low[owner, 1] + at // sides[owner, 0]
        centre = np.stack([x, y], axis=1) * GRID + GRID // 2
        a, b, c = (corners[owner, corner] for corner in range(3))
        inside, parts = np.ones(len(owner), bool), []
        for start, end in ((a, b), (b, c), (c, a)):
            weight, (dx, dy) = _edge(start, end, centre), (end - start).T
            # on an edge: a left one, which runs upwards, or a top one, which runs right
            inside &= (weight > 0) | (weight == 0) & ((dy < 0) | (dy == 0) & (dx > 0))
            parts.append(weight)
        second, third = (each / sum(parts) for each in (parts[2], parts[0]))
        z = depth[owner]
        value = z[:, 0] + second * (z[:, 1] - z[:, 0]) + third * (z[:, 2] - z[:, 0])
        yield (y * size[0] + x)[inside], np.clip(value, 0, 1).astype(np.float32)[inside], owner[inside]


def _passing(
    nearest: NDArray[np.float32], pixel: NDArray[np.int64], z: NDArray[np.float32], writes: bool
) -> NDArray[np.bool_]:
    """Which fragments are nearer than what came before them at their pixel; ``nearest`` is kept where they write."""
    passed = np.zeros(len(pixel), bool)
    order = np.argsort(pixel, kind="stable")
    starts = np.flatnonzero(np.diff(pixel[order], prepend=-1))
    rank = np.arange(len(order)) - np.repeat(starts, np.diff(starts, append=len(order)))
    for layer in range(int(rank.max(initial=-1)) + 1):
        rows = order[rank == layer]  # one fragment of a pixel at most
        passed[rows] = z[rows] < nearest[pixel[rows]]
        if writes:
            nearest[pixel[rows]] = np.minimum(z[rows], nearest[pixel[rows]])
    return passed


def drawn(workload: Workload, size: tuple[int, int]) -> list[Count]:
    """Live fragments and threads of each draw of a picture, in order, as the rasteriser launches them."""
    scene, camera, _ = load_drawn(workload.scene)
    camera = change_camera(camera, workload.camera) if workload.camera else camera
    made = draw_scene(scene, read_shaders(BUILT_IN, "lit"), camera, size, Rules(), None, progress=False)
    found = {stage.draw: stage for stage in made.stages if stage.stage == "fragment"}
    return [
        Count(draw.name, found[number].live, found[number].shaded) if number in found else Count(draw.name, 0, 0)
        for number, draw in enumerate(scene.draws)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = {one.name: one for one in TEXTURED if one.name in ("PT", "IT", "MT")}
    parser.add_argument("--size", default="2560x1440")
    parser.add_argument("--picture", nargs="+", default=["PT", "IT"], choices=names)
    options = parser.parse_args()
    width, height = (int(part) for part in options.size.split("x"))
    print("picture, draw: live fragments counted / drawn, threads counted / drawn; threads a live fragment")
    for name in options.picture:
        if textured_file(names[name].scene) is None:
            sys.exit(f"{names[name].scene}: no such scene; RAYPLAY_DATA names the data folder")
        pairs = list(zip(counted(names[name], (width, height)), drawn(names[name], (width, height)), strict=True))
        ours, theirs = (
            Count("all", sum(pair[side].live for pair in pairs), sum(pair[side].threads for pair in pairs))
            for side in range(2)
        )
        for one, other in [*pairs, (ours, theirs)]:
            live, threads = f"{one.live:,} / {other.live:,}", f"{one.threads:,} / {other.threads:,}"
            print(f"{name}, {one.name}: {live}, {threads}; {_ratio(one)} / {_ratio(other)}")


def _ratio(one: Count) -> str:
    return f"{one.threads / max(one.live, 1):.4f}"


if __name__ == "__main__":
    main()
