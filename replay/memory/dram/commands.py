"""Commands of a DRAM channel: which one goes out in a tick.

A round over the banks, from ``FIRST_BANK``, issues the first column command that is legal (row open, gaps over), and,
unless a bank before it could issue a column command, the first row command (activate or precharge). A row command makes
the bank after it the first of the next round, and of the rest of this one, which is why a column command can go out
after it in the same tick only from some of the banks. With a dual bus the round is made twice, once for each kind.
Source: ``docs/sources/accel-sim.md#dram, #dram-timing, #dram-counters``.
"""

from rayplay.replay.jit.bits import FAR, inlined, lowest_bit
from rayplay.replay.jit.rows import wrap
from rayplay.replay.memory.dram import spec as limits
from rayplay.replay.memory.dram import state as dram
from rayplay.replay.memory.dram.banks import count_request, first_of, wait_for


@inlined
def ready_banks(state: dram.Dram, channel: int, tick: int) -> int:
    """Banks whose own timers have run out."""
    ch = state.channel
    ready = ch[channel, dram.READY_BANKS]
    if ch[channel, dram.LOCAL_NEXT] > tick:
        return ready
    soonest = FAR
    rest = ch[channel, dram.BUSY_BANKS] & ~ready
    while rest:
        bank = lowest_bit(rest)
        rest &= rest - 1
        local = state.bank[channel * state.gap[limits.BANKS] + bank, dram.LOCAL_AT]
        if local <= tick:
            ready |= 1 << bank
        else:
            soonest = min(soonest, local)
    ch[channel, dram.READY_BANKS] = ready
    ch[channel, dram.LOCAL_NEXT] = soonest
    return ready


@inlined
def allowed(state: dram.Dram, channel: int, banks: int, gate: int, tick: int) -> int:
    """Those banks of a mask whose group allows a column command (gate 0) or a precharge (gate 1)."""
    if tick >= state.channel[channel, dram.COLUMN_HOLD + gate]:
        return banks
    first = channel * state.gap[limits.GROUPS]
    for number in range(state.gap[limits.GROUPS]):
        if state.group[first + number, gate] > tick:
            banks &= ~state.group_banks[number]
    return banks


@inlined
def pipe_is_full(state: dram.Dram, channel: int) -> bool:
    """Whether the data pipe, stopped by a full return queue, takes no column command."""
    ch = state.channel
    if ch[channel, dram.STALLED_SINCE] < 0:
        return False
    last = ch[channel, dram.STALLED_SINCE] - 1 - ch[channel, dram.STALLED]
    return ch[channel, dram.LAST_POP] - last > state.gap[limits.T_CL]


@inlined
def legal_columns(state: dram.Dram, channel: int, ready: int, tick: int) -> int:
    """Banks of a mask for which a column command is legal."""
    ch = state.channel
    reads = ready & ch[channel, dram.READ_BANKS] if tick >= ch[channel, dram.READ_GAP] else 0
    writes = ready & ch[channel, dram.WRITE_BANKS] if tick >= ch[channel, dram.WRITE_GAP] else 0
    if reads | writes == 0 or pipe_is_full(state, channel):
        return 0
    return allowed(state, channel, reads | writes, 0, tick)


@inlined
def legal_rows(state: dram.Dram, channel: int, ready: int, tick: int) -> int:
    """Banks of a mask for which an activate or a precharge is legal."""
    rows = ready & state.channel[channel, dram.PRECHARGE_BANKS]
    if rows:
        rows = allowed(state, channel, rows, 1, tick)
    if tick >= state.channel[channel, dram.ACTIVATE_GAP]:
        rows |= ready & state.channel[channel, dram.ACTIVATE_BANKS]
    return rows


@inlined
def issue(state: dram.Dram, channel: int, tick: int) -> None:
    """Issue the commands of a tick, and find the first in which the next may be possible."""
    issue_legal(state, channel, tick)
    state.channel[channel, dram.COMMAND_AT] = max(next_command(state, channel), tick + 1)


@inlined
def issue_legal(state: dram.Dram, channel: int, tick: int) -> None:
    """Issue the legal commands of a tick."""
    ready = ready_banks(state, channel, tick)
    if ready == 0:
        return
    first = state.channel[channel, dram.FIRST_BANK]
    columns = legal_columns(state, channel, ready, tick)
    if state.gap[limits.DUAL_BUS]:
        if columns:
            issue_column(state, channel, first_of(state, columns, first), tick)
        rows = legal_rows(state, channel, ready, tick)
        if rows:
            issue_row(state, channel, first_of(state, rows, first), tick)
        return
    rows = legal_rows(state, channel, ready, tick)
    if columns | rows == 0:
        return
    bank = first_of(state, columns | rows, first)
    if (columns >> bank) & 1:
        issue_column(state, channel, bank, tick)
        return
    issue_row(state, channel, bank, tick)
    if columns:
        issue_after_row(state, channel, columns, (bank - first) & (state.gap[limits.BANKS] - 1), tick)


@inlined
def issue_after_row(state: dram.Dram, channel: int, columns: int, turn: int, tick: int) -> None:
    """The rest of a round whose ``turn``-th bank took a row command, counted from the bank after it."""
    banks = state.gap[limits.BANKS]
    for later in range(turn + 1, banks):
        bank = (later + state.channel[channel, dram.FIRST_BANK]) & (banks - 1)
        if (columns >> bank) & 1:
            issue_column(state, channel, bank, tick)
            return


@inlined
def issue_row(state: dram.Dram, channel: int, bank: int, tick: int) -> None:
    """Activate the row of a bank's request, or precharge the bank."""
    ch, gap = state.channel, state.gap
    here, bit = channel * gap[limits.BANKS] + bank, 1 << bank
    own = state.bank
    request = own[here, dram.SERVING]
    ch[channel, dram.READY_BANKS] &= ~bit
    ch[channel, dram.FIRST_BANK] = (bank + 1) & (gap[limits.BANKS] - 1)
    if own[here, dram.OPEN]:
        own[here, dram.OPEN] = 0
        own[here, dram.ACTIVATE_AT] = max(own[here, dram.ACTIVATE_AT], tick + gap[limits.T_RP])
        ch[channel, dram.PRECHARGE_BANKS] &= ~bit
        wait_for(state, channel, tick, bank, dram.ACTIVATES)
        note(state, channel, tick, dram.PRECHARGES, request)
        mark_active(state, channel, tick + max(gap[limits.T_RP], 1))
        return
    own[here, dram.ROW] = state.request[request, dram.REQUEST_ROW]
    own[here, dram.OPEN] = 1
    own[here, dram.READ_AT] = tick + gap[limits.T_RCD]
    own[here, dram.WRITE_AT] = tick + gap[limits.T_RCDW]
    own[here, dram.PRECHARGE_AT] = tick + gap[limits.T_RAS]
    own[here, dram.ACTIVATE_AT] = tick + gap[limits.T_RC]
    ch[channel, dram.ACTIVATE_GAP] = tick + gap[limits.T_RRD]
    ch[channel, dram.ACTIVATE_BANKS] &= ~bit
    wait_for(state, channel, tick, bank, state.request[request, dram.IS_WRITE])
    note(state, channel, tick, dram.ACTIVATES, request)
    mark_active(state, channel, tick + max(gap[limits.T_RC], gap[limits.T_RRD], gap[limits.T_RCD]))


@inlined
def issue_column(state: dram.Dram, channel: int, bank: int, tick: int) -> None:
    """Read or write one atom; the last one of a request frees its bank."""
    ch, gap = state.channel, state.gap
    here, bit = channel * gap[limits.BANKS] + bank, 1 << bank
    request = state.bank[here, dram.SERVING]
    is_write = state.request[request, dram.IS_WRITE]
    group = channel * gap[limits.GROUPS] + ((bank >> gap[limits.GROUP_SHIFT]) & (gap[limits.GROUPS] - 1))
    state.group[group, 0] = ch[channel, dram.COLUMN_HOLD] = tick + gap[limits.T_CCDL]
    if is_write:
        hold, turn = gap[limits.T_WTP], gap[limits.T_WTR]
    else:
        hold, turn = gap[limits.T_BURST], gap[limits.T_RTW]
        state.group[group, 1] = ch[channel, dram.PRECHARGE_HOLD] = tick + gap[limits.T_RTPL]
    ch[channel, dram.READ_GAP + is_write] = tick + gap[limits.T_CCD]
    ch[channel, dram.WRITE_GAP - is_write] = tick + turn
    note(state, channel, tick, is_write, request)
    state.bank[here, dram.PRECHARGE_AT] = max(state.bank[here, dram.PRECHARGE_AT], tick + hold)
    mark_active(state, channel, tick + turn)
    pops = (tick if ch[channel, dram.STALLED_SINCE] < 0 else ch[channel, dram.STALLED_SINCE] - 1) - ch[
        channel, dram.STALLED
    ]
    ch[channel, dram.LAST_POP] = max(
        pops + (gap[limits.T_WL] if is_write else gap[limits.T_CL]), ch[channel, dram.LAST_POP] + 1
    )
    state.request[request, dram.LEFT] -= 1
    if state.request[request, dram.LEFT] == 0:
        ch[channel, dram.READ_BANKS + is_write] &= ~bit
        ch[channel, dram.READY_BANKS] &= ~bit
        ch[channel, dram.BUSY_BANKS] &= ~bit
        if ch[channel, dram.PIPE_HEAD] == ch[channel, dram.PIPE_TAIL] and ch[channel, dram.STALLED_SINCE] < 0:
            ch[channel, dram.PIPE_AT] = ch[channel, dram.LAST_POP] + ch[channel, dram.STALLED]
        tail = channel * state.capacity + wrap(ch[channel, dram.PIPE_TAIL], state.capacity)
        state.pipe[tail, 0] = ch[channel, dram.LAST_POP]
        state.pipe[tail, 1] = request
        ch[channel, dram.PIPE_TAIL] += 1


@inlined
def note(state: dram.Dram, channel: int, tick: int, kind: int, request: int) -> None:
    """Count a command of a kind (READS, WRITES, ACTIVATES or PRECHARGES) for a request, and keep it in the log."""
    ch = state.channel
    place = channel * state.log_ring + wrap(ch[channel, dram.LOGGED], state.log_ring)
    ch[channel, dram.LOGGED] += 1
    state.log[place, dram.LOG_TICK] = tick
    state.log[place, dram.LOG_KIND] = kind
    state.log[place, dram.LOG_ACTIVE] = state.stats[channel, dram.ACTIVE_TICKS]
    state.log[place, dram.LOG_COUNTED] = ch[channel, dram.COUNTED_TO]
    state.log[place, dram.LOG_BUSY] = ch[channel, dram.BUSY_FROM]
    state.log[place, dram.LOG_STREAM] = state.request[request, dram.TOKEN] >> dram.STREAM_SHIFT
    count_request(state, channel, request)
    state.stats[channel, kind] += 1


@inlined
def mark_active(state: dram.Dram, channel: int, until: int) -> None:
    """Count the ticks up to ``until`` as active: since it began to serve, a bank had a request or a timer ran."""
    ch = state.channel
    since = max(ch[channel, dram.COUNTED_TO], ch[channel, dram.BUSY_FROM])
    if until > since:
        state.stats[channel, dram.ACTIVE_TICKS] += until - since
        ch[channel, dram.COUNTED_TO] = until


@inlined
def next_command(state: dram.Dram, channel: int) -> int:
    """A tick before which no command can be issued, as far as it is after the one under way."""
    ch = state.channel
    soonest, ready = ch[channel, dram.LOCAL_NEXT], ch[channel, dram.READY_BANKS]
    for kind in range(4):
        if ready & ch[channel, dram.READ_BANKS + kind]:
            soonest = min(soonest, ch[channel, dram.READ_GAP + kind])
    return soonest
