"""All rows of the instruction set, and the row of an instruction."""

from functools import cache

from rayplay.ptx.isa import (
    address,
    barrier,
    bits,
    bulk,
    compare,
    convert,
    floats,
    flow,
    integer,
    matrix,
    memory,
    shuffle,
    unit,
    video,
)
from rayplay.ptx.isa.row import Control, Op

_SCALAR = (*integer.ROWS, *floats.ROWS, *bits.ROWS, *compare.ROWS, *convert.ROWS, *video.ROWS)
TABLE: dict[str, Op] = {
    op.name: op
    for op in (
        *_SCALAR, *memory.ROWS, *address.ROWS, *flow.ROWS, *shuffle.ROWS, *barrier.ROWS, *unit.ROWS, *matrix.ROWS,
        *bulk.ROWS,
    )
}  # fmt: skip
SCALAR = frozenset(op.opcode for op in _SCALAR)
"""Opcodes that compute on registers, lane by lane."""
MAY_END_BLOCK = frozenset(op.opcode for op in TABLE.values() if op.control is not Control.NEXT)
"""Opcodes of which some form may end a basic block."""
FINAL = frozenset(op.opcode for op in TABLE.values() if op.control in (Control.BRANCHES, Control.LEAVES))
"""Opcodes after which control does not go on to the next instruction, unless they are guarded."""


@cache
def row_of(opcode: str, modifiers: tuple[str, ...]) -> Op | None:
    """The row with the longest name that an instruction begins with; None when no row does."""
    for count in (4, 3, 2, 1, 0):
        row = TABLE.get(".".join((opcode, *modifiers[:count])))
        if row is not None:
            return row
    return None
