"""Rasterised pictures: seconds, memory and bytes on disk of drawing and of replaying, one process each.

    python -m bench.speed.draws                # four pictures at 2560x1440 on the RTX 3070
    python -m bench.speed.draws --size 320x180 # quicker, for comparisons
    python -m bench.speed.draws --only planets bricks

The scenes lie in the data folder (``RAYPLAY_DATA``). Seconds are wall-clock with the process's CPU time in brackets.
Each picture is drawn once at 64x36 before, so that no machine code is made; the replay takes one thread.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from bench.speed.line import run

SEAT = "eye=-1000,200,0,at=1000,400,0,vfov=65"
PICTURES = (  # scene, shader, camera
    ("flight_helmet", "pbr", None),
    ("sponza_tex", "pbr", SEAT),
    ("planets", "lit", None),
    ("bricks", "ball", None),
)
GPU, TARGET = "rtx3070", "target 120 s, 4 GiB"


def measure(folder: Path, size: str, scene: str, shader: str, camera: str | None) -> None:
    """Draw and replay one picture."""
    out = folder / f"{scene}.trace"
    draw = ("-m", "tracer", "draw", scene, "--shader", shader, "--out", str(out))
    seen = ("--camera", camera) if camera else ()
    replay = ("-m", "replay", str(out), "--gpu", GPU, "--out", str(folder / f"{scene}.result"))
    run(sys.executable, *draw, *seen, "--size", "64x36")
    run(sys.executable, *replay)
    print(f"{scene} {size} {shader}, draw: {run(sys.executable, *draw, *seen, '--size', size)} ({TARGET} both)")
    print(f"{scene}, trace on disk: {sum(file.stat().st_size for file in out.iterdir()) / 2**20:.0f} MiB")
    print(f"{scene}, replay on {GPU}: {run(sys.executable, *replay)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", default="2560x1440", help="pixels (default: %(default)s)")
    names = [picture[0] for picture in PICTURES]
    parser.add_argument("--only", nargs="+", choices=names, default=names, help="some of the pictures")
    options = parser.parse_args()
    for picture in (picture for picture in PICTURES if picture[0] in options.only):
        with tempfile.TemporaryDirectory() as name:
            measure(Path(name), options.size, *picture)


if __name__ == "__main__":
    main()
