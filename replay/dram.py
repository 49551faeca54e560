"""DRAM channel: banks with row buffers, first-ready first-come-first-served, JEDEC gaps between commands.

Peak rate: one column command per ``burst_ticks`` = burst_length / data_ratio, moving ``bus_bytes`` x burst_length:
with 2 B, 16, ratio 4 and 3500 MHz that is 32 B / 4 ticks = 28 GB/s a channel, 336 GB/s for twelve.
A bank serves one request at a time: the oldest that hits its open row, else the oldest. Time inside a channel counts
ticks of the DRAM's command clock. Sources: ``reference/accel-sim.md`` C and D, ``reference/vulkan-sim.md`` 1.9-1.10.
"""

from replay.bits import FAR, compiled, inlined, lowest_bit
from replay.dram_state import (
    ACTIVATE_AT,
    ACTIVATE_GAP,
    ACTIVATES,
    ACTIVE_TICKS,
    ACTIVE_UNTIL,
    BANK,
    BANKS,
    BUSY_BANKS,
    BUSY_FROM,
    BUSY_TICKS,
    COMMANDS_PER_SECTOR,
    ENTRY,
    FREE,
    GROUPS,
    IN_FLIGHT,
    IN_HEAD,
    IN_TAIL,
    IS_WRITE,
    LATENCY,
    LEFT,
    NEXT,
    NEXT_BANK,
    NEXT_TICK,
    OLDEST,
    OUT_TAIL,
    PRECHARGE_AT,
    PRECHARGES,
    QUEUE,
    READ_AT,
    READ_GAP,
    READS,
    REQUEST_ROW,
    ROW,
    ROW_BUS,
    SCHEDULED,
    SERVING,
    SLICE,
    T_BURST,
    T_CCD,
    T_CCDL,
    T_CL,
    T_RAS,
    T_RC,
    T_RCD,
    T_RCDW,
    T_RP,
    T_RRD,
    T_RTPL,
    T_RTW,
    T_WTP,
    T_WTR,
    UNDER_WAY,
    WRITE_AT,
    WRITE_GAP,
    WRITES,
    YOUNGEST,
    Dram,
    to_cycle,
    to_tick,
)


@inlined
def has_room(state: Dram, channel: int, requests: int) -> bool:
    """Whether that many requests more may be under way."""
    return state.channel[channel, UNDER_WAY] + requests <= state.gap[IN_FLIGHT]


@inlined
def push(state: Dram, channel: int, cycle: int, bank: int, row: int, is_write: int, entry: int, part: int) -> None:
    """Send a sector's request down to the scheduler; a read calls back with ``entry`` of slice ``part``."""
    ch, base = state.channel, channel * state.capacity
    at = ch[channel, FREE]
    request = state.request
    ch[channel, FREE] = request[base + at, NEXT]
    request[base + at, BANK] = bank
    request[base + at, REQUEST_ROW] = row
    request[base + at, LEFT] = state.gap[COMMANDS_PER_SECTOR]
    request[base + at, IS_WRITE] = is_write
    request[base + at, ENTRY] = entry
    request[base + at, NEXT] = -1
    request[base + at, SLICE] = part
    tail = base + (ch[channel, IN_TAIL] & (state.capacity - 1))
    state.incoming[tail, 0] = to_tick(state, cycle + state.gap[LATENCY])
    state.incoming[tail, 1] = at
    ch[channel, IN_TAIL] += 1
    ch[channel, UNDER_WAY] += 1


@inlined
def next_tick(state: Dram, channel: int) -> int:
    """Tick of the channel's next event: a request that reaches the scheduler, or a command."""
    ch = state.channel
    soonest = ch[channel, NEXT_TICK]
    if ch[channel, IN_HEAD] != ch[channel, IN_TAIL] and ch[channel, SCHEDULED] < state.gap[QUEUE]:
        head = channel * state.capacity + (ch[channel, IN_HEAD] & (state.capacity - 1))
        soonest = min(soonest, max(state.incoming[head, 0], ch[channel, BUSY_FROM]))
    return soonest


@inlined
def advance(state: Dram, channel: int) -> None:
    """Do the channel's next event. ``next_tick`` must be a tick, not FAR."""
    ch = state.channel
    if ch[channel, NEXT_TICK] > next_tick(state, channel):
        serving = ch[channel, BUSY_BANKS]
        take_in(state, channel)
        if ch[channel, BUSY_BANKS] == serving:
            return  # it waits behind another request: the next command stays
    else:
        issue(state, channel, ch[channel, NEXT_BANK], ch[channel, NEXT_TICK])
    choose_command(state, channel)


@inlined
def take_in(state: Dram, channel: int) -> None:
    """The request that has waited longest reaches the scheduler and joins its bank's list."""
    ch, base = state.channel, channel * state.capacity
    head = base + (ch[channel, IN_HEAD] & (state.capacity - 1))
    tick = max(state.incoming[head, 0], ch[channel, BUSY_FROM])
    at = state.incoming[head, 1]
    ch[channel, IN_HEAD] += 1
    if ch[channel, SCHEDULED] == 0:
        mark_active(state, channel, tick, tick)
    ch[channel, BUSY_FROM] = tick
    ch[channel, SCHEDULED] += 1
    bank = channel * state.gap[BANKS] + state.request[base + at, BANK]
    youngest = state.bank[bank, YOUNGEST]
    if youngest >= 0:
        state.request[base + youngest, NEXT] = at
    else:
        state.bank[bank, OLDEST] = at
    state.bank[bank, YOUNGEST] = at
    if state.bank[bank, SERVING] < 0:
        pick(state, channel, bank)


@compiled
def pick(state: Dram, channel: int, bank: int) -> None:
    """Give a free bank its next request: the oldest that hits the open row, else the oldest."""
    base, request = channel * state.capacity, state.request
    row = state.bank[bank, ROW]
    at, before = state.bank[bank, OLDEST], -1
    while at >= 0 and request[base + at, REQUEST_ROW] != row:
        at, before = request[base + at, NEXT], at
    if at < 0:
        at, before = state.bank[bank, OLDEST], -1
    state.bank[bank, SERVING] = at
    bit = 1 << (bank - channel * state.gap[BANKS])
    if at < 0:
        state.channel[channel, BUSY_BANKS] &= ~bit
        return
    state.channel[channel, BUSY_BANKS] |= bit
    after = request[base + at, NEXT]
    if before < 0:
        state.bank[bank, OLDEST] = after
    else:
        request[base + before, NEXT] = after
    if after < 0:
        state.bank[bank, YOUNGEST] = before


@inlined
def choose_command(state: Dram, channel: int) -> None:
    """Find the command that may be issued first; column commands go before row commands, then the lower bank."""
    ch, gap = state.channel, state.gap
    best, best_bank = FAR, -1
    rest = ch[channel, BUSY_BANKS]
    while rest:
        bank = channel * gap[BANKS] + lowest_bit(rest)
        rest &= rest - 1
        tick = 2 * earliest(state, channel, bank)
        if state.bank[bank, ROW] != state.request[channel * state.capacity + state.bank[bank, SERVING], REQUEST_ROW]:
            tick += 1
        if tick < best:
            best, best_bank = tick, bank
    ch[channel, NEXT_TICK] = best >> 1 if best_bank >= 0 else FAR
    ch[channel, NEXT_BANK] = best_bank


@inlined
def earliest(state: Dram, channel: int, bank: int) -> int:
    """First tick at which the next command of the bank's request may be issued."""
    ch, request = state.channel, channel * state.capacity + state.bank[bank, SERVING]
    now = ch[channel, BUSY_FROM]
    row = state.bank[bank, ROW]
    group = channel * state.gap[GROUPS] + bank % state.gap[GROUPS]
    if row < 0:
        return max(now, state.bank[bank, ACTIVATE_AT], ch[channel, ACTIVATE_GAP], ch[channel, ROW_BUS])
    if row != state.request[request, REQUEST_ROW]:
        return max(now, state.bank[bank, PRECHARGE_AT], state.group[group, 1], ch[channel, ROW_BUS])
    if state.request[request, IS_WRITE]:
        return max(now, state.bank[bank, WRITE_AT], ch[channel, WRITE_GAP], state.group[group, 0])
    return max(now, state.bank[bank, READ_AT], ch[channel, READ_GAP], state.group[group, 0])


@inlined
def issue(state: Dram, channel: int, bank: int, tick: int) -> None:
    """Issue the next command of a bank's request at ``tick`` and set the gaps that follow from it."""
    ch, gap, rows = state.channel, state.gap, state.bank
    ch[channel, BUSY_FROM] = tick
    request = channel * state.capacity + rows[bank, SERVING]
    if rows[bank, ROW] < 0:
        rows[bank, ROW] = state.request[request, REQUEST_ROW]
        rows[bank, READ_AT] = tick + gap[T_RCD]
        rows[bank, WRITE_AT] = tick + gap[T_RCDW]
        rows[bank, PRECHARGE_AT] = tick + gap[T_RAS]
        rows[bank, ACTIVATE_AT] = tick + gap[T_RC]
        ch[channel, ACTIVATE_GAP] = tick + gap[T_RRD]
        ch[channel, ROW_BUS] = tick + 1
        state.stats[channel, ACTIVATES] += 1
        mark_active(state, channel, tick, tick + gap[T_RC])
    elif rows[bank, ROW] != state.request[request, REQUEST_ROW]:
        rows[bank, ROW] = -1
        rows[bank, ACTIVATE_AT] = max(rows[bank, ACTIVATE_AT], tick + gap[T_RP])
        ch[channel, ROW_BUS] = tick + 1
        state.stats[channel, PRECHARGES] += 1
        mark_active(state, channel, tick, tick + gap[T_RP])
    else:
        issue_column(state, channel, bank, tick)


@inlined
def issue_column(state: Dram, channel: int, bank: int, tick: int) -> None:
    """A read or write command moves one atom; the last one of a request ends it and frees its bank."""
    ch, gap, rows = state.channel, state.gap, state.bank
    request = channel * state.capacity + rows[bank, SERVING]
    group = channel * gap[GROUPS] + bank % gap[GROUPS]
    state.group[group, 0] = tick + gap[T_CCDL]
    if state.request[request, IS_WRITE]:
        ch[channel, WRITE_GAP] = max(ch[channel, WRITE_GAP], tick + gap[T_CCD])
        ch[channel, READ_GAP] = max(ch[channel, READ_GAP], tick + max(gap[T_CCD], gap[T_WTR]))
        hold = gap[T_WTP]
        state.stats[channel, WRITES] += 1
    else:
        ch[channel, READ_GAP] = max(ch[channel, READ_GAP], tick + gap[T_CCD])
        ch[channel, WRITE_GAP] = max(ch[channel, WRITE_GAP], tick + max(gap[T_CCD], gap[T_RTW]))
        state.group[group, 1] = tick + gap[T_RTPL]
        hold = gap[T_BURST]
        state.stats[channel, READS] += 1
    rows[bank, PRECHARGE_AT] = max(rows[bank, PRECHARGE_AT], tick + hold)
    state.stats[channel, BUSY_TICKS] += gap[T_BURST]
    mark_active(state, channel, tick, tick + hold)
    state.request[request, LEFT] -= 1
    if state.request[request, LEFT] == 0:
        finish(state, channel, bank, tick)


@inlined
def finish(state: Dram, channel: int, bank: int, tick: int) -> None:
    """End a bank's request: a read's data returns after CL and its burst; the bank takes its next request."""
    ch, base = state.channel, channel * state.capacity
    at = state.bank[bank, SERVING]
    if state.request[base + at, IS_WRITE]:
        ch[channel, UNDER_WAY] -= 1
    else:
        tail = base + (ch[channel, OUT_TAIL] & (state.capacity - 1))
        state.returned[tail, 0] = to_cycle(state, tick + state.gap[T_CL] + state.gap[T_BURST])
        state.returned[tail, 1] = state.request[base + at, ENTRY]
        state.returned[tail, 2] = state.request[base + at, SLICE]
        ch[channel, OUT_TAIL] += 1
    state.request[base + at, NEXT] = ch[channel, FREE]
    ch[channel, FREE] = at
    ch[channel, SCHEDULED] -= 1
    pick(state, channel, bank)


@compiled
def mark_active(state: Dram, channel: int, since: int, until: int) -> None:
    """Count the ticks in which a request waits or a bank's timer runs; the channel was active while it had requests."""
    ch = state.channel
    if ch[channel, SCHEDULED] == 0:
        since = max(since, ch[channel, ACTIVE_UNTIL])
        ch[channel, ACTIVE_UNTIL] = since
    if until > ch[channel, ACTIVE_UNTIL]:
        state.stats[channel, ACTIVE_TICKS] += until - ch[channel, ACTIVE_UNTIL]
        ch[channel, ACTIVE_UNTIL] = until
