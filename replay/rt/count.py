"""Counters of the RT unit's warps and lanes, cycle by cycle, although it sleeps while nothing changes.

Definitions: ``docs/sources/vulkan-sim.md#rt-statistics``. A warp executes in the cycles in which the unit has chosen
it, waits when it could ask for a record, and is stalled when it could not; each of its active lanes, meanwhile, waits
to be scheduled or for memory, intersects, or is done.
"""

from rayplay.replay.input.work import LANES
from rayplay.replay.jit.bits import compiled, count_bits, inlined
from rayplay.replay.rt import state as rt
from rayplay.replay.unit.streams import count_for


@inlined
def asks(state: rt.RtUnit, at: int) -> bool:
    """Whether a slot's warp has a record to ask for."""
    slot = state.slot
    return slot[at, rt.ASKING] != 0 or slot[at, rt.QUEUE_HEAD] != slot[at, rt.QUEUE_TAIL]


@compiled
def count_lanes(state: rt.RtUnit, sm: int, core: int, chosen: int, cycles: int) -> None:
    """Add ``cycles`` to the state of every active lane of a unit; ``chosen`` is the slot that executes, or -1."""
    slot, stats = state.slot, state.stats
    for at in range(core * state.warps, (core + 1) * state.warps):
        if slot[at, rt.WARP] < 0:
            continue
        count_for(state, sm, slot[at, rt.STREAM])
        status = rt.EXECUTING if at == chosen else rt.WAITING if asks(state, at) else rt.STALLED
        column = rt.LANE_STATES + 4 * status
        intersecting = count_bits(slot[at, rt.DELAYED])
        scheduling = count_bits(slot[at, rt.ASKING])
        waiting = count_bits(slot[at, rt.OPEN] & ~slot[at, rt.DELAYED]) - scheduling
        stats[sm, column] += cycles * scheduling
        stats[sm, column + 1] += cycles * waiting
        stats[sm, column + 2] += cycles * intersecting
        stats[sm, column + 3] += cycles * (count_bits(slot[at, rt.ACTIVE]) - scheduling - waiting - intersecting)


@inlined
def count_stores(state: rt.RtUnit, sm: int, core: int) -> None:
    """Note how many stores are queued in this cycle."""
    queued = state.unit[core, rt.STORE_TAIL] - state.unit[core, rt.STORE_HEAD]
    if queued:
        state.stats[sm, rt.STORE_QUEUE_CYCLES] += 1
        state.peak[sm] = max(state.peak[sm], queued)


@compiled
def count_warp(state: rt.RtUnit, sm: int, at: int, now: int) -> None:
    """Statistics of a completed warp: its cycles, its lanes' cycles, and their quotient (rt_avg_efficiency)."""
    start, active = state.slot[at, rt.START], state.slot[at, rt.ACTIVE]
    lanes = 0
    for index in range(LANES):
        if (active >> index) & 1:
            lanes += state.lane[rt.FINISHED_AT, at * LANES + index] - start
    count_for(state, sm, state.slot[at, rt.STREAM])
    state.stats[sm, rt.WARPS_DONE] += 1
    state.stats[sm, rt.LANES_DONE] += count_bits(active & ~state.slot[at, rt.HELPERS])
    state.stats[sm, rt.WARP_CYCLES] += now - start
    state.stats[sm, rt.LANE_CYCLES] += lanes
    if now > start:
        state.stats[sm, rt.EFFICIENCY] += lanes * rt.EFFICIENCY_UNIT // (LANES * (now - start))
