"""A sectored cache: tags, MSHRs, miss queue, ports (docs/sources/accel-sim.md#cache-strings, #mshrs)."""

from collections import Counter, defaultdict, deque
from collections.abc import Callable

from .address import ipoly
from .config import CacheConfig
from .request import Request

INVALID, RESERVED, VALID, MODIFIED = range(4)
HIT, HIT_RESERVED, MISS, SECTOR_MISS, FAIL = "hit", "hit_reserved", "miss", "sector_miss", "reservation_fail"
SECTOR_BYTES = (1 << 32) - 1


Sectors = tuple[int, ...]
Evicted = tuple[int, list[int], int]  # tag, dirty sectors, bytes written


class Line:
    """128 B: the state of each sector, and which bytes were written."""

    def __init__(self) -> None:
        self.tag, self.used, self.allocated = -1, 0, 0
        self.status = [INVALID] * 4
        self.readable = [True] * 4
        self.fill_modified, self.fill_readable = [False] * 4, [False] * 4
        self.fill_bytes = False
        self.dirty_bytes = 0

    def allocate(self, tag: int, sectors: Sectors, now: int) -> None:
        self.__init__()  # type: ignore[misc]
        self.tag, self.used, self.allocated = tag, now, now
        for sector in sectors:
            self.status[sector] = RESERVED

    def allocate_sector(self, sector: int, now: int) -> None:
        self.fill_modified[sector] = self.status[sector] == MODIFIED
        self.fill_readable[sector] = False
        self.status[sector], self.readable[sector] = RESERVED, True
        self.used = now

    def fill(self, sectors: Sectors, byte_mask: int) -> None:
        for sector in sectors:
            self.status[sector] = MODIFIED if self.fill_modified[sector] else VALID
            if self.fill_readable[sector]:
                self.readable[sector], self.fill_readable[sector] = True, False
        if self.fill_bytes:
            self.dirty_bytes |= byte_mask

    @property
    def is_modified(self) -> bool:
        return MODIFIED in self.status

    @property
    def is_invalid(self) -> bool:
        return not any(self.status)


def fermi(address: int, sets: int) -> int:
    """The set hash of Fermi's L1 (Nugteren et al., HPCA 2014); with other numbers of sets all lie in set 0."""
    if sets not in (32, 64):
        return 0
    lower, upper = address >> 7 & 0x1F, (address & 0xE000) >> 13 | (address & 0x20000) >> 14 | (address & 0x80000) >> 15
    return lower ^ upper | ((address & 0x1000) >> 7 if sets == 64 else 0)


class Tags:
    """Sets of lines; the ways may change between kernels."""

    def __init__(self, config: CacheConfig, set_address: Callable[[int], int]) -> None:
        self.config, self.ways = config, config.ways
        self.set_address = set_address  # what of an address chooses the set
        self.lines: defaultdict[int, Line] = defaultdict(Line)
        self.dirty = 0
        self.was_used = False

    def line(self, index: int) -> Line:
        return self.lines[index]

    def sectors(self, sector: int) -> Sectors:
        """Sectors that share the state of one: itself, or its whole line."""
        return (0, 1, 2, 3) if self.config.whole_lines else (sector,)

    def set_index(self, address: int) -> int:
        line = self.set_address(address) // 128
        if self.config.fermi:
            return fermi(line * 128, self.config.sets)
        low, high = line % self.config.sets, line // self.config.sets
        return ipoly(high, low, self.config.sets) if self.config.ipoly else low

    def probe(self, address: int, is_write: bool) -> tuple[str, int]:
        """Outcome of a probe, and its line (or the victim; -1 without one)."""
        tag, sector = address // 128, address % 128 // 32
        first = self.set_index(address) * self.ways
        invalid, oldest, oldest_use = -1, -1, 1 << 62
        clean_only = 100 * self.dirty / (self.config.sets * self.ways) < self.config.dirty_percent
        for index in range(first, first + self.ways):
            line = self.line(index)
            status = line.status[sector]
            if line.tag == tag and not line.is_invalid:
                return self._found(line, status, sector, is_write), index
            if RESERVED in line.status or (clean_only and line.is_modified):
                continue
            if line.is_invalid:
                invalid = index
            elif (time := line.allocated if self.config.fifo else line.used) < oldest_use:
                oldest, oldest_use = index, time
        victim = invalid if invalid >= 0 else oldest
        return (FAIL, -1) if victim < 0 else (MISS, victim)

    def _found(self, line: Line, status: int, sector: int, is_write: bool) -> str:
        if status == RESERVED:
            return HIT_RESERVED
        may_write = is_write and not self.config.whole_sectors
        if status == VALID or (status == MODIFIED and (may_write or line.readable[sector])):
            return HIT
        return SECTOR_MISS

    def access(self, request: Request, now: int) -> tuple[str, int, Evicted | None]:
        """Touch or allocate; returns status, line and the dirty sectors of an evicted line with its tag in front."""
        self.was_used = True
        status, index = self.probe(request.address, request.is_write)
        evicted = None
        if status in (HIT, HIT_RESERVED):
            self.line(index).used = now
        elif status == MISS:
            line = self.line(index)
            if line.is_modified:
                evicted = (line.tag, [n for n in range(4) if line.status[n] == MODIFIED], line.dirty_bytes)
                self.dirty -= 1
            line.allocate(request.address // 128, self.sectors(request.sector), now)
        elif status == SECTOR_MISS:
            line, before = self.line(index), self.line(index).is_modified
            line.allocate_sector(request.sector, now)
            self.dirty -= before and not line.is_modified
        return status, index, evicted

    def fill(self, index: int, request: Request) -> None:
        line, before = self.line(index), self.line(index).is_modified
        line.fill(self.sectors(request.sector), request.byte_mask)
        self.dirty += line.is_modified and not before

    def warm(self, address: int, now: int) -> None:
        """A copy to the GPU makes a sector valid."""
        status, index = self.probe(address, True)
        if status == FAIL:
            return
        line, before = self.line(index), self.line(index).is_modified
        sector = address % 128 // 32
        if status == MISS:
            line.allocate(address // 128, self.sectors(sector), now)
        elif status == SECTOR_MISS:
            line.allocate_sector(sector, now)
        self.dirty -= before and not line.is_modified
        before = line.is_modified
        line.fill(self.sectors(sector), 0)
        self.dirty += line.is_modified and not before

    def flush(self) -> None:
        """Lines with dirty sectors are forgotten without a write-back."""
        if self.was_used:
            for line in self.lines.values():
                if line.is_modified:
                    line.status = [INVALID] * 4
            self.dirty, self.was_used = 0, False

    def invalidate(self) -> None:
        if self.was_used:
            for line in self.lines.values():
                line.status = [INVALID] * 4
            self.dirty, self.was_used = 0, False


class Mshrs:
    """Requests that wait for a sector, by its address."""

    def __init__(self, config: CacheConfig) -> None:
        self.entries, self.merges = config.mshrs, config.merges
        self.waiting: dict[int, deque[Request]] = {}
        self.has_atomic: set[int] = set()
        self.ready: deque[int] = deque()

    def has_room(self, sector: int) -> bool:
        if sector in self.waiting:
            return len(self.waiting[sector]) < self.merges
        return len(self.waiting) < self.entries

    def add(self, sector: int, request: Request) -> None:
        self.waiting.setdefault(sector, deque()).append(request)
        if request.is_atomic:
            self.has_atomic.add(sector)

    def next_ready(self) -> Request:
        sector = self.ready[0]
        request = self.waiting[sector].popleft()
        if not self.waiting[sector]:
            del self.waiting[sector]
            self.has_atomic.discard(sector)
            self.ready.popleft()
        return request


class Cache:
    """An L1 or L2 with lazy fetch on read, unless its configuration says otherwise."""

    def __init__(self, config: CacheConfig, set_address: Callable[[int], int]) -> None:
        self.config, self.tags, self.mshrs = config, Tags(config, set_address), Mshrs(config)
        self.miss_queue: deque[Request] = deque()
        self.filling: dict[int, tuple[Request, int]] = {}  # by id of the request: where its answer goes
        self.counts: Counter[tuple[str, str]] = Counter()
        self.data_port_busy = 0
        self.sm = -1  # of an L1

    def cycle(self, may_send: Callable[[], bool], send: Callable[[Request], None]) -> None:
        """One request of the miss queue leaves; the data port works off a cycle."""
        if self.miss_queue and may_send():
            send(self.miss_queue.popleft())
        self.data_port_busy = max(0, self.data_port_busy - 1)

    def access(self, request: Request, now: int) -> str:
        """Look up and act; FAIL: try again. MISS covers a merged one and a write that allocates."""
        probed = self.tags.probe(request.address, request.is_write)[0]
        outcome = probed
        if probed == HIT:
            outcome = self._hit(request, now)
        elif probed != FAIL or (request.is_write and self.config.write_allocate == "none"):
            outcome = self._write_miss(request, now) if request.is_write else self._read_miss(request, now)
        counted = outcome
        if (probed == HIT_RESERVED and outcome != FAIL) or (probed == SECTOR_MISS and outcome == MISS):
            counted = probed
        self.counts["write" if request.is_write else "read", counted] += 1
        if request.is_texture:
            self.counts["texture_read", counted] += 1
        if outcome == HIT:
            self.data_port_busy += 1
        return outcome

    def _has_room(self, more: int) -> bool:
        return len(self.miss_queue) + more < self.config.miss_queue

    def _hit(self, request: Request, now: int) -> str:
        evicts = self._evicts(request)
        if request.is_write and (self.config.write_through or evicts) and not self._has_room(0):
            return FAIL
        if request.is_write and evicts:
            self._drop(request)
            return HIT
        _, index, _ = self.tags.access(request, now)
        if request.is_write:
            self._modify(index, request)
            self._update_readable(index, request)
            if self.config.write_through:
                self.miss_queue.append(request)
        elif request.is_atomic:
            self._modify(index, request)
        return HIT

    def _evicts(self, request: Request) -> bool:
        """Whether a write that hits goes on and drops what it hit."""
        stays = self.config.keeps_local and request.op is not None and request.op.instruction.space == "local"
        return self.config.evict and not stays

    def _drop(self, request: Request) -> None:
        """A write goes on and leaves its sector invalid; the count of dirty lines stays."""
        self.miss_queue.append(request)
        line = self.tags.line(self.tags.probe(request.address, True)[1])
        for sector in self.tags.sectors(request.sector):
            line.status[sector] = INVALID

    def keeps(self, request: Request, outcome: str) -> bool:
        """Whether an L1 acknowledges a write itself; one that has its sector fetched is never acknowledged."""
        if self.config.write_through or (outcome == HIT and self._evicts(request)):
            return False
        fetches = self.config.write_allocate == "fetch" and request.byte_mask.bit_count() < 32
        return outcome == HIT or (self.config.write_allocate in ("lazy", "fetch") and not fetches)

    def goes_on(self, request: Request, outcome: str) -> bool:
        """Whether a write with this outcome is answered by the next level, or when its sector has been fetched."""
        if outcome == HIT:
            return self.config.write_through or self.config.evict
        if self.config.write_allocate == "fetch":
            return request.byte_mask.bit_count() < 32
        return self.config.write_allocate != "lazy"

    def _modify(self, index: int, request: Request) -> None:
        line = self.tags.line(index)
        self.tags.dirty += not line.is_modified
        for sector in self.tags.sectors(request.sector):
            line.status[sector] = MODIFIED
        line.dirty_bytes |= request.byte_mask

    def _update_readable(self, index: int, request: Request) -> None:
        """A sector of which every byte was written can be read."""
        if self.config.whole_sectors:
            return
        line = self.tags.line(index)
        whole = SECTOR_BYTES << 32 * request.sector
        if line.dirty_bytes & whole == whole:
            line.readable[request.sector] = True

    def _write_miss(self, request: Request, now: int) -> str:
        """Lazy fetch on read: allocate, write, fetch nothing; a later read of unwritten bytes is a sector miss.

        Without an allocation the write goes on alone; naively it goes on, and the sector is fetched at once.
        """
        if self.config.write_allocate == "none":
            if not self._has_room(0):
                return FAIL
            self.miss_queue.append(request)
            return MISS
        if self.config.write_allocate == "naive":
            return self._write_and_fetch(request, now)
        if self.config.write_allocate == "fetch" and request.byte_mask.bit_count() < 32:
            return self._fetch_and_write(request, now)
        if not self._has_room(0):
            return FAIL
        if self.config.write_through and self.config.write_allocate == "lazy":
            self.miss_queue.append(request)
        status, index, evicted = self.tags.access(request, now)
        self._modify(index, request)
        line, sector = self.tags.line(index), request.sector
        if status == HIT_RESERVED and self.config.write_allocate == "lazy":
            line.fill_modified[sector] = line.fill_bytes = True
        line.readable[sector] = request.byte_mask.bit_count() == 32
        if status == HIT_RESERVED and not line.readable[sector] and not self.config.whole_sectors:
            line.fill_readable[sector] = True
        self._update_readable(index, request)
        if evicted is not None and not self.config.write_through:
            self._write_back(evicted, request)
            self.data_port_busy += len(evicted[1])
        return MISS

    def _key(self, request: Request) -> int:
        """Address that a request waits for: its sector's or its whole line's."""
        return request.address // 128 * 128 if self.config.whole_lines else request.address

    def _fetch_and_write(self, request: Request, now: int) -> str:
        """A part of a sector is written when the rest has come; an L2 answers then, an L1 never."""
        if not self._has_room(1) or not self.mshrs.has_room(request.address):
            return FAIL
        fetch = Request(request.address, request.byte_mask, False, self.sm, None, request.place)
        fetch.parked = request
        outcome = self._read_miss(fetch, now, by_write=True)
        line = self.tags.line(self.tags.probe(request.address, True)[1])
        line.fill_modified[request.sector] = line.fill_bytes = True
        return outcome

    def _write_and_fetch(self, request: Request, now: int) -> str:
        if not self._has_room(2) or not self.mshrs.has_room(self._key(request)):
            return FAIL
        self.miss_queue.append(request)
        fetch = Request(request.address, request.byte_mask, False, self.sm, None, request.place)
        return self._read_miss(fetch, now, by_write=True)

    def _read_miss(self, request: Request, now: int, by_write: bool = False) -> str:
        """Merge with an outstanding request for the sector, or send one.

        A write that fetches has found room before, and reads out what it drives away.
        """
        if not by_write and not self._has_room(1):
            return FAIL
        key = self._key(request)
        is_merged = key in self.mshrs.waiting
        if not self.mshrs.has_room(key):
            return FAIL
        _, index, evicted = self.tags.access(request, now)
        self.mshrs.add(key, request)
        if not is_merged:
            self.filling[id(request)] = (request, index)
            self.miss_queue.append(self._packet(request))
        if evicted is not None and not self.config.write_through:
            self._write_back(evicted, request)
            self.data_port_busy += len(evicted[1]) * by_write
        return MISS

    def _packet(self, request: Request) -> Request:
        """The packet of a request: itself, or one for its line, which comes back in four."""
        if not self.config.whole_lines:
            return request
        packet = Request(self._key(request), request.byte_mask, False, request.sm, request.op, request.place)
        packet.sectors, packet.first, request.left = [0, 1, 2, 3], request, 4
        return packet

    def _write_back(self, evicted: Evicted, cause: Request) -> None:
        """A dirty line goes to the channel of the request that evicted it."""
        tag, request_sectors, written = evicted
        request = Request(tag * 128, written, True, cause.sm, None, cause.place.elsewhere(tag * 128))
        request.size, request.sectors = 32 * len(request_sectors), request_sectors
        self.miss_queue.append(request)

    def waits_for(self, request: Request) -> bool:
        return id(request) in self.filling

    def fill(self, request: Request) -> None:
        """Answer to a miss: its sector becomes valid, its waiters are ready."""
        _, index = self.filling.pop(id(request))
        self.tags.fill(index, request)
        if self._key(request) in self.mshrs.has_atomic:
            self._modify(index, request)
        self.mshrs.ready.append(self._key(request))
