"""Animations and large frames as a whole: seconds and memory of whole commands, one process each.

    python -m bench.speed.animation             # both
    python -m bench.speed.animation bunny       # 100 frames, 320x240: traced, estimated on RTX 2060 (10 minutes)
    python -m bench.speed.animation park        # a frame, 3840x2160, 1 sample: traced, then estimated with intervals
                                                # (15 minutes, 4 GiB)
    python -m bench.speed.animation park --size 960x540

The scenes lie in the data folder (``RAYPLAY_DATA``). Seconds are wall-clock with the process's CPU time in brackets;
the latter is what the targets are for, on one core.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from bench.speed.line import run

GPU = "rtx2060"
FRACTION = "0.02"  # of a large frame: 5,184 of 259,200 warps, six times what a tenth of 512x512 pixels has


def bunny(folder: Path, size: str) -> None:
    """An animation, frame after frame."""
    animate = ("-m", "animation", "animate", "bunny", "--frames", "100", "--size", size, "--gpu", GPU)
    cost = run(sys.executable, *animate, "--method", "estimate", "--out", str(folder / "bunny"))
    print(f"bunny, 100 frames of {size} traced and estimated on {GPU}: {cost} (target 600 s)", flush=True)


def park(folder: Path, size: str) -> None:
    """A large frame."""
    trace = str(folder / "park.trace")
    render = ("-m", "tracer", "render", "park", "--workload", "path-tracing", "--size", size, "--samples", "1")
    rendered = run(sys.executable, *render, "--out", trace)
    print(f"park {size}, trace: {rendered}", flush=True)
    estimated = run(sys.executable, "-m", "zatel", "estimate", trace, "--gpu", GPU, "--fraction", FRACTION)
    print(f"park {size}, estimate on {GPU}: {estimated}")
    print(f"park {size}, both: {rendered.cpu_s + estimated.cpu_s:.1f} s CPU (target 900 s, 4 GiB)")


RUNS = {"bunny": (bunny, "320x240"), "park": (park, "3840x2160")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="*", metavar="RUN", default=list(RUNS))
    parser.add_argument("--size", help="pixels (default: the targets')")
    chosen = parser.parse_args()
    for name in chosen.runs:
        measure, size = RUNS[name]
        with tempfile.TemporaryDirectory() as folder:
            measure(Path(folder), chosen.size or size)


if __name__ == "__main__":
    main()
