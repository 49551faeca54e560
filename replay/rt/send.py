"""What the RT unit asks for: the oldest warp's records, a chunk of 32 B a cycle, and its stores."""

from rayplay.replay.input.rays import ADDRESS_SHIFT, BYTES_SHIFT, TRIANGLE_HIT, UNDEFINED, Records
from rayplay.replay.jit.bits import FAR, compiled, lowest_bit
from rayplay.replay.memory.l1 import FAIL, HIT, L1
from rayplay.replay.memory.port import Port
from rayplay.replay.rt.count import asks
from rayplay.replay.rt.deliver import chunks_of, deliver_hit
from rayplay.replay.rt.memory import delay_hit, is_full, read, waiter_of, write
from rayplay.replay.rt.spec import QUEUED_AGAIN
from rayplay.replay.rt.state import (
    AGE,
    ASKING,
    BASE,
    CURSOR,
    LANES,
    MARKED,
    QUEUE,
    QUEUE_HEAD,
    QUEUE_TAIL,
    SEND_CHUNK,
    SEND_RECORD,
    SENDING,
    STORE_HEAD,
    STORE_QUEUE,
    STORE_TAIL,
    STREAM,
    WARP,
    RtUnit,
)
from rayplay.replay.unit.streams import count_for


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
        node = records.node[lane[CURSOR, row]]
        entry = lane[BASE, row] << ADDRESS_SHIFT | records.info[node & 0x7FFFFFFF] & ((1 << ADDRESS_SHIFT) - 1)
        known = False
        for place in range(slot[at, QUEUE_HEAD], slot[at, QUEUE_TAIL]):
            known |= queue[at, place & (QUEUE - 1)] >> BYTES_SHIFT == entry >> BYTES_SHIFT
        if not known:
            kind = TRIANGLE_HIT if node >> 31 else entry & 15
            queue[at, slot[at, QUEUE_TAIL] & (QUEUE - 1)] = entry >> BYTES_SHIFT << BYTES_SHIFT | kind
            slot[at, QUEUE_TAIL] += 1
    slot[at, ASKING] = rest


@compiled
def choose(state: RtUnit, core: int) -> int:
    """The slot that may send: the one whose record is being sent, else the oldest that asks; -1 while stores wait."""
    unit, slot = state.unit, state.slot
    if unit[core, SENDING] >= 0:
        return unit[core, SENDING]
    best, age = -1, FAR
    if unit[core, STORE_HEAD] == unit[core, STORE_TAIL]:
        for at in range(core * state.warps, (core + 1) * state.warps):
            if slot[at, WARP] >= 0 and slot[at, AGE] < age and asks(state, at):
                best, age = at, slot[at, AGE]
    return best


@compiled
def send_one(state: RtUnit, l1: L1, port: Port, records: Records, sm: int, core: int, now: int, at: int) -> None:
    """At most one request: the next chunk of the record being sent, else a store, else a new record of slot ``at``."""
    unit, slot = state.unit, state.slot
    if at < 0:
        if unit[core, STORE_HEAD] != unit[core, STORE_TAIL]:
            row = unit[core, STORE_HEAD] & (STORE_QUEUE - 1)
            if write(state, l1, port, sm, state.store[core, row, 0], now, state.store[core, row, 1]):
                unit[core, STORE_HEAD] += 1
        return
    if is_full(state, core):
        return
    if unit[core, SENDING] < 0:
        fill_queue(state, records, at)
        unit[core, SENDING] = at
        unit[core, SEND_RECORD] = state.queue[at, slot[at, QUEUE_HEAD] & (QUEUE - 1)]
        unit[core, SEND_CHUNK] = 0
        slot[at, QUEUE_HEAD] += 1
    send_chunk(state, l1, port, records, sm, core, now, at)


@compiled
def send_chunk(state: RtUnit, l1: L1, port: Port, records: Records, sm: int, core: int, now: int, at: int) -> None:
    """Read the next 32 B of the record being sent; a hit is delivered in the same cycle, or ``hit_cycles`` later."""
    unit = state.unit
    record, chunk = unit[core, SEND_RECORD], unit[core, SEND_CHUNK]
    base = record >> ADDRESS_SHIFT
    sector, waiter = (base >> 5) + chunk, waiter_of(state, core, at, base, chunk)
    count_for(state, sm, state.slot[at, STREAM])
    answer = read(state, l1, port, sm, core, now, sector, waiter, record & 15)
    if answer == FAIL:
        if chunk > 0 or state.refusal != QUEUED_AGAIN:
            return
        state.slot[at, QUEUE_HEAD] -= 1
        state.queue[at, state.slot[at, QUEUE_HEAD] & (QUEUE - 1)] = (
            base << ADDRESS_SHIFT | 32 << BYTES_SHIFT | UNDEFINED
        )
    elif answer == HIT and state.hit_cycles == 0:
        deliver_hit(state, records, sm, at, now, base, chunk)
    elif answer == HIT:
        delay_hit(state, core, now + state.hit_cycles, waiter, sector)
    unit[core, SEND_CHUNK] = chunk + 1
    if chunks_of(record) >> (chunk + 1) == 0:
        unit[core, SENDING] = -1
