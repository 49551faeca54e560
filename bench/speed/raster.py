"""Rasterisation of a textured scene at 2560x1440 on one core: all draws, every stage between the shaders.

Command: ``python -m bench.speed.raster``; the scene lies in the data folder (``RAYPLAY_DATA``). CPU seconds of the
process, the least of five, machine code cached, for each of the rules; positions are made before.
"""

import os
from functools import partial
from pathlib import Path

import numpy as np

from bench.speed.clock import seconds
from rayplay.tracer.raster import DrawState, Fragments, Framebuffer, VertexBatches, cut_batches, rasterise
from rayplay.tracer.scenes.textured import read_textured

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("RAYPLAY_DATA", ROOT.parent / "shared"))
WIDTH, HEIGHT = 2560, 1440
EYE, NEAR, ZOOM = (-500.0, 200.0, 0.0), 3.0, 1.732
"""A camera in the nave that looks along x, 60 degrees high."""
Vertices = list[tuple[VertexBatches, np.ndarray]]


def shaded(path: Path) -> Vertices:
    """Batches and clip-space positions of each draw."""
    found = []
    for draw in read_textured(path).draws:
        batches = cut_batches(draw.indices, len(draw.positions))
        x, y, z = (draw.positions[batches.vertices] - np.array(EYE, np.float32)).T
        found.append((batches, np.stack([z * ZOOM * HEIGHT / WIDTH, y * ZOOM, x - NEAR, x], axis=1)))
    return found


def run(vertices: Vertices, state: DrawState) -> list[Fragments]:
    """Rasterise all draws into a new framebuffer."""
    framebuffer = Framebuffer.cleared(WIDTH, HEIGHT)
    return [rasterise(positions, batches.triangles(), framebuffer, state) for batches, positions in vertices]


def main() -> None:
    vertices = shaded(DATA / "scenes" / "textured" / "sponza_tex.glb")
    for rules in ("hardware", "crisp"):
        made = run(vertices, DrawState(rules))
        took = seconds(partial(run, vertices, DrawState(rules)), warm=True)
        threads, live = sum(map(len, made)), sum(int(each.live.sum()) for each in made)
        print(f"sponza {WIDTH}x{HEIGHT}, rules {rules}: {took:.2f} s, {threads:,} threads, {live:,} fragments")


if __name__ == "__main__":
    main()
