"""Speed of the replay engine on named synthetic traces: one core, and two threads.

    PYTHONPATH=. python -m bench.speed.replay [--traces FOLDER] [--only NAME ...]

Every trace is 8,192 warps that run a loop of 24 instructions: 21 of arithmetic and control, two loads, one store to
the warp's own line.

`steady`   coalesced loads from 128 KB of which some lines are far hotter than others: 83 % of the sectors hit the L1,
           at more than 1.5 warp-instructions per cycle and SM.
`perfect`  the same trace on `lsu.perfect_memory`.
`starved`  each load reads three lines of 128 B from a random place in 512 MB: DRAM bandwidth limits it to an IPC of
           0.1 to 0.2 per SM, as in the prototype's starved trace (docs/sources/measurements.md#replay-prototype).
`harsh`    every lane loads from its own place in 512 MB: 32 sectors a load, each in a DRAM row of its own.

Figures are process CPU time, the least of three runs, machine code cached; RTX 2060. `threads` is the wall time of
`steady` with 11.8 M warp-instructions, loading the trace included, on one thread and on two, in turn: it needs two idle
cores, for threads that wait look again and again instead of sleeping.
"""

import argparse
import resource
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rayplay.formats.dataset.writer import TraceWriter
from rayplay.replay.gpu.description import load
from rayplay.replay.run.driver import simulate

WARPS = 8192
FULL = 0xFFFFFFFF
LOADED_LINES = 1 << 10  # 128 KB
BASE = 0x1000_0000
BODY = ("int", "int", "load", "fp32", "fp32", "fp32", "int", "fp32", "load", "fp32", "fp32", "sfu", "int", "fp32",
        "fp32", "int", "fp32", "fp32", "int", "fp32", "fp32", "store", "predicate", "branch")  # fmt: skip
UNIT = {"int": 0, "predicate": 0, "fp32": 1, "sfu": 3, "load": 4, "store": 4, "branch": 8}


def program() -> dict[str, dict[str, Any]]:
    """One kernel of one block; loads set slots 0 and 1, which the fourth instruction after them waits for."""
    count = len(BODY)
    loads = [index for index, name in enumerate(BODY) if name == "load"]
    slot, wait = np.full(count, -1), np.zeros(count, np.int64)
    for number, index in enumerate(loads):
        slot[index] = number
        wait[index + 4] = 1 << number
    wait[loads] = [1, 2]
    memory = np.isin(BODY, ("load", "store"))
    none = {"destination_registers": np.zeros(0, np.uint32), "destination_registers_offset": np.zeros(count + 1, int)}
    none |= {"source_registers": np.zeros(0, np.uint32), "source_registers_offset": np.zeros(count + 1, int)}
    return {
        "kernels": {
            "kernel_id": [0], "name": ["bench"], "stream": [0], "grid_x": [WARPS], "grid_y": [1], "grid_z": [1],
            "block_x": [32], "block_y": [1], "block_z": [1], "registers_per_thread": [32], "shared_bytes": [0],
            "shared_base": [1 << 40], "local_base": [1 << 41], "local_bytes": [0], "source": ["ptx"],
        },
        "instructions": none | {
            "kernel_id": np.zeros(count, int), "instruction_id": np.arange(count), "block_id": np.zeros(count, int),
            "opcode": list(BODY), "operation_class": list(BODY),
            "memory_space": np.where(memory, "global", "none").tolist(), "access_bytes": np.where(memory, 4, 0),
            "line": np.arange(count), "text": list(BODY),
        },
        "blocks": {
            "kernel_id": [0], "block_id": [0], "first_instruction": [0], "instruction_count": [count],
            "reconvergence_block": [-1], "program": ["bench"],
        },
        "characterisation": {
            "instruction_id": np.arange(count), "unit": [UNIT[name] for name in BODY],
            "stall_cycles": [4 if name == "fp32" else 2 for name in BODY],
            "initiation_cycles": [8 if name == "sfu" else 2 if name in ("int", "fp32") else 1 for name in BODY],
            "scoreboard_slot": slot, "wait_mask": wait,
        },
    }  # fmt: skip


def make_trace(path: Path, trips: int, pattern: str = "steady") -> int:
    """Write a trace whose loads follow ``pattern``; returns its warp-instructions."""
    rng = np.random.default_rng(7)
    with TraceWriter(path, {"command": "bench"}) as writer:
        for name, columns in program().items():
            writer.put(name, columns)
        warps = np.arange(WARPS)
        writer.put("warps", {"kernel_id": warps * 0, "warp_id": warps, "cta_id": warps, "warp_in_cta": warps * 0,
                             "launched_mask": np.full(WARPS, FULL)})  # fmt: skip
        for first in range(0, WARPS, 1024):
            put_warps(writer, rng, first, 1024, trips, pattern)
    return WARPS * trips * len(BODY)


def put_warps(writer: TraceWriter, rng: np.random.Generator, first: int, warps: int, trips: int, pattern: str) -> None:
    """Visits and accesses of some warps."""
    warp = np.repeat(np.arange(first, first + warps), trips)
    writer.put("visits", {"warp_id": warp, "block_id": warp * 0, "active_mask": np.full(len(warp), FULL)})
    memory = [index for index, name in enumerate(BODY) if name in ("load", "store")]
    rows = len(warp) * len(memory)
    stores = np.tile([BODY[index] == "store" for index in memory], len(warp))
    lane = np.arange(32)
    if pattern == "harsh":
        address = BASE + rng.integers(0, 1 << 24, (rows, 32)) * 32
    elif pattern == "starved":
        address = BASE + rng.integers(0, 1 << 22, (rows, 1)) * 128 + lane * 12
    else:
        address = BASE + (rng.random((rows, 1)) ** 6 * LOADED_LINES).astype(np.int64) * 128 + lane * 4
    if pattern != "harsh":
        address[stores] = BASE + (LOADED_LINES + warp[:, None]) * 128 + lane * 4
    writer.put("accesses", {
        "warp_id": np.repeat(warp, len(memory)), "visit": np.repeat(np.tile(np.arange(trips), warps), len(memory)),
        "instruction_id": np.tile(memory, len(warp)), "lane_mask": np.full(rows, FULL),
        "address": address.ravel().astype(np.uint64), "address_offset": np.arange(rows + 1) * 32,
    })  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A named measurement: trace, GPU settings, and goal in M warp-instructions/s."""

    name: str
    pattern: str
    trips: int
    target: str
    assignments: tuple[str, ...] = ()


CASES = (
    Case("perfect", "steady", 30, "40", ("lsu.perfect_memory=true",)),
    Case("steady", "steady", 30, "12"),
    Case("starved", "starved", 8, "5"),
    Case("harsh", "harsh", 4, "none"),
)


def measure(case: Case, folder: Path) -> None:
    """Print the IPC and the speed of a case."""
    path, gpu = folder / f"bench_{case.pattern}.trace", load("rtx2060", case.assignments)
    instructions = make_trace(path, case.trips, case.pattern)
    simulate(path, gpu)
    results = []
    for _ in range(3):
        begun = time.process_time()
        result = simulate(path, gpu)
        results.append((time.process_time() - begun, result.host["engine_cpu_seconds"]))
    total, engine = (min(column) / instructions * 1e6 for column in zip(*results, strict=True))
    print(
        f"{case.name:8} IPC per SM {result.value('sm_ipc'):5.2f}, engine {1 / engine:6.2f} M warp-instructions/s"
        f" (target {case.target}), whole replay {1 / total:6.2f} M/s"
    )


def measure_threads(folder: Path) -> None:
    """Print the wall time of a long trace on one and on two threads, and whether the results are the same."""
    path, gpu = folder / "bench_long.trace", load("rtx2060")
    make_trace(path, 60)
    best, found = {1: float("inf"), 2: float("inf")}, {}
    for _ in range(3):
        for threads in best:
            begun = time.perf_counter()
            found[threads] = simulate(path, gpu, threads=threads)
            best[threads] = min(best[threads], time.perf_counter() - begun)
    same = found[1].summary == found[2].summary
    print(f"threads: 1 {best[1]:.2f} s, 2 {best[2]:.2f} s: {best[1] / best[2]:.2f} times (target 1.3), same: {same}")


def main() -> None:
    """Measure the cases of the command line, or all of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traces", type=Path, default=Path(tempfile.gettempdir()), help="where traces are written")
    names = [*(case.name for case in CASES), "threads"]
    parser.add_argument("--only", nargs="*", default=names, choices=names, metavar="NAME", help=", ".join(names))
    arguments = parser.parse_args()
    for case in CASES:
        if case.name in arguments.only:
            measure(case, arguments.traces)
    if "threads" in arguments.only:
        measure_threads(arguments.traces)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"peak resident memory: {peak:.2f} GiB (target below 4)")


if __name__ == "__main__":
    main()
