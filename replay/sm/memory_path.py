"""The way of a memory instruction through the SM: into the LSU, to the tags, its responses, its write-back.

Here the LSU, the L1, the RT unit and the SM's core meet: who waited for a sector, and what ends an instruction.
"""

from typing import Any

from rayplay.replay.input import work as op
from rayplay.replay.input.rays import Records
from rayplay.replay.jit.bits import FAR, compiled, inlined, lowest_bit
from rayplay.replay.jit.rows import host_prefetch_rows, wrap
from rayplay.replay.lsu import front as lsu_front
from rayplay.replay.lsu import state as lsu
from rayplay.replay.lsu import unit as lsu_unit
from rayplay.replay.lsu.state import Lsu
from rayplay.replay.memory import l1 as l1_cache
from rayplay.replay.memory import port, texture
from rayplay.replay.memory.cache import access as cache_access
from rayplay.replay.memory.cache import fill as cache_fill
from rayplay.replay.memory.cache import mshr as cache_mshr
from rayplay.replay.memory.cache import state as cache_state
from rayplay.replay.memory.cache.tags import look_ahead
from rayplay.replay.memory.l1 import L1
from rayplay.replay.memory.port import Port, next_response
from rayplay.replay.rt import state as rt_state
from rayplay.replay.rt import unit as rt_unit
from rayplay.replay.rt.state import RtUnit
from rayplay.replay.sm import models as model
from rayplay.replay.sm.ctas import Dispatch
from rayplay.replay.sm.models import Core


@compiled
def host_prefetch_sm(core: Any, lsus: Lsu, caches: L1, ports: Port, sm: int) -> None:
    """Prefetch, as a quantum begins, an SM's warps and the entries that its waiting responses will change.

    The state of a GPU is larger than the caches of a host core: an SM's lines have left them since its last quantum.
    """
    cache = caches.cache
    host_prefetch_rows(core.warp, sm * core.warps, (sm + 1) * core.warps)
    host_prefetch_rows(lsus.unit, sm, sm + 1)
    first, last = ports.port[sm, port.RESPONSE_HEAD], ports.port[sm, port.RESPONSE_TAIL]
    for place in range(first, last):
        tag = ports.response[sm * ports.pitch + wrap(place, ports.ring), 1]
        l1_cache.host_prefetch_entry(caches, sm, tag >> 2)
    for place in range(first, last):
        tag = ports.response[sm * ports.pitch + wrap(place, ports.ring), 1]
        if tag & 3 == l1_cache.FILL_TAG:
            look_ahead(cache, sm, cache.mshr[sm * cache.pitch + (tag >> 2), cache_state.SECTOR])


@inlined
def receive(
    core: Core, ctas: Dispatch, lsus: Lsu, caches: L1, rays: RtUnit, ports: Port, records: Records, sm: int,
    now: int,
) -> None:  # fmt: skip
    """Take what comes out of the crossbar: the RT unit has its own way in, all else waits for the LSU."""
    head = next_response(ports, sm)
    while ports.response[head, 0] <= now:
        tag = ports.response[head, 1]
        ports.port[sm, port.RESPONSE_HEAD] += 1
        ports.port[sm, port.IN_FLIGHT] -= 1
        head = next_response(ports, sm)
        l1_cache.host_prefetch_entry(caches, sm, ports.response[head, 1] >> 2)
        lsu_unit.wake(lsus, sm, now)
        if tag & 3 == rt_state.RT_TAG:
            rt_unit.run(rt_unit.OWN_RESPONSE, rays, caches, ports, records, sm, tag >> 2, now, 0, 0, 0, 0)
        elif tag & 3 == l1_cache.FILL_TAG and l1_cache.first_waiter(caches, sm, tag >> 2) & 1:
            fill(lsus, caches, rays, ports, records, sm, now, tag >> 2)
        else:
            lsu_unit.deliver(lsus, sm, now, tag)


@inlined
def take_packet(
    core: Core, ctas: Dispatch, lsus: Lsu, caches: L1, rays: RtUnit, ports: Port, records: Records, packet: int,
    now: int,
) -> bool:  # fmt: skip
    """In lockstep: take a packet out of the ejection buffer; False where the LSU it is for has no room."""
    sm, tag = packet & port.SM_MASK, packet >> port.SM_BITS
    if tag >= port.LINE_TAGS:
        model.receive_line(core, sm, now, tag - port.LINE_TAGS)
    elif tag & 3 == rt_state.RT_TAG:
        rt_unit.run(rt_unit.OWN_RESPONSE, rays, caches, ports, records, sm, tag >> 2, now, 0, 0, 0, 0)
    elif tag & 3 == l1_cache.FILL_TAG and l1_cache.first_waiter(caches, sm, tag >> 2) & 1:
        fill(lsus, caches, rays, ports, records, sm, now, tag >> 2)
    elif lsu_unit.responses(lsus, sm) == ports.response_packets:
        return False
    else:
        lsu_unit.deliver(lsus, sm, now - 1, tag)
    ports.port[sm, port.IN_FLIGHT] -= 1
    lsu_unit.wake(lsus, sm, now)
    return True


@compiled
def fill(lsus: Lsu, caches: L1, rays: RtUnit, ports: Port, records: Records, sm: int, now: int, entry: int) -> None:
    """Fill a sector into the L1; the ray-tracing warps that wait for it have it at once, loads in their turn."""
    cache = caches.cache
    if l1_cache.is_partial(caches, sm, entry):
        lsu_unit.wake(lsus, sm, now)
        return
    row = sm * cache.pitch + entry
    cache_fill.place(cache, sm, now, entry)  # who waits for it is still in its MSHR entry
    sector, stream, kept, leader = cache.mshr[row, cache_state.SECTOR], cache_mshr.stream_of(cache, sm, entry), 0, -1
    for place in range(cache.mshr[row, cache_state.WAITING]):
        waiter = cache_mshr.get_waiter(cache, row, place)
        if waiter == cache_access.NOBODY:
            continue
        if waiter & 1:
            rt_unit.run(
                rt_unit.SECTOR_RESPONSE, rays, caches, ports, records, sm, 0, now, waiter >> 1, leader, sector, stream
            )
            leader = waiter >> 1 if leader < 0 else leader
        else:
            cache_mshr.put_waiter(cache, row, kept, waiter)
            kept += 1
    cache.mshr[row, cache_state.WAITING] = kept
    if kept:  # the LSU may be asleep where an RT unit's response brings the sector
        cache_mshr.make_ready(cache, sm, entry)
        lsus.unit[sm, lsu.NEXT_CYCLE] = min(lsus.unit[sm, lsu.NEXT_CYCLE], now)
    else:
        cache_mshr.drop_entry(cache, sm, entry)
    lsu_unit.wake(lsus, sm, now)


@compiled
def complete_access(core: Core, ctas: Dispatch, lsus: Lsu, sm: int, now: int, at: int) -> None:
    """Complete a memory instruction: its slot is released, unless that happened when it left."""
    row = sm * lsu.OPERATIONS + at
    kind, slot, warp = (
        lsus.operation[row, lsu.KIND],
        lsus.operation[row, lsu.SLOT],
        lsus.operation[row, lsu.WARP],
    )
    lsu_unit.free_operation(lsus, sm, at)
    if slot != op.NO_SLOT and kind != op.STORE and kind != op.REDUCTION:
        model.release(core, ctas, sm, now, warp, slot)


@inlined
def run_lsu(
    core: Core, ctas: Dispatch, lsus: Lsu, caches: L1, rays: RtUnit, ports: Port, work: op.Work, records: Records,
    sm: int, now: int,
) -> None:  # fmt: skip
    """One cycle of the LSU, its stages from the last to the first."""
    if lsus.perfect:
        end_due(core, ctas, lsus, sm, now)
        return
    lsu_unit.count_blocked(lsus, caches, sm, now)
    write_back(core, ctas, lsus, caches, sm, now)
    take_response(core, ctas, lsus, caches, rays, ports, records, sm, now)
    if ports.lockstep:
        l1_cache.send_next(caches, ports, sm, now)
    if lsus.unit[sm, lsu.TEXTURE_ACCESSES] and not lsus.texture.is_unit:
        texture.cycle(lsus.texture, ports, sm, now, lsu.TEXTURE_TAGS)
    if lsus.unit[sm, lsu.TAGS_AT] <= now:
        check_tags(core, ctas, lsus, caches, ports, sm, now)
    if lsus.unit[sm, lsu.TEXTURE_ACCESSES] and lsus.texture.is_unit:
        lsu_front.ask_for_texels(lsus, caches, ports, work, sm, now)
    run_front(core, ctas, lsus, caches, ports, work, sm, now)
    lsus.unit[sm, lsu.NEXT_CYCLE] = lsu_unit.next_cycle(lsus, caches, ports, sm, now)


@inlined
def end_due(core: Core, ctas: Dispatch, lsus: Lsu, sm: int, now: int) -> None:
    """With perfect memory: instructions whose latency has passed complete."""
    unit = lsus.unit
    unit[sm, lsu.NEXT_CYCLE] = FAR
    while unit[sm, lsu.DUE_HEAD] != unit[sm, lsu.DUE_TAIL]:
        row = lsus.due[sm * lsus.due_size + wrap(unit[sm, lsu.DUE_HEAD], lsus.due_size)]
        if row[0] > now:
            unit[sm, lsu.NEXT_CYCLE] = row[0]
            return
        warp, slot, kind = row[1], row[2], row[3]
        unit[sm, lsu.DUE_HEAD] += 1
        if kind in (op.ATOMIC, op.REDUCTION):
            model.atomic_taken(core, sm, now, warp, slot)
        if slot != op.NO_SLOT:
            model.release(core, ctas, sm, now, warp, slot)


@inlined
def write_back(core: Core, ctas: Dispatch, lsus: Lsu, caches: L1, sm: int, now: int) -> None:
    """Data chosen in the cycle before is written, if its register bank is free; then the next is chosen."""
    if not lsu_unit.has_results(lsus, caches, sm):
        return
    at = lsus.unit[sm, lsu.WRITE_BACK]
    if at >= 0:
        row = sm * lsu.OPERATIONS + at
        if not model.can_write_back(core, sm, now, lsus.operation[row, lsu.WARP], lsus.operation[row, lsu.SLOT]):
            return
        lsus.unit[sm, lsu.WRITE_BACK] = -1
        if lsu_unit.part_over(lsus, sm, now, at):
            complete_access(core, ctas, lsus, sm, now, at)
    at = lsu_unit.choose_write_back(lsus, caches, sm, now)
    if at >= 0:
        row = sm * lsu.OPERATIONS + at
        kind = lsus.operation[row, lsu.KIND]
        if kind in (op.ATOMIC, op.REDUCTION) and lsus.operation[row, lsu.MISSING] <= 1:
            model.atomic_taken(core, sm, now, lsus.operation[row, lsu.WARP], lsus.operation[row, lsu.SLOT])


@inlined
def take_response(
    core: Core, ctas: Dispatch, lsus: Lsu, caches: L1, rays: RtUnit, ports: Port, records: Records, sm: int, now: int
) -> None:
    """One response: a fill of the L1, an acknowledgement, a sector of the texture cache, or data from past the L1."""
    tag = lsu_unit.next_response(lsus, sm, now)
    if tag < 0:
        return
    if tag & 3 == lsu.ACK_TAG:
        model.release(core, ctas, sm, now, tag >> 2, op.STORES_SLOT)
    elif tag & 3 == lsu.BYPASS_TAG and tag >= lsu.TEXTURE_TAGS:
        texture.receive(lsus.texture, sm, (tag - lsu.TEXTURE_TAGS) >> 2)
    elif tag & 3 == lsu.BYPASS_TAG:
        lsus.unit[sm, lsu.PAST_L1] = tag >> 2
    else:
        fill(lsus, caches, rays, ports, records, sm, now, tag >> 2)


@inlined
def check_tags(core: Core, ctas: Dispatch, lsus: Lsu, caches: L1, ports: Port, sm: int, now: int) -> None:
    """The oldest access of each bank meets the tags."""
    lsus.unit[sm, lsu.BLOCKED] = 0
    lsus.unit[sm, lsu.WAITS_TO_SEND] = 0
    occupied, soonest = lsus.unit[sm, lsu.OCCUPIED], FAR
    while occupied:
        bank = lowest_bit(occupied)
        occupied &= occupied - 1
        row = sm * lsus.banks + bank
        place = lsu_unit.oldest_access(lsus, row)
        if lsus.access[place, lsu.READY] > now:
            soonest = min(soonest, lsus.access[place, lsu.READY])
            continue
        found = lsu_unit.check_tag(lsus, caches, ports, sm, now, bank)
        if found == lsu_unit.BLOCKS:
            continue
        lsus.bank[row, lsu.HEAD] += 1
        if lsus.bank[row, lsu.HEAD] == lsus.bank[row, lsu.TAIL]:
            lsus.unit[sm, lsu.OCCUPIED] &= ~(1 << bank)
            lsus.bank[row, lsu.HEAD] = lsus.bank[row, lsu.TAIL] = 0  # memory that is still in the host's caches
        else:
            soonest = min(soonest, lsus.access[lsu_unit.oldest_access(lsus, row), lsu.READY])
        at = lsus.access[place, lsu.OPERATION]
        if found == lsu_unit.IS_KEPT:
            model.release(core, ctas, sm, now, lsus.operation[sm * lsu.OPERATIONS + at, lsu.WARP], op.STORES_SLOT)
        if found != lsu_unit.WAITS and lsu_unit.part_over(lsus, sm, now, at):
            complete_access(core, ctas, lsus, sm, now, at)
    lsus.unit[sm, lsu.TAGS_AT] = soonest
    if lsus.unit[sm, lsu.BLOCKED]:
        lsus.unit[sm, lsu.TAGS_AT] = 0  # they try again whenever the unit runs
        lsus.stats[sm, lsu.STALL_CYCLES] += 1


@inlined
def run_front(core: Core, ctas: Dispatch, lsus: Lsu, caches: L1, ports: Port, work: op.Work, sm: int, now: int) -> None:
    """The instruction at the front goes on; one that leaves completes if it waits for nothing."""
    if lsus.unit[sm, lsu.FRONT_AT] > now:
        return
    at = int(lsus.queue[sm, wrap(lsus.unit[sm, lsu.QUEUE_HEAD], lsu.QUEUE)])
    row = sm * lsu.OPERATIONS + at
    went = lsu_front.front(lsus, caches, ports, work, sm, now, at)
    if went == lsu_front.STILL_THERE:
        return
    kind, slot = lsus.operation[row, lsu.KIND], lsus.operation[row, lsu.SLOT]
    if kind in (op.STORE, op.REDUCTION) and slot != op.NO_SLOT:
        model.release(core, ctas, sm, now, lsus.operation[row, lsu.WARP], slot)
    if went == lsu_front.LEAVES and lsus.operation[row, lsu.MISSING] == 0:
        complete_access(core, ctas, lsus, sm, now, at)
