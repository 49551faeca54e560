"""Speed against Accel-Sim's own on the same traces (``docs/sources/accel-sim.md#simulation-rates``), one core.

    python -m bench.speed.accelsim [--only TEXT]

Theirs are warp-instructions per user second of whole runs on a busy 2-core machine (10-15 % better on a quieter one).
Ours are per second of process CPU time of the engine, the least of five runs: start-up, reading the trace and writing
results apart. The target, 100 times, is for traces above 100,000 warp-instructions.
"""

import argparse
import csv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

from outside.accelsim import EXPECTED, GPUS  # noqa: E402
from outside.traces import accelsim_folder, imported  # noqa: E402
from rayplay.replay.gpu.description import load  # noqa: E402
from rayplay.replay.run.driver import simulate  # noqa: E402

RUNS = 5
LARGE, TARGET = 100_000, 100


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
        gpu = load(GPUS[row["config"]], [f"sm.kernel_launch_cycles={row['launch_latency']}"])
        trace = imported(accelsim_folder("traces", row["trace"]))
        seconds = min(simulate(trace, gpu).host["engine_cpu_seconds"] for _ in range(RUNS))
        ratio = instructions / seconds / theirs
        wanted = f" (target {TARGET})" if instructions > LARGE else ""
        print(
            f"{row['trace']} {row['config']} +{row['launch_latency']}: theirs {theirs / 1e3:.1f} k, ours"
            f" {instructions / seconds / 1e3:,.0f} k warp-instructions/s, {ratio:.0f} times{wanted}"
        )


if __name__ == "__main__":
    main()
