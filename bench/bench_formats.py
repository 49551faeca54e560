"""Speed and size of a trace on disk, one figure per line. Rates are per second of process CPU time, the best of three.

Command: ``python -m bench.bench_formats`` (all figures) or ``python -m bench.bench_formats NAME.trace`` (bytes per row
of a real trace, and the time to read it and to check it). The data are synthetic: visits with loops and shrinking
masks; addresses half unit stride, a quarter stride 64, a quarter random, as in
``reference/prototype-measurements.md`` D; rays from random walks on a 6-wide tree with directions and hits that do not
repeat, which is the worst case for secondary rays.
"""

import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from formats import TraceWriter, open_trace, validate
from formats.generate import make_tables

WARPS = 8192
VISITS_PER_WARP = 300
ACCESSES_PER_WARP = 96
RAYS = 200_000
RECORDS_PER_RAY = 15
REPEATS = 3
LANES = 32

Columns = dict[str, Any]


def make_visits(rng: np.random.Generator) -> Columns:
    """Loops of six blocks in which lanes drop out, as a divergent kernel leaves them."""
    step = np.tile(np.arange(VISITS_PER_WARP), WARPS)
    live = np.maximum(1, LANES - step // 12 - rng.integers(0, 6, len(step)) // 5)
    mask = ((np.uint64(1) << live.astype(np.uint64)) - np.uint64(1)).astype(np.uint32)
    branch = rng.integers(0, 1 << 32, len(step), np.uint32)
    mask = np.where(step % 6 == 3, np.maximum(mask & branch, 1), mask).astype(np.uint32)
    warp = np.repeat(np.arange(WARPS, dtype=np.uint32), VISITS_PER_WARP)
    return {"warp_id": warp, "block_id": (step % 6 + step // 150 * 6).astype(np.uint32), "active_mask": mask}


def make_accesses(rng: np.random.Generator) -> Columns:
    """Half unit stride, a quarter stride 64, a quarter random; 60 % full masks."""
    rows = WARPS * ACCESSES_PER_WARP
    mask = np.where(rng.random(rows) < 0.6, 0xFFFF_FFFF, rng.integers(1, 1 << 32, rows)).astype(np.uint32)
    lanes = mask[:, None] >> np.arange(LANES, dtype=np.uint32) & 1 == 1
    kind = rng.integers(0, 4, rows)
    stride = np.array([4, 4, 64, 0])[kind][:, None] * np.arange(LANES)
    base = 0x1000_0000 + rng.integers(0, 1 << 22, rows)[:, None] * 4
    spread = np.where((kind == 3)[:, None], rng.integers(0, 1 << 22, (rows, LANES)) * 4, 0)
    return {
        "warp_id": np.repeat(np.arange(WARPS, dtype=np.uint32), ACCESSES_PER_WARP),
        "visit": np.tile(np.arange(ACCESSES_PER_WARP, dtype=np.uint32) * 3, WARPS),
        "instruction_id": np.tile(np.arange(ACCESSES_PER_WARP, dtype=np.uint32) % 24, WARPS),
        "lane_mask": mask,
        "address": (base + stride + spread)[lanes].astype(np.uint64),
        "address_offset": np.concatenate([np.zeros(1, np.uint64), np.cumsum(np.bitwise_count(mask), dtype=np.uint64)]),
    }


def make_rays(rng: np.random.Generator) -> Columns:
    """Secondary rays: every float differs; the records are paths through a 6-wide tree that warps share in part."""
    warp = np.arange(RAYS, dtype=np.uint32) // LANES // 4
    direction = rng.standard_normal((RAYS, 3))
    direction /= np.linalg.norm(direction, axis=1)[:, None]
    origin = rng.uniform(-2, 2, (RAYS, 3))
    hit = rng.random(RAYS) < 0.7
    counts = rng.integers(RECORDS_PER_RAY - 10, RECORDS_PER_RAY + 11, RAYS)
    place = np.repeat(rng.integers(0, 6**8, RAYS // LANES + 1)[np.arange(RAYS) // LANES], counts)
    place = place + rng.integers(0, 6**5, counts.sum())
    level = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    node = np.minimum(6 ** np.minimum(level, 8), 6**8) // 5 + place // 6 ** np.maximum(8 - level, 0) % 60_000
    floats = {f"origin_{a}": origin[:, k].astype(np.float32) for k, a in enumerate("xyz")}
    floats |= {f"direction_{a}": direction[:, k].astype(np.float32) for k, a in enumerate("xyz")}
    return {
        "warp_id": warp,
        "visit": (np.arange(RAYS) // LANES % 4 * 9).astype(np.uint32),
        "instruction_id": np.full(RAYS, 40, np.uint32),
        "lane": (np.arange(RAYS) % LANES).astype(np.uint8),
        "segment": np.zeros(RAYS, np.uint16),
        "kind": np.zeros(RAYS, np.uint8),
        **floats,
        "t_min": np.full(RAYS, 1e-3, np.float32),
        "t_max": np.full(RAYS, 1e16, np.float32),
        "hit_t": np.where(hit, rng.exponential(1, RAYS), np.inf).astype(np.float32),
        "instance": np.where(hit, 0, -1).astype(np.int32),
        "primitive": np.where(hit, rng.integers(0, 69_000, RAYS), -1).astype(np.int32),
        "node": node.astype(np.uint32),
        "node_offset": np.concatenate([[0], np.cumsum(counts)]).astype(np.uint64),
    }


def cpu_seconds(work: Callable[[], Any]) -> float:
    """Least process CPU time of a few runs."""
    best = float("inf")
    for _ in range(REPEATS):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def report(name: str, value: float, unit: str, target: str) -> None:
    """One figure."""
    print(f"{name}: {value:.2f} {unit} (target {target})", flush=True)


def bench_table(folder: Path, table: str, columns: Columns, unit: str, count: int, targets: tuple[str, str]) -> None:
    """Write rate, read rate and bytes per ``unit`` of one table."""
    path = folder / f"{table}.trace"

    def write() -> None:
        with TraceWriter(path) as writer:
            writer.put(table, columns)

    seconds = cpu_seconds(write)
    trace = open_trace(path)
    report(f"write {table}", count / seconds / 1e6, f"M {unit}s/s", targets[0])
    report(f"read {table}", count / cpu_seconds(lambda: list(trace.batches(table))) / 1e6, f"M {unit}s/s", "2x writing")
    report(f"{table} on disk", trace.manifest.bytes(table) / count, f"B/{unit}", targets[1])


def bench_real(path: Path) -> None:
    """Bytes per visit, lane address and ray of a real trace, and the time to read and to check it."""
    trace = open_trace(path)
    addresses = sum(len(batch["address"]) for batch in trace.batches("accesses", ["address"]))
    for name, count, target in (("visits", trace.rows("visits"), "2"), ("accesses", addresses, "2.5"),
                                ("rays", trace.rows("rays"), "40")):  # fmt: skip
        report(f"{name} on disk", trace.manifest.bytes(name) / max(count, 1), "B", f"<= {target}")
    start = time.process_time()
    for name in trace.tables:
        for _ in trace.batches(name):
            pass
    report("read all", time.process_time() - start, "s", "-")
    start = time.process_time()
    problems = len(validate(trace))
    report(f"check all ({problems} problems)", time.process_time() - start, "s", "-")


def main() -> None:
    """All figures, or those of the trace named on the command line."""
    if len(sys.argv) > 1:
        bench_real(Path(sys.argv[1]))
        return
    rng = np.random.default_rng(1)
    folder = Path(tempfile.mkdtemp(prefix="rayplay-bench-"))
    try:
        visits, accesses, rays = make_visits(rng), make_accesses(rng), make_rays(rng)
        bench_table(folder, "visits", visits, "visit", len(visits["warp_id"]), (">= 10", "<= 2"))
        bench_table(folder, "accesses", accesses, "lane address", len(accesses["address"]), (">= 40", "<= 2.5"))
        bench_table(folder, "rays", rays, "ray", RAYS, ("-", "<= 40"))
        tables = make_tables(1, (640, 200), 64)
        with TraceWriter(folder / "small.trace", image_size=(640, 200)) as writer:
            for name, columns in tables.items():
                writer.put(name, columns)
        small = open_trace(folder / "small.trace")
        seconds = cpu_seconds(lambda: validate(small))
        report("check", sum(small.rows(t) for t in small.tables) / seconds / 1e6, "M rows/s", "-")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
