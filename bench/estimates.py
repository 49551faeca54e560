"""Processor time of whole commands: a full replay, the first estimate of a trace, further ones, a further design.

    python -m bench.estimates TRACE [TRACE ...] [--gpu mobile rtx2060] [--fraction 0.1]

User and system time with start, reading, checks and writing. The first estimate finds no facts of the trace in the
cache; compiled code is at hand, and bytecode, as after an installation. The further one has another seed; the further
design has twice the RT warps and the sample of the first. Prints a row of Markdown per trace and GPU.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from rayplay.formats.guard import sealed

START = """
import runpy, sys
from rayplay.zatel.sample import kept
kept.FOLDER = sys.argv.pop(1)
runpy.run_module("rayplay.zatel", run_name="__main__", alter_sys=True)
"""
WARM = """
from rayplay.formats.dataset.reader import open_trace
from rayplay.replay.gpu.description import load
from rayplay.zatel.sample.estimate import estimate, read_work
trace = open_trace("traces/sample.trace")
estimate(trace, load("mobile"), 0.5, work=read_work(trace, keep=False, drawn=(0.5, 1)))
import contextlib, io, runpy, sys
sys.argv = ["rayplay", "replay", "traces/sample.trace", "--gpu", "mobile"]
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    runpy.run_module("rayplay", run_name="__main__", alter_sys=True)
"""
DESIGN = 'like = "{0}"\nname = "{0} with more RT warps"\n\n[rt]\nwarps = {1}\n'
RT_WARPS = 8  # twice as many as both GPUs have


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", nargs="+", type=Path, metavar="TRACE")
    parser.add_argument("--gpu", nargs="+", default=["mobile", "rtx2060"], choices=["mobile", "rtx2060"])
    parser.add_argument("--fraction", default="0.1")
    arguments = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as bytecode:
        os.environ["PYTHONPYCACHEPREFIX"] = bytecode
        cpu_seconds("-c", WARM)
        compare(arguments)


def compare(arguments: argparse.Namespace) -> None:
    """Print the table."""
    print("| trace, GPU | `replay` | first `estimate` | another seed | a further design |\n|---|---|---|---|---|")
    for trace in arguments.traces:
        for gpu in arguments.gpu:
            full, *others = costs(trace, gpu, arguments.fraction)
            cells = " | ".join(f"{one:.1f} s, {full / one:.1f} times" for one in others)
            print(f"| {trace.stem}, {gpu} | {full:.1f} s | {cells} |", flush=True)


def costs(trace: Path, gpu: str, fraction: str) -> list[float]:
    """Seconds of a full replay, a first estimate, one with another seed, and one of a further design."""
    kept = f"bench-{os.getpid()}"
    with tempfile.TemporaryDirectory() as folder:
        design = Path(folder) / "design.toml"
        design.write_text(DESIGN.format(gpu, RT_WARPS), encoding="utf-8")
        estimate = ["-c", START, kept, "estimate", str(trace), "--fraction", fraction]
        try:
            return [
                cpu_seconds("-m", "rayplay", "replay", str(trace), "--gpu", gpu, "--out", f"{folder}/x.result"),
                cpu_seconds(*estimate, "--gpu", gpu),
                cpu_seconds(*estimate, "--gpu", gpu, "--seed", "2"),
                cpu_seconds(*estimate, "--gpu", str(design)),
            ]
        finally:
            sealed.trim(kept, 0)


def cpu_seconds(*arguments: str) -> float:
    """User and system time of a Python process."""
    before = os.times()
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


if __name__ == "__main__":
    main()
