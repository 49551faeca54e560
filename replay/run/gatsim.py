"""Replay a trace with GATSim's model: launch after launch, loading warps as the SMs need them, and its metrics.

A result has the format of the other models'. GATSim has no L2, no DRAM and no RT unit: their metrics are null and say
so; the timeline has one interval a launch; there are no pixels, since lanes are not told apart in time.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.limits import GPU_BYTES
from rayplay.formats.place.checkpoint import Checkpoints
from rayplay.replay.engine.machine import Inputs
from rayplay.replay.gpu.description import Gpu
from rayplay.replay.input import rays
from rayplay.replay.input.coalescer import static_of
from rayplay.replay.input.latencies import retimed
from rayplay.replay.input.program import load_program
from rayplay.replay.input.window import Window
from rayplay.replay.launch.selection import Selection
from rayplay.replay.results.ledger import Counters, Ledger
from rayplay.replay.results.metrics import METRICS, Result, entry, ratio, sm_values
from rayplay.replay.results.tables import kernel_table
from rayplay.replay.run.progress import Standing
from rayplay.replay.sm import models
from rayplay.replay.sm import warps as scheduler
from rayplay.replay.sm.ctas import occupancy
from rayplay.replay.sm.gatsim import algorithm1, units

UNDEFINED = {
    "l2_miss_rate": "an L2",
    "rt_efficiency": "lanes in an RT unit",
    "dram_efficiency": "DRAM",
    "bandwidth_utilisation": "DRAM",
}
COMPILE_SECONDS = 4
NO_CTAS = np.zeros((0, 2), np.int64)


class Machine(Inputs):
    """The SMs of Algorithm 1; they hold state during one launch only."""

    def __init__(self, trace: Trace, gpu: Gpu, latencies: dict[str, Any] | None, selection: Selection) -> None:
        if not gpu.gatsim.record_cycles and "rays" in trace.tables and trace.rows("rays"):
            raise UserError(
                f"{trace.path}: model gatsim must know what a BVH record costs to replay rays:"
                " gatsim.record_cycles is 0"
            )
        models.expect_policy("gatsim", gpu.scheduler)
        super().__init__(trace, gpu, selection)
        self.program = load_program(self.tables, retimed(self.tables, latencies, gpu.latencies), str(trace.path))
        instructions, kernels = self.tables["instructions"], self.tables["kernels"]
        shared = replace(gpu.lsu, wide_conflicts=True, shared_banks=32, one_broadcast=False, local_block_bytes=0)
        shared = replace(shared, warp_parts=1)
        static = static_of(instructions, kernels, self.warps_per_cta, self.held_ctas * 0, shared)
        self.window = Window(trace, self.program, static, False, rays.NO_TABLE)
        self.local = instructions["memory_space"].astype(str) == "local"

    def compile(self) -> None:
        """Have the engine compiled, or loaded from its cache."""
        self.run_ctas(NO_CTAS, 1, 1, 0)
        self.engine_cpu_seconds = 0.0

    def run_ctas(self, bounds: np.ndarray, warps_per_cta: int, places: int, start: int) -> tuple[int, Counters]:
        """Run CTAs (rows first warp, end) from ``start`` on, ``places`` an SM: last cycle, counters."""
        spec, l1 = self.gpu.sm, self.gpu.l1
        cache = (l1.bytes // (l1.line_bytes * l1.ways), l1.ways, l1.line_bytes)
        with GPU_BYTES.bound(f"GPU {self.gpu.name}: its units"):
            core = scheduler.make_state(self.gpu.scheduler, spec.count, spec.warps)
            given = spec.count, places, warps_per_cta, bounds, cache, self.local, start
            state = units.make_state(self.gpu.gatsim, *given)
        while not self._advance(state, core):
            self._load(state, core)
        return int(state.clock.max()), {"sm": scheduler.stats(core), "l1d": units.stats(state)}

    def _advance(self, state: units.Gatsim, core: scheduler.Warps) -> bool:
        begun = time.process_time()
        complete: bool = algorithm1.run(
            state, core, self.program, self.window.work(), longest_lanes(self.window), self.window.loaded_warps
        )
        self.engine_cpu_seconds += time.process_time() - begun
        return complete

    def _load(self, state: units.Gatsim, core: scheduler.Warps) -> None:
        """Load the next warps, and move every cursor by what the window forgot."""
        oldest = int(state.bounds[np.minimum(state.next_cta, len(state.bounds) - 1), 0].min())
        for sm in range(len(core.mask)):
            here = sm * core.warps + scheduler.live_warps(core, sm)
            oldest = min([oldest, *core.warp[here, scheduler.NUMBER].tolist()])
        moved = self.window.load(lambda first, last: np.arange(first, last) >= oldest)
        models.move_cursors(core, moved)


def longest_lanes(window: Window) -> np.ndarray:
    """Records of the longest lane of each trace operation of the window: int64[trace operations]."""
    records = window.records()
    if len(records.first_ray) < 2:
        return np.zeros(0, np.int64)
    return np.maximum.reduceat(np.diff(records.first_node), records.first_ray[:-1]).astype(np.int64)


@dataclass
class Replay:
    """A replay in progress: the machine, and what the launches counted until now."""

    machine: Machine

    def __post_init__(self) -> None:
        self.ledger = Ledger()
        self.spans: dict[int, tuple[int, int]] = {}
        self.totals: Counters = {}

    def run(self, progress: Callable[[Standing], None], notes: Checkpoints | None = None) -> None:
        """Replay every launch, one after the other. ``notes`` is not used: a launch is never taken up midway."""
        machine, start = self.machine, 0
        self.totals = machine.run_ctas(NO_CTAS, 1, 1, 0)[1]
        self.ledger.open(self.totals)
        for launch in machine.launches:
            bounds = machine.ctas[slice(*launch.ctas)]
            places = occupancy(machine.gpu.sm, launch.need, len(bounds)) if len(bounds) else 1
            opens = start + machine.gpu.sm.launch_cycles(launch.grid)
            end, counters = machine.run_ctas(bounds, launch.need.warps, places, opens)
            self.totals = {
                unit: {name: found + counters[unit][name] for name, found in group.items()}
                for unit, group in self.totals.items()
            }
            self.spans[launch.kernel_id] = (start, end)
            self.ledger.note_interval(end, self.totals)
            self.ledger.note_kernel(end, self.totals, launch.kernel_id, launch.stream)
            progress(Standing(end, int(self.totals["sm"]["warp_instructions"].sum()), machine.instructions))
            start = end

    def result(self) -> Result:
        """Metrics and tables at the end."""
        machine = self.machine
        cycles = max((end for _, end in self.spans.values()), default=0)
        total = {unit: {name: int(v.sum()) for name, v in group.items()} for unit, group in self.totals.items()}
        lines = total["l1d"]
        rate = ratio(lines["read_misses"] + lines["write_misses"], sum(lines.values()))
        found = dict(sm_values(machine.gpu, total["sm"], cycles)) | dict.fromkeys(UNDEFINED)
        found["l1d_miss_rate"] = None if machine.gpu.gatsim.caches == "perfect" else rate
        meaning = {name: f"Not defined: GATSim does not model {lacks}" for name, lacks in UNDEFINED.items()}
        meaning["l1d_miss_rate"] = "Lines of memory instructions that missed / all; not defined with perfect caches"
        summary = {name: entry(name, found[name], meaning.get(name)) for name in METRICS if name in found}
        return Result(summary, kernel_table(machine.launch_of, self.spans), None, self.ledger, machine.gpu)
