"""Register liveness in the functions of a SASS module, across calls.

A write under a predicate ends a life for the lanes where the predicate holds (``sass_predicated.py``). A call
reads what its callee reads before writing it, and ends the life of what the callee surely writes. At its return a
function keeps alive what any caller needs behind its calls. Calls through registers may run every function that
returns. The stack pointer R1 is live to the end.

``nvdisasm -plr`` differs in three habits. Between blocks every write under a predicate kills the old value, even if
lanes that keep it read it later. In a few blocks that end in a guarded branch or EXIT it shows a register that the next
block writes under predicates and no instruction reads before; the cause is unknown. At calls it assumes a convention
instead of looking at the callee.
"""

from functools import reduce
from operator import or_

from rayplay.ptx.flow.language import build, describe
from rayplay.ptx.flow.liveness import solve
from rayplay.ptx.ir import Function, Module
from rayplay.ptx.sass.cfg import callees
from tests.reference.sass_predicated import live_at_tops

STACK_POINTER = "R1"


class SassLiveness:
    """Live registers of all functions of a module; ``index[name]`` is a register's bit, the same in all functions.

    Raises UserError for a branch to nowhere and for an opcode without a class.
    """

    def __init__(self, module: Module) -> None:
        self.index: dict[str, int] = {STACK_POINTER: 0}
        self.functions = {name: _Flow(function, module, self.index) for name, function in module.functions.items()}
        self._solve_effects()
        self._solve_needs()

    def live(self, name: str) -> list[frozenset[str]]:
        """Per instruction of a function the registers that are live before or behind it, or that it writes."""
        names = sorted(self.index, key=self.index.__getitem__)
        sets: dict[int, frozenset[str]] = {}
        made = []
        for bits in self.functions[name].live():
            if bits not in sets:
                sets[bits] = frozenset(register for bit, register in enumerate(names) if bits >> bit & 1)
            made.append(sets[bits])
        return made

    def _solve_effects(self) -> None:
        """Solve the registers that each function reads first and surely writes, from below and from above."""
        everything = (1 << len(self.index)) - 1
        for flow in self.functions.values():
            flow.written = everything
        changed = True
        while changed:
            changed = False
            for flow in self.functions.values():
                self._enter_calls(flow)
                effects = flow.reads_first(), flow.surely_written() & everything
                if effects != (flow.read, flow.written):
                    flow.read, flow.written = effects
                    changed = True

    def _enter_calls(self, flow: "_Flow") -> None:
        for index, names in flow.calls.items():
            reads, kills = flow.own_reads[index], -1 if names and not flow.function.body[index].guard else 0
            for name in names:
                reads |= self.functions[name].read
                kills &= self.functions[name].written
            flow.reads[index], flow.kills[index] = reads, kills

    def _solve_needs(self) -> None:
        """Registers that callers need after their calls are live at the callee's returns."""
        waiting = list(self.functions.values())
        while waiting:
            flow = waiting.pop()
            for position, _, after in flow.backwards():
                for name in flow.calls.get(position, ()):
                    callee = self.functions[name]
                    if after & ~callee.needed:
                        callee.needed |= after
                        waiting.append(callee)


class _Flow:
    """One function: what its instructions read, write and surely write, as bits; ``calls`` are the callees per call.

    ``read`` and ``written`` are the function's effects, ``needed`` the registers live after its returns.
    """

    def __init__(self, function: Function, module: Module, index: dict[str, int]) -> None:
        self.function, self.cfg, self.index = function, build(function), index
        self.calls = callees(function, module.functions)
        self.own_reads: list[int] = []
        self.writes: list[int] = []
        for instruction in function.body:
            described = describe(instruction, function)
            self.own_reads.append(_bits(described.sources, index))
            self.writes.append(_bits(described.destinations, index))
        self.reads = list(self.own_reads)
        self.kills = [0 if i.guard else bits for i, bits in zip(function.body, self.writes, strict=True)]
        self.returns = [function.body[b.first + b.count - 1].opcode == "RET" for b in self.cfg.blocks]
        self.read = self.written = self.needed = 0

    def reads_first(self) -> int:
        """Registers that are read before they are written."""
        return self._solve(0)[0][0] if self.cfg.blocks else 0

    def _solve(self, needed: int) -> tuple[list[int], list[int]]:
        return solve(self.cfg, self.reads, self.kills, self._at_end(needed))

    def _at_end(self, needed: int) -> list[int]:
        stack = [int(block.leaves) for block in self.cfg.blocks]
        return [bit | (needed if returns else 0) for bit, returns in zip(stack, self.returns, strict=True)]

    def surely_written(self) -> int:
        """Registers written on every path from the top to a return; all where no path leads to one."""
        blocks = self.cfg.blocks
        through = [0] * len(blocks)
        for number, block in enumerate(blocks):
            for position in range(block.first, block.first + block.count):
                through[number] |= self.kills[position]
        entry = [0, *[-1] * (len(blocks) - 1)]
        waiting = [0] if blocks else []
        while waiting:
            number = waiting.pop()
            leaving = entry[number] | through[number]
            for successor in blocks[number].successors:
                if entry[successor] & leaving != entry[successor]:
                    entry[successor] &= leaving
                    waiting.append(successor)
        written = -1
        for number, returns in enumerate(self.returns):
            if returns:
                written &= entry[number] | through[number]
        return written

    def live(self) -> list[int]:
        """Per instruction the registers live before or after it, or written by it."""
        made = [0] * len(self.function.body)
        at_end = self._at_end(self.needed)
        tops = live_at_tops(self.function, self.cfg, (self.reads, self.kills, self.writes), self.index, at_end)
        bottoms = [
            live & reduce(or_, (tops[s] for s in block.successors), needed)
            for block, live, needed in zip(self.cfg.blocks, self._solve(self.needed)[1], at_end, strict=True)
        ]
        for position, before, after in self._walk(bottoms):
            made[position] = before | after | self.writes[position]
        return made

    def backwards(self) -> list[tuple[int, int, int]]:
        """Each instruction, and the registers live before and after it; a write under a predicate kills none."""
        return self._walk(self._solve(self.needed)[1])

    def _walk(self, bottoms: list[int]) -> list[tuple[int, int, int]]:
        made = []
        for block, live in zip(self.cfg.blocks, bottoms, strict=True):
            for position in reversed(range(block.first, block.first + block.count)):
                before = live & ~self.kills[position] | self.reads[position]
                made.append((position, before, live))
                live = before
        return made


def _bits(names: tuple[str, ...], index: dict[str, int]) -> int:
    bits = 0
    for name in names:
        bits |= 1 << index.setdefault(name, len(index))
    return bits
