"""Scoreboard: the registers that a warp's instructions in flight will write.

An instruction may not issue while a register that it reads or writes is still to be written (RAW, WAW); a register
read late is no hindrance (WAR). Source: ``docs/sources/accel-sim.md#scoreboard``.
"""

import numpy as np

from rayplay.replay.input import work as op
from rayplay.replay.jit.bits import inlined
from rayplay.replay.sm import policies, warps
from rayplay.replay.sm.pipeline import state as pipe


@inlined
def collides(core: pipe.Pipeline, here: int, instruction: int) -> bool:
    """Whether the instruction has a register that is still to be written."""
    may_collide = core.filter[here] & core.filters[instruction] != 0
    if core.words == 1 or not may_collide:
        return may_collide
    for at in range(core.register_first[instruction], core.register_first[instruction + 1]):
        number = np.int64(core.register[at])
        if (core.pending[here, number >> 6] >> (number & 63)) & 1:
            return True
    return False


@inlined
def reserve(core: pipe.Pipeline, here: int, instruction: int, count: int) -> None:
    """The instruction issues: its ``count`` registers will be written."""
    first = core.register_first[instruction]
    core.warp[here, pipe.WRITES] += count
    core.filter[here] |= core.outputs[instruction]
    if core.code[instruction] & 15 == pipe.MEMORY:
        core.warp[here, pipe.LOADS] |= core.outputs[instruction]
    if core.words > 1:
        for at in range(first, first + count):
            number = np.int64(core.register[at])
            core.pending[here, number >> 6] |= 1 << (number & 63)
            core.sharing[here, number & 63] += 1


@inlined
def free(core: pipe.Pipeline, sm: int, index: int, here: int, instruction: int) -> None:
    """The instruction has written its registers; the warp's next may be freed by that."""
    count = (core.code[instruction] >> op.DESTINATIONS_SHIFT) & 255
    if count == 0:
        return
    core.warp[here, pipe.WRITES] -= count
    freed = core.outputs[instruction] if core.words == 1 else free_each(core, here, instruction, count)
    core.filter[here] &= ~freed
    core.warp[here, pipe.LOADS] &= ~freed
    if (core.unit[sm, pipe.COLLIDES] >> index) & 1:
        look_again(core, sm, index, here)


@inlined
def free_each(core: pipe.Pipeline, here: int, instruction: int, count: int) -> np.int64:
    """Registers of an instruction are written: the bits of the filter that no other register shares with them."""
    first, freed = core.register_first[instruction], np.int64(0)
    for at in range(first, first + count):
        number = np.int64(core.register[at])
        bit = 1 << (number & 63)
        core.pending[here, number >> 6] &= ~bit
        core.sharing[here, number & 63] -= 1
        if core.sharing[here, number & 63] == 0:
            freed |= bit
    return freed


@inlined
def look_again(core: pipe.Pipeline, sm: int, index: int, here: int) -> None:
    """A register that the scoreboard held for the warp is free: it may be hindered no more, or by no load any more."""
    instruction, bit = core.warp[here, warps.INSTRUCTION], 1 << index
    if not collides(core, here, instruction):
        core.unit[sm, pipe.COLLIDES] &= ~bit
        core.unit[sm, pipe.ON_MEMORY] &= ~bit
    elif core.warp[here, pipe.LOADS] & core.filters[instruction] == 0:
        core.unit[sm, pipe.ON_MEMORY] &= ~bit


@inlined
def mark_long(core: pipe.Pipeline, here: int, instruction: int, is_long: bool) -> None:
    """For the policy two-level: a load from memory issues, or another instruction has written its registers.

    The mark outlives the load, and its warp: only another instruction's result ends it.
    """
    if core.policy == policies.TWO_LEVEL:
        first = core.register_first[instruction]
        for at in range(first, first + ((core.code[instruction] >> op.DESTINATIONS_SHIFT) & 255)):
            number = np.int64(core.register[at])
            bit = 1 << (number & 63)
            word = core.long_ops[here, number >> 6]
            core.long_ops[here, number >> 6] = word | bit if is_long else word & ~bit


@inlined
def reads_long(core: pipe.Pipeline, here: int, instruction: int) -> bool:
    """Whether an instruction reads a register with the mark of a load."""
    first = core.register_first[instruction] + ((core.code[instruction] >> op.DESTINATIONS_SHIFT) & 255)
    for at in range(first, core.register_first[instruction + 1]):
        number = np.int64(core.register[at])
        if (core.long_ops[here, number >> 6] >> (number & 63)) & 1:
            return True
    return False
