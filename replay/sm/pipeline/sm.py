"""The SM of Accel-Sim: the stages of a cycle in their order, and what the rest of the engine asks of an SM.

A cycle is write-back, units, LD/ST unit, operand collector, issue, fetch and decode, so that an instruction takes one
stage per cycle. A cycle in which no stage can do anything is not simulated. Source:
``docs/sources/accel-sim.md#execution-model``.
"""

import numpy as np

from rayplay.replay.input import work as op
from rayplay.replay.jit.bits import FAR, compiled, inlined
from rayplay.replay.lsu import entry as lsu_entry
from rayplay.replay.lsu import unit as lsu
from rayplay.replay.lsu.state import Lsu
from rayplay.replay.memory.l1 import L1
from rayplay.replay.memory.port import Port
from rayplay.replay.rt.state import RtUnit
from rayplay.replay.sm import policies, warps
from rayplay.replay.sm.ctas import Dispatch
from rayplay.replay.sm.pipeline import cycle_stack as pipeline_stack
from rayplay.replay.sm.pipeline import state as pipe
from rayplay.replay.sm.pipeline.async_copies import end_copy
from rayplay.replay.sm.pipeline.collector import collect
from rayplay.replay.sm.pipeline.fetch import check_over, fetch
from rayplay.replay.sm.pipeline.issue import issue
from rayplay.replay.sm.pipeline.scoreboard import mark_long
from rayplay.replay.sm.pipeline.units import (
    complete,
    execute,
    next_result,
    oldest_latch,
    write_back,
    write_banks,
)
from rayplay.replay.sm.pipeline.waiting import wake


@inlined
def begin_cta(core: pipe.Pipeline, sm: int, now: int) -> None:
    """A CTA comes into the SM, which is active from now on."""
    if core.unit[sm, pipe.CTAS] == 0:
        core.unit[sm, pipe.ACTIVE_SINCE] = now
    core.unit[sm, pipe.CTAS] += 1
    core.unit[sm, pipe.NEXT_CYCLE] = now


@inlined
def before_memory(core: pipe.Pipeline, ctas: Dispatch, sm: int, now: int) -> None:
    """The stages before the LD/ST unit."""
    write_back(core, sm, now)
    if core.unit[sm, pipe.EXECUTES]:
        execute(core, sm, now)


@inlined
def after_memory(
    core: pipe.Pipeline, ctas: Dispatch, lsus: Lsu, caches: L1, rays: RtUnit, ports: Port, program: op.Program,
    work: op.Work, lane_cycles: np.ndarray, sm: int, now: int,
) -> int:  # fmt: skip
    """The stages from the LD/ST unit's input on. Returns the next cycle in which they may do something, or FAR.

    Where nothing moves, nothing will before a unit is free, a result comes, or the LD/ST unit has room; only the pool
    of the policy two-level turns in every cycle.
    """
    unit, memory = core.unit, pipe.MEMORY_RANK * core.schedulers
    sends = unit[sm, pipe.EXECUTES] >> memory != 0 and lsu.has_room(lsus, sm)
    if unit[sm, pipe.NEXT_CYCLE] > now and not sends:
        return unit[sm, pipe.NEXT_CYCLE]
    if sends:
        send_access(core, lsus, work, sm, now)
    moved, at_fence = collect(core, sm, now), unit[sm, pipe.FENCES] != 0
    moved = issue(core, caches, rays, program, work, lane_cycles, sm, now) or moved
    if at_fence:  # one that opened emptied the L1: accesses that found no line there may find one now
        lsu.wake(lsus, sm, now + 1)
    moved = fetch(core, ctas, ports, sm, now) or moved
    pipeline_stack.observe(core, sm, now)
    moves = (
        moved
        or unit[sm, pipe.EXECUTES] & ((1 << memory) - 1)
        or (core.policy == policies.TWO_LEVEL and unit[sm, pipe.CTAS])
    )
    unit[sm, pipe.NEXT_CYCLE] = now + 1 if moves else FAR
    return unit[sm, pipe.NEXT_CYCLE]


@inlined
def send_access(core: pipe.Pipeline, lsus: Lsu, work: op.Work, sm: int, now: int) -> None:
    """The oldest instruction in the OC_EX latches of the LD/ST unit enters it."""
    base = sm * pipe.LATCHES + pipe.MEMORY_RANK * core.schedulers
    best = oldest_latch(core, base, core.unit[sm, pipe.EXECUTES] >> (pipe.MEMORY_RANK * core.schedulers))
    core.unit[sm, pipe.EXECUTES] &= ~(1 << (pipe.MEMORY_RANK * core.schedulers + best))
    operation, access = core.ready[base + best, pipe.OPERATION], core.ready[base + best, pipe.PLACE]
    index, instruction = (operation >> pipe.INSTRUCTION_BITS) & pipe.WARP_MASK, operation & pipe.INSTRUCTION_MASK
    kind = (core.code[instruction] >> op.KIND_SHIFT) & 15
    if kind == op.STORE and access != op.NO_ACCESS and not (lsus.perfect or op.is_shared(work, access)):
        stored = work.access_first[access + 1] - work.access_first[access]
        core.warp[sm * core.warps + index, pipe.STORES] += stored
    if access == op.NO_ACCESS and kind != op.STORE and (core.code[instruction] >> op.SHARED_SHIFT) & 1:
        kind, access = op.LOAD, op.EMPTY_SHARED
    slot = instruction + pipe.SLOT_BASE + (access == op.NO_ACCESS) * pipe.WITHOUT_ACCESS
    if access >= 0 and (core.code[instruction] >> op.GROUPS_SHIFT) & op.MOST_GROUPS:
        slot += operation >> pipe.SERIAL_SHIFT << pipe.SERIAL_SHIFT
    lsu_entry.enqueue(lsus, work, sm, now, index, kind, slot, access, core.warp[sm * core.warps + index, warps.STREAM])


@inlined
def next_event(core: pipe.Pipeline, sm: int, now: int) -> int:
    """The next cycle after ``now`` in which a result is written or a stage may move an instruction on."""
    return min(core.unit[sm, pipe.NEXT_CYCLE], next_result(core, sm, now))


@inlined
def instruction_of(slot: int) -> int:
    """The instruction that a completion token stands for."""
    return (slot & (pipe.WITHOUT_ACCESS - 1)) - pipe.SLOT_BASE


@compiled
def release(core: pipe.Pipeline, ctas: Dispatch, sm: int, now: int, index: int, slot: int) -> None:
    """A warp receives an acknowledgement, its rays, or the end of an instruction (see SLOT_BASE)."""
    here = sm * core.warps + index
    core.unit[sm, pipe.NEXT_CYCLE] = now
    if slot == op.STORES_SLOT:
        core.warp[here, pipe.STORES] -= 1
        check_over(core, sm, index, here)
    elif slot == op.HELD_SLOT:
        wake(core, sm, index, now)
    else:
        complete(core, sm, index, instruction_of(slot))
        if slot & pipe.WITHOUT_ACCESS:
            mark_long(core, here, instruction_of(slot), False)
        if slot >> pipe.SERIAL_SHIFT:
            end_copy(core, sm, index, here, now, slot >> pipe.SERIAL_SHIFT)


@inlined
def atomic_taken(core: pipe.Pipeline, sm: int, now: int, index: int, slot: int) -> None:
    """The last response of an atomic was chosen to be written: its warp may issue again."""
    core.unit[sm, pipe.NEXT_CYCLE] = now
    wake(core, sm, index, now)


@inlined
def can_write_back(core: pipe.Pipeline, sm: int, now: int, index: int, slot: int) -> bool:
    """Whether the LD/ST unit may write an instruction's registers in this cycle; takes their banks if so."""
    return write_banks(core, sm, now, index, instruction_of(slot))


def live_warps(core: pipe.Pipeline) -> np.ndarray:
    """Rows of ``core.warp`` that hold a warp which has not left."""
    sm, index = np.nonzero(core.unit[:, pipe.LIVE][:, None] >> np.arange(64) & 1)
    return sm * core.warps + index
