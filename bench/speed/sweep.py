"""Sweeps: the plan of 100,000 points, the overhead of a point, the use of two cores.

    python -m bench.speed.sweep                 # 100,000 points planned, 200 points of 0.1 s run
    python -m bench.speed.sweep --points 1000

Overhead is processor time: of driver, zygote and workers together, less the same replays in one warm process, for each
point; what starting costs once is a line of its own. Efficiency is the share of two cores' time in which points ran,
and means something on an idle machine alone.
"""

import argparse
import os
import resource
import tempfile
import time
from pathlib import Path

from rayplay.formats.dataset.reader import open_trace
from rayplay.replay import simulate
from rayplay.replay.gpu.description import load
from rayplay.sweep.drive.run import How, run
from rayplay.sweep.plan.plan import make_plan
from rayplay.sweep.space.file import given
from rayplay.sweep.space.points import space
from rayplay.sweep.store.store import Store

SAMPLE = Path(__file__).resolve().parents[2] / "traces" / "sample.trace"
WARM = 20  # replays in one process


def cpu() -> float:
    """Processor time of this process and of the children that ended."""
    return sum(os.times()[:4])


def plan(folder: str) -> None:
    """100,000 different points: two axes of the same section, one of another."""
    grid = {"rt.warps": list(range(1, 33)), "l1.latency_cycles": list(range(1, 126)), "l2.latency_cycles": list(range(100, 125))}  # fmt: skip # noqa: E501
    tables = {"traces": [str(SAMPLE)], "gpus": ["mobile"], "design": {"grid": grid}}
    begun, wall = time.process_time(), time.perf_counter()
    made = make_plan("big", space(given(tables)), Store(folder))
    taken = time.process_time() - begun
    print(f"plan of {len(made.status):,} different points: {taken:.1f} s of processor time, "
          f"{time.perf_counter() - wall:.1f} s in all (target 5)")  # fmt: skip


def overhead(points: int, folder: str) -> None:
    """Run points that differ in two latencies."""
    first = [load("mobile", [f"l1.latency_cycles={20 + number}"]) for number in range(WARM)]
    simulate(open_trace(SAMPLE), first[0])
    begun = time.process_time()
    for gpu in first:
        simulate(open_trace(SAMPLE), gpu)
    alone = (time.process_time() - begun) / WARM
    print(f"in one warm process: {1000 * alone:.1f} ms of processor time a point")
    taken = {}
    for count in (2, points):
        grid = {"l1.latency_cycles": list(range(20, 20 + count))}
        found = space(given({"traces": [str(SAMPLE)], "gpus": ["mobile"], "design": {"grid": grid}}))
        store, before, wall = Store(f"{folder}/{count}"), cpu(), time.perf_counter()
        ended = run("overhead", found, store, How(workers=2))
        assert ended.plan.counts() == {"done": count}, ended.report.failed
        taken[count] = cpu() - before, time.perf_counter() - wall
        if count == points:
            busy = sum(store.host(key)["wall_seconds"] for key in store.done())
            start = taken[2][1] - 2 * busy / points / 2
            share = busy / (2 * max(taken[count][1] - start, 1e-9))
            print(f"{points} points on two cores: {taken[count][1]:.1f} s, points ran in {100 * share:.0f} % of them")
    each = (taken[points][0] - taken[2][0]) / (points - 2)
    print(f"start: {taken[2][0] - 2 * each:.1f} s of processor time; a point: {1000 * each:.1f} ms,")
    print(f"overhead {1000 * (each - alone):.1f} ms a point (target 20)")
    print(f"peak memory of a worker: {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024:.0f} MB")


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=200)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        plan(f"{folder}/plan")
        overhead(options.points, folder)


if __name__ == "__main__":
    main()
