"""Units that both backends call: textures, surfaces, matrix products and fragments, asynchronous copies.

A unit does a warp instruction for all its lanes at once: ``int64 f(int64 machine, int64 rows, int64 mask, int64
settings)``, every pointer as an address. ``rows`` are slots of 32 lanes: operands in, results and recorded addresses
out. ``settings`` are what the instruction's text fixes, packed by ``pack``. The result is 0, or the code that ends the
launch (``driver_state``), after the machine's error words have been set.
"""

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from rayplay.ptx.ir import Function, Operand
from rayplay.tracer.link.layout import FunctionLayout

SLOT_BYTES = 256
RESULT_SLOT = 24  # the first result; operands come before
ADDRESS_SLOT = 40  # int64 per lane: what the access is recorded with
SCRATCH_SLOT = 41
SCRATCH_BYTES = 72 << 10
ROWS_BYTES = SCRATCH_SLOT * SLOT_BYTES + SCRATCH_BYTES

UNITS = {
    "texture": ("tex", "tld4", "txq"),
    "surface": ("suld", "sust", "sured", "suq"),
    "matrix": ("mma", "wmma"),
    "fragment": ("ldmatrix", "stmatrix", "movmatrix", "wmma"),
    "copy": ("cp",),
}
"""Units and the opcodes that may need them."""
NUMBERS = {name: number for number, name in enumerate(UNITS)}


class UnknownFormError(Exception):
    """An instruction asks for something that its unit lacks; the text says what, or is empty for the opcode itself."""


@dataclass(frozen=True)
class Place:
    """Where an instruction stands."""

    function: Function
    layout: FunctionLayout


@dataclass(frozen=True)
class UnitCall:
    """One instruction as its unit sees it.

    inputs   what goes into slot 0 and up: an operand and 32 or 64, its width in the slot (1: a predicate, as 32
             bits); an address becomes that of each lane; None leaves a slot alone.
    outputs  what comes out of ``RESULT_SLOT`` and up: destination and width.
    records  whether the instruction accesses memory at the addresses that the unit leaves in ``ADDRESS_SLOT``.
    """

    unit: str
    settings: int
    inputs: tuple[tuple[Operand, int] | None, ...]
    outputs: tuple[tuple[Operand | None, int], ...]
    records: bool


def pack(*fields: tuple[int, int]) -> int:
    """Non-negative values and their widths in bits, the first lowest."""
    total = shift = 0
    for value, bits in fields:
        assert 0 <= value < 1 << bits
        total |= value << shift
        shift += bits
    assert shift < 64
    return total


def unit_addresses(opcodes: set[str]) -> np.ndarray:
    """int64[units]: code of the units that these opcodes need, 0 for the others."""
    table = np.zeros(len(UNITS), np.int64)
    for name, served in UNITS.items():
        if not opcodes.isdisjoint(served):
            table[NUMBERS[name]] = unit_function(name).address
    return table


def unit_function(name: str) -> Any:
    """The compiled function of a unit; each is compiled when a program first needs it."""
    return getattr(import_module(f"rayplay.tracer.units.{name}.unit"), f"{name}_unit")
