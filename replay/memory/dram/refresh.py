"""Refresh of a DRAM channel: every ``refi`` ticks some banks, in turn, or all, close their rows and serve no request.

A refresh takes its banks in the tick in which it is due. Open rows are precharged together, as soon as the commands
before that tick let each of them; ``rfc`` ticks later the banks may activate again, also for a request whose row was
closed. Channels refresh in the same ticks. The work is done when the channel next wakes, for nothing changes in
between. JEDEC: JESD250 (GDDR6), JESD235 (HBM).
"""

from rayplay.replay.jit.bits import compiled, inlined
from rayplay.replay.memory.dram import spec as limits
from rayplay.replay.memory.dram import state as dram
from rayplay.replay.memory.dram.banks import wait_for

NO_ROW = -1


@compiled
def refresh(state: dram.Dram, channel: int, tick: int) -> None:
    """Do the refreshes that are due up to ``tick``, the tick of the channel's next events."""
    ch, gap = state.channel, state.gap
    while ch[channel, dram.REFRESH_AT] <= tick:
        first, banks = ch[channel, dram.REFRESH_FIRST], gap[limits.REFRESH_BANKS]
        ends = end_of_refresh(state, channel, first, banks, ch[channel, dram.REFRESH_AT])
        for bank in range(first, first + banks):
            here = channel * gap[limits.BANKS] + bank
            state.bank[here, dram.OPEN], state.bank[here, dram.ROW] = 0, NO_ROW
            state.bank[here, dram.ACTIVATE_AT] = max(state.bank[here, dram.ACTIVATE_AT], ends)
            if (ch[channel, dram.BUSY_BANKS] >> bank) & 1:
                begin_again(state, channel, tick, bank)
        ch[channel, dram.REFRESH_FIRST] = (first + banks) & (gap[limits.BANKS] - 1)
        ch[channel, dram.REFRESH_AT] += gap[limits.REFI]


@inlined
def end_of_refresh(state: dram.Dram, channel: int, first: int, banks: int, due: int) -> int:
    """First tick in which the banks of a refresh may activate again."""
    gap, starts, closes = state.gap, due, 0
    for bank in range(first, first + banks):
        here = channel * gap[limits.BANKS] + bank
        if state.bank[here, dram.OPEN]:
            group = channel * gap[limits.GROUPS] + ((bank >> gap[limits.GROUP_SHIFT]) & (gap[limits.GROUPS] - 1))
            starts = max(starts, state.bank[here, dram.PRECHARGE_AT], state.group[group, 1])
            closes = gap[limits.T_RP]
        else:
            starts = max(starts, state.bank[here, dram.ACTIVATE_AT])
    return starts + closes + gap[limits.RFC]


@inlined
def begin_again(state: dram.Dram, channel: int, tick: int, bank: int) -> None:
    """A bank with a request, whose row is closed now, activates next."""
    ch, bit = state.channel, 1 << bank
    for kind in range(dram.PRECHARGES + 1):
        ch[channel, dram.READ_BANKS + kind] &= ~bit
    ch[channel, dram.READY_BANKS] &= ~bit
    wait_for(state, channel, tick, bank, dram.ACTIVATES)
