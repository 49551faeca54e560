"""Requests that the RT unit sends: the oldest warp's records, a chunk of 32 B a cycle, and its stores."""

from rayplay.replay.input import rays
from rayplay.replay.input.work import LANES, SECTOR_BYTES
from rayplay.replay.jit.bits import compiled, inlined, lowest_bit
from rayplay.replay.jit.rows import wrap
from rayplay.replay.memory.cache import state as cache
from rayplay.replay.memory.l1 import L1
from rayplay.replay.memory.port import Port
from rayplay.replay.rt import spec as rules
from rayplay.replay.rt import state as rt
from rayplay.replay.rt.deliver import chunks_of, deliver_hit
from rayplay.replay.rt.hooks import (
    can_send,
    choose_lane,
    choose_warp,
    chooses_lane,
    chooses_warp,
    prefetch,
    prefetched,
    requested,
)
from rayplay.replay.rt.memory import delay_hit, fetch_for_nobody, is_full, read, waiter_of, write
from rayplay.replay.rt.state import RtUnit
from rayplay.replay.unit.streams import count_for


@compiled
def fill_queue(state: RtUnit, records: rays.Records, at: int) -> None:
    """Queue the front records of all lanes that may ask, as ``choose_lane`` says, equal (address, size) once."""
    slot, lane, queue = state.slot, state.lane, state.queue
    rest = slot[at, rt.ASKING]
    while rest:
        index = choose_lane(state, records, at, rest)
        if chooses_lane(state) and (index < 0 or index >= LANES or rest >> index & 1 == 0):
            if slot[at, rt.QUEUE_TAIL] != slot[at, rt.QUEUE_HEAD]:
                break
            index = lowest_bit(rest)  # a policy's mistake: the slot has been chosen, so it must send something
        if slot[at, rt.QUEUE_TAIL] - slot[at, rt.QUEUE_HEAD] == rt.QUEUE:
            break
        rest &= ~(1 << index)
        row = at * LANES + index
        lane[rt.MARKED, row] = 1
        node = records.node[lane[rt.CURSOR, row]]
        entry = lane[rt.BASE, row] << rays.ADDRESS_SHIFT | records.info[node & rays.NODE_BITS] & (
            (1 << rays.ADDRESS_SHIFT) - 1
        )
        known = False
        for place in range(slot[at, rt.QUEUE_HEAD], slot[at, rt.QUEUE_TAIL]):
            known |= queue[at, wrap(place, rt.QUEUE)] >> rays.BYTES_SHIFT == entry >> rays.BYTES_SHIFT
        if not known:
            kind = rays.TRIANGLE_HIT if node >> 31 else entry & 15
            queue[at, wrap(slot[at, rt.QUEUE_TAIL], rt.QUEUE)] = entry >> rays.BYTES_SHIFT << rays.BYTES_SHIFT | kind
            slot[at, rt.QUEUE_TAIL] += 1
    slot[at, rt.ASKING] = rest


@compiled
def choose(state: RtUnit, core: int) -> int:
    """The slot that may send: whose record is being sent, else as ``choose_warp`` says; -1 while stores wait."""
    unit = state.unit
    if unit[core, rt.SENDING] >= 0:
        return unit[core, rt.SENDING]
    if unit[core, rt.STORE_HEAD] != unit[core, rt.STORE_TAIL]:
        return -1
    at = choose_warp(state, core)
    return -1 if chooses_warp(state) and not can_send(state, core, at) else at


@compiled
def send_one(state: RtUnit, l1: L1, port: Port, records: rays.Records, sm: int, core: int, now: int, at: int) -> None:
    """At most one request: the next chunk of the record being sent, else a store, else a new record of slot ``at``."""
    unit, slot = state.unit, state.slot
    if at < 0:
        if unit[core, rt.STORE_HEAD] != unit[core, rt.STORE_TAIL]:
            row = wrap(unit[core, rt.STORE_HEAD], rt.STORE_QUEUE)
            if write(state, l1, port, sm, state.store[core, row, 0], now, state.store[core, row, 1]):
                unit[core, rt.STORE_HEAD] += 1
        return
    if is_full(state, core):
        return
    if unit[core, rt.SENDING] < 0:
        fill_queue(state, records, at)
        unit[core, rt.SENDING] = at
        unit[core, rt.SEND_RECORD] = state.queue[at, wrap(slot[at, rt.QUEUE_HEAD], rt.QUEUE)]
        unit[core, rt.SEND_CHUNK] = 0
        slot[at, rt.QUEUE_HEAD] += 1
    send_chunk(state, l1, port, records, sm, core, now, at)


@compiled
def send_chunk(state: RtUnit, l1: L1, port: Port, records: rays.Records, sm: int, core: int, now: int, at: int) -> None:
    """Read the next 32 B of the record being sent; a hit is delivered in the same cycle, or ``hit_cycles`` later."""
    unit = state.unit
    record, chunk = unit[core, rt.SEND_RECORD], unit[core, rt.SEND_CHUNK]
    base = record >> rays.ADDRESS_SHIFT
    sector, waiter = (base >> 5) + chunk, waiter_of(state, core, at, base, chunk)
    count_for(state, sm, state.slot[at, rt.STREAM])
    answer = read(state, l1, port, sm, core, now, sector, waiter, record & 15)
    requested(state, sm, core, at, record, chunk, answer, now)
    if answer == cache.FAIL:
        if chunk > 0 or state.refusal != rules.QUEUED_AGAIN:
            return
        state.slot[at, rt.QUEUE_HEAD] -= 1
        undefined = base << rays.ADDRESS_SHIFT | SECTOR_BYTES << rays.BYTES_SHIFT | rays.UNDEFINED
        state.queue[at, wrap(state.slot[at, rt.QUEUE_HEAD], rt.QUEUE)] = undefined
    elif answer == cache.HIT and state.hit_cycles == 0:
        deliver_hit(state, records, sm, at, now, base, chunk)
    elif answer == cache.HIT:
        delay_hit(state, core, now + state.hit_cycles, waiter, sector)
    unit[core, rt.SEND_CHUNK] = chunk + 1
    if chunks_of(record) >> (chunk + 1) == 0:
        unit[core, rt.SENDING] = -1


@inlined
def send_idle(state: RtUnit, l1: L1, port: Port, records: rays.Records, sm: int, core: int, now: int) -> bool:
    """In a cycle in which the unit has sent nothing: prefetch what a policy wants; whether it wanted anything."""
    sector = prefetch(state, records, sm, core, now)
    if sector >= 0:
        prefetched(state, sm, core, sector, fetch_for_nobody(state, l1, port, sm, core, now, sector))
    return sector >= 0
