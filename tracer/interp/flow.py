"""How the lanes of a function in flight part, wait and meet, interpreted: the reconvergence stack.

Where lanes part, the side whose block comes first in the text runs first; both wait at the branch's immediate
post-dominator.
"""

import numpy as np

from rayplay.ptx.flow.cfg import branch_labels
from rayplay.ptx.ir import Instruction
from rayplay.tracer.abi.layout import LANES
from rayplay.tracer.abi.words import ACTIVATION, IN_CALL, PASSES, PASSES_AGAIN, STOP
from rayplay.tracer.interp.values import Lanes
from rayplay.tracer.link.functions import LinkedFunction


class Flow:
    """The current block and lanes of an activation, and the entries that wait."""

    def __init__(self, lanes: Lanes, header: np.ndarray) -> None:
        self.w = lanes
        self.header = header
        self.activation = lanes.activation
        self.linked: LinkedFunction = self.activation.linked
        blocks, pc = len(self.linked.cfg.blocks), int(header[ACTIVATION.pc])
        self.resumes = blocks <= pc < IN_CALL  # in a block, behind the instruction that ends it
        self.block, self.meet = pc - blocks * self.resumes, int(np.int32(header[ACTIVATION.reconvergence] & 0xFFFFFFFF))
        self.mask, self.live = int(header[ACTIVATION.mask]), int(header[ACTIVATION.live])

    def save(self) -> None:
        """Keep where the activation stands in its header."""
        self.header[ACTIVATION.pc] = self.block + len(self.linked.cfg.blocks) * self.resumes
        self.header[ACTIVATION.reconvergence] = self.meet
        self.header[ACTIVATION.mask], self.header[ACTIVATION.live], self.header[ACTIVATION.depth] = (
            self.mask,
            self.live,
            len(self.activation.stack),
        )

    def after(self) -> int | None:
        """The next block of the text."""
        return self.block + 1 if self.block + 1 < len(self.linked.cfg.blocks) else None

    def turn(self) -> int | None:
        """Why other lanes have to run before the block, if so (``tracer.warp.turns``)."""
        spins, passes = self.linked.spins, self.activation.passes
        for number in spins.entries.get(self.block, ()):
            passes[number] = 0
        if self.block in spins.heads:
            number = spins.heads[self.block]
            passes[number] = passes.get(number, 0) + 1
            if passes[number] > PASSES:
                passes[number] = PASSES - PASSES_AGAIN
                return STOP.turn
        parted = self.block in spins.joins and self.header[ACTIVATION.parted] and self.mask != self.live
        return STOP.join if parted else None

    def go(self, target: int | None) -> None:
        """Continue at a block; at the reconvergence block lanes wait for the entry below."""
        if target is None:
            self.live &= ~self.mask
            self.mask = 0
        elif target == self.meet:
            self.pop()
        else:
            self.block = target

    def pop(self) -> bool:
        """Take the innermost entry with live lanes off the stack; False without one."""
        self.mask = 0
        while self.activation.stack:
            self.block, self.meet, mask, _ = self.activation.stack.pop()
            self.mask = mask & self.live
            if self.mask:
                return True
        return False

    def leave(self, gone: int, after: int | None) -> None:
        """Lanes end here; the others go on."""
        self.live &= ~gone
        self.mask &= ~gone
        if self.mask:
            self.go(after)

    def branch(self, i: Instruction, taken: int, after: int | None) -> None:
        """Lanes part: each target's lanes are pushed, the lowest block last, so that it runs first."""
        f = self.linked
        first = [block.first for block in f.cfg.blocks]
        targets = [first.index(f.function.labels[label]) for label in branch_labels(i, f.function)]
        sides: dict[int | None, int] = {}
        if i.opcode == "brx":
            chosen = np.minimum(self.w.read(i.operands[0], "u32"), len(targets) - 1)
            for lane in range(LANES):
                if taken >> lane & 1:
                    target = targets[chosen[lane]]
                    sides[target] = sides.get(target, 0) | 1 << lane
        elif taken:
            sides[targets[0]] = taken
        if self.mask & ~taken:
            sides[after] = sides.get(after, 0) | self.mask & ~taken
        if None in sides:
            self.live &= ~sides.pop(None)
        if len(sides) < 2:
            target, self.mask = next(iter(sides.items()), (None, 0))
            self.go(target)
            return
        meet = f.cfg.reconvergence[self.block]
        stack = self.activation.stack
        if meet >= 0 and self.meet != meet:
            stack.append((meet, self.meet, self.mask, 0))
        for target in sorted((t for t in sides if t is not None), reverse=True):
            if target != meet:
                stack.append((target, meet, sides[target], 0))
        self.pop()
