"""One DRAM channel: FR-FCFS over banks with GDDR timing, one row or column command a clock (reference C)."""

from collections import deque

from .config import DramConfig
from .request import Request


class Pipe:
    """Delay line of ``delay`` pops; holds at most one entry more."""

    def __init__(self, delay: int, most: int) -> None:
        self.delay, self.most = delay, most
        self.items: deque[Request | None] = deque([None] * delay)

    @property
    def is_full(self) -> bool:
        return len(self.items) >= self.most

    def push(self, request: Request) -> None:
        if self.items and self.items[-1] is None and len(self.items) >= self.delay:
            self.items[-1] = request
        else:
            self.items.append(request)

    def pop(self) -> Request | None:
        if not self.items:
            return None
        request = self.items.popleft()
        if len(self.items) < self.delay:
            self.items.append(None)
        return request

    def set_delay(self, delay: int) -> None:
        while len(self.items) < delay:
            self.items.append(None)
        while len(self.items) > delay and self.items[-1] is None:
            self.items.pop()
        self.delay = delay


class Bank:
    """A bank's row and timers; a timer at 0 allows its command."""

    def __init__(self) -> None:
        self.request: Request | None = None
        self.sent = 0
        self.row, self.is_active = 0, False
        self.rcd = self.rcd_write = self.ras = self.rc = self.rp = self.wtp = self.rtp = 0
        self.rows: dict[int, deque[Request]] = {}  # waiting, by row, oldest first
        self.order: list[Request] = []
        self.served_row = -1

    def count_down(self) -> None:
        for name in ("rcd", "rcd_write", "ras", "rc", "rp", "wtp", "rtp"):
            value = getattr(self, name)
            if value:
                setattr(self, name, value - 1)

    def choose(self) -> None:
        """Choose the row being served; else the open row; else the oldest request's row."""
        if self.served_row < 0:
            self.served_row = self.row if self.row in self.rows else self.order[0].place.row
        queue = self.rows[self.served_row]
        self.request, self.sent = queue.popleft(), 0
        self.order.remove(self.request)
        if not queue:
            del self.rows[self.served_row]
            self.served_row = -1


class Dram:
    """A channel."""

    def __init__(self, config: DramConfig) -> None:
        self.config = config
        self.banks = [Bank() for _ in range(config.banks)]
        self.ccd_long, self.rtpl = [0] * config.groups, [0] * config.groups
        self.ccd = self.rrd = self.read_to_write = self.write_to_read = 0
        self.bus = Pipe(config.cl, config.cl + 1)
        self.bus_writes = False
        self.arrived: deque[Request] = deque()
        self.in_order: deque[Request] = deque()
        self.answers: deque[Request] = deque()
        self.first = 0
        self.waiting = 0  # in the scheduler's queues
        self.busy = 0  # clocks in which something may still change; at 0 a clock is only counted
        self.horizon = sum(vars(config).values())
        self.reads = self.writes = self.activates = self.clocks = self.active_clocks = self.bus_clocks = 0

    @property
    def is_full(self) -> bool:
        return self.waiting >= (2 if self.config.fifo else self.config.queue)

    def push(self, request: Request) -> None:
        self.arrived.append(request)
        self.busy = self.horizon

    def clock(self) -> list[Request]:
        """One command clock; returns the write-backs that are done (answers go to ``answers``)."""
        self.clocks += 1
        if not self.busy:
            return []
        done = self._transfer()
        self._schedule()
        self._command()
        self._count_down()
        self.busy -= 1
        if not self.busy and (self.waiting or any(bank.request for bank in self.banks) or any(self.bus.items)):
            self.busy = 1
        return done

    def _transfer(self) -> list[Request]:
        """Retire an entry from the bus: an answer, or a completed write-back."""
        if len(self.answers) >= self.config.return_queue:
            return []
        request = self.bus.pop()
        if request is None:
            return []
        request.moved += self.config.atom_bytes
        if request.moved < request.size:
            return []
        if request.is_write_back:
            return [request]
        request.is_answer = True
        self.answers.append(request)
        return []

    def _schedule(self) -> None:
        """One free bank a clock gets its next request; in the order of arrival (FIFO) only the first one's."""
        while self.arrived:
            request = self.arrived.popleft()
            if self.config.fifo:
                self.in_order.append(request)
                self.waiting += 1
                continue
            bank = self.banks[request.place.bank]
            bank.rows.setdefault(request.place.row, deque()).append(request)
            bank.order.append(request)
            self.waiting += 1
        if self.in_order and (bank := self.banks[self.in_order[0].place.bank]).request is None:
            bank.request, bank.sent = self.in_order.popleft(), 0
            self.waiting -= 1
        count = self.config.banks
        for step in range(count):
            bank = self.banks[(step + self.first) % count]
            if bank.request is None and bank.order:
                bank.choose()
                self.waiting -= 1
                self.first = (self.first + 1) % count
                return

    def _command(self) -> None:
        """At most one column command, and a row command if none came before it.

        The order starts at ``first``, which a row command changes while the banks are gone through: the next step then
        lands elsewhere, as in Accel-Sim.
        """
        count, idle, column, row = self.config.banks, 0, False, False
        for step in range(count):
            number = (step + self.first) % count
            bank, group = self.banks[number], number % self.config.groups
            if bank.request is not None:
                column = column or self._column(bank, group)
                if not column and not row:
                    row = self._row(bank, number, group)
            if bank.request is None and not (
                self._any_timer() or bank.rcd or bank.ras or bank.rc or bank.rp or bank.rcd_write
            ):
                idle += 1
        self.active_clocks += idle != count

    def _any_timer(self) -> bool:
        return bool(self.ccd or self.rrd or self.read_to_write or self.write_to_read)

    def _column(self, bank: Bank, group: int) -> bool:
        request, config = bank.request, self.config
        assert request is not None
        if self.ccd or self.ccd_long[group] or bank.row != request.place.row or not bank.is_active or self.bus.is_full:
            return False
        if bank.rcd_write or self.read_to_write if request.is_write else bank.rcd or self.write_to_read:
            return False
        self._turn_bus(request.is_write)
        self.bus.push(request)
        self.ccd, self.ccd_long[group] = config.ccd, config.ccd_long
        if request.is_write:
            self.write_to_read = 0 if config.free_turnaround else config.wl + config.burst_cycles + config.cdlr
            bank.wtp = config.wl + config.burst_cycles + config.wr
            self.writes += 1
        else:
            self.read_to_write = 0 if config.free_turnaround else config.cl + config.burst_cycles + 2 - config.wl
            bank.rtp, self.rtpl[group] = config.burst_cycles, config.rtpl
            self.reads += 1
        self.bus_clocks += config.burst_cycles
        bank.sent += config.atom_bytes
        self.busy = self.horizon
        if bank.sent >= request.size:
            bank.request = None
        return True

    def _turn_bus(self, to_write: bool) -> None:
        if to_write != self.bus_writes:
            self.bus_writes = to_write
            self.bus.set_delay(self.config.wl if to_write else self.config.cl)

    def _row(self, bank: Bank, number: int, group: int) -> bool:
        """Activate the row of the request, or precharge a bank with another one open."""
        request, config = bank.request, self.config
        assert request is not None
        if not bank.is_active and not (self.rrd or bank.rp or bank.rc):
            bank.row, bank.is_active = request.place.row, True
            self.rrd = config.rrd
            bank.rcd, bank.rcd_write = config.rcd, config.rcd - (config.wl + 1)
            bank.ras, bank.rc = config.ras, config.rc
            self.activates += 1
        elif (
            bank.is_active
            and bank.row != request.place.row
            and not (bank.ras or bank.wtp or bank.rtp or self.rtpl[group])
        ):
            bank.is_active, bank.rp = False, config.rp
        else:
            return False
        self.first = (number + 1) % config.banks
        self.busy = self.horizon
        return True

    def _count_down(self) -> None:
        self.rrd, self.ccd = max(0, self.rrd - 1), max(0, self.ccd - 1)
        self.read_to_write, self.write_to_read = max(0, self.read_to_write - 1), max(0, self.write_to_read - 1)
        for bank in self.banks:
            bank.count_down()
        self.ccd_long = [max(0, value - 1) for value in self.ccd_long]
        self.rtpl = [max(0, value - 1) for value in self.rtpl]
