"""DRAM channel: requests come from the L2 slices, wait out a fixed latency, are scheduled, and their data return.

Peak rate: one column command per max(burst_length / data_ratio, tCCD) ticks, moving ``bus_bytes`` x burst_length:
with 2 B, 16, ratio 4 and 3500.5 MHz that is 32 B / 4 ticks = 28 GB/s a channel, 336 GB/s for twelve.
In a tick, in this order: the return queue gives a slice its data; the data pipe gives the request whose CL or WL is
over to the return queue; one bank gets a request (``dram_banks``); a command is issued (``dram_commands``); one slice,
in turn, sends a request into the latency queue, if it has a credit and room for the reply; one request leaves it
(``dram_entry``).
Ticks in which nothing can happen are skipped. Source: ``docs/sources/accel-sim.md#dram, #dram-timing, #dram-counters``.
"""

from rayplay.replay.jit.bits import FAR, inlined
from rayplay.replay.memory.dram import banks as dram_banks
from rayplay.replay.memory.dram import commands as dram_commands
from rayplay.replay.memory.dram.entry import enter, next_entry, schedule, takes, takes_none
from rayplay.replay.memory.dram.state import (
    APART,
    BANK,
    BANK_SHIFT,
    BANKS,
    CHANNEL,
    COMMAND_AT,
    CREDIT,
    ENTRY_AT,
    FILLED,
    FREE,
    FROM_HEAD,
    FROM_QUEUE,
    FROM_TAIL,
    IS_WRITE,
    JOIN_AT,
    LEFT,
    NEXT,
    NEXT_TICK,
    OLDEST_AT,
    PIPE_AT,
    PIPE_HEAD,
    PIPE_TAIL,
    REQUEST_ROW,
    RETURN_HEAD,
    RETURN_TAIL,
    RETURNS,
    SHARED_CREDIT,
    SHARED_LIMIT,
    SLICE,
    STALLED,
    STALLED_SINCE,
    STREAM_SHIFT,
    TO_HEAD,
    TO_QUEUE,
    TO_TAIL,
    TOKEN,
    UNDER_WAY,
    WRITE_QUEUE,
    Dram,
)
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
    return state.slice[part, TO_TAIL] - state.slice[part, TO_HEAD] < state.gap[TO_QUEUE]


@inlined
def push(state: Dram, part: int, now: int, place: int, columns: int, is_write: int, stream: int, token: int) -> None:
    """Queue a request of a slice in L2 tick ``now``.

    place    row * banks + bank (``addresses.bank_of``).
    columns  column commands it needs.
    stream   whose request it is.
    token    what a read's slice gets back.
    """
    channel = state.slice[part, CHANNEL]
    ch = state.channel
    row = ch[channel, FREE]
    ch[channel, FREE] = state.request[row, NEXT]
    state.request[row, BANK] = place & (state.gap[BANKS] - 1)
    state.request[row, REQUEST_ROW] = place >> state.gap[BANK_SHIFT]
    state.request[row, LEFT] = columns
    state.request[row, IS_WRITE] = is_write
    state.request[row, TOKEN] = stream << STREAM_SHIFT | token
    state.request[row, NEXT] = -1
    state.request[row, SLICE] = part
    state.request[row, APART] = is_write if state.gap[WRITE_QUEUE] else 0
    tail = part * state.to_ring + (state.slice[part, TO_TAIL] & (state.to_ring - 1))
    tick = clocks.after(state.clock, now)
    state.waiting[tail, 0] = tick
    state.waiting[tail, 1] = row
    if state.slice[part, OLDEST_AT] == FAR:
        state.slice[part, OLDEST_AT] = tick
        look_at(state, channel, tick)
    state.slice[part, TO_TAIL] += 1
    ch[channel, UNDER_WAY] += 1


@inlined
def look_at(state: Dram, channel: int, tick: int) -> None:
    """In a tick a slice may send a request that could not before, unless the scheduler takes none."""
    ch = state.channel
    if takes_none(state, channel):
        return
    ch[channel, ENTRY_AT] = min(ch[channel, ENTRY_AT], tick)
    ch[channel, NEXT_TICK] = min(ch[channel, NEXT_TICK], tick)


@inlined
def has_fill(state: Dram, part: int) -> bool:
    """Whether data for a slice have come."""
    return state.slice[part, FROM_HEAD] != state.slice[part, FROM_TAIL]


@inlined
def take_fill(state: Dram, part: int, now: int) -> int:
    """Take the token of the data that came first, in L2 tick ``now``."""
    own = state.slice
    token = state.fill[part * state.from_ring + (own[part, FROM_HEAD] & (state.from_ring - 1))]
    if own[part, FROM_TAIL] - own[part, FROM_HEAD] == state.gap[FROM_QUEUE]:
        look_at(state, own[part, CHANNEL], clocks.after(state.clock, now))
    own[part, FROM_HEAD] += 1
    return token


@inlined
def advance(state: Dram, channel: int) -> None:
    """The channel's next tick with an event. ``NEXT_TICK`` must be a tick, not FAR."""
    ch = state.channel
    tick = ch[channel, NEXT_TICK]
    deliver(state, channel, tick)
    if ch[channel, PIPE_AT] <= tick:
        end_transfer(state, channel, tick)
    dram_banks.assign(state, channel, tick)
    if ch[channel, COMMAND_AT] <= tick:
        dram_commands.issue(state, channel, tick)
    may_enter = ch[channel, ENTRY_AT] <= tick
    if may_enter:
        enter(state, channel, tick)
    if ch[channel, JOIN_AT] <= tick:
        schedule(state, channel, tick)
    if may_enter:
        ch[channel, ENTRY_AT] = next_entry(state, channel)
    ch[channel, NEXT_TICK] = max(next_tick(state, channel, tick), tick + 1)


@inlined
def oldest_returned(state: Dram, channel: int) -> int:
    """The request at the front of the return queue."""
    return state.returned[channel * state.capacity + (state.channel[channel, RETURN_HEAD] & (state.capacity - 1))]


@inlined
def may_deliver(state: Dram, channel: int) -> bool:
    """Whether there are data in the return queue and the slice of those at its front takes them."""
    ch = state.channel
    if ch[channel, RETURN_HEAD] == ch[channel, RETURN_TAIL]:
        return False
    return takes(state, state.request[oldest_returned(state, channel), SLICE])


@inlined
def deliver(state: Dram, channel: int, tick: int) -> None:
    """Give the data at the front of the return queue to its slice."""
    if not may_deliver(state, channel):
        return
    ch, row = state.channel, oldest_returned(state, channel)
    part = state.request[row, SLICE]
    place = part * state.from_ring + (state.slice[part, FROM_TAIL] & (state.from_ring - 1))
    state.fill[place] = state.request[row, TOKEN] & ((1 << STREAM_SHIFT) - 1)
    state.slice[part, FROM_TAIL] += 1
    ch[channel, FILLED] |= 1 << (part - channel * state.slices)
    release(state, channel, part, row)
    ch[channel, RETURN_HEAD] += 1
    if ch[channel, STALLED_SINCE] >= 0:
        ch[channel, STALLED] += tick - ch[channel, STALLED_SINCE]
        ch[channel, STALLED_SINCE] = -1
        ch[channel, PIPE_AT] = end_of_pipe(state, channel)


@inlined
def release(state: Dram, channel: int, part: int, row: int) -> None:
    """A request is over: its credit and its place are free."""
    ch = state.channel
    if ch[channel, SHARED_CREDIT] >= state.gap[SHARED_LIMIT]:
        ch[channel, ENTRY_AT] = 0  # a slice may have waited for it
    if state.slice[part, CREDIT] > 0:
        state.slice[part, CREDIT] -= 1
    else:
        ch[channel, SHARED_CREDIT] -= 1
    state.request[row, NEXT] = ch[channel, FREE]
    ch[channel, FREE] = row
    ch[channel, UNDER_WAY] -= 1


@inlined
def end_transfer(state: Dram, channel: int, tick: int) -> None:
    """The request at the end of the data pipe: a read's data go to the return queue; a full one stops the pipe."""
    ch, base = state.channel, channel * state.capacity
    row = state.pipe[base + (ch[channel, PIPE_HEAD] & (state.capacity - 1)), 1]
    ch[channel, PIPE_HEAD] += 1
    ch[channel, PIPE_AT] = end_of_pipe(state, channel)
    if state.request[row, IS_WRITE]:
        release(state, channel, state.request[row, SLICE], row)
        return
    state.returned[base + (ch[channel, RETURN_TAIL] & (state.capacity - 1))] = row
    ch[channel, RETURN_TAIL] += 1
    if ch[channel, RETURN_TAIL] - ch[channel, RETURN_HEAD] == state.gap[RETURNS]:
        ch[channel, STALLED_SINCE] = tick + 1
        ch[channel, PIPE_AT] = FAR


@inlined
def end_of_pipe(state: Dram, channel: int) -> int:
    """Tick in which the next request leaves the data pipe, which moves, or FAR."""
    ch = state.channel
    if ch[channel, PIPE_HEAD] == ch[channel, PIPE_TAIL]:
        return FAR
    head = channel * state.capacity + (ch[channel, PIPE_HEAD] & (state.capacity - 1))
    return state.pipe[head, 0] + ch[channel, STALLED]


@inlined
def next_tick(state: Dram, channel: int, tick: int) -> int:
    """The first tick after ``tick`` in which something can happen, unless a slice changes it."""
    ch = state.channel
    if dram_banks.idle_banks(state, channel) or dram_banks.changes_mode(state, channel) or may_deliver(state, channel):
        return tick + 1
    return min(ch[channel, COMMAND_AT], ch[channel, ENTRY_AT], ch[channel, JOIN_AT], ch[channel, PIPE_AT])
