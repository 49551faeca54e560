"""The DRAM channels: their description, the gaps between commands that follow from it, the arrays they live in."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rayplay.replay.jit.bits import FAR
from rayplay.replay.jit.rows import FixedRows, aligned_rows
from rayplay.replay.memory.cache import state as cache
from rayplay.replay.unit.clocks import Ratio, ratio
from rayplay.replay.unit.schema import law, value
from rayplay.replay.unit.streams import Shares, make_shares

# columns of bank: its row, whether that is open, request in service (or -1); oldest and youngest read and write that
# wait; first tick of a read, write, activate and precharge as far as the bank itself goes, and of its next command
ROW, OPEN, SERVING, OLDEST, YOUNGEST, OLDEST_WRITE, YOUNGEST_WRITE, READ_AT, WRITE_AT, ACTIVATE_AT, PRECHARGE_AT, \
    LOCAL_AT = range(12)  # fmt: skip
# columns of request: bank, row, column commands left, is a write, token of the fill, next request of the list, slice,
# is a write kept apart from the reads
BANK, REQUEST_ROW, LEFT, IS_WRITE, TOKEN, NEXT, SLICE, APART = range(8)
STREAM_SHIFT = 32  # of a request's stream, above its token
LINE_COLUMNS = 8  # of slice and request: a row is a line of the host's caches
# columns of channel; masks have a bit per bank, the last two one per slice: got data, a request left. Columns of reads,
# writes, activates and precharges stand in the order of their numbers below, of writes kept apart behind the others
(NEXT_TICK,  # of the next event
 COMMAND_AT, ENTRY_AT, JOIN_AT, PIPE_AT,  # before these no command, entry, end of a latency or a transfer is possible
 READ_GAP, WRITE_GAP, ACTIVATE_GAP, PRECHARGE_GAP,  # first tick of a read, write, activate (buses); precharge: any, 0
 COLUMN_HOLD, PRECHARGE_HOLD,  # from these ticks on no bank group is kept from a column command, a precharge
 FIRST_BANK,  # where the round over the banks begins
 READ_BANKS, WRITE_BANKS, ACTIVATE_BANKS, PRECHARGE_BANKS,  # banks by the next command of their request
 BUSY_BANKS,  # all of these
 READY_BANKS,  # those of them whose own timers have run out
 LOCAL_NEXT,  # when the timer of another one runs out
 QUEUED_BANKS, QUEUED_WRITE_BANKS,  # banks with reads (or all requests) and with writes waiting
 QUEUED, QUEUED_WRITES, WRITING,  # waiting requests; whether writes are being drained
 LATENCY_HEAD, LATENCY_TAIL, PIPE_HEAD, PIPE_TAIL, RETURN_HEAD, RETURN_TAIL,
 LAST_POP, STALLED, STALLED_SINCE, DATA_IS_WRITE,  # the data pipe
 LAST_SLICE, SHARED_CREDIT, FREE, UNDER_WAY, BUSY_FROM, COUNTED_TO, LOGGED,
 FILLED, SERVED) = range(43)  # fmt: skip
# columns of slice: requests of the slice's queue to the DRAM, private credit, fills on their way to the L2, first tick
# at which the channel may take the oldest of the requests (FAR: there is none), channel
TO_HEAD, TO_TAIL, CREDIT, FROM_HEAD, FROM_TAIL, OLDEST_AT, CHANNEL = range(7)
# columns of log: tick and kind of a command (a column of stats), and of the channel before it ACTIVE_TICKS, COUNTED_TO
# and BUSY_FROM; the stream of the command's request
LOG_TICK, LOG_KIND, LOG_ACTIVE, LOG_COUNTED, LOG_BUSY, LOG_STREAM = range(6)
READS, WRITES, ACTIVATES, PRECHARGES, ROW_HITS, REQUESTS, BUSY_TICKS, ACTIVE_TICKS = range(8)
COUNTERS = ("reads", "writes", "activates", "precharges", "row_hits", "requests", "data_ticks", "active_ticks")
(T_CCD, T_CCDL, T_RRD, T_RCD, T_RCDW, T_RAS, T_RP, T_RC, T_CL, T_WL, T_BURST, T_RTW, T_WTR, T_WTP, T_RTPL, BANKS,
 GROUPS, GROUP_SHIFT, ATOM_BYTES, QUEUE, WRITE_QUEUE, WRITE_HIGH, WRITE_LOW, RETURNS, SHARED_LIMIT, LATENCY,
 DUAL_BUS, TO_QUEUE, FROM_QUEUE, BANK_SHIFT, SECTOR_COLUMNS) = range(31)  # fmt: skip
GROUPINGS = ("lower", "higher")


@dataclass(frozen=True)
class Spec:
    """DRAM behind one memory controller."""

    clock_khz: int = value("kHz", "Command clock", 1)
    bus_bytes: int = value("bytes", "Width of the data bus", 1)
    burst_length: int = value("count", "Transfers of a column command", 1)
    data_ratio: int = value("count", "Transfers per tick of the command clock", 1)
    banks: int = value("count", "Banks of a channel, a power of two", 1)
    bank_hash: str = value("name", "How the row permutes the banks", choices=("linear", "xor", "ipoly"))
    bank_groups: int = value("count", "Bank groups of a channel, a power of two", 1)
    bank_group_bits: str = value("name", "Bits of the bank number that are its group", choices=GROUPINGS)
    dual_bus: bool = value("flag", "Whether a row and a column command may be issued in one tick")
    queue_entries: int = value("requests", "Requests the scheduler chooses among", 1)
    write_queue_entries: int = value(
        "requests", "Writes kept apart from reads until there are many; 0: with the reads", 0
    )
    write_high: int = value("requests", "Waiting writes from which on only writes are served", 0)
    write_low: int = value("requests", "Waiting writes below which reads are served again", 0)
    return_entries: int = value("requests", "Requests done whose L2 has not taken their data yet", 1)
    latency_cycles: int = value("cycles", "Fixed latency from the L2 to the scheduler, in core cycles", 0)
    ccd: int = value("ticks", "Column to column command (tCCD)", 1)
    ccd_long: int = value("ticks", "Column to column command in one bank group (tCCDL)", 0)
    rrd: int = value("ticks", "Activate to activate of another bank (tRRD)", 1)
    rcd: int = value("ticks", "Activate to read (tRCD)", 1)
    ras: int = value("ticks", "Activate to precharge (tRAS)", 1)
    rp: int = value("ticks", "Precharge to activate (tRP)", 1)
    rc: int = value("ticks", "Activate to activate of one bank (tRC)", 1)
    cl: int = value("ticks", "Read command to the end of its data (CL)", 1)
    wl: int = value("ticks", "Write command to the end of its data (WL)", 1)
    cdlr: int = value("ticks", "Last written data to a read (tCDLR)", 0)
    wr: int = value("ticks", "Last written data to a precharge (tWR)", 0)
    rtpl: int = value("ticks", "Read to precharge in one bank group (tRTPL)", 0)

    def __post_init__(self) -> None:
        law(self.burst_length % self.data_ratio == 0, "burst_length must be a multiple of data_ratio")
        for name in ("banks", "bank_groups"):
            number = getattr(self, name)
            law(number & (number - 1) == 0, f"{name} must be a power of two, not {number}")
        law(self.banks <= 32, f"banks must be at most 32, not {self.banks}")
        law(self.banks >= self.bank_groups, f"bank_groups must be at most banks ({self.banks}), not {self.bank_groups}")
        fits = 32 % self.atom_bytes == 0 or self.atom_bytes % 32 == 0
        law(
            fits, f"bus_bytes x burst_length ({self.atom_bytes}) must divide a sector, 32 bytes, or be a multiple of it"
        )
        law(self.rc >= self.ras, f"rc ({self.rc}) must be at least ras ({self.ras})")
        law(self.write_high <= self.write_queue_entries, "write_high must be at most write_queue_entries")
        law(
            self.write_high > 0 or self.write_queue_entries == 0,
            "write_high must be at least 1 where writes have a queue",
        )
        law(self.write_low <= self.write_high, "write_low must be at most write_high")

    @property
    def atom_bytes(self) -> int:
        """Bytes of a column command: bus_bytes x burst_length."""
        return self.bus_bytes * self.burst_length

    @property
    def burst_ticks(self) -> int:
        """Ticks the data bus is taken by a column command: burst_length / data_ratio."""
        return self.burst_length // self.data_ratio

    @property
    def bytes_per_second(self) -> int:
        """Peak rate of a channel: atom_bytes / max(burst_ticks, ccd) x clock."""
        return self.atom_bytes * self.clock_khz * 1000 // max(self.burst_ticks, self.ccd)

    @property
    def write_to_read_ticks(self) -> int:
        """Write to read command: WL + burst + tCDLR."""
        return self.wl + self.burst_ticks + self.cdlr

    @property
    def read_to_write_ticks(self) -> int:
        """Read to write command: CL + burst + 2 - WL."""
        return self.cl + self.burst_ticks + 2 - self.wl


class Dram(NamedTuple):
    """All channels; bank b of channel c is row c * banks + b, its requests are rows c * capacity and on."""

    channel: FixedRows  # int64[channels, 43]
    bank: FixedRows  # int64[channels * banks, 12]
    group: FixedRows  # int64[channels * groups, 2]: first tick of a column command, of a precharge
    group_banks: np.ndarray  # int64[groups]: banks of a group
    slice: FixedRows  # int64[slices, LINE_COLUMNS]
    request: FixedRows  # int64[channels * capacity, 8]
    waiting: FixedRows  # int64[slices * to_ring, 2]: first tick at which the channel may take it, request
    latency: FixedRows  # int64[channels * capacity, 2]: tick it may reach the scheduler, request
    pipe: FixedRows  # int64[channels * capacity, 2]: number of the pop that ends it, request
    returned: np.ndarray  # int64[channels * capacity]: requests
    fill: np.ndarray  # int64[slices * from_ring]: tokens
    log: FixedRows  # int64[channels * log_ring, 6]: the last commands
    gap: np.ndarray  # int64[31]: the T_ constants and sizes
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


def make_state(
    spec: Spec, channels: int, slices: int, to_queue: int, from_queue: int, ahead_cycles: int, core_khz: int,
    l2_khz: int, streams: int = 1,
) -> Dram:  # fmt: skip
    """Idle channels with closed rows, each with ``slices`` whose queues to and from it hold that many requests.

    ahead_cycles  core cycles by which a channel may be ahead of the cycle as of which its counters are read.
    """
    limits = gaps(spec, slices, to_queue, from_queue)
    capacity = ring(limits[SHARED_LIMIT] + slices * (1 + to_queue))
    log_ring = ring(2 * (ahead_cycles * spec.clock_khz // core_khz + 2))  # two commands a tick
    bank = np.zeros((channels * spec.banks, 12), np.int64)
    bank[:, (SERVING, OLDEST, YOUNGEST, OLDEST_WRITE, YOUNGEST_WRITE)] = -1
    channel = np.zeros((channels, 43), np.int64)
    channel[:, (NEXT_TICK, COMMAND_AT, ENTRY_AT, JOIN_AT, PIPE_AT, LOCAL_NEXT)] = FAR
    channel[:, STALLED_SINCE] = -1
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
        np.zeros((channels * slices * ring(to_queue), 2), np.int64),
        np.zeros((channels * capacity, 2), np.int64),
        np.zeros((channels * capacity, 2), np.int64),
        np.zeros(channels * capacity, np.int64),
        np.zeros(channels * slices * ring(from_queue), np.int64),
        np.zeros((channels * log_ring, 6), np.int64),
        limits,
        stats,
        make_shares(stats, streams),
        capacity,
        ring(to_queue),
        ring(from_queue),
        log_ring,
        slices,
        ratio(l2_khz, spec.clock_khz),
        ratio(core_khz, spec.clock_khz),
        ratio(spec.clock_khz, core_khz),
        ratio(spec.clock_khz, l2_khz),
    )


def ring(entries: int) -> int:
    """Length of a ring buffer that holds that many."""
    return 1 << int(entries - 1).bit_length()


def group_banks(gap: np.ndarray) -> np.ndarray:
    """Mask of the banks of each group: int64[groups]."""
    masks = np.zeros(gap[GROUPS], np.int64)
    for bank in range(gap[BANKS]):
        masks[(bank >> gap[GROUP_SHIFT]) & (gap[GROUPS] - 1)] |= 1 << bank
    return masks


def gaps(spec: Spec, slices: int, to_queue: int, from_queue: int) -> np.ndarray:
    """The command gaps in ticks and the sizes, in the order of the constants; the only place they are computed.

    The L2 slices of a channel may each have one request in the channel, and share room for as many more as the
    scheduler and the return queue hold.
    """
    burst = spec.burst_ticks
    higher = spec.bank_group_bits == "higher"
    return np.array([
        spec.ccd, spec.ccd_long, spec.rrd, spec.rcd, max(spec.rcd - (spec.wl + 1), 0), spec.ras, spec.rp, spec.rc,
        spec.cl, spec.wl, burst, max(spec.read_to_write_ticks, spec.ccd), max(spec.write_to_read_ticks, spec.ccd),
        spec.wl + burst + spec.wr,
        spec.rtpl, spec.banks, spec.bank_groups, (spec.banks // spec.bank_groups).bit_length() - 1 if higher else 0,
        spec.atom_bytes, spec.queue_entries, spec.write_queue_entries, spec.write_high, spec.write_low,
        spec.return_entries, spec.queue_entries + spec.return_entries + spec.write_queue_entries - (slices - 1),
        spec.latency_cycles, spec.dual_bus, to_queue, from_queue, spec.banks.bit_length() - 1,
        -(-cache.SECTOR_BYTES // spec.atom_bytes),
    ], np.int64)  # fmt: skip


def stats(state: Dram, cycle: int = FAR, stream: int = -1) -> dict[str, np.ndarray]:
    """Every counter per channel, of commands that were issued before a core cycle.

    A channel is ahead of the SMs by as much as requests wait before they reach the L2; what it did since then is in its
    log. Requests and row hits are those up to where it is. stream: the counters are its own (-1: all streams').
    """
    found = state.stats.copy()
    if cycle < FAR:
        tick = max((cycle - 1) * state.core.up // state.core.down + 1, 0)  # the first one after the cycle before
        for channel in range(len(found)):
            rewind(state, channel, tick, found[channel], stream)
    found[:, BUSY_TICKS] = (found[:, READS] + found[:, WRITES]) * state.gap[T_BURST]
    return {name: found[:, index] for index, name in enumerate(COUNTERS)}


def rewind(state: Dram, channel: int, tick: int, found: np.ndarray, stream: int) -> None:
    """Take what a channel did from ``tick`` on out of its counters, or out of those of a stream."""
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
