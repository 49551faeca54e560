"""Memory instructions of warps as requests for lines.

Global memory keeps its addresses. Local memory is interleaved: word w of all threads of an SM lies together, so a word
of a warp is one line. The line depends on the warp's slot, so the stream names it by its word and ``traffic.in_order``
adds the slot. A sector that a store does not write in full must be fetched before it is read (lazy fetch on read), so
stores mark the sectors they write in full. Shared and constant memory do not reach the L1. The first lane's address
tells the space of a generic access, as in the replay. Source: ``docs/sources/accel-sim.md#coalescing, #l1-front-end``.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.parquet.arrow import Columns
from rayplay.replay.geometry import count_bits, lowest_bit
from rayplay.zatel.model.follow import inner, is_followed

LOCAL_LINES = 1 << 39  # words of local memory are lines from here on
WRITE = 16  # bit of ``sectors`` above the bits of the four sectors
FULL_SHIFT = 8  # first of four bits: sectors that a store writes in full
LANES = 32
GLOBAL, ELSEWHERE, LOCAL, GENERIC = range(4)
SPACES = {"shared": ELSEWHERE, "const": ELSEWHERE, "param": ELSEWHERE, "local": LOCAL, "generic": GENERIC}
SASS_LOCAL_BYTES = 1 << 14  # of all threads, as Accel-Sim tells generic local addresses


class Static(NamedTuple):
    """Bytes, store flag and space of each static instruction; a thread's bytes of local memory.

    Local and shared memory have generic addresses from their ``begin`` to before their ``end``.
    """

    access_bytes: np.ndarray
    stores: np.ndarray
    space: np.ndarray
    local_begin: int
    local_end: int
    thread_bytes: int
    shared_begin: int
    shared_end: int


class Rows(NamedTuple):
    """Rows of ``accesses``: instruction and lanes of each, uint32; offset of each and the addresses, int64."""

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
    """Read the memory behaviour of the instructions of a trace's first launch.

    As Accel-Sim takes SASS: local memory follows shared memory, without both bases all generic accesses are shared, and
    atomics are global.
    """
    table, kernels = trace.read("instructions"), trace.read("kernels")
    kernel = {name: column[0] for name, column in kernels.items()}
    is_sass, classes = str(kernel["source"]) == "sass", table["operation_class"].astype(str)
    space = np.array([SPACES.get(name, GLOBAL) for name in table["memory_space"].astype(str)], np.int64)
    space[is_sass & (classes == "atomic") & (space == GENERIC)] = GLOBAL
    local, shared, own = (int(kernel[name]) for name in ("local_base", "shared_base", "local_bytes"))
    threads = math.prod(int(kernel[f"{of}_{axis}"]) for of in ("grid", "block") for axis in "xyz")
    local_end = local + (SASS_LOCAL_BYTES if is_sass else own * threads)
    shared_end = local if is_sass else shared + int(kernel["shared_bytes"])
    if is_sass and not (shared and local):
        shared, shared_end = 0, 1 << 62
    stores = classes == "store"
    return Static(table["access_bytes"].astype(np.int64), stores, space, local, local_end, own, shared, shared_end)


class Room:
    """Memory for the requests of one batch of accesses after another, asked of the system once."""

    def __init__(self) -> None:
        self._arrays = np.empty(0, np.int64), np.empty(0, np.uint16), np.empty(0, np.uint32)

    def of(self, rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Lines, sectors and words of as many requests, with any values; the next call gives the same memory."""
        if rows > len(self._arrays[0]):
            self._arrays = np.empty(rows, np.int64), np.empty(rows, np.uint16), np.empty(rows, np.uint32)
        return self._arrays


def lines_of(pieces: Sequence[Columns], static: Static, shift: int = 0, room: Room | None = None) -> Accesses:
    """Requests of some pieces of ``accesses``, which follow each other.

    shift  of set sampling: of global memory one of 2^``shift`` lines.
    room   for line and sectors, which the next call with it overwrites; memory of their own when ``None``.
    """
    none = [np.zeros(0, np.int64)]
    warp, visit = (np.concatenate([*none, *(piece[name] for piece in pieces)]) for name in ("warp_id", "visit"))
    most = sum(len(piece["address"]) for piece in pieces) * (int(static.access_bytes.max(initial=4)) // 4 + 2)
    line, sectors, words = (room or Room()).of(most)
    found, rows, count = Accesses(warp, visit, np.zeros(len(warp) + 1, np.int64), line, sectors), 0, 0
    for piece in pieces:
        offset, address = (piece[name].view(np.int64) for name in ("address_offset", "address"))
        given = Rows(piece["instruction_id"], piece["lane_mask"], offset, address)
        count = explode(given, static, (1 << shift) - 1, found._replace(offset=found.offset[rows:]), words, count)
        rows += len(offset) - 1
    return found._replace(line=line[:count], sectors=sectors[:count])


@inner
def explode(rows: Rows, static: Static, only: int, out: Accesses, words: np.ndarray, end: int) -> int:
    """Fill the requests of ``out`` from the row ``end`` on; return the end.

    words  uint32, gets the words of the line that each request covers.
    only   mask of ``is_followed``.

    Lanes mostly ask for what their neighbour asked for, so its line is tried first. An address that lies as many
    threads' bytes of local memory further as its lane is the same word of another thread: no division finds it. Where
    all lanes ask for the same words, these are found at once.
    """
    for row in range(rows.instruction.size):
        start, hint, before, inside, first = end, end, -1, 0, end
        of, place, lanes, address = rows.instruction[row], rows.offset[row], rows.lane_mask[row], np.int64(-1)
        size, space = max(static.access_bytes[of], 1), space_of(static, of, rows.address[place] if lanes else 0)
        if space == LOCAL and static.thread_bytes and are_alike(rows, place, lanes, static.thread_bytes):
            inside, asked = (rows.address[place] - static.local_begin) % static.thread_bytes, sectors_of(lanes)
            for word in range(inside >> 2, max((inside >> 2) + 1, (inside + size) >> 2)):
                out.line[end], out.sectors[end], words[end] = LOCAL_LINES + word, asked, lanes
                end += 1
            space = ELSEWHERE
        for lane in range(LANES if space == LOCAL else 0):
            if not (lanes >> lane) & 1:
                continue
            previous, address = address, rows.address[place]
            place += 1
            if before < 0 or address - previous != (lane - before) * static.thread_bytes:
                inside = (address - static.local_begin) % static.thread_bytes if static.thread_bytes else address
            hint = first
            for word in range(inside >> 2, max((inside >> 2) + 1, (inside + size) >> 2)):
                hint = touch(LOCAL_LINES + word, 1 << lane, 1 << (lane >> 3), start, end, hint, out, words)
                first = hint if word == inside >> 2 else first
                hint += 1
                end = max(end, hint)
            before = lane
        place = rows.offset[row] + count_bits(np.int64(lanes))
        for at in range(rows.offset[row] if space == GLOBAL else place, place):
            previous, address = address, rows.address[at]
            if address != previous:
                end, hint = touch_global(address, size, only, start, end, hint, out, words)
        for further in range(place, rows.offset[row + 1]):
            line, word = rows.address[further] >> 7, rows.address[further] >> 2 & 31
            if is_followed(line, only):
                end = max(end, touch(line, 1 << word, 1 << (word >> 3), start, end, start, out, words) + 1)
        if static.stores[of]:
            mark_stores(start, end, out, words)
        out.offset[row + 1] = end
    return end


@inner
def are_alike(rows: Rows, place: int, lanes: int, stride: int) -> bool:
    """Whether the addresses from ``place`` on, of these lanes, lie as many strides apart as their lanes."""
    left, differs = np.int64(lanes), np.int64(0)
    base = rows.address[place] - stride * lowest_bit(left)
    for at in range(place, place + count_bits(left)):  # no branch that depends on the mask
        differs |= rows.address[at] ^ (base + stride * lowest_bit(left))
        left &= left - 1
    return differs == 0


@inner
def sectors_of(lanes: int) -> int:
    """Sectors of the words that these lanes ask for, a word each."""
    found = 0
    for sector in range(4):
        if (lanes >> (8 * sector)) & 255:
            found |= 1 << sector
    return found


@inner
def space_of(static: Static, of: int, address: int) -> int:
    """Space of an access of the instruction ``of`` whose first lane has this address; never ``GENERIC``."""
    space = int(static.space[of])
    if space == GENERIC:
        space = GLOBAL
        if static.shared_begin <= address < static.shared_end:
            space = ELSEWHERE
        elif static.local_begin <= address < static.local_end:
            space = LOCAL
    return space


@inner
def touch_global(
    address: int, size: int, only: int, start: int, end: int, hint: int, out: Accesses, words: np.ndarray
) -> tuple[int, int]:
    """Add the bytes that a lane asks of global memory, as ``touch`` does; return the new end, and the line's row."""
    word, last = address >> 2, (address + size - 1) >> 2
    while word <= last:
        line, upto = word >> 5, min(last, word | 31)
        if (start <= hint < end and out.line[hint] == line) or is_followed(line, only):
            asked = ((1 << (upto - word + 1)) - 1) << (word & 31)
            sector, more = (word & 31) >> 3, ((upto & 31) >> 3) - ((word & 31) >> 3)
            hint = touch(line, asked, ((2 << more) - 1) << sector, start, end, hint, out, words)
            end = max(end, hint + 1)
        word = upto + 1
    return end, hint


@inner
def touch(
    line: int, asked: int, sectors: int, start: int, end: int, hint: int, out: Accesses, words: np.ndarray
) -> int:
    """Add the words ``asked`` of a line to an access whose requests are the rows ``start`` to ``end``.

    Returns the row of the line, ``end`` for a new one. ``hint`` is the row to look at first.
    """
    row = hint
    if not (start <= hint < end and out.line[hint] == line):
        row = start
        while row < end and out.line[row] != line:
            row += 1
    if row == end:
        out.line[row], out.sectors[row], words[row] = line, 0, 0
    out.sectors[row] |= sectors
    words[row] |= np.uint32(asked)
    return row


@inner
def mark_stores(start: int, end: int, out: Accesses, words: np.ndarray) -> None:
    """Mark the requests from ``start`` to ``end`` as stores, and their sectors with all eight words written."""
    for row in range(start, end):
        out.sectors[row] |= WRITE
        for sector in range(4):
            if (words[row] >> np.uint32(8 * sector)) & np.uint32(255) == np.uint32(255):
                out.sectors[row] |= 1 << (FULL_SHIFT + sector)
