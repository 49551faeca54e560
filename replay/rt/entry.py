"""How a warp enters the RT unit: its trace operation waits for a place, and takes one with its rays' first records."""

import numpy as np

from rayplay.replay.input import rays
from rayplay.replay.input.work import LANES
from rayplay.replay.jit.bits import FAR, compiled, inlined
from rayplay.replay.jit.hooks import hook
from rayplay.replay.jit.rows import wrap
from rayplay.replay.rt import state as rt
from rayplay.replay.rt.deliver import load_front
from rayplay.replay.rt.hooks import entered
from rayplay.replay.unit.streams import count_for


@hook("rt.enqueue", inline=False)
def enqueue(state: rt.RtUnit, sm: int, now: int, warp: int, operation: int, stream: int) -> None:
    """Of a whole unit: take a trace operation of a warp of a stream, which the unit looks at from ``now`` on.

    By default it waits in the SM's ring of ``state.waiting`` for a place.
    """
    gate = state.gate
    place = wrap(gate[sm, rt.WAIT_TAIL], rt.GATE_RING)
    state.waiting[sm, place] = (operation << 8) | warp
    state.arrives[sm, place] = now
    state.stream[sm, place] = stream
    gate[sm, rt.WAIT_TAIL] += 1
    gate[sm, rt.NEXT_CYCLE] = min(gate[sm, rt.NEXT_CYCLE], now)


@inlined
def due(state: rt.RtUnit, sm: int) -> int:
    """The cycle in which the SM's units are to run next; every unit keeps it there."""
    return state.gate[sm, rt.NEXT_CYCLE]


@inlined
def wake(state: rt.RtUnit, sm: int, cycle: int) -> None:
    """Have the SM's units run in ``cycle`` at the latest."""
    state.gate[sm, rt.NEXT_CYCLE] = min(state.gate[sm, rt.NEXT_CYCLE], cycle)


@inlined
def next_arrival(state: rt.RtUnit, sm: int) -> int:
    """The cycle from which a warp waits for a place."""
    gate = state.gate
    if gate[sm, rt.WAIT_HEAD] == gate[sm, rt.WAIT_TAIL]:
        return FAR
    return state.arrives[sm, wrap(gate[sm, rt.WAIT_HEAD], rt.GATE_RING)]


@compiled
def accept(state: rt.RtUnit, records: rays.Records, sm: int, core: int, now: int) -> None:
    """Move the warp that waits longest into a free slot and set its lanes to their first records."""
    unit, slot = state.unit, state.slot
    waits = wrap(state.gate[sm, rt.WAIT_HEAD], rt.GATE_RING)
    entry = state.waiting[sm, waits]
    state.gate[sm, rt.WAIT_HEAD] += 1
    at = core * state.warps
    while slot[at, rt.WARP] >= 0:
        at += 1
    if unit[core, rt.RESIDENT] == 0:
        unit[core, rt.BUSY_SINCE] = now
    unit[core, rt.RESIDENT] += 1
    unit[core, rt.NEXT_AGE] += 1
    slot[at, :] = 0
    slot[at, rt.WARP] = entry & 255
    slot[at, rt.AGE] = unit[core, rt.NEXT_AGE]
    slot[at, rt.START] = now
    slot[at, rt.NEXT_READY] = FAR
    slot[at, rt.STREAM] = state.stream[sm, waits]
    count_for(state, sm, slot[at, rt.STREAM])
    state.place[sm * rt.WARPS_PER_SM + (entry & 255)] = at
    operation = entry >> 8
    slot[at, rt.FIRST_RECORD] = records.first_node[records.first_ray[operation]]
    for ray in range(records.first_ray[operation], records.first_ray[operation + 1]):
        start_ray(state, records, sm, at, ray, now)
    slot[at, rt.ASKING] = slot[at, rt.OPEN]
    entered(state, records, sm, at, now)


@compiled
def start_ray(state: rt.RtUnit, records: rays.Records, sm: int, at: int, ray: int, now: int) -> None:
    """Set a lane to the first record of its ray."""
    slot, lane = state.slot, state.lane
    flags = np.int64(records.lane[ray])
    bit = 1 << (flags & 31)
    row = at * LANES + (flags & 31)
    lane[rt.RAY, row] = ray
    lane[rt.CURSOR, row] = records.first_node[ray]
    lane[rt.END, row] = records.first_node[ray + 1]
    lane[rt.TABLE_STORE, row] = records.first_store[ray]
    lane[rt.TABLE_END, row] = records.first_store[ray + 1]
    lane[rt.HITS, row] = 0
    lane[rt.READY_AT, row] = now
    lane[rt.FINISHED_AT, row] = now
    slot[at, rt.ACTIVE] |= bit
    if lane[rt.CURSOR, row] < lane[rt.END, row]:
        slot[at, rt.OPEN] |= bit
        load_front(state, records, sm, at, row)
        if lane[rt.TABLE_STORE, row] < lane[rt.TABLE_END, row]:
            slot[at, rt.TABLE_LANES] |= bit
    if flags & rays.FIRST_STRETCH:
        state.stats[sm, rt.RAYS] += 1
        state.stats[sm, rt.EARLY_OUT_RAYS] += 1 if flags & rays.EARLY_OUT else 0
