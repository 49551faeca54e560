"""Units of the pipelined SM and their results.

Peak rate: an instruction per ``initiation`` cycles and unit; each scheduler has one unit of every class, and all share
the LD/ST unit. A result is written ``latency + 2`` cycles after its instruction entered the unit. Of all units of an
SM, ``result_buses`` results may end in one cycle: an instruction whose result would be one too many waits. Source:
``docs/sources/accel-sim.md#initiation, #result-bus, #opcode-latencies``.
"""

import numpy as np

from rayplay.replay.input import work as op
from rayplay.replay.jit.bits import FAR, compiled, inlined, lowest_bit
from rayplay.replay.jit.rows import wrap
from rayplay.replay.sm.pipeline import state as pipe
from rayplay.replay.sm.pipeline.fetch import check_over
from rayplay.replay.sm.pipeline.scoreboard import free, mark_long


@inlined
def execute(core: pipe.Pipeline, sm: int, now: int) -> None:
    """Units take instructions from their OC_EX latches, all but the LD/ST unit."""
    waiting = core.unit[sm, pipe.EXECUTES] & ((1 << (pipe.MEMORY_RANK * core.schedulers)) - 1)
    while waiting:
        latch = lowest_bit(waiting)
        if core.sub_cores:
            waiting &= waiting - 1
            take(core, sm, now, latch, latch)
        else:
            first = latch & ~(core.schedulers - 1)
            waiting &= ~(((1 << core.schedulers) - 1) << first)
            execute_class(core, sm, now, first)


@compiled
def execute_class(core: pipe.Pipeline, sm: int, now: int, first: int) -> None:
    """Without sub-cores: each unit of a class takes the oldest instruction in its latches, from ``first`` on."""
    for unit in range(core.schedulers):
        full = (core.unit[sm, pipe.EXECUTES] >> first) & ((1 << core.schedulers) - 1)
        if full == 0:
            return
        take(core, sm, now, first + oldest_latch(core, sm * pipe.LATCHES + first, full), first + unit)


@inlined
def oldest_latch(core: pipe.Pipeline, base: int, full: int) -> int:
    """Of some OC_EX latches behind row ``base``, a mask, the one whose instruction was issued first."""
    best = lowest_bit(full)
    full &= full - 1
    while full:
        other = lowest_bit(full)
        full &= full - 1
        if core.ready[base + other, pipe.OPERATION] < core.ready[base + best, pipe.OPERATION]:
            best = other
    return best


@inlined
def take(core: pipe.Pipeline, sm: int, now: int, latch: int, unit: int) -> None:
    """A unit, numbered as latches are, takes the instruction in a latch if it is free and there is a result bus."""
    if core.free_at[sm * pipe.LATCHES + unit] > now:
        return
    operation = core.ready[sm * pipe.LATCHES + latch, pipe.OPERATION]
    code = core.code[operation & pipe.INSTRUCTION_MASK]
    place = wrap(now + ((code >> op.LATENCY_SHIFT) & 0xFFF) + 2, core.ring)
    results = np.int64(core.results[sm, place])
    count = results >> pipe.COUNT_SHIFT
    integer = (unit >> core.shift == pipe.INT_RANK) << (unit & (core.schedulers - 1))
    if count == core.buses or results & integer:
        return
    core.wheel[sm * core.ring + place, count] = operation
    core.results[sm, place] = (results | integer) + (1 << pipe.COUNT_SHIFT)
    core.occupied[sm, place >> 6] |= 1 << (place & 63)
    core.free_at[sm * pipe.LATCHES + unit] = now + ((code >> op.INITIATION_SHIFT) & 0xFFFF)
    core.unit[sm, pipe.EXECUTES] &= ~(1 << latch)


@inlined
def write_back(core: pipe.Pipeline, sm: int, now: int) -> None:
    """Results of this cycle: their registers are there, their instructions complete."""
    place = wrap(now, core.ring)
    count = core.results[sm, place] >> pipe.COUNT_SHIFT
    if count == 0:
        return
    core.results[sm, place] = 0
    core.unit[sm, pipe.NEXT_CYCLE] = now
    core.occupied[sm, place >> 6] &= ~(1 << (place & 63))
    for number in range(count):
        operation = np.int64(core.wheel[sm * core.ring + place, number])
        index, instruction = (operation >> pipe.INSTRUCTION_BITS) & pipe.WARP_MASK, operation & pipe.INSTRUCTION_MASK
        if (core.code[instruction] >> op.DESTINATIONS_SHIFT) & 255:
            write_banks(core, sm, now, index, instruction)
            mark_long(core, sm * core.warps + index, instruction, False)
        complete(core, sm, index, instruction)


@inlined
def complete(core: pipe.Pipeline, sm: int, index: int, instruction: int) -> None:
    """An instruction completes."""
    here = sm * core.warps + index
    core.warp[here, pipe.FLYING] -= 1
    free(core, sm, index, here, instruction)
    check_over(core, sm, index, here)


@inlined
def write_banks(core: pipe.Pipeline, sm: int, now: int, index: int, instruction: int) -> bool:
    """Take the banks of an instruction's destinations for this cycle; False at the first that another has taken.

    PTX vectors may name several registers of one bank: they are written together.
    """
    row = sm * core.schedulers + (index & (core.schedulers - 1)) * core.sub_cores
    if core.row[row, pipe.WRITTEN_AT] != now:
        core.row[row, pipe.WRITTEN_AT] = now
        core.row[row, pipe.WRITTEN] = 0
    first, others = core.register_first[instruction], core.row[row, pipe.WRITTEN]
    for at in range(first, first + ((core.code[instruction] >> op.DESTINATIONS_SHIFT) & 255)):
        bank = 1 << 8 * ((np.int64(core.register[at]) + 1 + index) & (core.banks - 1))
        if others & bank:
            return False
        core.row[row, pipe.WRITTEN] |= bank
    return True


@inlined
def next_result(core: pipe.Pipeline, sm: int, now: int) -> int:
    """The next cycle after ``now`` with a result, FAR without one. ``now``'s own place is empty."""
    words = core.ring >> 6
    start = wrap(now + 1, core.ring)
    word, low = start >> 6, start & 63
    found = core.occupied[sm, word] & ~((1 << low) - 1)
    ahead = 0
    while found == 0 and ahead < words:
        ahead += 1
        found = core.occupied[sm, (word + ahead) & (words - 1)]
    if found == 0:
        return FAR
    return now + 1 + ahead * 64 + lowest_bit(found) - low
