"""The part of a launch that decides where its threads go: HyPA's filtered dependency graphs, and their union.

The filtered dependency graph of a jump (HyPA, definition 2) has every instruction that the choice of the jump depends
on. Executing the union for all threads visits the same blocks with the same masks as executing everything, because
every jump is in it: what no jump depends on cannot change where a thread goes.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ptx.cfg import ends_block
from ptx.dependences import COMMON_SPACES, Dependences, build_dependences, stores_into
from ptx.ir import Instruction
from ptx.pointers import ANYWHERE, Arguments, Location, Object, Target
from ptx.points_to import points_to
from ptx.program import Program

_BARRIERS = frozenset(("bar", "barrier"))
UNSEEN_CALLS = frozenset(("vprintf",))
"""Functions outside of the program that change nothing a program can see."""


@dataclass(frozen=True)
class Slice:
    """``kept``: bool[instructions], those that decide where threads go, all jumps among them.

    Instructions that end a block are in it, but for barriers when no warp can see what another one does.
    """

    program: Program
    graph: Dependences
    kept: np.ndarray

    @cached_property
    def jumps(self) -> list[int]:
        """The instructions that threads can leave to more than one block, in order."""
        return _jumps(self.program)

    def filtered_graph(self, jump: int) -> list[int]:
        """The filtered dependency graph of an instruction: it and all it depends on, in order."""
        found = _closure(self.graph, [jump])
        return [node for node in sorted(found) if node < self.graph.instructions]

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

    arguments  what the parameters of the kernel point into (``ptx.pointers``).
    results    objects in global memory whose contents at the end are wanted, too; ``ANYWHERE``: all of it.
    """
    graph = build_dependences(points_to(program, arguments))
    roots = _control(program)
    for item in sorted(results):
        location = Location("global", Target(frozenset((item,))), 1 << 62)
        roots += stores_into(graph, location)
    found = _closure(graph, roots)
    barriers = _barriers(program)
    if any(_is_common(graph, node) for node in found) or not found.isdisjoint(barriers):
        found = _closure(graph, [*found, *barriers])  # the order of warps matters
    kept = np.zeros(graph.instructions, bool)
    kept[[node for node in found if node < graph.instructions]] = True
    return Slice(program, graph, kept)


def _closure(graph: Dependences, roots: list[int]) -> set[int]:
    """The roots and all nodes they depend on."""
    found = set(roots)
    waiting = list(found)
    while waiting:
        for needed in graph.needs[waiting.pop()]:
            if needed not in found:
                found.add(needed)
                waiting.append(needed)
    return found


def _is_common(graph: Dependences, node: int) -> bool:
    """Whether a node writes memory that other threads read."""
    return any(location.space in COMMON_SPACES for location in graph.stores.get(node, ()))


def _control(program: Program) -> list[int]:
    """Instructions that end blocks, but for barriers and calls that nothing can see."""
    return [
        base + index
        for function, base in zip(program.functions, program.instruction_base, strict=True)
        for index, i in enumerate(function.body)
        if ends_block(i) and not (_is_barrier(i) and _can_go(i)) and not _is_unseen(i)
    ]


def _barriers(program: Program) -> list[int]:
    return [
        base + index
        for function, base in zip(program.functions, program.instruction_base, strict=True)
        for index, i in enumerate(function.body)
        if _is_barrier(i)
    ]


def _is_barrier(i: Instruction) -> bool:
    return i.opcode in _BARRIERS and ends_block(i)


def _can_go(i: Instruction) -> bool:
    """A barrier that only waits; one that also computes stays, and with it all others (``bar.red``)."""
    return "red" not in i.modifiers and i.guard is None


def _is_unseen(i: Instruction) -> bool:
    return i.call is not None and getattr(i.call.target, "name", "") in UNSEEN_CALLS and i.guard is None


def _jumps(program: Program) -> list[int]:
    return [
        base + block.first + block.count - 1
        for cfg, base in zip(program.cfgs, program.instruction_base, strict=True)
        for block in cfg.blocks
        if len(block.successors) + block.leaves > 1
    ]
