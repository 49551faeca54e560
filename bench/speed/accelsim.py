"""Speed against Accel-Sim's own on the same traces (``docs/sources/accel-sim.md#simulation-rates``), one core.

    python -m bench.speed.accelsim [--only TEXT]

Theirs are warp-instructions per user second of whole runs on a busy 2-core machine (10-15 % better on a quieter one).
Ours are twice, the least of a few runs: process CPU time of the engine alone, and user seconds of the whole command
``python -m replay`` with its machine code in the cache, from the start of Python to the written result. The target,
100 times, is of the engine, for traces above 100,000 warp-instructions.
"""

import argparse
import csv
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

from outside.accelsim import EXPECTED, GPUS  # noqa: E402
from outside.traces import accelsim_folder, imported  # noqa: E402
from rayplay.replay.gpu.description import load  # noqa: E402
from rayplay.replay.run.driver import simulate  # noqa: E402

RUNS, WHOLE_RUNS = 5, 3
LARGE, TARGET = 100_000, 100


def whole_seconds(trace: Path, gpu: str, change: str) -> float:
    """User seconds of the command, the least of a few runs."""
    best = float("inf")
    with tempfile.TemporaryDirectory() as folder:
        for run in range(WHOLE_RUNS):
            before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            command = [sys.executable, "-m", "replay", trace, "--gpu", gpu, "--set", change]
            subprocess.run([*command, "--out", f"{folder}/{run}.result"], cwd=ROOT, check=True, capture_output=True)
            best = min(best, resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before)
    return best


def main() -> None:
    """Print one line per trace, configuration and launch latency."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="TEXT", help="only the traces whose name contains TEXT")
    only = parser.parse_args().only
    with open(EXPECTED / "expected_rates.csv") as lines:
        rows = [row for row in csv.DictReader(lines) if only in row["trace"]]
    for row in rows:
        instructions = int(row["warp_instructions"])
        theirs = instructions / float(row["user_seconds"])
        change = f"sm.kernel_launch_cycles={row['launch_latency']}"
        gpu = load(GPUS[row["config"]], [change])
        trace = imported(accelsim_folder("traces", row["trace"]))
        seconds = min(simulate(trace, gpu).host["engine_cpu_seconds"] for _ in range(RUNS))
        ratio, whole = instructions / seconds / theirs, whole_seconds(Path(trace.path), GPUS[row["config"]], change)
        wanted = f" (target {TARGET})" if instructions > LARGE else ""
        print(
            f"{row['trace']} {row['config']} +{row['launch_latency']}: theirs {theirs / 1e3:.1f} k, ours"
            f" {instructions / seconds / 1e3:,.0f} k warp-instructions/s, {ratio:.0f} times{wanted};"
            f" the whole command {whole:.1f} s, theirs {float(row['user_seconds']):.1f} s,"
            f" {float(row['user_seconds']) / whole:.1f} times"
        )


if __name__ == "__main__":
    main()
