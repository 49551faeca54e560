"""Ray-tracing unit of an SM: replays the BVH records of up to ``warps`` warps at a time.

Peak rate: one memory request (32 B) per cycle, one warp accepted and one completed per cycle; any number of lanes
intersect at once, each for the latency of its record's kind. The rules are those of ``reference/vulkan-sim.md`` 1.4:
each cycle, in this order: delays that end (a triangle hit queues a 32 B store); a warp accepted; one request sent,
of a record's remaining chunks first, then of stores, then of the oldest warp that has something to ask for; one warp
completed. Lanes of a warp that ask for the same (address, size) share a request; a response serves every lane of the
warp whose front record has its base address. Instead of ticking lanes, each lane keeps the cycle its delay ends.
"""

from replay.bits import FAR, compiled, lowest_bit
from replay.l1 import FAIL, HIT, L1, read, write
from replay.port import Port
from replay.rt_unit_delivery import deliver, end_delays, load_front
from replay.rt_unit_state import (
    ACTIVE,
    AGE,
    ASKING,
    BUSY_CYCLES,
    BUSY_SINCE,
    CURSOR,
    DELAYED,
    EFFICIENCY,
    EFFICIENCY_UNIT,
    END,
    FINISHED_AT,
    HIT_STORE,
    LANE_CYCLES,
    LANES,
    MARKED,
    MAX_WARPS,
    NEXT_AGE,
    NEXT_CYCLE,
    NEXT_READY,
    OPEN,
    QUEUE,
    QUEUE_HEAD,
    QUEUE_TAIL,
    READS,
    READS_IN_FLIGHT,
    READY_AT,
    RESIDENT,
    SEND_BASE,
    SEND_CHUNK,
    SEND_CHUNKS,
    SENDING,
    START,
    STORE_HEAD,
    STORE_QUEUE,
    STORE_TAG,
    STORE_TAIL,
    STORES,
    STORES_SENT,
    WAIT_HEAD,
    WAIT_TAIL,
    WARP,
    WARP_CYCLES,
    WARPS_DONE,
    Records,
    RtUnit,
)


@compiled
def enqueue(state: RtUnit, sm: int, now: int, warp: int, operation: int) -> None:
    """A trace operation of a warp waits for a place; the unit looks at it from ``now`` on."""
    unit = state.unit
    state.waiting[sm, unit[sm, WAIT_TAIL] & 63] = (operation << 8) | warp
    unit[sm, WAIT_TAIL] += 1
    unit[sm, NEXT_CYCLE] = min(unit[sm, NEXT_CYCLE], now)


@compiled
def accept(state: RtUnit, records: Records, sm: int, now: int) -> None:
    """Move the warp that waits longest into a free slot and set its lanes to their first records."""
    unit, slot, lane = state.unit, state.slot, state.lane
    entry = state.waiting[sm, unit[sm, WAIT_HEAD] & 63]
    unit[sm, WAIT_HEAD] += 1
    at = sm * MAX_WARPS
    while slot[at, WARP] >= 0:
        at += 1
    if unit[sm, RESIDENT] == 0:
        unit[sm, BUSY_SINCE] = now
    unit[sm, RESIDENT] += 1
    slot[at, WARP] = entry & 255
    slot[at, AGE] = unit[sm, NEXT_AGE]
    unit[sm, NEXT_AGE] += 1
    slot[at, START] = now
    slot[at, NEXT_READY] = FAR
    slot[at, QUEUE_HEAD] = slot[at, QUEUE_TAIL]
    slot[at, DELAYED] = 0
    active, open_lanes = 0, 0
    operation = entry >> 8
    for ray in range(records.first_ray[operation], records.first_ray[operation + 1]):
        bit = 1 << records.lane[ray]
        row = at * LANES + records.lane[ray]
        active |= bit
        lane[CURSOR, row] = records.first_node[ray]
        lane[END, row] = records.first_node[ray + 1]
        lane[HIT_STORE, row] = 0
        lane[READY_AT, row] = now
        lane[FINISHED_AT, row] = now
        if lane[CURSOR, row] < lane[END, row]:
            open_lanes |= bit
            load_front(state, records, row)
    slot[at, ACTIVE] = active
    slot[at, OPEN] = open_lanes
    slot[at, ASKING] = open_lanes


@compiled
def fill_queue(state: RtUnit, records: Records, at: int) -> None:
    """Queue the front records of all lanes that may ask, lane 0 first, equal (address, size) once."""
    slot, lane, queue = state.slot, state.lane, state.queue
    rest = slot[at, ASKING]
    while rest:
        index = lowest_bit(rest)
        if slot[at, QUEUE_TAIL] - slot[at, QUEUE_HEAD] == QUEUE:
            break
        rest &= rest - 1
        row = at * LANES + index
        lane[MARKED, row] = 1
        info = records.info[records.node[lane[CURSOR, row]] & 0x7FFFFFFF]
        entry = (info >> 8 << 4) | ((1 << ((info >> 4) & 15)) - 1)  # whole, whatever chunks came for other lanes
        known = False
        for place in range(slot[at, QUEUE_HEAD], slot[at, QUEUE_TAIL]):
            known |= queue[at, place & (QUEUE - 1)] == entry
        if not known:
            queue[at, slot[at, QUEUE_TAIL] & (QUEUE - 1)] = entry
            slot[at, QUEUE_TAIL] += 1
    slot[at, ASKING] = rest


@compiled
def choose(state: RtUnit, sm: int) -> int:
    """The slot of the oldest warp that has something to ask for, or -1."""
    slot = state.slot
    best, age = -1, FAR
    for at in range(sm * MAX_WARPS, sm * MAX_WARPS + state.warps):
        asks = slot[at, ASKING] != 0 or slot[at, QUEUE_HEAD] != slot[at, QUEUE_TAIL]
        if slot[at, WARP] >= 0 and slot[at, AGE] < age and asks:
            best, age = at, slot[at, AGE]
    return best


@compiled
def send_one(state: RtUnit, l1: L1, port: Port, records: Records, sm: int, now: int) -> None:
    """At most one request: the next chunk of the record being sent, else a store, else a new record."""
    unit, slot = state.unit, state.slot
    if unit[sm, SENDING] < 0:
        if unit[sm, STORE_HEAD] != unit[sm, STORE_TAIL]:
            send_store(state, l1, port, sm, now)
            return
        at = choose(state, sm)
        if at < 0:
            return
        fill_queue(state, records, at)
        entry = state.queue[at, slot[at, QUEUE_HEAD] & (QUEUE - 1)]
        slot[at, QUEUE_HEAD] += 1
        unit[sm, SENDING] = at
        unit[sm, SEND_BASE] = entry >> 4
        unit[sm, SEND_CHUNK] = 0
        unit[sm, SEND_CHUNKS] = entry & 15
    send_chunk(state, l1, port, records, sm, now)


@compiled
def send_chunk(state: RtUnit, l1: L1, port: Port, records: Records, sm: int, now: int) -> None:
    """Read the next 32 B of the record being sent; a hit is delivered in the same cycle."""
    unit = state.unit
    at, base, chunk = unit[sm, SENDING], unit[sm, SEND_BASE], unit[sm, SEND_CHUNK]
    answer = HIT
    if not state.perfect:
        if unit[sm, READS_IN_FLIGHT] >= state.mshr_entries:
            return
        waiter = ((at - sm * MAX_WARPS) << 3 | chunk) << 1 | 1
        answer = read(l1, port, sm, now, base + chunk, waiter)
    if answer == FAIL:
        if chunk == 0:  # the record goes back to its warp's queue: stores and older warps may go before it
            unit[sm, SENDING] = -1
            state.slot[at, QUEUE_HEAD] -= 1
        return
    state.stats[sm, READS] += 1
    if answer == HIT:
        deliver(state, records, sm, at, now, base, chunk)
    else:
        unit[sm, READS_IN_FLIGHT] += 1
    chunk += 1
    unit[sm, SEND_CHUNK] = chunk
    if unit[sm, SEND_CHUNKS] >> chunk == 0:
        unit[sm, SENDING] = -1


@compiled
def send_store(state: RtUnit, l1: L1, port: Port, sm: int, now: int) -> None:
    """Write the hit record at the head of the store queue."""
    unit = state.unit
    head = unit[sm, STORE_HEAD] & (STORE_QUEUE - 1)
    at, sector = state.store[sm, head, 0], state.store[sm, head, 1]
    if state.perfect:
        state.slot[at, STORES] -= 1
    elif not write(l1, port, sm, now, sector, 0xFFFFFFFF, (at - sm * MAX_WARPS) * 4 + STORE_TAG):
        return
    unit[sm, STORE_HEAD] += 1
    state.stats[sm, STORES_SENT] += 1


@compiled
def complete_one(state: RtUnit, sm: int, now: int) -> int:
    """End the oldest warp that has nothing left: no record, delay, queued request or store. Its number, or -1."""
    unit, slot = state.unit, state.slot
    done, age = -1, FAR
    for at in range(sm * MAX_WARPS, sm * MAX_WARPS + state.warps):
        left = slot[at, OPEN] | slot[at, DELAYED] | slot[at, STORES] | (slot[at, QUEUE_TAIL] - slot[at, QUEUE_HEAD])
        if slot[at, WARP] >= 0 and left == 0 and slot[at, AGE] < age and unit[sm, SENDING] != at:
            done, age = at, slot[at, AGE]
    if done < 0:
        return -1
    warp = slot[done, WARP]
    slot[done, WARP] = -1
    unit[sm, RESIDENT] -= 1
    if unit[sm, RESIDENT] == 0:
        state.stats[sm, BUSY_CYCLES] += now - unit[sm, BUSY_SINCE] + 1
    account(state, sm, done, now)
    return warp


@compiled
def account(state: RtUnit, sm: int, at: int, now: int) -> None:
    """Statistics of a completed warp: its cycles, its lanes' cycles, and their quotient (rt_avg_efficiency)."""
    start, active = state.slot[at, START], state.slot[at, ACTIVE]
    lanes = 0
    for index in range(LANES):
        if (active >> index) & 1:
            lanes += state.lane[FINISHED_AT, at * LANES + index] - start
    state.stats[sm, WARPS_DONE] += 1
    state.stats[sm, WARP_CYCLES] += now - start
    state.stats[sm, LANE_CYCLES] += lanes
    if now > start:
        state.stats[sm, EFFICIENCY] += lanes * EFFICIENCY_UNIT // (LANES * (now - start))


@compiled
def cycle(state: RtUnit, l1: L1, port: Port, records: Records, sm: int, now: int) -> int:
    """One cycle of the unit: returns the warp of the SM that completes, or -1, and sets the next cycle to run."""
    unit, slot = state.unit, state.slot
    first = sm * MAX_WARPS
    for at in range(first, first + state.warps):
        if slot[at, WARP] >= 0 and slot[at, NEXT_READY] <= now:
            end_delays(state, sm, at, now)
    if unit[sm, WAIT_HEAD] != unit[sm, WAIT_TAIL] and unit[sm, RESIDENT] < state.warps:
        accept(state, records, sm, now)
    send_one(state, l1, port, records, sm, now)
    warp = complete_one(state, sm, now)
    unit[sm, NEXT_CYCLE] = next_cycle(state, sm, now) if warp < 0 else now + 1
    return warp


@compiled
def next_cycle(state: RtUnit, sm: int, now: int) -> int:
    """The next cycle in which the unit can do something by itself (responses wake it, too)."""
    unit, slot = state.unit, state.slot
    blocked = unit[sm, SENDING] >= 0 and unit[sm, READS_IN_FLIGHT] >= state.mshr_entries  # until a response comes
    if not blocked and (unit[sm, SENDING] >= 0 or unit[sm, STORE_HEAD] != unit[sm, STORE_TAIL]):
        return now + 1
    if unit[sm, WAIT_HEAD] != unit[sm, WAIT_TAIL] and unit[sm, RESIDENT] < state.warps:
        return now + 1
    soonest = FAR
    for at in range(sm * MAX_WARPS, sm * MAX_WARPS + state.warps):
        if slot[at, WARP] >= 0:
            if not blocked and (slot[at, ASKING] or slot[at, QUEUE_HEAD] != slot[at, QUEUE_TAIL]):
                return now + 1
            soonest = min(soonest, slot[at, NEXT_READY])
    return soonest


@compiled
def receive_sector(state: RtUnit, records: Records, sm: int, now: int, waiter: int, sector: int) -> None:
    """A missing sector arrived for ``waiter`` (slot << 3 | chunk)."""
    at, chunk = sm * MAX_WARPS + (waiter >> 3), waiter & 7
    state.unit[sm, READS_IN_FLIGHT] -= 1
    deliver(state, records, sm, at, now, sector - chunk, chunk)
    state.unit[sm, NEXT_CYCLE] = min(state.unit[sm, NEXT_CYCLE], now)


@compiled
def receive_ack(state: RtUnit, sm: int, now: int, slot: int) -> None:
    """A hit store of a slot was acknowledged."""
    state.slot[sm * MAX_WARPS + slot, STORES] -= 1
    state.unit[sm, NEXT_CYCLE] = min(state.unit[sm, NEXT_CYCLE], now)
