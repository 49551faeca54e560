"""Speed of the replay engine on two named synthetic traces, one core.

    PYTHONPATH=. python bench/bench_replay.py [--traces FOLDER]

`steady`: 8,192 warps run a loop of 24 instructions: 21 of arithmetic and control, two coalesced loads from 128 KB of
which some lines are far hotter than others (83 % of the sectors hit the L1), and one store to the warp's own line. The
target is stated for at least 1.5 warp-instructions per cycle and SM. `starved`: the same loop, but every lane loads
from its own place in 512 MB: 32 sectors a load, and DRAM bandwidth limits it. The IPC is printed beside the speed.
Figures are process CPU time, the least of three runs, machine code cached; RTX 2060.
"""

import argparse
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from formats.writer import TraceWriter
from replay.driver import simulate
from replay.gpu_description import load

WARPS = 8192
FULL = 0xFFFFFFFF
LOADED_LINES = 1 << 10  # 128 KB
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


def make_trace(path: Path, trips: int, starved: bool) -> int:
    """Write a named trace; returns its warp-instructions."""
    rng = np.random.default_rng(7)
    with TraceWriter(path, {"command": "bench"}) as writer:
        for name, columns in program().items():
            writer.put(name, columns)
        warps = np.arange(WARPS)
        writer.put("warps", {"kernel_id": warps * 0, "warp_id": warps, "cta_id": warps, "warp_in_cta": warps * 0,
                             "launched_mask": np.full(WARPS, FULL)})  # fmt: skip
        for first in range(0, WARPS, 1024):
            put_warps(writer, rng, first, 1024, trips, starved)
    return WARPS * trips * len(BODY)


def put_warps(writer: TraceWriter, rng: np.random.Generator, first: int, warps: int, trips: int, starved: bool) -> None:
    """Visits and accesses of some warps."""
    warp = np.repeat(np.arange(first, first + warps), trips)
    writer.put("visits", {"warp_id": warp, "block_id": warp * 0, "active_mask": np.full(len(warp), FULL)})
    memory = [index for index, name in enumerate(BODY) if name in ("load", "store")]
    rows = len(warp) * len(memory)
    if starved:
        address = 0x1000_0000 + rng.integers(0, 1 << 24, (rows, 32)) * 32
    else:
        line = (rng.random((rows, 1)) ** 6 * LOADED_LINES).astype(np.int64)
        stores = np.tile([BODY[index] == "store" for index in memory], len(warp))
        line[stores, 0] = LOADED_LINES + warp
        address = 0x1000_0000 + line * 128 + np.arange(32) * 4
    writer.put("accesses", {
        "warp_id": np.repeat(warp, len(memory)), "visit": np.repeat(np.tile(np.arange(trips), warps), len(memory)),
        "instruction_id": np.tile(memory, len(warp)), "lane_mask": np.full(rows, FULL),
        "address": address.ravel().astype(np.uint64), "address_offset": np.arange(rows + 1) * 32,
    })  # fmt: skip


def main() -> None:
    """Measure both traces."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traces", type=Path, default=Path(tempfile.gettempdir()), help="where traces are written")
    folder = parser.parse_args().traces
    gpu = load("rtx2060")
    for name, trips, starved, target in (("steady", 30, False, "8"), ("starved", 4, True, "5, stretch")):
        path = folder / f"bench_{name}.trace"
        instructions = make_trace(path, trips, starved)
        simulate(path, gpu)
        results = []
        for _ in range(3):
            begun = time.process_time()
            result = simulate(path, gpu)
            results.append((time.process_time() - begun, result.host["engine_cpu_seconds"]))
        total, engine = (min(column) for column in zip(*results, strict=True))
        print(f"{name}, IPC per SM: {result.value('sm_ipc'):.2f} warp-instructions/cycle")
        print(f"{name}, whole replay: {instructions / total / 1e6:.2f} M warp-instructions/s (target {target})")
        print(f"{name}, engine alone: {instructions / engine / 1e6:.2f} M warp-instructions/s")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"peak resident memory: {peak:.2f} GiB (target below 4)")


if __name__ == "__main__":
    main()
