"""Control flow of a function before it is lowered: its loops, the registers that waiting lanes need, and its parts.

While some lanes of a warp run a block, others may wait for them at other blocks (``tracer.emit.control`` has the
rule). Only what waiting lanes need has to be blended when a block writes it; other values of inactive lanes are dead.
"""

from bisect import bisect_right
from dataclasses import dataclass

from rayplay.ptx.flow.spin import NONE, Spins
from rayplay.ptx.graph import Cfg, reached

PART_INSTRUCTIONS = 768  # of one LLVM function: beyond, its registers are allocated in more than linear time
BACK_EDGE = 16  # how much worse it is to cut a loop than to cut a jump forwards


@dataclass(frozen=True)
class Flow:
    """Blocks of one function.

    parts    ranges of blocks, one LLVM function each.
    headers  blocks that are entered by a jump backwards: every loop passes one of them.
    waiting  per block the registers, as bits of ``Liveness``, that lanes waiting elsewhere need while it runs.
    """

    parts: tuple[range, ...]
    headers: frozenset[int]
    waiting: tuple[int, ...]

    def part_of(self, block: int) -> int:
        """The part that holds a block."""
        return bisect_right([part.start for part in self.parts], block) - 1


def control_flow(cfg: Cfg, live_in: list[int], returned: int, spins: Spins = NONE) -> Flow:
    """Analyse one function; ``live_in`` and the registers with its results are bits of ``Liveness``.

    Lanes that take turns wait in a loop, in a call or to act together, while others may run any block.
    """
    edges = [(block, target) for block, each in enumerate(cfg.blocks) for target in each.successors]
    headers = frozenset(target for block, target in edges if target <= block)
    waiting = waiting_registers(cfg, live_in, returned)
    anywhere = 0
    for block in {*spins.heads, *(spins.joins if spins.takes_turns else ())}:
        anywhere |= live_in[block] | waiting[block]
    for block in spins.calls:  # that others have left
        for after in cfg.blocks[block].successors:
            anywhere |= live_in[after] | waiting[block]
    return Flow(_parts(cfg, edges), headers, tuple(bits | anywhere for bits in waiting))


def waiting_registers(cfg: Cfg, live_in: list[int], returned: int) -> tuple[int, ...]:
    """Per block what lanes need that wait while it runs, at the meeting block of a branch or at a side not yet run.

    A side of a branch is all that is reached from it before the branch's meeting block. Sides run in the order of the
    text, so that during one of them lanes can wait for the later ones. Lanes that have left a function wait with its
    results until the others have.
    """
    waiting = [returned] * len(cfg.blocks)
    for block, each in enumerate(cfg.blocks):
        if len(each.successors) < 2:
            continue
        meet = cfg.reconvergence[block]
        needed = live_in[meet] if meet >= 0 else 0
        for side in sorted(each.successors, reverse=True):
            if side == meet:
                continue
            for inside in reached((side,), lambda block: cfg.blocks[block].successors, (meet,)):
                waiting[inside] |= needed
            needed |= live_in[side]
    return tuple(waiting)


def _parts(cfg: Cfg, edges: list[tuple[int, int]]) -> tuple[range, ...]:
    """Cut where the fewest edges cross, loops last; parts are half full at least."""
    count = len(cfg.blocks)
    cost = [0] * (count + 1)
    for block, target in edges:
        weight = BACK_EDGE if target <= block else 1
        cost[min(block, target) + 1] += weight
        cost[max(block, target) + 1] -= weight
    for index in range(1, count + 1):
        cost[index] += cost[index - 1]
    starts = [0]
    while sum(block.count for block in cfg.blocks[starts[-1] :]) > PART_INSTRUCTIONS and starts[-1] + 1 < count:
        starts.append(_cut(cfg, starts[-1], cost))
    return tuple(range(start, end) for start, end in zip(starts, [*starts[1:], count], strict=True))


def _cut(cfg: Cfg, start: int, cost: list[int]) -> int:
    """The best first block of the next part; ``cost[b]`` are the edges between blocks before ``b`` and the rest."""
    size, candidates = 0, [start + 1]
    for block in range(start, len(cfg.blocks) - 1):
        size += cfg.blocks[block].count
        if size > PART_INSTRUCTIONS:
            break
        if size >= PART_INSTRUCTIONS // 2:
            candidates.append(block + 1)
    return min(candidates[1:] or candidates, key=lambda block: (cost[block], -block))
