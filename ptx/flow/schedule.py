"""Instructions of PTX in the order in which an assembler would issue them: loads early, their uses late.

PTX as a compiler writes it has a load right before its use; ptxas moves it up, so that loads of an unrolled loop are
under way together. Each basic block is list-scheduled: among instructions whose operands have come, the one with the
longest chain to the block's end goes first. No instruction leaves its block, and none goes further ahead than
``WINDOW``, which bounds the registers that are live at once. The program computes what it did before.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import Enum, auto

from rayplay.ptx.flow.cfg import build, ends_block
from rayplay.ptx.ir import NO_FORM, Function, Instruction, Module, Register, Vector
from rayplay.ptx.isa.describe import Description, describe, require_rows
from rayplay.ptx.isa.row import NO_MEMORY, READS, READS_IMAGE, WRITES
from rayplay.ptx.isa.table import TABLE

WINDOW = 24
"""Instructions of a block, from the first that has not issued, among which the next one is chosen.

Source: docs/sources/choices.md#order-of-issue.
"""

RESULT_CYCLES = {"load": 32, "texture": 200, "sfu": 20, "fp64": 16}
"""Until a dependent instruction may issue, by class: what orders a block; ``OTHER_CYCLES`` of all others."""
OTHER_CYCLES = 4
ARITHMETIC = frozenset(("int", "fp32", "fp64", "fp16", "sfu", "predicate", "convert", "move"))
"""Classes that read and write registers alone."""
ORDERED = frozenset(("volatile", "relaxed", "acquire", "release", "mmio"))
"""Modifiers of accesses that keep their order."""
VOLATILE = ("%clock", "%globaltimer", "%pm")
CARRY = "carry"


def scheduled(module: Module) -> Module:
    """The module with the blocks of each of its PTX functions in the order of issue.

    Raises ``UserError`` for an opcode without a row and for a branch to nowhere.
    """
    made = {id(f): scheduled_function(f) for f in module.functions.values()}
    return replace(module, functions={name: made[id(f)] for name, f in module.functions.items()})


def scheduled_function(function: Function) -> Function:
    """A function with its blocks in the order of issue; one of SASS or without a body is as it was."""
    if function.language != "ptx" or not function.body:
        return function
    require_rows(function)
    body = list(function.body)
    for block in build(function).blocks:
        places = range(block.first, block.first + block.count)
        body[block.first : block.first + block.count] = [function.body[place] for place in _order(function, places)]
    return replace(function, body=tuple(body))


@dataclass(slots=True)
class _Node:
    """An instruction of a block: ``before`` has what must issue first and the cycles between, ``after`` what waits."""

    before: dict[int, int] = field(default_factory=dict)
    after: list[int] = field(default_factory=list)
    height: int = 0  # cycles from its issue to the end of the longest chain that it begins
    earliest: int = 0


class _Dependences:
    """The nodes of a block, each with edges from its predecessors."""

    def __init__(self) -> None:
        self.nodes: list[_Node] = []
        self.writer: dict[str, int] = {}
        self.readers: dict[str, list[int]] = {}
        self.cycles: list[int] = []
        self.reads: dict[str, list[int]] = {}  # loads and stores by state space since the last fence
        self.writes: dict[str, list[int]] = {}
        self.fence: int | None = None

    def add(self, instruction: Instruction, function: Function) -> None:
        """The next instruction of the block."""
        here = len(self.nodes)
        self.nodes.append(_Node())
        description = describe(instruction, function)
        self.cycles.append(RESULT_CYCLES.get(description.operation_class, OTHER_CYCLES))
        kind = _kind(instruction, description)
        if kind is _Kind.FENCE:
            for number in range(self.fence or 0, here):  # the last fence is behind all others
                self._edge(number, here, 1)
            self.fence, self.reads, self.writes = here, {}, {}
        elif self.fence is not None:
            self._edge(self.fence, here, 1)
        self._registers(instruction, description, here)
        if kind in (_Kind.READS, _Kind.WRITES):
            self._memory(description.memory_space, kind is _Kind.WRITES, here)

    def _registers(self, instruction: Instruction, description: Description, here: int) -> None:
        """Edges by registers: results before their readers, readers and writers before the next writer."""
        carry = (CARRY,) * (instruction.form.carries or TABLE[instruction.form.key].reads_carry)
        for name in (*description.sources, *carry, *(description.destinations if instruction.guard else ())):
            if name in self.writer:
                self._edge(self.writer[name], here, self.cycles[self.writer[name]])
            self.readers.setdefault(name, []).append(here)
        for name in (*description.destinations, *carry):
            for number in self.readers.get(name, ()):
                self._edge(number, here, 0)
            if name in self.writer:
                self._edge(self.writer[name], here, 1)
            self.writer[name], self.readers[name] = here, []

    def _memory(self, space: str, writes: bool, here: int) -> None:
        """Edges between accesses to what may be the same memory, of which one writes."""
        for other, numbers in self.writes.items():
            if _may_meet(space, other):
                for number in numbers:
                    self._edge(number, here, 1)
        if writes:
            for other, numbers in self.reads.items():
                if _may_meet(space, other):
                    for number in numbers:
                        self._edge(number, here, 1)
        (self.writes if writes else self.reads).setdefault(space, []).append(here)

    def _edge(self, first: int, then: int, cycles: int) -> None:
        if first == then:
            return
        known = self.nodes[then].before
        if first not in known:
            self.nodes[first].after.append(then)
        known[first] = max(known.get(first, 0), cycles)


class _Kind(Enum):
    """How far an instruction may move: past everything but its operands' makers, memory of its space, nothing."""

    COMPUTES = auto()
    READS = auto()
    WRITES = auto()
    FENCE = auto()


def _kind(instruction: Instruction, description: Description) -> _Kind:
    form = instruction.form
    if form is NO_FORM or instruction.call is not None or ends_block(instruction) or form.synchronised:
        return _Kind.FENCE
    if any(name.startswith(VOLATILE) for name in _names(instruction)):
        return _Kind.FENCE
    memory = TABLE[form.key].memory
    if memory == NO_MEMORY and description.operation_class in ARITHMETIC:
        return _Kind.COMPUTES
    if ORDERED.intersection(form.modifiers) or memory not in (READS, WRITES, READS_IMAGE):
        return _Kind.FENCE
    return _Kind.WRITES if memory == WRITES else _Kind.READS


def _names(instruction: Instruction) -> Iterator[str]:
    for operand in instruction.operands:
        for each in operand.elements if isinstance(operand, Vector) else (operand,):
            if isinstance(each, Register):
                yield each.name


def _may_meet(one: str, other: str) -> bool:
    return one == other or "generic" in (one, other)


def _order(function: Function, places: range) -> list[int]:
    """Places of a block's instructions as they issue."""
    made = _Dependences()
    for place in places:
        made.add(function.body[place], function)
    nodes = made.nodes
    for number in reversed(range(len(nodes))):
        node = nodes[number]
        node.height = max((nodes[n].before[number] + nodes[n].height for n in node.after), default=0)
    return [places.start + n for n in _issue(nodes)]


def _issue(nodes: list[_Node]) -> Iterator[int]:
    """Numbers of a block's nodes as they issue, one a cycle."""
    waiting = [len(node.before) for node in nodes]
    left, now = list(range(len(nodes))), 0
    while left:
        free = [n for n in left[:WINDOW] if not waiting[n]]
        chosen = min(free, key=lambda n: (max(nodes[n].earliest - now, 0), -nodes[n].height, n))
        now = max(now, nodes[chosen].earliest)
        left.remove(chosen)
        for n in nodes[chosen].after:
            waiting[n] -= 1
            nodes[n].earliest = max(nodes[n].earliest, now + nodes[n].before[chosen])
        yield chosen
        now += 1
