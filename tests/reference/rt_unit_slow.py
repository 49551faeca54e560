"""The RT unit, slowly: every lane of every warp ticks in every cycle.

Rules: ``docs/sources/vulkan-sim.md#rt-unit, #intersection-table, #rt-statistics``.

Written from the rules alone, with lists and dictionaries. ``Memory`` decides what each request meets; what happened
comes out as the rows of a dump: accesses, responses and completions.
"""

from collections import Counter, deque
from collections.abc import Callable

from tests.reference.rt_unit_slow_parts import (
    FAIL,
    HIT,
    KINDS,
    MISS,
    TRIANGLE_HIT,
    UNDEFINED,
    Lane,
    Options,
    Warp,
)


class Unit:
    """One RT core."""

    def __init__(self, options: Options, core: int, log: "Log") -> None:
        self.options, self.core, self.log = options, core, log
        self.warps: list[Warp] = []  # oldest first
        self.sending: tuple[Warp, int, int, deque[int]] | None = None  # warp, address, kind, chunks still to send
        self.stores: deque[tuple[Warp, int]] = deque()
        self.late_hits: deque[tuple[int, int, int, int]] = deque()  # cycle, warp number, address, chunk
        self.in_flight = 0
        self.buffers = 0
        self.box_turns: list[int] = []
        self.triangle_turns: list[int] = []

    def tick_delays(self) -> None:
        count = self.log.count
        for warp in self.warps:
            for _, lane in sorted(warp.lanes.items()):
                if lane.delay == 0:
                    continue
                lane.delay -= 1
                count["intersection_lane_cycles"] += 1
                if lane.delay == 0:
                    for _ in range(lane.hits):
                        self.write(warp, ((1 << 41) + (self.core << 30) + self.buffers * 8) << 5)
                        self.buffers += 1
                    lane.hits = 0
                for address in lane.stores:
                    self.write(warp, address)
                lane.stores = []
        count["store_queue_cycles"] += bool(self.stores)

    def write(self, warp: Warp, address: int) -> None:
        self.stores.append((warp, address))
        warp.writes += 1

    def serve(self, warp: Warp, address: int, chunk: int, now: int) -> None:
        """A chunk of the record at ``address`` came for a warp."""
        for lane in warp.lanes.values():
            if not lane.records or lane.records[0][0] != address:
                continue
            lane.missing.discard(chunk)
            if lane.missing:
                continue
            kind = lane.records.popleft()[2]
            lane.delay += max(self.queue_tests(kind, now) - lane.delay, 0)
            lane.delay += self.options.latency[kind]
            self.log.count["records"] += 1
            self.log.count["nodes"] += KINDS[kind] not in ("header", "descriptor", "table")
            if kind == TRIANGLE_HIT and self.options.hit_stores != "none":
                lane.hits = lane.hits + 1 if self.options.hit_stores == "every-hit" else 1
            lane.load()
            if not lane.records:
                lane.end = now + lane.delay

    def queue_tests(self, kind: int, now: int) -> int:
        """Cycles that a record's last test waits for its turn in a tester, which takes ``rate`` a cycle in order."""
        boxes = [self.box_turns, self.options.box_tests, self.options.boxes_per_node]
        triangles = [self.triangle_turns, self.options.triangle_tests, 1]
        taken, rate, tests = {1: boxes, 4: triangles, TRIANGLE_HIT: triangles}.get(kind, ([], 0, 0))
        if rate == 0:
            return 0
        cycle = now
        for _ in range(tests):  # each takes the first free turn, none before one that was there earlier
            cycle = max(cycle, taken[-1] if taken else now)
            while taken.count(cycle) == rate:
                cycle += 1
            taken.append(cycle)
        return cycle - now

    def serve_all(self, address: int, chunk: int, now: int, but: Warp | None = None) -> None:
        for warp in self.warps:
            if warp is not but:
                self.serve(warp, address, chunk, now)

    def serve_late_hits(self, now: int) -> None:
        while self.late_hits and self.late_hits[0][0] <= now:
            _, number, address, chunk = self.late_hits.popleft()
            if self.options.coalescing == "unit":
                self.serve_all(address, chunk, now)
            for warp in self.warps:
                if self.options.coalescing == "warp" and warp.number == number and warp.start != now:
                    self.serve(warp, address, chunk, now)

    def choose(self) -> Warp | None:
        if self.sending:
            return self.sending[0]
        if self.stores:
            return None
        return next((warp for warp in self.warps if warp.asks), None)

    def watch(self, chosen: Warp | None) -> None:
        """Statistics 1.8: what every active lane does in this cycle."""
        for warp in self.warps:
            status = "executing" if warp is chosen else "waiting" if warp.asks else "stalled"
            for lane in warp.lanes.values():
                if lane.delay:
                    doing = "intersecting"
                elif lane.records:
                    doing = "memory" if lane.marked else "scheduling"
                else:
                    doing = "done"
                self.log.count[f"lane_cycles_{status}_{doing}"] += 1

    def send(self, chosen: Warp | None, now: int, memory: "Memory") -> None:
        if chosen is None:
            if self.stores:
                self.send_store(now, memory)
            return
        full = self.options.mshr_entries and self.in_flight >= self.options.mshr_entries
        if full and self.options.mshr_limit == "every-read":
            return
        if not self.sending:
            self.fill_queue(chosen)
            address, size, kind = chosen.queue.popleft()
            self.sending = chosen, address, kind, deque(range(-(-size // 32)))
        self.send_chunk(now, memory)

    def fill_queue(self, warp: Warp) -> None:
        for _, lane in sorted(warp.lanes.items()):
            if lane.may_ask:
                lane.marked = True
                if all(lane.records[0][:2] != queued[:2] for queued in warp.queue):
                    warp.queue.append(lane.records[0])

    def send_chunk(self, now: int, memory: "Memory") -> None:
        assert self.sending
        warp, address, kind, chunks = self.sending
        chunk = chunks[0]
        status = HIT if self.options.perfect else memory.read(now, (address >> 5) + chunk)
        if not self.options.perfect:
            self.log.accesses.append((now, self.core, (address >> 5) + chunk, 0, status))
        count = self.log.count
        if status == FAIL:
            count["refused"] += 1
            if chunk > 0 or self.options.refused_chunk == "retried":
                return
            warp.queue.appendleft((address, 32, UNDEFINED))
        else:
            count["reads"] += 1
            count[f"reads_{KINDS[kind]}"] += 1
            count["read_hits" if status == HIT else "read_misses"] += 1
        chunks.popleft()
        if status == MISS:
            self.in_flight += 1
            memory.wait(now, (address >> 5) + chunk, (self.core, warp.number, address, chunk))
        elif status == HIT:
            count["cachelines"] += 1
            if self.options.hit_cycles:
                self.late_hits.append((now + self.options.hit_cycles, warp.number, address, chunk))
            else:
                self.serve(warp, address, chunk, now)
                if self.options.coalescing == "unit":
                    self.serve_all(address, chunk, now, but=warp)
        if not chunks:
            self.sending = None

    def send_store(self, now: int, memory: "Memory") -> None:
        warp, address = self.stores[0]
        if self.options.perfect:
            warp.writes -= 1
        else:
            status = memory.write(now, warp.number)
            self.log.accesses.append((now, self.core, address >> 5, 1, status))
            if status == FAIL:
                return
        self.stores.popleft()
        self.log.count["stores"] += 1

    def complete(self, now: int) -> None:
        for warp in self.warps:
            lanes = warp.lanes.values()
            busy = any(lane.records or lane.delay for lane in lanes) or warp.queue or warp.writes
            if not busy and not (self.sending and self.sending[0] is warp):
                self.warps.remove(warp)
                self.log.done(warp, now)
                return


class Log:
    """Log: rows of accesses (cycle, core, sector, is a write, status) and responses, warps, counters."""

    def __init__(self) -> None:
        self.accesses: list[tuple[int, int, int, int, int]] = []
        self.responses: list[tuple[int, int, int, int]] = []  # cycle, sector, is a write, warp
        self.warps: dict[int, tuple[int, int, dict[int, int]]] = {}  # operation: start, end, lane: end
        self.count: Counter[str] = Counter()

    def done(self, warp: Warp, now: int) -> None:
        self.warps[warp.operation] = warp.start, now, {number: lane.end for number, lane in warp.lanes.items()}
        cycles = sum(lane.end - warp.start for lane in warp.lanes.values())
        self.count["warps"] += 1
        self.count["lanes"] += len(warp.lanes)
        self.count["warp_cycles"] += now - warp.start
        self.count["lane_cycles"] += cycles
        if now > warp.start:
            self.count["efficiency_sum"] += cycles * (1 << 30) // (32 * (now - warp.start))


class Memory:
    """Random answers; a missing sector comes back after a while, one response per cycle, with all who waited for it."""

    def __init__(self, status: Callable[[], int], latency: Callable[[], int], merges: bool) -> None:
        self.status, self.latency, self.merges = status, latency, merges
        self.pending: list[tuple[int, int, list]] = []  # cycle, sector (-1 for an acknowledgement), waiters

    def read(self, now: int, sector: int) -> int:
        return self.status()

    def wait(self, now: int, sector: int, waiter: tuple[int, int, int, int]) -> None:
        for _, other, waiters in self.pending:
            if self.merges and other == sector:
                waiters.append(waiter)
                return
        self.pending.append((now + self.latency(), sector, [waiter]))

    def write(self, now: int, warp: int) -> int:
        status = self.status()
        if status != FAIL:
            self.pending.append((now + self.latency(), -1, [warp]))
        return status

    def response(self, now: int) -> tuple[int, list] | None:
        """The sector that arrives in this cycle, and who waits for it."""
        due = [entry for entry in self.pending if entry[0] <= now]
        if not due:
            return None
        first = min(due, key=lambda entry: entry[0])
        self.pending.remove(first)
        return first[1], first[2]


def run(options: Options, arrivals: list[tuple[int, dict[int, Lane]]], memory: Memory, most_cycles: int) -> Log:
    """Operations (cycle of arrival, lanes) through the RT cores of one SM, until all are done."""
    log = Log()
    units = [Unit(options, core, log) for core in range(options.cores)]
    waiting = deque((cycle, Warp(number, number, lanes)) for number, (cycle, lanes) in enumerate(arrivals))
    now = 0
    while waiting or any(unit.warps for unit in units) or memory.pending:
        assert now < most_cycles, "the unit is stuck"
        for unit in units:
            unit.tick_delays()
            if waiting and waiting[0][0] <= now and len(unit.warps) < options.warps:
                accept(unit, waiting.popleft()[1], now)
            unit.serve_late_hits(now)
        if answer := memory.response(now):
            respond(units, options, log, now, *answer)
        for unit in units:
            log.count["busy_cycles"] += bool(unit.warps)
            chosen = unit.choose()
            unit.watch(chosen)
            unit.send(chosen, now, memory)
            unit.complete(now)
        now += 1
    return log


def accept(unit: Unit, warp: Warp, now: int) -> None:
    warp.start = now
    unit.warps.append(warp)
    for lane in warp.lanes.values():
        lane.end = now
        lane.load()
        unit.log.count["rays"] += lane.begins
        unit.log.count["early_out_rays"] += lane.begins and lane.early_out


def respond(units: list[Unit], options: Options, log: Log, now: int, sector: int, waiters: list) -> None:
    """A response: an acknowledged store, or a sector for its waiters, the first of which asked for it."""
    if sector < 0:
        log.responses.append((now, 0, 1, waiters[0]))
        for unit in units:
            for warp in unit.warps:
                warp.writes -= warp.number == waiters[0]
        return
    log.responses.append((now, sector, 0, 0))
    log.count["cachelines"] += 1
    for index, (core, number, address, chunk) in enumerate(waiters):
        units[core].in_flight -= 1
        if options.response == "vulkan-sim":
            address, chunk = waiters[0][2:]
        first = index == 0 or (core, address, chunk) != (waiters[0][0], *waiters[0][2:])
        if options.coalescing == "unit" and first:
            units[core].serve_all(address, chunk, now)
        for warp in units[core].warps:  # a warp that came in this cycle is looked at after the response
            if options.coalescing == "warp" and warp.number == number and warp.start != now:
                units[core].serve(warp, address, chunk, now)
