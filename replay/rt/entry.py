"""How a warp enters the RT unit: its trace operation waits for a place, and takes one with its rays' first records."""

import numpy as np

from rayplay.replay.input.rays import EARLY_OUT, FIRST_STRETCH, Records
from rayplay.replay.jit.bits import FAR, compiled, inlined
from rayplay.replay.rt.deliver import load_front
from rayplay.replay.rt.state import (
    ACTIVE,
    AGE,
    ASKING,
    BUSY_SINCE,
    CURSOR,
    EARLY_OUT_RAYS,
    END,
    FINISHED_AT,
    HITS,
    LANES,
    NEXT_AGE,
    NEXT_CYCLE,
    NEXT_READY,
    OPEN,
    RAYS,
    READY_AT,
    RESIDENT,
    START,
    STREAM,
    TABLE_END,
    TABLE_LANES,
    TABLE_STORE,
    WAIT_HEAD,
    WAIT_TAIL,
    WARP,
    WARPS_PER_SM,
    RtUnit,
)
from rayplay.replay.unit.streams import count_for


@compiled
def enqueue(state: RtUnit, sm: int, now: int, warp: int, operation: int, stream: int) -> None:
    """A trace operation of a warp of a stream waits for a place; the unit looks at it from ``now`` on."""
    gate = state.gate
    place = gate[sm, WAIT_TAIL] & 63
    state.waiting[sm, place] = (operation << 8) | warp
    state.arrives[sm, place] = now
    state.stream[sm, place] = stream
    gate[sm, WAIT_TAIL] += 1
    gate[sm, NEXT_CYCLE] = min(gate[sm, NEXT_CYCLE], now)


@inlined
def next_arrival(state: RtUnit, sm: int) -> int:
    """The cycle from which a warp waits for a place."""
    gate = state.gate
    if gate[sm, WAIT_HEAD] == gate[sm, WAIT_TAIL]:
        return FAR
    return state.arrives[sm, gate[sm, WAIT_HEAD] & 63]


@compiled
def accept(state: RtUnit, records: Records, sm: int, core: int, now: int) -> None:
    """Move the warp that waits longest into a free slot and set its lanes to their first records."""
    unit, slot = state.unit, state.slot
    waits = state.gate[sm, WAIT_HEAD] & 63
    entry = state.waiting[sm, waits]
    state.gate[sm, WAIT_HEAD] += 1
    at = core * state.warps
    while slot[at, WARP] >= 0:
        at += 1
    if unit[core, RESIDENT] == 0:
        unit[core, BUSY_SINCE] = now
    unit[core, RESIDENT] += 1
    unit[core, NEXT_AGE] += 1
    slot[at, :] = 0
    slot[at, WARP] = entry & 255
    slot[at, AGE] = unit[core, NEXT_AGE]
    slot[at, START] = now
    slot[at, NEXT_READY] = FAR
    slot[at, STREAM] = state.stream[sm, waits]
    count_for(state, sm, slot[at, STREAM])
    state.place[sm * WARPS_PER_SM + (entry & 255)] = at
    operation = entry >> 8
    for ray in range(records.first_ray[operation], records.first_ray[operation + 1]):
        start_ray(state, records, sm, at, ray, now)
    slot[at, ASKING] = slot[at, OPEN]


@compiled
def start_ray(state: RtUnit, records: Records, sm: int, at: int, ray: int, now: int) -> None:
    """Set a lane to the first record of its ray."""
    slot, lane = state.slot, state.lane
    flags = np.int64(records.lane[ray])
    bit = 1 << (flags & 31)
    row = at * LANES + (flags & 31)
    lane[CURSOR, row] = records.first_node[ray]
    lane[END, row] = records.first_node[ray + 1]
    lane[TABLE_STORE, row] = records.first_store[ray]
    lane[TABLE_END, row] = records.first_store[ray + 1]
    lane[HITS, row] = 0
    lane[READY_AT, row] = now
    lane[FINISHED_AT, row] = now
    slot[at, ACTIVE] |= bit
    if lane[CURSOR, row] < lane[END, row]:
        slot[at, OPEN] |= bit
        load_front(state, records, sm, at, row)
        if lane[TABLE_STORE, row] < lane[TABLE_END, row]:
            slot[at, TABLE_LANES] |= bit
    if flags & FIRST_STRETCH:
        state.stats[sm, RAYS] += 1
        state.stats[sm, EARLY_OUT_RAYS] += 1 if flags & EARLY_OUT else 0
