"""The L1 of an SM as plainly as it can be said: lists and dicts, one sector at a time. Twin of ``replay.l1``.

Sectored, LRU, a line is allocated when its first sector arrives, writes go through and never allocate.
"""

from collections import Counter


class SlowL1:
    """One SM's cache.

    sets, ways, sectors_per_line  shape.
    entries, merges               sectors that may be missing, requests that may wait for one of them.
    """

    def __init__(self, sets: int, ways: int, sectors_per_line: int, entries: int, merges: int) -> None:
        self.ways, self.sectors_per_line, self.entries, self.merges = ways, sectors_per_line, entries, merges
        self.sets: list[list[int]] = [[] for _ in range(sets)]  # line addresses, least recently used first
        self.valid: dict[int, set[int]] = {}  # line address -> sectors
        self.missing: dict[int, list[int]] = {}  # sector -> waiters, oldest miss first
        self.count: Counter[str] = Counter()

    def line_of(self, sector: int) -> int:
        return sector // self.sectors_per_line

    def holds(self, sector: int) -> bool:
        return sector in self.valid.get(self.line_of(sector), ())

    def touch(self, line: int) -> None:
        ways = self.sets[line % len(self.sets)]
        ways.remove(line)
        ways.append(line)

    def read(self, sector: int, waiter: int) -> str:
        """hit, miss, merged or fail."""
        line = self.line_of(sector)
        if self.holds(sector):
            self.touch(line)
            self.count["read_hits"] += 1
            return "hit"
        if sector in self.missing:
            if len(self.missing[sector]) == self.merges:
                self.count["reservation_fails"] += 1
                return "fail"
            self.missing[sector].append(waiter)
            self.count["read_merges"] += 1
            return "merged"
        if len(self.missing) == self.entries:
            self.count["reservation_fails"] += 1
            return "fail"
        self.missing[sector] = [waiter]
        self.count["read_sector_misses" if line in self.valid else "read_line_misses"] += 1
        return "miss"

    def write(self, sector: int) -> bool:
        """Whether it hit."""
        if self.holds(sector):
            self.touch(self.line_of(sector))
        self.count["write_hits" if self.holds(sector) else "write_misses"] += 1
        return self.holds(sector)

    def fill(self, sector: int) -> list[int]:
        """A missing sector arrives: who waited for it."""
        line = self.line_of(sector)
        ways = self.sets[line % len(self.sets)]
        if line in self.valid:
            self.touch(line)
        else:
            if len(ways) == self.ways:
                del self.valid[ways.pop(0)]
                self.count["evictions"] += 1
            ways.append(line)
            self.valid[line] = set()
        self.valid[line].add(sector)
        self.count["fills"] += 1
        return self.missing.pop(sector)
