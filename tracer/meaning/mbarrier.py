"""Fields of a 64-bit mbarrier object, and how each operation changes them. Source: PTX ISA 9.0, 9.7.13.15.

========  ==============================================================
bits      field
========  ==============================================================
0 - 19    arrivals that the current phase still waits for
20 - 39   arrivals that a phase waits for
40 - 62   bytes of asynchronous copies that are still to come, may be negative
63        the current phase, 0 or 1
========  ==============================================================
"""

from dataclasses import dataclass

from rayplay.ptx.ir import Immediate, Instruction, Operand

COUNT_BITS, EXPECTED_SHIFT, BYTES_SHIFT, BYTES_BITS, PHASE_SHIFT = 20, 20, 40, 23, 63
COUNT_MASK, BYTES_MASK = (1 << COUNT_BITS) - 1, (1 << BYTES_BITS) - 1
OPEN_MASK = COUNT_MASK | BYTES_MASK << BYTES_SHIFT  # a phase is complete when all of these are 0
ONE = Immediate(1)


@dataclass(frozen=True)
class Change:
    """How an operation changes the object: bytes to come, arrivals of all phases and of this one, lowered by counts.

    ``fresh``: the object is initialised, to wait for ``arrivals``.
    """

    address: Operand
    arrivals: Operand | None = None
    bytes: Operand | None = None
    drops: bool = False
    arrives: bool = True
    adds_bytes: bool = True
    fresh: bool = False
    result: Operand | None = None


def change_of(i: Instruction) -> Change | None:
    """The change that an operation makes to an mbarrier; None for operands that it does not have."""
    word, operands = i.form.key.removeprefix("mbarrier."), i.operands
    if word == "init" and len(operands) == 2:
        return Change(operands[0], operands[1], fresh=True)
    if word == "inval" and len(operands) == 1:
        return Change(operands[0], Immediate(0), fresh=True)
    if word in ("expect_tx", "complete_tx") and len(operands) == 2:
        return Change(operands[0], bytes=operands[1], arrives=False, adds_bytes=word == "expect_tx")
    if word not in ("arrive", "arrive_drop") or len(operands) not in (2, 3):
        return None
    extra = operands[2] if len(operands) == 3 else None
    drops = word == "arrive_drop"
    if i.form.expects_bytes:
        return None if extra is None else Change(operands[1], ONE, extra, drops, result=operands[0])
    return Change(operands[1], extra or ONE, drops=drops, result=operands[0])
