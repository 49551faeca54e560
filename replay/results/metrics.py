"""From the units' counters to metrics, tables and the files of a result.

The seven metrics of Zatel's Table I follow Vulkan-Sim's definitions (``docs/sources/vulkan-sim.md#rt-statistics,
#metric-definitions``), so that numbers can be compared with its runs.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from rayplay.formats.guard.strict import check_choice
from rayplay.replay.engine.machine import Machine
from rayplay.replay.gpu.description import Gpu
from rayplay.replay.input.work import LANES
from rayplay.replay.results.counters import unit_counters
from rayplay.replay.results.definitions import METRICS
from rayplay.replay.results.ledger import Counters, Ledger
from rayplay.replay.results.tables import joined, kernel_table, parts, pixel_table
from rayplay.replay.rt import state as rt_state
from rayplay.replay.rt.metrics import rt_metrics

TABLES = ("counters", "stack", "utilisation", "roofline", "timeline")  # made of the ledger


@dataclass(repr=False)
class Result:
    """Result of a replay.

    summary    metric -> {"value", "unit", "kind", "definition"}, as in ``summary.json``.
    kernels    columns of the table ``kernels``; ``pixels`` likewise (None without an image).
    ledger     what each kernel and interval added; the other tables are made of it when asked for.
    host       times of this machine.
    by_class   stalls, and tables of draws and of classes of work that shared the GPU, by name, in parts.
    """

    summary: dict[str, dict[str, Any]]
    kernels: dict[str, np.ndarray]
    pixels: dict[str, np.ndarray] | None
    ledger: Ledger
    gpu: Gpu
    host: dict[str, Any] = field(default_factory=dict)
    by_class: dict[str, list[dict[str, np.ndarray]]] = field(default_factory=dict)

    def __repr__(self) -> str:
        cycles = self.summary["gpu_cycles"]["value"]
        return f"<Result on {self.gpu.name}: {cycles:,} cycles, {len(self.summary)} metrics>"

    def _repr_html_(self) -> str:
        from rayplay.formats.dataset.frames import metric_table

        return metric_table(f"Result on {self.gpu.name}", self.summary)

    def to_pandas(self, table: str | None = None) -> Any:
        """A table as a ``pandas.DataFrame``: of ``TABLES``, ``by_class``, ``kernels``, ``pixels``; else the metrics."""
        from rayplay.formats.dataset.frames import frame, metric_frame

        if table is None:
            return metric_frame(self.summary)
        if table in ("kernels", "pixels"):
            return frame(getattr(self, table) or {})
        if table in self.by_class:
            parts = self.by_class[table]
            return frame({name: np.concatenate([part[name] for part in parts]) for name in parts[0]})
        check_choice(table, (*TABLES, "kernels", "pixels", *self.by_class), "to_pandas")
        return frame(self.table(table))

    @cached_property
    def counters(self) -> dict[str, np.ndarray]:
        """Columns of the table ``counters``."""
        return self.table("counters")

    @cached_property
    def timeline(self) -> dict[str, np.ndarray]:
        """Columns of the table ``timeline``."""
        return self.table("timeline")

    def table(self, name: str) -> dict[str, np.ndarray]:
        """Columns of one of ``TABLES``."""
        return joined(self.ledger, self.gpu, name)

    def value(self, metric: str) -> float:
        """Value of a metric; NaN where it is not defined."""
        found = self.summary[metric]["value"]
        return float("nan") if found is None else found

    def write(self, path: Path | str, provenance: dict[str, Any]) -> None:
        """Write ``NAME.result``; the old result stays until the new one is complete."""
        from rayplay.formats.dataset.result import ResultWriter

        with ResultWriter(path, provenance) as writer:
            for name in TABLES if self.ledger.has("stack") else ("counters", "timeline"):
                for part in parts(self.ledger, self.gpu, name):
                    writer.put(name, part)
            writer.put("kernels", self.kernels)
            if self.pixels is not None:
                writer.put("pixels", self.pixels)
            for name, pieces in self.by_class.items():
                for piece in pieces:
                    writer.put(name, piece)
            writer.summary(self.summary)
            writer.host(self.host)


def collect(machine: Machine, ledger: Ledger, spans: Mapping[int, tuple[int, int]]) -> Result:
    """Metrics and tables at the end of a replay. spans: kernel -> first cycle, first cycle after it."""
    cycles, gpu = max((end for _, end in spans.values()), default=0), machine.gpu
    counters = unit_counters(machine, cycles)
    found = dict(values(gpu, counters, cycles))
    summary = {name: entry(name, found[name]) for name in METRICS}
    rays, peak = counters["rt_unit"], machine.rt.peak
    for name, value, unit, kind, definition in rt_metrics(rays, peak, gpu.rt.warps, gpu.rt.cores, cycles):
        summary[name] = {"value": value, "unit": unit, "kind": kind, "definition": definition}
    for name, counted in machine.plugin_counters().items():
        summary[f"policy_{name.replace('.', '_')}"] = {
            "value": int(counted.sum()), "unit": "count", "kind": "sum",
            "definition": f"{name} of the plug-in, summed over its instances",
        }  # fmt: skip
    pixels = pixel_table(machine.trace, machine.window, machine.lane_cycles)
    return Result(summary, kernel_table(machine.launch_of, spans), pixels, ledger, gpu)


def values(gpu: Gpu, counters: Counters, cycles: int) -> Iterator[tuple[str, float | None]]:
    """The values of all metrics; None where one is not defined."""
    memory = counters["dram"]
    total = {unit: {name: int(v.sum()) for name, v in found.items()} for unit, found in counters.items()}
    yield from sm_values(gpu, total["sm"], cycles)
    yield "l1d_miss_rate", ratio(*misses(total["l1d"]))
    yield "l2_miss_rate", ratio(*misses(total["l2"]))
    yield "dram_efficiency", mean_ratio(memory["data_ticks"], memory["active_ticks"])
    ticks = np.full(gpu.memory.count, cycles * gpu.dram.clock_khz / gpu.sm.clock_khz)
    yield "bandwidth_utilisation", mean_ratio(memory["data_ticks"], ticks)
    yield "occupancy", ratio(total["sm"]["resident_warp_cycles"], gpu.sm.count * gpu.sm.warps * cycles)
    yield "dram_bytes", (total["dram"]["reads"] + total["dram"]["writes"]) * gpu.dram.atom_bytes
    rt = total["rt_unit"]
    yield "rt_efficiency", ratio(rt["efficiency_sum"] / rt_state.EFFICIENCY_UNIT, rt["warps"])


def sm_values(gpu: Gpu, sm: Mapping[str, int], cycles: int) -> Iterator[tuple[str, float | None]]:
    """The metrics that every model has. sm: counters of all SMs together."""
    yield "gpu_cycles", cycles
    yield "gpu_ipc", ratio(sm["thread_instructions"], cycles)
    yield "seconds", cycles / (gpu.sm.clock_khz * 1000)
    yield "thread_instructions", sm["thread_instructions"]
    yield "warp_instructions", sm["warp_instructions"]
    yield "sm_ipc", ratio(sm["warp_instructions"], cycles * gpu.sm.count)
    yield "simt_efficiency", ratio(sm["thread_instructions"], LANES * sm["warp_instructions"])
    yield "warps", sm["retired_warps"]


def entry(name: str, value: float | None, definition: str | None = None) -> dict[str, Any]:
    """One metric of ``summary.json``; a model may define it otherwise."""
    metric = METRICS[name]
    return {"value": value, "unit": metric.unit, "kind": metric.kind, "definition": definition or metric.definition}


def ratio(numerator: float, denominator: float) -> float | None:
    """Quotient, None where it is not defined."""
    return numerator / denominator if denominator else None


def mean_ratio(numerator: np.ndarray, denominator: np.ndarray) -> float:
    """Mean of the quotients, 0 where the denominator is 0."""
    safe = np.where(denominator > 0, denominator, 1)
    return float(np.mean(np.where(denominator > 0, numerator / safe, 0.0)))


def misses(count: dict[str, int]) -> tuple[int, int]:
    """Misses and accesses of an L1 or L2; what joins a fetch of a reserved sector is an access, but no miss."""
    missed = sum(count[f"{of}_{kind}_misses"] for of in ("read", "write") for kind in ("line", "sector"))
    return missed, missed + sum(count[f"{of}_{kind}"] for of in ("read", "write") for kind in ("hits", "pending_hits"))


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
