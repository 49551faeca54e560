"""Functional caches: L1s and L2 for requests in order, without time.

LRU sets, chosen by a hash (near both to the L1, one set of all lines, and to the L2, whose hash spreads lines evenly).
As in ``replay``, a write to global memory invalidates the sectors it hits in the L1 and goes to the L2; a write to
local memory stays in the L1 where it hits. The L2 allocates on every write, writes back evicted dirty sectors, and
fetches a partly written sector when it is read. Not modelled: merging into misses under way, and lines that cannot be
evicted.
"""

from typing import NamedTuple

import numpy as np

from rayplay.replay.geometry import PARTITION_HASHES, Addresses
from rayplay.zatel.model.accesses import FULL_SHIFT, LOCAL_LINES, WRITE
from rayplay.zatel.model.follow import MOST_SHIFT, inner, loop, spread
from rayplay.zatel.model.walk import HIT_LINES, TABLE_LINES

CONSECUTIVE = PARTITION_HASHES.index("consecutive")
LINE_SHIFT = 7
BEFORE = -1  # sentinel in place of an SM: the line is in the L2 before the first cycle; not counted
READS, READ_MISSES, WRITES, WRITE_MISSES, WRITE_BACKS, L1_ACCESSES, L1_MISSES = range(7)  # in sectors
COUNTERS = 7
SECTORS = 15
COUNT_BITS = np.array([bin(sectors).count("1") for sectors in range(16)], np.int64)


class Sets(NamedTuple):
    """Tag arrays, most recently used way first, int64[sets, ways]: tag, readable sectors, dirty sectors."""

    tag: np.ndarray
    readable: np.ndarray
    dirty: np.ndarray


def make_sets(sets: int, ways: int) -> Sets:
    """Empty sets of ``ways`` lines."""
    return Sets(*(np.full((sets, ways), value, np.int64) for value in (-1, 0, 0)))


@inner
def field(bits: np.ndarray, address: int) -> int:
    """Gather a bit field of an address; rows of ``bits`` are shift right, mask, shift left."""
    found = 0
    for index in range(bits.shape[0]):
        found |= ((address >> bits[index, 0]) & bits[index, 1]) << bits[index, 2]
    return found


@inner
def find(sets: Sets, index: int, line: int) -> int:
    """Way of a line in its set; the number of ways on a miss."""
    way = 0
    while way < sets.tag.shape[1] and sets.tag[index, way] != line:
        way += 1
    return way


@inner
def use(sets: Sets, index: int, way: int, line: int, readable: int, dirty: int) -> None:
    """Make the line the most recently used of its set, replacing ``way``."""
    while way > 0:
        before = way - 1
        sets.tag[index, way] = sets.tag[index, before]
        sets.readable[index, way] = sets.readable[index, before]
        sets.dirty[index, way] = sets.dirty[index, before]
        way = before
    sets.tag[index, 0], sets.readable[index, 0], sets.dirty[index, 0] = line, readable, dirty


@inner
def set_of(addresses: Addresses, line: int, sets: int) -> int:
    """L2 set of a line: within its slice where slices interleave lines; otherwise by the hash alone."""
    mixed = spread(line) >> MOST_SHIFT
    if addresses.hash != CONSECUTIVE:
        return mixed % sets
    block = line << LINE_SHIFT >> addresses.block_shift
    channel, inside = block % addresses.channels, block // addresses.channels << addresses.block_shift
    inside |= line << LINE_SHIFT & ((1 << addresses.block_shift) - 1)
    place = channel * addresses.slices + (field(addresses.bank, inside) & (addresses.slices - 1))
    sets //= addresses.channels * addresses.slices
    return place * sets + mixed % sets


@loop
def slices_of(addresses: Addresses, lines: np.ndarray, slices: int) -> np.ndarray:
    """L2 slice of each line, int64[lines]."""
    return np.array([set_of(addresses, line, slices) for line in lines], np.int64)


@inner
def ask_l2(
    l2: Sets, addresses: Addresses, line: int, asked: int, writes: bool, full: int, count: np.ndarray, load: np.ndarray
) -> None:
    """Read or write the sectors ``asked`` of a line in the L2; a write covers the sectors ``full`` completely."""
    index = set_of(addresses, line, l2.tag.shape[0])
    counted = COUNT_BITS[asked] if line < TABLE_LINES else 0  # ``traffic`` counts entries of intersection tables
    load[index // (l2.tag.shape[0] // load.size)] += counted
    way = find(l2, index, line)
    readable, dirty = 0, 0
    if way < l2.tag.shape[1]:
        readable, dirty = l2.readable[index, way], l2.dirty[index, way]
    else:
        way -= 1
        count[WRITE_BACKS] += COUNT_BITS[l2.dirty[index, way]]
    if writes:
        count[WRITES] += counted
        count[WRITE_MISSES] += COUNT_BITS[asked & ~(readable | dirty)]
        readable, dirty = readable | full, dirty | asked
    else:
        count[READS] += COUNT_BITS[asked]
        count[READ_MISSES] += COUNT_BITS[asked & ~readable]
        readable |= asked
    use(l2, index, way, line, readable, dirty)


@inner
def read_l1(
    l1: Sets, l2: Sets, addresses: Addresses, index: int, line: int, asked: int, count: np.ndarray, load: np.ndarray
) -> None:
    """Read sectors of a line through the set ``index`` of an L1."""
    way = find(l1, index, line)
    readable, dirty = 0, 0
    if way < l1.tag.shape[1]:
        readable, dirty = l1.readable[index, way], l1.dirty[index, way]
    else:
        way -= 1
        left = l1.dirty[index, way]
        if left:
            ask_l2(l2, addresses, l1.tag[index, way], left, True, left, count, load)
    missing = asked & ~readable
    count[L1_MISSES] += COUNT_BITS[missing]
    if missing:
        ask_l2(l2, addresses, line, missing, False, 0, count, load)
    use(l1, index, way, line, readable | missing, dirty)


@inner
def write_l1(
    l1: Sets, l2: Sets, addresses: Addresses, index: int, line: int, asked: int, full: int, count: np.ndarray,
    load: np.ndarray,
) -> None:  # fmt: skip
    """Write sectors of a line through the set ``index`` of an L1, which allocates nothing for a write."""
    way = find(l1, index, line)
    kept = 0
    if way < l1.tag.shape[1]:
        if LOCAL_LINES <= line < HIT_LINES:
            kept = asked & l1.readable[index, way]
            use(l1, index, way, line, l1.readable[index, way], l1.dirty[index, way] | kept)
        else:
            l1.readable[index, way] &= ~asked
    count[L1_MISSES] += COUNT_BITS[asked & ~kept]
    if asked & ~kept:
        ask_l2(l2, addresses, line, asked & ~kept, True, full & ~kept, count, load)


@inner
def run(
    line: np.ndarray, sectors: np.ndarray, sm: np.ndarray, window: np.ndarray, l1: Sets, l2: Sets,
    addresses: Addresses, sms: int, count: np.ndarray, asked_of: np.ndarray, ignored: np.ndarray, nothing: np.ndarray,
) -> None:  # fmt: skip
    """Send the requests, in order, through the L1s of their SMs.

    count            int64[COUNTERS], zeros: gets the counters.
    asked_of         int64[windows, slices], zeros: gets the sectors asked of each L2 slice in each window.
    ignored, nothing as ``count`` and a row of ``asked_of``, for requests that are not counted.
    """
    sets = l1.tag.shape[0] // sms
    for row in range(line.size):
        kind = int(sectors[row])
        asked, full = kind & SECTORS, kind >> FULL_SHIFT
        if sm[row] == BEFORE:
            ask_l2(l2, addresses, line[row], asked, False, 0, ignored, nothing)
            continue
        if line[row] >= TABLE_LINES:
            ask_l2(l2, addresses, line[row], asked, True, 0, count, nothing)
            continue
        count[L1_ACCESSES] += COUNT_BITS[asked]
        # a hash independent of the L2's
        index = sm[row] * sets + (spread(line[row]) >> MOST_SHIFT) * 7919 % 65521 % sets
        if kind & WRITE:
            write_l1(l1, l2, addresses, index, line[row], asked, full, count, asked_of[window[row]])
        else:
            read_l1(l1, l2, addresses, index, line[row], asked, count, asked_of[window[row]])
