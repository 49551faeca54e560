"""Banks of a DRAM channel: which request each serves.

A bank serves one request at a time: the oldest that hits its row, else the oldest. In a tick one bank without a
request, in turn, gets one. Where writes are kept apart, all banks turn to them when many wait, and back when few do.
Source: ``docs/sources/accel-sim.md#dram, #dram-counters``.
"""

from rayplay.replay.jit.bits import count_bits, inlined, lowest_bit
from rayplay.replay.memory.dram.state import (
    ACTIVATES,
    APART,
    BANK,
    BANKS,
    BUSY_BANKS,
    BUSY_FROM,
    COMMAND_AT,
    ENTRY_AT,
    FIRST_BANK,
    IS_WRITE,
    JOIN_AT,
    LOCAL_AT,
    LOCAL_NEXT,
    NEXT,
    OLDEST,
    OPEN,
    PRECHARGES,
    QUEUE,
    QUEUED,
    QUEUED_BANKS,
    QUEUED_WRITES,
    READ_AT,
    READ_BANKS,
    READ_GAP,
    READY_BANKS,
    REQUEST_ROW,
    ROW,
    ROW_HITS,
    SERVING,
    STREAM_SHIFT,
    TOKEN,
    WRITE_HIGH,
    WRITE_LOW,
    WRITE_QUEUE,
    WRITING,
    YOUNGEST,
    Dram,
)
from rayplay.replay.unit.streams import count_for


@inlined
def count_request(state: Dram, channel: int, row: int) -> None:
    """What the channel counts next belongs to a request's stream."""
    count_for(state, channel, state.request[row, TOKEN] >> STREAM_SHIFT)


@inlined
def join(state: Dram, channel: int, row: int) -> None:
    """A request joins the list of its bank: of all, or of the writes where they are kept apart."""
    ch = state.channel
    bank = state.request[row, BANK]
    here = channel * state.gap[BANKS] + bank
    apart = state.request[row, APART]
    youngest = state.bank[here, YOUNGEST + 2 * apart]
    if youngest >= 0:
        state.request[youngest, NEXT] = row
    else:
        state.bank[here, OLDEST + 2 * apart] = row
    state.bank[here, YOUNGEST + 2 * apart] = row
    state.request[row, NEXT] = -1
    ch[channel, QUEUED_BANKS + apart] |= 1 << bank
    ch[channel, QUEUED + apart] += 1


@inlined
def drains(state: Dram, channel: int) -> bool:
    """Whether a bank that looks for a request now looks among the writes kept apart."""
    ch = state.channel
    limit = state.gap[WRITE_LOW] if ch[channel, WRITING] else state.gap[WRITE_HIGH]
    return state.gap[WRITE_QUEUE] > 0 and ch[channel, QUEUED_WRITES] >= limit


@inlined
def changes_mode(state: Dram, channel: int) -> bool:
    """Whether a bank that looks for a request turns from reads to writes or back."""
    if state.gap[WRITE_QUEUE] == 0 or drains(state, channel) == (state.channel[channel, WRITING] == 1):
        return False
    return count_bits(state.channel[channel, BUSY_BANKS]) < state.gap[BANKS]


@inlined
def idle_banks(state: Dram, channel: int) -> int:
    """Banks that could get a request."""
    ch = state.channel
    return ch[channel, QUEUED_BANKS + ch[channel, WRITING]] & ~ch[channel, BUSY_BANKS]


@inlined
def first_of(state: Dram, banks: int, first: int) -> int:
    """The first bank of a mask in a round from ``first``."""
    later = banks >> first
    return first + lowest_bit(later) if later else lowest_bit(banks)


@inlined
def assign(state: Dram, channel: int, tick: int) -> None:
    """Give one bank without a request its next."""
    ch = state.channel
    if changes_mode(state, channel):
        ch[channel, WRITING] = 1 - ch[channel, WRITING]
    idle = idle_banks(state, channel)
    if idle == 0:
        return
    bank = first_of(state, idle, ch[channel, FIRST_BANK])
    if ch[channel, BUSY_BANKS] == 0:
        ch[channel, BUSY_FROM] = tick
    ch[channel, BUSY_BANKS] |= 1 << bank
    ch[channel, FIRST_BANK] = (ch[channel, FIRST_BANK] + 1) & (state.gap[BANKS] - 1)
    here = channel * state.gap[BANKS] + bank
    request = pick(state, channel, here, ch[channel, WRITING], 1 << bank)
    state.bank[here, SERVING] = request
    if not state.bank[here, OPEN]:
        wait_for(state, channel, tick, bank, ACTIVATES)
    elif state.bank[here, ROW] != state.request[request, REQUEST_ROW]:
        wait_for(state, channel, tick, bank, PRECHARGES)
    else:
        wait_for(state, channel, tick, bank, state.request[request, IS_WRITE])


@inlined
def wait_for(state: Dram, channel: int, tick: int, bank: int, kind: int) -> None:
    """A bank's next command is of a kind: READS, WRITES, ACTIVATES or PRECHARGES; notes before when it is not legal."""
    ch, here = state.channel, channel * state.gap[BANKS] + bank
    local = state.bank[here, READ_AT + kind]
    ch[channel, READ_BANKS + kind] |= 1 << bank
    if local <= tick:
        ch[channel, READY_BANKS] |= 1 << bank
    else:
        state.bank[here, LOCAL_AT] = local
        ch[channel, LOCAL_NEXT] = min(ch[channel, LOCAL_NEXT], local)
    ch[channel, COMMAND_AT] = min(ch[channel, COMMAND_AT], max(local, ch[channel, READ_GAP + kind]))


@inlined
def pick(state: Dram, channel: int, here: int, writing: int, bit: int) -> int:
    """Take the oldest request of a bank that hits its row, else the oldest, out of the list."""
    ch, request = state.channel, state.request
    row = state.bank[here, ROW]
    at, before = state.bank[here, OLDEST + 2 * writing], -1
    while at >= 0 and request[at, REQUEST_ROW] != row:
        at, before = request[at, NEXT], at
    if at < 0:
        at, before = state.bank[here, OLDEST + 2 * writing], -1
    else:
        count_request(state, channel, at)
        state.stats[channel, ROW_HITS] += 1
    after = request[at, NEXT]
    if before < 0:
        state.bank[here, OLDEST + 2 * writing] = after
    else:
        request[before, NEXT] = after
    if after < 0:
        state.bank[here, YOUNGEST + 2 * writing] = before
        if before < 0:
            ch[channel, QUEUED_BANKS + writing] &= ~bit
    if ch[channel, QUEUED + writing] >= state.gap[QUEUE + writing]:
        ch[channel, ENTRY_AT] = ch[channel, JOIN_AT] = 0  # requests may have waited for a place
    ch[channel, QUEUED + writing] -= 1
    return at
