"""Records that reach their lanes: a lane with its whole record is busy for a time, stores a hit, and moves on."""

import numpy as np

from replay.bits import FAR, compiled, lowest_bit
from replay.rt_unit_state import (
    ASKING,
    BASE,
    CHUNKS_DELIVERED,
    CURSOR,
    DELAYED,
    END,
    FINISHED_AT,
    HIT_BUFFER_SECTORS,
    HIT_BUFFERS,
    HIT_STORE,
    HITS_MADE,
    LANES,
    MARKED,
    MISSING,
    NEXT_READY,
    OPEN,
    READY_AT,
    RECORDS,
    STORE_QUEUE,
    STORE_TAIL,
    STORES,
    Records,
    RtUnit,
)


@compiled
def load_front(state: RtUnit, records: Records, row: int) -> None:
    """Make the record under the lane's cursor its front record: unmarked, every chunk missing."""
    info = records.info[records.node[state.lane[CURSOR, row]] & 0x7FFFFFFF]
    state.lane[BASE, row] = info >> 8
    state.lane[MISSING, row] = (1 << ((info >> 4) & 15)) - 1
    state.lane[MARKED, row] = 0


@compiled
def end_delays(state: RtUnit, sm: int, at: int, now: int) -> None:
    """Lanes of a slot whose delay has ended by ``now`` may ask for their next record; hits queue their store."""
    slot, lane = state.slot, state.lane
    delayed, asking, open_lanes = slot[at, DELAYED], slot[at, ASKING], slot[at, OPEN]
    rest, next_ready = delayed, FAR
    while rest:
        index = lowest_bit(rest)
        rest &= rest - 1
        row = at * LANES + index
        if lane[READY_AT, row] > now:
            next_ready = min(next_ready, lane[READY_AT, row])
            continue
        bit = 1 << index
        delayed ^= bit
        if open_lanes & bit and not lane[MARKED, row]:
            asking |= bit
        if lane[HIT_STORE, row]:
            lane[HIT_STORE, row] = 0
            queue_store(state, sm, at)
    slot[at, DELAYED] = delayed
    slot[at, ASKING] = asking
    slot[at, NEXT_READY] = next_ready


@compiled
def queue_store(state: RtUnit, sm: int, at: int) -> None:
    """A 32 B store of a hit record to a 256 B block of its own."""
    unit = state.unit
    tail = unit[sm, STORE_TAIL] & (STORE_QUEUE - 1)
    state.store[sm, tail, 0] = at
    state.store[sm, tail, 1] = HIT_BUFFERS + (sm << 30) + unit[sm, HITS_MADE] * HIT_BUFFER_SECTORS
    unit[sm, STORE_TAIL] += 1
    unit[sm, HITS_MADE] += 1
    state.slot[at, STORES] += 1


@compiled
def deliver(state: RtUnit, records: Records, sm: int, at: int, now: int, base: int, chunk: int) -> None:
    """A chunk of the record at ``base`` (address >> 5) arrived for a slot: serve every lane it is the front of."""
    slot, lane = state.slot, state.lane
    first = at * LANES
    bit = 1 << chunk
    state.stats[sm, CHUNKS_DELIVERED] += 1
    rest = slot[at, OPEN]
    bases = lane[BASE, first : first + LANES]
    matching = 0
    for index in range(LANES):
        matching |= (1 if bases[index] == base else 0) << index
    rest &= matching
    while rest:
        index = lowest_bit(rest)
        rest &= rest - 1
        missing = lane[MISSING, first + index] & ~bit
        lane[MISSING, first + index] = missing
        if missing == 0:
            finish_record(state, records, sm, at, index, now)


@compiled
def finish_record(state: RtUnit, records: Records, sm: int, at: int, index: int, now: int) -> None:
    """A lane has its whole front record: it is busy for the record's latency, then goes to the next one."""
    slot, lane = state.slot, state.lane
    row, bit = at * LANES + index, 1 << index
    node = np.int64(records.node[lane[CURSOR, row]])
    kind = records.info[node & 0x7FFFFFFF] & 15
    hit = node >> 31
    ready_at = max(lane[READY_AT, row], now) + state.latency[6 if hit else kind]
    lane[READY_AT, row] = ready_at
    if hit:
        lane[HIT_STORE, row] = 1
    lane[CURSOR, row] += 1
    slot[at, DELAYED] |= bit
    slot[at, ASKING] &= ~bit
    slot[at, NEXT_READY] = min(slot[at, NEXT_READY], ready_at)
    state.stats[sm, RECORDS] += 1
    if lane[CURSOR, row] == lane[END, row]:
        slot[at, OPEN] &= ~bit
        lane[FINISHED_AT, row] = ready_at
    else:
        load_front(state, records, row)
