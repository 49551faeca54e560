"""Peak memory of a replay: it does not grow with the trace, with the number of kernels, or with how long a warp lives.

    python -m bench.speed.memory [--gigabytes 0.5] [--traces FOLDER] [--only long]

`long`: an image launch whose warps load incompressible addresses from shared memory; the first outlives all others, so
that a window which waited for it would hold the whole trace. Its files take ``--gigabytes``: writing, checking,
verifying, filtering (every second pixel), selecting and replaying 5 of them are to stay below 600 MB each. Every step
is a process of its own that may not have more than 1 GiB of private memory (``RLIMIT_DATA``), and fails if it asks.
`kernels`: 10 and 1,000 launches of the same kernel (the target is at most 10 % more). Each replay is a process of its
own; its peak resident memory holds Python, its libraries and the machine code.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]

from rayplay.formats.dataset.reader import open_trace  # noqa: E402
from rayplay.formats.dataset.writer import TraceWriter  # noqa: E402
from rayplay.formats.edit.pixels import write_pixels  # noqa: E402

FULL = 0xFFFFFFFF
LOADS = 2_000  # of a short warp
LANES = 32
REPLAY = """
import json, resource, sys, time
from rayplay.replay.run.driver import simulate
from rayplay.replay.gpu.description import load
begun = time.process_time()
result = simulate(sys.argv[1], load("rtx2060", ["sm.count=2", "sm.kernel_launch_cycles=0"]))
if len(sys.argv) > 2:
    result.write(sys.argv[2], {"command": "bench"})
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
print(json.dumps({"GiB": peak, "seconds": time.process_time() - begun, "cycles": result.value("gpu_cycles")}))
"""


PEAK = """
import os, resource, subprocess, sys
resource.setrlimit(resource.RLIMIT_DATA, (1 << 30, 1 << 30))
done = subprocess.run([sys.executable, *sys.argv[1:]], stdout=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_maxrss * 1024 / 1e6, used.ru_utime + used.ru_stime)
sys.exit(done.returncode)
"""


def put_program(writer: TraceWriter, kernels: int, ctas: int) -> None:
    """One block of one load from shared memory per kernel."""
    ids = np.arange(kernels)
    ones, zeros = ids * 0 + 1, ids * 0
    none = {"destination_registers": np.zeros(0, np.uint32), "destination_registers_offset": np.zeros(kernels + 1, int)}
    none |= {"source_registers": np.zeros(0, np.uint32), "source_registers_offset": np.zeros(kernels + 1, int)}
    tables: dict[str, dict[str, Any]] = {
        "kernels": {
            "kernel_id": ids, "name": ["bench"] * kernels, "stream": zeros, "grid_x": ones * ctas, "grid_y": ones,
            "grid_z": ones, "block_x": ones * 32, "block_y": ones, "block_z": ones, "registers_per_thread": ones * 16,
            "shared_bytes": ones * 1024, "shared_base": ones << 40, "local_base": ones << 41, "local_bytes": zeros,
            "source": ["ptx"] * kernels,
        },
        "instructions": none | {
            "kernel_id": ids, "instruction_id": ids, "block_id": ids, "opcode": ["ld.shared"] * kernels,
            "operation_class": ["load"] * kernels, "memory_space": ["shared"] * kernels, "access_bytes": ones * 4,
            "line": ids, "text": ["ld.shared"] * kernels,
        },
        "blocks": {
            "kernel_id": ids, "block_id": ids, "first_instruction": ids, "instruction_count": ones,
            "reconvergence_block": zeros - 1, "program": ["bench"] * kernels,
        },
        "characterisation": {
            "instruction_id": ids, "unit": zeros + 4, "stall_cycles": ones, "initiation_cycles": ones,
            "scoreboard_slot": zeros, "wait_mask": ones,
        },
    }  # fmt: skip
    for name, columns in tables.items():
        writer.put(name, columns)


def put_warps(
    writer: TraceWriter, rng: np.random.Generator, kernel: int, first: int, first_cta: int, loads: np.ndarray
) -> None:
    """Warps from number ``first`` on, a CTA of the kernel each from ``first_cta`` on; ``loads`` of each."""
    number = first + np.arange(len(loads))
    writer.put("warps", {"kernel_id": number * 0 + kernel, "warp_id": number, "cta_id": number - first + first_cta,
                         "warp_in_cta": number * 0, "launched_mask": np.full(len(number), FULL)})  # fmt: skip
    warp = np.repeat(number, loads)
    visit = np.arange(len(warp)) - np.repeat(np.cumsum(loads) - loads, loads)
    writer.put("visits", {"warp_id": warp, "block_id": warp * 0 + kernel, "active_mask": np.full(len(warp), FULL)})
    address = rng.integers(0, 1 << 62, len(warp) * LANES) & ~3
    writer.put("accesses", {
        "warp_id": warp, "visit": visit, "instruction_id": warp * 0 + kernel, "lane_mask": np.full(len(warp), FULL),
        "address": address.astype(np.uint64), "address_offset": np.arange(len(warp) + 1) * LANES,
    })  # fmt: skip


def make_long(path: Path, gigabytes: float) -> None:
    """A trace of about this size, an image row per warp, whose first warp makes a 64th of all loads."""
    rng = np.random.default_rng(1)
    total = int(gigabytes * 1e9 / (LANES * 8))
    short = max(total * 63 // 64 // LOADS, 64)
    with TraceWriter(path, {"command": "bench"}, (LANES, short + 1)) as writer:
        put_program(writer, 1, short + 1)
        warp, lane = np.divmod(np.arange((short + 1) * LANES), LANES)
        writer.put("threads", {"warp_id": warp, "lane": lane, "pixel_x": lane, "pixel_y": warp})
        put_warps(writer, rng, 0, 0, 0, np.array([total // 64]))
        for first in range(1, short + 1, 64):
            put_warps(writer, rng, 0, first, first, np.full(min(64, short + 1 - first), LOADS))


def make_kernels(path: Path, kernels: int) -> None:
    """Trace of ``kernels`` launches of 60 warps."""
    rng = np.random.default_rng(2)
    with TraceWriter(path, {"command": "bench"}) as writer:
        put_program(writer, kernels, 60)
        for kernel in range(kernels):
            put_warps(writer, rng, kernel, kernel * 60, 0, np.full(60, 2))


def measure(trace: Path, *result: Path) -> dict[str, float]:
    """Peak memory in GiB, seconds and cycles of one replay in a process of its own."""
    command = [sys.executable, "-c", REPLAY, str(trace), *map(str, result)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def peak_of(*command: str) -> tuple[float, float]:
    """Peak memory in MB and CPU seconds of a Python command in a process of its own."""
    done = subprocess.run([sys.executable, "-c", PEAK, *command], cwd=ROOT, capture_output=True, text=True, check=True)
    peak, seconds = done.stdout.split()[-2:]
    return float(peak), float(seconds)


def bench_long(folder: Path, gigabytes: float) -> None:
    """Peak memory of every step on the long trace."""
    long, half, pixels = folder / "bench_long.trace", folder / "bench_half.trace", str(folder / "bench.pixels")
    make = "from pathlib import Path; from bench.speed.memory import make_long"
    make_long(long, 0.001)
    measure(long)  # machine code is compiled, or loaded, once, without a limit
    steps = {
        "write": ("-c", f"{make}; make_long(Path({str(long)!r}), {gigabytes})"),
        "check": ("-m", "formats", "check", str(long)),
        "verify": ("-m", "formats", "verify", str(long)),
        "filter": ("-m", "zatel", "filter", str(long), "--pixels", pixels, "--out", str(half)),
        "select": ("-m", "formats", "select", str(long), "--warps", "1-100", "--out", str(half)),
        "replay": ("-c", REPLAY, str(long)),
    }
    for name, command in steps.items():
        peak, seconds = peak_of(*command)
        size = sum(file.stat().st_size for file in long.rglob("*.parquet")) / 1e9
        print(f"long, {size:.2f} GB, {name}: peak {peak:.0f} MB, {seconds:.0f} s CPU (target 600 MB)", flush=True)
        if name == "write":
            height = open_trace(long).manifest.image_size[1]  # type: ignore[index]
            write_pixels(Path(pixels), np.indices((height, LANES)).sum(axis=0) % 2 == 0)


def bench_kernels(folder: Path) -> None:
    """Peak memory with few and with many kernels."""
    peaks = []
    for kernels in (10, 1000):
        trace, result = folder / f"bench_{kernels}.trace", folder / f"bench_{kernels}.result"
        make_kernels(trace, kernels)
        if not peaks:
            measure(trace)  # compiling takes more than either
        found = measure(trace, result)
        peaks.append(found["GiB"])
        print(f"{kernels} kernels: peak {found['GiB']:.3f} GiB, {found['seconds']:.0f} s CPU")
    print(f"1,000 kernels over 10: {peaks[1] / peaks[0] - 1:+.1%} (target at most +10 %)")


def main() -> None:
    """Measure both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gigabytes", type=float, default=0.5, help="size of the long trace on disk (default: 0.5)")
    parser.add_argument("--traces", type=Path, help="where traces are written (default: a temporary folder)")
    parser.add_argument("--only", choices=("long", "kernels"), help="one of the two (default: both)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.traces or Path(temporary)
        if arguments.only != "kernels":
            bench_long(folder, arguments.gigabytes)
        if arguments.only == "long":
            return
        bench_kernels(folder)


if __name__ == "__main__":
    main()
