"""Block visits of a launch, counted as they are made: the sink that a profile is made from."""

import math
from dataclasses import dataclass, fields

import numpy as np

from rayplay.formats.guard.errors import UserError
from rayplay.hypa.count import (
    CONDITIONAL_JUMP,
    JUMP,
    NO_JUMP,
    ROW,
    RUN,
    SITE_TO_GROW,
    count_visits,
    end_cta,
    grown,
    make_counters,
)  # fmt: skip
from rayplay.ptx.program import Program
from rayplay.tracer.abi.layout import LANES


@dataclass(frozen=True, eq=False)
class VisitCounts:
    """Per block of the launch, int64[blocks].

    visits         by warps; ``lanes``: by threads.
    divergent      executions of the block's jump by warps that part (``hypa.count``).
    cta_branches   executions of the block's conditional jump by CTAs, ``cta_divergent`` the ones that part.
    is_jump        bool[blocks]: the block ends in ``bra`` or ``brx.idx``; ``is_conditional``: with a choice.
    """

    visits: np.ndarray
    lanes: np.ndarray
    divergent: np.ndarray
    cta_branches: np.ndarray
    cta_divergent: np.ndarray
    is_jump: np.ndarray
    is_conditional: np.ndarray

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VisitCounts) and all(
            np.array_equal(getattr(self, field.name), getattr(other, field.name)) for field in fields(self)
        )

    __hash__ = None  # type: ignore[assignment]


class VisitCounter:
    """A ``VisitSink`` that counts the visits of ``program``; ``warps``: per CTA."""

    def __init__(self, program: Program, warps: int) -> None:
        self.counters = make_counters(_jumps(program), warps)
        self.warps = warps

    def put_visits(self, warp_id: np.ndarray, end: np.ndarray, visits: np.ndarray) -> None:
        """Count visits as they are made."""
        self.counters.progress[[RUN, ROW]] = 0
        warp_id, end, visits = (np.ascontiguousarray(each) for each in (warp_id, end, visits))
        while not count_visits(self.counters, warp_id, end, visits, self.warps):
            self.counters = grown(self.counters, int(self.counters.progress[SITE_TO_GROW]))

    def finish(self) -> VisitCounts:
        """The counts, when the launch has ended."""
        end_cta(self.counters)
        c = self.counters
        return VisitCounts(
            c.visits, c.lanes, c.divergent, c.cta_branches, c.cta_divergent, c.jump != NO_JUMP,
            c.jump == CONDITIONAL_JUMP,
        )  # fmt: skip


def static_counts(program: Program, grid: tuple[int, int, int], block: tuple[int, int, int]) -> VisitCounts:
    """The visits as static analysis has them: every thread visits every block once, and no warp parts.

    ``UserError`` when the launch would execute 2^63 instructions.
    """
    jump = _jumps(program)
    ctas, threads = math.prod(grid), math.prod(block)
    executed = ctas * threads * sum(len(function.body) for function in program.functions)
    if executed > np.iinfo(np.int64).max:
        raise UserError(
            f"grid {list(grid)} x block {list(block)}: must execute less than 2^63 instructions, not {executed}"
        )
    same = np.ones(len(jump), np.int64)
    conditional = jump == CONDITIONAL_JUMP
    return VisitCounts(
        same * ctas * -(-threads // LANES), same * ctas * threads, 0 * same, ctas * conditional.astype(np.int64),
        0 * same, jump != NO_JUMP, conditional,
    )  # fmt: skip


def _jumps(program: Program) -> np.ndarray:
    """uint8[blocks]: how each block ends."""
    kinds = []
    for function, cfg in zip(program.functions, program.cfgs, strict=True):
        for block in cfg.blocks:
            last = function.body[block.first + block.count - 1]
            ways = len(block.successors) + block.leaves
            is_jump = last.opcode in ("bra", "brx")
            kinds.append((CONDITIONAL_JUMP if ways > 1 else JUMP) if is_jump else NO_JUMP)
    return np.array(kinds, np.uint8)
