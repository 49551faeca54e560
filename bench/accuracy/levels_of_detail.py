"""Sectors that texture instructions touch in draws of sponza, with levels of detail and without.

Command: ``python -m bench.accuracy.levels_of_detail [--size 240x136]``; the scene lies in the data folder
(``RAYPLAY_DATA``). Prints a line per view and filter: different sectors of 32 bytes of a warp's texture instruction
with ``--lod on`` and ``off``, and how many times fewer. CRISP's paper has up to six times as many L1 texture accesses
without levels, and their error against hardware falls 6.6 times with them.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

import numpy as np

from rayplay.formats.dataset.reader import Trace, open_trace
from rayplay.tracer.draw import DrawRequest, draw
from rayplay.tracer.graphics.maps import Filtering
from rayplay.tracer.graphics.stages import Rules

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("RAYPLAY_DATA", ROOT.parent / "shared"))
SCENE = Path("scenes/textured/sponza_tex.glb")
VIEWS = {
    "nave": "eye=-1000,200,0,at=1000,400,0,vfov=65",
    "floor": "eye=-1100,60,0,at=1000,0,0,vfov=50",
    "wall": "eye=-1000,300,-350,at=1000,300,-400,vfov=60",
}
FILTERS = {"trilinear": ("hardware", "trilinear"), "bilinear": ("hardware", "bilinear"), "crisp": ("crisp", "file")}
SECTOR_SHIFT, ROW_SHIFT = 5, 40


def sectors_of_a_look_up(trace: Trace) -> float:
    """Different sectors of a texture instruction of a warp, on average."""
    is_texture = np.asarray(trace.read("instructions", ["operation_class"])["operation_class"] == "texture", bool)
    executed = sectors = 0
    for batch in trace.batches("accesses", ["instruction_id", "address"]):
        counted = is_texture[batch["instruction_id"]]
        row = np.repeat(np.arange(len(counted)), np.diff(batch["address_offset"].astype(np.int64)))
        of = counted[row]
        executed += int(counted.sum())
        sectors += len(np.unique((row[of] << ROW_SHIFT) + (batch["address"][of].astype(np.int64) >> SECTOR_SHIFT)))
    return sectors / executed


def measured(scene: Path, camera: str, size: tuple[int, int], kind: str, lod: bool, out: Path) -> float:
    """The same for a draw of a scene with one of ``FILTERS``."""
    rules, chosen = FILTERS[kind]
    textures = Filtering(lod, chosen)
    draw(DrawRequest(str(scene), out, *size, camera=camera, rules=Rules(rules, textures=textures)))
    return sectors_of_a_look_up(open_trace(out))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", default="240x136")
    width, height = (int(part) for part in parser.parse_args().size.split("x"))
    if not (DATA / SCENE).is_file():
        sys.exit(f"{DATA / SCENE}: no such file; RAYPLAY_DATA names the data folder")
    with tempfile.TemporaryDirectory() as scratch:
        for view, camera in VIEWS.items():
            for kind in FILTERS:
                on, off = (
                    measured(
                        DATA / SCENE, camera, (width, height), kind, lod, Path(scratch) / f"{view}-{kind}-{lod}.trace"
                    )
                    for lod in (True, False)
                )
                print(f"{view} {kind}: {on:.2f} sectors with levels, {off:.2f} without, {off / on:.2f} times fewer")


if __name__ == "__main__":
    main()
