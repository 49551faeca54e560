"""Which memory an instruction reads and writes: its address operands and their state spaces."""

from dataclasses import dataclass

from rayplay.ptx.ir import NO_FORM, Address, Function, Instruction, Operand
from rayplay.ptx.isa.describe import describe
from rayplay.ptx.isa.form import SPACES
from rayplay.ptx.isa.table import TABLE

MATRIX_BYTES = 1 << 20  # a matrix instruction reaches rows at a stride: any length


@dataclass(frozen=True, slots=True)
class Use:
    """An access of ``bytes`` at ``operand`` (None: anywhere) in ``space`` (``generic`` where none is named)."""

    operand: Operand | None
    space: str
    bytes: int
    reads: bool
    writes: bool


def memory_uses(instruction: Instruction, function: Function) -> tuple[Use, ...]:
    """The accesses of an instruction; none for an instruction that computes.

    Prefetches and fences have none: they change no value.
    """
    form = instruction.form
    if form is NO_FORM or instruction.call is not None:
        return ()
    memory = TABLE[form.key].memory
    if memory.by in ("image", "hidden"):
        return (Use(None, "global" if memory.by == "image" else "generic", 0, memory.reads, memory.writes),)
    if not memory.by:
        return ()
    addresses = [operand for operand in instruction.operands if isinstance(operand, Address)]
    spaces = [SPACES[m] for m in form.modifiers if m in SPACES] or ["generic"]
    size = MATRIX_BYTES if memory.by == "rows" else describe(instruction, function).access_bytes or MATRIX_BYTES
    if memory.by == "copy" and len(addresses) == 2:
        return (Use(addresses[0], spaces[0], size, False, True), Use(addresses[1], spaces[-1], size, True, False))
    return tuple(Use(operand, spaces[0], size, memory.reads, memory.writes) for operand in addresses)
