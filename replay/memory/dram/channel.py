"""DRAM channel: requests come from the L2 slices, wait out a fixed latency, are scheduled, and their data return.

Peak rate: one column command per max(burst_length / data_ratio, tCCD) ticks, moving ``bus_bytes`` x burst_length:
with 2 B, 16, ratio 4 and 3500.5 MHz that is 32 B / 4 ticks = 28 GB/s a channel, 336 GB/s for twelve.
In a tick, in this order: a refresh that is due takes its banks (``refresh``); the return queue gives a slice its data;
the data pipe gives the request whose CL or WL has passed to the return queue; one bank gets a request
(``dram_banks``); a command is issued (``dram_commands``); one slice, in turn, sends a request into the latency queue,
if it has a credit and room for the reply; one request leaves it (``dram_entry``).
Ticks in which nothing can happen are skipped. Source: ``docs/sources/accel-sim.md#dram, #dram-timing, #dram-counters``.
"""

from rayplay.replay.jit.bits import FAR, inlined
from rayplay.replay.jit.rows import wrap
from rayplay.replay.memory.dram import banks as dram_banks
from rayplay.replay.memory.dram import commands as dram_commands
from rayplay.replay.memory.dram import spec as limits
from rayplay.replay.memory.dram import state as dram
from rayplay.replay.memory.dram.entry import enter, next_entry, schedule, takes, takes_none
from rayplay.replay.memory.dram.refresh import refresh
from rayplay.replay.memory.dram.state import Dram
from rayplay.replay.unit import clocks


@inlined
def take_touched(state: Dram, channel: int, column: int) -> int:
    """Slices of the channel, as a mask, that got data (FILLED) or whose queue got room (SERVED) since the last time."""
    touched = state.channel[channel, column]
    state.channel[channel, column] = 0
    return touched


@inlined
def has_room(state: Dram, part: int) -> bool:
    """Whether the slice's queue to the DRAM takes one more request."""
    return state.slice[part, dram.TO_TAIL] - state.slice[part, dram.TO_HEAD] < state.gap[limits.TO_QUEUE]


@inlined
def push(state: Dram, part: int, now: int, place: int, columns: int, is_write: int, stream: int, token: int) -> None:
    """Queue a request of a slice in L2 tick ``now``.

    place    row * banks + bank (``addresses.bank_of``).
    columns  column commands it needs.
    stream   whose request it is.
    token    what a slice gets back of a read, and of a write with ``ANSWERS``.
    """
    channel = state.slice[part, dram.CHANNEL]
    ch = state.channel
    row = ch[channel, dram.FREE]
    ch[channel, dram.FREE] = state.request[row, dram.NEXT]
    state.request[row, dram.BANK] = place & (state.gap[limits.BANKS] - 1)
    state.request[row, dram.REQUEST_ROW] = place >> state.gap[limits.BANK_SHIFT]
    state.request[row, dram.LEFT] = columns
    state.request[row, dram.IS_WRITE] = is_write
    state.request[row, dram.TOKEN] = stream << dram.STREAM_SHIFT | token
    state.request[row, dram.NEXT] = -1
    state.request[row, dram.SLICE] = part
    state.request[row, dram.APART] = is_write if state.gap[limits.WRITE_QUEUE] else 0
    tail = part * state.to_ring + wrap(state.slice[part, dram.TO_TAIL], state.to_ring)
    tick = clocks.after(state.clock, now)
    state.waiting[tail, 0] = tick
    state.waiting[tail, 1] = row
    if state.slice[part, dram.OLDEST_AT] == FAR:
        state.slice[part, dram.OLDEST_AT] = tick
        look_at(state, channel, tick)
    state.slice[part, dram.TO_TAIL] += 1
    ch[channel, dram.UNDER_WAY] += 1


@inlined
def look_at(state: Dram, channel: int, tick: int) -> None:
    """In a tick a slice may send a request that could not before, unless the scheduler takes none."""
    ch = state.channel
    if takes_none(state, channel):
        return
    ch[channel, dram.ENTRY_AT] = min(ch[channel, dram.ENTRY_AT], tick)
    ch[channel, dram.NEXT_TICK] = min(ch[channel, dram.NEXT_TICK], tick)


@inlined
def has_fill(state: Dram, part: int) -> bool:
    """Whether data for a slice have come."""
    return state.slice[part, dram.FROM_HEAD] != state.slice[part, dram.FROM_TAIL]


@inlined
def next_fill(state: Dram, part: int) -> int:
    """Token of the data that came first."""
    return state.fill[part * state.from_ring + wrap(state.slice[part, dram.FROM_HEAD], state.from_ring)]


@inlined
def take_fill(state: Dram, part: int, now: int) -> int:
    """Take the token of the data that came first, in L2 tick ``now``."""
    own, token = state.slice, next_fill(state, part)
    if own[part, dram.FROM_TAIL] - own[part, dram.FROM_HEAD] == state.gap[limits.FROM_QUEUE]:
        tick = clocks.after(state.clock, now)
        ch = state.channel[own[part, dram.CHANNEL]]
        ch[dram.NEXT_TICK] = min(ch[dram.NEXT_TICK], tick)  # data may wait for the room, whatever the scheduler takes
        look_at(state, own[part, dram.CHANNEL], tick)
    own[part, dram.FROM_HEAD] += 1
    return token


@inlined
def advance(state: Dram, channel: int) -> None:
    """The channel's next tick with an event. ``NEXT_TICK`` must be a tick, not FAR."""
    ch = state.channel
    tick = ch[channel, dram.NEXT_TICK]
    if ch[channel, dram.REFRESH_AT] <= tick:
        refresh(state, channel, tick)
    deliver(state, channel, tick)
    if ch[channel, dram.PIPE_AT] <= tick:
        end_transfer(state, channel, tick)
    dram_banks.assign(state, channel, tick)
    if ch[channel, dram.COMMAND_AT] <= tick:
        dram_commands.issue(state, channel, tick)
    may_enter = ch[channel, dram.ENTRY_AT] <= tick
    if may_enter:
        enter(state, channel, tick)
    if ch[channel, dram.JOIN_AT] <= tick:
        schedule(state, channel, tick)
    if may_enter:
        ch[channel, dram.ENTRY_AT] = next_entry(state, channel)
    ch[channel, dram.NEXT_TICK] = max(next_tick(state, channel, tick), tick + 1)


@inlined
def oldest_returned(state: Dram, channel: int) -> int:
    """The request at the front of the return queue."""
    return state.returned[channel * state.capacity + wrap(state.channel[channel, dram.RETURN_HEAD], state.capacity)]


@inlined
def may_deliver(state: Dram, channel: int) -> bool:
    """Whether there are data in the return queue and the slice of those at its front takes them."""
    ch = state.channel
    if ch[channel, dram.RETURN_HEAD] == ch[channel, dram.RETURN_TAIL]:
        return False
    return takes(state, state.request[oldest_returned(state, channel), dram.SLICE])


@inlined
def deliver(state: Dram, channel: int, tick: int) -> None:
    """Give the data at the front of the return queue to its slice."""
    if not may_deliver(state, channel):
        return
    ch, row = state.channel, oldest_returned(state, channel)
    part = state.request[row, dram.SLICE]
    place = part * state.from_ring + wrap(state.slice[part, dram.FROM_TAIL], state.from_ring)
    state.fill[place] = state.request[row, dram.TOKEN] & ((1 << dram.STREAM_SHIFT) - 1)
    state.slice[part, dram.FROM_TAIL] += 1
    ch[channel, dram.FILLED] |= 1 << (part - channel * state.slices)
    release(state, channel, part, row)
    ch[channel, dram.RETURN_HEAD] += 1
    if ch[channel, dram.STALLED_SINCE] >= 0:
        ch[channel, dram.STALLED] += tick - ch[channel, dram.STALLED_SINCE]
        ch[channel, dram.STALLED_SINCE] = -1
        ch[channel, dram.PIPE_AT] = end_of_pipe(state, channel)


@inlined
def release(state: Dram, channel: int, part: int, row: int) -> None:
    """Free the credit and the place of a completed request."""
    ch = state.channel
    if ch[channel, dram.SHARED_CREDIT] >= state.gap[limits.SHARED_LIMIT]:
        ch[channel, dram.ENTRY_AT] = 0  # a slice may have waited for it
    if state.slice[part, dram.CREDIT] > 0:
        state.slice[part, dram.CREDIT] -= 1
    else:
        ch[channel, dram.SHARED_CREDIT] -= 1
    state.request[row, dram.NEXT] = ch[channel, dram.FREE]
    ch[channel, dram.FREE] = row
    ch[channel, dram.UNDER_WAY] -= 1


@inlined
def end_transfer(state: Dram, channel: int, tick: int) -> None:
    """The request at the end of the data pipe: a read's data go to the return queue; a full one stops the pipe."""
    ch, base = state.channel, channel * state.capacity
    row = state.pipe[base + wrap(ch[channel, dram.PIPE_HEAD], state.capacity), 1]
    ch[channel, dram.PIPE_HEAD] += 1
    ch[channel, dram.PIPE_AT] = end_of_pipe(state, channel)
    if state.request[row, dram.IS_WRITE] and not state.request[row, dram.TOKEN] & dram.ANSWERS:
        release(state, channel, state.request[row, dram.SLICE], row)
        return
    state.returned[base + wrap(ch[channel, dram.RETURN_TAIL], state.capacity)] = row
    ch[channel, dram.RETURN_TAIL] += 1
    if ch[channel, dram.RETURN_TAIL] - ch[channel, dram.RETURN_HEAD] == state.gap[limits.RETURNS]:
        ch[channel, dram.STALLED_SINCE] = tick + 1
        ch[channel, dram.PIPE_AT] = FAR


@inlined
def end_of_pipe(state: Dram, channel: int) -> int:
    """Tick in which the next request leaves the data pipe, which moves, or FAR."""
    ch = state.channel
    if ch[channel, dram.PIPE_HEAD] == ch[channel, dram.PIPE_TAIL]:
        return FAR
    head = channel * state.capacity + wrap(ch[channel, dram.PIPE_HEAD], state.capacity)
    return state.pipe[head, 0] + ch[channel, dram.STALLED]


@inlined
def next_tick(state: Dram, channel: int, tick: int) -> int:
    """The first tick after ``tick`` in which something can happen, unless a slice changes it."""
    ch = state.channel
    if dram_banks.idle_banks(state, channel) or dram_banks.changes_mode(state, channel) or may_deliver(state, channel):
        return tick + 1
    return min(
        ch[channel, dram.COMMAND_AT], ch[channel, dram.ENTRY_AT], ch[channel, dram.JOIN_AT], ch[channel, dram.PIPE_AT]
    )
