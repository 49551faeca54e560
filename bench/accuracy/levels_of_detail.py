"""Sectors that texture instructions touch in draws of sponza, with levels of detail and without.

Command: ``python -m bench.accuracy.levels_of_detail [--size 240x136] [--texels 512]``; the scene lies in the data
folder (``RAYPLAY_DATA``). Prints a line per view and filter: different sectors of 32 bytes of a warp's texture
instruction with ``--lod on`` and ``off``, how many times fewer, and the least and most of a draw. ``--texels`` makes
the textures smaller: a picture of half the size with textures of half the texels saves alike. CRISP's textures have
1,024 texels where these have 512, so that its 2560x1440 is 1280x720 here, or 320x180 with 128 texels. Its paper has up
to six times as many L1 texture accesses without levels, and their error against hardware falls 6.6 times with them.
"""

import argparse
import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rayplay.formats.dataset.reader import Trace, open_trace
from rayplay.formats.dataset.writer import TraceWriter
from rayplay.tracer.draw import load_drawn
from rayplay.tracer.graphics.maps import Filtering
from rayplay.tracer.graphics.shaders import BUILT_IN, read_shaders
from rayplay.tracer.graphics.stages import Rules, draw_scene
from rayplay.tracer.scenes.camera_text import change_camera
from rayplay.tracer.scenes.description import Picture

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


def sectors_of_look_ups(trace: Trace) -> tuple[np.ndarray, np.ndarray]:
    """int64[launches] twice: different sectors of the texture instructions of warps, and these instructions."""
    columns = trace.read("instructions", ["operation_class", "kernel_id"])
    is_texture = np.asarray(columns["operation_class"] == "texture", bool)
    sectors, executed = np.zeros((2, trace.rows("kernels")), np.int64)
    for batch in trace.batches("accesses", ["instruction_id", "address"]):
        counted, launch = is_texture[batch["instruction_id"]], columns["kernel_id"][batch["instruction_id"]]
        row = np.repeat(np.arange(len(counted)), np.diff(batch["address_offset"].astype(np.int64)))
        of = counted[row]
        touched = np.unique((row[of] << ROW_SHIFT) + (batch["address"][of].astype(np.int64) >> SECTOR_SHIFT))
        sectors += np.bincount(launch[touched >> ROW_SHIFT], minlength=len(sectors))
        executed += np.bincount(launch[counted], minlength=len(executed))
    return sectors, executed


def smaller(picture: Picture, times: int) -> Picture:
    """A picture whose texels are means of squares."""
    height, width = (side // times for side in picture.texels.shape[:2])
    squares = picture.texels[: height * times, : width * times].reshape(height, times, width, times, 4)
    return replace(picture, texels=np.rint(squares.mean(axis=(1, 3))).astype(np.uint8))


def measured(
    scene: Path, camera: str, size: tuple[int, int], kind: str, lod: bool, out: Path, times: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """The same for a draw of a scene with one of ``FILTERS``, its textures ``times`` smaller."""
    rules, chosen = FILTERS[kind]
    drawn, own, _ = load_drawn(str(scene))
    drawn = replace(drawn, pictures=[smaller(each, times) for each in drawn.pictures])
    kept = Rules(rules, textures=Filtering(lod, chosen))
    with TraceWriter(out, {}) as writer:
        draw_scene(drawn, read_shaders(BUILT_IN, None), change_camera(own, camera), size, kept, writer, progress=False)
    return sectors_of_look_ups(open_trace(out))


def saved(*arguments: Any, out: Path, times: int = 1) -> tuple[float, float, np.ndarray]:
    """Sectors of a texture instruction with levels and without, and how many times fewer by draw.

    arguments  scene, camera, size and filter of ``measured``.
    """
    (on, looks), (off, _) = (measured(*arguments, lod, out / f"{lod}.trace", times) for lod in (True, False))
    has_textures = looks > 0
    return on.sum() / looks.sum(), off.sum() / looks.sum(), off[has_textures] / on[has_textures]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", default="240x136")
    parser.add_argument("--texels", type=int, default=512, choices=[512, 256, 128, 64], help="side of the textures")
    options = parser.parse_args()
    width, height = (int(part) for part in options.size.split("x"))
    if not (DATA / SCENE).is_file():
        sys.exit(f"{DATA / SCENE}: no such file; RAYPLAY_DATA names the data folder")
    for view, camera in VIEWS.items():
        for kind in FILTERS:
            with tempfile.TemporaryDirectory() as scratch:
                given = (DATA / SCENE, camera, (width, height), kind)
                on, off, draws = saved(*given, out=Path(scratch), times=512 // options.texels)
            print(
                f"{view} {kind}: {on:.2f} sectors with levels, {off:.2f} without, {off / on:.2f} times fewer"
                f" ({draws.min():.2f} to {draws.max():.2f} by draw)",
                flush=True,
            )


if __name__ == "__main__":
    main()
