"""A DRAM channel tick by tick, with counters that run down: twin of ``replay/memory/dram/channel.py`` in every event.

Written from GPGPU-Sim's order of events (``docs/sources/accel-sim.md#dram, #dram-timing, #dram-counters``), for one
channel of a ``spec.Spec``.
"""

from collections import deque
from dataclasses import dataclass, field

from rayplay.replay.memory.dram.spec import Spec


@dataclass
class Request:
    """A read or write of some column commands."""

    part: int
    bank: int
    row: int
    columns: int
    is_write: bool
    token: int


@dataclass
class Bank:
    """A bank and its timers."""

    row: int = 0
    open: bool = False
    request: Request | None = None
    closes: bool = False  # for a refresh that waits
    refreshing: int = 0  # ticks left
    timers: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(("RCD", "RCDWR", "RAS", "RC", "RP", "WTP", "RTP"), 0)
    )


class Channel:
    """``cycle`` is one tick; ``to`` and ``fills`` are the queues of the slices."""

    def __init__(self, spec: Spec, slices: int, to_queue: int, from_queue: int) -> None:
        self.spec, self.slices, self.to_queue, self.from_queue = spec, slices, to_queue, from_queue
        self.banks = [Bank() for _ in range(spec.banks)]
        self.common = dict.fromkeys(("CCD", "RRD", "RTW", "WTR"), 0)
        self.groups = [dict.fromkeys(("CCDL", "RTPL"), 0) for _ in range(spec.bank_groups)]
        self.reads: list[Request] = []
        self.writes: list[Request] = []
        self.writing = False
        self.data_is_write = False
        self.pipe: deque[tuple[Request, bool] | None] = deque([None] * spec.cl)
        self.shortest = spec.cl
        self.returned: deque[Request] = deque()
        self.latency: deque[tuple[int, Request]] = deque()
        self.to: list[deque[Request]] = [deque() for _ in range(slices)]
        self.fills: list[deque[int]] = [deque() for _ in range(slices)]
        self.private, self.shared, self.last = [0] * slices, 0, slices - 1
        self.limit = spec.queue_entries + spec.return_entries + spec.write_queue_entries - (slices - 1)
        self.first = self.tick = self.refreshes = 0
        self.waiting: list[list[Bank]] = []  # banks of each refresh that has not begun
        self.count = dict.fromkeys(
            ("reads", "writes", "activates", "precharges", "row_hits", "requests", "active_ticks"), 0
        )

    def group(self, bank: int) -> dict[str, int]:
        """The timers of a bank's group."""
        per_group = self.spec.banks // self.spec.bank_groups
        lower = self.spec.bank_group_bits == "lower"
        return self.groups[bank % self.spec.bank_groups if lower else bank // per_group]

    def full(self, request: Request) -> bool:
        """Whether the scheduler has no place."""
        if self.spec.scheduler == "fifo":
            return len(self.reads) >= 2
        if self.spec.write_queue_entries and request.is_write:
            return len(self.writes) >= self.spec.write_queue_entries
        return len(self.reads) >= self.spec.queue_entries

    def give_back(self, part: int) -> None:
        """Return a slice's credit."""
        if self.private[part]:
            self.private[part] -= 1
        else:
            self.shared -= 1

    def cycle(self, core_cycle: int) -> None:
        """One tick that falls into a core cycle."""
        self.refresh()
        if self.returned and len(self.fills[self.returned[0].part]) < self.from_queue:
            done = self.returned.popleft()
            self.fills[done.part].append(done.token)
            self.give_back(done.part)
        if len(self.returned) < self.spec.return_entries:
            self.pop_pipe()
        self.assign()
        self.issue()
        for timers in (self.common, *self.groups, *(bank.timers for bank in self.banks)):
            for name in timers:
                timers[name] = max(timers[name] - 1, 0)
        for bank in self.banks:
            bank.refreshing = max(bank.refreshing - 1, 0)
        self.tick += 1
        self.enter(core_cycle)
        if self.latency and self.latency[0][0] <= core_cycle and not self.full(self.latency[0][1]):
            request = self.latency.popleft()[1]
            self.count["requests"] += 1
            apart = self.spec.scheduler != "fifo" and self.spec.write_queue_entries and request.is_write
            (self.writes if apart else self.reads).append(request)

    def refresh(self) -> None:
        """Take the banks of a refresh in its tick; begin it once all may be closed."""
        spec = self.spec
        if spec.refi and self.tick and self.tick % spec.refi == 0:
            first = self.refreshes * spec.refresh_banks % spec.banks
            self.refreshes += 1
            self.waiting.append(self.banks[first : first + spec.refresh_banks])
            for number, bank in enumerate(self.waiting[-1], first):
                if bank.open:  # reads of the group until now hold it, later ones do not
                    bank.timers["RTP"] = max(bank.timers["RTP"], self.group(number)["RTPL"])
                bank.closes, bank.open, bank.row = bank.open, False, -1
        for banks in list(self.waiting):
            if all(self.may_close(bank) for bank in banks):
                ticks = spec.rfc + spec.rp * any(bank.closes for bank in banks)
                for bank in banks:
                    bank.closes, bank.refreshing = False, ticks
                self.waiting.remove(banks)

    def may_close(self, bank: Bank) -> bool:
        """Whether an open bank may be precharged, or a closed one activated."""
        return not any(bank.timers[name] for name in (("RAS", "WTP", "RTP") if bank.closes else ("RP", "RC")))

    def is_taken(self, bank: Bank) -> bool:
        """Whether a refresh has a bank, or waits for it."""
        return bank.refreshing > 0 or any(each is bank for banks in self.waiting for each in banks)

    def pop_pipe(self) -> None:
        """The oldest place of the data pipe."""
        entry = self.pipe.popleft()
        if len(self.pipe) < self.shortest:
            self.pipe.append(None)
        if entry is not None and entry[1]:
            if entry[0].is_write:
                self.give_back(entry[0].part)
            else:
                self.returned.append(entry[0])

    def push_pipe(self, request: Request, last: bool) -> None:
        """A column command's data at the young end of the pipe."""
        length = self.spec.wl if request.is_write else self.spec.cl
        if self.data_is_write != request.is_write:
            self.data_is_write, self.shortest = request.is_write, length
            while len(self.pipe) < length:
                self.pipe.append(None)
            while len(self.pipe) > length and self.pipe[-1] is None:
                self.pipe.pop()
        if self.pipe[-1] is None:
            self.pipe.pop()
        self.pipe.append((request, last))

    def assign(self) -> None:
        """One bank gets a request."""
        spec = self.spec
        if spec.scheduler == "fifo":
            self.assign_first()
            return
        free = [(turn + self.first) % spec.banks for turn in range(spec.banks)]
        free = [bank for bank in free if self.banks[bank].request is None]
        if free and spec.write_queue_entries:
            self.writing = len(self.writes) >= (spec.write_low if self.writing else spec.write_high)
        queue = self.writes if self.writing else self.reads
        for bank in free:
            mine = [request for request in queue if request.bank == bank]
            if mine:
                hits = [request for request in mine if request.row == self.banks[bank].row]
                self.count["row_hits"] += bool(hits)
                chosen = (hits or mine)[0]
                queue.remove(chosen)
                self.banks[bank].request = chosen
                self.first = (self.first + 1) % spec.banks
                return

    def assign_first(self) -> None:
        """The request that came first goes to its bank, or all wait."""
        if self.reads and (bank := self.banks[self.reads[0].bank]).request is None:
            bank.request = self.reads.pop(0)
            self.count["row_hits"] += bank.open and bank.row == bank.request.row

    def issue(self) -> None:
        """The commands of a tick, and whether it was an active one."""
        spec, active = self.spec, False
        column = row = False
        if spec.dual_bus:
            for kind in (self.column, self.row_command):
                for turn in range(spec.banks):
                    if kind((turn + self.first) % spec.banks):
                        break
        for turn in range(spec.banks):
            bank = (turn + self.first) % spec.banks
            if not spec.dual_bus:
                column = column or self.column(bank)
                row = row or (not column and self.row_command(bank))
            timers = self.banks[bank].timers
            quiet = not any(self.common.values()) and not any(timers[n] for n in ("RCD", "RAS", "RC", "RP", "RCDWR"))
            active |= self.banks[bank].request is not None or not quiet
        self.count["active_ticks"] += active

    def column(self, number: int) -> bool:
        """Issue a column command to a bank if that is legal."""
        bank, spec, group = self.banks[number], self.spec, self.group(number)
        request = bank.request
        if request is None or not bank.open or bank.row != request.row or self.common["CCD"] or group["CCDL"]:
            return False
        own, turn = ("RCDWR", "RTW") if request.is_write else ("RCD", "WTR")
        if bank.timers[own] or self.common[turn] or len(self.pipe) >= spec.cl + 1:
            return False
        request.columns -= 1
        self.push_pipe(request, request.columns == 0)
        self.common["CCD"], group["CCDL"] = spec.ccd, spec.ccd_long
        if request.is_write:
            self.common["WTR"], bank.timers["WTP"] = spec.write_to_read_ticks, spec.wl + spec.burst_ticks + spec.wr
            self.count["writes"] += 1
        else:
            self.common["RTW"], bank.timers["RTP"] = spec.read_to_write_ticks, spec.burst_ticks
            group["RTPL"] = spec.rtpl
            self.count["reads"] += 1
        if request.columns == 0:
            bank.request = None
        return True

    def row_command(self, number: int) -> bool:
        """Issue an activate or a precharge to a bank if that is legal."""
        bank, spec, timers = self.banks[number], self.spec, self.banks[number].timers
        if bank.request is None:
            return False
        if (
            not bank.open
            and not self.is_taken(bank)
            and not self.common["RRD"]
            and not timers["RP"]
            and not timers["RC"]
        ):
            bank.row, bank.open = bank.request.row, True
            self.common["RRD"] = spec.rrd
            timers |= {"RCD": spec.rcd, "RCDWR": max(spec.rcd - spec.wl - 1, 0), "RAS": spec.ras, "RC": spec.rc}
            self.count["activates"] += 1
        elif bank.open and bank.row != bank.request.row and not any(timers[n] for n in ("RAS", "WTP", "RTP")):
            if self.group(number)["RTPL"]:
                return False
            bank.open, timers["RP"] = False, spec.rp
            self.count["precharges"] += 1
        else:
            return False
        self.first = (number + 1) % spec.banks
        return True

    def enter(self, core_cycle: int) -> None:
        """One slice sends a request into the latency queue."""
        for turn in range(self.slices):
            part = (self.last + 1 + turn) % self.slices
            room = len(self.fills[part]) < self.from_queue
            if self.to[part] and room and (self.private[part] == 0 or self.shared < self.limit):
                if self.full(self.to[part][0]):
                    return
                self.latency.append((core_cycle + self.spec.latency_cycles, self.to[part].popleft()))
                if self.private[part] == 0:
                    self.private[part] = 1
                else:
                    self.shared += 1
                self.last = part
                return
