"""Sweeps: the plan of 100,000 points, the overhead of a point, the use of two cores. Three minutes on an idle machine.

    python -m bench.speed.sweep                      # 200 points of 0.2 s, twice
    python -m bench.speed.sweep --points 1000 --rounds 1
    python -m bench.speed.sweep --trace FILE.trace   # of another length

The sweep is the command ``rayplay sweep run`` with two workers, start and end counted. It is compared with the same
replays without a sweep, and without results that are kept:

alone        a loop in one warm process that holds the trace decoded, as workers do; its time is halved.
opening      the same, which opens the trace for each replay, as a user's loop would.
two at once  two such processes that hold it, half of the designs each: they share caches and memory bandwidth, which
             no two processes can avoid. Once from where both are warm, and once from the start of Python.

Wall time means something on an idle machine alone. Processor time, of all processes together, hardly depends on other
work, and counts the start of each process. Sweep and two at once take turns.
"""

import argparse
import multiprocessing
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from rayplay.formats.dataset.reader import Trace, open_trace
from rayplay.replay import simulate
from rayplay.replay.gpu.description import load
from rayplay.sweep.plan.plan import make_plan
from rayplay.sweep.point.inputs import trace_of
from rayplay.sweep.space.file import given
from rayplay.sweep.space.points import space
from rayplay.sweep.store.store import Store

SAMPLE = Path(__file__).resolve().parents[2] / "traces" / "sample.trace"
SIZE = "112x96"  # replays of about 0.2 s
FIRST_LATENCY, LOOPED = 20, 20  # replays of the loops, spread over the designs


class Took(NamedTuple):
    """Seconds: wall, processor time of all processes, of it in the replays; wall from where all are warm; memory."""

    wall: float
    spent: float
    points: float
    warm: float = 0.0
    peak_mb: float = 0.0


def plan(folder: str) -> None:
    """100,000 different points: two axes of the same section, one of another."""
    grid = {"rt.warps": list(range(1, 33)), "l1.latency_cycles": list(range(1, 126)), "l2.latency_cycles": list(range(100, 125))}  # fmt: skip # noqa: E501
    tables = {"traces": [str(SAMPLE)], "gpus": ["mobile"], "design": {"grid": grid}}
    begun, wall = time.process_time(), time.perf_counter()
    made = make_plan("big", space(given(tables)), Store(folder))
    taken = time.process_time() - begun
    print(f"plan of {len(made.status):,} different points: {taken:.1f} s of processor time, "
          f"{time.perf_counter() - wall:.1f} s in all (target 5)", flush=True)  # fmt: skip


def rendered(folder: str, size: str = SIZE) -> Path:
    """The trace of the points: wknd."""
    out = Path(folder) / "points.trace"
    words = [sys.executable, "-m", "rayplay", "trace", "wknd", "--size", size, "--samples", "1", "--out", str(out)]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    return out


def designs(points: int) -> list[int]:
    """The latency of each design: a longer one is a longer replay."""
    return list(range(FIRST_LATENCY, FIRST_LATENCY + points))


def loop(opened: Callable[[], Trace], latencies: list[int]) -> tuple[float, float]:
    """Wall and processor time of a replay in one warm process, whose GPUs are at hand."""
    gpus = [load("mobile", [f"l1.latency_cycles={each}"]) for each in latencies]
    simulate(opened(), gpus[0])
    begun, wall = time.process_time(), time.perf_counter()
    for gpu in gpus:
        simulate(opened(), gpu)
    return (time.perf_counter() - wall) / len(gpus), (time.process_time() - begun) / len(gpus)


def half(trace: str, latencies: list[int], both: Any, told: Any) -> None:
    """A plain process with half of the designs: when its loop began and ended, processor time of it and of all."""
    gpus = [load("mobile", [f"l1.latency_cycles={each}"]) for each in latencies]
    held = trace_of(trace, "replay")[0]
    simulate(held, gpus[0])
    both.wait()
    begun, cpu = time.monotonic(), time.process_time()
    for gpu in gpus:
        simulate(held, gpu)
    told.put((begun, time.monotonic(), time.process_time() - cpu, time.process_time()))


def halves(trace: Path, points: int) -> Took:
    """Two plain processes at once, half of the designs each."""
    context = multiprocessing.get_context("spawn")
    both, told, latencies = context.Barrier(2), context.Queue(), designs(points)
    begun = time.monotonic()
    started = [context.Process(target=half, args=(str(trace), latencies[number::2], both, told)) for number in range(2)]
    for each in started:
        each.start()
    found = [told.get() for _ in started]
    for each in started:
        each.join()
    ended = max(end for _, end, _, _ in found)
    warm = ended - min(first for first, _, _, _ in found)
    return Took(ended - begun, sum(spent for *_, spent in found), sum(inside for _, _, inside, _ in found), warm)


def swept(trace: Path, points: int, folder: str) -> Took:
    """The command, on two workers; points differ in a latency."""
    root = Path(folder)
    root.mkdir()
    study = root / "study.toml"
    study.write_text(
        f'traces = ["{trace.resolve()}"]\ngpus = ["mobile"]\n[design.grid]\n"l1.latency_cycles" = {designs(points)}\n'
    )
    words = [sys.executable, "-m", "rayplay", "sweep", "run", str(study), "--workers", "2", "--quiet"]
    wall, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    taken, after = time.perf_counter() - wall, resource.getrusage(resource.RUSAGE_CHILDREN)
    store = Store(str(root / "study.sweep"))
    hosts = [store.host(key) for key in store.done()]
    assert len(hosts) == points
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Took(taken, spent, sum(host["cpu_seconds"] for host in hosts), 0.0, max(host["peak_mb"] for host in hosts))


def report(points: int, alone: tuple[float, float], opening: tuple[float, float], start: float, ran: Took, two: Took) -> None:  # fmt: skip # noqa: E501
    """Print a sweep beside what it is compared with."""
    print(f"{points} points on two workers: {ran.wall:.1f} s; {ran.spent:.1f} s of processor time, "
          f"{100 * ran.points / ran.spent:.0f} % in points, {1000 * ran.points / points:.1f} ms each")  # fmt: skip
    print(f"two at once: {two.wall:.1f} s, warm {two.warm:.1f} s; {two.spent:.1f} s of processor time, "
          f"{1000 * two.points / points:.1f} ms a replay")  # fmt: skip
    compared = {
        "half of a loop alone": (points * alone[0] / 2, points * alone[1]),
        "half of a loop that opens the trace": (points * opening[0] / 2, points * opening[1]),
        "two at once, both warm": (two.warm, two.points),
        "two at once, start counted": (two.wall, two.spent),
    }
    for name, (wall, spent) in compared.items():
        print(f"  efficiency against {name}: {100 * wall / ran.wall:.0f} % of wall time,"
              f" {100 * spent / ran.spent:.0f} % of processor time (target 95)")  # fmt: skip
    outside = 1000 * (ran.spent - start - ran.points) / points
    print(f"  overhead of a point outside its replay: {outside:.1f} ms of processor time (target 20); "
          f"peak memory of a worker {ran.peak_mb:.0f} MB", flush=True)  # fmt: skip


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--trace", type=Path)
    options = parser.parse_args()
    points = options.points
    with tempfile.TemporaryDirectory() as folder:
        plan(f"{folder}/plan")
        trace = options.trace or rendered(folder)
        few = swept(trace, 2, f"{folder}/few")
        start = few.spent - few.points
        print(f"start of a sweep: {start:.1f} s of processor time", flush=True)
        some = designs(points)[:: max(1, points // LOOPED)]
        for number in range(options.rounds):
            alone, opening = (loop(each, some) for each in (lambda: trace_of(str(trace), "replay")[0], lambda: open_trace(trace)))  # fmt: skip # noqa: E501
            print(f"a loop alone: {1000 * alone[0]:.0f} ms a replay, {1000 * alone[1]:.1f} ms of processor time; "
                  f"opening the trace {1000 * opening[0]:.0f} and {1000 * opening[1]:.1f}", flush=True)  # fmt: skip
            two = halves(trace, points)
            report(points, alone, opening, start, swept(trace, points, f"{folder}/{number}"), two)


if __name__ == "__main__":
    main()
