"""From a scene to a trace: seconds, memory and bytes on disk of whole renderings, one process each.

    python -m bench.bench_render                 # bunny and park at 512x512, as the targets say
    python -m bench.bench_render --size 128x128  # quicker, for comparisons

The scenes are those of the data folder (``RAYPLAY_DATA``). Seconds are CPU time of the process and its threads.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from formats.reader import open_trace

RUNS = (("bunny", "path-tracing", 2, 120), ("park", "ambient-occlusion", 1, 240))


def measure(scene: str, workload: str, samples: int, target_s: int, size: str, folder: Path) -> None:
    """Render once and print one line per figure."""
    out = folder / f"{scene}.trace"
    command = [sys.executable, "-m", "tracer", "render", scene, "--workload", workload, "--size", size]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([*command, "--samples", str(samples), "--out", str(out)], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    name = f"{scene} {size} {workload} {samples} samples"
    note = "" if scene == "bunny" else ", replay included"
    print(f"{name}, trace: {seconds:.1f} s CPU (target {target_s} s{note})")
    print(f"{name}, peak memory of any run so far: {after.ru_maxrss / 2**20:.2f} GiB (target 4 GiB)")
    for line in disk_figures(out):
        print(f"{name}, {line}")


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", default="512x512", help="pixels (default: %(default)s)")
    size = parser.parse_args().size
    with tempfile.TemporaryDirectory() as folder:
        for scene, workload, samples, target_s in RUNS:
            measure(scene, workload, samples, target_s, size, Path(folder))


if __name__ == "__main__":
    main()
