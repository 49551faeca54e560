"""Layouts of the acceleration structure: records and bytes that a ray fetches in each, and the cycles of a replay.

    python -m bench.speed.layouts bunny wknd --size 128x128 --gpu mobile

Traces each scene once a layout of ``tracer.bvh.layouts`` by path tracing, one sample a pixel, and prints a row each:
internal nodes of the structure, its bytes from the first record to the last, records and bytes that a ray fetches,
sectors of 32 B that the RT units read for them, and cycles.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.guard.command import run
from rayplay.replay.gpu.description import load
from rayplay.replay.run.driver import simulate
from rayplay.tracer.bvh import layout
from rayplay.tracer.bvh.layouts import LAYOUTS
from rayplay.tracer.render import Request, render
from rayplay.tracer.shading.config import PROGRAM_FOLDER

HEADS = (
    "scene",
    "layout",
    "internal nodes",
    "MB",
    "nodes a ray",
    "records a ray",
    "bytes a ray",
    "sectors a ray",
    "cycles",
)


def row(scene: str, name: str, size: tuple[int, int], gpu: str, folder: Path) -> list[str]:
    """Records and bytes that a scene's rays fetch in a layout, and the cycles on a GPU."""
    path = folder / f"{Path(scene).stem}-{name}.trace"
    render(
        Request(
            scene, PROGRAM_FOLDER / "path-tracing.ptx", PROGRAM_FOLDER / "path-tracing.toml", path, *size, 1, bvh=name
        )
    )
    trace = open_trace(path)
    nodes, rays = trace.read("nodes"), trace.read("rays", ["node", "segment"])
    read = rays["node"] & np.uint32((1 << 31) - 1)
    count = int((rays["segment"] == 0).sum())
    internal = nodes["kind"] == layout.INTERNAL
    end = (nodes["address"] + nodes["bytes"]).max() - nodes["address"].min()
    result = simulate(trace, load(gpu))
    sectors = sum(found["rt_unit"]["reads"].sum() for found in map(result.ledger.by_name, result.ledger.kernels))
    return [
        Path(scene).stem, name, f"{internal.sum():,}", f"{end / 1e6:.2f}", f"{internal[read].sum() / count:.2f}",
        f"{len(read) / count:.2f}", f"{nodes['bytes'][read].sum() / count:.0f}", f"{sectors / count:.1f}",
        f"{result.value('gpu_cycles'):,.0f}",
    ]  # fmt: skip


def main() -> None:
    """Trace, replay, print."""
    made = argparse.ArgumentParser(prog="python -m bench.speed.layouts", description=__doc__.splitlines()[0])
    made.add_argument("scenes", nargs="+", metavar="SCENE")
    made.add_argument("--size", default="128x128", metavar="WxH")
    made.add_argument("--gpu", default="mobile")
    given = made.parse_args()
    width, height = map(int, given.size.split("x"))
    print("| " + " | ".join(HEADS) + " |", "|---" * len(HEADS) + "|", sep="\n")
    with tempfile.TemporaryDirectory() as folder:
        for scene in given.scenes:
            for name in LAYOUTS:
                print("| " + " | ".join(row(scene, name, (width, height), given.gpu, Path(folder))) + " |", flush=True)


if __name__ == "__main__":
    run("bench.speed.layouts", main)
