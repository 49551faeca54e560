"""Replay a trace with GATSim's model: launch after launch, loading warps as the SMs need them, and its metrics.

A result has the format of the other models'. GATSim has no L2, no DRAM and no RT unit: metrics of theirs are null and
say so; the timeline has one interval a launch; there are no pixels, since lanes are not told apart in time.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from formats.errors import UserError
from formats.reader import Trace
from replay import gatsim, gatsim_units, scheduler
from replay.dispatch import occupancy
from replay.gpu_description import Gpu
from replay.launch import Launch, read_launches
from replay.metrics import DEFINITIONS, Result, entry, ratio
from replay.program import load_program
from replay.scheduler import (
    ACCESS,
    ACCESS_END,
    FIRST_VISIT,
    NUMBER,
    RETIRED_WARPS,
    TRACE,
    TRACE_END,
    VISIT,
    VISIT_END,
)  # fmt: skip
from replay.window import Static, Window

Counters = dict[str, dict[str, np.ndarray]]  # unit -> counter -> int64[SMs]
UNDEFINED = {
    "l2_miss_rate": ("1", "ratio", "an L2"),
    "rt_efficiency": ("1", "mean", "lanes in an RT unit"),
    "dram_efficiency": ("1", "mean", "DRAM"),
    "bandwidth_utilisation": ("1", "mean", "DRAM"),
}


@dataclass
class Replay:
    """A replay in progress: the SMs, the window of the trace, and what each launch counted."""

    trace: Trace
    gpu: Gpu
    characterisation: dict[str, Any] | None
    spans: list[tuple[Launch, int, int, Counters]] = field(default_factory=list)
    engine_cpu_seconds: float = 0.0

    def __post_init__(self) -> None:
        if not self.gpu.gatsim.record_cycles and "rays" in self.trace.tables and self.trace.rows("rays"):
            raise UserError(
                f"{self.trace.path}: model gatsim must know what a BVH record costs to replay rays:"
                " gatsim.record_cycles is 0"
            )
        instructions, blocks = self.trace.read("instructions"), self.trace.read("blocks")
        tables = {"instructions": instructions, "blocks": blocks}
        self.program = load_program(tables, self.characterisation, str(self.trace.path))
        self.launches, self.ctas = read_launches(self.trace, self.gpu, self.program.length)
        self.window = Window(self.trace, self.program, Static(instructions, self.trace.read("kernels")), False)
        self.local = instructions["memory_space"].astype(str) == "local"

    def run(self, progress: Callable[[int, int], None]) -> None:
        """Replay every launch, one after the other."""
        end = 0
        for launch in self.launches:
            start = end + self.gpu.sm.kernel_launch_cycles
            bounds = self.ctas[slice(*launch.ctas)]
            places = occupancy(self.gpu.sm, launch.need, len(bounds)) if len(bounds) else 1
            end, counters = self.run_blocks(bounds, launch.need.warps, places, start, progress)
            self.spans.append((launch, start, end, counters))

    def run_blocks(
        self, bounds: np.ndarray, warps_per_block: int, places: int, start: int, progress: Callable[[int, int], None]
    ) -> tuple[int, Counters]:
        """Run threadblocks (rows first warp, end) from cycle ``start`` on, ``places`` an SM; the end, what it counted."""
        spec, l1 = self.gpu.sm, self.gpu.l1
        core = scheduler.make_state(self.gpu.scheduler, spec.count, spec.warps)
        cache = (l1.bytes // (l1.line_bytes * l1.ways), l1.ways, l1.line_bytes)
        state = gatsim_units.make_state(
            self.gpu.gatsim, spec.count, places, warps_per_block, bounds, cache, self.local, start
        )
        total, before = self.trace.rows("warps"), sum(int(c["sm"]["retired_warps"].sum()) for *_, c in self.spans)
        while not self._advance(state, core):
            self._load(state, core)
            progress(before + int(core.stats[:, RETIRED_WARPS].sum()), total)
        return int(state.clock.max()), {"sm": scheduler.stats(core), "l1d": gatsim_units.stats(state)}

    def _advance(self, state: gatsim_units.Gatsim, core: scheduler.Warps) -> bool:
        begun = time.process_time()
        complete: bool = gatsim.run(
            state, core, self.program, self.window.work(), longest_lanes(self.window), self.window.loaded_warps
        )
        self.engine_cpu_seconds += time.process_time() - begun
        return complete

    def _load(self, state: gatsim_units.Gatsim, core: scheduler.Warps) -> None:
        """Load the next warps, and move every cursor by what the window forgot."""
        oldest = int(state.bounds[np.minimum(state.next_block, len(state.bounds) - 1), 0].min())
        for row, members in enumerate(core.members):
            here = row // core.schedulers * core.warps
            oldest = min([oldest, *core.warp[here + core.member[row, :members], NUMBER].tolist()])
        shift = self.window.load(oldest)
        core.warp[:, [VISIT, VISIT_END, FIRST_VISIT]] -= shift["block"]
        core.warp[:, [ACCESS, ACCESS_END]] -= shift["access_key"]
        core.warp[:, [TRACE, TRACE_END]] -= shift["trace_visit"]


def longest_lanes(window: Window) -> np.ndarray:
    """Records of the longest lane of each trace operation of the window: int64[trace operations]."""
    records = window.records()
    if len(records.first_ray) < 2:
        return np.zeros(0, np.int64)
    return np.maximum.reduceat(np.diff(records.first_node), records.first_ray[:-1]).astype(np.int64)


def simulate(
    trace: Trace, gpu: Gpu, characterisation: dict[str, Any] | None, progress: Callable[[int, int], None]
) -> Result:
    """Replay a trace with GATSim's model; ``driver.simulate`` says what the arguments are."""
    replay = Replay(trace, gpu, characterisation)
    compile_engine(replay)
    begun, begun_cpu = time.perf_counter(), time.process_time()
    replay.run(progress)
    result = Result(dict(metrics(replay)), counter_table(replay), timeline_table(replay), None)
    result.host |= {
        "replay_wall_seconds": time.perf_counter() - begun,
        "replay_cpu_seconds": time.process_time() - begun_cpu,
        "engine_cpu_seconds": replay.engine_cpu_seconds,
        "threads": 1,
    }
    return result


def compile_engine(replay: Replay) -> None:
    """Have the engine compiled, or loaded from its cache, on a launch without threadblocks."""
    replay.run_blocks(np.zeros((0, 2), np.int64), 1, 1, 0, lambda retired, total: None)
    replay.engine_cpu_seconds = 0.0


def metrics(replay: Replay) -> Iterator[tuple[str, dict[str, Any]]]:
    """The metrics in the order of the other models'."""
    cycles = max((end for _, _, end, _ in replay.spans), default=0)
    total = {
        unit: {name: sum(int(c[unit][name].sum()) for *_, c in replay.spans) for name in counters}
        for unit, counters in (replay.spans[0][3] if replay.spans else {}).items()
    }
    sm, lines = total.get("sm", {}), total.get("l1d", {})
    threads, issued = sm.get("thread_instructions", 0), sm.get("warp_instructions", 0)
    yield "gpu_cycles", entry(cycles, "cycles", "sum", DEFINITIONS["gpu_cycles"])
    yield "gpu_ipc", entry(ratio(threads, cycles), "thread-instructions/cycle", "ratio", DEFINITIONS["gpu_ipc"])
    misses = lines.get("read_misses", 0) + lines.get("write_misses", 0)
    rate = None if replay.gpu.gatsim.caches == "perfect" else ratio(misses, sum(lines.values()))
    meaning = "Lines of memory instructions that missed / all; not defined with perfect caches"
    yield "l1d_miss_rate", entry(rate, "1", "ratio", meaning)
    for name, (unit, kind, lacks) in UNDEFINED.items():
        yield name, entry(None, unit, kind, f"Not defined: GATSim does not model {lacks}")
    clock = replay.gpu.sm.clock_khz * 1000
    yield "seconds", entry(cycles / clock, "s", "sum", "gpu_cycles / core clock")
    yield "thread_instructions", entry(threads, "count", "sum", "Instructions of active threads")
    yield "warp_instructions", entry(issued, "count", "sum", "Instructions issued by warps")
    warp_ipc = ratio(issued, cycles * replay.gpu.sm.count)
    yield "sm_ipc", entry(warp_ipc, "warp-instructions/cycle", "ratio", "warp_instructions / (gpu_cycles x SMs)")
    yield (
        "simt_efficiency",
        entry(ratio(threads, 32 * issued), "1", "ratio", "thread_instructions / (32 x warp_instructions)"),
    )
    yield "warps", entry(sm.get("retired_warps", 0), "count", "sum", "Warps that ran")


def counter_table(replay: Replay) -> dict[str, np.ndarray]:
    """Rows per launch, unit instance and counter."""
    rows = [
        (unit, instance, launch.stream, launch.kernel_id, name, value, "cycles" if name == "issue_cycles" else "count")
        for launch, _, _, counters in replay.spans
        for unit, named in counters.items()
        for name, values in named.items()
        for instance, value in enumerate(values.tolist())
    ]
    names = ("unit", "instance", "stream", "kernel_id", "counter", "value", "measure")
    dtypes = (object, np.uint32, np.int32, np.int32, object, np.int64, object)
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(names)
    return {name: np.array(column, dtype) for name, column, dtype in zip(names, columns, dtypes, strict=True)}


def timeline_table(replay: Replay) -> dict[str, np.ndarray]:
    """Rows per launch, unit and counter: one interval a launch."""
    rows = [
        (start, unit, name, int(values.sum()))
        for _, start, _, counters in replay.spans
        for unit, named in counters.items()
        for name, values in named.items()
    ]
    columns = list(zip(*rows, strict=True)) if rows else [()] * 4
    names, dtypes = ("start_cycle", "unit", "counter", "value"), (np.int64, object, object, np.int64)
    return {name: np.array(column, dtype) for name, column, dtype in zip(names, columns, dtypes, strict=True)}
