"""Ray-tracing unit of an SM: replays the BVH records of up to ``warps`` warps at a time.

Peak rate: one memory request (32 B) per cycle, one warp accepted and one completed per cycle; any number of lanes
intersect at once, each for the latency of its record's kind. The rules are those of ``reference/vulkan-sim.md`` 1.4:
each cycle, in this order: delays that end (a triangle hit queues a 32 B store); a warp accepted; one request sent,
of a record's remaining chunks first, then of stores, then of the oldest warp that has something to ask for; one warp
completed. Lanes of a warp that ask for the same (address, size) share a request; a response serves every lane of the
warp whose front record has its base address. Instead of ticking lanes, each lane keeps the cycle its delay ends.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from replay.bits import FAR, compiled, lowest_bit
from replay.config import law, value
from replay.l1 import FAIL, HIT, L1, read, write
from replay.port import Port

LANES = 32
MAX_WARPS = 8
QUEUE = 128  # records a warp may have queued; more lanes simply wait
STORE_QUEUE = 1024
STORE_TAG = 2
HIT_BUFFERS = 1 << 41  # sector number of the first hit record; the records lie above every traced address
HIT_BUFFER_SECTORS = 8  # each hit gets a block of 256 bytes of its own
# columns of lane: record cursor and end, cycle its delay ends, base address >> 5 of the front record, chunks of it
# still missing, whether it was asked for, whether its delay ends in a hit store, cycle its last delay ends
CURSOR, END, READY_AT, BASE, MISSING, MARKED, HIT_STORE, FINISHED_AT = range(8)
# columns of slot: warp (or -1), age, start, active lanes, lanes with records left, lanes in delay, lanes that may ask,
# earliest end of a delay, queue head and tail, stores under way
WARP, AGE, START, ACTIVE, OPEN, DELAYED, ASKING, NEXT_READY, QUEUE_HEAD, QUEUE_TAIL, STORES = range(11)
# columns of unit: resident warps, next age, slot whose record is being sent, its base, its chunk, its chunks,
# store queue head and tail, waiting warps head and tail, hit records made, reads under way, next cycle to run
RESIDENT, NEXT_AGE, SENDING, SEND_BASE, SEND_CHUNK, SEND_CHUNKS, STORE_HEAD, STORE_TAIL, WAIT_HEAD, WAIT_TAIL, \
    HITS_MADE, READS_IN_FLIGHT, NEXT_CYCLE, BUSY_SINCE = range(14)  # fmt: skip
WARPS_DONE, WARP_CYCLES, LANE_CYCLES, EFFICIENCY, READS, STORES_SENT, BUSY_CYCLES, RECORDS, CHUNKS_DELIVERED = range(9)
COUNTERS = ("warps", "warp_cycles", "lane_cycles", "efficiency_sum", "reads", "stores", "busy_cycles", "records",
            "chunks_delivered")  # fmt: skip
EFFICIENCY_UNIT = 1 << 30  # efficiency_sum is a fixed-point number: sums do not depend on their order


@dataclass(frozen=True)
class Spec:
    """Ray-tracing unit of an SM."""

    warps: int = value("warps", "Warps that may be in the unit at a time", 1)
    mshr_entries: int = value("requests", "Reads of the unit that may be missing at a time; 0 sets no limit", 0)
    perfect_memory: bool = value("1", "Every request hits and stores end at once")
    header_cycles: int = value("cycles", "Latency of a BVH header after its last byte arrived", 1)
    internal_cycles: int = value("cycles", "Latency of an internal node", 1)
    instance_cycles: int = value("cycles", "Latency of an instance", 1)
    descriptor_cycles: int = value("cycles", "Latency of a primitive descriptor", 1)
    triangle_cycles: int = value("cycles", "Latency of a triangle that is missed", 1)
    triangle_hit_cycles: int = value("cycles", "Latency of a triangle that is hit", 1)
    procedural_cycles: int = value("cycles", "Latency of a procedural primitive", 1)

    def __post_init__(self) -> None:
        law(self.warps <= MAX_WARPS, f"warps must be at most {MAX_WARPS}, not {self.warps}")

    @property
    def latency_cycles(self) -> tuple[int, ...]:
        """Latencies by record kind (formats.trace.NODE_KINDS), then the hit triangle's."""
        return (
            self.header_cycles, self.internal_cycles, self.instance_cycles, self.descriptor_cycles,
            self.triangle_cycles, self.procedural_cycles, self.triangle_hit_cycles,
        )  # fmt: skip


class RtUnit(NamedTuple):
    """All SMs' units; slot r of SM s is row s * MAX_WARPS + r, its lane l row (s * MAX_WARPS + r) * 32 + l."""

    lane: np.ndarray  # int64[8, sms * MAX_WARPS * 32]: a row per column name, so that lanes are contiguous
    slot: np.ndarray  # int64[sms * MAX_WARPS, 11]
    unit: np.ndarray  # int64[sms, 14]
    queue: np.ndarray  # int64[sms * MAX_WARPS, QUEUE]: base << 4 | chunks
    store: np.ndarray  # int64[sms, STORE_QUEUE, 2]: slot, sector
    waiting: np.ndarray  # int64[sms, 64]: warps of the SM that wait for a place
    latency: np.ndarray  # int64[7]
    stats: np.ndarray  # int64[sms, 9]
    warps: int
    mshr_entries: int
    perfect: bool


class Records(NamedTuple):
    """The traced rays in memory: operation o has the rays first_ray[o] to first_ray[o + 1]."""

    first_ray: np.ndarray  # int64[operations + 1]
    lane: np.ndarray  # uint8[rays]
    first_node: np.ndarray  # int64[rays + 1]
    node: np.ndarray  # uint32[records]: node_id, bit 31 set where a triangle was hit
    info: np.ndarray  # int64[nodes]: address >> 5 << 8 | chunks << 4 | kind


def node_info(address: np.ndarray, length: np.ndarray, kind: np.ndarray) -> np.ndarray:
    """Pack the nodes table for ``Records.info``; records are fetched in chunks of 32 bytes."""
    chunks = (length.astype(np.int64) + 31) >> 5
    return ((address.astype(np.int64) >> 5) << 8) | (chunks << 4) | kind.astype(np.int64)


def make_state(spec: Spec, sms: int) -> RtUnit:
    """Empty units."""
    slot = np.zeros((sms * MAX_WARPS, 11), np.int64)
    slot[:, WARP] = -1
    slot[:, NEXT_READY] = FAR
    unit = np.zeros((sms, 14), np.int64)
    unit[:, SENDING] = -1
    unit[:, NEXT_CYCLE] = FAR
    return RtUnit(
        np.zeros((8, sms * MAX_WARPS * LANES), np.int64),
        slot,
        unit,
        np.zeros((sms * MAX_WARPS, QUEUE), np.int64),
        np.zeros((sms, STORE_QUEUE, 2), np.int64),
        np.zeros((sms, 64), np.int64),
        np.array(spec.latency_cycles, np.int64),
        np.zeros((sms, len(COUNTERS)), np.int64),
        spec.warps,
        spec.mshr_entries or FAR,
        spec.perfect_memory,
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


@compiled
def fill_queue(state: RtUnit, at: int) -> None:
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
        entry = (lane[BASE, row] << 4) | lane[MISSING, row]
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
        fill_queue(state, at)
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
    if unit[sm, SENDING] >= 0 or unit[sm, STORE_HEAD] != unit[sm, STORE_TAIL]:
        return now + 1
    if unit[sm, WAIT_HEAD] != unit[sm, WAIT_TAIL] and unit[sm, RESIDENT] < state.warps:
        return now + 1
    soonest = FAR
    for at in range(sm * MAX_WARPS, sm * MAX_WARPS + state.warps):
        if slot[at, WARP] >= 0:
            if slot[at, ASKING] or slot[at, QUEUE_HEAD] != slot[at, QUEUE_TAIL]:
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


def stats(state: RtUnit) -> dict[str, np.ndarray]:
    """Every counter per SM; ``efficiency_sum`` is in units of 2^-30."""
    return {name: state.stats[:, index] for index, name in enumerate(COUNTERS)}
