"""Banks of a DRAM channel: which request each serves.

A bank serves one request at a time: the oldest that hits its row, else the oldest. In a tick one bank without a
request, in turn, gets one. Where writes are kept apart, all banks turn to them when many wait, and back when few do.
Under FIFO all requests wait in the list of the first bank, and the oldest goes to its bank as soon as that is free.
Source: ``docs/sources/accel-sim.md#dram, #dram-counters``.
"""

from rayplay.replay.jit.bits import count_bits, inlined, lowest_bit
from rayplay.replay.jit.hooks import hook, is_replaced
from rayplay.replay.memory.dram import spec as limits
from rayplay.replay.memory.dram import state as dram
from rayplay.replay.unit.streams import count_for


@inlined
def count_request(state: dram.Dram, channel: int, row: int) -> None:
    """Count the channel's next events for a request's stream."""
    count_for(state, channel, state.request[row, dram.TOKEN] >> dram.STREAM_SHIFT)


@inlined
def join(state: dram.Dram, channel: int, row: int) -> None:
    """A request joins the list of its bank (FIFO: of the first): of all, or of the writes where they are kept apart."""
    ch = state.channel
    bank = 0 if state.gap[limits.FIFO] else state.request[row, dram.BANK]
    here = channel * state.gap[limits.BANKS] + bank
    apart = state.request[row, dram.APART]
    youngest = state.bank[here, dram.YOUNGEST + 2 * apart]
    if youngest >= 0:
        state.request[youngest, dram.NEXT] = row
    else:
        state.bank[here, dram.OLDEST + 2 * apart] = row
    state.bank[here, dram.YOUNGEST + 2 * apart] = row
    state.request[row, dram.NEXT] = -1
    ch[channel, dram.QUEUED_BANKS + apart] |= 1 << bank
    ch[channel, dram.QUEUED + apart] += 1


@inlined
def drains(state: dram.Dram, channel: int) -> bool:
    """Whether a bank that looks for a request now looks among the writes kept apart."""
    ch = state.channel
    limit = state.gap[limits.WRITE_LOW] if ch[channel, dram.WRITING] else state.gap[limits.WRITE_HIGH]
    return state.gap[limits.WRITE_QUEUE] > 0 and ch[channel, dram.QUEUED_WRITES] >= limit


@inlined
def changes_mode(state: dram.Dram, channel: int) -> bool:
    """Whether a bank that looks for a request turns from reads to writes or back."""
    if state.gap[limits.WRITE_QUEUE] == 0 or drains(state, channel) == (state.channel[channel, dram.WRITING] == 1):
        return False
    return count_bits(state.channel[channel, dram.BUSY_BANKS]) < state.gap[limits.BANKS]


@inlined
def idle_banks(state: dram.Dram, channel: int) -> int:
    """Banks that could get a request."""
    ch = state.channel
    if state.gap[limits.FIFO]:
        first = state.bank[channel * state.gap[limits.BANKS], dram.OLDEST]
        return 0 if first < 0 else 1 << state.request[first, dram.BANK] & ~ch[channel, dram.BUSY_BANKS]
    return ch[channel, dram.QUEUED_BANKS + ch[channel, dram.WRITING]] & ~ch[channel, dram.BUSY_BANKS]


@inlined
def first_of(state: dram.Dram, banks: int, first: int) -> int:
    """The first bank of a mask in a round from ``first``."""
    later = banks >> first
    return first + lowest_bit(later) if later else lowest_bit(banks)


@inlined
def assign(state: dram.Dram, channel: int, tick: int) -> None:
    """Give one bank without a request its next."""
    ch = state.channel
    if changes_mode(state, channel):
        ch[channel, dram.WRITING] = 1 - ch[channel, dram.WRITING]
    idle = idle_banks(state, channel)
    if idle == 0:
        return
    bank = first_of(state, idle, ch[channel, dram.FIRST_BANK])
    if ch[channel, dram.BUSY_BANKS] == 0:
        ch[channel, dram.BUSY_FROM] = tick
    ch[channel, dram.BUSY_BANKS] |= 1 << bank
    here = channel * state.gap[limits.BANKS] + bank
    if state.gap[limits.FIFO]:
        request = take_first(state, channel, here)
    else:
        ch[channel, dram.FIRST_BANK] = (ch[channel, dram.FIRST_BANK] + 1) & (state.gap[limits.BANKS] - 1)
        request = pick(state, channel, here, ch[channel, dram.WRITING], 1 << bank)
    state.bank[here, dram.SERVING] = request
    if not state.bank[here, dram.OPEN]:
        wait_for(state, channel, tick, bank, dram.ACTIVATES)
    elif state.bank[here, dram.ROW] != state.request[request, dram.REQUEST_ROW]:
        wait_for(state, channel, tick, bank, dram.PRECHARGES)
    else:
        wait_for(state, channel, tick, bank, state.request[request, dram.IS_WRITE])


@inlined
def wait_for(state: dram.Dram, channel: int, tick: int, bank: int, kind: int) -> None:
    """A bank's next command is of a kind: READS, WRITES, ACTIVATES or PRECHARGES; notes before when it is not legal."""
    ch, here = state.channel, channel * state.gap[limits.BANKS] + bank
    local = state.bank[here, dram.READ_AT + kind]
    ch[channel, dram.READ_BANKS + kind] |= 1 << bank
    if local <= tick:
        ch[channel, dram.READY_BANKS] |= 1 << bank
    else:
        state.bank[here, dram.LOCAL_AT] = local
        ch[channel, dram.LOCAL_NEXT] = min(ch[channel, dram.LOCAL_NEXT], local)
    ch[channel, dram.COMMAND_AT] = min(ch[channel, dram.COMMAND_AT], max(local, ch[channel, dram.READ_GAP + kind]))


@hook("dram.choose_request")
def choose_request(state: dram.Dram, channel: int, here: int, first: int) -> int:
    """Choose the request that a bank serves next, a row of ``state.request``: by default the first that hits its row.

    Not asked where ``dram.scheduler`` is fifo. A row that is not in the bank's list stands for ``first``.

    here   the bank, a row of ``state.bank`` (``dram.ROW``: its row, ``dram.OPEN``: whether it is open).
    first  the oldest request of the bank; ``dram.NEXT`` leads to the next younger, and to -1 after the last.
    """
    at, row = first, state.bank[here, dram.ROW]
    while at >= 0 and state.request[at, dram.REQUEST_ROW] != row:
        at = state.request[at, dram.NEXT]
    return first if at < 0 else at


chooses = is_replaced("dram.choose_request")


@inlined
def asked_for(state: dram.Dram, channel: int, here: int, writing: int, counted: int) -> tuple[int, int]:
    """The request that a policy chooses, and the one before it in the list, or -1; mends the count of row hits."""
    first, before = state.bank[here, dram.OLDEST + 2 * writing], -1
    chosen, at = choose_request(state, channel, here, first), first
    while at >= 0 and at != chosen:
        at, before = state.request[at, dram.NEXT], at
    if at < 0:  # a policy's mistake, which must not end in other memory
        at, before = first, -1
    state.stats[channel, dram.ROW_HITS] += (state.request[at, dram.REQUEST_ROW] == state.bank[here, dram.ROW]) - counted
    return at, before


@inlined
def pick(state: dram.Dram, channel: int, here: int, writing: int, bit: int) -> int:
    """Take the oldest request of a bank that hits its row, else the oldest, out of the list."""
    request = state.request
    row = state.bank[here, dram.ROW]
    at, before = state.bank[here, dram.OLDEST + 2 * writing], -1
    while at >= 0 and request[at, dram.REQUEST_ROW] != row:
        at, before = request[at, dram.NEXT], at
    if at < 0:
        at, before = state.bank[here, dram.OLDEST + 2 * writing], -1
    else:
        count_request(state, channel, at)
        state.stats[channel, dram.ROW_HITS] += 1
    if chooses(state):
        at, before = asked_for(state, channel, here, writing, int(at >= 0 and request[at, dram.REQUEST_ROW] == row))
    take_out(state, channel, here, at, before, writing, bit)
    return at


@inlined
def take_first(state: dram.Dram, channel: int, here: int) -> int:
    """Take the oldest request of a channel (FIFO), which goes to bank ``here``."""
    first = channel * state.gap[limits.BANKS]
    at = state.bank[first, dram.OLDEST]
    if state.bank[here, dram.OPEN] and state.bank[here, dram.ROW] == state.request[at, dram.REQUEST_ROW]:
        count_request(state, channel, at)
        state.stats[channel, dram.ROW_HITS] += 1
    take_out(state, channel, first, at, -1, 0, 1)
    return at


@inlined
def take_out(state: dram.Dram, channel: int, here: int, at: int, before: int, writing: int, bit: int) -> None:
    """Take a request, which follows another or (-1) is the oldest, out of the list of a bank."""
    ch, request = state.channel, state.request
    after = request[at, dram.NEXT]
    if before < 0:
        state.bank[here, dram.OLDEST + 2 * writing] = after
    else:
        request[before, dram.NEXT] = after
    if after < 0:
        state.bank[here, dram.YOUNGEST + 2 * writing] = before
        if before < 0:
            ch[channel, dram.QUEUED_BANKS + writing] &= ~bit
    if ch[channel, dram.QUEUED + writing] >= state.gap[limits.QUEUE + writing]:
        ch[channel, dram.ENTRY_AT] = ch[channel, dram.JOIN_AT] = 0  # requests may have waited for a place
    ch[channel, dram.QUEUED + writing] -= 1
