"""Rows against Vulkan-Sim: statistics of rays and of whole runs, and the effect of GPU changes on cycles.

Sources: ``docs/sources/vulkan-sim.md#measured``, ``tests/outside/vulkan_sim_runs.csv``. Vulkan-Sim's programs are not
ours: the variant made for the comparison makes 1.1 times the warp instructions of theirs (1.2 times with spheres). So
cycles may be 15 % off, and each quantity has a tolerance of its own. Of a changed option the direction and
the size are compared, where that exceeds the noise that one cycle more or less of L2 latency makes there, and up to it.
"""

import csv
import math
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np

from outside.rows import Row, compare
from outside.traces import ROOT, data_folder, rendered
from rayplay.formats.dataset.reader import Trace, open_trace
from rayplay.formats.exchange.vulkan_sim import read_lines
from rayplay.formats.schema.trace import NODE_KINDS
from rayplay.replay.gpu.description import load
from rayplay.replay.run.driver import simulate
from rayplay.zatel.changes.noise import noise_floor

RUNS = ROOT / "tests" / "outside" / "vulkan_sim_runs.csv"
WORKLOADS = {"PT": "path-tracing", "SH2": "shadows", "AO4": "ambient-occlusion"}
RAYS, NODES, FACTOR = 0.03, 0.03, 2.0
# Ours -> name of the row, column of the runs and tolerance. Runs of theirs with other random seeds differ by 2 to 10 %
# in cycles and by 2 % in busy cycles, one run with another L2 latency by 4 % in latency. The L1's is what a faithful
# program can reach; the wide ones are the largest differences of shadows, ambient occlusion and small pictures, rounded
# up (DEVIATIONS.md, R20).
QUANTITIES = {
    "gpu_cycles": ("cycles", "cycles", 0.15), "rt_efficiency": ("rt efficiency", "rt_eff", 0.1),
    "warp_instructions": ("warp instructions", "warp_insn", 0.25), "l1d_miss_rate": ("l1 misses", "l1d_miss", 0.08),
    "thread_instructions": ("thread instructions", "thread_insn", 0.25), "l2_miss_rate": ("l2 misses", "l2_miss", 0.35),
    "dram_efficiency": ("dram efficiency", "dram_eff", 0.3), "bandwidth_utilisation": ("bandwidth", "bw_util", 0.3),
    "rt_warp_latency": ("rt warp latency", "rt_warp_latency", 0.2),
}  # fmt: skip
BUSY = 0.12
# Dumps of whole runs, by case and GPU, and the RT unit's accesses to the L1 that they count.
DUMPS = {"vulkan-sim cornell PT 32x32 mobile": "box32", "vulkan-sim cornell PT 32x32 rtx2060": "cornell32_rtx2060"}
RT_READS = {"rt_reads": ("rt reads", 0.05), "rt_read_misses": ("rt read misses", 0.1), "rt_writes": ("rt stores", 0.01)}
MISSED, REFUSED = 2, 3  # status of an access in a dump
RT_WARPS = 4  # of a unit: -gpgpu_rt_max_warps
# Differences of the released configurations from ours (``docs/sources/vulkan-sim.md#thread-variables, #rt-unit,
# #configurations``): each thread's variables lie in private blocks of 256 B; SM and L2 follow GPGPU-Sim 4.0.
RULES = [
    "rt.mshr_limit=vulkan-sim", "rt.response=vulkan-sim", "lsu.local_interleaved=false", "lsu.local_block_bytes=256",
    "l2.write_allocate=lazy_whole_sectors", "pipeline.collector_owner=sm", "pipeline.register_banks=16",
]  # fmt: skip
RELEASED = {
    "mobile": [
        *RULES, "sm.warps=16", "sm.ctas=16", "l1.bytes=32768", "l1.ways=256", "l2.bytes=524288", "l2.set_hash=ipoly",
    ],
    "rtx2060": RULES,
}  # fmt: skip
RECORDS = ("header", "internal", "instance", "descriptor", "triangle", "triangle_hit", "procedural", "undefined")
LATENCIES = {
    "header": 8, "internal": 16, "instance": 16, "descriptor": 8, "triangle": 16, "triangle_hit": 16, "procedural": 16,
}  # fmt: skip
# Memory traffic decides the cost of Vulkan-Sim's programs, so ours is compiled as poorly as NIR does.
VARIANT = ("--program-variant", "vulkan-sim")
# The order of children, programs after the traversal, and an instance for each sphere.
TRAVERSAL = ("--traversal", "vulkan-sim", "--hit-programs", "after", "--spheres", "apart")
# Vulkan-Sim's option -> ours.
CHANGES = {
    "-gpgpu_cache:dl1  S:1:128:128,L:L:s:N:L,A:256:8,16:0,32": ["l1.bytes=16384", "l1.ways=128"],
    "-gpgpu_cache:dl1  S:1:128:512,L:L:s:N:L,A:256:8,16:0,32": ["l1.bytes=65536", "l1.ways=512"],
    "-gpgpu_cache:dl2 S:32:128:16,L:B:m:L:P,A:192:4,32:0,32": ["l2.bytes=262144"],
    "-gpgpu_cache:dl2 S:64:128:32,L:B:m:L:P,A:192:4,32:0,32": ["l2.bytes=1048576", "l2.ways=32"],
    "-gpgpu_n_clusters 16": ["sm.count=16"],
    "-gpgpu_n_clusters 4": ["sm.count=4"],
    "-gpgpu_n_mem 2": ["memory.count=2", "l2.bytes=262144"],
    "-gpgpu_n_mem 8": ["memory.count=8", "l2.bytes=1048576"],
    "-gpgpu_rt_intersection_latency 8,16,16,8,16,16,16": [f"rt.{kind}_cycles={n}" for kind, n in LATENCIES.items()],
    "-gpgpu_rt_max_warps 1": ["rt.warps=1"],
    "-gpgpu_rt_max_warps 16": ["rt.warps=16"],
    "-gpgpu_rt_max_warps 2": ["rt.warps=2"],
    "-gpgpu_rt_max_warps 8": ["rt.warps=8"],
    "-gpgpu_rt_perfect_mem 1": ["rt.perfect_memory=true"],
    "-gpgpu_scheduler lrr": ["scheduler.policy=gtlrr"],  # its order_lrr begins with the warp that issued last
    "-gpgpu_shader_cta 32": ["sm.warps=32", "sm.ctas=32"],
    "-gpgpu_shader_cta 8": ["sm.warps=8", "sm.ctas=8"],
}


def rows(only: str = "") -> Iterator[Row]:
    """All comparisons whose case contains ``only``."""
    for case in ray_cases():
        if only in case_name(case):
            yield from ray_rows(case)
    for run in runs():
        if not run["changed_option"] and only in case_name(run):
            yield from run_rows(run)
    if only in WHAT_IF:
        yield from what_if_rows()


def runs() -> list[dict[str, str]]:
    """Read Vulkan-Sim's runs from the file."""
    with RUNS.open() as lines:
        return list(csv.DictReader(lines))


def ray_cases() -> list[dict[str, str]]:
    """One run per scene, program and size: rays do not depend on the GPU."""
    found = {case_name(run): run for run in reversed(runs())}
    return list(reversed(found.values()))


def case_name(run: dict[str, str]) -> str:
    """Scene, program and size of a run."""
    return f"vulkan-sim {run['scene'].lower()} {run['workload']} {run['width']}x{run['height']}"


@cache
def trace_of(scene: str, workload: str, size: str, bounces: str, program: tuple[str, ...] = ()) -> Path:
    """Trace of a run's picture with Vulkan-Sim's traversal order.

    program  options that choose another program.
    """
    options = ["--workload", WORKLOADS[workload], "--size", size, "--samples", "1", *TRAVERSAL]
    return rendered([scene.lower(), *options, *(["--bounces", bounces] if bounces else []), *program])


def ray_rows(run: dict[str, str]) -> Iterator[Row]:
    """Rays, rays that hit a triangle, and nodes per ray of one run."""
    path = trace_of(run["scene"], run["workload"], f"{run['width']}x{run['height']}", run["bounces"])
    rays, hits, nodes = ray_counts(open_trace(path))
    case = case_name(run)
    yield compare(case, "rays", int(run["rays"]), rays, RAYS)
    yield compare(case, "hits", int(run["rt_hits"]), hits, RAYS)
    yield compare(case, "nodes per ray", float(run["nodes_per_ray"]), nodes, NODES)


def ray_counts(trace: Trace) -> tuple[int, int, float]:
    """Rays, rays with a triangle hit, and nodes per ray; headers and descriptors are no nodes, as in Vulkan-Sim."""
    kinds = trace.read("nodes", ["kind"])["kind"]
    counts = np.zeros(len(NODE_KINDS), np.int64)
    rays = hits = 0
    for _, _, tables in trace.warp_batches(4096, {"rays": ("warp_id", "lane", "segment", "node")}):
        table = tables["rays"]
        node, offset = table["node"], table["node_offset"].astype(np.int64)
        counts += np.bincount(kinds[node & 0x7FFFFFFF], minlength=len(NODE_KINDS))
        rays += int((table["segment"] == 0).sum())
        passed = np.concatenate([[0], np.cumsum(node >> 31)])
        hits += int((ray_sums(table, np.diff(passed[offset])) > 0).sum())
    skipped = counts[NODE_KINDS.index("header")] + counts[NODE_KINDS.index("descriptor")]
    return rays, hits, float((counts.sum() - skipped) / max(rays, 1))


def ray_sums(table: dict[str, np.ndarray], of_segment: np.ndarray) -> np.ndarray:
    """Sum over the segments of each ray: rows of a lane of a warp up to the next with segment 0."""
    lane = table["warp_id"].astype(np.int64) * 32 + table["lane"]
    order = np.argsort(lane, kind="stable")
    ray = np.cumsum(table["segment"][order] == 0) - 1
    return np.bincount(ray, of_segment[order])


def run_rows(run: dict[str, str]) -> Iterator[Row]:
    """Quantities of a run of the released configuration; its cycles with a warp in an RT unit follow from the mean
    latency and the occupancy, for as many warps as ours. Of two runs dumps tell the RT unit's accesses."""
    gpu, case = run["config"].lower(), case_name(run)
    ours = our_means(run, RELEASED[gpu], range(156, 164))
    for name, (quantity, column, tolerance) in QUANTITIES.items():
        yield compare(case, f"{quantity} {gpu}", float(run[column]), ours[name], tolerance)
    busy = ours["rt_warps"] * float(run["rt_warp_latency"]) / (float(run["rt_warp_occupancy"]) * RT_WARPS)
    yield compare(case, f"rt busy cycles {gpu}", round(busy), round(ours["rt_busy_cycles"]), BUSY)
    theirs = dumped_accesses(DUMPS.get(f"{case} {gpu}"))
    for name, number in theirs.items():
        quantity, tolerance = RT_READS[name]
        yield compare(case, f"{quantity} {gpu}", number, round(ours[name]), tolerance)


def dumped_accesses(name: str | None) -> dict[str, int]:
    """Reads, reads that missed, and stores that a dump's RT units sent to their L1s; nothing without a dump."""
    if name is None:
        return {}
    counts = dict.fromkeys(RT_READS, 0)
    for _, (kind, *words) in read_lines(data_folder() / "reference" / "vulkansim" / f"{name}.txt.xz"):
        if kind == "M" and int(words[5]) != REFUSED:
            is_write, missed = words[4] == "1", int(words[5]) == MISSED
            counts["rt_writes"] += is_write
            counts["rt_reads"] += not is_write
            counts["rt_read_misses"] += missed and not is_write
    return counts


def our_means(run: dict[str, str], settings: list[str], rop_cycles: range) -> dict[str, float]:
    """Quantities of the trace of a run's picture on its GPU with these settings: means over L2 latencies, the noise."""
    size = f"{run['width']}x{run['height']}"
    path = trace_of(run["scene"], run["workload"], size, run["bounces"], VARIANT)
    gpus = [load(run["config"].lower(), [*settings, f"l2.latency_cycles={cycles}"]) for cycles in rop_cycles]
    results = [simulate(path, gpu, model="pipeline") for gpu in gpus]
    names = (*QUANTITIES, "rt_warps", "rt_busy_cycles", "rt_writes")
    means = {name: float(np.mean([found.value(name) or np.nan for found in results])) for name in names}
    reads = [sum(found.value(f"rt_requests_{kind}") or 0 for kind in RECORDS) for found in results]
    rates = [found.value("rt_l1d_read_miss_rate") or 0 for found in results]
    return means | {"rt_reads": float(np.mean(reads)), "rt_read_misses": float(np.dot(reads, rates) / len(reads))}


WHAT_IF = "vulkan-sim cornell PT 64x64 mobile"
ROP = "-gpgpu_l2_rop_latency"
ROP_CYCLES = (158, 160, 161)  # of the runs without another change: what lies between them is noise
OUR_ROP_CYCLES = range(148, 172)  # single runs of ours differ by 2.6 %, so that these leave 0.7 % of a change


def what_ifs() -> tuple[float, list[tuple[str, float]]]:
    """Noise floor, and (changed option, relative change of Vulkan-Sim's cycles) of the changes that exceed it.

    They are against the mean of the runs that have the released options, and a cycle of L2 latency more or less. The
    floor is what such a run exceeds by chance with a probability of 5 %: ``rayplay.zatel.changes.noise``.
    """
    mine = [
        r for r in runs() if (r["scene"], r["workload"], r["width"], r["config"]) == ("CORNELL", "PT", "64", "MOBILE")
    ]
    same = ("", *(f"{ROP} {cycles}" for cycles in ROP_CYCLES))
    unchanged = [{"cycles": float(run["cycles"])} for run in mine if run["changed_option"] in same]
    base, floor = np.mean([run["cycles"] for run in unchanged]), noise_floor(unchanged, changes=1)["cycles"]
    change = {run["changed_option"]: float(run["cycles"]) / base - 1 for run in mine}
    return floor, [(option, found) for option, found in change.items() if option in CHANGES and abs(found) > floor]


def what_if_rows() -> Iterator[Row]:
    """The changes of cycles in per cent: the same direction, and between half and twice of theirs up to its noise."""
    noise, changes = what_ifs()
    unchanged = next(run for run in runs() if f"{case_name(run)} {run['config'].lower()}" == WHAT_IF)
    base = our_means(unchanged, RELEASED["mobile"], OUR_ROP_CYCLES)["gpu_cycles"]
    for option, theirs in changes:
        settings = [*RELEASED["mobile"], *CHANGES[option]]
        cycles = our_means(unchanged, settings, OUR_ROP_CYCLES)["gpu_cycles"]
        yield what_if_row(option, theirs, cycles / base - 1, noise)


def what_if_row(option: str, theirs: float, ours: float, noise: float) -> Row:
    """The factor between ours and the nearest change that theirs, a single run, may be by its noise.

    It is infinite for a change in the other direction.
    """
    factor = ours / min(max(ours, theirs - noise), theirs + noise)
    error = max(factor, 1 / factor) - 1 if factor > 0 else math.inf
    name = " ".join(option.removeprefix("-gpgpu_").split(",")[0].split())
    return Row(WHAT_IF, name, 100 * theirs, 100 * ours, error, FACTOR - 1, error <= FACTOR - 1)
