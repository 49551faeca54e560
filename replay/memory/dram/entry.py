"""The way of a request into a DRAM channel: out of its slice's queue, through the fixed latency, to its bank's list.

A slice, in turn, sends one if it has a credit, the scheduler a place and the slice room for the reply; a request whose
latency has passed joins its bank's list if the scheduler has a place. Source: ``docs/sources/accel-sim.md#dram,
#memory-latencies``.
"""

from rayplay.replay.jit.bits import FAR, inlined
from rayplay.replay.jit.rows import wrap
from rayplay.replay.memory.dram import banks as dram_banks
from rayplay.replay.memory.dram import spec as limits
from rayplay.replay.memory.dram import state as dram
from rayplay.replay.unit import clocks


@inlined
def takes(state: dram.Dram, part: int) -> bool:
    """Whether a slice's queue of fills has room."""
    return state.slice[part, dram.FROM_TAIL] - state.slice[part, dram.FROM_HEAD] < state.gap[limits.FROM_QUEUE]


@inlined
def is_full(state: dram.Dram, channel: int, row: int) -> bool:
    """Whether the scheduler does not take a request now."""
    apart = state.request[row, dram.APART]
    return state.channel[channel, dram.QUEUED + apart] >= state.gap[limits.QUEUE + apart]


@inlined
def takes_none(state: dram.Dram, channel: int) -> bool:
    """Whether the scheduler takes no request at all now."""
    ch = state.channel
    return (
        ch[channel, dram.QUEUED] >= state.gap[limits.QUEUE]
        and ch[channel, dram.QUEUED_WRITES] >= state.gap[limits.WRITE_QUEUE]
    )


@inlined
def entry_tick(state: dram.Dram, channel: int, part: int) -> int:
    """First tick at which a slice's request may enter the latency queue as far as the slice goes, or FAR."""
    own = state.slice
    if not takes(state, part):
        return FAR
    if own[part, dram.CREDIT] > 0 and state.channel[channel, dram.SHARED_CREDIT] >= state.gap[limits.SHARED_LIMIT]:
        return FAR
    return own[part, dram.OLDEST_AT]


@inlined
def oldest(state: dram.Dram, part: int) -> int:
    """The oldest request of a slice's queue."""
    return state.waiting[part * state.to_ring + wrap(state.slice[part, dram.TO_HEAD], state.to_ring), 1]


@inlined
def leave(state: dram.Dram, part: int) -> None:
    """The oldest request leaves a slice's queue."""
    own = state.slice
    own[part, dram.TO_HEAD] += 1
    following = part * state.to_ring + wrap(own[part, dram.TO_HEAD], state.to_ring)
    is_empty = own[part, dram.TO_HEAD] == own[part, dram.TO_TAIL]
    own[part, dram.OLDEST_AT] = FAR if is_empty else state.waiting[following, 0]


@inlined
def enter(state: dram.Dram, channel: int, tick: int) -> None:
    """One slice, the next after the last one, sends a request into the latency queue."""
    ch, base = state.channel, channel * state.capacity
    number = ch[channel, dram.LAST_SLICE]
    for _ in range(state.slices):
        number = number + 1 if number + 1 < state.slices else 0
        part = channel * state.slices + number
        if entry_tick(state, channel, part) > tick:
            continue
        row = oldest(state, part)
        if is_full(state, channel, row):
            return
        leave(state, part)
        ch[channel, dram.SERVED] |= 1 << number
        if state.slice[part, dram.CREDIT] == 0:
            state.slice[part, dram.CREDIT] = 1
        else:
            ch[channel, dram.SHARED_CREDIT] += 1
        ch[channel, dram.LAST_SLICE] = number
        tail = base + wrap(ch[channel, dram.LATENCY_TAIL], state.capacity)
        cycle = clocks.at_or_after(state.to_core, tick) + state.gap[limits.LATENCY]
        state.latency[tail, 0] = clocks.after(state.core, cycle - 1)
        state.latency[tail, 1] = row
        if ch[channel, dram.LATENCY_HEAD] == ch[channel, dram.LATENCY_TAIL]:
            ch[channel, dram.JOIN_AT] = state.latency[tail, 0]
        ch[channel, dram.LATENCY_TAIL] += 1
        return


@inlined
def next_entry(state: dram.Dram, channel: int) -> int:
    """A tick before which no slice can send a request unless the channel makes room, or FAR."""
    soonest = FAR
    if takes_none(state, channel):
        return soonest
    for part in range(channel * state.slices, (channel + 1) * state.slices):
        first = entry_tick(state, channel, part)
        if first < soonest and not is_full(state, channel, oldest(state, part)):
            soonest = first
    return soonest


@inlined
def schedule(state: dram.Dram, channel: int, tick: int) -> None:
    """The request whose latency has passed joins the list of its bank; notes when the next one may."""
    ch = state.channel
    if join_tick(state, channel) <= tick:
        row = state.latency[channel * state.capacity + wrap(ch[channel, dram.LATENCY_HEAD], state.capacity), 1]
        ch[channel, dram.LATENCY_HEAD] += 1
        dram_banks.count_request(state, channel, row)
        state.stats[channel, dram.REQUESTS] += 1
        dram_banks.join(state, channel, row)
    ch[channel, dram.JOIN_AT] = join_tick(state, channel)


@inlined
def join_tick(state: dram.Dram, channel: int) -> int:
    """First tick at which a request may leave the latency queue, or FAR without one, or without a place for it."""
    ch = state.channel
    if ch[channel, dram.LATENCY_HEAD] == ch[channel, dram.LATENCY_TAIL] or takes_none(state, channel):
        return FAR
    head = channel * state.capacity + wrap(ch[channel, dram.LATENCY_HEAD], state.capacity)
    return FAR if is_full(state, channel, state.latency[head, 1]) else state.latency[head, 0]
