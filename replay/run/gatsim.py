"""Replay a trace with GATSim's model: launch after launch, loading warps as the SMs need them, and its metrics.

A result has the format of the other models'. GATSim has no L2, no DRAM and no RT unit: metrics of theirs are null and
say so; the timeline has one interval a launch; there are no pixels, since lanes are not told apart in time.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.guard.errors import UserError
from rayplay.replay.gpu.description import Gpu
from rayplay.replay.input.coalescer import static_of
from rayplay.replay.input.program import load_program
from rayplay.replay.input.window import Window
from rayplay.replay.launch.launches import read_launches
from rayplay.replay.launch.selection import Selection
from rayplay.replay.results.ledger import Counters, Ledger
from rayplay.replay.results.metrics import Result, entry, ratio
from rayplay.replay.results.tables import kernel_table
from rayplay.replay.rt.spec import NO_TABLE
from rayplay.replay.run.progress import Standing
from rayplay.replay.sm import models as model
from rayplay.replay.sm import warps as scheduler
from rayplay.replay.sm.ctas import occupancy
from rayplay.replay.sm.gatsim import algorithm1 as gatsim
from rayplay.replay.sm.gatsim import units as gatsim_units
from rayplay.replay.sm.warps import (
    NUMBER,
)  # fmt: skip

UNDEFINED = {
    "l2_miss_rate": "an L2",
    "rt_efficiency": "lanes in an RT unit",
    "dram_efficiency": "DRAM",
    "bandwidth_utilisation": "DRAM",
}


@dataclass
class Replay:
    """A replay in progress: the window of the trace, and what the launches counted until now."""

    trace: Trace
    gpu: Gpu
    characterisation: dict[str, Any] | None
    selection: Selection
    spans: dict[int, tuple[int, int]] = field(default_factory=dict)  # kernel -> first cycle, first cycle after it
    ledger: Ledger = field(default_factory=Ledger)
    totals: Counters = field(default_factory=dict)
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
        launches, self.ctas = read_launches(self.trace, self.gpu, self.program.length)
        self.launches = self.selection.choose(launches)
        warps = np.array([launch.need.warps for launch in launches], np.int64)
        static = static_of(instructions, self.trace.read("kernels"), warps, warps * 0, True)
        self.window = Window(self.trace, self.program, static, False, NO_TABLE)
        self.local = instructions["memory_space"].astype(str) == "local"

    def run(self, progress: Callable[[Standing], None]) -> None:
        """Replay every launch, one after the other."""
        start, total = 0, sum(launch.instructions for launch in self.launches)
        self.totals = self.run_blocks(np.zeros((0, 2), np.int64), 1, 1, 0)[1]
        self.ledger.open(self.totals)
        for launch in self.launches:
            bounds = self.ctas[slice(*launch.ctas)]
            places = occupancy(self.gpu.sm, launch.need, len(bounds)) if len(bounds) else 1
            opens = start + self.gpu.sm.kernel_launch_cycles
            end, counters = self.run_blocks(bounds, launch.need.warps, places, opens)
            self.totals = {
                unit: {name: found + counters[unit][name] for name, found in group.items()}
                for unit, group in self.totals.items()
            }
            self.spans[launch.kernel_id] = (start, end)
            self.ledger.note_interval(end, self.totals)
            self.ledger.note_kernel(end, self.totals, launch.kernel_id, launch.stream)
            progress(Standing(end, int(self.totals["sm"]["warp_instructions"].sum()), total))
            start = end

    def run_blocks(self, bounds: np.ndarray, warps_per_block: int, places: int, start: int) -> tuple[int, Counters]:
        """Run threadblocks (rows first warp, end) from ``start`` on, ``places`` an SM: last cycle, counters."""
        spec, l1 = self.gpu.sm, self.gpu.l1
        core = scheduler.make_state(self.gpu.scheduler, spec.count, spec.warps)
        cache = (l1.bytes // (l1.line_bytes * l1.ways), l1.ways, l1.line_bytes)
        state = gatsim_units.make_state(
            self.gpu.gatsim, spec.count, places, warps_per_block, bounds, cache, self.local, start
        )
        while not self._advance(state, core):
            self._load(state, core)
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
        for sm in range(len(core.mask)):
            here = sm * core.warps + scheduler.live_warps(core, sm)
            oldest = min([oldest, *core.warp[here, NUMBER].tolist()])
        moved = self.window.load(lambda first, last: np.arange(first, last) >= oldest)
        model.move_cursors(core, moved)


def longest_lanes(window: Window) -> np.ndarray:
    """Records of the longest lane of each trace operation of the window: int64[trace operations]."""
    records = window.records()
    if len(records.first_ray) < 2:
        return np.zeros(0, np.int64)
    return np.maximum.reduceat(np.diff(records.first_node), records.first_ray[:-1]).astype(np.int64)


def simulate(
    trace: Trace, gpu: Gpu, characterisation: dict[str, Any] | None, progress: Callable[[Standing], None],
    selection: Selection,
) -> Result:  # fmt: skip
    """Replay a trace with GATSim's model; ``driver.simulate`` says what the arguments are."""
    replay = Replay(trace, gpu, characterisation, selection)
    replay.run_blocks(np.zeros((0, 2), np.int64), 1, 1, 0)  # compiles the engine
    replay.engine_cpu_seconds = 0.0
    begun, begun_cpu = time.perf_counter(), time.process_time()
    replay.run(progress)
    launch_of = {launch.kernel_id: launch for launch in replay.launches}
    result = Result(dict(metrics(replay)), kernel_table(launch_of, replay.spans), None, replay.ledger, gpu)
    result.host |= {
        "replay_wall_seconds": time.perf_counter() - begun,
        "replay_cpu_seconds": time.process_time() - begun_cpu,
        "engine_cpu_seconds": replay.engine_cpu_seconds,
        "threads": 1,
    }
    return result


def metrics(replay: Replay) -> Iterator[tuple[str, dict[str, Any]]]:
    """The metrics in the order of the other models'."""
    cycles = max((end for _, end in replay.spans.values()), default=0)
    total = {unit: {name: int(v.sum()) for name, v in group.items()} for unit, group in replay.totals.items()}
    sm, lines = total["sm"], total["l1d"]
    threads, issued = sm["thread_instructions"], sm["warp_instructions"]
    yield "gpu_cycles", entry("gpu_cycles", cycles)
    yield "gpu_ipc", entry("gpu_ipc", ratio(threads, cycles))
    misses = lines["read_misses"] + lines["write_misses"]
    rate = None if replay.gpu.gatsim.caches == "perfect" else ratio(misses, sum(lines.values()))
    meaning = "Lines of memory instructions that missed / all; not defined with perfect caches"
    yield "l1d_miss_rate", entry("l1d_miss_rate", rate, meaning)
    for name, lacks in UNDEFINED.items():
        yield name, entry(name, None, f"Not defined: GATSim does not model {lacks}")
    yield "seconds", entry("seconds", cycles / (replay.gpu.sm.clock_khz * 1000))
    yield "thread_instructions", entry("thread_instructions", threads)
    yield "warp_instructions", entry("warp_instructions", issued)
    yield "sm_ipc", entry("sm_ipc", ratio(issued, cycles * replay.gpu.sm.count))
    yield "simt_efficiency", entry("simt_efficiency", ratio(threads, 32 * issued))
    yield "warps", entry("warps", sm["retired_warps"])
