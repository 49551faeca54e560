"""Data caches with sectors: what describes one, and the flat arrays that many alike live in.

The same core serves the L1s of the SMs and the slices of the L2; an *instance* is one of them. A line is an address
range of up to four sectors of 32 B; each sector is invalid, reserved (a fetch is under way), valid or dirty.
Source: ``docs/sources/accel-sim.md#cache-strings``, which name the same choices by letters.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rayplay.replay.input.work import SECTOR_BYTES
from rayplay.replay.jit.bits import HASH_FACTOR, inlined
from rayplay.replay.jit.hooks import NOTHING
from rayplay.replay.jit.rows import FixedRows, aligned_rows, pitch, ring_size, sparse_rows
from rayplay.replay.memory.cache.owners import NOT_SHARED, Owners, Sharing, make_owners
from rayplay.replay.memory.hashes import IPOLY, fermi_masks, parities, parity_masks
from rayplay.replay.unit.schema import law, value
from rayplay.replay.unit.streams import Shares, make_shares

SET_BITS = 20
FULL = 0xFFFFFFFF  # all bytes of a sector
# Columns of ``line``.
TAG = 0
USED_AT = 1  # cycle of its last use
STATUS = 2  # masks over its sectors, from the bits below on
CHAIN = 3  # next row of its hash bucket
NEWER = 4  # next of its list
OLDER = 5
WRITTEN = 6  # here and in the next, bytes that were written of each sector, two sectors a column
LINE_COLUMNS = 8
VALID, DIRTY, RESERVED, READABLE, DIRTY_ON_FILL, READABLE_ON_FILL, BYTES_ON_FILL = range(0, 28, 4)
ALL_VALID, ALL_DIRTY, ALL_RESERVED, ALL_READABLE = 15 << VALID, 15 << DIRTY, 15 << RESERVED, 15 << READABLE
IN_USE = ALL_VALID | ALL_DIRTY | ALL_RESERVED
SECTOR_IN_USE = 1 << VALID | 1 << DIRTY | 1 << RESERVED
# Columns of ``order``.
NEWEST = 0
OLDEST = 1
# Columns of ``mshr``.
SECTOR = 0
NEXT = 1  # entry of its hash bucket
WAITER = 2  # the oldest
WAITING = 3  # number of waiters
ROW = 4  # line that was reserved, -1: none yet; BYPASSED: none ever; ARRIVED: the data has come
INDEX = 5  # chooses the set
BYTES = 6  # of the access that fetches; above them whether an atomic waits, and its label (``owners``)
FIRST = 7  # place of the oldest in the ring of the other waiters
MSHR_COLUMNS = 8
BYPASSED = -2
ARRIVED = -3  # of a cache whose late reads pass: the data is there
ATOMIC_SHIFT = 32
LABEL_SHIFT = 33
# Columns of ``unit``.
MSHR_FREE = 0  # free MSHR entries
READY_HEAD = 1  # of the entries whose data is there
READY_TAIL = 2
QUEUE_HEAD = 3  # of the miss queue
QUEUE_TAIL = 4
DATA_FREE_AT = 5  # first cycle the data port is free
DIRTY_LINES = 6
USED = 7  # 1: looked up since it was emptied
REASON = 8  # why the last access failed
PARKED = 9  # 1: the last write waits for its fetch
FOUND_LINE = 10  # line looked for last, -1: unknown
FOUND_ROW = 11  # its row
UNIT_COLUMNS = 12
NO_LINE, NO_QUEUE, NO_ENTRY, NO_MERGE = range(4)  # reasons
READ_SECTOR, WRITE_THROUGH, WRITE_BACK = range(3)  # kinds of request in the miss queue
HIT, HIT_RESERVED, MISS, SECTOR_MISS, FAIL = range(5)  # answers; the counters of reads, then of writes, in this order
FILLS, EVICTIONS, WRITE_BACKS, MERGES = range(10, 14)
COUNTERS = ("read_hits", "read_pending_hits", "read_line_misses", "read_sector_misses", "read_fails",
            "write_hits", "write_pending_hits", "write_line_misses", "write_sector_misses", "write_fails",
            "fills", "evictions", "write_backs", "merges")  # fmt: skip
TEXTURE = len(COUNTERS)  # the answers once more, of texture reads alone
TEXTURE_COUNTERS = tuple(f"texture_{name}" for name in COUNTERS[:5])
HASHES = ("linear", "xor", "ipoly", "fermi", "multiplicative")
REPLACEMENTS = ("lru", "fifo")
LATE_READS = ("reserve", "pass")
WRITE_POLICIES = ("through", "back", "evict", "evict_global")
THROUGH, BACK, EVICT, EVICT_GLOBAL = range(4)
ALLOCATIONS = ("on_miss", "on_fill")
WRITE_ALLOCATIONS = ("none", "naive", "fetch_on_write", "lazy_fetch_on_read", "lazy_whole_sectors")
NO_ALLOCATE, NAIVE, FETCH_ON_WRITE, LAZY_FETCH_ON_READ, LAZY_WHOLE_SECTORS = range(5)
MOST_BUCKETS = 1024  # of the MSHR entries: more of them would not stay in the host's caches


@dataclass(frozen=True)
class Policy:
    """Options that caches of every level have in common."""

    line_bytes: int = value("bytes", "Length of a line", SECTOR_BYTES)
    ways: int = value("lines", "Lines of a set", 1)
    set_hash: str = value("word", "How the line number chooses the set", choices=HASHES)
    write_policy: str = value("word", "What a write that hits does", choices=WRITE_POLICIES)
    allocate: str = value("word", "When a missing line gets its place", choices=ALLOCATIONS)
    write_allocate: str = value(
        "word",
        "What a write that misses does; lazily, a sector written in parts may be read once all its bytes were written,"
        " or (lazy_whole_sectors, GPGPU-Sim 4.0) once it was fetched, and until then writes miss, too",
        choices=WRITE_ALLOCATIONS,
    )
    dirty_percent: int = value("percent", "Share of dirty lines below which none of them is replaced", 0)
    mshr_entries: int = value("count", "Sectors that may be missing at a time", 1)
    mshr_merges: int = value("count", "Requests that may wait for one sector", 1)
    miss_queue: int = value("requests", "Requests that may wait to leave for the next level", 1)
    port_bytes: int = value("bytes", "Bytes that the data array reads or writes per cycle", 1)
    replacement: str = value("word", "Which line goes: least recently used, or first allocated", choices=REPLACEMENTS)
    late_reads: str = value(
        "word",
        "What a miss does whose sector came for others and lost its line before they had it: reserve a line that no"
        " data will fill, as Accel-Sim, or take the data alone",
        choices=LATE_READS,
    )

    def __post_init__(self) -> None:
        law(self.line_bytes in (32, 64, 128), f"line_bytes must be 32, 64 or 128, not {self.line_bytes}")
        lazy = self.write_allocate in ("fetch_on_write", "lazy_fetch_on_read", "lazy_whole_sectors")
        law(
            self.allocate == "on_miss" or not lazy,
            f"write_allocate {self.write_allocate} needs allocate on_miss, not {self.allocate}",
        )
        law(
            self.allocate == "on_miss" or self.write_policy != "back",
            "write_policy back needs allocate on_miss: a fill would have to wait for a write-back",
        )
        law(
            self.late_reads == "reserve" or self.write_allocate not in ("naive", "fetch_on_write"),
            f"late_reads pass is for reads: write_allocate {self.write_allocate} fetches for writes",
        )

    def check_sets(self, sets: int) -> None:
        """Raise ``LawError`` when the hash does not work for ``sets``."""
        if self.set_hash == "ipoly":
            law(sets in IPOLY, f"set_hash ipoly needs 16, 32 or 64 sets, not {sets}")
        if self.set_hash in ("xor", "fermi"):
            law(sets & (sets - 1) == 0, f"set_hash {self.set_hash} needs a power of two of sets, not {sets}")


class Cache(NamedTuple):
    """All instances; set k of instance i holds rows ((i * sets + k) << way_shift) and on. Links are rows, or -1.

    The lines of a set are two lists in order of use, of the clean and of the dirty ones; lines without a valid sector
    are in neither, but in the set of free ways, whose bit 0 is the highest way.
    """

    line: FixedRows  # int64[rows, 8]
    bucket_head: np.ndarray  # int32[instances * buckets]: rows by hash of their tag
    order: FixedRows  # int64[instances * sets * 2, 2]: clean list, dirty list of each set
    free_ways: np.ndarray  # int64[instances * sets, words]
    hash_mask: np.ndarray  # int64[bits of the set number]: line number bits whose parity is the bit; or empty
    mshr: FixedRows  # int64[instances * pitch, 8]
    mshr_head: np.ndarray  # int32[instances * mshr_buckets]
    mshr_free: np.ndarray  # int32[instances, entries]: stack
    waiter: np.ndarray  # int64[instances * pitch, power of two]: ring of waiters behind the oldest
    ready: np.ndarray  # int32[instances, power of two]: ring of entries whose data is there
    queue: FixedRows  # int64[instances * ring, 8]: kind, sector, mask, payload; of a write-back cause and WRITTEN
    unit: FixedRows  # int64[instances, UNIT_COLUMNS]
    stats: FixedRows  # int64[instances, 14]
    shares: Shares
    owners: Owners
    sets: int
    ways: int  # in use; at most 1 << way_shift
    way_shift: int
    sector_shift: int  # log2 of sectors per line
    buckets: int
    multiplicative: int  # 1: hash of any number of sets; else linear where hash_mask is empty
    entries: int
    pitch: int  # rows of ``mshr`` from one instance to the next
    merges: int
    mshr_buckets: int
    ring: int
    write_policy: int
    on_fill: int
    write_allocate: int
    dirty_percent: int
    miss_queue: int
    port_bytes: int
    sector_cycles: int  # that the data array takes for a sector
    given_sets: int  # 1: what chooses a set is its number, in the low SET_BITS, and not a line number
    fifo: int  # 1: uses do not count, lines go in the order of their allocation
    passes_late: int  # 1: a read that joins a fetch whose data has come takes no line
    whole_lines: int  # 1: a line has the state of its first sector alone, and is fetched as a whole
    own: Any = NOTHING  # of a plug-in


def make_state(
    policy: Policy, sets: int, instances: int, ways: int, entries: int, given_sets: bool = False,
    streams: int = 1, sharing: Sharing = NOT_SHARED, whole_lines: bool = False,
) -> Cache:  # fmt: skip
    """Empty, cold caches with room for ``ways`` a set, of which ``policy.ways`` are in use, and ``entries`` MSHRs."""
    way_shift = (ways - 1).bit_length()
    rows, groups = instances * sets << way_shift, instances * sets
    buckets, mshr_buckets = 2 * ring_size(sets * ways), min(2 * ring_size(entries), MOST_BUCKETS)
    ring, apart = ring_size(policy.miss_queue + 3), pitch(entries, MSHR_COLUMNS)
    stats = np.zeros((instances, len(COUNTERS) + len(TEXTURE_COUNTERS)), np.int64)
    state = Cache(
        aligned_rows(rows, LINE_COLUMNS),
        np.zeros(instances * buckets, np.int32),
        np.zeros((groups * 2, 2), np.int64),
        np.zeros((groups, (ways + 63) // 64), np.int64),
        hash_masks(policy.set_hash, sets, policy.line_bytes),
        aligned_rows(instances * apart, MSHR_COLUMNS),
        np.full(instances * mshr_buckets, -1, np.int32),
        np.tile(np.arange(entries, dtype=np.int32), (instances, 1)),
        sparse_rows(instances * apart, ring_size(policy.mshr_merges)),
        np.zeros((instances, ring_size(entries)), np.int32),
        np.zeros((instances * ring, 8), np.int64),
        np.zeros((instances, UNIT_COLUMNS), np.int64),
        stats,
        make_shares(stats, streams),
        make_owners(rows, instances, sets, policy.ways, sharing),
        sets, policy.ways, way_shift, (policy.line_bytes // SECTOR_BYTES).bit_length() - 1, buckets,
        int(policy.set_hash == "multiplicative"), entries, apart, policy.mshr_merges, mshr_buckets, ring,
        WRITE_POLICIES.index(policy.write_policy), ALLOCATIONS.index(policy.allocate),
        WRITE_ALLOCATIONS.index(policy.write_allocate), policy.dirty_percent, policy.miss_queue, policy.port_bytes,
        -(-SECTOR_BYTES // policy.port_bytes), int(given_sets), REPLACEMENTS.index(policy.replacement),
        LATE_READS.index(policy.late_reads),
        int(whole_lines),
    )  # fmt: skip
    state.unit[:, MSHR_FREE] = entries
    clear(state)
    return state


def clear(state: Cache) -> None:
    """Forget all lines of all instances; nothing may be in flight."""
    state.bucket_head[:] = -1
    state.order[:] = -1
    state.line[:, STATUS] = 0
    state.unit[:, [DIRTY_LINES, USED]] = 0
    state.unit[:, FOUND_LINE] = -1
    for word in range(state.free_ways.shape[1]):
        ways = min(max(state.ways - 64 * word, 0), 64)
        state.free_ways[:, word] = -1 if ways == 64 else (1 << ways) - 1


def hash_masks(name: str, sets: int, line_bytes: int) -> np.ndarray:
    """``hashes.parity_masks`` of a set hash; empty where the set is no parity of the line number."""
    if name == "multiplicative" or sets & (sets - 1):
        return np.zeros(0, np.int64)
    return fermi_masks(sets, line_bytes) if name == "fermi" else parity_masks(name, sets)


@inlined
def offset_of(state: Cache, sector: int) -> int:
    """Place of a sector's state among its line's."""
    return 0 if state.whole_lines else sector & ((1 << state.sector_shift) - 1)


@inlined
def fetched(state: Cache, sector: int) -> int:
    """The sector that a fetch is for: itself, or the first of a line that comes as a whole."""
    return sector >> state.sector_shift << state.sector_shift if state.whole_lines else sector


@inlined
def chosen_set(state: Cache, index: int) -> int:
    """Set of an instance that an access names: by its line number, or itself."""
    return index & ((1 << SET_BITS) - 1) if state.given_sets else set_of(state, index)


@inlined
def set_of(state: Cache, index: int) -> int:
    """Set of an instance that a line number chooses."""
    if state.multiplicative:
        return ((((index * HASH_FACTOR) >> 32) & FULL) * state.sets) >> 32
    return parities(state.hash_mask, index) if state.hash_mask.shape[0] else index % state.sets


def stats(state: Cache) -> dict[str, np.ndarray]:
    """Every counter per instance; accesses = hits + pending hits + misses, misses = line misses + sector misses."""
    return {name: state.stats[:, index] for index, name in enumerate((*COUNTERS, *TEXTURE_COUNTERS))}
