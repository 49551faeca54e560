"""Static instructions of a kernel (Ganestam and Doggett 4.3): in the bodies of its innermost loops, and outside."""

from collections.abc import Iterator

from rayplay.formats.guard.errors import UserError
from rayplay.ptx.flow.cfg import build
from rayplay.ptx.graph import Cfg, immediate_dominators, post_order, predecessors_of, reached
from rayplay.ptx.ir import Function
from rayplay.tuner.counts import KernelCounts

Body = frozenset[int]


def count_loops(function: Function) -> KernelCounts:
    """Static counts of a ray tracer: its first innermost loop visits a node, its second one tests a triangle.

    Memory instructions are loads from global memory, a vector counts as one; all others compute. Raises ``UserError``
    where the kernel has not two innermost loops.
    """
    cfg = build(function)
    inner = innermost_loops(cfg)
    if len(inner) != 2:
        raise UserError(
            f"kernel {function.name}: must have two innermost loops, of nodes and triangles, not {len(inner)}"
        )
    rest = frozenset(range(len(cfg.blocks))) - inner[0] - inner[1]
    (compute_t, memory_t), (compute_i, memory_i), (compute, memory) = (
        _count(function, cfg, blocks) for blocks in (*inner, rest)
    )
    return KernelCounts(compute_t, compute_i, compute, memory_t, memory_i, memory)


def innermost_loops(cfg: Cfg) -> list[Body]:
    """Natural loops that hold no other, in the order of the text: the blocks of each."""
    loops = sorted(_natural_loops(cfg), key=min)
    return [body for body in loops if not any(other < body for other in loops)]


def _natural_loops(cfg: Cfg) -> Iterator[Body]:
    """Per head the blocks that reach an edge back to it without passing it."""
    successors = [list(block.successors) for block in cfg.blocks]
    order, predecessors = post_order(successors.__getitem__, 0), predecessors_of(successors)
    dominator = immediate_dominators(order, [[p for p in row if p in order] for row in predecessors], 0)
    tails: dict[int, list[int]] = {}
    for block in order:
        for head in successors[block]:
            if _dominates(head, block, dominator):
                tails.setdefault(head, []).append(block)
    for head, ends in tails.items():
        yield frozenset({head, *reached([end for end in ends if end != head], predecessors.__getitem__, {head})})


def _dominates(one: int, other: int, dominator: dict[int, int]) -> bool:
    while other != one and dominator[other] != other:
        other = dominator[other]
    return other == one


def _count(function: Function, cfg: Cfg, blocks: Body) -> tuple[int, int]:
    """(compute, memory) instructions of blocks."""
    counted = [
        function.body[place]
        for number in blocks
        for block in [cfg.blocks[number]]
        for place in range(block.first, block.first + block.count)
    ]
    memory = sum(i.opcode in ("ld", "ldu") and "global" in i.modifiers for i in counted)
    return len(counted) - memory, memory
