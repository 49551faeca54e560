"""Records that reach their lanes: a lane with its whole record is busy for a time, stores a hit, and moves on."""

import numpy as np

from rayplay.replay.input import rays
from rayplay.replay.input.work import LANES
from rayplay.replay.jit.bits import FAR, compiled, inlined, lowest_bit
from rayplay.replay.jit.rows import wrap
from rayplay.replay.rt import spec as rules
from rayplay.replay.rt import state as rt
from rayplay.replay.rt.hooks import (
    follows_stack,
    popped,
    pushed,
    record_after,
    record_completed,
    serves_all,
    start_lane,
)  # fmt: skip
from rayplay.replay.unit.streams import count_for


@inlined
def chunks_of(info: int) -> int:
    """Mask of the 32-byte chunks of a record."""
    return (1 << ((((info >> rays.BYTES_SHIFT) & 255) + 31) >> 5)) - 1


@inlined
def table_address(sm: int, warp: int) -> int:
    """Address of a warp's intersection table."""
    return (rt.TABLES << 5) + (sm * rt.WARPS_PER_SM + warp) * rt.TABLE_BYTES


@compiled
def load_front(state: rt.RtUnit, records: rays.Records, sm: int, at: int, row: int) -> None:
    """Make the record under the lane's cursor its front record: unmarked, every chunk missing."""
    info = records.info[records.node[state.lane[rt.CURSOR, row]] & rays.NODE_BITS]
    address = info >> rays.ADDRESS_SHIFT
    if info & 15 == rays.TABLE_LOAD:
        address += table_address(sm, state.slot[at, rt.WARP])
    state.lane[rt.BASE, row] = address
    state.lane[rt.MISSING, row] = chunks_of(info)
    state.lane[rt.MARKED, row] = 0


@inlined
def next_due(state: rt.RtUnit, core: int, now: int, age: int) -> int:
    """The oldest slot younger than ``age`` in which delays end by ``now``, or -1: older warps store first."""
    best, slot = -1, state.slot
    for at in range(core * state.warps, (core + 1) * state.warps):
        due = slot[at, rt.WARP] >= 0 and slot[at, rt.NEXT_READY] <= now and slot[at, rt.AGE] > age
        if due and (best < 0 or slot[at, rt.AGE] < slot[best, rt.AGE]):
            best = at
    return best


@compiled
def end_delays(state: rt.RtUnit, records: rays.Records, sm: int, at: int, now: int) -> None:
    """Lanes of a slot whose delay has ended by ``now`` may ask for their next record; hits queue their store.

    The stores into the intersection table are queued in the first cycle of a lane's first delay.
    """
    slot, lane = state.slot, state.lane
    delayed, asking, open_lanes = slot[at, rt.DELAYED], slot[at, rt.ASKING], slot[at, rt.OPEN]
    rest, next_ready = delayed, FAR
    while rest:
        index = lowest_bit(rest)
        rest &= rest - 1
        row, bit = at * LANES + index, 1 << index
        writes = slot[at, rt.TABLE_LANES] & bit
        if writes and not has_room(state, at):
            next_ready = now + 1
            continue
        if lane[rt.READY_AT, row] > now:
            next_ready = min(next_ready, lane[rt.READY_AT, row])
        else:
            delayed ^= bit
            if open_lanes & bit and not lane[rt.MARKED, row]:
                asking |= bit
            while lane[rt.HITS, row]:
                lane[rt.HITS, row] -= 1
                queue_hit(state, at)
        if writes:
            queue_table_stores(state, records, sm, at, row)
    slot[at, rt.DELAYED] = delayed
    slot[at, rt.ASKING] = asking
    slot[at, rt.NEXT_READY] = next_ready


@inlined
def has_room(state: rt.RtUnit, at: int) -> bool:
    """Whether the store queue takes all that a lane writes into its table: half of it is kept for that and for hits."""
    core = at // state.warps
    return state.unit[core, rt.STORE_TAIL] - state.unit[core, rt.STORE_HEAD] < rt.STORE_QUEUE // 2


@compiled
def queue_hit(state: rt.RtUnit, at: int) -> None:
    """A 32 B store of a hit record to a 256 B block of its own."""
    core = at // state.warps
    sector = rt.HIT_BUFFERS + (core << 30) + state.unit[core, rt.HITS_MADE] * rt.HIT_BUFFER_SECTORS
    state.unit[core, rt.HITS_MADE] += 1
    queue_store(state, core, at, sector)


@inlined
def queue_store(state: rt.RtUnit, core: int, at: int, sector: int) -> None:
    """A store waits behind the others of its unit."""
    tail = wrap(state.unit[core, rt.STORE_TAIL], rt.STORE_QUEUE)
    state.store[core, tail, 0] = at
    state.store[core, tail, 1] = sector
    state.unit[core, rt.STORE_TAIL] += 1
    state.slot[at, rt.STORES] += 1


@compiled
def queue_table_stores(state: rt.RtUnit, records: rays.Records, sm: int, at: int, row: int) -> None:
    """Queue what a lane writes into its warp's intersection table."""
    lane, core = state.lane, at // state.warps
    table = table_address(sm, state.slot[at, rt.WARP])
    for index in range(lane[rt.TABLE_STORE, row], lane[rt.TABLE_END, row]):
        queue_store(state, core, at, (table + records.store[index]) >> 5)
    state.slot[at, rt.TABLE_LANES] &= ~(1 << (row % LANES))


@compiled
def deliver(state: rt.RtUnit, records: rays.Records, sm: int, at: int, now: int, base: int, chunk: int) -> None:
    """A chunk of the record at the address ``base`` arrived for a slot: serve every lane it is the front of."""
    slot, lane = state.slot, state.lane
    first, bit = at * LANES, 1 << chunk
    bases = lane[rt.BASE, first : first + LANES]
    matching = 0
    for index in range(LANES):
        matching |= (1 if bases[index] == base else 0) << index
    rest = slot[at, rt.OPEN] & matching
    while rest:
        index = lowest_bit(rest)
        rest &= rest - 1
        missing = lane[rt.MISSING, first + index] & ~bit
        lane[rt.MISSING, first + index] = missing
        if missing == 0:
            finish_record(state, records, sm, at, index, now)


@compiled
def deliver_hit(state: rt.RtUnit, records: rays.Records, sm: int, at: int, now: int, base: int, chunk: int) -> None:
    """A chunk that hit: its warp is served first, then, where warps share, the others from the oldest on."""
    deliver(state, records, sm, at, now, base, chunk)
    if serves_all(state):
        deliver_to_all(state, records, sm, at // state.warps, now, base, chunk, at)


@compiled
def deliver_to_all(
    state: rt.RtUnit, records: rays.Records, sm: int, core: int, now: int, base: int, chunk: int, but: int
) -> None:
    """A chunk for every warp of a unit except the slot ``but``, from the oldest on."""
    slot, served = state.slot, -1
    while True:
        following, age = -1, FAR
        for at in range(core * state.warps, (core + 1) * state.warps):
            if slot[at, rt.WARP] >= 0 and served < slot[at, rt.AGE] < age:
                following, age = at, slot[at, rt.AGE]
        if following < 0:
            return
        served = age
        if following != but:
            deliver(state, records, sm, following, now, base, chunk)


@compiled
def tested(state: rt.RtUnit, core: int, kind: int, now: int) -> int:
    """The cycle in which the last test of a record begins, behind the tests of records that came before it.

    Counted in parts of a cycle, as many as there are tests a cycle.
    """
    column, rate, tests = rt.BOXES_TESTED, state.box_tests, state.boxes_per_node
    if kind in (rays.TRIANGLE, rays.TRIANGLE_HIT):
        column, rate, tests = rt.TRIANGLES_TESTED, state.triangle_tests, 1
    elif kind != rays.INTERNAL:
        return now
    if rate == 0:
        return now
    end = max(state.unit[core, column], now * rate) + tests
    state.unit[core, column] = end
    return (end - 1) // rate


@compiled
def finish_record(state: rt.RtUnit, records: rays.Records, sm: int, at: int, index: int, now: int) -> None:
    """A lane has its whole front record: it is busy for the record's latency, then goes to the next one."""
    slot, lane = state.slot, state.lane
    row, bit = at * LANES + index, 1 << index
    node = np.int64(records.node[lane[rt.CURSOR, row]])
    kind = rays.TRIANGLE_HIT if node >> 31 else records.info[node & rays.NODE_BITS] & 15
    begins = max(lane[rt.READY_AT, row], now)
    waited = 0
    if state.box_tests | state.triangle_tests:
        waited = max(tested(state, at // state.warps, kind, now) - begins, 0)
    ready_at = begins + waited + state.latency[kind]
    lane[rt.READY_AT, row] = ready_at
    if kind == rays.TRIANGLE_HIT and state.hit_stores != rules.NO_STORES:
        lane[rt.HITS, row] = lane[rt.HITS, row] + 1 if state.hit_stores == rules.EVERY_HIT else 1
    slot[at, rt.DELAYED] |= bit
    slot[at, rt.ASKING] &= ~bit
    wakes = now + 1 if slot[at, rt.TABLE_LANES] & bit else ready_at
    slot[at, rt.NEXT_READY] = min(slot[at, rt.NEXT_READY], wakes)
    count_for(state, sm, slot[at, rt.STREAM])
    state.stats[sm, rt.RECORDS] += 1
    state.stats[sm, rt.NODES] += kind not in (rays.HEADER, rays.DESCRIPTOR, rays.TABLE_LOAD)
    state.stats[sm, rt.INTERSECTION_CYCLES] += waited + state.latency[kind]
    record = lane[rt.CURSOR, row]
    following = record_after(state, records, sm, at, index, record, now)
    if following < 0:
        lane[rt.CURSOR, row] = record + 1
        slot[at, rt.OPEN] &= ~bit
        lane[rt.FINISHED_AT, row] = ready_at
    else:
        lane[rt.CURSOR, row] = following
        load_front(state, records, sm, at, row)
    record_completed(state, records, sm, at, index, kind, now)
    if follows_stack(state):
        tell_of_stack(state, records, sm, at, index, record, now)


@inlined
def tell_of_stack(state: rt.RtUnit, records: rays.Records, sm: int, at: int, index: int, record: int, now: int) -> None:
    """Tell a policy what the record that a lane has completed did to the lane's stack."""
    number = count_children(records, record)
    if number:
        pushed(state, records, sm, at, index, number, now)
    elif state.slot[at, rt.OPEN] >> index & 1:
        popped(state, records, sm, at, index, now)


@inlined
def count_children(records: rays.Records, record: int) -> int:
    """Records that a record led to; 0 for traces that do not tell."""
    if len(records.subtree) == 0:
        return 0
    number, end, child = 0, record + records.subtree[record], record + 1
    while child < end:
        number += 1
        child += records.subtree[child]
    return number


@compiled
def give_work(state: rt.RtUnit, records: rays.Records, sm: int, core: int, now: int) -> bool:
    """Have at most one idle lane of each slot begin a record, as a policy wants; whether one has."""
    slot, has_given = state.slot, False
    for at in range(core * state.warps, (core + 1) * state.warps):
        idle = ~(slot[at, rt.OPEN] | slot[at, rt.DELAYED]) & 0xFFFFFFFF
        if slot[at, rt.WARP] < 0 or idle == 0 or slot[at, rt.OPEN] == 0:
            continue
        index = start_lane(state, records, sm, at, idle, now)
        if index < 0 or index >= LANES or idle >> index & 1 == 0:
            continue
        record = record_after(state, records, sm, at, index, -1, now)
        if record >= 0:
            begin_lane(state, records, sm, at, index, record, now)
            has_given = True
    return has_given


@compiled
def begin_lane(state: rt.RtUnit, records: rays.Records, sm: int, at: int, index: int, record: int, now: int) -> None:
    """Set an idle lane to a record of its warp."""
    slot, row, bit = state.slot, at * LANES + index, 1 << index
    if slot[at, rt.ACTIVE] & bit == 0:
        slot[at, rt.ACTIVE] |= bit
        slot[at, rt.HELPERS] |= bit
        state.lane[rt.HITS, row] = 0
    state.lane[rt.CURSOR, row] = record
    state.lane[rt.READY_AT, row] = now
    slot[at, rt.OPEN] |= bit
    slot[at, rt.ASKING] |= bit
    load_front(state, records, sm, at, row)
