"""Operands of video instructions: the parts that they select, and their signs. Source: PTX ISA 9.0, 9.7.13."""

from rayplay.formats.guard.errors import UserError
from rayplay.ptx.ir import Instruction, Modified, Operand, Register

PART_BITS = {"b": 8, "h": 16}


def component(operand: "Operand | None") -> str:
    """The part that a video operand selects (``h1``, ``b3210``), empty for all of it."""
    operand = operand.operand if isinstance(operand, Modified) else operand
    return operand.component if isinstance(operand, Register) else ""


def is_negated(operand: "Operand | None") -> bool:
    """Whether vmad takes the operand with a minus."""
    return isinstance(operand, Modified)


def unsigned_operand(operand: "Operand | None") -> "Operand | None":
    """The operand without its minus."""
    return operand.operand if isinstance(operand, Modified) else operand


def vmad_signs(error: UserError, i: Instruction) -> tuple[bool, bool]:
    """Whether vmad subtracts the product, and whether it subtracts c; not both, and neither with .po."""
    a, b, c = (is_negated(operand) for operand in i.operands[1:4])
    if (a != b) + c + i.form.plus_one > 1:
        raise error
    return a != b, c


def selection(part: str, count: int, first: int) -> list[int]:
    """Which parts of {b, a} the elements of a SIMD operand are, lowest first; by default the operand's own."""
    return [int(digit) for digit in reversed(part[1:])] if part else [first + k for k in range(count)]
