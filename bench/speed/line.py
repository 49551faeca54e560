"""The whole line: seconds, memory and bytes on disk of whole commands, one process each.

    python -m bench.speed.line                 # bunny and park at 512x512, start times, as the targets say
    python -m bench.speed.line --size 128x128  # quicker, for comparisons
    python -m bench.speed.line --fresh         # a fresh clone to the metrics of the default scene, environment included

The scenes lie in the data folder (``RAYPLAY_DATA``). Seconds are wall-clock with the process's CPU time in
brackets; the first command of each kind also compiles machine code when the cache is empty.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]

from rayplay.formats.dataset.reader import open_trace  # noqa: E402

# scene, workload, samples, GPU, targets of trace and replay in seconds; park's is for both together
RUNS = (
    ("bunny", "path-tracing", 2, "rtx2060", 120, 120),
    ("park", "ambient-occlusion", 1, "mobile", 240, 240),
)


class Cost(NamedTuple):
    """Cost of a process."""

    wall_s: float
    cpu_s: float
    peak_gib: float

    def __str__(self) -> str:
        return f"{self.wall_s:.1f} s ({self.cpu_s:.1f} s CPU), {self.peak_gib:.2f} GiB"


def run(*command: str, folder: Path = ROOT, environment: dict[str, str] | None = None) -> Cost:
    """Run a command to its end, its output discarded; ``SystemExit`` when it fails."""
    begun = time.perf_counter()
    child = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, env={**os.environ, **(environment or {})})
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{' '.join(command)}: exit code {child.returncode}")
    return Cost(time.perf_counter() - begun, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 2**20)


def measure_run(folder: Path, size: str, scene: str, workload: str, samples: int, gpu: str, *targets_s: int) -> None:
    """Trace and replay one scene."""
    out = folder / f"{scene}.trace"
    name = f"{scene} {size} {workload} {samples} samples"
    render = ("-m", "tracer", "render", scene, "--workload", workload, "--size", size, "--samples", str(samples))
    print(f"{name}, trace: {run(sys.executable, *render, '--out', str(out))} (target {targets_s[0]} s, 4 GiB)")
    for line in disk_figures(out):
        print(f"{name}, {line}")
    replay = ("-m", "replay", str(out), "--gpu", gpu, "--out", str(folder / f"{scene}.result"))
    print(f"{name}, replay on {gpu}: {run(sys.executable, *replay)} (target {targets_s[1]} s, 4 GiB)")


def disk_figures(path: Path) -> list[str]:
    """Bytes per block visit, lane address and ray."""
    trace = open_trace(path)
    addresses = sum(len(batch["address"]) for batch in trace.batches("accesses", ["address"]))
    figures = (
        ("visits", "block visit", trace.rows("visits"), 2.0),
        ("accesses", "lane address", addresses, 2.5),
        ("rays", "ray", trace.rows("rays"), 40.0),
    )
    lines = []
    for table, what, count, target in figures:
        size = sum(entry.bytes for entry in trace.manifest.tables[table])
        lines.append(f"bytes per {what}: {size / max(count, 1):.2f} B (target {target:g} B)")
    return lines


def measure_starts(folder: Path) -> None:
    """Start-up, and the replay of the sample trace with its machine code cached."""
    python = sys.executable
    print(f"replay --help: {run(python, '-m', 'replay', '--help')} (target 0.5 s)")
    sample = ("-m", "replay", "traces/sample.trace", "--gpu", "rtx2060", "--out", str(folder / "sample.result"))
    run(python, *sample)
    print(f"second replay of the sample trace: {run(python, *sample)} (target 3 s)")


def measure_fresh(folder: Path) -> None:
    """A fresh clone with a fresh environment and no machine code, to the metrics of the default scene."""
    clone, cache = folder / "clone", {"RAYPLAY_CACHE": str(folder / "cache")}
    run("git", "clone", "--quiet", str(ROOT), str(clone))
    setup = run("make", "setup", folder=clone, environment=cache)
    line = run("make", "trace", "replay", folder=clone, environment=cache)
    print(f"fresh clone, make setup: {setup}")
    print(f"fresh clone, then make trace replay: {line} (target 60 s)")
    print(f"fresh clone, altogether: {setup.wall_s + line.wall_s:.1f} s (target 300 s)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", default="512x512", help="pixels (default: %(default)s)")
    parser.add_argument("--fresh", action="store_true", help="measure a fresh clone instead")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        if arguments.fresh:
            measure_fresh(Path(name))
            return
        measure_starts(Path(name))
        for line in RUNS:
            measure_run(Path(name), arguments.size, *line)


if __name__ == "__main__":
    main()
