"""Exact counts of what a launch executes: instructions by class, jumps, and where control parts.

A thread *executes* an instruction when its warp issues it with the thread's lane active, whatever a guard (``@p``) then
says: the count follows from block visits and their masks alone. A warp executes an instruction when it issues it.
"""

import time
from dataclasses import dataclass

import numpy as np

from rayplay.formats.guard.strict import check_choice
from rayplay.formats.schema.trace import OPERATION_CLASSES
from rayplay.hypa.slices import SliceCache
from rayplay.hypa.slicing.flops import FLOATING_POINT_CLASSES, class_numbers, operations
from rayplay.hypa.slicing.pointers import Object
from rayplay.hypa.visits import VisitCounter, VisitCounts
from rayplay.ptx.program import Program
from rayplay.tracer.link.launches import ComputeLaunch
from rayplay.tracer.link.link import link_launch
from rayplay.tracer.memory.arena import DeviceMemory
from rayplay.tracer.run import run_compute_launch
from rayplay.tracer.warp.shape import entry_of

METHODS = ("slice", "full")


@dataclass(frozen=True)
class Profile:
    """Measures of one launch. Counts are of threads where nothing else is said.

    static_instructions      of the kernel and of the functions it can call, each once.
    dynamic_instructions     that the launch executes; ``warp_instructions``: that its warps issue.
    executed_instructions    that the analysis itself executed to know that.
    instructions_by_class    dynamic instructions per operation class, int64[OPERATION_CLASSES].
    operations               floating-point operations per precision (``hypa.slicing.flops.PRECISIONS``).
    branches                 executions of ``bra`` and ``brx.idx`` by warps; ``conditional_branches``: of jumps that
                             lanes can leave to more than one block; ``divergent_branches``: of those whose lanes did.
    cta_branches             executions of conditional jumps by CTAs, ``cta_divergent_branches`` those whose threads
                             went to more than one block (``hypa.count``).
    seconds                  the host's time for all of it.
    """

    kernel: str
    ctas: int
    threads: int
    warps: int
    static_instructions: int
    slice_instructions: int
    dynamic_instructions: int
    warp_instructions: int
    executed_instructions: int
    fp_instructions: int
    instructions_by_class: np.ndarray
    operations: np.ndarray
    branches: int
    conditional_branches: int
    divergent_branches: int
    cta_branches: int
    cta_divergent_branches: int
    seconds: float
    visits: VisitCounts


def profile_launch(
    launch: ComputeLaunch,
    method: str = "slice",
    progress: bool = True,
    results: frozenset[Object] = frozenset(),
    cache: SliceCache | None = None,
) -> Profile:
    """Profile one launch; both methods give the same counts.

    method   ``slice``: only the instructions that decide where threads go are executed, for all threads; memory then
             holds what those need of it. ``full``: everything is; memory is then as the launch leaves it.
    results  of ``slice``: objects whose contents must be right afterwards (``hypa.slices.needed_by_later``).

    Raises ``UserError`` as ``run_compute_launch`` does; ``slice`` does not see an illegal address, or an opcode that
    the executor lacks, in an instruction that it leaves out.
    """
    check_choice(method, METHODS, "method")
    start = time.perf_counter()
    program = launch_program(launch)
    executed, chosen = np.ones(sum(len(f.body) for f in program.functions), bool), launch
    if method == "slice":
        cut, chosen = (cache or SliceCache()).find(launch, program, results)
        executed = cut.kept
    counts = count_launch(chosen, program, progress)
    return make_profile(launch, program, counts, executed, time.perf_counter() - start)


def launch_program(launch: ComputeLaunch) -> Program:
    """The functions that a launch can run, linked; raises ``UserError`` as ``run_compute_launch`` does."""
    entry = entry_of(launch.module, launch.entry)
    return link_launch(((launch.module, entry),), DeviceMemory(), {}).program


def count_launch(
    launch: ComputeLaunch, program: Program, progress: bool = True, backend: str = "machine"
) -> VisitCounts:
    """Run a launch without a trace and count the visits of the blocks of ``program``."""
    counter = VisitCounter(program, -(-int(np.prod(launch.block)) // 32))
    run_compute_launch(launch, counter, backend, progress)
    return counter.finish()


def make_profile(
    launch: ComputeLaunch, program: Program, counts: VisitCounts, executed: np.ndarray, seconds: float
) -> Profile:
    """All measures from the visits. executed: bool[instructions], whether the analysis executed it."""
    sizes = np.array([block.count for cfg in program.cfgs for block in cfg.blocks])
    block = np.repeat(np.arange(len(sizes)), sizes)
    threads, warps = counts.lanes[block], counts.visits[block]
    by_class = np.zeros(len(OPERATION_CLASSES), np.int64)
    np.add.at(by_class, class_numbers(program), threads)
    ctas, block_threads = int(np.prod(launch.grid)), int(np.prod(launch.block))
    return Profile(
        kernel=launch.entry,
        ctas=ctas,
        threads=ctas * block_threads,
        warps=ctas * -(-block_threads // 32),
        static_instructions=len(block),
        slice_instructions=int(executed.sum()),
        dynamic_instructions=int(threads.sum()),
        warp_instructions=int(warps.sum()),
        executed_instructions=int(threads[executed].sum()),
        fp_instructions=int(sum(by_class[OPERATION_CLASSES.index(name)] for name in FLOATING_POINT_CLASSES)),
        instructions_by_class=by_class,
        operations=np.rint(operations(program).T @ threads).astype(np.int64),
        branches=int(counts.visits[counts.is_jump].sum()),
        conditional_branches=int(counts.visits[counts.is_conditional].sum()),
        divergent_branches=int(counts.divergent.sum()),
        cta_branches=int(counts.cta_branches.sum()),
        cta_divergent_branches=int(counts.cta_divergent.sum()),
        seconds=seconds,
        visits=counts,
    )
