"""Load/store unit of an SM: takes memory instructions in order, one at a time, and walks their accesses into the L1.

Peak rate: one instruction per cycle; ``l1.banks`` sectors per cycle while they lie in different banks, one access per
cycle past the L1; a shared-memory instruction takes as many cycles as its worst bank has different words; one response
taken and one write-back per cycle. In each cycle, in this order: the write-back chosen before releases its register,
the next is chosen in turn (shared memory, textures, past the L1, L1), a response is taken, the texture cache does its
cycle, the oldest access of each bank meets the tags (hits release theirs at once), and the instruction at the front
goes on, colours once the raster units take them. A store completes when its last access has entered its bank.
Source: ``docs/sources/accel-sim.md#l1-front-end``.
"""

import numpy as np

from rayplay.replay.input import work as op
from rayplay.replay.jit.bits import FAR, inlined, lowest_bit
from rayplay.replay.jit.rows import append_dated, wrap
from rayplay.replay.lsu import state as lsu
from rayplay.replay.memory import l1 as cache
from rayplay.replay.memory import texture
from rayplay.replay.memory.cache import mshr as cache_mshr
from rayplay.replay.memory.cache import state as cache_state
from rayplay.replay.memory.cache.access import FETCHER
from rayplay.replay.memory.port import Port, may_send
from rayplay.replay.unit.streams import count_for

# result of a tag check: the access waits, is complete, is complete and stays in the L1, must try again
WAITS, IS_OVER, IS_KEPT, BLOCKS = range(4)


@inlined
def has_room(state: lsu.Lsu, sm: int) -> bool:
    """Whether one more memory instruction may issue."""
    unit = state.unit
    return unit[sm, lsu.QUEUE_TAIL] - unit[sm, lsu.QUEUE_HEAD] < state.queue_entries and unit[sm, lsu.FREE] > 0


@inlined
def free_operation(state: lsu.Lsu, sm: int, at: int) -> None:
    """Complete the operation."""
    state.free[sm, state.unit[sm, lsu.FREE]] = at
    state.unit[sm, lsu.FREE] += 1


@inlined
def deliver(state: lsu.Lsu, sm: int, now: int, tag: int) -> None:
    """A response comes out of the crossbar: the unit may take it in the next cycle."""
    unit = state.unit
    if unit[sm, lsu.INBOX_HEAD] == unit[sm, lsu.INBOX_TAIL]:
        unit[sm, lsu.INBOX_HEAD] = unit[sm, lsu.INBOX_TAIL] = 0  # memory that is still in the host's caches
    append_dated(state.inbox, sm * state.inbox_pitch, unit[sm, lsu.INBOX_TAIL], state.inbox_size, now + 1, tag)
    unit[sm, lsu.INBOX_TAIL] += 1
    unit[sm, lsu.NEXT_CYCLE] = min(unit[sm, lsu.NEXT_CYCLE], now + 1)


@inlined
def responses(state: lsu.Lsu, sm: int) -> int:
    """Responses that wait for the unit."""
    return state.unit[sm, lsu.INBOX_TAIL] - state.unit[sm, lsu.INBOX_HEAD]


@inlined
def next_response(state: lsu.Lsu, sm: int, now: int) -> int:
    """Take the oldest response: its tag, or -1 without one, or when it has to wait for the one before it."""
    unit = state.unit
    place = sm * state.inbox_pitch + wrap(unit[sm, lsu.INBOX_HEAD], state.inbox_size)
    tag = state.inbox[place, 1]
    is_past = tag & 3 == lsu.BYPASS_TAG and tag < lsu.TEXTURE_TAGS
    if state.inbox[place, 0] > now or (is_past and unit[sm, lsu.PAST_L1] >= 0):
        return -1
    unit[sm, lsu.INBOX_HEAD] += 1
    return tag


@inlined
def has_data(state: lsu.Lsu, l1: cache.L1, sm: int) -> bool:
    """Whether data that the pipelines have handed over waits for its write-back."""
    unit = state.unit
    return (unit[sm, lsu.WRITE_BACK] + 1 | unit[sm, lsu.PAST_L1] + 1 | cache_mshr.has_ready(l1.cache, sm)) != 0


@inlined
def has_results(state: lsu.Lsu, l1: cache.L1, sm: int) -> bool:
    """The same of all data, also of that under way in the pipelines of shared memory and textures."""
    unit = state.unit
    return has_data(state, l1, sm) | (
        unit[sm, lsu.PIPE_TAIL] - unit[sm, lsu.PIPE_HEAD] | unit[sm, lsu.TEXTURE_ACCESSES] != 0
    )


@inlined
def choose_write_back(state: lsu.Lsu, l1: cache.L1, sm: int, now: int) -> int:
    """The operation whose data is written back next, the clients in turn; -1 for none."""
    unit = state.unit
    place = sm * state.pipe_size + wrap(unit[sm, lsu.PIPE_HEAD], state.pipe_size)
    able = (unit[sm, lsu.PAST_L1] >= 0) << lsu.PAST | cache_mshr.has_ready(l1.cache, sm) << lsu.OF_L1
    if unit[sm, lsu.PIPE_HEAD] != unit[sm, lsu.PIPE_TAIL] and state.pipe[place, 0] <= now:
        able |= 1 << lsu.SHARED
    if unit[sm, lsu.TEXTURE_ACCESSES]:
        able |= (texture.next_ready(state.texture, sm) <= now) << lsu.TEXTURES
    if able == 0:
        return -1
    later = (able >> unit[sm, lsu.TURN]) << unit[sm, lsu.TURN]
    client = lowest_bit(np.int64(later if later else able))
    if client == lsu.OF_L1 and cache.first_result(l1, sm) == FETCHER:  # nothing to write: the clients behind go on
        cache_mshr.next_ready(l1.cache, sm)
        able &= (1 << unit[sm, lsu.TURN]) - 1
        if able == 0:
            unit[sm, lsu.TURN] = 0
            return -1
        client = lowest_bit(np.int64(able))
    if client == lsu.SHARED:
        unit[sm, lsu.PIPE_HEAD] += 1
        at = state.pipe[place, 1]
    elif client == lsu.TEXTURES:
        at = texture.next_result(state.texture, sm)
        unit[sm, lsu.TEXTURE_ACCESSES] -= 1
    elif client == lsu.PAST:
        at = unit[sm, lsu.PAST_L1]
        unit[sm, lsu.PAST_L1] = -1
    else:
        at = cache_mshr.next_ready(l1.cache, sm) >> 1
    unit[sm, lsu.TURN] = 0 if client == lsu.OF_L1 else client + 1
    unit[sm, lsu.WRITE_BACK] = at
    return at


@inlined
def part_over(state: lsu.Lsu, sm: int, now: int, at: int) -> bool:
    """Complete a part of an operation; True when it was the last. The last texel begins the texture unit's latency."""
    row = sm * lsu.OPERATIONS + at
    state.operation[row, lsu.MISSING] -= 1
    is_last_texel = state.texture.is_unit and state.operation[row, lsu.MISSING] == 1
    if is_last_texel and state.operation[row, lsu.KIND] == op.TEXTURE:
        texture.add_result(state.texture, sm, at, now + state.texture.latency)
    return state.operation[row, lsu.MISSING] <= 0


@inlined
def oldest_access(state: lsu.Lsu, bank: int) -> int:
    """Row of the oldest access of a bank."""
    return bank * state.depth + wrap(state.bank[bank, lsu.HEAD], state.depth)


@inlined
def check_tag(state: lsu.Lsu, l1: cache.L1, port: Port, sm: int, now: int, bank: int) -> int:
    """The tag check of a bank's oldest access: what it came to."""
    place = oldest_access(state, sm * state.banks + bank)
    sector, byte_mask = state.access[place, lsu.SECTOR], state.access[place, lsu.BYTES]
    at = state.access[place, lsu.OPERATION]
    here = sm * lsu.OPERATIONS + at
    count_for(l1.cache, sm, state.operation[here, lsu.STREAM])
    if state.operation[here, lsu.KIND] == op.LOAD or state.operation[here, lsu.KIND] == op.TEXTURE:
        answer = cache.load(l1, port, sm, now, sector, byte_mask, at << 1, state.operation[here, lsu.TEXTURE])
        if answer == cache_state.FAIL:
            return block(state, l1, sm, now, bank)
        return IS_OVER if answer == cache_state.HIT else WAITS
    tag = state.operation[here, lsu.WARP] * 4 + lsu.ACK_TAG
    answer = cache.store(l1, port, sm, now, sector, byte_mask, state.operation[here, lsu.LOCAL], tag)
    if answer == cache_state.FAIL:
        return block(state, l1, sm, now, bank)
    return IS_KEPT if cache.keeps(l1, sm, answer, state.operation[here, lsu.LOCAL]) else IS_OVER


@inlined
def block(state: lsu.Lsu, l1: cache.L1, sm: int, now: int, bank: int) -> int:
    """Note that the oldest access of a bank found no room."""
    state.unit[sm, lsu.BLOCKED] |= 1 << bank
    state.unit[sm, lsu.BLOCKED_AT] = now
    if l1.cache.unit[sm, cache_state.REASON] == cache_state.NO_QUEUE:
        state.unit[sm, lsu.WAITS_TO_SEND] |= 1 << bank
    return BLOCKS


@inlined
def count_blocked(state: lsu.Lsu, l1: cache.L1, sm: int, until: int) -> None:
    """Account for the cycles before ``until`` in which the oldest accesses of some banks were blocked and not run."""
    since = state.unit[sm, lsu.BLOCKED_AT]
    if state.unit[sm, lsu.BLOCKED] == 0 or until <= since + 1:
        return
    skipped = until - since - 1
    state.unit[sm, lsu.BLOCKED_AT] = until - 1
    state.stats[sm, lsu.STALL_CYCLES] += skipped
    for bank in range(state.banks):
        if (state.unit[sm, lsu.BLOCKED] >> bank) & 1:
            row = sm * lsu.OPERATIONS + state.access[oldest_access(state, sm * state.banks + bank), lsu.OPERATION]
            is_load = state.operation[row, lsu.KIND] == op.LOAD or state.operation[row, lsu.KIND] == op.TEXTURE
            count_for(l1.cache, sm, state.operation[row, lsu.STREAM])
            l1.cache.stats[sm, cache_state.FAIL if is_load else 5 + cache_state.FAIL] += skipped
            l1.cache.stats[sm, cache_state.TEXTURE + cache_state.FAIL] += skipped * state.operation[row, lsu.TEXTURE]


@inlined
def wake(state: lsu.Lsu, sm: int, now: int) -> None:
    """Something that blocked accesses may have waited for has happened: they try again."""
    if state.unit[sm, lsu.BLOCKED] or state.unit[sm, lsu.STALLED]:
        state.unit[sm, lsu.NEXT_CYCLE] = min(state.unit[sm, lsu.NEXT_CYCLE], now)


@inlined
def next_cycle(state: lsu.Lsu, l1: cache.L1, port: Port, sm: int, now: int) -> int:
    """The next cycle in which the unit can do something by itself; in lockstep the port may have room in any."""
    unit = state.unit
    if port.lockstep and (unit[sm, lsu.STALLED] or unit[sm, lsu.BLOCKED] or cache.has_queued(l1, sm)):
        return now + 1
    if has_data(state, l1, sm):
        return now + 1
    soonest = state.inbox[sm * state.inbox_pitch + wrap(unit[sm, lsu.INBOX_HEAD], state.inbox_size), 0]
    if unit[sm, lsu.TEXTURE_ACCESSES]:
        soonest = min(soonest, texture.next_event(state.texture, sm, now))
    if unit[sm, lsu.PIPE_HEAD] != unit[sm, lsu.PIPE_TAIL]:
        soonest = min(soonest, state.pipe[sm * state.pipe_size + wrap(unit[sm, lsu.PIPE_HEAD], state.pipe_size), 0])
    if unit[sm, lsu.BLOCKED] == 0:
        soonest = min(soonest, unit[sm, lsu.TAGS_AT])
    else:
        soonest = min(soonest, next_try(state, l1, port, sm, now))
    return max(min(soonest, FAR if unit[sm, lsu.STALLED] else unit[sm, lsu.FRONT_AT]), now + 1)


@inlined
def next_try(state: lsu.Lsu, l1: cache.L1, port: Port, sm: int, now: int) -> int:
    """While some banks are blocked: the next cycle in which another's access is due, or a place in the miss queue."""
    occupied, soonest = state.unit[sm, lsu.OCCUPIED], FAR
    while occupied:
        bank = lowest_bit(occupied)
        occupied &= occupied - 1
        if not (state.unit[sm, lsu.BLOCKED] >> bank) & 1:
            soonest = min(soonest, state.access[oldest_access(state, sm * state.banks + bank), lsu.READY])
        elif (state.unit[sm, lsu.WAITS_TO_SEND] >> bank) & 1 and may_send(port, sm, now):
            soonest = min(soonest, l1.leaves_at[sm] - l1.cache.miss_queue)
    return soonest
