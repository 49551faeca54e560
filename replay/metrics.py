"""From the units' counters to metrics, tables and the files of a result.

The seven metrics of Zatel's Table I follow Vulkan-Sim's definitions (``reference/vulkan-sim.md`` 1.8 and 1.9), so that
numbers can be compared with its runs.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from replay import dram_state, l1, l2_state, lsu, port, rt_unit_state, scheduler

if TYPE_CHECKING:
    from replay.driver import Replay

Counters = dict[str, dict[str, np.ndarray]]  # unit -> counter -> int64[instances]
CYCLE_COUNTERS = ("issue_cycles", "busy_cycles", "warp_cycles", "lane_cycles", "shared_cycles", "bank_conflict_cycles",
                  "blocked_cycles")  # fmt: skip

# Zatel's Table I, as Vulkan-Sim computes it; the name of its statistic is in brackets.
DEFINITIONS = {
    "gpu_cycles": "Core cycles from the first launch to the last warp's end, launch latency included (gpu_sim_cycle)",
    "gpu_ipc": "Instructions of active threads / gpu_cycles (gpu_ipc)",
    "l1d_miss_rate": "L1D sector accesses that did not hit / all, reads and writes, RT unit included; a read that"
    " joins an outstanding miss is a miss, as with Vulkan-Sim's streaming L1 (L1D_total_cache_miss_rate)",
    "l2_miss_rate": "L2 sector or line misses / accesses; a read that joins an outstanding miss is an access but no"
    " miss (L2_total_cache_miss_rate)",
    "rt_efficiency": "Mean over warp-traces of the active lanes' cycles until their last record / (32 x the warp's"
    " cycles in the RT unit) (rt_avg_efficiency)",
    "dram_efficiency": "Mean over channels of data ticks / ticks with a request or a running bank timer, 0 for a"
    " channel that was never active (dram_eff)",
    "bandwidth_utilisation": "Mean over channels of data ticks / all DRAM ticks (bwutil)",
}


@dataclass
class Result:
    """What a replay found.

    summary    metric -> {"value", "unit", "kind", "definition"}, as in ``summary.json``.
    counters   columns of the table ``counters``; ``timeline`` and ``pixels`` likewise (pixels None without an image).
    host       times of this machine.
    """

    summary: dict[str, dict[str, Any]]
    counters: dict[str, np.ndarray]
    timeline: dict[str, np.ndarray]
    pixels: dict[str, np.ndarray] | None
    host: dict[str, Any] = field(default_factory=dict)

    def value(self, metric: str) -> float:
        """Value of a metric; NaN where it is not defined."""
        found = self.summary[metric]["value"]
        return float("nan") if found is None else found

    def write(self, path: Path | str, provenance: dict[str, Any]) -> None:
        """Write ``NAME.result``; the old result stays until the new one is complete."""
        from formats.result import ResultWriter

        with ResultWriter(path, provenance) as writer:
            writer.put("counters", self.counters)
            writer.put("timeline", self.timeline)
            if self.pixels is not None:
                writer.put("pixels", self.pixels)
            writer.summary(self.summary)
            writer.host(self.host)


def unit_counters(replay: "Replay") -> Counters:
    """A copy of every counter of every unit instance."""
    memory = replay.memory
    units = {
        "sm": scheduler.stats(replay.warps), "lsu": lsu.stats(replay.lsu), "l1d": l1.stats(replay.l1),
        "rt_unit": rt_unit_state.stats(replay.rt), "port": port.stats(replay.port), "l2": l2_state.stats(memory.l2),
        "dram": dram_state.stats(memory.dram),
    }  # fmt: skip
    return {unit: {name: values.copy() for name, values in counters.items()} for unit, counters in units.items()}


def collect(replay: "Replay") -> Result:
    """Metrics and tables at the end of a replay."""
    counters = unit_counters(replay)
    return Result(
        dict(metrics(replay, counters)), counter_table(replay), timeline_table(replay), pixel_table(replay)
    )  # fmt: skip


def metrics(replay: "Replay", counters: Counters) -> Iterator[tuple[str, dict[str, Any]]]:
    """The metrics in the order in which they are printed."""
    cycles = max((end for _, end in replay.spans.values()), default=0)
    total = {unit: {name: int(v.sum()) for name, v in values.items()} for unit, values in counters.items()}
    sm, rt = total["sm"], total["rt_unit"]
    yield "gpu_cycles", entry(cycles, "cycles", "sum", DEFINITIONS["gpu_cycles"])
    ipc = ratio(sm["thread_instructions"], cycles)
    yield "gpu_ipc", entry(ipc, "thread-instructions/cycle", "ratio", DEFINITIONS["gpu_ipc"])
    yield "l1d_miss_rate", entry(ratio(*l1_misses(total["l1d"])), "1", "ratio", DEFINITIONS["l1d_miss_rate"])
    yield "l2_miss_rate", entry(ratio(*l2_misses(total["l2"])), "1", "ratio", DEFINITIONS["l2_miss_rate"])
    efficiency = ratio(rt["efficiency_sum"] / rt_unit_state.EFFICIENCY_UNIT, rt["warps"])
    yield "rt_efficiency", entry(efficiency, "1", "mean", DEFINITIONS["rt_efficiency"])
    memory = counters["dram"]
    efficiency = mean_ratio(memory["data_ticks"], memory["active_ticks"])
    yield "dram_efficiency", entry(efficiency, "1", "mean", DEFINITIONS["dram_efficiency"])
    ticks = np.full(replay.gpu.memory.count, cycles * replay.gpu.dram.clock_khz / replay.gpu.sm.clock_khz)
    utilisation = mean_ratio(memory["data_ticks"], ticks)
    yield "bandwidth_utilisation", entry(utilisation, "1", "mean", DEFINITIONS["bandwidth_utilisation"])
    yield from more_metrics(replay, total, cycles)


def more_metrics(
    replay: "Replay", total: dict[str, dict[str, int]], cycles: int
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Metrics beyond Table I."""
    sm, rt, gpu = total["sm"], total["rt_unit"], replay.gpu
    yield "seconds", entry(cycles / (gpu.sm.clock_khz * 1000), "s", "sum", "gpu_cycles / core clock")
    yield "thread_instructions", entry(sm["thread_instructions"], "count", "sum", "Instructions of active threads")
    yield "warp_instructions", entry(sm["warp_instructions"], "count", "sum", "Instructions issued by warps")
    warp_ipc = ratio(sm["warp_instructions"], cycles * gpu.sm.count)
    yield "sm_ipc", entry(warp_ipc, "warp-instructions/cycle", "ratio", "warp_instructions / (gpu_cycles x SMs)")
    lanes = ratio(sm["thread_instructions"], 32 * sm["warp_instructions"])
    yield "simt_efficiency", entry(lanes, "1", "ratio", "thread_instructions / (32 x warp_instructions)")
    yield "warps", entry(sm["retired_warps"], "count", "sum", "Warps that ran")
    yield "rt_warps", entry(rt["warps"], "count", "sum", "Warp-traces the RT units completed")
    latency = ratio(rt["warp_cycles"], rt["warps"])
    yield "rt_warp_latency", entry(latency, "cycles", "mean", "Cycles of a warp in the RT unit (rt_avg_warp_latency)")
    occupancy = ratio(rt["warp_cycles"], rt["busy_cycles"] * gpu.rt.warps)
    yield "rt_occupancy", entry(occupancy, "1", "ratio", "Warps in the RT unit while it is busy / its places")
    yield "rt_records", entry(rt["records"], "count", "sum", "BVH records the lanes received")
    moved = (total["dram"]["reads"] + total["dram"]["writes"]) * gpu.dram.atom_bytes
    yield "dram_bytes", entry(moved, "bytes", "sum", "Bytes moved by DRAM column commands")


def entry(value: float | None, unit: str, kind: str, definition: str) -> dict[str, Any]:
    """One metric of ``summary.json``."""
    return {"value": value, "unit": unit, "kind": kind, "definition": definition}


def ratio(numerator: float, denominator: float) -> float | None:
    """Quotient, None where it is not defined."""
    return numerator / denominator if denominator else None


def mean_ratio(numerator: np.ndarray, denominator: np.ndarray) -> float:
    """Mean of the quotients, 0 where the denominator is 0."""
    safe = np.where(denominator > 0, denominator, 1)
    return float(np.mean(np.where(denominator > 0, numerator / safe, 0.0)))


def l1_misses(count: dict[str, int]) -> tuple[int, int]:
    """L1D misses and accesses; a merged read counts as a miss."""
    misses = count["read_line_misses"] + count["read_sector_misses"] + count["read_merges"] + count["write_misses"]
    return misses, misses + count["read_hits"] + count["write_hits"]


def l2_misses(count: dict[str, int]) -> tuple[int, int]:
    """L2 misses and accesses."""
    misses = count["read_line_misses"] + count["read_sector_misses"] + count["write_misses"]
    return misses, misses + count["read_hits"] + count["write_hits"] + count["read_pending_hits"]


def measure(unit: str, counter: str) -> str:
    """Unit of a counter."""
    if counter.endswith("_ticks"):
        return "DRAM ticks"
    if counter == "efficiency_sum":
        return "2^-30"
    return "cycles" if counter in CYCLE_COUNTERS else "count"


def counter_table(replay: "Replay") -> dict[str, np.ndarray]:
    """Rows per kernel, unit instance and counter: what each launch added."""
    rows: list[tuple[str, int, int, int, str, int, str]] = []
    streams = {launch.kernel_id: launch.stream for launch in replay.launches}
    before: Counters | None = None
    for index, (_, kernel, now) in enumerate(replay.snapshots):
        last_of_kernel = index + 1 == len(replay.snapshots) or replay.snapshots[index + 1][1] != kernel
        if not last_of_kernel:
            continue
        for unit, counters in now.items():
            for name, values in counters.items():
                added = values - before[unit][name] if before else values
                for instance, value in enumerate(added.tolist()):
                    rows.append((unit, instance, streams[kernel], kernel, name, value, measure(unit, name)))
        before = now
    names = ("unit", "instance", "stream", "kernel_id", "counter", "value", "measure")
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(names)
    dtypes = (object, np.uint32, np.int32, np.int32, object, np.int64, object)
    return {name: np.array(column, dtype) for name, column, dtype in zip(names, columns, dtypes, strict=True)}


def timeline_table(replay: "Replay") -> dict[str, np.ndarray]:
    """Rows per interval, unit and counter: what the interval added, over all instances."""
    starts, units, names, values = [], [], [], []
    start, before = 0, None
    for cycle, _, now in replay.snapshots:
        for unit, counters in now.items():
            for name, found in counters.items():
                starts.append(start)
                units.append(unit)
                names.append(name)
                values.append(int(found.sum()) - (int(before[unit][name].sum()) if before else 0))
        start, before = cycle, now
    return {
        "start_cycle": np.array(starts, np.int64), "unit": np.array(units, object),
        "counter": np.array(names, object), "value": np.array(values, np.int64),
    }  # fmt: skip


def pixel_table(replay: "Replay") -> dict[str, np.ndarray] | None:
    """Per pixel: cycles its thread was active, rays it traced, records they fetched."""
    window = replay.window
    if window.rays is None or window.node_visits is None:
        return None
    threads = replay.trace.read("threads", ["warp_id", "lane", "pixel_x", "pixel_y"])
    warp, lane = threads["warp_id"], threads["lane"]
    return {
        "pixel_x": threads["pixel_x"], "pixel_y": threads["pixel_y"], "cycles": replay.lane_cycles[warp, lane],
        "rays": window.rays[warp, lane], "node_visits": window.node_visits[warp, lane],
    }  # fmt: skip


def table(result: Result) -> str:
    """Name, value and unit of every metric, for the terminal."""
    lines = []
    for name, metric in result.summary.items():
        found = metric["value"]
        shown = "undefined" if found is None else f"{found:,}" if isinstance(found, int) else f"{found:,.6g}"
        unit = "" if metric["unit"] == "1" else metric["unit"]
        lines.append(f"{name:24} {shown:>20}  {unit}".rstrip())
    return "\n".join(lines)
