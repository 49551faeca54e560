"""The DRAM channels: their description, the gaps between commands that follow from it, the arrays they live in."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from replay.bits import FAR, compiled
from replay.config import law, value

# columns of bank: open row (or -1), request in service (or -1), oldest and youngest waiting request, and the first tick
# at which its next activate, read, write and precharge may be issued
ROW, SERVING, OLDEST, YOUNGEST, ACTIVATE_AT, READ_AT, WRITE_AT, PRECHARGE_AT = range(8)
# columns of request: bank, row, column commands left, is a write, L2 entry to fill, next request of the bank, slice
BANK, REQUEST_ROW, LEFT, IS_WRITE, ENTRY, NEXT, SLICE = range(7)
# columns of channel: tick of the next activate of any bank, read, write (bus gaps), row command bus,
# the next command (cached): its tick and bank; requests in the scheduler, incoming head and tail, returned head and
# tail, requests under way, tick up to which the channel counts as active, first free request, tick of the last event,
# banks that serve a request (bit = bank)
ACTIVATE_GAP, READ_GAP, WRITE_GAP, ROW_BUS, NEXT_TICK, NEXT_BANK, SCHEDULED, IN_HEAD, IN_TAIL, OUT_HEAD, OUT_TAIL, \
    UNDER_WAY, ACTIVE_UNTIL, FREE, BUSY_FROM, BUSY_BANKS = range(16)  # fmt: skip
READS, WRITES, ACTIVATES, PRECHARGES, BUSY_TICKS, ACTIVE_TICKS = range(6)
COUNTERS = ("reads", "writes", "activates", "precharges", "data_ticks", "active_ticks")
(T_CCD, T_CCDL, T_RRD, T_RCD, T_RCDW, T_RAS, T_RP, T_RC, T_CL, T_BURST, T_RTW, T_WTR, T_WTP, T_RTPL, BANKS, GROUPS,
 COMMANDS_PER_SECTOR, QUEUE, IN_FLIGHT, NUMERATOR, DENOMINATOR, LATENCY) = range(22)  # fmt: skip
EXTRA = 16  # room for the write-backs of one more miss


@dataclass(frozen=True)
class Spec:
    """DRAM behind one memory controller."""

    clock_khz: int = value("kHz", "Command clock", 1)
    bus_bytes: int = value("bytes", "Width of the data bus", 1)
    burst_length: int = value("count", "Transfers of a column command", 1)
    data_ratio: int = value("count", "Transfers per tick of the command clock", 1)
    banks: int = value("count", "Banks of a channel", 1)
    bank_groups: int = value("count", "Bank groups of a channel", 1)
    queue_entries: int = value("requests", "Requests the scheduler chooses among", 1)
    in_flight_entries: int = value("requests", "Requests of a channel between the L2 and their data", 8)
    latency_cycles: int = value("cycles", "Fixed latency from the L2 to the scheduler, in core cycles", 0)
    row_bytes: int = value("bytes", "Bytes of a row of a bank", 128)
    ccd: int = value("ticks", "Column to column command (tCCD)", 1)
    ccd_long: int = value("ticks", "Column to column command in one bank group (tCCDL)", 1)
    rrd: int = value("ticks", "Activate to activate of another bank (tRRD)", 1)
    rcd: int = value("ticks", "Activate to read (tRCD)", 1)
    ras: int = value("ticks", "Activate to precharge (tRAS)", 1)
    rp: int = value("ticks", "Precharge to activate (tRP)", 1)
    rc: int = value("ticks", "Activate to activate of one bank (tRC)", 1)
    cl: int = value("ticks", "Read to its first data (CL)", 1)
    wl: int = value("ticks", "Write to its first data (WL)", 1)
    cdlr: int = value("ticks", "Last written data to a read (tCDLR)", 0)
    wr: int = value("ticks", "Last written data to a precharge (tWR)", 0)
    rtpl: int = value("ticks", "Read to precharge in one bank group (tRTPL)", 0)

    def __post_init__(self) -> None:
        law(self.burst_length % self.data_ratio == 0, "burst_length must be a multiple of data_ratio")
        law(self.banks <= 62, f"banks must be at most 62, not {self.banks}")
        law(self.banks % self.bank_groups == 0, "banks must be a multiple of bank_groups")
        law(32 % self.atom_bytes == 0, f"bus_bytes x burst_length ({self.atom_bytes}) must divide a sector, 32 bytes")
        law(self.row_bytes % 128 == 0, "row_bytes must be a multiple of 128")
        law(self.rc >= self.ras, f"rc ({self.rc}) must be at least ras ({self.ras})")

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
        """Peak rate of a channel: atom_bytes / burst_ticks x clock."""
        return self.atom_bytes * self.clock_khz * 1000 // self.burst_ticks

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

    channel: np.ndarray  # int64[channels, 16]
    bank: np.ndarray  # int64[channels * banks, 8]
    group: np.ndarray  # int64[channels * groups, 3]: first tick of a column command, of a precharge, unused
    request: np.ndarray  # int64[channels * capacity, 7]
    incoming: np.ndarray  # int64[channels * capacity, 2]: tick it reaches the scheduler, request
    returned: np.ndarray  # int64[channels * capacity, 3]: core cycle, L2 entry, slice
    gap: np.ndarray  # int64[22]: the T_ constants and sizes
    stats: np.ndarray  # int64[channels, 6]
    capacity: int


def make_state(spec: Spec, channels: int, core_khz: int) -> Dram:
    """Idle channels with closed rows."""
    capacity = 1 << (spec.in_flight_entries + EXTRA - 1).bit_length()
    bank = np.zeros((channels * spec.banks, 8), np.int64)
    bank[:, (ROW, SERVING, OLDEST, YOUNGEST)] = -1
    channel = np.zeros((channels, 16), np.int64)
    channel[:, NEXT_TICK] = FAR
    request = np.zeros((channels * capacity, 7), np.int64)
    request[:, NEXT] = np.tile(np.append(np.arange(1, capacity), -1), channels)
    return Dram(
        channel,
        bank,
        np.zeros((channels * spec.bank_groups, 3), np.int64),
        request,
        np.zeros((channels * capacity, 2), np.int64),
        np.zeros((channels * capacity, 3), np.int64),
        gaps(spec, core_khz),
        np.zeros((channels, len(COUNTERS)), np.int64),
        capacity,
    )


def gaps(spec: Spec, core_khz: int) -> np.ndarray:
    """The command gaps in ticks, in the order of the T_ constants; the only place they are computed."""
    burst = spec.burst_ticks
    return np.array([
        spec.ccd, spec.ccd_long, spec.rrd, spec.rcd, max(spec.rcd - (spec.wl + 1), 0), spec.ras, spec.rp, spec.rc,
        spec.cl, burst, spec.read_to_write_ticks, spec.write_to_read_ticks, spec.wl + burst + spec.wr, spec.rtpl,
        spec.banks, spec.bank_groups, 32 // spec.atom_bytes, spec.queue_entries, spec.in_flight_entries,
        spec.clock_khz, core_khz, spec.latency_cycles,
    ], np.int64)  # fmt: skip


@compiled
def to_tick(state: Dram, cycle: int) -> int:
    """The first tick that is not before a core cycle."""
    return -((-cycle * state.gap[NUMERATOR]) // state.gap[DENOMINATOR])


@compiled
def to_cycle(state: Dram, tick: int) -> int:
    """The first core cycle that is not before a tick."""
    return -((-tick * state.gap[DENOMINATOR]) // state.gap[NUMERATOR])


def stats(state: Dram) -> dict[str, np.ndarray]:
    """Every counter per channel."""
    return {name: state.stats[:, index] for index, name in enumerate(COUNTERS)}
