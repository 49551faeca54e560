"""The SM of Accel-Sim: the stages of a cycle in their order, and what the rest of the engine asks of an SM.

A cycle is write-back, units, LD/ST unit, operand collector, issue, fetch and decode, so that an instruction takes one
stage per cycle. A cycle in which no stage can do anything is not simulated. Source:
``docs/sources/accel-sim.md#execution-model``.
"""

import numpy as np

from rayplay.replay.input.work import (
    EMPTY_SHARED,
    GROUPS_SHIFT,
    KIND_SHIFT,
    LOAD,
    MOST_GROUPS,
    NO_ACCESS,
    SHARED_SHIFT,
    STORE,
    VISIT_FIRST,
    VISIT_LAST,
    Program,
    Work,
    is_shared,
)  # fmt: skip
from rayplay.replay.jit.bits import FAR, compiled, inlined, lowest_bit
from rayplay.replay.lsu import entry as lsu_entry
from rayplay.replay.lsu import unit as lsu
from rayplay.replay.lsu.state import Lsu
from rayplay.replay.memory.l1 import L1
from rayplay.replay.rt.state import RtUnit
from rayplay.replay.sm.ctas import CTA, FIRST, MAX_CTAS, START, Dispatch, stream_of
from rayplay.replay.sm.ctas import LIVE as LIVE_WARPS
from rayplay.replay.sm.ctas import PLACE as PLACE_OF_CTA
from rayplay.replay.sm.pipeline import cycle_stack as pipeline_stack
from rayplay.replay.sm.pipeline.async_copies import end_copy
from rayplay.replay.sm.pipeline.collector import WARP_MASK, collect
from rayplay.replay.sm.pipeline.fetch import begin, check_over, fetch
from rayplay.replay.sm.pipeline.issue import issue
from rayplay.replay.sm.pipeline.scoreboard import INSTRUCTIONS
from rayplay.replay.sm.pipeline.state import (
    ACTIVE_SINCE,
    CTAS,
    EXECUTES,
    FENCES,
    INSTRUCTION_BITS,
    LATCHES,
    LIVE,
    NEXT_CYCLE,
    OPERATION,
    PLACE,
    SERIAL_SHIFT,
    SLOT_BASE,
    STORES,
    Pipeline,
)  # fmt: skip
from rayplay.replay.sm.pipeline.units import MEMORY_RANK, complete, execute, next_result, write_back, write_banks
from rayplay.replay.sm.pipeline.waiting import wake
from rayplay.replay.sm.warps import HELD_SLOT, STORES_SLOT, STREAM, TWO_LEVEL


@compiled
def launch(core: Pipeline, ctas: Dispatch, program: Program, work: Work, sm: int, now: int) -> None:
    """Start the CTA granted to the SM: its warps with work may be fetched for in this cycle."""
    cta, place = ctas.unit[sm, CTA], ctas.unit[sm, PLACE_OF_CTA]
    ctas.unit[sm, START] = FAR
    if core.unit[sm, CTAS] == 0:
        core.unit[sm, ACTIVE_SINCE] = now
    core.unit[sm, CTAS] += 1
    core.unit[sm, NEXT_CYCLE] = now
    row = sm * MAX_CTAS + place
    core.barrier[row] = 0
    first, live = ctas.warps[cta, 0], 0
    for number in range(first, ctas.warps[cta, 1]):
        span = number - work.first_warp
        if work.span[span, VISIT_FIRST] == work.span[span, VISIT_LAST]:
            continue
        live += 1
        index = ctas.cta[row, FIRST] + number - first
        core.barrier[row, 0] |= 1 << index
        begin(core, program, work, sm, now, index, number, place, stream_of(ctas, sm, place))
    ctas.cta[row, LIVE_WARPS] = live


@inlined
def before_memory(core: Pipeline, ctas: Dispatch, sm: int, now: int) -> None:
    """The stages before the LD/ST unit."""
    write_back(core, sm, now)
    if core.unit[sm, EXECUTES]:
        execute(core, sm, now)


@inlined
def after_memory(
    core: Pipeline, ctas: Dispatch, lsus: Lsu, caches: L1, rays: RtUnit, program: Program, work: Work,
    lane_cycles: np.ndarray, sm: int, now: int,
) -> int:  # fmt: skip
    """The stages from the LD/ST unit's input on. Returns the next cycle in which they may do something, or FAR.

    Where nothing moves, nothing will before a unit is free, a result comes, or the LD/ST unit has room; only the pool
    of the policy two-level turns in every cycle.
    """
    unit, memory = core.unit, MEMORY_RANK * core.schedulers
    sends = unit[sm, EXECUTES] >> memory != 0 and lsu.has_room(lsus, sm)
    if unit[sm, NEXT_CYCLE] > now and not sends:
        return unit[sm, NEXT_CYCLE]
    if sends:
        send_access(core, lsus, work, sm, now)
    moved, at_fence = collect(core, sm, now), unit[sm, FENCES] != 0
    moved = issue(core, caches, rays, program, work, lane_cycles, sm, now) or moved
    if at_fence:  # one that opened emptied the L1: accesses that found no line there may find one now
        lsu.wake(lsus, sm, now + 1)
    moved = fetch(core, ctas, sm, now) or moved
    pipeline_stack.observe(core, sm, now)
    moves = moved or unit[sm, EXECUTES] & ((1 << memory) - 1) or (core.policy == TWO_LEVEL and unit[sm, CTAS])
    unit[sm, NEXT_CYCLE] = now + 1 if moves else FAR
    return unit[sm, NEXT_CYCLE]


@inlined
def send_access(core: Pipeline, lsus: Lsu, work: Work, sm: int, now: int) -> None:
    """The oldest instruction in the OC_EX latches of the LD/ST unit enters it."""
    full = core.unit[sm, EXECUTES] >> (MEMORY_RANK * core.schedulers)
    base = sm * LATCHES + MEMORY_RANK * core.schedulers
    best = lowest_bit(full)
    full &= full - 1
    while full:
        other = lowest_bit(full)
        full &= full - 1
        if core.ready[base + other, OPERATION] < core.ready[base + best, OPERATION]:
            best = other
    core.unit[sm, EXECUTES] &= ~(1 << (MEMORY_RANK * core.schedulers + best))
    operation, access = core.ready[base + best, OPERATION], core.ready[base + best, PLACE]
    index, instruction = (operation >> INSTRUCTION_BITS) & WARP_MASK, operation & INSTRUCTIONS
    kind = (core.code[instruction] >> KIND_SHIFT) & 15
    if kind == STORE and access != NO_ACCESS and not (lsus.perfect or is_shared(work, access)):
        stored = work.access_first[access + 1] - work.access_first[access]
        core.warp[sm * core.warps + index, STORES] += stored
    if access == NO_ACCESS and kind != STORE and (core.code[instruction] >> SHARED_SHIFT) & 1:
        kind, access = LOAD, EMPTY_SHARED
    slot = instruction + SLOT_BASE
    if access >= 0 and (core.code[instruction] >> GROUPS_SHIFT) & MOST_GROUPS:
        slot += operation >> SERIAL_SHIFT << SERIAL_SHIFT
    lsu_entry.enqueue(lsus, work, sm, now, index, kind, slot, access, core.warp[sm * core.warps + index, STREAM])


@inlined
def next_event(core: Pipeline, sm: int, now: int) -> int:
    """The next cycle after ``now`` in which a result is written or a stage may move an instruction on."""
    return min(core.unit[sm, NEXT_CYCLE], next_result(core, sm, now))


@inlined
def instruction_of(slot: int) -> int:
    """The instruction that a completion token stands for."""
    return (slot & ((1 << SERIAL_SHIFT) - 1)) - SLOT_BASE


@compiled
def release(core: Pipeline, ctas: Dispatch, sm: int, now: int, index: int, slot: int) -> None:
    """What a warp waited for has come: an acknowledgement, its rays, or the end of an instruction (see SLOT_BASE)."""
    here = sm * core.warps + index
    core.unit[sm, NEXT_CYCLE] = now
    if slot == STORES_SLOT:
        core.warp[here, STORES] -= 1
        check_over(core, sm, index, here)
    elif slot == HELD_SLOT:
        wake(core, sm, index, now)
    else:
        complete(core, sm, index, instruction_of(slot))
        if slot >> SERIAL_SHIFT:
            end_copy(core, sm, index, here, now, slot >> SERIAL_SHIFT)


@inlined
def atomic_taken(core: Pipeline, sm: int, now: int, index: int, slot: int) -> None:
    """The last response of an atomic was chosen to be written: its warp may issue again."""
    core.unit[sm, NEXT_CYCLE] = now
    wake(core, sm, index, now)


@inlined
def can_write_back(core: Pipeline, sm: int, now: int, index: int, slot: int) -> bool:
    """Whether the LD/ST unit may write an instruction's registers in this cycle; takes their banks if so."""
    return write_banks(core, sm, now, index, instruction_of(slot))


def live_warps(core: Pipeline) -> np.ndarray:
    """Rows of ``core.warp`` that hold a warp which has not left."""
    sm, index = np.nonzero(core.unit[:, LIVE][:, None] >> np.arange(64) & 1)
    return sm * core.warps + index
