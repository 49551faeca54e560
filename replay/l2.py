"""L2 slice: sectored, LRU, write-back; a miss reserves its line; writes allocate without fetching (lazy fetch on read).

Peak rate: one sector looked up and one response sent per cycle and slice (24 slices x 32 B x 1365 MHz = 1,048 GB/s).
A read of a sector that was only partly written fetches it first. A miss needs an MSHR entry, a line that waits for
nothing, and room for its write-backs in the DRAM channel; while it finds none, its slice waits, as do all behind it.
Sets are chosen by a multiplicative hash of the line address, which spreads power-of-two strides as IPOLY does but
works for any number of sets. Sources: ``reference/vulkan-sim.md`` 1.10, ``reference/accel-sim.md`` C.
"""

import numpy as np

from replay import dram
from replay.bits import HASH_FACTOR, compiled, inlined
from replay.dram_state import Dram
from replay.l2_state import (
    DIRTY,
    FULL,
    HEAD,
    L2,
    MSHR_FREE,
    OUT_TAIL,
    PENDING,
    PENDING_HITS,
    READ_HITS,
    READ_MISSES,
    RESPOND_AT,
    SECTOR_MISSES,
    SECTORS,
    TAG,
    USED_AT,
    VALID,
    WRITE_BACKS,
    WRITE_HITS,
    WRITE_MISSES,
)
from replay.port import READ, WRITE


@compiled
def push_dram(state: L2, memory: Dram, part: int, now: int, sector: int, is_write: int, entry: int) -> None:
    """Send a sector to the slice's DRAM channel; the low bank bit tells neighbouring lines apart."""
    block = (sector >> 3) // state.controllers
    local = (block << 3) | (sector & 7)
    column_bits = state.sector_row_shift
    above = local >> 3 >> (column_bits - 2)
    bank = ((above << 1) | ((local >> 2) & 1)) % state.banks
    row = (above << 1) // state.banks
    dram.push(memory, part // state.slices_per_controller, now, bank, row, is_write, entry, part)


@inlined
def find(state: L2, part: int, line: int) -> int:
    """Row of the line address in its set, or -1."""
    first = set_of(state, part, line)
    for row in range(first, first + state.ways):
        if state.line[TAG, row] == line:
            return row
    return -1


@inlined
def set_of(state: L2, part: int, line: int) -> int:
    """First row of the set of a line address."""
    spread = ((line * HASH_FACTOR) >> 32) & FULL
    return (part * state.sets + ((spread * state.sets) >> 32)) * state.ways


@inlined
def victim(state: L2, part: int, line: int) -> int:
    """The row to replace: an empty one, else the least recently used that waits for nothing, else -1."""
    first = set_of(state, part, line)
    best, best_at = -1, 1 << 62
    for row in range(first, first + state.ways):
        if state.line[TAG, row] < 0:
            return row
        if state.line[PENDING, row] == 0 and state.line[USED_AT, row] < best_at:
            best, best_at = row, state.line[USED_AT, row]
    return best


@compiled
def allocate(state: L2, memory: Dram, part: int, row: int, now: int, line: int) -> None:
    """Give a row to a line address and write the dirty sectors of its old line back."""
    dirty = state.line[DIRTY, row]
    for sector in range(SECTORS):
        if (dirty >> sector) & 1:
            push_dram(state, memory, part, now, state.line[TAG, row] * SECTORS + sector, 1, 0)
            state.stats[part, WRITE_BACKS] += 1
        state.written[row, sector] = 0
    state.line[TAG, row] = line
    state.line[VALID, row] = 0
    state.line[DIRTY, row] = 0
    state.line[PENDING, row] = 0


@inlined
def respond(state: L2, part: int, now: int, sm: int, tag: int) -> None:
    """Send a response, one per cycle and slice."""
    at = max(now, state.slice[part, RESPOND_AT])
    state.slice[part, RESPOND_AT] = at + 1
    row = part * state.ring + (state.slice[part, OUT_TAIL] & (state.ring - 1))
    state.slice[part, OUT_TAIL] += 1
    state.output[row, 0] = at
    state.output[row, 1] = sm
    state.output[row, 2] = tag


@inlined
def look_up(state: L2, memory: Dram, part: int, now: int) -> bool:
    """Serve the request at the slice's head; False when it has to wait for a fill."""
    head = part * state.ring + (state.slice[part, HEAD] & (state.ring - 1))
    sector, kind_and_mask = state.input[head, 1], state.input[head, 2]
    kind, byte_mask = kind_and_mask & 3, kind_and_mask >> 2
    tag, sm = state.input[head, 3], state.input[head, 4]
    line, offset = sector >> 2, sector & 3
    row = find(state, part, line)
    bit = 1 << offset
    if kind == WRITE:
        return write(state, memory, part, now, line, row, offset, byte_mask, sm, tag)
    if row >= 0 and state.line[VALID, row] & bit:
        state.stats[part, READ_HITS] += 1
        if kind != READ:
            state.line[DIRTY, row] |= bit
        state.line[USED_AT, row] = now
        respond(state, part, now, sm, tag)
        return True
    if row >= 0 and state.line[PENDING, row] & bit:
        return merge(state, part, now, row, offset, sm, tag, kind)
    return miss(state, memory, part, now, line, row, offset, sm, tag, kind)


@inlined
def merge(state: L2, part: int, now: int, row: int, offset: int, sm: int, tag: int, kind: int) -> bool:
    """Wait for a sector that is already being fetched."""
    entry = part * state.entries + state.entry_of[row, offset]
    waiting = state.mshr[entry, 2]
    if waiting == state.merges:
        return False
    state.waiter[entry * state.merges + waiting, 0] = sm
    state.waiter[entry * state.merges + waiting, 1] = tag
    state.mshr[entry, 2] = waiting + 1
    if kind != READ:
        state.line[DIRTY, row] |= 1 << offset
    state.line[USED_AT, row] = now
    state.stats[part, PENDING_HITS] += 1
    return True


@inlined
def miss(
    state: L2, memory: Dram, part: int, now: int, line: int, row: int, offset: int, sm: int, tag: int, kind: int
) -> bool:
    """Fetch a sector; False when there is no MSHR entry, no line or no room in the channel."""
    if state.slice[part, MSHR_FREE] == 0 or not dram.has_room(memory, part // state.slices_per_controller, 5):
        return False
    if row < 0:
        row = victim(state, part, line)
        if row < 0:
            return False
        allocate(state, memory, part, row, now, line)
        state.stats[part, READ_MISSES] += 1
    else:
        state.stats[part, SECTOR_MISSES] += 1
    state.slice[part, MSHR_FREE] -= 1
    free = state.mshr_free[part, state.slice[part, MSHR_FREE]]
    entry = part * state.entries + free
    state.mshr[entry, 0] = row
    state.mshr[entry, 1] = offset
    state.mshr[entry, 2] = 1
    state.waiter[entry * state.merges, 0] = sm
    state.waiter[entry * state.merges, 1] = tag
    state.entry_of[row, offset] = free
    state.line[PENDING, row] |= 1 << offset
    if kind != READ:
        state.line[DIRTY, row] |= 1 << offset
    state.line[USED_AT, row] = now
    push_dram(state, memory, part, now, line * SECTORS + offset, 0, free)
    return True


@inlined
def write(
    state: L2, memory: Dram, part: int, now: int, line: int, row: int, offset: int, byte_mask: int, sm: int, tag: int
) -> bool:
    """Write some bytes of a sector and acknowledge; a sector written in full becomes readable without a fetch."""
    bit = 1 << offset
    if row >= 0 and (state.line[VALID, row] | state.line[DIRTY, row] | state.line[PENDING, row]) & bit:
        state.stats[part, WRITE_HITS] += 1
    elif row >= 0:
        state.stats[part, WRITE_MISSES] += 1
    else:
        if not dram.has_room(memory, part // state.slices_per_controller, 5):
            return False
        row = victim(state, part, line)
        if row < 0:
            return False
        allocate(state, memory, part, row, now, line)
        state.stats[part, WRITE_MISSES] += 1
    written = np.int64(state.written[row, offset]) | byte_mask
    state.written[row, offset] = written
    state.line[DIRTY, row] |= bit
    if written == FULL:
        state.line[VALID, row] |= bit
    state.line[USED_AT, row] = now
    respond(state, part, now, sm, tag)
    return True


@inlined
def fill(state: L2, part: int, now: int, free: int) -> None:
    """A fetched sector arrived: it is readable, and all that waited for it are answered."""
    entry = part * state.entries + free
    row, offset = state.mshr[entry, 0], state.mshr[entry, 1]
    state.line[VALID, row] |= 1 << offset
    state.line[PENDING, row] &= ~(1 << offset)
    state.written[row, offset] = 0
    for waiting in range(state.mshr[entry, 2]):
        at = entry * state.merges + waiting
        respond(state, part, now, state.waiter[at, 0], state.waiter[at, 1])
    state.mshr_free[part, state.slice[part, MSHR_FREE]] = free
    state.slice[part, MSHR_FREE] += 1
