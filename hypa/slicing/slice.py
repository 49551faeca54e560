"""The part of a launch that decides where its threads go: HyPA's filtered dependency graphs, and their union.

The filtered dependency graph of a jump (HyPA, definition 2) has every instruction that the choice of the jump depends
on. Executing the union for all threads visits the same blocks with the same masks as executing everything, because
every jump is in it: what no jump depends on cannot change where a thread goes.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rayplay.hypa.slicing.dependences import COMMON_SPACES, Dependences, build_dependences, stores_into
from rayplay.hypa.slicing.pointers import ANYWHERE, Arguments, Location, Object, Target
from rayplay.hypa.slicing.points_to import points_to
from rayplay.ptx.flow.cfg import control_of, ends_block
from rayplay.ptx.graph import reached
from rayplay.ptx.ir import Instruction, Operand, Register, Vector
from rayplay.ptx.isa.row import Control
from rayplay.ptx.program import Program

UNSEEN_CALLS = frozenset(("vprintf",))
"""Functions outside of the program that change nothing a program can see."""


@dataclass(frozen=True)
class Slice:
    """``kept``: bool[instructions], the ones that decide where threads go, all jumps among them.

    Instructions that end a block are in it, except barriers when no warp can see what another one does.
    """

    program: Program
    graph: Dependences
    kept: np.ndarray

    @cached_property
    def jumps(self) -> list[int]:
        """The instructions that threads can leave to more than one block, in order."""
        return _jumps(self.program)

    @cached_property
    def graph_sizes(self) -> list[int]:
        """Per jump how many instructions its filtered dependency graph has."""
        from scipy.sparse import csr_array  # half a second to import, only when asked for
        from scipy.sparse.csgraph import breadth_first_order

        lengths = [len(needed) for needed in self.graph.needs]
        ends = np.concatenate(([0], np.cumsum(lengths)))
        edges = np.array([each for needed in self.graph.needs for each in needed], np.int32)
        matrix = csr_array((np.ones(len(edges), np.int8), edges, ends), shape=(len(lengths), len(lengths)))
        found = (breadth_first_order(matrix, jump, return_predecessors=False) for jump in self.jumps)
        return [int(np.count_nonzero(nodes < self.graph.instructions)) for nodes in found]

    def read(self) -> tuple[set[Object], bool]:
        """Objects in memory that the slice reads, and whether it reads through a pointer that is not known."""
        objects: set[Object] = set()
        for node, locations in self.graph.loads.items():
            if self.kept[node]:
                for location in locations:
                    objects |= location.target.objects
        return objects - {ANYWHERE}, ANYWHERE in objects


def slice_program(program: Program, arguments: Arguments, results: "frozenset[Object]" = frozenset()) -> Slice:
    """The slice of a launch over all its jumps.

    arguments  what the parameters of the kernel point into (``hypa.slicing.pointers``).
    results    objects in global memory whose contents at the end are wanted as well; ``ANYWHERE``: all of it.
    """
    graph = build_dependences(points_to(program, arguments))
    roots = _control(program)
    for item in sorted(results):
        location = Location("global", Target(frozenset((item,))), 1 << 62)
        roots += stores_into(graph, location)
    needs = graph.needs.__getitem__
    found = reached(roots, needs)
    turns = _instructions(program, _is_turn)
    if any(_is_common(graph, node) for node in found) or not found.isdisjoint((*turns, *_outside(graph))):
        found = reached([*found, *turns], needs)  # the order of warps matters
    kept = np.zeros(graph.instructions, bool)
    kept[[node for node in found if node < graph.instructions]] = True
    return Slice(program, graph, kept)


def _is_common(graph: Dependences, node: int) -> bool:
    """Whether a node writes memory that other threads read."""
    return any(location.space in COMMON_SPACES for location in graph.stores.get(node, ()))


def _control(program: Program) -> list[int]:
    """Instructions that end blocks, except barriers and calls that nothing can see.

    Where functions are called through registers, the instructions that name functions stay as well: they say which
    functions the launch has.
    """
    roots = _instructions(program, lambda i: ends_block(i) and not (_is_turn(i) and _can_go(i)) and not _is_unseen(i))
    if any(i.call is not None and isinstance(i.call.target, Register) for f in program.functions for i in f.body):
        names = {name for module in program.modules for name in module.functions}
        roots += _instructions(program, lambda i: any(getattr(o, "name", "") in names for o in _parts(i.operands)))
    return roots


def _parts(operands: "tuple[Operand | None, ...]") -> "Iterator[Operand | None]":
    for operand in operands:
        yield from operand.elements if isinstance(operand, Vector) else (operand,)


def _instructions(program: Program, chosen: Callable[[Instruction], bool]) -> list[int]:
    """Numbers of the instructions of a launch for which ``chosen`` holds."""
    return [
        base + index
        for function, base in zip(program.functions, program.instruction_base, strict=True)
        for index, i in enumerate(function.body)
        if chosen(i)
    ]


def _outside(graph: Dependences) -> list[int]:
    """Calls of functions outside of the program, which see the order in which warps come to them."""
    base = graph.points_to.program.instruction_base
    return [base[site.caller] + site.index for site in graph.points_to.sites if not site.callees]


def _is_turn(i: Instruction) -> bool:
    """Whether a warp lets others run."""
    return control_of(i) in (Control.MEETS, Control.PAUSES)


def _can_go(i: Instruction) -> bool:
    """A barrier that only waits; one that also computes or only arrives stays, and with it all others."""
    return i.guard is None and (control_of(i) is Control.PAUSES or "sync" in i.modifiers or i.modifiers == ())


def _is_unseen(i: Instruction) -> bool:
    return i.call is not None and getattr(i.call.target, "name", "") in UNSEEN_CALLS and i.guard is None


def _jumps(program: Program) -> list[int]:
    return [
        base + block.first + block.count - 1
        for cfg, base in zip(program.cfgs, program.instruction_base, strict=True)
        for block in cfg.blocks
        if len(block.successors) + block.leaves > 1
    ]
