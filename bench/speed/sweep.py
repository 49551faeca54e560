"""Sweeps: the plan of 100,000 points, the overhead of a point, the use of two cores. Two minutes on an idle machine.

    python -m bench.speed.sweep                      # 200 points of 0.2 s
    python -m bench.speed.sweep --points 1000
    python -m bench.speed.sweep --trace FILE.trace   # of another length

Two perfect halves are the time of a loop of the same replays in one warm process, halved; the loop opens the trace for
each replay, as a user's would. Each figure is given in wall time, which means something on an idle machine alone, and
in processor time of driver, zygote and workers together, which hardly depends on other work. Start is counted.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from rayplay.formats.dataset.reader import open_trace
from rayplay.replay import simulate
from rayplay.replay.gpu.description import load
from rayplay.sweep.drive.run import How, run
from rayplay.sweep.plan.plan import make_plan
from rayplay.sweep.space.file import given
from rayplay.sweep.space.points import space
from rayplay.sweep.store.store import Store

SAMPLE = Path(__file__).resolve().parents[2] / "traces" / "sample.trace"
RENDERED = ("wknd", "--size", "112x96", "--samples", "1")  # replays of about 0.2 s
WARM = 20  # replays of the loop


class Took(NamedTuple):
    """Seconds of a sweep: wall, processor time of driver and others, of it within points; a worker's memory."""

    wall: float
    driver: float
    others: float
    points: float
    peak_mb: float


def plan(folder: str) -> None:
    """100,000 different points: two axes of the same section, one of another."""
    grid = {"rt.warps": list(range(1, 33)), "l1.latency_cycles": list(range(1, 126)), "l2.latency_cycles": list(range(100, 125))}  # fmt: skip # noqa: E501
    tables = {"traces": [str(SAMPLE)], "gpus": ["mobile"], "design": {"grid": grid}}
    begun, wall = time.process_time(), time.perf_counter()
    made = make_plan("big", space(given(tables)), Store(folder))
    taken = time.process_time() - begun
    print(f"plan of {len(made.status):,} different points: {taken:.1f} s of processor time, "
          f"{time.perf_counter() - wall:.1f} s in all (target 5)")  # fmt: skip


def rendered(folder: str) -> Path:
    """The trace of the points."""
    out = Path(folder) / "points.trace"
    words = [sys.executable, "-m", "rayplay", "trace", *RENDERED, "--out", str(out)]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    return out


def loop(trace: Path) -> tuple[float, float]:
    """Wall and processor time of a replay in one warm process."""
    gpus = [load("mobile", [f"l1.latency_cycles={20 + number}"]) for number in range(WARM)]
    simulate(open_trace(trace), gpus[0])
    begun, wall = time.process_time(), time.perf_counter()
    for gpu in gpus:
        simulate(open_trace(trace), gpu)
    return (time.perf_counter() - wall) / WARM, (time.process_time() - begun) / WARM


def swept(trace: Path, points: int, folder: str) -> Took:
    """Run points that differ in a latency, on two workers."""
    grid = {"l1.latency_cycles": list(range(20, 20 + points))}
    found = space(given({"traces": [str(trace)], "gpus": ["mobile"], "design": {"grid": grid}}))
    store, wall, before = Store(folder), time.perf_counter(), os.times()
    ended = run("bench", found, store, How(workers=2))
    taken, after = time.perf_counter() - wall, os.times()
    assert ended.plan.counts() == {"done": points}, ended.report.failed
    hosts = [store.host(key) for key in store.done()]
    within, peak = sum(host["cpu_seconds"] for host in hosts), max(host["peak_mb"] for host in hosts)
    return Took(taken, sum(after[:2]) - sum(before[:2]), sum(after[2:4]) - sum(before[2:4]), within, peak)


def report(points: int, alone: tuple[float, float], few: Took, many: Took) -> None:
    """Print what a sweep cost beside the loop."""
    spent, start = many.driver + many.others, few.driver + few.others - few.points
    others, halves = many.others - many.points, points * alone[0] / 2
    each, outside = (spent - start) / points, (spent - start - many.points) / points
    lines = [
        f"loop in one warm process: {1000 * alone[0]:.0f} ms a point, {1000 * alone[1]:.0f} ms of processor time",
        f"{points} points on two workers: {many.wall:.1f} s; {spent:.1f} s of processor time:"
        f" {many.points:.1f} s in points, {many.driver:.1f} s in the driver, {others:.1f} s elsewhere",
        f"two perfect halves of the loop: {halves:.1f} s; efficiency {100 * halves / many.wall:.0f} % (target 95),"
        f" by processor time {100 * points * alone[1] / spent:.0f} %",
        f"points' share of all processor time, the bound against a loop that holds its trace:"
        f" {100 * many.points / spent:.0f} %",
        f"start: {start:.1f} s of processor time",
        f"a point: {1000 * each:.0f} ms of it, {1000 * (each - alone[1]):+.1f} ms against the loop's;"
        f" overhead outside its replay {1000 * outside:.1f} ms (target 20)",
        f"peak memory of a worker: {many.peak_mb:.0f} MB",
    ]
    print("\n".join(lines))


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=200)
    parser.add_argument("--trace", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        plan(f"{folder}/plan")
        trace = options.trace or rendered(folder)
        alone = loop(trace)
        few, many = (swept(trace, count, f"{folder}/{count}") for count in (2, options.points))
        report(options.points, alone, few, many)


if __name__ == "__main__":
    main()
