"""Static single assignment form of a function: every value has one definition.

A value is a number. It is defined by an instruction, by a phi at the top of a block where several definitions meet, or
it is there when the function is entered. A guarded write (``@p mov d, s``) merges the old value of its destination with
the new one and so reads both, as a phi of the two would.

Method: Cytron, Ferrante, Rosen, Wegman, Zadeck, "Efficiently computing static single assignment form and the control
dependence graph" (HyPA's reference 41), with phis only where the register is live.
"""

from dataclasses import dataclass, field

from rayplay.ptx.flow.liveness import Liveness
from rayplay.ptx.graph import Cfg, immediate_dominators, post_order
from rayplay.ptx.ir import NO_FORM, Function, Instruction
from rayplay.ptx.isa.describe import describe
from rayplay.ptx.isa.table import TABLE

CARRY = "cc"  # the carry flag of add.cc and its kin, a register without a name in PTX

ENTRY, PHI, INSTRUCTION = range(3)


@dataclass(slots=True)
class Phi:
    """``value`` of ``register`` at the top of ``block``: one of ``arguments``, in the order of the predecessors.

    Block 0 has one more, last, for the entry of the function.
    """

    block: int
    register: str
    value: int
    arguments: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Ssa:
    """A function in SSA form. Blocks that control cannot reach have no values.

    definition   per value (kind, where, register): ENTRY and -1, PHI and its number, INSTRUCTION and its index.
    reads        per instruction register -> value: sources, guard, and the old value of a guarded destination.
    writes       per instruction register -> value.
    phis         in the order of their blocks.
    """

    definition: list[tuple[int, int, str]]
    reads: list[dict[str, int]]
    writes: list[dict[str, int]]
    phis: list[Phi]


def accesses(instruction: Instruction, function: Function) -> tuple[list[str], list[str]]:
    """Registers that an instruction reads and writes, the carry flag among them; ``UserError`` as ``describe``."""
    description = describe(instruction, function)
    reads, writes = list(description.sources), list(description.destinations)
    if instruction.form is not NO_FORM and TABLE[instruction.form.key].reads_carry:
        reads.append(CARRY)
    if "cc" in instruction.modifiers:
        writes.append(CARRY)
    if instruction.opcode == "ret":
        reads += [each.name for each in function.returns if each.name in function.registers]
    if instruction.guard is not None:
        reads += [name for name in writes if name not in reads]
    return reads, writes


def build_ssa(function: Function, cfg: Cfg) -> Ssa:
    """The SSA form of a function; ``UserError`` for an opcode without a row in the opcode table."""
    return _Builder(function, cfg).build()


class _Builder:
    def __init__(self, function: Function, cfg: Cfg) -> None:
        self.cfg = cfg
        self.accesses = [accesses(i, function) for i in function.body]
        self.live = Liveness(function, cfg)
        self.successors = [list(block.successors) for block in cfg.blocks]
        self.order = post_order(self.successors.__getitem__, 0) if cfg.blocks else []
        reachable = set(self.order)
        self.predecessors: list[list[int]] = [[] for _ in cfg.blocks]
        for block in sorted(reachable):
            for successor in self.successors[block]:
                self.predecessors[successor].append(block)
        self.dominator = immediate_dominators(self.order, self.predecessors, 0) if self.order else {}
        count = len(function.body)
        self.made = Ssa([], [{} for _ in range(count)], [{} for _ in range(count)], [])
        self.phis_of: list[list[int]] = [[] for _ in cfg.blocks]
        self.stacks: dict[str, list[int]] = {}

    def build(self) -> Ssa:
        self._place_phis()
        self._rename()
        return self.made

    def _frontiers(self) -> dict[int, set[int]]:
        """Per block where its dominance ends (Cooper, Harvey, Kennedy)."""
        frontiers: dict[int, set[int]] = {block: set() for block in self.order}
        for block in self.order:
            meets_entry = block == 0 and self.predecessors[0]
            if len(self.predecessors[block]) < 2 and not meets_entry:
                continue
            for runner in self.predecessors[block]:
                while runner != self.dominator[block] or meets_entry:
                    frontiers[runner].add(block)
                    if runner == 0:
                        break
                    runner = self.dominator[runner]
        return frontiers

    def _place_phis(self) -> None:
        frontiers = self._frontiers()
        written: dict[str, list[int]] = {}
        for block in sorted(self.order):
            extent = self.cfg.blocks[block]
            for position in range(extent.first, extent.first + extent.count):
                for register in self.accesses[position][1]:
                    written.setdefault(register, []).append(block)
        placed: list[tuple[int, str]] = []
        for register, blocks in written.items():
            seen: set[int] = set()
            waiting = list(dict.fromkeys(blocks))
            while waiting:
                for block in frontiers[waiting.pop()]:
                    if block not in seen and self._is_live(register, block):
                        seen.add(block)
                        waiting.append(block)
            placed += [(block, register) for block in seen]
        for block, register in sorted(placed):
            value = self._define(PHI, len(self.made.phis), register)
            self.phis_of[block].append(len(self.made.phis))
            self.made.phis.append(Phi(block, register, value, [-1] * len(self.predecessors[block])))

    def _is_live(self, register: str, block: int) -> bool:
        bit = self.live.index.get(register)
        return bit is None or bool(self.live.live_in[block] >> bit & 1)

    def _define(self, kind: int, where: int, register: str) -> int:
        self.made.definition.append((kind, where, register))
        return len(self.made.definition) - 1

    def _top(self, register: str) -> int:
        stack = self.stacks.setdefault(register, [])
        if not stack:
            stack.append(self._define(ENTRY, -1, register))
        return stack[-1]

    def _rename(self) -> None:
        """Walk the dominator tree; what a block defined is undone when its subtree is done."""
        children: dict[int, list[int]] = {block: [] for block in self.order}
        for block in sorted(self.order):
            if block != 0:
                children[self.dominator[block]].append(block)
        waiting: list[tuple[int, list[str]]] = [(0, [])] if self.order else []
        while waiting:
            block, defined = waiting.pop()
            if block < 0:
                for register in defined:
                    self.stacks[register].pop()
                continue
            defined = self._rename_block(block)
            waiting.append((-1, defined))
            waiting += [(child, []) for child in reversed(children[block])]

    def _rename_block(self, block: int) -> list[str]:
        defined = []
        for number in self.phis_of[block]:
            phi = self.made.phis[number]
            if block == 0:
                phi.arguments.append(self._top(phi.register))
            self.stacks.setdefault(phi.register, []).append(phi.value)
            defined.append(phi.register)
        extent = self.cfg.blocks[block]
        for position in range(extent.first, extent.first + extent.count):
            reads, writes = self.accesses[position]
            self.made.reads[position] = {register: self._top(register) for register in reads}
            for register in writes:
                value = self._define(INSTRUCTION, position, register)
                self.made.writes[position][register] = value
                self.stacks.setdefault(register, []).append(value)
                defined.append(register)
        for successor in dict.fromkeys(self.successors[block]):
            for number in self.phis_of[successor]:
                phi = self.made.phis[number]
                for index, predecessor in enumerate(self.predecessors[successor]):
                    if predecessor == block:
                        phi.arguments[index] = self._top(phi.register)
        return defined
