"""Records that reach their lanes: a lane with its whole record is busy for a time, stores a hit, and moves on."""

import numpy as np

from rayplay.replay.input.rays import ADDRESS_SHIFT, BYTES_SHIFT, DESCRIPTOR, HEADER, TABLE_LOAD, TRIANGLE_HIT, Records
from rayplay.replay.jit.bits import FAR, compiled, inlined, lowest_bit
from rayplay.replay.rt.spec import EVERY_HIT, NO_STORES, PER_UNIT
from rayplay.replay.rt.state import (
    AGE,
    ASKING,
    BASE,
    CURSOR,
    DELAYED,
    END,
    FINISHED_AT,
    HIT_BUFFER_SECTORS,
    HIT_BUFFERS,
    HITS,
    HITS_MADE,
    INTERSECTION_CYCLES,
    LANES,
    MARKED,
    MISSING,
    NEXT_READY,
    NODES,
    OPEN,
    READY_AT,
    RECORDS,
    STORE_HEAD,
    STORE_QUEUE,
    STORE_TAIL,
    STORES,
    STREAM,
    TABLE_BYTES,
    TABLE_END,
    TABLE_LANES,
    TABLE_STORE,
    TABLES,
    WARP,
    WARPS_PER_SM,
    RtUnit,
)
from rayplay.replay.unit.streams import count_for


@inlined
def chunks_of(info: int) -> int:
    """Mask of the 32-byte chunks of a record."""
    return (1 << ((((info >> BYTES_SHIFT) & 255) + 31) >> 5)) - 1


@inlined
def table_address(sm: int, warp: int) -> int:
    """Where the intersection table of a warp lies."""
    return (TABLES << 5) + (sm * WARPS_PER_SM + warp) * TABLE_BYTES


@compiled
def load_front(state: RtUnit, records: Records, sm: int, at: int, row: int) -> None:
    """Make the record under the lane's cursor its front record: unmarked, every chunk missing."""
    info = records.info[records.node[state.lane[CURSOR, row]] & 0x7FFFFFFF]
    address = info >> ADDRESS_SHIFT
    if info & 15 == TABLE_LOAD:
        address += table_address(sm, state.slot[at, WARP])
    state.lane[BASE, row] = address
    state.lane[MISSING, row] = chunks_of(info)
    state.lane[MARKED, row] = 0


@inlined
def next_due(state: RtUnit, core: int, now: int, age: int) -> int:
    """The oldest slot younger than ``age`` in which delays end by ``now``, or -1: older warps store first."""
    best, slot = -1, state.slot
    for at in range(core * state.warps, (core + 1) * state.warps):
        due = slot[at, WARP] >= 0 and slot[at, NEXT_READY] <= now and slot[at, AGE] > age
        if due and (best < 0 or slot[at, AGE] < slot[best, AGE]):
            best = at
    return best


@compiled
def end_delays(state: RtUnit, records: Records, sm: int, at: int, now: int) -> None:
    """Lanes of a slot whose delay has ended by ``now`` may ask for their next record; hits queue their store.

    The stores into the intersection table are queued in the first cycle of a lane's first delay.
    """
    slot, lane = state.slot, state.lane
    delayed, asking, open_lanes = slot[at, DELAYED], slot[at, ASKING], slot[at, OPEN]
    rest, next_ready = delayed, FAR
    while rest:
        index = lowest_bit(rest)
        rest &= rest - 1
        row, bit = at * LANES + index, 1 << index
        writes = slot[at, TABLE_LANES] & bit
        if writes and not has_room(state, at):
            next_ready = now + 1
            continue
        if lane[READY_AT, row] > now:
            next_ready = min(next_ready, lane[READY_AT, row])
        else:
            delayed ^= bit
            if open_lanes & bit and not lane[MARKED, row]:
                asking |= bit
            while lane[HITS, row]:
                lane[HITS, row] -= 1
                queue_hit(state, at)
        if writes:
            queue_table_stores(state, records, sm, at, row)
    slot[at, DELAYED] = delayed
    slot[at, ASKING] = asking
    slot[at, NEXT_READY] = next_ready


@inlined
def has_room(state: RtUnit, at: int) -> bool:
    """Whether the store queue takes all that a lane writes into its table: half of it is kept for that and for hits."""
    core = at // state.warps
    return state.unit[core, STORE_TAIL] - state.unit[core, STORE_HEAD] < STORE_QUEUE // 2


@compiled
def queue_hit(state: RtUnit, at: int) -> None:
    """A 32 B store of a hit record to a 256 B block of its own."""
    core = at // state.warps
    sector = HIT_BUFFERS + (core << 30) + state.unit[core, HITS_MADE] * HIT_BUFFER_SECTORS
    state.unit[core, HITS_MADE] += 1
    queue_store(state, core, at, sector)


@inlined
def queue_store(state: RtUnit, core: int, at: int, sector: int) -> None:
    """A store waits behind the others of its unit."""
    tail = state.unit[core, STORE_TAIL] & (STORE_QUEUE - 1)
    state.store[core, tail, 0] = at
    state.store[core, tail, 1] = sector
    state.unit[core, STORE_TAIL] += 1
    state.slot[at, STORES] += 1


@compiled
def queue_table_stores(state: RtUnit, records: Records, sm: int, at: int, row: int) -> None:
    """Queue what a lane writes into its warp's intersection table."""
    lane, core = state.lane, at // state.warps
    table = table_address(sm, state.slot[at, WARP])
    for index in range(lane[TABLE_STORE, row], lane[TABLE_END, row]):
        queue_store(state, core, at, (table + records.store[index]) >> 5)
    state.slot[at, TABLE_LANES] &= ~(1 << (row % LANES))


@compiled
def deliver(state: RtUnit, records: Records, sm: int, at: int, now: int, base: int, chunk: int) -> None:
    """A chunk of the record at the address ``base`` arrived for a slot: serve every lane it is the front of."""
    slot, lane = state.slot, state.lane
    first, bit = at * LANES, 1 << chunk
    bases = lane[BASE, first : first + LANES]
    matching = 0
    for index in range(LANES):
        matching |= (1 if bases[index] == base else 0) << index
    rest = slot[at, OPEN] & matching
    while rest:
        index = lowest_bit(rest)
        rest &= rest - 1
        missing = lane[MISSING, first + index] & ~bit
        lane[MISSING, first + index] = missing
        if missing == 0:
            finish_record(state, records, sm, at, index, now)


@compiled
def deliver_hit(state: RtUnit, records: Records, sm: int, at: int, now: int, base: int, chunk: int) -> None:
    """A chunk that hit: its warp is served first, then, where warps share, the others from the oldest on."""
    deliver(state, records, sm, at, now, base, chunk)
    if state.coalescing == PER_UNIT:
        deliver_to_all(state, records, sm, at // state.warps, now, base, chunk, at)


@compiled
def deliver_to_all(
    state: RtUnit, records: Records, sm: int, core: int, now: int, base: int, chunk: int, but: int
) -> None:
    """A chunk for every warp of a unit except the slot ``but``, from the oldest on."""
    slot, served = state.slot, -1
    while True:
        following, age = -1, FAR
        for at in range(core * state.warps, (core + 1) * state.warps):
            if slot[at, WARP] >= 0 and served < slot[at, AGE] < age:
                following, age = at, slot[at, AGE]
        if following < 0:
            return
        served = age
        if following != but:
            deliver(state, records, sm, following, now, base, chunk)


@compiled
def finish_record(state: RtUnit, records: Records, sm: int, at: int, index: int, now: int) -> None:
    """A lane has its whole front record: it is busy for the record's latency, then goes to the next one."""
    slot, lane = state.slot, state.lane
    row, bit = at * LANES + index, 1 << index
    node = np.int64(records.node[lane[CURSOR, row]])
    kind = TRIANGLE_HIT if node >> 31 else records.info[node & 0x7FFFFFFF] & 15
    ready_at = max(lane[READY_AT, row], now) + state.latency[kind]
    lane[READY_AT, row] = ready_at
    if kind == TRIANGLE_HIT and state.hit_stores != NO_STORES:
        lane[HITS, row] = lane[HITS, row] + 1 if state.hit_stores == EVERY_HIT else 1
    lane[CURSOR, row] += 1
    slot[at, DELAYED] |= bit
    slot[at, ASKING] &= ~bit
    wakes = now + 1 if slot[at, TABLE_LANES] & bit else ready_at
    slot[at, NEXT_READY] = min(slot[at, NEXT_READY], wakes)
    count_for(state, sm, slot[at, STREAM])
    state.stats[sm, RECORDS] += 1
    state.stats[sm, NODES] += kind not in (HEADER, DESCRIPTOR, TABLE_LOAD)
    state.stats[sm, INTERSECTION_CYCLES] += state.latency[kind]
    if lane[CURSOR, row] == lane[END, row]:
        slot[at, OPEN] &= ~bit
        lane[FINISHED_AT, row] = ready_at
    else:
        load_front(state, records, sm, at, row)
