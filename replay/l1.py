"""L1 data cache of an SM: sectored, LRU, allocated when a fill arrives (streaming), write-through without allocation.

Peak rate: ``banks`` sectors per cycle from the LSU (4 x 32 B x clock) and one from the RT unit, which does not pass
the LSU's pipeline. A read miss waits in an MSHR keyed by sector; later misses of the sector merge with it.
Sources: ``reference/vulkan-sim.md`` 1.4 and 1.10, ``reference/accel-sim.md`` B.2 and C.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from replay.bits import bucket, compiled, inlined
from replay.config import law, value
from replay.port import READ, WRITE, Port, may_send, send

TAG, VALID, CHAIN, NEWER, OLDER = range(5)  # columns of line
NEWEST, OLDEST, USED = range(3)  # columns of order
SECTOR, NEXT, WAITING = range(3)  # columns of mshr
HIT, MISS, MERGED, FAIL = range(4)  # answers of read
READ_HITS, READ_MISSES, SECTOR_MISSES, MERGES, WRITE_HITS, WRITE_MISSES, FAILS, FILLS, EVICTIONS = range(9)
COUNTERS = ("read_hits", "read_line_misses", "read_sector_misses", "read_merges", "write_hits", "write_misses",
            "reservation_fails", "fills", "evictions")  # fmt: skip
FILL_TAG = 0  # low two bits of a request's tag: what its response is


@dataclass(frozen=True)
class Spec:
    """L1 data cache of one SM."""

    bytes: int = value("bytes", "Capacity for data", 128)
    line_bytes: int = value("bytes", "Length of a line", 32)
    ways: int = value("lines", "Lines of a set; bytes / line_bytes is fully associative", 1)
    banks: int = value("count", "Sectors the LSU may look up per cycle, in different banks", 1)
    latency_cycles: int = value("cycles", "From the LSU's bank access to the tag check and the data", 1)
    mshr_entries: int = value("count", "Sectors that may be missing at a time", 1)
    mshr_merges: int = value("count", "Requests that may wait for one sector", 1)

    def __post_init__(self) -> None:
        law(self.line_bytes in (32, 64, 128), f"line_bytes must be 32, 64 or 128, not {self.line_bytes}")
        law(
            self.bytes % (self.line_bytes * self.ways) == 0,
            f"bytes ({self.bytes}) must be a multiple of line_bytes x ways ({self.line_bytes * self.ways})",
        )

    @property
    def sets(self) -> int:
        """bytes / (line_bytes x ways)."""
        return self.bytes // (self.line_bytes * self.ways)


class L1(NamedTuple):
    """All SMs' caches; lines of SM s are rows s * sets * ways and on. Links are line numbers inside the SM, or -1."""

    line: np.ndarray  # int64[sms * lines, 5]
    bucket_head: np.ndarray  # int64[sms * buckets]
    order: np.ndarray  # int64[sms * sets, 3]
    mshr: np.ndarray  # int64[sms * entries, 3]
    mshr_head: np.ndarray  # int64[sms * mshr_buckets]
    mshr_free: np.ndarray  # int64[sms * (entries + 1)]: count, then a stack of entries
    waiter: np.ndarray  # int32[sms * entries, merges]
    stats: np.ndarray  # int64[sms, 9]
    sets: int
    ways: int
    sector_shift: int  # log2 of sectors per line
    buckets: int
    entries: int
    mshr_buckets: int


def make_state(spec: Spec, sms: int, packets_in_flight: int) -> L1:
    """Empty caches. No more entries are made than requests may be in flight, since each entry is one of them."""
    lines = spec.sets * spec.ways
    entries = min(spec.mshr_entries, packets_in_flight)
    buckets, mshr_buckets = (2 << (count - 1).bit_length() for count in (lines, entries))
    free = np.tile(np.concatenate([[entries], np.arange(entries)]), sms)
    state = L1(
        np.zeros((sms * lines, 5), np.int64),
        np.full(sms * buckets, -1, np.int64),
        np.zeros((sms * spec.sets, 3), np.int64),
        np.zeros((sms * entries, 3), np.int64),
        np.full(sms * mshr_buckets, -1, np.int64),
        free.astype(np.int64),
        np.zeros((sms * entries, spec.mshr_merges), np.int32),
        np.zeros((sms, len(COUNTERS)), np.int64),
        spec.sets,
        spec.ways,
        (spec.line_bytes // 32).bit_length() - 1,
        buckets,
        entries,
        mshr_buckets,
    )
    invalidate(state)
    return state


def invalidate(state: L1) -> None:
    """Forget all lines, as at the start of a kernel; nothing may be in flight."""
    state.bucket_head[:] = -1
    state.order[:] = (-1, -1, 0)


@inlined
def find(state: L1, sm: int, line: int) -> int:
    """Line number holding the line address, or -1."""
    base = sm * state.sets * state.ways
    at = state.bucket_head[sm * state.buckets + bucket(line, state.buckets)]
    while at >= 0 and state.line[base + at, TAG] != line:
        at = state.line[base + at, CHAIN]
    return at


@inlined
def unlink(state: L1, base: int, group: int, at: int) -> None:
    """Take a line out of its set's order of use."""
    row, order = state.line, state.order
    newer, older = row[base + at, NEWER], row[base + at, OLDER]
    if newer >= 0:
        row[base + newer, OLDER] = older
    else:
        order[group, NEWEST] = older
    if older >= 0:
        row[base + older, NEWER] = newer
    else:
        order[group, OLDEST] = newer


@inlined
def push_newest(state: L1, base: int, group: int, at: int) -> None:
    """Make a line the most recently used of its set."""
    row, order = state.line, state.order
    newest = order[group, NEWEST]
    row[base + at, NEWER] = -1
    row[base + at, OLDER] = newest
    if newest >= 0:
        row[base + newest, NEWER] = at
    else:
        order[group, OLDEST] = at
    order[group, NEWEST] = at


@inlined
def touch(state: L1, sm: int, line: int, at: int) -> None:
    """Note a use of the line."""
    group = sm * state.sets + line % state.sets
    if state.order[group, NEWEST] != at:
        base = sm * state.sets * state.ways
        unlink(state, base, group, at)
        push_newest(state, base, group, at)


@compiled
def read(state: L1, port: Port, sm: int, now: int, sector: int, waiter: int) -> int:
    """Look a sector up for ``waiter``: HIT; MISS (request sent) or MERGED (it will be called); FAIL (try again)."""
    line = sector >> state.sector_shift
    bit = 1 << (sector & ((1 << state.sector_shift) - 1))
    at = find(state, sm, line)
    count = state.stats
    if at >= 0 and state.line[sm * state.sets * state.ways + at, VALID] & bit:
        touch(state, sm, line, at)
        count[sm, READ_HITS] += 1
        return HIT
    base = sm * state.entries
    head = sm * state.mshr_buckets + bucket(sector, state.mshr_buckets)
    entry = state.mshr_head[head]
    while entry >= 0 and state.mshr[base + entry, SECTOR] != sector:
        entry = state.mshr[base + entry, NEXT]
    if entry >= 0:
        waiting = state.mshr[base + entry, WAITING]
        if waiting == state.waiter.shape[1]:
            count[sm, FAILS] += 1
            return FAIL
        state.waiter[base + entry, waiting] = waiter
        state.mshr[base + entry, WAITING] = waiting + 1
        count[sm, MERGES] += 1
        return MERGED
    free = sm * (state.entries + 1)
    if state.mshr_free[free] == 0 or not may_send(port, sm, now):
        count[sm, FAILS] += 1
        return FAIL
    entry = state.mshr_free[free + state.mshr_free[free]]
    state.mshr_free[free] -= 1
    state.mshr[base + entry, SECTOR] = sector
    state.mshr[base + entry, NEXT] = state.mshr_head[head]
    state.mshr[base + entry, WAITING] = 1
    state.mshr_head[head] = entry
    state.waiter[base + entry, 0] = waiter
    send(port, sm, now, sector, READ, 0, entry * 4 + FILL_TAG)
    count[sm, SECTOR_MISSES if at >= 0 else READ_MISSES] += 1
    return MISS


@compiled
def write(state: L1, port: Port, sm: int, now: int, sector: int, byte_mask: int, tag: int) -> bool:
    """Write a sector through to the L2; False when the request finds no place (try again)."""
    if not may_send(port, sm, now):
        state.stats[sm, FAILS] += 1
        return False
    line = sector >> state.sector_shift
    bit = 1 << (sector & ((1 << state.sector_shift) - 1))
    at = find(state, sm, line)
    if at >= 0 and state.line[sm * state.sets * state.ways + at, VALID] & bit:
        touch(state, sm, line, at)
        state.stats[sm, WRITE_HITS] += 1
    else:
        state.stats[sm, WRITE_MISSES] += 1
    send(port, sm, now, sector, WRITE, byte_mask, tag)
    return True


@inlined
def fill(state: L1, sm: int, entry: int) -> int:
    """A missing sector arrived: allocate it, free its MSHR entry, and return how many waiters it has.

    The waiters stay readable in ``waiter[sm * entries + entry]`` until the next miss takes the entry.
    """
    row = sm * state.entries + entry
    sector = state.mshr[row, SECTOR]
    drop_entry(state, sm, entry, sector)
    line = sector >> state.sector_shift
    at = find(state, sm, line)
    if at < 0:
        at = allocate(state, sm, line)
    else:
        touch(state, sm, line, at)
    base = sm * state.sets * state.ways
    state.line[base + at, VALID] |= 1 << (sector & ((1 << state.sector_shift) - 1))
    state.stats[sm, FILLS] += 1
    return state.mshr[row, WAITING]


@inlined
def drop_entry(state: L1, sm: int, entry: int, sector: int) -> None:
    """Take an entry out of its chain and put it back on the free stack."""
    base = sm * state.entries
    head = sm * state.mshr_buckets + bucket(sector, state.mshr_buckets)
    at, before = state.mshr_head[head], -1
    while at != entry:
        at, before = state.mshr[base + at, NEXT], at
    after = state.mshr[base + entry, NEXT]
    if before < 0:
        state.mshr_head[head] = after
    else:
        state.mshr[base + before, NEXT] = after
    free = sm * (state.entries + 1)
    state.mshr_free[free] += 1
    state.mshr_free[free + state.mshr_free[free]] = entry


@compiled
def allocate(state: L1, sm: int, line: int) -> int:
    """A line for the address: an unused one of its set, else the least recently used."""
    index = line % state.sets
    group, base = sm * state.sets + index, sm * state.sets * state.ways
    used = state.order[group, USED]
    if used < state.ways:
        state.order[group, USED] = used + 1
        at = index * state.ways + used
    else:
        at = state.order[group, OLDEST]
        unlink(state, base, group, at)
        forget(state, sm, at)
        state.stats[sm, EVICTIONS] += 1
    head = sm * state.buckets + bucket(line, state.buckets)
    state.line[base + at, TAG] = line
    state.line[base + at, VALID] = 0
    state.line[base + at, CHAIN] = state.bucket_head[head]
    state.bucket_head[head] = at
    push_newest(state, base, group, at)
    return at


@compiled
def forget(state: L1, sm: int, victim: int) -> None:
    """Take a line out of its hash chain."""
    base = sm * state.sets * state.ways
    head = sm * state.buckets + bucket(state.line[base + victim, TAG], state.buckets)
    at, before = state.bucket_head[head], -1
    while at != victim:
        at, before = state.line[base + at, CHAIN], at
    after = state.line[base + victim, CHAIN]
    if before < 0:
        state.bucket_head[head] = after
    else:
        state.line[base + before, CHAIN] = after


def stats(state: L1) -> dict[str, np.ndarray]:
    """Every counter per SM; accesses = hits + misses + merges."""
    return {name: state.stats[:, index] for index, name in enumerate(COUNTERS)}
