"""Units that both backends call: textures, surfaces, matrix products and fragments, asynchronous copies.

A unit does a warp instruction for all its lanes at once: ``int64 f(int64 machine, int64 rows, int64 mask, int64
settings)``, every pointer as an address. ``rows`` are slots of 32 lanes: operands in, results and recorded addresses
out. ``settings`` are what the instruction's text fixes (``tracer.units.settings``). The result is 0, or the ``STOP``
that ends the launch, after the machine's error words have been set.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from rayplay.ptx.ir import Function, Instruction, Operand
from rayplay.tracer.link.layout import FunctionLayout

Inputs = list[tuple[Operand, int] | None]
SLOT_BYTES = 256
RESULT_SLOT = 24  # the first result; operands come before
ADDRESS_SLOT = 40  # int64 per lane: what the access is recorded with
SCRATCH_SLOT = 41
SCRATCH_BYTES = 72 << 10
SECTORS_SLOT = SCRATCH_SLOT + SCRATCH_BYTES // SLOT_BYTES  # further sectors of a texture access: int64 count, addresses
ROWS_BYTES = SECTORS_SLOT * SLOT_BYTES + (81 << 10)

UNITS = ("bounds", "texture", "surface", "matrix", "fragment", "copy")
NUMBERS = {name: number for number, name in enumerate(UNITS)}


class UnknownFormError(Exception):
    """An instruction asks for something that its unit lacks; the text says what, or is empty for the opcode itself."""


@dataclass(frozen=True)
class Place:
    """Function and layout around an instruction."""

    function: Function
    layout: FunctionLayout


@dataclass(frozen=True)
class UnitCall:
    """One instruction as its unit sees it.

    inputs   what goes into slot 0 and up: an operand and 32 or 64, its width in the slot (1: a predicate, as 32
             bits); an address becomes each lane's; None leaves a slot alone.
    outputs  what comes out of ``RESULT_SLOT`` and up: destination and width.
    records  whether the instruction accesses memory at the addresses that the unit leaves in ``ADDRESS_SLOT``.
    """

    unit: str
    settings: int
    inputs: tuple[tuple[Operand, int] | None, ...]
    outputs: tuple[tuple[Operand | None, int], ...]
    records: bool


def number_of(word: str, known: tuple[str, ...]) -> int:
    """The place of a form's word among ``known``; ``UnknownFormError`` for another one."""
    if word not in known:
        raise UnknownFormError
    return known.index(word)


def check_registers(operands: Sequence[Operand | None], wanted: int, i: Instruction) -> None:
    """``UnknownFormError`` for a vector of another length."""
    if len(operands) != wanted:
        raise UnknownFormError(f"{i.full_opcode} with {len(operands)} registers, which must be {wanted}")


def given(operands: Sequence[Operand | None], width: int) -> Inputs:
    """Operands as inputs of a width; ``UnknownFormError`` for the sink."""
    if None in operands:
        raise UnknownFormError
    return [(operand, width) for operand in operands if operand is not None]
