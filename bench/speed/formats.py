"""Speed and size of a trace on disk, one figure per line. Rates are per second of process CPU time, the best of three.

Command: ``python -m bench.speed.formats`` (all figures) or ``python -m bench.speed.formats NAME.trace`` (bytes per row
of a real trace, and the time to read it and to check it). The data are synthetic: visits with loops and shrinking
masks; addresses half unit stride, a quarter stride 64, a quarter random, as in
``docs/sources/measurements.md#storage-prototype``. Rays are real: paths of five stretches through ``bunny`` and
``bath`` where the data folder has them (``RAYPLAY_DATA``), else through ``terrain``.
"""

import shutil
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bench.speed.clock import seconds
from rayplay.formats import TraceWriter, open_trace, validate
from rayplay.formats.testing.generate import make_tables
from rayplay.tracer.bvh.build import build_acceleration
from rayplay.tracer.scenes.resolve import known_names, load
from tools.ray_batch import trace_rays

WARPS = 8192
VISITS_PER_WARP = 300
ACCESSES_PER_WARP = 96
IMAGE = 256
BOUNCES = 5
least = partial(seconds, runs=3)
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


def make_rays(name: str) -> Columns:
    """Paths of five stretches through a scene, warp after warp: primary rays, then ever less coherent ones."""
    rng = np.random.default_rng(1)
    acceleration = build_acceleration(load(name), 0x1000_0000)
    origin, direction = primary_rays(acceleration.scene.camera, rng)
    pixel = np.arange(len(origin))
    parts: list[Columns] = []
    for bounce in range(BOUNCES):
        hits = trace_rays(acceleration, origin.astype(np.float32), direction.astype(np.float32))
        row = {"warp_id": pixel // LANES, "visit": np.full(len(pixel), 3 + 9 * bounce), "lane": pixel % LANES}
        row |= {f"origin_{a}": origin[:, k].astype(np.float32) for k, a in enumerate("xyz")}
        row |= {f"direction_{a}": direction[:, k].astype(np.float32) for k, a in enumerate("xyz")}
        row |= {"hit_t": hits.t, "instance": hits.instance, "primitive": hits.primitive}
        parts.append(row | {"node": np.split(hits.node, hits.node_offset[1:-1])})
        goes_on = np.isfinite(hits.t) & (rng.random(len(pixel)) < 0.9)
        scattered = rng.standard_normal((len(pixel), 3))
        scattered /= np.linalg.norm(scattered, axis=1)[:, None]
        scattered *= np.where((scattered * direction).sum(1) > 0, -1, 1)[:, None]
        pixel, direction = pixel[goes_on], scattered[goes_on]
        origin = (origin + parts[-1]["hit_t"][:, None] * row_directions(row))[goes_on] + 1e-3 * direction
    return as_rays(parts)


def primary_rays(camera: Any, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Jittered rays of a square image, in the order of warps of 32x1 pixels."""
    eye, look_at, up = (np.array(v, float) for v in (camera.eye, camera.look_at, camera.up))
    forward = (look_at - eye) / np.linalg.norm(look_at - eye)
    right = np.cross(forward, up) / np.linalg.norm(np.cross(forward, up))
    y, x = np.divmod(np.arange(IMAGE * IMAGE), IMAGE) + rng.random((2, IMAGE * IMAGE))
    half = np.tan(np.deg2rad(camera.vfov_deg) / 2)
    across, down = (2 * x / IMAGE - 1) * half, (2 * y / IMAGE - 1) * half
    direction = forward + across[:, None] * right - down[:, None] * np.cross(right, forward)
    return np.tile(eye, (len(x), 1)), direction / np.linalg.norm(direction, axis=1)[:, None]


def row_directions(row: Columns) -> np.ndarray:
    """The directions of some rays as one array."""
    return np.column_stack([row[f"direction_{a}"] for a in "xyz"])


def as_rays(parts: list[Columns]) -> Columns:
    """The parts as rows of the rays table, sorted by warp, visit and lane."""
    order = np.lexsort([np.concatenate([part[name] for part in parts]) for name in ("lane", "visit", "warp_id")])
    rays = {name: np.concatenate([part[name] for part in parts])[order] for name in parts[0] if name != "node"}
    lists = [records for part in parts for records in part["node"]]
    lists = [lists[row] for row in order]
    rows = len(lists)
    return rays | {
        "instruction_id": np.full(rows, 40),
        "segment": np.zeros(rows, np.uint16),
        "kind": np.zeros(rows, np.uint8),
        "t_min": np.full(rows, 1e-3, np.float32),
        "t_max": np.full(rows, 1e16, np.float32),
        "node": np.concatenate(lists),
        "node_offset": np.cumsum([0, *map(len, lists)]),
    }


def report(name: str, value: float, unit: str, target: str) -> None:
    """One figure."""
    print(f"{name}: {value:.2f} {unit} (target {target})", flush=True)


def bench_table(folder: Path, table: str, columns: Columns, unit: str, count: int, targets: tuple[str, str]) -> None:
    """Write rate, read rate and bytes per ``unit`` of one table."""
    path = folder / f"{table}.trace"

    def write() -> None:
        with TraceWriter(path) as writer:
            writer.put(table, columns)

    seconds = least(write)
    trace = open_trace(path)
    report(f"write {table}", count / seconds / 1e6, f"M {unit}/s", targets[0])
    report(f"read {table}", count / least(lambda: list(trace.batches(table))) / 1e6, f"M {unit}/s", "2x writing")
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
    """All figures, or only the named trace's."""
    if len(sys.argv) > 1:
        bench_real(Path(sys.argv[1]))
        return
    rng = np.random.default_rng(1)
    folder = Path(tempfile.mkdtemp(prefix="rayplay-bench-"))
    try:
        visits, accesses = make_visits(rng), make_accesses(rng)
        bench_table(folder, "visits", visits, "visit", len(visits["warp_id"]), (">= 10", "<= 2"))
        bench_table(folder, "accesses", accesses, "lane address", len(accesses["address"]), (">= 40", "<= 2.5"))
        for name in [n for n in ("bunny", "bath") if n in known_names()] or ["terrain"]:
            rays = make_rays(name)
            count = len(rays["lane"])
            report(f"records per ray of {name}", len(rays["node"]) / count, "records", "-")
            bench_table(folder, "rays", rays, "ray", count, (">= 0.5", "<= 40"))
        tables = make_tables(1, (640, 200), 64)
        with TraceWriter(folder / "small.trace", image_size=(640, 200)) as writer:
            for name, columns in tables.items():
                writer.put(name, columns)
        small = open_trace(folder / "small.trace")
        seconds = least(lambda: validate(small))
        report("check", sum(small.rows(t) for t in small.tables) / seconds / 1e6, "M rows/s", "-")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
