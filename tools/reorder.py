"""Write a trace with its reorders carried out, as a GPU with a window of warps replays it.

    python -m tools.reorder traces/hits.trace --set reorder.window_warps=8 --out traces/reordered.trace

A replay needs no such file: ``rayplay replay --set reorder.window_warps=8`` carries reorders out itself. This one is to
look at, and for estimates, whose samples then hold whole windows; its sorts have their latency in the model
``characterised``.
"""

import argparse
from pathlib import Path

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.dataset.writer import TraceWriter
from rayplay.formats.guard.command import run
from rayplay.formats.guard.errors import UserError
from rayplay.formats.laws.expect import valid_trace
from rayplay.replay.gpu.description import load
from rayplay.replay.run.reordering import with_reorders


def main() -> None:
    """Carry out the reorders of a trace."""
    made = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    made.add_argument("trace", type=Path)
    made.add_argument("--gpu", default="rtx2060", metavar="NAME", help="name or file (default: rtx2060)")
    made.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="value of the GPU; repeatable")
    made.add_argument("--out", type=Path, required=True, metavar="NAME.trace", help="trace to write")
    given = made.parse_args()
    trace, gpu = open_trace(given.trace), load(given.gpu, given.set)
    if gpu.reorder.sort_cycles and gpu.latencies.of_ptx:
        raise UserError(f"GPU {gpu.name}: reorder.sort_cycles must be 0, since its latencies would replace the sort's")
    latencies = trace.read("characterisation") if "characterisation" in trace.tables else None
    moved, _, _ = with_reorders(trace, gpu, latencies, None, None)
    if moved is trace:
        raise UserError(f"{given.trace}: must call optixReorder, and --set reorder.window_warps must be above 0")
    provenance = {"command": "reorder", "reorder": vars(gpu.reorder), "trace": trace.manifest.provenance}
    with valid_trace(given.out) as unchecked, TraceWriter(unchecked, provenance, None) as writer:
        for name in moved.tables:
            writer.declare(name)
            for batch in moved.batches(name):
                writer.put(name, batch)


if __name__ == "__main__":
    run("reorder", main)
