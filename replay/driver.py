"""Replay a trace: launch after launch, loading warps as they are needed and noting the counters of every interval."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from formats.errors import UserError
from formats.reader import Trace, open_trace
from formats.trace import CHARACTERISATION
from replay import crossbar, dispatch, dram_state, l1, l2_state, lsu, partition, port, rt_unit_state, scheduler, step
from replay.gpu_description import Gpu, load
from replay.launch import Launch, read_launches
from replay.metrics import Counters, Result, collect, unit_counters
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
from replay.work import Program

PATIENCE_INTERVALS = 20  # without one instruction, response or record, after which a replay is given up
INTERVAL_CYCLES = 10_000  # rows of the timeline; a quantum never crosses their bounds


def simulate(
    trace: Trace | Path | str,
    gpu: Gpu | str,
    quantum: int | None = None,
    threads: int = 1,
    characterisation: Path | str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Result:
    """Replay a trace on a GPU.

    trace             an open trace, or its path.
    gpu               a description, or the name or path of one.
    quantum           cycles between two barriers, at most ``gpu.longest_quantum`` (the default); changes no result.
    threads           threads that share the SMs; changes no result.
    characterisation  Parquet file to use instead of the trace's own table.
    progress          called as ``progress(retired warps, warps)`` now and then.

    Raises ``UserError`` for anything wrong with the inputs, and for a replay that can make no progress.
    """
    trace = trace if isinstance(trace, Trace) else open_trace(trace)
    gpu = load(gpu) if isinstance(gpu, str) else gpu
    longest = gpu.longest_quantum
    if quantum is not None and not 1 <= quantum <= longest:
        raise UserError(f"quantum must be 1 to {longest}, the longest that is exact on GPU {gpu.name}, not {quantum}")
    if threads < 1:
        raise UserError(f"threads must be at least 1, not {threads}")
    replay = Replay(trace, gpu, quantum or longest, threads, read_characterisation(trace, characterisation))
    replay.compile()
    begun, begun_cpu = time.perf_counter(), time.process_time()
    replay.run(progress or (lambda retired, total: None))
    result = collect(replay)
    result.host |= {
        "replay_wall_seconds": time.perf_counter() - begun,
        "replay_cpu_seconds": time.process_time() - begun_cpu,
        "engine_cpu_seconds": replay.engine_cpu_seconds,
        "threads": threads,
        "quantum_cycles": replay.quantum,
    }
    return result


def read_characterisation(trace: Trace, path: Path | str | None) -> dict[str, Any] | None:
    """The characterisation of the trace's instructions: its own table, or a Parquet file of the same columns."""
    if path is None:
        return trace.read("characterisation") if "characterisation" in trace.tables else None
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not Path(path).is_file():
        raise UserError(f"{path}: no such characterisation file")
    try:
        table = pq.read_table(path, page_checksum_verification=True)
        columns = {column.name: table.column(column.name).to_numpy() for column in CHARACTERISATION.columns}
    except (pa.ArrowException, KeyError, OSError) as error:
        raise UserError(f"{path}: must be a Parquet file of the table characterisation: {error}") from None
    return columns


@dataclass
class Replay:
    """A replay in progress: the units' state, the window of the trace, and what the intervals counted."""

    trace: Trace
    gpu: Gpu
    quantum: int
    threads: int
    characterisation: dict[str, Any] | None
    end_cycles: dict[int, int] = field(default_factory=dict)
    snapshots: list[tuple[int, int, Counters]] = field(default_factory=list)

    def __post_init__(self) -> None:
        instructions, blocks = self.trace.read("instructions"), self.trace.read("blocks")
        tables = {"instructions": instructions, "blocks": blocks}
        self.program: Program = load_program(tables, self.characterisation, str(self.trace.path))
        self.launches: list[Launch] = read_launches(self.trace, self.gpu, self.program.length)
        kernels = self.trace.read("kernels")
        per_lane = self.trace.image_size is not None and "threads" in self.trace.tables
        self.window = Window(self.trace, self.program, Static(instructions, kernels), per_lane)
        self.lane_cycles = np.zeros((self.trace.rows("warps") + 1 if per_lane else 1, 32), np.int64)
        self.clock = np.zeros(1, np.int64)
        self.engine_cpu_seconds = 0.0
        self.done_before = self.idle_intervals = 0
        self._make_units()

    def _make_units(self) -> None:
        gpu, sms = self.gpu, self.gpu.sm.count
        in_flight = sms * gpu.interconnect.packets_in_flight
        self.warps = scheduler.make_state(gpu.scheduler, sms, gpu.sm.warps)
        self.lsu = lsu.make_state(gpu.lsu, gpu.l1, sms)
        self.l1 = l1.make_state(gpu.l1, sms, gpu.interconnect.packets_in_flight)
        self.rt = rt_unit_state.make_state(gpu.rt, sms)
        self.port = port.make_state(gpu.interconnect, sms)
        ways = crossbar.make_state(gpu.request_cycles, gpu.interconnect.reply_cycles, self.quantum, in_flight)
        slices = l2_state.make_state(gpu.l2, gpu.memory.count, in_flight, gpu.dram)
        self.memory = step.Memory(ways, slices, dram_state.make_state(gpu.dram, gpu.memory.count, gpu.sm.clock_khz))

    def compile(self) -> None:
        """Have the engine compiled, or loaded from its cache, by running no cycle: the host's times do not count it."""
        launch = next((launch for launch in self.launches if len(launch.warps)), None)
        if launch is not None:
            self.dispatch = dispatch.make_state(self.gpu.sm, launch.warps, launch.warps_per_cta, launch.places, 0)
            self._run_until(0)
            self.engine_cpu_seconds = 0.0

    def run(self, progress: Callable[[int, int], None]) -> None:
        """Replay every launch, one after the other."""
        end = 0
        for launch in self.launches:
            self._launch(launch, end + self.gpu.sm.kernel_launch_cycles, progress)
            end = self.end_cycles[launch.kernel_id] if len(launch.warps) else end + self.gpu.sm.kernel_launch_cycles
            self.end_cycles[launch.kernel_id] = end

    def _launch(self, launch: Launch, start: int, progress: Callable[[int, int], None]) -> None:
        if not len(launch.warps):
            return
        self.clock[0] = start
        self.dispatch = dispatch.make_state(self.gpu.sm, launch.warps, launch.warps_per_cta, launch.places, start)
        l1.invalidate(self.l1)
        total, status = self.trace.rows("warps"), step.RUNNING
        while status != step.DONE:
            if status == step.NEEDS_WARPS:
                self._load()
            stop = (int(self.clock[0]) // INTERVAL_CYCLES + 1) * INTERVAL_CYCLES
            status = self._run_until(stop)
            progress(int(self.warps.stats[:, RETIRED_WARPS].sum()), total)
            if status == step.RUNNING:
                self._note(launch, int(self.clock[0]))
            if status == step.STUCK or not self._makes_progress():
                raise UserError(self._describe_stuck(launch))
        for controller in range(self.gpu.memory.count):
            partition.drain(self.memory.l2, self.memory.dram, controller)
        self.end_cycles[launch.kernel_id] = int(self.dispatch.unit[:, dispatch.LAST_RETIRED].max()) + 1
        self._note(launch, self.end_cycles[launch.kernel_id])

    def _run_until(self, stop: int) -> int:
        begun = time.process_time()
        try:
            return self._run_quanta(stop)
        finally:
            self.engine_cpu_seconds += time.process_time() - begun

    def _run_quanta(self, stop: int) -> int:
        inputs = (
            self.warps, self.dispatch, self.lsu, self.l1, self.rt, self.port, self.program, self.window.work(),
            self.window.records(), self.lane_cycles, self.memory, self.clock, stop, self.quantum,
            self.window.loaded_warps,
        )  # fmt: skip
        if self.threads == 1:
            return step.run(*inputs)
        from replay import parallel

        return parallel.run(*inputs, self.threads)

    def _load(self) -> None:
        """Load the next warps, and move every cursor by what the window forgot."""
        shift = self.window.load(self._oldest_live_warp())
        self.warps.warp[:, [VISIT, VISIT_END, FIRST_VISIT]] -= shift["block"]
        self.warps.warp[:, [ACCESS, ACCESS_END]] -= shift["access_key"]
        self.warps.warp[:, [TRACE, TRACE_END]] -= shift["trace_visit"]
        self.lsu.operation[:, [lsu.CURSOR, lsu.END]] -= shift["sector"]
        self.rt.lane[[rt_unit_state.CURSOR, rt_unit_state.END]] -= shift["node"]
        self.rt.waiting[:] -= shift["trace_visit"] << 8

    def _oldest_live_warp(self) -> int:
        """The first warp that has not retired."""
        handed = self.dispatch
        following = int(handed.next_cta[0])
        oldest = int(handed.warps[following, 0]) if following < len(handed.warps) else int(handed.warps[-1, 1])
        for row in range(len(self.warps.members)):
            here = row // self.warps.schedulers * self.warps.warps
            live = self.warps.member[row, : self.warps.members[row]]
            oldest = min([oldest, *self.warps.warp[here + live, NUMBER].tolist()])
        for sm in range(self.gpu.sm.count):
            for at in range(handed.unit[sm, dispatch.GRANT_HEAD], handed.unit[sm, dispatch.GRANT_TAIL]):
                cta = handed.grant[sm, at & (dispatch.MAX_CTAS - 1), 1]
                oldest = min(oldest, int(handed.warps[cta, 0]))
        return oldest

    def _note(self, launch: Launch, cycle: int) -> None:
        """Note the counters of all units at a cycle."""
        self.snapshots.append((cycle, launch.kernel_id, unit_counters(self)))

    def _makes_progress(self) -> bool:
        """Whether anything was issued, answered or delivered in the last intervals."""
        done = (
            int(self.warps.stats.sum())
            + int(self.port.stats.sum())
            + int(self.rt.stats[:, rt_unit_state.RECORDS].sum())
        )
        self.idle_intervals = self.idle_intervals + 1 if done == self.done_before else 0
        self.done_before = done
        return self.idle_intervals < PATIENCE_INTERVALS

    def _describe_stuck(self, launch: Launch) -> str:
        live, held = int(self.warps.members.sum()), int(self.dispatch.cta[:, dispatch.ARRIVED].sum())
        flying = int(self.port.port[:, port.IN_FLIGHT].sum())
        return (
            f"{self.trace.path}: kernel {launch.name} must end, but at cycle {int(self.clock[0])} nothing happens"
            f" any more: {live} warps live, {held} of them at a barrier, {flying} requests"
            " under way"
        )
