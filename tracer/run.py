"""Run a launch: every warp executed by machine code or by the interpreter, and its trace sent to a sink.

link      functions, variables and their layouts
compile   machine code, or a look at every opcode for the interpreter
arrays    the machine's words, stacks and record buffers
loop      run until a buffer is full; drain it, note a checkpoint, serve a call of the device runtime
finish    drain the rest
"""

import time
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from tqdm import tqdm

from rayplay.formats.guard.errors import UserError
from rayplay.ptx.ir import Function
from rayplay.ptx.program import numbered
from rayplay.tracer.abi.words import MACHINE, PROGRESS, SCENE, STOP, WARP
from rayplay.tracer.interp.ctas import Interpreter
from rayplay.tracer.link.launches import ComputeLaunch, ImageLaunch
from rayplay.tracer.link.link import LinkedLaunch, link_launch, refuse_image_services, refuse_wrong_kinds
from rayplay.tracer.lower.compile import compile_program
from rayplay.tracer.lower.program import lower_program
from rayplay.tracer.meaning.optix import is_reorder
from rayplay.tracer.memory.arena import FIRST_ADDRESS, DeviceMemory
from rayplay.tracer.record.buffers import Buffers, borrow, give_back
from rayplay.tracer.record.checkpoint import LaunchNotes
from rayplay.tracer.record.recorder import Counts, Recorder, Sink
from rayplay.tracer.record.visits import AnySink, VisitRecorder, make_recorder, records_of
from rayplay.tracer.warp.arrays import LaunchState, make_state
from rayplay.tracer.warp.cta import run_ctas
from rayplay.tracer.warp.failures import failure, note_outside, place_of
from rayplay.tracer.warp.services import external_arguments, serve, write_external_results
from rayplay.tracer.warp.shape import Shape, compute_shape, entry_of, image_shape

CTAS_PER_STEP = 256
BACKENDS = ("machine", "interpreter")
ALL_WARPS = np.iinfo(np.int64).max


@dataclass
class Numbering:
    """First ids of the next launch of a trace."""

    kernels: int = 0
    blocks: int = 0
    instructions: int = 0
    warps: int = 0


def run_image_launch(
    launch: ImageLaunch,
    sink: AnySink,
    backend: str = "machine",
    progress: bool = True,
    numbering: Numbering | None = None,
) -> Counts:
    """Run ray generation over all pixels, a warp per 32x1 pixels, and send the trace's tables to ``sink``.

    The tables are kernels, instructions, blocks, characterisation, warps, threads, visits, accesses and rays. A
    ``VisitSink`` gets the block visits alone; with None nothing is recorded and only memory changes.
    Raises ``UserError`` for an opcode the executor lacks, an illegal address, or trace calls nested too deep.
    """
    linked = link_launch(launch.programs, launch.memory, launch.constants, launch.callables, launch.libraries)
    refuse_wrong_kinds(linked, launch)
    running = begin(linked, launch, image_shape(linked, launch), sink, backend, numbering or Numbering())
    return running.run(progress)


def run_compute_launch(
    launch: ComputeLaunch,
    sink: AnySink,
    backend: str = "machine",
    progress: bool = True,
    numbering: Numbering | None = None,
) -> Counts:
    """Run a compute kernel over its grid and send the trace's tables to ``sink``; see ``run_image_launch``."""
    programs = ((launch.module, entry_of(launch.module, launch.entry)),)
    linked = link_launch(programs, launch.memory, launch.constants, libraries=launch.libraries)
    running = begin(linked, launch, compute_shape(linked, launch), sink, backend, numbering or Numbering())
    return running.run(progress)


class Backend(Protocol):
    """How warps run."""

    def run(self) -> int:
        """Run CTAs until a step is done, a buffer is full, or the launch must stop."""

    def arguments(self, warp: int, function: Function) -> list[np.ndarray]:
        """Arguments of a function without a body that a warp calls, uint8[32, bytes] each."""

    def resume(self, warp: int, function: Function, results: list[np.ndarray]) -> None:
        """Hand the results of such a function to the warp."""


@dataclass
class Compiled:
    """Machine code; ``code`` keeps it alive."""

    state: LaunchState
    buffers: Buffers
    code: object

    def run(self) -> int:
        s = self.state
        return run_ctas(s.warps, s.progress, s.turns, s.tids, s.shared, self.buffers.starts)

    def arguments(self, warp: int, function: Function) -> list[np.ndarray]:
        return external_arguments(self.state, warp, function)

    def resume(self, warp: int, function: Function, results: list[np.ndarray]) -> None:
        write_external_results(self.state, warp, function, results)


@dataclass
class Running:
    """A launch whose warps run."""

    state: LaunchState
    backend: Backend
    buffers: Buffers
    recorder: Recorder | VisitRecorder
    notes: LaunchNotes

    def run(self, shows_progress: bool) -> Counts:
        """Run CTAs until all are done, draining the buffers whenever one is full."""
        machine = self.state.warps.machine
        self.buffers.reset(machine)
        try:
            self._steps(shows_progress)
        finally:
            self.state.memory.give_back(int(machine[MACHINE.local_base]))
        self.recorder.drain(machine, ALL_WARPS)
        note_outside(self.state)
        give_back(self.buffers)
        return self.recorder.counts

    def _steps(self, shows_progress: bool) -> None:
        progress, ctas = self.state.progress, self.state.shape.ctas
        begun, silent = int(progress[PROGRESS.next_cta]), None if shows_progress else True
        with tqdm(total=ctas, initial=begun, desc=self.state.shape.name, unit=" CTA", disable=silent, delay=2) as bar:
            while progress[PROGRESS.next_cta] < ctas:
                before = int(progress[PROGRESS.next_cta])
                if before == progress[PROGRESS.last_cta]:  # a step ends between CTAs, where a checkpoint is possible
                    progress[PROGRESS.last_cta] = min(before + CTAS_PER_STEP, ctas)
                code = self.backend.run()
                bar.update(int(progress[PROGRESS.next_cta]) - before)
                self._answer(code)
                if code == STOP.full and not bar.disable and time.time() > bar.start_t + bar.delay:  # within a long CTA
                    running = self.state.turns[int(progress[PROGRESS.next_warp]) % len(self.state.turns)]
                    bar.set_postfix_str(f"{int(running[WARP.visits]):,} blocks of a warp")

    def _answer(self, code: int) -> None:
        """Act on the reason to stop. Raises ``UserError`` for what ends a launch."""
        state, notes = self.state, self.notes
        if code == STOP.full:
            self.recorder.drain(state.warps.machine, self._first_open_warp())
            if notes.are_due:
                state.progress[PROGRESS.last_cta] = state.progress[PROGRESS.next_cta] + 1  # the step ends with this CTA
        elif code == STOP.external:
            self._serve(int(state.progress[PROGRESS.next_warp]))
        elif code != STOP.launch_done:
            raise failure(state, code)
        elif notes.are_due:
            self.recorder.drain(state.warps.machine, ALL_WARPS)
            note_outside(state)
            notes.note(state.progress, self.recorder.counts)

    def _first_open_warp(self) -> int:
        """Rows from this warp on may stand between other warps' rows, or wait for the hits of their rays."""
        progress, warps = self.state.progress, self.state.shape.warps
        if progress[PROGRESS.in_cta] and (len(self.state.turns) > 1 or self.state.warps.scene[SCENE.delayed]):
            return int(progress[PROGRESS.first_warp] + progress[PROGRESS.next_cta] * warps)
        return ALL_WARPS

    def _serve(self, warp: int) -> None:
        """Run the function without a body that a warp calls."""
        linked = self.state.linked
        number = int(self.state.warps.machine[MACHINE.suspend_function])
        function = linked.externals[number - len(linked.functions)]
        results = serve(self.state, function, self.backend.arguments(warp, function), place_of(self.state))
        self.backend.resume(warp, function, results)


def begin(
    linked: LinkedLaunch,
    launch: ImageLaunch | ComputeLaunch,
    shape: Shape,
    sink: AnySink,
    backend: str,
    numbering: Numbering,
) -> Running:
    """Compile a linked launch, make its arrays, and put the tables that are known before the first warp runs.

    Raises ``UserError`` for an opcode that the executor lacks.
    """
    if backend not in BACKENDS:
        raise UserError(f"backend must be one of {', '.join(BACKENDS)}, not {backend}")
    code, addresses = None, np.zeros(len(linked.functions), np.int64)
    if backend == "machine":
        code = compile_program(linked.functions, linked.symbols, records_of(sink))
        addresses = code.addresses
    else:
        check_opcodes(linked)
    if isinstance(launch, ComputeLaunch):
        refuse_image_services(linked)
    buffers = borrow(True, launch.trace_context.record) if isinstance(launch, ImageLaunch) else borrow(False)
    state = make_state(linked, shape, launch, buffers, addresses, numbering.warps)
    _check_address_size(linked, launch.memory)
    notes = LaunchNotes(sink, numbering.kernels, launch.memory)
    if isinstance(sink, Sink) and notes.resumed is None:
        _put_tables(sink, state, numbering)
    counts = np.array([block.count for cfg in linked.program.cfgs for block in cfg.blocks], np.int64)
    body = (i for function in linked.program.functions for i in function.body)
    reorders = np.array([number for number, i in enumerate(body) if is_reorder(i)], np.int64)
    first = (numbering.blocks, numbering.instructions)
    recorder = make_recorder(sink, buffers, counts, first, shape.warps, reorders)
    notes.go_on(state.warps.machine, state.progress, recorder.counts)
    numbering.kernels += 1
    numbering.blocks += len(counts)
    numbering.instructions += int(counts.sum())
    numbering.warps += shape.ctas * shape.warps
    runner = Interpreter(state, buffers) if code is None else Compiled(state, buffers, code)
    return Running(state, runner, buffers, recorder, notes)


def check_opcodes(linked: LinkedLaunch) -> None:
    """``UserError`` for the first opcode the executor lacks."""
    lower_program(linked.functions, linked.symbols)


def _check_address_size(linked: LinkedLaunch, memory: DeviceMemory) -> None:
    """A program with 32-bit addresses must reach all memory."""
    end = FIRST_ADDRESS + memory.used_bytes
    narrow = next((f.module for f in linked.functions if f.module.address_size == 32), None)
    if narrow is not None and end > 1 << 32:
        raise UserError(f"{narrow.source_name}: addresses have 32 bits, device memory is in use up to {end:#x}")


def _put_tables(sink: Sink, state: LaunchState, numbering: Numbering) -> None:
    """Tables that are known before the first warp runs; ids of the program follow the ids of the launches before."""
    linked = state.linked
    tables = numbered(linked.program.tables(), numbering.kernels, numbering.blocks, numbering.instructions)
    image = state.launch if isinstance(state.launch, ImageLaunch) else None
    sink.put("kernels", state.kernel_row(numbering.kernels, linked.program.registers_per_thread))
    if state.shape.cooperative:
        sink.put("cooperative", {"kernel_id": np.array([numbering.kernels], np.uint32)})
    for table, columns in tables.items():
        sink.put(table, columns)
    for table, columns in state.shape.warp_tables(numbering.kernels, numbering.warps, image).items():
        sink.put(table, columns)
