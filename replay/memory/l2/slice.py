"""L2 slice: requests out of the crossbar wait out a fixed delay, are looked up one a cycle, and answered one a cycle.

Peak rate: one sector looked up and one response sent per cycle and slice (24 slices x 32 B x 1365 MHz = 1,048 GB/s).
In a cycle, in this order: a response whose data has come goes to the crossbar; data from the DRAM is filled in; a
request leaves the miss queue for the DRAM; the oldest request of the slice's queue is looked up, if the queues behind
it have room; a request whose delay has passed enters the slice's queue. A queue that is nearly full takes no packet
from the crossbar. Cycles in which nothing can happen are skipped. Source: ``docs/sources/accel-sim.md#l2,
#memory-latencies``.
"""

import numpy as np

from rayplay.replay.jit.bits import FAR, compiled, count_bits, entry_point, inlined, inlined_copy, lowest_bit
from rayplay.replay.jit.rows import rewind, wrap
from rayplay.replay.memory import port as ports
from rayplay.replay.memory.addresses import bank_of, set_key, slice_of, within_channel
from rayplay.replay.memory.cache import access as cache
from rayplay.replay.memory.cache import fill as cache_fill
from rayplay.replay.memory.cache import state as cache_state
from rayplay.replay.memory.cache.mshr import has_ready, next_ready, stream_of
from rayplay.replay.memory.cache.owners import SAMPLED
from rayplay.replay.memory.cache.prefetch import bring, prefetch, prefetched, prefetches
from rayplay.replay.memory.cache.state import set_of
from rayplay.replay.memory.cache.tags import note_alone, note_use
from rayplay.replay.memory.dram import channel as dram
from rayplay.replay.memory.dram import spec as limits
from rayplay.replay.memory.dram import state as dram_state
from rayplay.replay.memory.dram.state import Dram
from rayplay.replay.memory.l2 import state as l2
from rayplay.replay.memory.l2.filled import queued_with_filled
from rayplay.replay.memory.port import ATOMIC, LINE, READ, STREAM_SHIFT, TEXTURE, WRITE
from rayplay.replay.unit import clocks
from rayplay.replay.unit.streams import count_for

WORD_BITS = 40  # of a response; above them in the cache the stream of a write
WORD = (1 << WORD_BITS) - 1
# Called from one place and for every request: inlined here, which the L1 with its several callers does without.
read, write, fill = inlined_copy(cache.read), inlined_copy(cache.write), inlined_copy(cache_fill.fill)


@compiled
def pop_until(state: l2.L2, part: int, until: int) -> None:
    """Take the packets out of the crossbar that leave it up to cycle ``until``: one a cycle, none while stalled."""
    own, mask = state.slice, state.ring - 1
    while own[part, l2.POPPED] < own[part, l2.TAIL]:
        row = part * state.ring + (own[part, l2.POPPED] & mask)
        cycle = max(own[part, l2.POP_AT], state.input[row, 0])
        while own[part, l2.STALL_HEAD] < own[part, l2.STALL_TAIL]:
            stretch = part * state.ring + (own[part, l2.STALL_HEAD] & mask)
            if cycle < state.stall[stretch, 0]:
                break
            if cycle < state.stall[stretch, 1]:
                state.stats[part, l2.WAIT_CYCLES] += min(state.stall[stretch, 1], until + 1) - min(cycle, until + 1)
                cycle = state.stall[stretch, 1]
            if cycle > until:
                break
            own[part, l2.STALL_HEAD] += 1
        if cycle > until:
            own[part, l2.POP_AT] = max(own[part, l2.POP_AT], min(cycle, until + 1))
            return
        waited = clocks.at_or_after(state.to_core, cycle) + state.latency
        state.input[row, 0] = clocks.after(state.from_core, waited - 1)
        if state.input[row, 2] & 3 == LINE:
            split_line(state, part, row)
        own[part, l2.POP_AT] = cycle + 1
        own[part, l2.POPPED] += 1


@inlined
def copy_request(state: l2.L2, source: int, target: int) -> None:
    """Copy a row of ``input`` and ``back``."""
    for column in range(5):
        state.input[target, column] = state.input[source, column]
    for column in range(2):
        state.back[target, column] = state.back[source, column]


@compiled
def split_line(state: l2.L2, part: int, row: int) -> None:
    """A packet for a line, which leaves the crossbar, becomes one request for each sector; the last one leaves it."""
    own, mask = state.slice, state.ring - 1
    first, word, low, high = state.input[row, 1], state.input[row, 2], state.back[row, 0], state.back[row, 1]
    written = (word >> 2) & l2.SECTORS
    sectors = written if written else l2.SECTORS
    more = count_bits(sectors) - 1
    for place in range(own[part, l2.TAIL] - 1, own[part, l2.POPPED], -1):  # what waits behind it in the crossbar
        copy_request(state, part * state.ring + (place & mask), part * state.ring + ((place + more) & mask))
    own[part, l2.TAIL] += more
    while sectors:
        number = lowest_bit(sectors)
        sectors &= sectors - 1
        here = part * state.ring + (own[part, l2.POPPED] & mask)
        copy_request(state, row, here)
        bytes_of = ((high if number >> 1 else low) >> 32 * (number & 1)) & cache_state.FULL
        state.input[here, 1] = first + number
        kind = (WRITE if written else READ + (word & TEXTURE)) + 4 * bytes_of
        state.input[here, 2] = kind | word >> STREAM_SHIFT << STREAM_SHIFT
        state.input[here, 4] = home_of(state, first + number)
        own[part, l2.POPPED] += 1
    own[part, l2.POPPED] -= 1


@compiled
def take_in(state: l2.L2, part: int, until: int) -> int:
    """``pop_until`` at a barrier; finds the next event of the slice. Returns the requests that wait for the tags."""
    own = state.slice
    pop_until(state, part, until)
    own[part, l2.QUEUES_AT] = next_queued(state, part)
    if own[part, l2.HEAD] == own[part, l2.QUEUED]:
        own[part, l2.NEXT] = min(own[part, l2.NEXT], own[part, l2.QUEUES_AT] + 1)
    return own[part, l2.POPPED] - own[part, l2.HEAD]


@inlined
def next_queued(state: l2.L2, part: int) -> int:
    """Cycle in which the next request enters the slice's queue if that has room, at most FAR - 1."""
    own = state.slice
    if own[part, l2.QUEUED] == own[part, l2.POPPED]:
        return FAR - 1
    row = part * state.ring + wrap(own[part, l2.QUEUED], state.ring)
    return max(state.input[row, 0], own[part, l2.QUEUED_AT] + 1)


@inlined
def settle(state: l2.L2, part: int, now: int) -> None:
    """Let requests enter the slice's queue in the cycles before ``now``, and note when it becomes nearly full."""
    own = state.slice
    while own[part, l2.QUEUES_AT] < now:
        cycle, length = own[part, l2.QUEUES_AT], own[part, l2.QUEUED] - own[part, l2.HEAD]
        if length == state.input_queue:
            own[part, l2.QUEUED_AT] = now - 1
        else:
            own[part, l2.QUEUED] += 1
            own[part, l2.QUEUED_AT] = cycle
            if length + l2.CHUNK == state.input_queue:
                begin_stall(state, part, cycle + 1)
        own[part, l2.QUEUES_AT] = next_queued(state, part)


@inlined
def begin_stall(state: l2.L2, part: int, cycle: int) -> None:
    """From ``cycle`` on the slice takes no packet out of the crossbar."""
    own, mask = state.slice, state.ring - 1
    last = part * state.ring + ((own[part, l2.STALL_TAIL] - 1) & mask)
    if own[part, l2.STALL_HEAD] == own[part, l2.STALL_TAIL]:
        own[part, l2.STALL_HEAD] = own[part, l2.STALL_TAIL] = 0  # memory that is still in the host's caches
    elif state.stall[last, 1] == cycle:
        state.stall[last, 1] = FAR
        return
    row = part * state.ring + (own[part, l2.STALL_TAIL] & mask)
    state.stall[row, 0], state.stall[row, 1] = cycle, FAR
    own[part, l2.STALL_TAIL] += 1


@inlined
def respond(state: l2.L2, part: int, now: int, word: int) -> None:
    """Send a response in the next free cycle of the interconnect."""
    own = state.slice
    cycle = FAR  # in lockstep it waits until the crossbar takes it
    if not state.lockstep:
        cycle = max(clocks.at_or_before(state.to_net, now), own[part, l2.LAST_REPLY]) + 1
        own[part, l2.LAST_REPLY] = cycle
    row = part * state.out_pitch + wrap(own[part, l2.OUT_TAIL], state.out_ring)
    own[part, l2.OUT_TAIL] += 1
    state.output[row, 0] = cycle
    state.output[row, 1] = word


@inlined
def send_reply(state: l2.L2, part: int, cycle: int, room: int) -> None:
    """In lockstep: the oldest response enters the crossbar in its ``cycle`` if fewer than ``room`` wait there."""
    own = state.slice
    sent = own[part, l2.OUT_SENT]
    if sent < own[part, l2.OUT_TAIL] and sent - own[part, l2.OUT_HEAD] < room:
        state.output[part * state.out_pitch + wrap(sent, state.out_ring), 0] = cycle
        own[part, l2.OUT_SENT] += 1


@inlined
def rewind_output(state: l2.L2, part: int) -> None:
    """Compact the pending responses (``rows.rewind``)."""
    own = state.slice
    gone = rewind(state.output, part * state.out_pitch, own[part, l2.OUT_HEAD], own[part, l2.OUT_TAIL], state.out_ring)
    for column in (l2.OUT_HEAD, l2.OUT_SENT, l2.OUT_TAIL):
        own[part, column] -= gone


@inlined
def rewind_input(state: l2.L2, part: int) -> None:
    """Compact the pending requests."""
    own = state.slice
    if state.lockstep:
        rewind(state.back, part * state.ring, own[part, l2.HEAD], own[part, l2.TAIL], state.ring)
    gone = rewind(state.input, part * state.ring, own[part, l2.HEAD], own[part, l2.TAIL], state.ring)
    for column in (l2.HEAD, l2.QUEUED, l2.POPPED, l2.TAIL):
        own[part, column] -= gone


@inlined
def may_respond(state: l2.L2, part: int, now: int) -> bool:
    """Whether the queue of responses has room; one of them leaves in every cycle of the interconnect."""
    if state.lockstep:
        return state.slice[part, l2.OUT_TAIL] - state.slice[part, l2.OUT_SENT] < state.reply_queue
    return state.slice[part, l2.LAST_REPLY] - clocks.at_or_before(state.to_net, now) < state.reply_queue


@inlined
def used_at(state: l2.L2, part: int, now: int) -> int:
    """Time of a use in L2 cycle ``now`` as the replacement knows it: in core cycles, ahead by what the host copied."""
    return clocks.at_or_after(state.to_core, now) + state.slice[part, l2.COPIED]


@inlined
def port_free_at(state: l2.L2, part: int) -> int:
    """First cycle in which the data array may be used."""
    return state.tags.unit[part, cache_state.DATA_FREE_AT] - state.slice[part, l2.COPIED]


@inlined
def step(state: l2.L2, memory: Dram, part: int, now: int) -> None:
    """One cycle of a slice."""
    own, tags = state.slice, state.tags
    settle(state, part, now)
    if has_ready(tags, part) and may_respond(state, part, now):
        word = next_ready(tags, part)
        if word >= 0:
            respond(state, part, now, word & WORD)
    if dram.has_fill(memory, part) and dram.next_fill(memory, part) & dram_state.ANSWERS:
        if may_respond(state, part, now):  # a write that went through
            respond(state, part, now, dram.take_fill(memory, part, now) & ~dram_state.ANSWERS)
    elif dram.has_fill(memory, part):
        fill(tags, part, used_at(state, part, now), dram.take_fill(memory, part, now))
    if tags.unit[part, cache_state.QUEUE_HEAD] != tags.unit[part, cache_state.QUEUE_TAIL] and dram.has_room(
        memory, part
    ):
        send(state, memory, part, now)
    failed = False
    room = dram.has_room(memory, part) and may_respond(state, part, now)
    if own[part, l2.HEAD] < own[part, l2.QUEUED] and room and port_free_at(state, part) <= now:
        failed = not look_up(state, part, now)
    schedule(state, memory, part, now, failed)


@inlined
def home_of(state: l2.L2, sector: int) -> int:
    """Home of a sector: its place in the DRAM (``addresses.bank_of``) above the number of its set."""
    return bank_of(state.addresses, sector) << cache_state.SET_BITS | set_of(
        state.tags, set_key(state.addresses, sector >> 2)
    )


@inlined
def send(state: l2.L2, memory: Dram, part: int, now: int) -> None:
    """The oldest request of the miss queue goes to the DRAM channel."""
    tags = state.tags
    row = part * tags.ring + wrap(tags.unit[part, cache_state.QUEUE_HEAD], tags.ring)
    tags.unit[part, cache_state.QUEUE_HEAD] += 1
    kind, token = tags.queue[row, 0], tags.queue[row, 3]
    if kind == cache_state.WRITE_BACK:
        size = count_bits(tags.queue[row, 2]) * cache_state.SECTOR_BYTES
        columns = (size + memory.gap[limits.ATOM_BYTES] - 1) // memory.gap[limits.ATOM_BYTES]
        place, stream = bank_of(state.addresses, tags.queue[row, 1]), token
    elif kind == cache_state.WRITE_THROUGH:
        columns = memory.gap[limits.SECTOR_COLUMNS]
        place, stream = bank_of(state.addresses, tags.queue[row, 1]), token >> WORD_BITS
        token = token & WORD | dram_state.ANSWERS
    else:
        columns = memory.gap[limits.SECTOR_COLUMNS]
        place = tags.mshr[part * tags.pitch + tags.queue[row, 3], cache_state.INDEX] >> cache_state.SET_BITS
        stream = stream_of(tags, part, token)
    dram.push(memory, part, now, place, columns, int(kind != cache_state.READ_SECTOR), stream, token)


@inlined
def look_up(state: l2.L2, part: int, now: int) -> bool:
    """Look the oldest request up; False when it has to wait. Writes are answered at once, or by the DRAM.

    The latter where they go on to it: hits unless the L2 writes back, misses without an allocation or a naive one.
    """
    own, tags = state.slice, state.tags
    row = part * state.ring + wrap(own[part, l2.HEAD], state.ring)
    sector, kind = state.input[row, 1], state.input[row, 2] & 3
    byte_mask = (state.input[row, 2] >> 2) & cache_state.FULL
    word, home = state.input[row, 3], state.input[row, 4]
    used = used_at(state, part, now)
    lag = now + own[part, l2.COPIED] - used  # of the replacement's time behind the data array's
    tags.unit[part, cache_state.DATA_FREE_AT] -= lag
    count_for(tags, part, state.input[row, 2] >> STREAM_SHIFT)
    is_texture = int(state.input[row, 2] & ports.TEXTURE != 0)
    label(state, part, state.input[row, 2] >> STREAM_SHIFT, is_texture, sector)
    queued = queued_with_filled(state, part, used, sector, kind, home)
    if kind == WRITE:
        payload = word | state.input[row, 2] >> STREAM_SHIFT << WORD_BITS
        answer = write(tags, part, used, sector, home, byte_mask, 0, payload, queued)
        goes_on = tags.write_policy != cache_state.BACK
        if answer != cache_state.HIT:
            goes_on = tags.write_allocate <= cache_state.NAIVE
        answered = answer != cache_state.FAIL and not goes_on and not tags.unit[part, cache_state.PARKED]
    else:
        answer = read(tags, part, used, sector, home, byte_mask, int(kind == ATOMIC), word, queued)
        tags.stats[part, cache_state.TEXTURE + answer] += is_texture
        answered = answer == cache_state.HIT
        if prefetches(tags) and answer != cache_state.FAIL:
            follow(state, part, used, sector, answer, word)
    tags.unit[part, cache_state.DATA_FREE_AT] += lag
    if answered and word >> ports.SM_BITS == ports.NO_ANSWER:
        state.absorbed[word & ports.SM_MASK] += 1
    elif answered:
        respond(state, part, now, word)
    if answer == cache_state.FAIL:
        return False
    group = cache_state.chosen_set(tags, home)
    if tags.owners.monitored and group % SAMPLED == 0:
        note_alone(tags, part, sector, group)
    own[part, l2.HEAD] += 1
    if own[part, l2.QUEUED] - own[part, l2.HEAD] + l2.CHUNK == state.input_queue:
        last = part * state.ring + wrap(own[part, l2.STALL_TAIL] - 1, state.ring)
        state.stall[last, 1] = now + 1
    return True


@inlined
def follow(state: l2.L2, part: int, used: int, sector: int, answer: int, word: int) -> None:
    """Prefetch what a policy wants after a read of a sector; not another slice's sector."""
    tags = state.tags
    wanted = prefetch(tags, part, used, sector, answer, word)
    if wanted >= 0 and slice_of(state.addresses, wanted) == part:
        queued = tags.unit[part, cache_state.QUEUE_TAIL] - tags.unit[part, cache_state.QUEUE_HEAD]
        prefetched(tags, part, wanted, bring(tags, part, used, wanted, home_of(state, wanted), queued))
    elif wanted >= 0:
        prefetched(tags, part, wanted, cache_state.FAIL)


@inlined
def label(state: l2.L2, part: int, stream: int, is_texture: int, sector: int) -> None:
    """Note whose access is looked up, and how it uses its line."""
    state.tags.owners.label[part] = 2 * stream + is_texture
    if state.tags.owners.are_limited and state.tags.owners.monitored == 0:
        note_use(state.tags, part, sector)


@inlined
def goes_to(state: l2.L2, sector: int, part: int, stream: int) -> int:
    """Slice that a stream's request to a sector goes to; ``part``: the slice of the address.

    Of P slices a class with n finds what belongs in slice p in its slice p x n / P; where that is no whole number, the
    address bits above the slice's choose between the two next to it, so that each gets as many.
    """
    if not state.is_divided:
        return part
    first, count = state.part_of[stream, 0], state.part_of[stream, 1]
    above = (within_channel(state.addresses, sector) >> state.addresses.high_shift) % count
    return first + (part * count + above) // (state.controllers * state.slices_per_controller)


@inlined
def schedule(state: l2.L2, memory: Dram, part: int, now: int, failed: bool) -> None:
    """Find the slice's next event; what only the DRAM channel can bring about is left to it."""
    own, tags = state.slice, state.tags
    room, looks_up = dram.has_room(memory, part), own[part, l2.HEAD] != own[part, l2.QUEUED]
    sends = tags.unit[part, cache_state.QUEUE_HEAD] != tags.unit[part, cache_state.QUEUE_TAIL]
    at_once = has_ready(tags, part) | dram.has_fill(memory, part) | (sends & room)
    queues_at, port_at = max(own[part, l2.QUEUES_AT], now) + 1, max(port_free_at(state, part), now + 1)
    looks_at = (port_at if room & (not failed) else FAR) if looks_up else queues_at
    own[part, l2.NEXT] = now + 1 if at_once else looks_at
    own[part, l2.WAITS] = int((sends | looks_up) & (not room))


@entry_point
def warm(state: l2.L2, first: np.ndarray, count: np.ndarray, mask: int, space: int, now: int, stream: int) -> None:
    """Have sectors in the slices, as copies from the host leave them.

    first, count  int64[copies], first sector and sectors of each copy.
    mask          bits of a sector number that count; ``space`` is added to them. Sectors are used one after the other,
                  though all in cycle ``now``: a slice's time of use is ahead of its cycle by the sectors copied to it.
    stream        of the kernel that the copies are made for.
    """
    for copy in range(first.size):
        for number in range(first[copy], first[copy] + count[copy]):
            sector = (number & mask) + space
            part = goes_to(state, sector, slice_of(state.addresses, sector), stream)
            used = now + state.slice[part, l2.COPIED]  # ``now`` is a core cycle
            count_for(state.tags, part, stream)
            state.tags.owners.label[part] = 2 * stream
            cache_fill.warm(state.tags, part, used, sector, set_of(state.tags, set_key(state.addresses, sector >> 2)))
            state.slice[part, l2.COPIED] += 1
