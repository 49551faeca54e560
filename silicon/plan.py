"""Notes that each thread of a launch takes, so that its warps can be rebuilt: 8-byte slots, a range a region.

A region is entered at its head alone and has no loop: every block in it has slots of its own, at places that do not
depend on the way taken, and the cursor moves once, at the head. Slots that a thread does not write stay all ones.
A branch is noted as one guarded store: a slot that was written means taken. An address is noted as the base register
holds it, once for all instructions that use the register, or one a constant away, before it changes. What follows from
the text (a variable's place, an offset) is not noted.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from rayplay.formats.guard.errors import UserError
from rayplay.ptx.flow.cfg import control_of
from rayplay.ptx.graph import post_order, predecessors_of
from rayplay.ptx.ir import Address, Guard, Immediate, Instruction, Register, Symbol
from rayplay.ptx.isa.describe import describe
from rayplay.ptx.isa.row import Control
from rayplay.tracer.link.functions import LinkedFunction
from rayplay.tracer.link.link import LinkedLaunch
from rayplay.tracer.units.plans import PLANS

RECORDED = ("ld", "ldu", "st", "atom", "red")
NOT_RECORDED = ("const", "param")
MOST_BLOCKS = 0xFFFF  # numbers have 16 bits, and the last one marks an unwritten slot
MOST_REGION_SLOTS = 256
STATIC = -1


@dataclass(frozen=True)
class Access:
    """A memory instruction: ``position`` in its function's body, and where its address is.

    slot    number, in its region, of the slot that holds a register; ``STATIC`` where ``symbol`` (or nothing, an
            immediate) and ``offset`` are the whole address.
    narrow  the register has 32 bits.
    guard   number of the slot that lanes with a false guard leave unwritten; ``STATIC`` without a guard.
    """

    position: int
    slot: int
    space: str
    symbol: str
    offset: int
    narrow: bool = False
    guard: int = STATIC


@dataclass(frozen=True)
class Note:
    """Write a register, or 0 without one, into a slot before the instruction at ``position``."""

    position: int
    slot: int
    register: str
    guard: Guard | None


@dataclass
class BlockPlan:
    """Notes of a block. Slots are numbered in its region.

    region    slots of the region that begins at the block; -1 inside a region.
    number    slot in which the block, the first of a function, notes its number; ``STATIC`` without an indirect call.
    decision  slot of its last instruction's guard, or of the index of ``brx``.
    """

    region: int = STATIC
    number: int = STATIC
    decision: int = STATIC
    notes: list[Note] = field(default_factory=list)
    accesses: list[Access] = field(default_factory=list)


@dataclass(frozen=True)
class Plan:
    """Plans of all blocks of a launch, in the order of its block ids.

    calls   whether a function of the launch calls another one, so that the cursor has to lie in memory.
    generic whether addresses are noted that can lie in any state space.
    """

    blocks: tuple[BlockPlan, ...]
    calls: bool
    generic: bool

    @property
    def most_slots(self) -> int:
        """Slots of the largest region."""
        return max((block.region for block in self.blocks), default=0)


def plan_launch(linked: LinkedLaunch) -> Plan:
    """The plan of a linked launch. Raises ``UserError``, with the line, for an instruction that cannot be captured."""
    for f in linked.functions:
        for i in f.function.body:
            _refuse(f, i)
    named = not all(i.callee for f in linked.functions for i in f.function.body if i.call is not None)
    blocks = [plan for f in linked.functions for plan in _FunctionPlan(f, named).blocks]
    if len(blocks) >= MOST_BLOCKS:
        raise UserError(f"{linked.functions[0].module.source_name}: capture takes {MOST_BLOCKS - 1} blocks at most")
    generic = any(a.space == "generic" and a.slot != STATIC for block in blocks for a in block.accesses)
    return Plan(tuple(blocks), len(linked.functions) > 1, generic)


def _refuse(f: LinkedFunction, i: Instruction) -> None:
    place = f"{f.module.source_name}:{i.position.line}:{i.position.column}"
    if f.module.address_size != 64:
        raise UserError(f"{f.module.source_name}: capture needs 64-bit addresses, found {f.module.address_size}")
    if i.opcode in PLANS and i.form.memory_space != "none":
        raise UserError(f"{place}: capture does not note the addresses of {i.full_opcode}: {', '.join(RECORDED)} alone")


def regions_of(f: LinkedFunction, slots: list[int]) -> list[int]:
    """Per block the head of its region: where its predecessors are all in one region, before it, it joins them.

    slots  that each block has; a region has ``MOST_REGION_SLOTS`` at most, unless one block has more.
    """
    successors = [list(block.successors) for block in f.cfg.blocks]
    before = predecessors_of(successors)
    order = list(reversed(post_order(successors.__getitem__, 0))) if successors else []
    heads, sizes = list(range(len(successors))), list(slots)
    seen: set[int] = set()
    for block in order:
        known = {heads[b] for b in before[block] if b in seen}
        if block and len(known) == 1 and all(b in seen for b in before[block]):
            (head,) = known
            if sizes[head] + slots[block] <= MOST_REGION_SLOTS:
                heads[block] = head
                sizes[head] += slots[block]
        seen.add(block)
    return heads


class _FunctionPlan:
    """Plans the blocks of one function; ``named``: an indirect call may run it, so that it says which it is."""

    def __init__(self, f: LinkedFunction, named: bool) -> None:
        self.f, self.body = f, f.function.body
        self.named = named and not f.function.is_entry
        most = [self._most_slots(number) for number in range(len(f.cfg.blocks))]
        self.heads = regions_of(f, most)
        self.block_at = {p: n for n, b in enumerate(f.cfg.blocks) for p in range(b.first, b.first + b.count)}
        self.written = _single_definitions(f)
        successors = [list(block.successors) for block in f.cfg.blocks]
        self.before = predecessors_of(successors)
        self.order = list(reversed(post_order(successors.__getitem__, 0))) if successors else []
        self.rank = {block: rank for rank, block in enumerate(self.order)}
        self.blocks = [BlockPlan(region=0 if head == n else STATIC) for n, head in enumerate(self.heads)]
        self.held: dict[int, dict[str, int]] = {}  # registers that slots hold at the end of a block
        for block in [*self.order, *(set(range(len(self.blocks))) - set(self.order))]:
            self._block(block)

    def _most_slots(self, number: int) -> int:
        block = self.f.cfg.blocks[number]
        positions = range(block.first, block.first + block.count)
        return 2 + sum(_address(self.f, self.body[p]) is not None for p in positions)

    def _take(self, number: int) -> int:
        head = self.blocks[self.heads[number]]
        head.region += 1
        return head.region - 1

    def _block(self, number: int) -> None:
        plan, block = self.blocks[number], self.f.cfg.blocks[number]
        held = self._held_before(number)
        if number == 0 and self.named:
            plan.number = self._take(number)
        for position in range(block.first, block.first + block.count):
            i = self.body[position]
            operand = _address(self.f, i)
            if operand is not None:
                self._access(number, position, operand, held)
            for name in describe(i, self.f.function).destinations:
                held.pop(name, None)
        last = block.first + block.count - 1
        if self._decides(self.body[last]):
            plan.decision = self._take(number)
            index = self.body[last].opcode == "brx"
            register = self.body[last].operands[0] if index else None
            name = register.name if isinstance(register, Register) else ""
            plan.notes.append(Note(last, plan.decision, name, self.body[last].guard))
        self.held[number] = held

    def _held_before(self, number: int) -> dict[str, int]:
        """Registers of one definition that slots of the region hold on every way to a block."""
        if self.heads[number] == number:
            return {}
        first, *others = (self.held[b] for b in self.before[number])
        return {
            name: slot for name, slot in first.items()
            if name in self.written and all(other.get(name) == slot for other in others)
        }  # fmt: skip

    def _access(self, number: int, position: int, operand: Address, held: dict[str, int]) -> None:
        i, plan = self.body[position], self.blocks[number]
        base, space = operand.base, i.form.space.split("::")[0]
        if not isinstance(base, Register):
            guard = self._take(number) if i.guard is not None else STATIC
            if guard != STATIC:
                plan.notes.append(Note(position, guard, "", i.guard))
            symbol = base.name if isinstance(base, Symbol) else ""
            start = base.offset if isinstance(base, Symbol) else base.bits
            plan.accesses.append(Access(position, STATIC, space, symbol, start + operand.offset, guard=guard))
            return
        narrow = self.f.function.registers[base.name].endswith("32")
        name, delta = self._root(base.name, number, position)
        slot = held.get(name, STATIC) if i.guard is None else STATIC
        if slot == STATIC:
            slot = self._take(number)
            plan.notes.append(Note(position, slot, name, i.guard))
        if i.guard is None:
            held[name] = slot
        guard = slot if i.guard is not None else STATIC
        plan.accesses.append(Access(position, slot, space, "", operand.offset + delta, narrow, guard))

    def _root(self, name: str, number: int, position: int) -> tuple[str, int]:
        """The register that another one is a constant away from, unchanged since, and the constant.

        Both have one definition each. The other one's lies in this region, and this one's does not lie behind it in the
        region: a block of a region runs once before the region is left.
        """
        delta, head = 0, self.heads[number]
        while name in self.written:
            at = self.written[name]
            source, step = _constant_step(self.body[at])
            inside = self.heads[self.block_at[at]] == head
            if not source or source not in self.written or not inside or not self._is_before(at, position, number):
                break
            other = self.written[source]
            if self.heads[self.block_at[other]] == head and not self._is_before(other, at, self.block_at[at]):
                break
            name, delta = source, delta + step
        return name, delta

    def _is_before(self, one: int, other: int, block: int) -> bool:
        first = self.block_at[one]
        return one < other if first == block else self.rank.get(first, -1) < self.rank.get(block, -1)

    def _decides(self, i: Instruction) -> bool:
        """Whether the way on after a block's last instruction depends on a lane."""
        control = control_of(i)
        if control is Control.BRANCHES and i.opcode == "brx":
            return True
        return i.guard is not None and control in (Control.BRANCHES, Control.LEAVES, Control.CALLS)


def _single_definitions(f: LinkedFunction) -> dict[str, int]:
    """Registers that one unguarded instruction writes, and its position."""
    found: dict[str, list[int]] = {}
    for position, i in enumerate(f.function.body):
        for name in describe(i, f.function).destinations:
            found.setdefault(name, []).append(position)
    return {n: at[0] for n, at in found.items() if len(at) == 1 and f.function.body[at[0]].guard is None}


def _constant_step(i: Instruction) -> tuple[str, int]:
    """The register that an instruction adds a constant to, or moves, and the constant; an empty name for others."""
    operands = list(_sources(i))
    if i.form.type not in ("u32", "s32", "u64", "s64", "b32", "b64") or i.form.carries or i.form.saturates:
        return "", 0
    if i.opcode == "mov" and len(operands) == 1 and isinstance(operands[0], Register):
        return operands[0].name, 0
    if i.opcode == "cvta" and i.form.space == "global" and isinstance(operands[0], Register):
        return operands[0].name, 0
    if i.opcode in ("add", "sub") and isinstance(operands[0], Register) and isinstance(operands[1], Immediate):
        return operands[0].name, operands[1].bits * (1 if i.opcode == "add" else -1)
    return "", 0


def _sources(i: Instruction) -> Iterator[object]:
    yield from i.operands[1:]


def _address(f: LinkedFunction, i: Instruction) -> Address | None:
    """The address operand of an instruction whose accesses are recorded."""
    if i.opcode not in RECORDED or i.call is not None or i.form.space in NOT_RECORDED:
        return None
    found = next((operand for operand in i.operands if isinstance(operand, Address)), None)
    if found is not None and isinstance(found.base, Symbol) and found.base.name in f.layout.lane_variables:
        return None
    return found
