"""Run a launch: every warp executed by machine code or by the interpreter, and its trace sent to a sink."""

from dataclasses import dataclass, replace

import numpy as np
from tqdm import tqdm

from rayplay.formats.guard.errors import UserError
from rayplay.ptx.ir import Function, Module
from rayplay.ptx.program import Program
from rayplay.tracer.abi.words import (
    EXTERNAL,
    FULL,
    LANES,
    MACHINE,
)  # fmt: skip
from rayplay.tracer.interp.ctas import Interpreter, interpret_ctas
from rayplay.tracer.link.launches import SBT_HEADER_BYTES, ComputeLaunch, ImageLaunch
from rayplay.tracer.link.link import (
    RECURSION_DEPTH,
    LinkedLaunch,
    check_opcodes,
    image_chain,
    link_launch,
    refuse_image_services,
    refuse_raygen_payload,
)
from rayplay.tracer.lower.compile import compile_program
from rayplay.tracer.memory.arena import FIRST_ADDRESS, DeviceMemory
from rayplay.tracer.record.checkpoint import LaunchNotes
from rayplay.tracer.record.recorder import Buffers, Counts, Recorder, Sink, shared_buffers
from rayplay.tracer.record.visits import AnySink, VisitRecorder, make_recorder, records_of
from rayplay.tracer.warp.arrays import LaunchState, Shape, make_warps, thread_indices
from rayplay.tracer.warp.cta import (
    ENTRY,
    FIRST_WARP,
    IN_CTA,
    IS_IMAGE,
    LAST_CTA,
    LAUNCH_DONE,
    NEXT_CTA,
    NEXT_WARP,
    PROGRESS_WORDS,
    SBT_DATA,
    THREADS,
    WARP_WORDS,
    WIDTH,
    run_ctas,
)  # fmt: skip
from rayplay.tracer.warp.external import external_arguments, write_external_results
from rayplay.tracer.warp.failures import failure, place_of
from rayplay.tracer.warp.services import ServiceCall, run_service
from rayplay.tracer.warp.stack import SCENE_DELAYED

CTAS_PER_STEP = 256
MOST_RECURSIVE_LOCAL_BYTES = 1 << 34
LEAST_RECURSION = 32
BACKENDS = ("machine", "interpreter")


@dataclass
class Numbering:
    """Where the ids of the next launch of a trace begin."""

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
    ``VisitSink`` gets the block visits alone; with None nothing is written down and only memory changes.
    Raises ``UserError`` for an opcode the executor lacks, an illegal address, or trace calls nested too deep.
    """
    numbering = numbering or Numbering()
    linked = link_launch(launch.programs, launch.memory, launch.constants)
    refuse_raygen_payload(linked, launch.raygen_index)
    name = launch.name or launch.programs[launch.raygen_index][1].name
    shape = Shape(
        name, (-(-launch.width // 32), launch.height, 1), (32, 1, 1), launch.raygen_index, b"", 0, 0,
        image_chain(linked, launch, lambda f: f.layout.local_bytes),
        image_chain(linked, launch, lambda f: f.layout.bytes),
    )  # fmt: skip
    return _run(linked, shape, launch, sink, backend, progress, numbering)


def run_compute_launch(
    launch: ComputeLaunch,
    sink: AnySink,
    backend: str = "machine",
    progress: bool = True,
    numbering: Numbering | None = None,
) -> Counts:
    """Run a compute kernel over its grid and send the trace's tables to ``sink``; see ``run_image_launch``."""
    numbering = numbering or Numbering()
    entry = entry_of(launch.module, launch.entry)
    programs = ((launch.module, entry),)
    linked = link_launch(programs, launch.memory, launch.constants)
    shape = Shape(
        launch.entry, launch.grid, launch.block, 0, _parameter_bytes(launch, entry), launch.dynamic_shared_bytes,
        launch.stream, _local_bytes(linked, launch), linked.chain(lambda f: f.layout.bytes, 0),
    )  # fmt: skip
    return _run(linked, shape, launch, sink, backend, progress, numbering)


def _local_bytes(linked: LinkedLaunch, launch: ComputeLaunch) -> int:
    """Local memory of a thread; where functions call themselves, threads have to share what there is."""
    threads = int(np.prod(launch.grid, dtype=np.int64) * np.prod(launch.block, dtype=np.int64))
    once = linked.chain(lambda f: f.layout.local_bytes, 0, 1)
    depth = MOST_RECURSIVE_LOCAL_BYTES // max(threads * once, 1)
    return linked.chain(lambda f: f.layout.local_bytes, 0, min(max(depth, LEAST_RECURSION), RECURSION_DEPTH))


def entry_of(module: Module, name: str) -> Function:
    """The entry called ``name``; ``UserError`` with the names there are when there is none."""
    function = module.functions.get(name)
    if function is None or not function.is_entry:
        entries = ", ".join(f.name for f in module.functions.values() if f.is_entry) or "none"
        raise UserError(f"{module.source_name}: no entry is called {name}; there are: {entries}")
    return function


def _parameter_bytes(launch: ComputeLaunch, entry: Function) -> bytes:
    """The parameter buffer, each value where its ``.param`` lies."""
    place = f"{launch.module.source_name}: {entry.name}"
    if len(launch.params) != len(entry.parameters):
        raise UserError(f"{place}: needs {len(entry.parameters)} parameters, {len(launch.params)} are given")
    buffer = b""
    for variable, value in zip(entry.parameters, launch.params, strict=True):
        if len(value) != variable.bytes:
            raise UserError(f"{place}: {variable.name} has {variable.bytes} bytes, {len(value)} are given")
        buffer += b"\0" * (-len(buffer) % variable.align) + value
    return buffer


def _run(
    linked: LinkedLaunch,
    shape: Shape,
    launch: ImageLaunch | ComputeLaunch,
    sink: AnySink,
    backend: str,
    progress: bool,
    numbering: Numbering,
) -> Counts:
    if backend not in BACKENDS:
        raise UserError(f"backend must be one of {', '.join(BACKENDS)}, not {backend}")
    check_opcodes(linked) if backend == "interpreter" else None
    code = compile_program(linked.functions, linked.symbols, records_of(sink)) if backend == "machine" else None
    image = launch if isinstance(launch, ImageLaunch) else None
    if image is None:
        refuse_image_services(linked)
    buffers = shared_buffers(image is not None)
    state = make_warps(linked, shape, launch, buffers, code)
    _check_address_size(linked, launch.memory)
    notes = LaunchNotes(sink, numbering.kernels, launch.memory)
    if isinstance(sink, Sink) and notes.resumed is None:
        _put_tables(sink, linked, shape, state, image, numbering)
    counts = np.array([block.count for cfg in linked.program.cfgs for block in cfg.blocks], np.int64)
    recorder = make_recorder(sink, buffers, counts, (numbering.blocks, numbering.instructions), shape.warps)
    steps = np.zeros(PROGRESS_WORDS, np.int64)
    steps[ENTRY], steps[FIRST_WARP], steps[THREADS] = shape.entry, numbering.warps, shape.threads
    if image is not None:
        steps[IS_IMAGE], steps[WIDTH] = 1, image.width
        steps[SBT_DATA] = image.raygen_record_address + SBT_HEADER_BYTES
    notes.go_on(state.warps.machine, steps, recorder.counts)
    _loop(linked, shape, state, buffers, recorder, steps, backend, progress, notes)
    numbering.kernels += 1
    numbering.blocks += len(counts)
    numbering.instructions += int(counts.sum())
    numbering.warps += shape.ctas * shape.warps
    return recorder.counts


def _check_address_size(linked: LinkedLaunch, memory: DeviceMemory) -> None:
    """A program with 32-bit addresses must reach all memory."""
    end = FIRST_ADDRESS + memory.used_bytes
    narrow = next((f.module for f in linked.functions if f.module.address_size == 32), None)
    if narrow is not None and end > 1 << 32:
        raise UserError(f"{narrow.source_name}: addresses have 32 bits, device memory is in use up to {end:#x}")


def _put_tables(
    sink: Sink,
    linked: LinkedLaunch,
    shape: Shape,
    state: LaunchState,
    image: ImageLaunch | None,
    numbering: Numbering,
) -> None:
    """What is known before the first warp runs."""
    sink.put("kernels", state.kernel_row(numbering.kernels, linked.program.registers_per_thread))
    for table, columns in _numbered(linked.program, numbering).tables().items():
        sink.put(table, columns)
    for table, columns in shape.warp_tables(numbering.kernels, numbering.warps, image).items():
        sink.put(table, columns)


def _numbered(program: Program, numbering: Numbering) -> Program:
    """The program as a launch after others: its ids follow theirs."""
    return replace(
        program,
        kernel_id=numbering.kernels,
        block_base=tuple(base + numbering.blocks for base in program.block_base),
        instruction_base=tuple(base + numbering.instructions for base in program.instruction_base),
    )


def _loop(
    linked: LinkedLaunch,
    shape: Shape,
    state: LaunchState,
    buffers: Buffers,
    recorder: Recorder | VisitRecorder,
    steps: np.ndarray,
    backend: str,
    progress: bool,
    notes: LaunchNotes,
) -> None:
    """Run CTAs until all are done, emptying the buffers whenever they are full."""
    warps = np.zeros((shape.warps, WARP_WORDS), np.int64)
    tids = thread_indices(shape)
    machine = state.warps.machine
    buffers.reset(machine)
    interpret = interpret_ctas(linked, state, buffers) if backend == "interpreter" else None
    begun, silent = int(steps[NEXT_CTA]), None if progress else True
    with tqdm(total=shape.ctas, initial=begun, desc=shape.name, unit=" CTA", disable=silent, delay=2) as bar:
        while steps[NEXT_CTA] < shape.ctas:
            before = int(steps[NEXT_CTA])
            if before == steps[LAST_CTA]:  # not while buffers are emptied in a step: it ends between CTAs, and is noted
                steps[LAST_CTA] = min(before + CTAS_PER_STEP, shape.ctas)
            arguments = (state.warps, steps, warps, tids, state.shared, buffers.starts)
            code = interpret(*arguments) if interpret else run_ctas(*arguments)
            bar.update(int(steps[NEXT_CTA]) - before)
            if code == FULL:
                first = int(steps[FIRST_WARP] + steps[NEXT_CTA] * shape.warps)
                # rows of an unfinished CTA may stand between those of other warps, or wait for what their rays hit
                is_open = (shape.warps > 1 or state.warps.scene[SCENE_DELAYED]) and steps[IN_CTA]
                recorder.drain(machine, first if is_open else np.iinfo(np.int64).max)
                if notes.are_due:
                    steps[LAST_CTA] = steps[NEXT_CTA] + 1  # the step ends with this CTA
            elif code == EXTERNAL:
                _serve(linked, shape, state, interpret, int(steps[NEXT_WARP]))
            elif code != LAUNCH_DONE:
                raise failure(linked, shape, state, steps, warps, code)
            elif notes.are_due:
                recorder.drain(machine, np.iinfo(np.int64).max)
                notes.note(steps, recorder.counts)
    recorder.drain(machine, np.iinfo(np.int64).max)


def _serve(linked: LinkedLaunch, shape: Shape, state: LaunchState, interpret: Interpreter | None, warp: int) -> None:
    """Run the function without a body that a warp calls."""
    machine = state.warps.machine
    function = linked.externals[int(machine[MACHINE["suspend_function"]]) - len(linked.functions)]
    mask = int(machine[MACHINE["suspend_mask"]])
    lanes = [lane for lane in range(LANES) if mask >> lane & 1]
    waiting = interpret.outgoing(warp) if interpret else external_arguments(state, warp, function)
    call = ServiceCall(state.memory, lanes, waiting, place_of(linked, shape, machine))
    results = run_service(function.name, call, [v.bytes for v in function.returns])
    if interpret:
        interpret.resume(warp, results)
    else:
        write_external_results(state, warp, function, results)
    machine[MACHINE["arena_bytes"]] = state.memory.used_bytes
