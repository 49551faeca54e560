"""Operand collectors and register banks of the pipelined SM.

Peak rate: ``register_steps`` reads of each bank per cycle. In each step the collector units whose operands are all
there leave for the OC_EX latch of their class, every bank reads one operand (for the unit that came first), and
instructions in ID_OC latches take free units. The banks of a scheduler serve it alone, and so do its units unless all
serve all (``collector_owner``). Each class has one door: its oldest instruction goes first, and while that one finds no
unit, no other of its class does. A bank that is written in a cycle does not read in the first step. Source:
``docs/sources/accel-sim.md#operand-collector``; units for all: ``docs/sources/vulkan-sim.md#collector-units``.
"""

import numpy as np

from rayplay.replay.jit.bits import inlined, lowest_bit, shift_right
from rayplay.replay.sm.pipeline import state as pipe

ONES = 0x0101010101010101


@inlined
def collect(core: pipe.Pipeline, sm: int, now: int) -> bool:
    """The collector's steps of one cycle; whether anything moved, without which nothing will until the SM does."""
    unit, moved, refused = core.unit, False, 0
    for step in range(core.steps):
        asking = unit[sm, pipe.COMPLETE] & ~refused  # latches are emptied between the cycles
        if asking:
            refused |= leave(core, sm, asking)
            moved = moved or asking & ~refused != 0
        if unit[sm, pipe.IN_USE] != unit[sm, pipe.COMPLETE]:
            read(core, sm, now, step == 0)
            moved = True
        if unit[sm, pipe.ISSUED_TO]:
            moved = enter(core, sm) or moved
    return moved


@inlined
def leave(core: pipe.Pipeline, sm: int, asking: int) -> int:
    """Of some units with all operands, one per port leaves; returns the units whose OC_EX latch was full.

    A port serves the next scheduler after the one it served last that has a unit with a free latch, and there always
    the first: the second starves while the first is refilled (``docs/sources/accel-sim.md#micro-benchmarks``: 2.26
    instead of 2.0 cycles). Where all units serve all schedulers, it serves the next unit after the one it served last.
    """
    port, refused = sm * core.ports, 0
    while asking and port < (sm + 1) * core.ports:
        begun = core.turn[port]
        later = (asking >> begun) << begun
        number = lowest_bit(np.int64(later if later else asking))
        asking &= ~(1 << number)
        latch = free_latch(core, core.unit[sm, pipe.EXECUTES], core.collector[at_of(core, sm, number), pipe.LATCH])
        if latch < 0:
            refused |= 1 << number
        else:
            give(core, sm, number, latch)
            scheduler = latch & (core.schedulers - 1)
            core.turn[port] = number + 1 if core.pooled else (scheduler + 1) * core.collectors
            port += 1
    return refused


@inlined
def free_latch(core: pipe.Pipeline, full: int, latch: int) -> int:
    """A latch if it is not in ``full``; without sub-cores the first such one of its class; -1 for none."""
    if core.sub_cores:
        return -1 if (full >> latch) & 1 else latch
    first = latch & ~(core.schedulers - 1)
    free = ~(full >> first) & ((1 << core.schedulers) - 1)
    return first + lowest_bit(np.int64(free)) if free else -1


@inlined
def mates(core: pipe.Pipeline, scheduler: int) -> int:
    """The units that may hold instructions of a scheduler, as a mask."""
    if core.pooled:
        return (1 << (core.schedulers * core.collectors)) - 1
    return ((1 << core.collectors) - 1) << (scheduler * core.collectors)


@inlined
def at_of(core: pipe.Pipeline, sm: int, number: int) -> int:
    """Row of a collector unit."""
    return sm * core.schedulers * core.collectors + number


@inlined
def give(core: pipe.Pipeline, sm: int, number: int, latch: int) -> None:
    """An instruction goes from a unit to its OC_EX latch."""
    at = at_of(core, sm, number)
    core.unit[sm, pipe.EXECUTES] |= 1 << latch
    core.ready[sm * pipe.LATCHES + latch, pipe.OPERATION] = core.collector[at, pipe.OPERATION]
    core.ready[sm * pipe.LATCHES + latch, pipe.PLACE] = core.collector[at, pipe.PLACE]
    core.unit[sm, pipe.IN_USE] &= ~(1 << number)
    core.unit[sm, pipe.COMPLETE] &= ~(1 << number)


@inlined
def read(core: pipe.Pipeline, sm: int, now: int, is_first: bool) -> None:
    """Every bank that is not written reads an operand for the unit that came first."""
    reading = core.unit[sm, pipe.IN_USE] & ~core.unit[sm, pipe.COMPLETE]
    while reading:
        scheduler = core.collector[at_of(core, sm, lowest_bit(reading)), pipe.LATCH] & (core.schedulers - 1)
        row, mine = sm * core.schedulers + scheduler * core.sub_cores, reading & mates(core, scheduler)
        if core.pooled and core.sub_cores:
            mine = held_for(core, sm, mine, scheduler)
        reading &= ~mine
        written = core.row[row, pipe.WRITTEN]
        banks = ONES & all_banks(core) & ~(written if is_first & (core.row[row, pipe.WRITTEN_AT] == now) else 0)
        while mine:
            number = first_of(core, sm, mine)
            mine &= ~(1 << number)
            at = at_of(core, sm, number)
            left = core.collector[at, pipe.LEFT]
            taken = ((left + 0x7F * ONES) >> 7) & banks
            core.collector[at, pipe.LEFT] = left - taken
            banks &= ~taken
            core.unit[sm, pipe.COMPLETE] |= (left == taken) << number


@inlined
def held_for(core: pipe.Pipeline, sm: int, units: int, scheduler: int) -> int:
    """Units among ``some`` that hold an instruction of the scheduler."""
    found = 0
    while units:
        number = lowest_bit(units)
        units &= units - 1
        if core.collector[at_of(core, sm, number), pipe.LATCH] & (core.schedulers - 1) == scheduler:
            found |= 1 << number
    return found


@inlined
def first_of(core: pipe.Pipeline, sm: int, units: int) -> int:
    """The unit among some that was entered first."""
    best = lowest_bit(units)
    units &= units - 1
    while units:
        other = lowest_bit(units)
        units &= units - 1
        if core.collector[at_of(core, sm, other), pipe.ORDER] < core.collector[at_of(core, sm, best), pipe.ORDER]:
            best = other
    return best


@inlined
def enter(core: pipe.Pipeline, sm: int) -> bool:
    """Instructions in ID_OC latches take free units: per port, one of each class, the oldest; whether any does."""
    group, entered = (1 << core.schedulers) - 1, False
    waiting = classes = core.unit[sm, pipe.ISSUED_TO]
    ports = core.ports
    while classes:
        kind = lowest_bit(classes) >> core.shift
        mine = classes & (group << (kind * core.schedulers))
        classes &= ~mine
        scheduler = np.int64(core.order[sm, kind]) & 3
        latch = kind * core.schedulers + scheduler
        free = ~core.unit[sm, pipe.IN_USE] & mates(core, scheduler)
        if free:
            take(core, sm, latch, kind, scheduler, lowest_bit(free))
            waiting &= ~(1 << latch)
            entered = True
        else:
            waiting &= ~mine  # the others of its class wait with it
        if classes == 0 and ports > 1:
            ports -= 1
            classes = waiting
    return entered


@inlined
def take(core: pipe.Pipeline, sm: int, latch: int, kind: int, scheduler: int, number: int) -> None:
    """An instruction leaves its ID_OC latch for a unit and asks the banks for its operands."""
    operation, unit = core.issued[sm * pipe.LATCHES + latch, pipe.OPERATION], core.unit
    unit[sm, pipe.ISSUED_TO] &= ~(1 << latch)
    core.order[sm, kind] = core.order[sm, kind] >> 2
    at = at_of(core, sm, number)
    core.collector[at, pipe.OPERATION] = operation
    core.collector[at, pipe.PLACE] = core.issued[sm * pipe.LATCHES + latch, pipe.PLACE]
    core.collector[at, pipe.LATCH] = pipe.EXECUTE_RANK[kind] * core.schedulers + scheduler
    index, instruction = (operation >> pipe.INSTRUCTION_BITS) & pipe.WARP_MASK, operation & pipe.INSTRUCTION_MASK
    left = turned(core, core.reads[instruction], index)
    core.collector[at, pipe.LEFT] = left
    core.collector[at, pipe.ORDER] = unit[sm, pipe.ENTERED]
    unit[sm, pipe.ENTERED] += 1
    unit[sm, pipe.IN_USE] |= 1 << number
    unit[sm, pipe.COMPLETE] |= (left == 0) << number


@inlined
def turned(core: pipe.Pipeline, reads: int, warp: int) -> int:
    """Reads per bank of a warp: warp 0's, rotated by the warp's number."""
    shift = 8 * (warp & (core.banks - 1))
    return ((reads << shift) | shift_right(reads >> 8, 8 * (core.banks - 1) - shift)) & all_banks(core)


@inlined
def all_banks(core: pipe.Pipeline) -> int:
    """The bytes of a scheduler's banks."""
    return shift_right(-1, 64 - 8 * core.banks)
