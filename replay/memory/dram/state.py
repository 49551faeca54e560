"""The DRAM channels: their flat arrays, the columns of each, and their counters."""

from typing import Any, NamedTuple

import numpy as np

from rayplay.replay.jit.bits import FAR
from rayplay.replay.jit.hooks import NOTHING
from rayplay.replay.jit.rows import FixedRows, aligned_rows, ring_size
from rayplay.replay.memory.dram import spec as rules
from rayplay.replay.unit.clocks import Ratio, ratio, tick_after
from rayplay.replay.unit.streams import Shares, make_shares

# Columns of ``bank``; ticks as far as the bank itself goes.
ROW = 0
OPEN = 1  # 1: the row is
SERVING = 2  # request, or -1
OLDEST = 3  # read that waits (or request), or -1
YOUNGEST = 4
OLDEST_WRITE = 5  # where writes are kept apart
YOUNGEST_WRITE = 6
READ_AT = 7  # first tick of a read, by the number of the command below
WRITE_AT = 8
ACTIVATE_AT = 9
PRECHARGE_AT = 10
LOCAL_AT = 11  # first tick of its next command
BANK_COLUMNS = 12
# Columns of ``request``.
BANK = 0
REQUEST_ROW = 1
LEFT = 2  # column commands left
IS_WRITE = 3
TOKEN = 4  # of the fill, the stream above it
NEXT = 5  # request of the list
SLICE = 6
APART = 7  # 1: a write kept apart from the reads
STREAM_SHIFT = 32  # of a request's stream, above its token
ANSWERS = 1 << 31  # in the token of a write that comes back to its slice
LINE_COLUMNS = 8  # of slice and request: a row is a line of the host's caches
# Columns of ``channel``; masks have a bit per bank or slice.
NEXT_TICK = 0  # of the next event
COMMAND_AT = 1  # first tick of a command,
ENTRY_AT = 2  # of an entry,
JOIN_AT = 3  # of an end of a latency,
PIPE_AT = 4  # of an end of a transfer
READ_GAP = 5  # first tick of a read as far as the bus goes, by the number of the command
WRITE_GAP = 6
ACTIVATE_GAP = 7
PRECHARGE_GAP = 8  # any, 0
COLUMN_HOLD = 9  # tick from which no bank group is kept from a column command,
PRECHARGE_HOLD = 10  # from a precharge
FIRST_BANK = 11  # with which the round over the banks begins
READ_BANKS = 12  # banks whose request's next command is a read, by the number of the command
WRITE_BANKS = 13
ACTIVATE_BANKS = 14
PRECHARGE_BANKS = 15
BUSY_BANKS = 16  # all of these
READY_BANKS = 17  # banks among them whose own timers have run out
LOCAL_NEXT = 18  # tick in which the timer of another one runs out
QUEUED_BANKS = 19  # banks with reads (or requests) waiting
QUEUED_WRITE_BANKS = 20  # with writes kept apart
QUEUED = 21  # reads (or requests) waiting
QUEUED_WRITES = 22  # writes kept apart
WRITING = 23  # 1: writes are being drained
LATENCY_HEAD = 24
LATENCY_TAIL = 25
PIPE_HEAD = 26
PIPE_TAIL = 27
RETURN_HEAD = 28
RETURN_TAIL = 29
LAST_POP = 30  # of the data pipe
STALLED = 31  # ticks it has stood still
STALLED_SINCE = 32  # tick, -1: it moves
LAST_SLICE = 33  # that sent a request
SHARED_CREDIT = 34  # requests beyond one a slice
FREE = 35  # first free request
UNDER_WAY = 36  # requests
BUSY_FROM = 37  # tick
COUNTED_TO = 38  # tick up to which activity is counted
LOGGED = 39  # commands
FILLED = 40  # slices that got data
SERVED = 41  # slices that sent a request
REFRESH_AT = 42  # tick of the next refresh
REFRESH_FIRST = 43  # first bank that it takes
CHANNEL_COLUMNS = 44
# Columns of ``slice``.
TO_HEAD = 0  # of its requests to the DRAM
TO_TAIL = 1
CREDIT = 2  # 1: a request of its own is in the channel
FROM_HEAD = 3  # of the fills on their way to the L2
FROM_TAIL = 4
OLDEST_AT = 5  # first tick at which the channel may take the oldest request, FAR: none
CHANNEL = 6
# Columns of ``log``.
LOG_TICK = 0
LOG_KIND = 1  # number of the command
LOG_ACTIVE = 2  # of the channel before it: ACTIVE_TICKS,
LOG_COUNTED = 3  # COUNTED_TO
LOG_BUSY = 4  # and BUSY_FROM
LOG_STREAM = 5  # of its request
LOG_COLUMNS = 6
READS, WRITES, ACTIVATES, PRECHARGES, ROW_HITS, REQUESTS, BUSY_TICKS, ACTIVE_TICKS = range(8)
COUNTERS = ("reads", "writes", "activates", "precharges", "row_hits", "requests", "data_ticks", "active_ticks")


class Dram(NamedTuple):
    """All channels; bank b of channel c is row c * banks + b, its requests are rows c * capacity and on."""

    channel: FixedRows  # int64[channels, CHANNEL_COLUMNS]
    bank: FixedRows  # int64[channels * banks, BANK_COLUMNS]
    group: FixedRows  # int64[channels * groups, 2]: first tick of a column command, of a precharge
    group_banks: np.ndarray  # int64[groups]: banks of a group
    slice: FixedRows  # int64[slices, LINE_COLUMNS]
    request: FixedRows  # int64[channels * capacity, 8]
    waiting: FixedRows  # int64[slices * to_ring, 2]: first tick at which the channel may take it, request
    latency: FixedRows  # int64[channels * capacity, 2]: tick it may reach the scheduler, request
    pipe: FixedRows  # int64[channels * capacity, 2]: number of the pop that ends it, request
    returned: np.ndarray  # int64[channels * capacity]: requests
    fill: np.ndarray  # int64[slices * from_ring]: tokens
    log: FixedRows  # int64[channels * log_ring, LOG_COLUMNS]: the last commands
    gap: np.ndarray  # int64[35]: gaps and sizes, as ``spec.limits`` has them
    stats: FixedRows  # int64[channels, 8]
    shares: Shares
    capacity: int
    to_ring: int
    from_ring: int
    log_ring: int
    slices: int  # of a channel
    clock: Ratio  # from L2 ticks to ticks
    core: Ratio  # from core cycles to ticks
    to_core: Ratio  # from ticks to core cycles
    to_l2: Ratio  # from ticks to L2 ticks
    own: Any = NOTHING  # of a plug-in


def make_state(
    spec: rules.Spec, channels: int, slices: int, to_queue: int, from_queue: int, ahead_cycles: int, core_khz: int,
    l2_khz: int, streams: int = 1, summed: bool = False,
) -> Dram:  # fmt: skip
    """Idle channels with closed rows, each with ``slices`` whose queues to and from it hold that many requests.

    ahead_cycles  core cycles by which a channel may be ahead of the cycle as of which its counters are read.
    """
    limits = rules.limits(spec, slices, to_queue, from_queue)
    capacity = ring_size(int(limits[rules.SHARED_LIMIT]) + slices * (1 + to_queue))
    log_ring = ring_size(2 * (ahead_cycles * spec.clock_khz // core_khz + 2))  # two commands a tick
    bank = np.zeros((channels * spec.banks, BANK_COLUMNS), np.int64)
    bank[:, (SERVING, OLDEST, YOUNGEST, OLDEST_WRITE, YOUNGEST_WRITE)] = -1
    channel = np.zeros((channels, CHANNEL_COLUMNS), np.int64)
    channel[:, (NEXT_TICK, COMMAND_AT, ENTRY_AT, JOIN_AT, PIPE_AT, LOCAL_NEXT)] = FAR
    channel[:, STALLED_SINCE] = -1
    channel[:, REFRESH_AT] = limits[rules.REFI]
    channel[:, LAST_SLICE] = slices - 1
    stats = np.zeros((channels, len(COUNTERS)), np.int64)
    ends = np.zeros((channels * slices, LINE_COLUMNS), np.int64)
    ends[:, OLDEST_AT] = FAR
    ends[:, CHANNEL] = np.arange(channels * slices) // slices
    request = aligned_rows(channels * capacity, LINE_COLUMNS)
    request[:, NEXT] = np.arange(1, channels * capacity + 1)
    request[capacity - 1 :: capacity, NEXT] = -1
    channel[:, FREE] = np.arange(channels) * capacity
    return Dram(
        channel,
        bank,
        np.zeros((channels * spec.bank_groups, 2), np.int64),
        group_banks(limits),
        ends,
        request,
        np.zeros((channels * slices * ring_size(to_queue), 2), np.int64),
        np.zeros((channels * capacity, 2), np.int64),
        np.zeros((channels * capacity, 2), np.int64),
        np.zeros(channels * capacity, np.int64),
        np.zeros(channels * slices * ring_size(from_queue), np.int64),
        np.zeros((channels * log_ring, LOG_COLUMNS), np.int64),
        limits,
        stats,
        make_shares(stats, streams),
        capacity, ring_size(to_queue), ring_size(from_queue), log_ring, slices, ratio(l2_khz, spec.clock_khz, summed),
        ratio(core_khz, spec.clock_khz, summed), ratio(spec.clock_khz, core_khz, summed),
        ratio(spec.clock_khz, l2_khz, summed),
    )  # fmt: skip


def group_banks(gap: np.ndarray) -> np.ndarray:
    """Mask of the banks of each group: int64[groups]."""
    masks = np.zeros(gap[rules.GROUPS], np.int64)
    for bank in range(gap[rules.BANKS]):
        masks[(bank >> gap[rules.GROUP_SHIFT]) & (gap[rules.GROUPS] - 1)] |= 1 << bank
    return masks


def stats(state: Dram, cycle: int = FAR, stream: int = -1) -> dict[str, np.ndarray]:
    """Every counter per channel, of commands that were issued before a core cycle.

    A channel is ahead of the SMs by as much as requests wait before they reach the L2; what it did since then is in its
    log. Requests and row hits are those up to where it is. stream: the counters are its own (-1: all streams').
    """
    found = state.stats.copy()
    if cycle < FAR:
        tick = tick_after(state.core, cycle - 1) if cycle else 0
        for channel in range(len(found)):
            rewind(state, channel, tick, found[channel], stream)
    found[:, BUSY_TICKS] = (found[:, READS] + found[:, WRITES]) * state.gap[rules.T_BURST]
    return {name: found[:, index] for index, name in enumerate(COUNTERS)}


def rewind(state: Dram, channel: int, tick: int, found: np.ndarray, stream: int) -> None:
    """Take the channel's events from ``tick`` on out of its counters, or out of a stream's."""
    own, tail = state.channel[channel], int(state.channel[channel, LOGGED])
    counted_to, busy_from = own[COUNTED_TO], own[BUSY_FROM]
    if not own[BUSY_BANKS]:
        busy_from = tick
    for place in range(tail - 1, max(tail - state.log_ring, 0) - 1, -1):
        command = state.log[channel * state.log_ring + place % state.log_ring]
        if command[LOG_TICK] < tick:
            break
        found[command[LOG_KIND]] -= stream in (-1, command[LOG_STREAM])
        found[ACTIVE_TICKS], counted_to, busy_from = command[[LOG_ACTIVE, LOG_COUNTED, LOG_BUSY]]
    found[ACTIVE_TICKS] += tick - max(counted_to, min(busy_from, tick)) if counted_to < tick else tick - counted_to
