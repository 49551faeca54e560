"""Sectors that levels of detail save in each draw of sponza by CRISP's rules, as its geometry says and as traced.

Command: ``python -m bench.accuracy.levels_by_draw [--size 320x180] [--texels 128] [--view floor]``; the scene lies in
the data folder (``RAYPLAY_DATA``). A line per draw: look-ups, texels that a pixel steps over (median), the share of
look-ups that take the first level, whose accesses are the same without levels, and distinct sectors of 32 bytes of a
warp's look-up without levels and with them. These are said twice: by ``look_ups``, which knows the draw's triangles and
coordinates but no shader and no texture unit, and by the trace. 320x180 with 128 texels has as many texels for a pixel
as CRISP's own Sponza, whose textures have 1,024 texels, at 2560x1440.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.accuracy.levels_of_detail import DATA, SCENE, VIEWS, measured, smaller
from rayplay.tracer.draw import load_drawn
from rayplay.tracer.graphics.frame import view_values
from rayplay.tracer.raster import DrawState, Framebuffer, cut_batches, rasterise
from rayplay.tracer.raster.crisp import partner_steps
from rayplay.tracer.scenes.camera_text import change_camera
from rayplay.tracer.scenes.description import Camera
from rayplay.tracer.scenes.textured import Draw, TexturedScene

TILE, TEXEL_BYTES, SECTOR_BYTES, WARP = 32, 4, 32, 32


@dataclass(frozen=True)
class LookUps:
    """Look-ups of a draw's base colour, a thread each in the order of warps.

    coordinates  float32[n, 2], of the texture.
    steps        float64[n]: texels of the first level to the partner pixel, the longer of both directions.
    size         of the first level: width, height.
    """

    name: str
    coordinates: NDArray[np.float32]
    steps: NDArray[np.float64]
    size: tuple[int, int]

    @property
    def levels(self) -> NDArray[np.int64]:
        """int64[n]: the floor of the level (``docs/sources/crisp.md#levels-of-detail``)."""
        most = max(self.size).bit_length() - 1
        return np.clip(np.floor(np.log2(np.maximum(self.steps, 1))), 0, most).astype(np.int64)

    def sectors(self, levels: NDArray[np.int64]) -> NDArray[np.int64]:
        """int64[warps]: distinct sectors of a warp's nearest texels (``docs/sources/crisp.md#texture-addresses``)."""
        width, height = self.size
        side = np.maximum(np.array(self.size) >> levels[:, None], 1)
        fraction = self.coordinates - np.floor(self.coordinates)
        x, y = np.minimum((fraction * side).astype(np.int64), side - 1).T
        below = np.array([0, height] + [height + sum(height >> i for i in range(2, level)) for level in range(2, 16)])
        x, y = x + np.where(levels > 1, width // 2, 0), y + below[levels]
        tile = y // TILE * (width // TILE) + x // TILE
        address = (tile * TILE * TILE + x % TILE * TILE + y % TILE) * TEXEL_BYTES
        warp = np.arange(len(x)) // WARP
        distinct = np.unique(np.stack([warp, address // SECTOR_BYTES]), axis=1)[0]
        return np.bincount(distinct, minlength=int(warp[-1]) + 1)


def look_ups(scene: TexturedScene, camera: Camera, size: tuple[int, int]) -> Iterator[LookUps]:
    """Of each draw with fragments by CRISP's rules, in the order of draws; what discards a fragment is not known."""
    seen = view_values(scene, camera, *size)
    to_clip = np.stack([seen[f"to_clip_{axis}"] for axis in "xyzw"])
    framebuffer = Framebuffer.cleared(*size)
    for draw in scene.draws:
        surface = scene.surfaces[draw.surface]
        batches = cut_batches(draw.indices, len(draw.positions))
        triangles = batches.triangles(draw.instance_count)
        state = DrawState(rules="crisp", depth_write=surface.alpha == "OPAQUE", discards=surface.alpha == "MASK")
        fragments = rasterise(_clip(draw, to_clip)[_every(batches.vertices, draw)], triangles, framebuffer, state)
        if not len(fragments):
            continue
        uv = np.tile(draw.uv[batches.vertices], (draw.instance_count, 1))
        coordinates = fragments.interpolate(uv, triangles)
        height, width = scene.pictures[surface.pictures[0]].texels.shape[:2]
        steps = partner_steps(fragments, coordinates, size).astype(np.float64) * (width, height)
        yield LookUps(draw.name, coordinates, steps.max(axis=1), (width, height))


def _every(vertices: NDArray[np.uint32], draw: Draw) -> NDArray[np.int64]:
    """Rows of the vertices of all instances."""
    first = np.arange(draw.instance_count)[:, None] * len(draw.positions)
    return (vertices.astype(np.int64) + first).ravel()


def _clip(draw: Draw, to_clip: NDArray[np.float64]) -> NDArray[np.float32]:
    """float32[instances * vertices, 4] in clip space."""
    points = np.column_stack([draw.positions.astype(np.float64), np.ones(len(draw.positions))])
    world = np.concatenate([points @ place.T for place in draw.matrices()])
    return (world @ to_clip[:, :3].T + to_clip[:, 3]).astype(np.float32)


def said(view: str, size: tuple[int, int], times: int, scene: Path = DATA / SCENE) -> list[LookUps]:
    """Look-ups of a view, textures ``times`` smaller."""
    drawn, own, _ = load_drawn(str(scene))
    drawn = replace(drawn, pictures=[smaller(each, times) for each in drawn.pictures])
    return list(look_ups(drawn, change_camera(own, VIEWS[view]), size))


def traced(
    view: str, size: tuple[int, int], times: int, out: Path, scene: Path = DATA / SCENE
) -> list[tuple[float, float]]:
    """Sectors of a texture instruction without levels and with them, by draw with fragments, from the traces."""
    found = []
    for lod in (False, True):
        sectors, executed = measured(scene, VIEWS[view], size, "crisp", lod, out / f"{lod}.trace", times)
        found.append((sectors[executed > 0] / executed[executed > 0]).tolist())
    return list(zip(*found, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", default="320x180")
    parser.add_argument("--texels", type=int, default=128, choices=[512, 256, 128], help="side of the textures")
    parser.add_argument("--view", default="floor", choices=VIEWS)
    options = parser.parse_args()
    width, height = (int(part) for part in options.size.split("x"))
    if not (DATA / SCENE).is_file():
        sys.exit(f"{DATA / SCENE}: no such file; RAYPLAY_DATA names the data folder")
    given = options.view, (width, height), 512 // options.texels
    with tempfile.TemporaryDirectory() as scratch:
        counted = traced(*given, Path(scratch))
    print("draw: look-ups, texels a pixel, first level %, sectors without / with = times: said; traced")
    sums, executed = np.zeros(4), 0
    for one, own in zip(said(*given), counted, strict=True):
        levels = one.levels
        row = np.array([*(one.sectors(each).mean() for each in (0 * levels, levels)), *own])
        sums, executed = sums + row * len(levels), executed + len(levels)
        first = f"{len(levels):,}, {np.median(one.steps):.1f}, {100 * (levels == 0).mean():.0f} %"
        print(f"{one.name}: {first}, {ratios(row)}")
    print(f"all: {ratios(sums / executed)}")


def ratios(row: NDArray[np.float64]) -> str:
    """Sectors without levels, with them, and how many times fewer: as said and as traced."""
    return "; ".join(f"{off:.2f} / {on:.2f} = {off / on:.2f}" for off, on in row.reshape(2, 2))


if __name__ == "__main__":
    main()
