"""Memory instructions of warps as requests for lines.

Global memory keeps its addresses. Local memory is interleaved: word w of all threads of an SM lies together, so a word
of a warp is one line. The line depends on the warp's slot, so the stream names it by its word and ``traffic.in_order``
adds the slot. A sector that a store does not write in full must be fetched before it is read (lazy fetch on read), so
stores mark the sectors they write in full. Shared and constant memory do not reach the L1. Source:
``docs/sources/accel-sim.md#coalescing, #l1-front-end``.
"""

from typing import NamedTuple

import numpy as np

from rayplay.formats.dataset.reader import Trace
from rayplay.zatel.model.follow import is_followed, loop

LOCAL_LINES = 1 << 39  # words of local memory are lines from here on
WRITE = 16  # bit of ``sectors`` above the bits of the four sectors
FULL_SHIFT = 8  # first of four bits: sectors that a store writes in full
LANES = 32
GLOBAL, ELSEWHERE, LOCAL, GENERIC = range(4)
SPACES = {"global": GLOBAL, "shared": ELSEWHERE, "const": ELSEWHERE, "param": ELSEWHERE, "local": LOCAL}


class Static(NamedTuple):
    """Bytes, store flag and space of each static instruction; bounds of local memory and a thread's bytes of it."""

    access_bytes: np.ndarray
    stores: np.ndarray
    space: np.ndarray
    local_begin: int
    local_end: int
    thread_bytes: int


class Rows(NamedTuple):
    """Rows of ``accesses``, int64: instruction, lanes and offset of each, and the addresses."""

    instruction: np.ndarray
    lane_mask: np.ndarray
    offset: np.ndarray
    address: np.ndarray


class Accesses(NamedTuple):
    """Requests of accesses: warp, visit and offset by access, int64; line and sectors (as in a stream) by request."""

    warp: np.ndarray
    visit: np.ndarray
    offset: np.ndarray
    line: np.ndarray
    sectors: np.ndarray


def read_static(trace: Trace) -> Static:
    """Read the memory behaviour of the instructions of a trace's first launch."""
    table, kernel = trace.read("instructions"), trace.read("kernels")
    space = np.array([SPACES.get(name, GENERIC) for name in table["memory_space"].astype(str)], np.int64)
    begin, thread_bytes = int(kernel["local_base"][0]), int(kernel["local_bytes"][0])
    end = begin + thread_bytes * trace.rows("warps") * LANES
    stores = table["operation_class"].astype(str) == "store"
    return Static(table["access_bytes"].astype(np.int64), stores, space, begin, end, thread_bytes)


def lines_of(columns: dict[str, np.ndarray] | None, static: Static, shift: int = 0) -> Accesses:
    """Requests of a batch of ``accesses``; ``None`` stands for a trace without the table.

    shift  of set sampling: of global memory one of 2^``shift`` lines.
    """
    if columns is None:
        none = np.zeros(0, np.int64)
        return Accesses(none, none, np.zeros(1, np.int64), none, np.zeros(0, np.uint16))
    warp, visit, instruction, lanes, offset = (
        columns[name].astype(np.int64) for name in ("warp_id", "visit", "instruction_id", "lane_mask", "address_offset")
    )
    rows = Rows(instruction, lanes, offset, columns["address"].astype(np.int64))
    room = len(rows.address) * (int(static.access_bytes.max(initial=4)) // 4 + 2)
    found = Accesses(
        warp, visit, np.zeros(len(warp) + 1, np.int64), np.empty(room, np.int64), np.empty(room, np.uint16)
    )
    count = explode(rows, static, (1 << shift) - 1, found, np.zeros(room, np.uint32))
    return found._replace(line=found.line[:count].copy(), sectors=found.sectors[:count].copy())


@loop
def explode(rows: Rows, static: Static, only: int, out: Accesses, words: np.ndarray) -> int:
    """Fill the requests of ``out``; ``words``, uint32 zeros, gets the words of the line that each request covers.

    only  mask of ``is_followed``.
    """
    end = 0
    for row in range(rows.instruction.size):
        start, of = end, rows.instruction[row]
        place, lanes = rows.offset[row], rows.lane_mask[row]
        for lane in range(LANES):
            if not (lanes >> lane) & 1:
                continue
            address = rows.address[place]
            place += 1
            space, size = static.space[of], max(static.access_bytes[of], 1)
            if space == GENERIC:
                space = LOCAL if static.local_begin <= address < static.local_end else GLOBAL
            if space == LOCAL:
                inside = (address - static.local_begin) % static.thread_bytes if static.thread_bytes else address
                for word in range(inside >> 2, max((inside >> 2) + 1, (inside + size) >> 2)):
                    end = touch(LOCAL_LINES + word, lane, start, end, out, words)
            elif space == GLOBAL:
                for word in range(address >> 2, ((address + size - 1) >> 2) + 1):
                    if is_followed(word >> 5, only):
                        end = touch(word >> 5, word & 31, start, end, out, words)
        for further in range(place, rows.offset[row + 1]):
            if is_followed(rows.address[further] >> 7, only):
                end = touch(rows.address[further] >> 7, rows.address[further] >> 2 & 31, start, end, out, words)
        if static.stores[of]:
            mark_stores(start, end, out, words)
        out.offset[row + 1] = end
    return end


@loop
def touch(line: int, word: int, start: int, end: int, out: Accesses, words: np.ndarray) -> int:
    """Add a word of a line to an access whose requests begin at ``start``; return their new end."""
    row = start
    while row < end and out.line[row] != line:
        row += 1
    if row == end:
        out.line[row], out.sectors[row], words[row] = line, 0, 0
        end += 1
    out.sectors[row] |= 1 << (word >> 3)
    words[row] |= np.uint32(1) << np.uint32(word)
    return end


@loop
def mark_stores(start: int, end: int, out: Accesses, words: np.ndarray) -> None:
    """Mark the requests from ``start`` to ``end`` as stores, and their sectors with all eight words written."""
    for row in range(start, end):
        out.sectors[row] |= WRITE
        for sector in range(4):
            if (words[row] >> np.uint32(8 * sector)) & np.uint32(255) == np.uint32(255):
                out.sectors[row] |= 1 << (FULL_SHIFT + sector)
