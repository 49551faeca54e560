"""Two prefetchers of RT units side by side: accuracy, misses and DRAM traffic, by order of traversal and by values.

    python -m bench.prefetch bunny ref --size 64x64 --also l1.latency_cycles=39 --also rt.warps=16

Traces each scene in both orders of ``--traversal`` and replays it without a prefetcher, under the traversal-trend
prefetcher and under treelet prefetching, as the GPU is and with each value of ``--also``. Prints a row each: speed-up;
chunks prefetched for a read of the RT units, and the share of them that is read; chunks that were there already for
one prefetched; misses of the units' reads and DRAM reads, by those without a prefetcher.
"""

import argparse
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from bench.policies import ROOT
from rayplay.formats.dataset.reader import Trace, open_trace
from rayplay.formats.guard.command import run
from rayplay.replay.gpu.description import load
from rayplay.replay.run.driver import simulate
from rayplay.replay.testing import totals

PREFETCHERS = {"TTP": "traversal_trend", "treelets": "treelet_prefetch"}
ORDERS = ("nearest", "vulkan-sim")
HEADS = ("scene", "order", "GPU", "records a ray", "prefetcher", "speed-up", "sent", "read", "there", "misses", "DRAM")


def traced(scene: str, size: str, order: str, folder: Path) -> Trace:
    """The trace of a scene, rendered unless it is there."""
    path = folder / f"{scene}-{size}-{order}.trace"
    if not path.exists():
        given = [scene, "--size", size, "--samples", "1", "--traversal", order, "--record", "distances", "--quiet"]
        subprocess.run([sys.executable, "-m", "rayplay", "trace", *given, "--out", str(path)], check=True)
    return open_trace(path)


def rows(trace: Trace, gpu: str, values: list[str]) -> Iterator[list[str]]:
    """Cells from the prefetcher's name on, for each."""
    usual = simulate(trace, load(gpu, values))
    before = totals(usual)
    for name, plugin in PREFETCHERS.items():
        result = simulate(trace, load(gpu, values, ROOT / "examples" / "policies" / f"{plugin}.py"))
        after = totals(result)
        sent, used, known = (after[f"policy.rt.{counter}"] for counter in ("sent", "used", "known"))
        yield [
            name, f"{usual.value('gpu_cycles') / result.value('gpu_cycles'):.3f}",
            f"{sent / before['rt_unit.reads']:.2f}", f"{used / max(sent, 1):.0%}", f"{known / max(sent, 1):.1f}",
            *(f"{after[counter] / before[counter]:.2f}" for counter in ("rt_unit.read_misses", "dram.reads")),
        ]  # fmt: skip


def main() -> None:
    """Trace, replay, print."""
    made = argparse.ArgumentParser(prog="python -m bench.prefetch", description=__doc__.splitlines()[0])
    made.add_argument("scenes", nargs="+", metavar="SCENE")
    made.add_argument("--size", default="64x64", metavar="WxH")
    made.add_argument("--gpu", default="mobile")
    made.add_argument("--also", action="append", default=[], metavar="KEY=VALUE", help="another GPU")
    made.add_argument("--traces", type=Path, default=ROOT / "build" / "published", help="folder of the traces")
    given = made.parse_args()
    given.traces.mkdir(parents=True, exist_ok=True)
    print("| " + " | ".join(HEADS) + " |", "|---" * len(HEADS) + "|", sep="\n")
    for scene in given.scenes:
        for order in ORDERS:
            trace = traced(scene, given.size, order, given.traces)
            rays = trace.read("rays", ["node", "segment"])
            visits = f"{len(rays['node']) / (rays['segment'] == 0).sum():.1f}"
            for values in ([], *([value] for value in given.also)):
                for cells in rows(trace, given.gpu, values):
                    told = [scene, order, ", ".join(values) or given.gpu, visits, *cells]
                    print("| " + " | ".join(told) + " |", flush=True)


if __name__ == "__main__":
    run("bench.prefetch", main)
