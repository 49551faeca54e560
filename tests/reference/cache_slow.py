"""A sectored cache as plainly as it can be said: every way is looked at, every sector is an object. Twin of
``replay.memory.cache.access``, written from the rules of ``docs/sources/accel-sim.md#cache-strings, #mshrs,
#cache-counters``.
"""

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Any

FULL = (1 << 32) - 1
POLYNOMIALS = {16: 0b10011, 32: 0b100101, 64: 0b1000011}
ADDRESS_BITS = {16: 17, 32: 20, 64: 25}  # of the line number, that are hashed


@dataclass
class Sector:
    state: str = "invalid"  # or reserved, valid, dirty
    readable: bool = True
    dirty_on_fill: bool = False
    readable_on_fill: bool = False
    written: int = 0


@dataclass
class Line:
    tag: int = -1
    used_at: int = 0
    made_at: int = 0
    bytes_on_fill: bool = False
    sectors: list[Sector] = field(default_factory=lambda: [Sector() for _ in range(4)])

    def any(self, state: str) -> bool:
        return any(sector.state == state for sector in self.sectors)

    def in_use(self) -> bool:
        return any(sector.state != "invalid" for sector in self.sectors)


@dataclass
class Entry:
    waiters: deque[int]
    line: Line | None
    index: int
    bytes: int
    atomic: bool


def ipoly(line: int, sets: int) -> int:
    """Remainder of the line number, as a polynomial over GF(2)."""
    rest = line & ((1 << ADDRESS_BITS[sets]) - 1)
    width = sets.bit_length() - 1
    for bit in range(40, width - 1, -1):
        if rest >> bit & 1:
            rest ^= POLYNOMIALS[sets] << (bit - width)
    return rest


class SlowCache:
    """One instance; ``policy`` has the fields of ``replay.memory.cache.state.Policy``."""

    def __init__(self, policy: Any, sets: int) -> None:
        self.policy = policy
        self.whole = policy.write_allocate == "lazy_whole_sectors"
        self.per_line = policy.line_bytes // 32
        self.lines = [[Line() for _ in range(policy.ways)] for _ in range(sets)]
        self.dirty_lines = 0
        self.missing: dict[int, Entry] = {}
        self.ready: deque[int] = deque()
        self.sent: list[tuple[str, int, int, int]] = []  # kind, sector, mask, payload (-1 for a read)
        self.count: Counter[str] = Counter()
        self.data_free_at = 0
        self.parked = False
        self.used = False  # by an access since all lines were forgotten

    def set_of(self, index: int) -> list[Line]:
        sets, name = len(self.lines), self.policy.set_hash
        if name == "ipoly":
            return self.lines[ipoly(index, sets)]
        return self.lines[(index ^ index // sets if name == "xor" else index) % sets]

    def invalidate(self) -> None:
        if not self.used:
            return
        self.used = False
        for line in [line for ways in self.lines for line in ways]:
            for sector in line.sectors:
                sector.state = "invalid"
        self.dirty_lines = 0

    def find(self, sector: int) -> Line | None:
        for ways in self.lines:
            for line in ways:
                if line.tag == sector // self.per_line and line.in_use():
                    return line
        return None

    def victim(self, index: int) -> Line | None:
        ways = self.set_of(index)
        lines = sum(len(one) for one in self.lines)
        may_be_dirty = self.dirty_lines / lines * 100 >= self.policy.dirty_percent
        free = [line for line in ways if not line.in_use()]
        if free:
            return free[-1]
        able = [line for line in ways if not line.any("reserved") and (may_be_dirty or not line.any("dirty"))]
        fifo = self.policy.replacement == "fifo"
        return min(able, key=lambda line: line.made_at if fifo else line.used_at, default=None)

    def probe(self, sector: int, index: int, writes: bool) -> tuple[str, Line | None]:
        line = self.find(sector)
        if line is None:
            found = self.victim(index)
            return ("no line" if found is None and self.policy.allocate == "on_miss" else "miss"), found
        part = line.sectors[sector % self.per_line]
        if part.state == "reserved":
            return "hit_reserved", line
        if part.state == "valid" or (part.state == "dirty" and ((writes and not self.whole) or part.readable)):
            return "hit", line
        return "sector_miss", line

    def take(self, kind: str, line: Line, sector: int, now: int) -> None:
        """The tags' part of a miss, where lines are allocated when they miss."""
        was_dirty = line.any("dirty")
        if kind == "miss":
            self.replace(line, sector, now, self.policy.write_policy != "through")
        elif kind == "sector_miss":
            part = line.sectors[sector % self.per_line]
            part.dirty_on_fill = part.state == "dirty"
            part.readable, part.readable_on_fill, part.state = True, False, "reserved"
            if was_dirty and not line.any("dirty"):
                self.dirty_lines -= 1
        line.used_at = now

    def replace(self, line: Line, sector: int, now: int, sends: bool) -> None:
        if line.in_use():
            self.count["evictions"] += 1
        if line.any("dirty"):
            self.dirty_lines -= 1
            if sends:
                mask = sum(1 << place for place, part in enumerate(line.sectors) if part.state == "dirty")
                self.sent.append(("write_back", line.tag * self.per_line, mask, 0))
                self.count["write_backs"] += 1
        line.tag, line.used_at, line.bytes_on_fill = sector // self.per_line, now, False
        line.made_at = now
        line.sectors = [Sector() for _ in range(4)]
        line.sectors[sector % self.per_line].state = "reserved"

    def make_dirty(self, line: Line, sector: int, bytes_written: int, by_store: bool = True) -> None:
        if not line.any("dirty"):
            self.dirty_lines += 1
        part = line.sectors[sector % self.per_line]
        part.state = "dirty"
        part.written |= bytes_written
        part.readable |= by_store and (bytes_written if self.whole else part.written) == FULL

    def counted(self, access: str, answer: str) -> str:
        names = {"hit": "hits", "hit_reserved": "pending_hits", "miss": "line_misses", "sector_miss": "sector_misses"}
        self.count[f"{access}_{names.get(answer, 'fails')}"] += 1
        return answer if answer in names else "fail"

    def use_port(self, now: int, size: int) -> None:
        self.data_free_at = max(self.data_free_at, now) + -(-size // self.policy.port_bytes)

    def read(self, sector: int, index: int, mask: int, atomic: bool, waiter: int, now: int, queued: int) -> str:
        kind, line = self.probe(sector, index, False)
        if kind == "hit":
            line.used_at, self.used = now, True
            if atomic:
                self.make_dirty(line, sector, mask, False)
            self.use_port(now, 32)
            return self.counted("read", "hit")
        full = queued + 1 >= self.policy.miss_queue
        if kind == "no line" or full or not self.may_join(sector) or (atomic and self.is_late(sector)):
            return self.counted("read", "fail")
        self.fetch(kind, line, sector, index, mask, atomic, waiter, now)
        return self.counted("read", kind)

    def may_join(self, sector: int) -> bool:
        if sector in self.missing:
            return len(self.missing[sector].waiters) < self.policy.mshr_merges
        return len(self.missing) < self.policy.mshr_entries

    def is_late(self, sector: int) -> bool:
        """Whether the data has come, and its line is gone."""
        return self.policy.late_reads == "pass" and sector in self.ready

    def fetch(
        self, kind: str, line: Line, sector: int, index: int, mask: int, atomic: bool, waiter: int, now: int
    ) -> None:
        on_miss, self.used = self.policy.allocate == "on_miss", True
        if sector in self.missing:
            self.count["merges"] += 1
        else:
            self.sent.append(("read", sector, mask, -1))
            self.missing[sector] = Entry(deque(), line if on_miss else None, index, mask, False)
        self.missing[sector].waiters.append(waiter)
        self.missing[sector].atomic |= atomic
        if on_miss and not self.is_late(sector):
            self.take(kind, line, sector, now)

    def write(self, sector: int, index: int, mask: int, local: bool, waiter: int, now: int, queued: int) -> str:
        self.parked = False
        kind, line = self.probe(sector, index, True)
        if kind == "hit":
            return self.counted("write", self.write_hit(line, sector, mask, local, waiter, now, queued))
        if self.policy.write_allocate == "none":
            if queued >= self.policy.miss_queue:
                return self.counted("write", "fail")
            self.sent.append(("write", sector, mask, waiter))
            return self.counted("write", "miss" if kind == "no line" else kind)
        if kind == "no line":
            return self.counted("write", "fail")
        return self.counted("write", self.write_miss(kind, line, sector, index, mask, waiter, now, queued))

    def write_hit(self, line: Line, sector: int, mask: int, local: bool, waiter: int, now: int, queued: int) -> str:
        policy = self.policy.write_policy
        evicts = policy == "evict" or (policy == "evict_global" and not local)
        if evicts or policy == "through":
            if queued >= self.policy.miss_queue:
                return "fail"
            self.sent.append(("write", sector, mask, waiter))
        if evicts:
            line.sectors[sector % self.per_line].state = "invalid"
        else:
            line.used_at, self.used = now, True
            self.make_dirty(line, sector, mask)
        self.use_port(now, 32)
        return "hit"

    def write_miss(
        self, kind: str, line: Line, sector: int, index: int, mask: int, waiter: int, now: int, queued: int
    ) -> str:
        name, part_of = self.policy.write_allocate, len(self.sent)
        fetches = name == "naive" or (name == "fetch_on_write" and mask != FULL)
        if queued + (2 if name == "naive" else 1 if fetches else 0) >= self.policy.miss_queue:
            return "fail"
        if fetches and not self.may_join(sector):
            return "fail"
        if name == "naive" or (name.startswith("lazy") and self.policy.write_policy == "through"):
            self.sent.append(("write", sector, mask, waiter))
        if fetches:
            self.parked = name == "fetch_on_write"
            self.fetch(kind, line, sector, index, mask, False, waiter if self.parked else -2, now)
            if self.parked:
                line.sectors[sector % self.per_line].dirty_on_fill = line.bytes_on_fill = True
        else:
            self.used = True
            self.take(kind, line, sector, now)
            part = line.sectors[sector % self.per_line]
            if name.startswith("lazy"):
                part.readable = part.readable and mask == FULL
                if kind == "hit_reserved":
                    part.dirty_on_fill = line.bytes_on_fill = True
                    part.readable_on_fill |= mask != FULL and not self.whole
            self.make_dirty(line, sector, mask)
        for request in self.sent[part_of:]:
            if request[0] == "write_back":
                self.use_port(now, 32 * request[2].bit_count())
        return kind

    def arrive(self, line: Line, sector: int, mask: int) -> None:
        """Data for a sector of a line."""
        part, was_dirty = line.sectors[sector % self.per_line], line.any("dirty")
        if line.bytes_on_fill:
            part.written |= mask
        if part.readable_on_fill:
            part.readable, part.readable_on_fill = True, False
        part.state = "dirty" if part.dirty_on_fill else "valid"
        self.dirty_lines += line.any("dirty") and not was_dirty

    def settle(self, sector: int, index: int, now: int) -> Line | None:
        """Place of a sector that has none reserved."""
        line = self.find(sector)
        if line is None:
            line = self.victim(index)
            if line is not None:
                self.replace(line, sector, now, False)
            return line
        part = line.sectors[sector % self.per_line]
        if part.state == "invalid" or (self.whole and part.state == "dirty" and not part.readable):
            self.take("sector_miss", line, sector, now)
        return line

    def fill(self, sector: int, now: int) -> None:
        entry = self.missing[sector]
        line = entry.line if entry.line is not None else self.settle(sector, entry.index, now)
        if line is not None:
            self.arrive(line, sector, entry.bytes)
            if entry.atomic:
                self.make_dirty(line, sector, entry.bytes, False)
        self.count["fills"] += 1
        self.ready.append(sector)

    def next_ready(self) -> int:
        sector = self.ready[0]
        waiter = self.missing[sector].waiters.popleft()
        if not self.missing[sector].waiters:
            del self.missing[sector]
            self.ready.popleft()
        return waiter
