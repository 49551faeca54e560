"""Replay a trace: launch after launch, loading warps as they are needed and noting the counters of every interval."""

import operator
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from rayplay.formats.dataset.reader import Trace, open_trace
from rayplay.formats.guard.errors import UserError
from rayplay.formats.laws.expect import expect_program
from rayplay.formats.place.checkpoint import Checkpoints
from rayplay.replay.engine import quantum as step  # fmt: skip
from rayplay.replay.engine import rounds  # fmt: skip
from rayplay.replay.engine.rounds import NOW
from rayplay.replay.gpu.description import Gpu, load
from rayplay.replay.input.coalescer import static_of
from rayplay.replay.input.program import read_characterisation
from rayplay.replay.input.window import Window
from rayplay.replay.input.work import Program
from rayplay.replay.jit import rows  # fmt: skip
from rayplay.replay.jit.bits import FAR
from rayplay.replay.jit.references import Parts, refer
from rayplay.replay.jit.team import Team
from rayplay.replay.launch.host_copies import Copies
from rayplay.replay.launch.launches import Launch, read_launches
from rayplay.replay.launch.selection import Selection
from rayplay.replay.launch.streams import Streams
from rayplay.replay.lsu import state as lsu_state  # fmt: skip
from rayplay.replay.memory import (
    l1,  # fmt: skip
    port,  # fmt: skip
)
from rayplay.replay.memory.crossbar import crossbar  # fmt: skip
from rayplay.replay.memory.dram import state as dram_state  # fmt: skip
from rayplay.replay.memory.l2 import state as l2_state  # fmt: skip
from rayplay.replay.results import per_kernel as attribution  # fmt: skip
from rayplay.replay.results.counters import unit_counters
from rayplay.replay.results.ledger import Ledger
from rayplay.replay.results.metrics import Result, collect
from rayplay.replay.rt import state as rt_unit_state  # fmt: skip
from rayplay.replay.rt.spec import TABLES
from rayplay.replay.run import checkpoint  # fmt: skip
from rayplay.replay.run import gatsim as gatsim_run  # fmt: skip
from rayplay.replay.run.progress import Standing, told_when_long
from rayplay.replay.sm import ctas as dispatch  # fmt: skip
from rayplay.replay.sm import models
from rayplay.replay.sm.models import Core
from rayplay.replay.sm.warps import NUMBER, WARP_INSTRUCTIONS
from rayplay.replay.stuck.watchdog import Watchdog

INTERVAL_CYCLES = 10_000  # of a row of the timeline, unless told otherwise; a quantum never crosses their bounds
LONGEST_INTERVAL_CYCLES, MOST_THREADS = 10**15, 256
PIECES_AHEAD = 6  # of the trace's tables, which a thread of their own reads where there are several: 4 MB each at most


def simulate(
    trace: Trace | Path | str,
    gpu: Gpu | str,
    quantum: int | None = None,
    threads: int = 1,
    characterisation: Path | str | None = None,
    progress: Callable[[Standing], None] | None = None,
    selection: Selection | None = None,
    model: str | None = None,
    interval: int = INTERVAL_CYCLES,
    notes: Checkpoints | None = None,
) -> Result:
    """Replay a trace on a GPU.

    trace             an open trace, or its path.
    gpu               a description, or the name or path of one.
    quantum           cycles between two barriers, at most ``gpu.longest_quantum`` (the default); changes no result.
    threads           threads that share the SMs; changes no result.
    characterisation  Parquet file to use instead of the trace's own table.
    progress          called with the ``Standing`` now and then.
    selection         the kernels to replay; all by default.
    model             one of ``work.MODELS``; None for ``characterised`` with a characterisation, else ``pipeline``.
    interval          cycles of a row of the timeline; changes nothing else.
    notes             where checkpoints are kept, and maybe one to go on from; changes no result.

    Raises ``UserError`` for anything wrong with the inputs, and for a replay that can make no progress.
    """
    trace = trace if isinstance(trace, Trace) else open_trace(trace)
    gpu = load(gpu) if isinstance(gpu, str) else gpu
    longest = gpu.longest_quantum
    if quantum is not None and not 1 <= quantum <= longest:
        raise UserError(f"quantum must be 1 to {longest}, the longest that is exact on GPU {gpu.name}, not {quantum}")
    if not 1 <= threads <= MOST_THREADS:
        raise UserError(f"threads must be 1 to {MOST_THREADS}, not {threads}")
    if not 1 <= interval <= LONGEST_INTERVAL_CYCLES:
        raise UserError(f"interval must be 1 to {LONGEST_INTERVAL_CYCLES:,} cycles, not {interval}")
    if model == "pipeline" and characterisation is not None:
        raise UserError(f"characterisation {characterisation}: the model pipeline takes its latencies from the GPU")
    expect_program(trace)
    latencies, report = read_characterisation(trace, characterisation), progress or (lambda standing: None)
    if model == "gatsim":
        return gatsim_run.simulate(trace, gpu, latencies, report, selection or Selection())
    replay = Replay(trace, gpu, quantum or longest, threads, latencies, selection or Selection(), model, interval)
    with told_when_long("compiling the engine for this model, once after an installation: about a minute"):
        replay.compile()
    begun, begun_cpu = time.perf_counter(), time.process_time()
    replay.run(report, notes)
    result = collect(replay)
    result.host |= {
        "replay_wall_seconds": time.perf_counter() - begun,
        "replay_cpu_seconds": time.process_time() - begun_cpu,
        "engine_cpu_seconds": replay.engine_cpu_seconds,
        "threads": threads,
        "quantum_cycles": replay.quantum,
    }
    return result


@dataclass
class Replay:
    """A replay in progress: the units' state, the window of the trace, and what the intervals counted."""

    trace: Trace
    gpu: Gpu
    quantum: int
    threads: int
    characterisation: dict[str, Any] | None
    selection: Selection = field(default_factory=Selection)
    model: str | None = None
    interval: int = INTERVAL_CYCLES
    spans: dict[int, tuple[int, int]] = field(default_factory=dict)  # kernel -> first cycle, first cycle after it
    ledger: Ledger = field(default_factory=Ledger)

    def __post_init__(self) -> None:
        instructions, blocks = self.trace.read("instructions"), self.trace.read("blocks")
        tables = {"instructions": instructions, "blocks": blocks}
        kernels = tables["kernels"] = self.trace.read("kernels")
        launches, ctas = read_launches(self.trace, self.gpu, blocks["instruction_count"].astype(np.int64))
        self.launches = self.selection.choose(launches)
        self.launch_of = {launch.kernel_id: launch for launch in self.launches}
        self.streams = Streams(self.launches, self.gpu.sm.concurrent_kernels)
        self.program, self.warps = self._make_core(tables)
        self.dispatch = dispatch.make_state(self.gpu.sm, ctas, self.streams.most_at_once)
        per_lane = self.trace.image_size is not None and "threads" in self.trace.tables
        warps = np.array([launch.need.warps for launch in launches], np.int64)
        held = np.array([launch.places for launch in launches], np.int64) * self.gpu.sm.count
        lsu = self.gpu.lsu
        static = static_of(
            instructions, kernels, warps, held * lsu.local_interleaved, lsu.wide_conflicts, lsu.local_block_bytes
        )
        table = TABLES.index(self.gpu.rt.intersection_table)
        ahead = PIECES_AHEAD if self.threads > 1 else 0
        self.window = Window(self.trace, self.program, static, per_lane, table, ahead)
        self.lane_cycles = np.zeros((self.trace.rows("warps") + 1 if per_lane else 1, 32), np.int64)
        self.clock = rounds.make_clock()
        self.team = Team(self.threads)
        self.engine_cpu_seconds = 0.0
        self._known: Parts = {}  # of the engine
        self._engine_of: tuple[tuple[Any, ...], step.Engine] | None = None  # what it was made of, and the engine
        self.finished: list[Launch] = []
        self.sharing: dict[int, Launch] = {}  # last kernel of each stream, by its place, since the GPU was empty
        try:
            self._make_units()
        except (MemoryError, OverflowError, OSError) as error:
            raise UserError(f"GPU {self.gpu.name}: its units do not fit into this machine's memory: {error}") from None
        self.copies = Copies(self.trace, self.gpu.memory.copies)
        self.ledger.open(unit_counters(self, 0))

    def _make_core(self, tables: dict[str, dict[str, Any]]) -> tuple[Program, Core]:
        gpu, place = self.gpu, str(self.trace.path)
        name = models.choose(self.model, self.characterisation)
        return models.make(
            name, gpu.scheduler, gpu.pipeline, gpu.texture, gpu.sm, tables, self.characterisation, place,
            self.streams.places,
        )  # fmt: skip

    def _make_units(self) -> None:
        gpu, sms, streams = self.gpu, self.gpu.sm.count, self.streams.places
        core, slices = gpu.sm.clock_khz, gpu.l2.slices_per_controller
        self.lsu = lsu_state.make_state(
            gpu.lsu, gpu.l1, gpu.texture, sms, models.has_latches(self.warps), gpu.interconnect.packets_in_flight,
            streams,
        )  # fmt: skip
        self.l1 = l1.make_state(gpu.l1, sms, gpu.interconnect.packets_in_flight, streams)
        self.rt = rt_unit_state.make_state(gpu.rt, sms, streams)
        self.port = port.make_state(gpu.interconnect, sms, gpu.longest_quantum, streams)
        memory, l2_khz, in_flight = gpu.memory, gpu.memory.l2_clock_khz, sms * gpu.interconnect.packets_in_flight
        self.memory = step.Memory(
            crossbar.make_state(sms, gpu.l2_slices, core, memory.interconnect_clock_khz, l2_khz),
            l2_state.make_state(gpu.l2, gpu.addresses, gpu.interconnect.out_packets, in_flight, core, l2_khz, streams),
            dram_state.make_state(
                gpu.dram, memory.count, slices, gpu.l2.to_dram_queue, gpu.l2.from_dram_queue,
                gpu.l2.latency_cycles + gpu.clock_slack, core, l2_khz, streams,
            ),
        )  # fmt: skip
        self.warps, self.dispatch, self.lsu, self.l1, self.rt, self.port, self.memory = rows.together(
            (self.warps, self.dispatch, self.lsu, self.l1, self.rt, self.port, self.memory)
        )

    def compile(self) -> None:
        """Have the engine compiled, or loaded from its cache: the host's times do not count it."""
        step.compile_for(self._engine())

    def run(self, progress: Callable[[Standing], None], notes: Checkpoints | None = None) -> None:
        """Replay every launch, each as soon as it may begin."""
        if notes is not None and notes.resumed is not None:
            checkpoint.go_on(self, notes.resumed)
        else:
            self._launch()
        watchdog = Watchdog(self.gpu)
        total, status = sum(launch.instructions for launch in self.launches), step.RUNNING
        while status != step.DONE:
            stop = (int(self.clock[NOW]) // self.interval + 1) * self.interval
            status = self._run_until(stop)
            progress(Standing(int(self.clock[NOW]), int(self.warps.stats[:, WARP_INSTRUCTIONS].sum()), total))
            if status == step.NEEDS_WARPS:
                self._load()
            elif status == step.KERNEL_OVER:
                self._finish()
                self._launch()
            elif status == step.RUNNING and self.streams.running:
                now = int(self.clock[NOW])
                self.ledger.note_interval(now, unit_counters(self, now))
            watchdog.look(self, status)
            if notes is not None and notes.are_due and status != step.DONE:
                notes.save(*checkpoint.state_of(self))
        attribution.note_kernels(self)

    def _launch(self) -> None:
        """Launch every kernel that may begin now."""
        now = int(self.clock[NOW])
        for launch in self.streams.launch():
            if len(self.spans) == 0 or (self.streams.most_at_once == 1 and self.gpu.l1.is_emptied):
                self.l1 = l1.split(self.l1, self.gpu.l1, launch.need.shared_bytes * launch.places)
            stream = attribution.begin(self, launch, now)
            self.copies.make(launch.kernel_id, self.memory.l2, now, stream)
            self.spans[launch.kernel_id] = (now, now)
            opens = now + self.gpu.sm.kernel_launch_cycles
            dispatch.admit(self.dispatch, launch.kernel_id, launch.ctas, opens, launch.need, launch.places, stream)
        if dispatch.over(self.dispatch, now):  # without work, and without a latency
            self._finish()
            self._launch()

    def _finish(self) -> None:
        """Note the end of every kernel that is over."""
        for row in dispatch.over(self.dispatch, int(self.clock[NOW])):
            kernel_id = int(self.dispatch.kernel[row, dispatch.KERNEL])
            self.spans[kernel_id] = (self.spans[kernel_id][0], dispatch.dismiss(self.dispatch, row))
            self.streams.finish(kernel_id)
            self.finished.append(self.launch_of[kernel_id])
        if not self.streams.running and not self.streams.is_over:
            attribution.note_kernels(self)

    def _run_until(self, stop: int) -> int:
        begun = time.process_time()
        status = step.run(self._engine(), stop, self.quantum, self.window.loaded_warps, self.team)
        self.engine_cpu_seconds += time.process_time() - begun
        return status

    def _engine(self) -> step.Engine:
        """The units and what is loaded of the trace, as compiled code takes them; made again once one is replaced."""
        parts = (
            self.warps, self.dispatch, self.lsu, self.l1, self.rt, self.port, self.memory, self.window.arrays,
        )  # fmt: skip
        if self._engine_of is None or any(map(operator.is_not, parts, self._engine_of[0])):
            engine: step.Engine = refer(
                step.Engine(
                    self.warps, self.dispatch, self.lsu, self.l1, self.rt, self.port, self.program, self.window.work(),
                    self.window.records(), self.lane_cycles, self.memory, self.clock,
                ),
                self._known,
            )  # fmt: skip
            self._engine_of = (parts, engine)
        return self._engine_of[1]

    def _load(self) -> None:
        """Load the next warps, and move every cursor by what the window forgot."""
        self._engine_of = None  # it holds the window's arrays
        self._known = {name: part for name, part in self._known.items() if name not in ("work", "records")}
        moved = self.window.load(self._needed_warps)
        models.move_cursors(self.warps, moved)
        lane, waiting, operation = self.rt.lane, self.rt.waiting, self.lsu.operation
        operation[:, [lsu_state.CURSOR, lsu_state.END]] -= moved.of_rows("sector", operation[:, lsu_state.CURSOR])[
            :, None
        ]
        for name, columns in (
            ("node", [rt_unit_state.CURSOR, rt_unit_state.END]),
            ("store", [rt_unit_state.TABLE_STORE, rt_unit_state.TABLE_END]),
        ):
            lane[columns] -= moved.of_rows(name, lane[columns[0]])
        waiting[:] -= moved.of_rows("trace_visit", waiting >> 8) << 8

    def _needed_warps(self, first: int, last: int) -> np.ndarray:
        """Which of the warps ``first`` to ``last`` (exclusive) are not over: those that run, and those to come."""
        needed, handed = np.zeros(last - first, bool), self.dispatch
        granted = handed.unit[handed.unit[:, dispatch.START] < FAR, dispatch.CTA].tolist()
        ctas = [launch.ctas for launch in self.streams.waiting()] + [(cta, cta + 1) for cta in granted]
        ctas += [(int(row[dispatch.NEXT]), int(row[dispatch.END])) for row in handed.kernel]
        for begin, end in ctas:
            if begin < end:
                needed[max(handed.warps[begin, 0] - first, 0) : max(handed.warps[end - 1, 1] - first, 0)] = True
        live = self.warps.warp[models.live_warps(self.warps), NUMBER]
        needed[live[(live >= first) & (live < last)] - first] = True
        return needed
