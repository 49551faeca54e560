"""The DRAM channels: their description, and the gaps between commands that follow from it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rayplay.replay.input.work import SECTOR_BYTES
from rayplay.replay.jit.bits import FAR
from rayplay.replay.unit.schema import law, value

GROUPINGS = ("lower", "higher")
SCHEDULERS = ("frfcfs", "fifo")
FIFO_ENTRIES = 2


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
    free_turnaround: bool = value(
        "flag", "Whether reads follow writes, and writes reads, as they follow their own kind"
    )
    scheduler: str = value(
        "name",
        "Which request a free bank gets: the oldest that hits its row, else the oldest; under fifo none overtakes",
        choices=SCHEDULERS,
    )
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
    refi: int = value("ticks", "From one refresh to the next (tREFI); 0: rows need none", 0)
    rfc: int = value("ticks", "A refresh of closed banks (tRFC; of some banks tRFCpb)", 0)
    refresh_banks: int = value("count", "Banks that a refresh takes, in turn, a power of two; banks: all at once", 1)

    def __post_init__(self) -> None:
        law(self.burst_length % self.data_ratio == 0, "burst_length must be a multiple of data_ratio")
        for name in ("banks", "bank_groups"):
            number = getattr(self, name)
            law(number & (number - 1) == 0, f"{name} must be a power of two, not {number}")
        law(self.banks <= 32, f"banks must be at most 32, not {self.banks}")
        law(self.banks >= self.bank_groups, f"bank_groups must be at most banks ({self.banks}), not {self.bank_groups}")
        fits = SECTOR_BYTES % self.atom_bytes == 0 or self.atom_bytes % SECTOR_BYTES == 0
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
        law(
            self.refresh_banks & (self.refresh_banks - 1) == 0 and self.refresh_banks <= self.banks,
            f"refresh_banks must be a power of two, at most banks ({self.banks}), not {self.refresh_banks}",
        )
        least = self.longest_refresh_ticks * self.refresh_banks // self.banks
        law(
            self.refi == 0 or self.refi > least,
            f"refi must be 0 or above {least}: {self.longest_refresh_ticks} ticks, of the longest refresh, in a round"
            f" over the banks; not {self.refi}",
        )

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
    def longest_refresh_ticks(self) -> int:
        """The longest refresh: rows that were just opened or written are closed first."""
        return max(self.ras, self.rc, self.rcd, self.wl + self.burst_ticks + self.wr, self.rtpl) + self.rp + self.rfc

    @property
    def write_to_read_ticks(self) -> int:
        """Write to read command: WL + burst + tCDLR, or 0 where it is free."""
        return 0 if self.free_turnaround else self.wl + self.burst_ticks + self.cdlr

    @property
    def read_to_write_ticks(self) -> int:
        """Read to write command: CL + burst + 2 - WL, or 0 where it is free."""
        return 0 if self.free_turnaround else self.cl + self.burst_ticks + 2 - self.wl


class Gap(NamedTuple):
    """Least ticks from one command to another: its name, the two commands, and what it follows from."""

    name: str
    meaning: str
    ticks: Callable[[Spec], int]


T_CCD, T_CCDL, T_RRD, T_RCD, T_RCDW, T_RAS, T_RP, T_RC, T_CL, T_WL, T_BURST, T_RTW, T_WTR, T_WTP, T_RTPL = range(15)
# The only place where gaps are computed: engine, page and tests follow.
GAPS = {
    T_CCD: Gap("tCCD", "Column command to one of its kind", lambda dram: dram.ccd),
    T_CCDL: Gap("tCCDL", "Column command to another of the bank group", lambda dram: dram.ccd_long),
    T_RRD: Gap("tRRD", "Activate to the activate of another bank", lambda dram: dram.rrd),
    T_RCD: Gap("tRCD", "Activate to read", lambda dram: dram.rcd),
    T_RCDW: Gap("tRCDWR", "Activate to write: RCD - (WL + 1)", lambda dram: max(dram.rcd - (dram.wl + 1), 0)),
    T_RAS: Gap("tRAS", "Activate to precharge", lambda dram: dram.ras),
    T_RP: Gap("tRP", "Precharge to activate", lambda dram: dram.rp),
    T_RC: Gap("tRC", "Activate to the next activate of the bank", lambda dram: dram.rc),
    T_CL: Gap("CL", "Read to the end of its data", lambda dram: dram.cl),
    T_WL: Gap("WL", "Write to the end of its data", lambda dram: dram.wl),
    T_BURST: Gap("burst", "Read to precharge", lambda dram: dram.burst_ticks),
    T_RTW: Gap("tRTW", "Read to write", lambda dram: max(dram.read_to_write_ticks, dram.ccd)),
    T_WTR: Gap("tWTR", "Write to read", lambda dram: max(dram.write_to_read_ticks, dram.ccd)),
    T_WTP: Gap("tWTP", "Write to precharge: WL + burst + WR", lambda dram: dram.wl + dram.burst_ticks + dram.wr),
    T_RTPL: Gap("tRTPL", "Read to a precharge of the bank group", lambda dram: dram.rtpl),
}
# Sizes stand behind the gaps.
BANKS = 15  # of a channel
GROUPS = 16  # bank groups
GROUP_SHIFT = 17  # from a bank's number to its group's
QUEUE = 18  # requests of the scheduler
WRITE_QUEUE = 19  # writes kept apart from them
WRITE_HIGH = 20  # writes from which on they are drained
WRITE_LOW = 21  # writes below which reads are served again
RETURNS = 22  # requests of the return queue
SHARED_LIMIT = 23  # requests of a channel beyond one a slice
LATENCY = 24  # core cycles from the L2 to the scheduler
DUAL_BUS = 25
TO_QUEUE = 26  # requests of a slice's queue to the channel
FROM_QUEUE = 27  # fills of its queue back
BANK_SHIFT = 28  # log2 of the banks
SECTOR_COLUMNS = 29  # column commands of a sector
ATOM_BYTES = 30  # of a column command
FIFO = 31  # 1: no request overtakes another
REFI = 32  # ticks from one refresh to the next, FAR: none
RFC = 33  # ticks of a refresh
REFRESH_BANKS = 34  # banks that it takes


def limits(spec: Spec, slices: int, to_queue: int, from_queue: int) -> np.ndarray:
    """The gaps in ticks, then the sizes: int64, in the order of their constants.

    The L2 slices of a channel may each have one request in the channel, and share room for as many more as the
    scheduler and the return queue hold; so they do under FIFO, whose scheduler has two entries, as in GPGPU-Sim.
    """
    shift = (spec.banks // spec.bank_groups).bit_length() - 1 if spec.bank_group_bits == "higher" else 0
    queued, fifo = spec.queue_entries + spec.write_queue_entries, spec.scheduler == "fifo"
    queues = spec.queue_entries, spec.write_queue_entries, spec.write_high, spec.write_low
    return np.array([
        *(GAPS[gap].ticks(spec) for gap in sorted(GAPS)),
        spec.banks, spec.bank_groups, shift, *((FIFO_ENTRIES, 0, 0, 0) if fifo else queues),
        spec.return_entries, queued + spec.return_entries - (slices - 1), spec.latency_cycles,
        spec.dual_bus, to_queue, from_queue, spec.banks.bit_length() - 1, -(-SECTOR_BYTES // spec.atom_bytes),
        spec.atom_bytes, fifo, spec.refi or FAR, spec.rfc, spec.refresh_banks,
    ], np.int64)  # fmt: skip
