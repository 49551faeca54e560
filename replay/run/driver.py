"""Replay a trace: launch after launch, loading warps as they are needed and noting the counters of every interval."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from rayplay.formats.dataset.reader import Trace, open_trace
from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.first_use import first_use
from rayplay.formats.laws.expect import expect_program
from rayplay.formats.place.checkpoint import Checkpoint, Checkpoints
from rayplay.replay.engine import quantum as step
from rayplay.replay.engine.machine import Machine
from rayplay.replay.gpu.description import Gpu, load
from rayplay.replay.input.program import read_characterisation
from rayplay.replay.launch.selection import Selection
from rayplay.replay.launch.shared import Shared
from rayplay.replay.launch.together import Together
from rayplay.replay.memory import l1
from rayplay.replay.results.by_class import ClassTimeline, class_tables
from rayplay.replay.results.by_launch import launch_table, texture_line_table
from rayplay.replay.results.counters import unit_counters
from rayplay.replay.results.metrics import Result, collect
from rayplay.replay.results.per_kernel import Attribution
from rayplay.replay.results.stalls import Stalls
from rayplay.replay.run import checkpoint, class_checkpoint, gatsim
from rayplay.replay.run.adapting import Adapting
from rayplay.replay.run.progress import Standing
from rayplay.replay.run.reordering import with_reorders
from rayplay.replay.sm import ctas as dispatch
from rayplay.replay.stuck.watchdog import Watchdog
from rayplay.replay.timeline.watch import Watch

COMPILE_SECONDS = 60  # 60 to 85 s of processor time
INTERVAL_CYCLES = 10_000  # of a row of the timeline, unless told otherwise; a quantum never crosses their bounds
LONGEST_INTERVAL_CYCLES, MOST_THREADS = 10**15, 256


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
    shared: Shared | None = None,
    watch: Watch | None = None,
    stalls: bool = True,
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
    shared            classes of work that share the GPU, of the trace ``shared.joined.trace``.
    watch            looks at the machine for a timeline; changes no result, and sees nothing of ``gatsim``.
    stalls           whether the result has the table ``stalls``, whose looks cost a tenth of a short replay.

    Raises ``UserError`` for anything wrong with the inputs, and for a replay that can make no progress.
    """
    trace = trace if isinstance(trace, Trace) else open_trace(trace)
    gpu = load(gpu) if isinstance(gpu, str) else gpu
    _check_numbers(gpu, quantum, threads, interval)
    replay = _prepared(
        trace, gpu, quantum, threads, characterisation, selection or Selection(), model, interval, shared, watch
    )
    if not stalls and isinstance(replay, Replay):
        replay.stalls = None
    seconds = gatsim.COMPILE_SECONDS if model == "gatsim" else COMPILE_SECONDS
    often = "once after an installation" if gpu.plugin is None else f"once for each text of {gpu.plugin.name}.py"
    with first_use("the engine of this model", seconds, often=often):
        replay.machine.compile()
    begun, begun_cpu = time.perf_counter(), time.process_time()
    replay.run(progress or (lambda standing: None), notes)
    result = replay.result()
    result.host |= {
        "replay_wall_seconds": time.perf_counter() - begun,
        "replay_cpu_seconds": time.process_time() - begun_cpu,
        "engine_cpu_seconds": replay.machine.engine_cpu_seconds,
        "threads": 1 if model == "gatsim" else threads,
    }
    if model != "gatsim":
        result.host["quantum_cycles"] = quantum or gpu.longest_quantum
    return result


def _prepared(
    trace: Trace, gpu: Gpu, quantum: int | None, threads: int, characterisation: Path | str | None,
    selection: Selection, model: str | None, interval: int, shared: Shared | None, watch: Watch | None,
) -> "Replay | gatsim.Replay":  # fmt: skip
    """A replay that has not begun; ``UserError`` for inputs that its model does not take."""
    if model == "pipeline" and characterisation is not None:
        raise UserError(f"characterisation {characterisation}: the model pipeline takes its latencies from the GPU")
    if shared is None:
        expect_program(trace)
    elif model == "gatsim":
        raise UserError("model gatsim: cannot replay classes of work together, for it replays launch after launch")
    latencies = read_characterisation(trace, characterisation)
    trace, gpu, latencies = with_reorders(trace, gpu, latencies, model, shared)
    if model != "gatsim":
        return Replay(Machine(trace, gpu, latencies, selection, model, threads, shared), quantum, interval, watch)
    if gpu.plugin is not None:
        raise UserError(f"model gatsim: has no hooks for the plug-in {gpu.plugin.path}; take another model")
    return gatsim.Replay(gatsim.Machine(trace, gpu, latencies, selection))


def _check_numbers(gpu: Gpu, quantum: int | None, threads: int, interval: int) -> None:
    longest = gpu.longest_quantum
    if quantum is not None and not 1 <= quantum <= longest:
        raise UserError(f"quantum must be 1 to {longest}, the longest that is exact on GPU {gpu.name}, not {quantum}")
    if not 1 <= threads <= MOST_THREADS:
        raise UserError(f"threads must be 1 to {MOST_THREADS}, not {threads}")
    if not 1 <= interval <= LONGEST_INTERVAL_CYCLES:
        raise UserError(f"interval must be 1 to {LONGEST_INTERVAL_CYCLES:,} cycles, not {interval}")


@dataclass
class Replay:
    """A replay in progress: the machine, and what its kernels add to the counters.

    quantum   cycles between two barriers; None: the longest that is exact.
    interval  cycles of a row of the timeline.
    """

    machine: Machine
    quantum: int | None = None
    interval: int = INTERVAL_CYCLES
    watch: Watch | None = None

    def __post_init__(self) -> None:
        self.kernels, together = Attribution(self.machine), self.machine.streams
        self.by_class, self.adapting = None, Adapting(self.machine)
        self.stalls = Stalls(self.machine) if self.machine.sharing is None else None
        if self.machine.sharing is not None and isinstance(together, Together):
            self.by_class = ClassTimeline(self.machine, together, self.machine.sharing.joined.names)

    def run(self, progress: Callable[[Standing], None], notes: Checkpoints | None = None) -> None:
        """Replay every launch, each as soon as it may begin."""
        machine, status = self.machine, step.RUNNING
        quantum = self.quantum or machine.gpu.longest_quantum
        if notes is not None and notes.resumed is not None:
            self._go_on(notes.resumed)
        else:
            self._launch()
        watchdog, watch = Watchdog(machine.gpu), self.watch
        if watch is not None:
            watch.begin(machine)
        observers = [each for each in (self.adapting, self.stalls, watch) if each is not None]
        while status != step.DONE:
            stop = (machine.now // self.interval + 1) * self.interval
            due = min(stop, *(each.due for each in observers))
            status = machine.run_until(due, quantum)
            progress(Standing(machine.now, machine.issued, machine.instructions))
            if status == step.NEEDS_WARPS:
                machine.load()
            elif status == step.KERNEL_OVER:
                self._finish()
                if machine.streams.is_over and machine.streams.running:
                    break  # repeats of classes of work that have ended before
                self._launch()
                if machine.gpu.lockstep and machine.streams.is_over:
                    status = step.DONE  # as in Accel-Sim, whatever is still under way
            elif status == step.RUNNING and machine.streams.running and machine.now == stop:
                self.kernels.ledger.note_interval(machine.now, unit_counters(machine, machine.now))
                if self.by_class:
                    self.by_class.note(machine.now)
            for each in observers:
                each.look()
            watchdog.look(machine, status)
            if notes is not None and notes.are_due and status != step.DONE:
                notes.save(*self._state())
        if watch is not None:
            watch.finish()
        for kernel_id in machine.streams.running:
            self.kernels.end_kernel(kernel_id, machine.now)
        self.kernels.note_kernels()

    def _go_on(self, resumed: Checkpoint) -> None:
        """Put the replay where its checkpoint was taken."""
        checkpoint.go_on(self.kernels, resumed)
        if self.by_class:
            class_checkpoint.give(self.by_class, self.adapting, *resumed)
        if self.stalls:
            self.stalls.give(*resumed)

    def _state(self) -> Checkpoint:
        """Everything that changes while a replay runs."""
        state = checkpoint.state_of(self.kernels)
        if self.by_class:
            class_checkpoint.take(self.by_class, self.adapting, *state)
        if self.stalls:
            self.stalls.take(*state)
        return state

    def _launch(self) -> None:
        """Launch every kernel that may begin now."""
        machine, now = self.machine, self.machine.now
        gpu = machine.gpu
        for launch in machine.streams.launch():
            if len(self.kernels.spans) == 0 or (machine.streams.most_at_once == 1 and gpu.l1.is_emptied):
                machine.l1 = l1.split(machine.l1, gpu.l1, launch.need.shared_bytes * launch.places)
            stream = self.kernels.begin_kernel(launch)
            machine.launch_of[launch.kernel_id] = launch
            machine.copies[launch.work_class].make(launch.kernel_id, machine.memory.l2, now, stream)
            opens = now + gpu.sm.launch_cycles(launch.grid)
            test_cycles = gpu.rop.depth_cycles(launch.tests, launch.ctas[1] - launch.ctas[0], gpu.sm.count)
            dispatch.admit(
                machine.dispatch, launch.kernel_id, launch.ctas, opens, launch.need, launch.places, stream,
                launch.work_class, launch.tests, test_cycles,
            )  # fmt: skip
        if dispatch.over(machine.dispatch, now):  # without work, and without a latency
            self._finish()
            self._launch()

    def _finish(self) -> None:
        """Note the end of every kernel that has ended."""
        machine = self.machine
        for row in dispatch.over(machine.dispatch, machine.now):
            kernel_id = int(machine.dispatch.kernel[row, dispatch.KERNEL])
            self.kernels.end_kernel(kernel_id, dispatch.dismiss(machine.dispatch, row))
            machine.streams.finish(kernel_id)
            self.adapting.kernel_ended(machine.launch_of[kernel_id])
        if not machine.streams.running and not machine.streams.is_over:
            self.kernels.note_kernels()

    def result(self) -> Result:
        """Metrics and tables at the end."""
        machine, ledger, spans = self.machine, self.kernels.ledger, self.kernels.spans
        if self.by_class is not None:
            for added in ledger.kernels:  # of a repeat that was cut off, what it had executed
                launch = machine.launch_of.get(added.kernel_id)
                if launch is not None and launch.kernel_id >= self.by_class.together.kernels:
                    done = int(ledger.by_name(added)["sm"]["warp_instructions"].sum())
                    machine.launch_of[launch.kernel_id] = replace(launch, instructions=done)
        result = collect(machine, ledger, spans)
        if self.by_class is not None or "stages" in machine.trace.tables:
            launches = list(spans)
            result.by_class["launches"] = [launch_table(machine.trace, launches, machine.work_classes)]
            result.by_class["texture_lines"] = [texture_line_table(machine.trace, launches)]
        if self.by_class is not None:
            assert self.adapting.grants is not None
            result.by_class |= class_tables(self.by_class, spans) | {"class_grants": self.adapting.grants.parts}
        if self.stalls is not None:
            result.by_class["stalls"] = [self.stalls.table()]
        return result
