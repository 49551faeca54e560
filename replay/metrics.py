"""From the units' counters to metrics, tables and the files of a result.

The seven metrics of Zatel's Table I follow Vulkan-Sim's definitions (``reference/vulkan-sim.md`` 1.8 and 1.9), so that
numbers can be compared with its runs.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from replay import dram_state, l1, l2_state, lsu, port, rt_unit_state, scheduler
from replay.launch import Launch
from replay.ledger import Counters, Ledger, joined
from replay.rt_metrics import rt_metrics

if TYPE_CHECKING:
    from replay.driver import Replay

CYCLE_COUNTERS = ("issue_cycles", "busy_cycles", "warp_cycles", "lane_cycles", "shared_cycles", "bank_conflict_cycles",
                  "blocked_cycles", "longest_reply_wait_cycles", "request_wait_cycles")  # fmt: skip

COUNTER_DTYPES: dict[str, type] = {
    "unit": object, "instance": np.uint32, "stream": np.int32, "kernel_id": np.int32, "counter": object,
    "value": np.int64, "measure": object,
}  # fmt: skip
TIMELINE_DTYPES: dict[str, type] = {"start_cycle": np.int64, "unit": object, "counter": object, "value": np.int64}

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
    kernels    columns of the table ``kernels``; ``pixels`` likewise (None without an image).
    ledger     what each kernel and interval added; ``counters`` and ``timeline`` are made of it when asked for.
    host       times of this machine.
    """

    summary: dict[str, dict[str, Any]]
    kernels: dict[str, np.ndarray]
    pixels: dict[str, np.ndarray] | None
    ledger: Ledger
    host: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def counters(self) -> dict[str, np.ndarray]:
        """Columns of the table ``counters``."""
        return joined(counter_parts(self.ledger), COUNTER_DTYPES)

    @cached_property
    def timeline(self) -> dict[str, np.ndarray]:
        """Columns of the table ``timeline``."""
        return joined(self.ledger.timeline_rows(), TIMELINE_DTYPES)

    def value(self, metric: str) -> float:
        """Value of a metric; NaN where it is not defined."""
        found = self.summary[metric]["value"]
        return float("nan") if found is None else found

    def write(self, path: Path | str, provenance: dict[str, Any]) -> None:
        """Write ``NAME.result``; the old result stays until the new one is complete."""
        from formats.result import ResultWriter

        with ResultWriter(path, provenance) as writer:
            for part in counter_parts(self.ledger):
                writer.put("counters", part)
            writer.put("kernels", self.kernels)
            for part in self.ledger.timeline_rows():
                writer.put("timeline", part)
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
        dict(metrics(replay, counters)),
        kernel_table(replay.launch_of, replay.spans),
        pixel_table(replay),
        replay.ledger,
    )


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
    spec = replay.gpu.rt
    found = rt_metrics(counters["rt_unit"], replay.rt.peak, spec.warps, spec.cores, cycles)
    for name, value, unit, kind, definition in found:
        yield name, entry(value, unit, kind, definition)


def more_metrics(
    replay: "Replay", total: dict[str, dict[str, int]], cycles: int
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Metrics beyond Table I."""
    sm, gpu = total["sm"], replay.gpu
    yield "seconds", entry(cycles / (gpu.sm.clock_khz * 1000), "s", "sum", "gpu_cycles / core clock")
    yield "thread_instructions", entry(sm["thread_instructions"], "count", "sum", "Instructions of active threads")
    yield "warp_instructions", entry(sm["warp_instructions"], "count", "sum", "Instructions issued by warps")
    warp_ipc = ratio(sm["warp_instructions"], cycles * gpu.sm.count)
    yield "sm_ipc", entry(warp_ipc, "warp-instructions/cycle", "ratio", "warp_instructions / (gpu_cycles x SMs)")
    lanes = ratio(sm["thread_instructions"], 32 * sm["warp_instructions"])
    yield "simt_efficiency", entry(lanes, "1", "ratio", "thread_instructions / (32 x warp_instructions)")
    yield "warps", entry(sm["retired_warps"], "count", "sum", "Warps that ran")
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
    misses = sum(count[f"{kind}_{what}_misses"] for kind in ("read", "write") for what in ("line", "sector"))
    return misses, misses + sum(
        count[f"{kind}_{what}"] for kind in ("read", "write") for what in ("hits", "pending_hits")
    )


def measure(unit: str, counter: str) -> str:
    """Unit of a counter."""
    if counter.endswith("_ticks"):
        return "DRAM ticks"
    if counter == "efficiency_sum":
        return "2^-30"
    return "cycles" if counter in CYCLE_COUNTERS else "count"


def counter_parts(ledger: Ledger) -> Iterator[dict[str, np.ndarray]]:
    """Columns of the table ``counters``, a part per kernel."""
    measures = None
    for part in ledger.counter_rows():
        if measures is None:
            measures = np.array([measure(*names) for names in zip(part["unit"], part["counter"], strict=True)], object)
        yield part | {"measure": measures}


def kernel_table(launch_of: Mapping[int, Launch], spans: Mapping[int, tuple[int, int]]) -> dict[str, np.ndarray]:
    """Rows per launch: when it began and ended, and its instructions."""
    launches = [launch_of[kernel_id] for kernel_id in spans]
    return {
        "kernel_id": np.array([launch.kernel_id for launch in launches], np.int32),
        "name": np.array([launch.name for launch in launches], object),
        "stream": np.array([launch.stream for launch in launches], np.int32),
        "start_cycle": np.array([start for start, _ in spans.values()], np.int64),
        "end_cycle": np.array([end for _, end in spans.values()], np.int64),
        "warp_instructions": np.array([launch.instructions for launch in launches], np.int64),
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
    """Name, value and unit of the metrics, for the terminal; the RT units' requests and lanes are in the files."""
    lines = []
    for name, metric in result.summary.items():
        if name.startswith(("rt_requests_", "rt_lane_")):
            continue
        found = metric["value"]
        shown = "undefined" if found is None else f"{found:,}" if isinstance(found, int) else f"{found:,.6g}"
        unit = "" if metric["unit"] == "1" else metric["unit"]
        lines.append(f"{name:24} {shown:>20}  {unit}".rstrip())
    return "\n".join(lines)
