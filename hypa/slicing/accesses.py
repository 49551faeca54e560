"""Which memory an instruction reads and writes: its address operands and their state spaces."""

from dataclasses import dataclass

from rayplay.ptx.ir import Address, Function, Instruction, Operand
from rayplay.ptx.isa.describe import SPACES, describe

_NO_ACCESS = frozenset(("prefetch", "prefetchu", "applypriority", "discard", "membar", "fence", "txq", "suq"))
_READS = frozenset(("ld", "ldu", "ldmatrix"))
_WRITES = frozenset(("st", "stmatrix"))
_TEXTURE_READS, _TEXTURE_WRITES = frozenset(("tex", "tld4", "suld")), frozenset(("sust", "sured"))
_OPAQUE = frozenset(("wgmma", "tcgen05"))  # they find their operands through descriptors
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

    Prefetches and fences have none: they change no value. Instructions that are not known to only read or only write
    do both.
    """
    i = instruction
    if i.opcode in _NO_ACCESS or i.call is not None:
        return ()
    if i.opcode in _TEXTURE_READS or i.opcode in _TEXTURE_WRITES:
        return (Use(None, "global", 0, i.opcode != "sust", i.opcode in _TEXTURE_WRITES),)
    if i.opcode in _OPAQUE:
        return (Use(None, "generic", 0, True, True),)
    addresses = [operand for operand in i.operands if isinstance(operand, Address)]
    spaces = [SPACES[m] for m in i.modifiers if m in SPACES] or ["generic"]
    size = describe(i, function).access_bytes or MATRIX_BYTES
    if i.opcode == "cp" and len(addresses) == 2:
        return (Use(addresses[0], spaces[0], size, False, True), Use(addresses[1], spaces[-1], size, True, False))
    reads, writes = True, True
    if i.opcode in _READS or (i.opcode == "wmma" and "load" in i.modifiers):
        writes = False
    elif i.opcode in _WRITES or (i.opcode == "wmma" and "store" in i.modifiers):
        reads = False
    size = MATRIX_BYTES if i.opcode in ("wmma", "ldmatrix", "stmatrix") else size
    return tuple(Use(operand, spaces[0], size, reads, writes) for operand in addresses)
