"""What each thread of a launch has to note down, so that its warps can be rebuilt: a few 8-byte slots a basic block.

A block notes its number only where the block before it has several ways on. An address is noted as the base register
holds it, once for all instructions of the block that use the register before it changes; what follows from the text (a
variable's place, an offset) is not noted.

Source: docs/sources/native-capture.md#what-a-thread-notes.
"""

from dataclasses import dataclass

from rayplay.formats.guard.errors import UserError
from rayplay.ptx.flow.cfg import falls_through
from rayplay.ptx.ir import Address, Guard, Immediate, Instruction, Register, Symbol
from rayplay.ptx.isa.describe import describe
from rayplay.tracer.link.functions import LinkedFunction
from rayplay.tracer.link.link import LinkedLaunch
from rayplay.tracer.units.plans import PLANS

RECORDED = ("ld", "ldu", "st", "atom", "red")
NOT_RECORDED = ("const", "param")
MOST_BLOCKS = 0xFFFF  # numbers have 16 bits, and the last one marks what was never written
STATIC = -1


@dataclass(frozen=True)
class Access:
    """A memory instruction: ``position`` in its function's body, and where its address is.

    slot    number of the slot that holds the base register; ``STATIC`` where ``symbol`` (or nothing, an immediate) and
            ``offset`` are the whole address.
    narrow  the base register has 32 bits.
    guard   number of the slot that lanes with a false guard leave as it was, all ones; ``STATIC`` without a guard.
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


@dataclass(frozen=True)
class BlockPlan:
    """``slots`` of a block: its number first where ``identified``, then base registers."""

    identified: bool
    slots: int
    notes: tuple[Note, ...]
    accesses: tuple[Access, ...]


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
        """Slots of the block that has most."""
        return max((block.slots for block in self.blocks), default=0)


def plan_launch(linked: LinkedLaunch) -> Plan:
    """The plan of a linked launch. Raises ``UserError``, with the line, for an instruction that cannot be captured."""
    for f in linked.functions:
        for i in f.function.body:
            _refuse(f, i)
    blocks = [plan for f in linked.functions for plan in _function(f)]
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


def _function(f: LinkedFunction) -> list[BlockPlan]:
    identified = _identified(f)
    return [_block(f, number, number in identified) for number in range(len(f.cfg.blocks))]


def _identified(f: LinkedFunction) -> set[int]:
    """Blocks that must say which they are: one of several that may come next; the first one of a called function."""
    found = set() if f.function.is_entry else {0}
    for number, block in enumerate(f.cfg.blocks):
        last = f.function.body[block.first + block.count - 1]
        if len(block.successors) + block.leaves > 1:
            found.update(block.successors)
        if last.call is not None and number + 1 < len(f.cfg.blocks):
            found.add(number + 1)
    return found


def _block(f: LinkedFunction, number: int, identified: bool) -> BlockPlan:
    block = f.cfg.blocks[number]
    notes: list[Note] = []
    accesses: list[Access] = []
    known: dict[str, int] = {}
    slots = int(identified)
    for position in range(block.first, block.first + block.count):
        i = f.function.body[position]
        operand = _address(i)
        if operand is not None and i.form.space not in NOT_RECORDED and not _is_lane_variable(f, operand):
            base, space = operand.base, i.form.space.split("::")[0]
            register = base.name if isinstance(base, Register) else ""
            slot = known.get(register, STATIC) if i.guard is None else STATIC
            if slot == STATIC and (register or i.guard is not None):
                slot = slots
                slots += 1
                notes.append(Note(position, slot, register, i.guard))
            if register and i.guard is None:
                known[register] = slot
            accesses.append(_access(f, operand, position, space, slot, i.guard is not None))
        for name in describe(i, f.function).destinations:
            known.pop(name, None)
    return BlockPlan(identified, slots, tuple(notes), tuple(accesses))


def _access(f: LinkedFunction, operand: Address, position: int, space: str, slot: int, guarded: bool) -> Access:
    base, guard = operand.base, slot if guarded else STATIC
    if isinstance(base, Register):
        narrow = f.function.registers[base.name].endswith("32")
        return Access(position, slot, space, "", operand.offset, narrow, guard)
    if isinstance(base, Immediate):
        return Access(position, STATIC, space, "", base.bits + operand.offset, guard=guard)
    assert isinstance(base, Symbol)
    return Access(position, STATIC, space, base.name, base.offset + operand.offset, guard=guard)


def _address(i: Instruction) -> Address | None:
    """The address operand of an instruction whose accesses are recorded."""
    if i.opcode not in RECORDED or i.call is not None:
        return None
    return next((operand for operand in i.operands if isinstance(operand, Address)), None)


def _is_lane_variable(f: LinkedFunction, operand: Address) -> bool:
    return isinstance(operand.base, Symbol) and operand.base.name in f.layout.lane_variables


def ends_function(f: LinkedFunction) -> bool:
    """Whether control can fall off the end of a function's text."""
    return bool(f.function.body) and falls_through(f.function.body[-1])
