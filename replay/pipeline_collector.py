"""Operand collectors and register banks of the pipelined SM.

Peak rate: ``register_steps`` reads of each bank per cycle. In each step the collector units whose operands are all
there leave for the OC_EX latch of their class, every bank reads one operand (for the unit that came first), and
instructions in ID_OC latches take free units. The units and banks of a scheduler serve it alone, but each class has
one door: its oldest instruction goes first, and while that one finds no unit, no other of its class does. A bank that
is written in a cycle does not read in the first step. Source: ``reference/accel-sim.md`` B.2.
"""

from replay.bits import count_bits, inlined, lowest_bit
from replay.pipeline_scoreboard import INSTRUCTIONS
from replay.pipeline_state import (
    EXECUTE_RANK,
    EXECUTES,
    INSTRUCTION_BITS,
    ISSUED_TO,
    LATCH,
    LATCHES,
    LEFT,
    OPERATION,
    ORDER,
    PLACE,
    USED,
    WARP_BITS,
    WRITTEN,
    WRITTEN_AT,
    Pipeline,
)  # fmt: skip

ONES = 0x0101010101010101
WARP_MASK = (1 << WARP_BITS) - 1


@inlined
def collect(core: Pipeline, sm: int, now: int) -> bool:
    """The collector's steps of one cycle; whether any unit is in use after them."""
    used = False
    for step in range(core.steps):
        used = leave(core, sm)
        if used:
            read(core, sm, step == 0 and core.unit[sm, WRITTEN_AT] == now)
        if core.unit[sm, ISSUED_TO]:
            enter(core, sm)
            used = True
    return used


@inlined
def leave(core: Pipeline, sm: int) -> bool:
    """Units with all operands leave, one per port; whether any unit stays in use.

    A port serves the next scheduler after the one it served last that has such a unit, and there always the first
    unit: the second starves while the first is refilled (``reference/accel-sim.md`` B.3: 2.26 instead of 2.0 cycles).
    """
    used, able = 0, 0
    for scheduler in range(core.schedulers):
        row = sm * core.schedulers + scheduler
        used |= core.row[row, USED]
        if core.row[row, USED] and find_ready(core, sm, row) >= 0:
            able |= 1 << scheduler
    if able == 0:
        return used != 0
    for port in range(sm * core.ports, (sm + 1) * core.ports):
        later = (able >> (core.turn[port] + 1)) << (core.turn[port] + 1)
        scheduler = lowest_bit(later) if later else lowest_bit(able)
        row = sm * core.schedulers + scheduler
        core.turn[port] = scheduler
        give(core, sm, row, find_ready(core, sm, row))
        if core.row[row, USED] == 0 or find_ready(core, sm, row) < 0:
            able &= ~(1 << scheduler)
            if able == 0:
                break
    used = 0
    for row in range(sm * core.schedulers, (sm + 1) * core.schedulers):
        used |= core.row[row, USED]
    return used != 0


@inlined
def find_ready(core: Pipeline, sm: int, row: int) -> int:
    """The first unit of a scheduler that has all operands and finds its OC_EX latch free, or -1."""
    for place in range(core.collectors):
        at = row * core.collectors + place
        if (
            (core.row[row, USED] >> place) & 1
            and core.collector[at, LEFT] == 0
            and not (core.unit[sm, EXECUTES] >> core.collector[at, LATCH]) & 1
        ):
            return place
    return -1


@inlined
def give(core: Pipeline, sm: int, row: int, place: int) -> None:
    """An instruction goes from a unit to its OC_EX latch."""
    at = row * core.collectors + place
    latch = core.collector[at, LATCH]
    core.unit[sm, EXECUTES] |= 1 << latch
    core.ready[sm * LATCHES + latch, OPERATION] = core.collector[at, OPERATION]
    core.ready[sm * LATCHES + latch, PLACE] = core.collector[at, PLACE]
    core.row[row, USED] &= ~(1 << place)
    order, shift = core.row[row, ORDER], 0
    while (order >> shift) & 15 != place:
        shift += 4
    below = (1 << shift) - 1
    core.row[row, ORDER] = (order & below) | ((order >> 4) & ~below)


@inlined
def read(core: Pipeline, sm: int, written: bool) -> None:
    """Every bank that is not written reads an operand for the unit that came first."""
    for row in range(sm * core.schedulers, (sm + 1) * core.schedulers):
        busy, order = core.row[row, USED], core.row[row, ORDER]
        if busy == 0:
            continue
        banks = ONES & ((1 << (8 * core.banks)) - 1) if core.banks < 8 else ONES
        if written:
            banks &= ~core.row[row, WRITTEN]
        while busy:
            place = order & 15
            order >>= 4
            busy &= ~(1 << place)
            at = row * core.collectors + place
            left = core.collector[at, LEFT]
            taken = ((left + 0x7F * ONES) >> 7) & banks
            core.collector[at, LEFT] = left - taken
            banks &= ~taken


@inlined
def enter(core: Pipeline, sm: int) -> None:
    """Instructions in ID_OC latches take free units: per port, one of each class, the oldest."""
    group = (1 << core.schedulers) - 1
    for _ in range(core.ports):
        full, entered = core.unit[sm, ISSUED_TO], False
        while full:
            kind = lowest_bit(full) >> core.shift
            candidates = (full >> (kind * core.schedulers)) & group
            full &= ~(group << (kind * core.schedulers))
            scheduler = oldest_of(core, sm, kind, candidates)
            row = sm * core.schedulers + scheduler
            free = ~core.row[row, USED] & ((1 << core.collectors) - 1)
            if free:
                take(core, sm, row, kind, scheduler, lowest_bit(free))
                entered = True
        if not entered or core.unit[sm, ISSUED_TO] == 0:
            break


@inlined
def oldest_of(core: Pipeline, sm: int, kind: int, candidates: int) -> int:
    """The scheduler among ``candidates`` whose instruction of a class issued first."""
    best = lowest_bit(candidates)
    candidates &= candidates - 1
    base = sm * LATCHES + kind * core.schedulers
    while candidates:
        other = lowest_bit(candidates)
        candidates &= candidates - 1
        if core.issued[base + other, OPERATION] < core.issued[base + best, OPERATION]:
            best = other
    return best


@inlined
def take(core: Pipeline, sm: int, row: int, kind: int, scheduler: int, place: int) -> None:
    """An instruction leaves its ID_OC latch for a unit and asks the banks for its operands."""
    latch = kind * core.schedulers + scheduler
    operation = core.issued[sm * LATCHES + latch, OPERATION]
    core.unit[sm, ISSUED_TO] &= ~(1 << latch)
    at = row * core.collectors + place
    core.collector[at, OPERATION] = operation
    core.collector[at, PLACE] = core.issued[sm * LATCHES + latch, PLACE]
    core.collector[at, LATCH] = EXECUTE_RANK[kind] * core.schedulers + scheduler
    warp = (operation >> INSTRUCTION_BITS) & WARP_MASK
    core.collector[at, LEFT] = turned(core, core.reads[operation & INSTRUCTIONS], warp)
    core.row[row, ORDER] |= place << (4 * count_bits(core.row[row, USED]))
    core.row[row, USED] |= 1 << place


@inlined
def turned(core: Pipeline, reads: int, warp: int) -> int:
    """Reads per bank of a warp: those of warp 0, moved by the warp's number."""
    shift = 8 * (warp & (core.banks - 1))
    bits = 8 * core.banks
    return ((reads << shift) | (reads >> (bits - shift))) & ((1 << bits) - 1)
