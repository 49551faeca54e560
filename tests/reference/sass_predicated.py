"""Registers live at the top of blocks, with writes and reads under the same predicate told apart.

``@P0 MOV R2, R4`` ends the life of R2 for lanes where P0 holds. If all that reads R2 behind it is under ``@P0`` as
well, or behind a branch taken where P0 holds, no lane needs the R2 from before. For each predicate that guards writes,
liveness is solved for lanes where it holds and for lanes where it does not, both at once. Where the predicate is
written, both come together. Within a block a predicated write never kills the old value (``nvdisasm -plr`` does the
same), so a register read only behind the block's own guarded writes stays live-in.
"""

from dataclasses import dataclass

from rayplay.ptx.graph import Cfg
from rayplay.ptx.ir import Function, Instruction

HOLDS, FAILS = 0, 1


@dataclass(frozen=True, slots=True)
class Run:
    """Instructions that neither write the predicate nor stand around such a write: bits read first and bits surely
    written, for lanes where the predicate holds and where it does not. ``joins``: both are one before the run."""

    reads: tuple[int, int]
    kills: tuple[int, int]
    joins: bool


def live_at_tops(
    function: Function,
    cfg: Cfg,
    flows: tuple[list[int], list[int], list[int]],
    index: dict[str, int],
    at_end: list[int],
) -> list[int]:
    """Per block the registers, as bits, that some lane needs from before its top.

    ``flows`` are the reads, the sure writes and the writes per instruction; ``at_end`` per block those needed where
    it leaves the function.
    """
    made = [-1] * len(cfg.blocks)
    for predicate in sorted(
        {i.guard.register.name for i, w in zip(function.body, flows[2], strict=True) if i.guard and w}
    ):
        if predicate not in index:
            continue  # @PT
        for number, sides in enumerate(_Sides(function, cfg, flows, predicate, 1 << index[predicate]).solve(at_end)):
            made[number] &= sides[HOLDS] | sides[FAILS]
    return made


class _Sides:
    """Liveness of one function for lanes where one predicate holds and where it does not."""

    def __init__(
        self, function: Function, cfg: Cfg, flows: tuple[list[int], list[int], list[int]], predicate: str, bit: int
    ) -> None:
        self.cfg, self.predicate, self.bit = cfg, predicate, bit
        self.runs, self.leaving, self.within = [], [], []
        for block in cfg.blocks:
            stop = block.first + block.count
            parts = [[f[p] for f in flows] for p in range(block.first, stop)]
            self.runs.append(self._runs(function.body[block.first : stop], parts))
            self.leaving.append(self._leaving(function.body[stop - 1]))
            self.within.append(_read_behind_guarded_writes(parts))

    def _side(self, instruction: Instruction) -> int | None:
        """For which lanes an instruction runs; None: not known from this predicate."""
        guard = instruction.guard
        return None if guard is None or guard.register.name != self.predicate else FAILS if guard.negated else HOLDS

    def _runs(self, body: tuple[Instruction, ...] | list[Instruction], parts: list[list[int]]) -> list[Run]:
        """The runs of a block, last first."""
        runs: list[Run] = []
        reads, kills = [0, 0], [0, 0]
        for instruction, (read, kill, written) in zip(reversed(body), reversed(parts), strict=True):
            guarded = self._side(instruction)
            if written & self.bit:
                runs.append(Run((reads[0], reads[1]), (kills[0], kills[1]), False))
                runs.append(Run((read, read), (kill, kill), True))
                reads, kills = [0, 0], [0, 0]
                continue
            for side in (HOLDS, FAILS):
                runs_here = guarded in (None, side)
                surely = (written if guarded == side else kill) if runs_here else 0
                reads[side] = reads[side] & ~surely | (read if runs_here else read & self.bit)
                kills[side] |= surely
        runs.append(Run((reads[0], reads[1]), (kills[0], kills[1]), False))
        return runs

    def _leaving(self, last: Instruction) -> int | None:
        return self._side(last) if last.opcode in ("BRA", "EXIT", "RET") and len(last.operands) < 2 else None

    def solve(self, at_end: list[int]) -> list[tuple[int, int]]:
        """Per block the registers live at its top on both sides."""
        blocks = self.cfg.blocks
        made = [(0, 0)] * len(blocks)
        predecessors: list[list[int]] = [[] for _ in blocks]
        for number, block in enumerate(blocks):
            for successor in block.successors:
                predecessors[successor].append(number)
        waiting = list(range(len(blocks)))
        while waiting:
            number = waiting.pop()
            before = self._through(number, self._behind(number, made, at_end[number]))
            if before != made[number]:
                made[number] = before
                waiting.extend(predecessors[number])
        return made

    def _behind(self, number: int, made: list[tuple[int, int]], at_end: int) -> tuple[int, int]:
        """A branch under the predicate is taken where its guard holds, and the last successor follows elsewhere."""
        successors, side = self.cfg.blocks[number].successors, self.leaving[number]
        live = [at_end, at_end]
        for place, successor in enumerate(successors):
            for lanes in (HOLDS, FAILS):
                falls = place == len(successors) - 1
                if (
                    side is None
                    or len(successors) > 2
                    or (falls if lanes != side else not falls or len(successors) == 1)
                ):
                    live[lanes] |= made[successor][lanes]
        return live[0], live[1]

    def _through(self, number: int, live: tuple[int, int]) -> tuple[int, int]:
        for run in self.runs[number]:
            if run.joins:
                live = (live[0] | live[1],) * 2
            live = (live[0] & ~run.kills[0] | run.reads[0], live[1] & ~run.kills[1] | run.reads[1])
        return live[0] | self.within[number], live[1] | self.within[number]


def _read_behind_guarded_writes(parts: list[list[int]]) -> int:
    """A register that a block reads only behind its own guarded writes is live-in, as with ``nvdisasm``."""
    first = only = 0
    for read, kill, written in reversed(parts):
        first, only = first & ~kill | read, only & ~written | read
    return first & ~only
