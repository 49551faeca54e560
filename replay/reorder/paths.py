"""Paths of threads through a trace, and the warps in which they run after each reorder."""

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.guard.code_cache import kept
from rayplay.formats.parquet.arrow import Columns
from rayplay.formats.schema.trace import REORDER_CALL

LANES = 32
BLOCKS_OF_KEY = {"program": 1, "path": 16, "hint": 1, "none": 0}
loop: Any = kept(njit(cache=True), ["replay/reorder/paths.py"])


class Code(NamedTuple):
    """Roles of blocks: the first of its program; ends it; holds a reorder. bool[blocks]."""

    first: np.ndarray
    ends: np.ndarray
    reorders: np.ndarray


class Paths(NamedTuple):
    """Visits by thread and time: thread 32 x warp + lane, row of ``visits``, depth of calls, reorders before it."""

    thread: np.ndarray
    visit: np.ndarray
    block: np.ndarray
    depth: np.ndarray
    generation: np.ndarray


class Stretches(NamedTuple):
    """Threads between two reorders: rows of the paths from ``begin`` to ``end``, and where each runs and ran."""

    begin: np.ndarray
    end: np.ndarray
    generation: np.ndarray
    place: np.ndarray  # 32 x warp + lane
    before: np.ndarray  # place in the generation before, -1 in the first


def code_of(trace: Trace) -> Code | None:
    """The roles of a trace's blocks; None where no instruction is a reorder."""
    rows = trace.read("instructions", ["operation_class", "block_id", "text"])
    calls = np.char.find(np.array(rows["text"], str), REORDER_CALL) >= 0
    if not calls.any():
        return None
    blocks = trace.read("blocks", ["program", "first_instruction", "instruction_count"])
    names = np.array(blocks["program"], str)
    last = blocks["first_instruction"].astype(np.int64) + blocks["instruction_count"] - 1
    reorders = np.zeros(len(names), bool)
    reorders[rows["block_id"][calls]] = True
    return Code(np.r_[True, names[1:] != names[:-1]], np.array(rows["operation_class"])[last] == "exit", reorders)


@loop
def walk(start: np.ndarray, block: np.ndarray, mask: np.ndarray, code: Code, out: np.ndarray) -> None:
    """Fill ``out`` int64[visited lanes, 5] with the columns of ``Paths``.

    start  int64[warps + 1], first visit of each warp.
    """
    row = 0
    after = np.empty(1 << 10, np.int64)
    for warp in range(len(start) - 1):
        for lane in range(32):
            depth, generation, last = 0, 0, -1
            for visit in range(start[warp], start[warp + 1]):
                if not mask[visit] >> lane & 1:
                    continue
                here = block[visit]
                if last >= 0 and code.first[here] and not code.ends[last]:
                    after[depth & 1023] = last + 1
                    depth += 1
                elif last >= 0 and code.ends[last] and not code.first[here]:
                    for below in range(depth - 1, -1, -1):
                        if after[below & 1023] == here:
                            depth = below
                            break
                out[row, 0], out[row, 1], out[row, 2], out[row, 3], out[row, 4] = (
                    32 * warp + lane, visit, here, depth, generation,
                )  # fmt: skip
                row += 1
                last = here
                if code.reorders[here]:
                    generation += 1


def paths_of(visits: Columns, warps: int, code: Code) -> Paths:
    """The paths of all threads of some warps, which are numbered from 0."""
    start = np.searchsorted(visits["warp_id"], np.arange(warps + 1))
    mask = visits["active_mask"].astype(np.int64)
    out = np.empty((int(np.bitwise_count(visits["active_mask"]).sum()), 5), np.int64)
    walk(start, visits["block_id"].astype(np.int64), mask, code, out)
    return Paths(*(np.ascontiguousarray(column) for column in out.T))


def dealt(paths: Paths, window: int, key: str, hints: np.ndarray | None = None) -> Stretches:
    """The places of each thread after each of its reorders.

    window  warps. hints: of the call that ends each row of the paths, for the key ``hint``.
    """
    begins = np.r_[True, (np.diff(paths.thread) != 0) | (np.diff(paths.generation) != 0)]
    begin = np.flatnonzero(begins)
    end = np.r_[begin[1:], len(begins)]
    thread, generation = paths.thread[begin], paths.generation[begin]
    group = thread // (LANES * window)
    place, before = thread.copy(), np.full(len(thread), -1)
    for now in range(1, int(generation.max(initial=0)) + 1):
        rows = np.flatnonzero(generation == now)
        earlier = place[rows - 1]  # the row before is the same thread's generation before
        said = () if hints is None else (hints[begin[rows] - 1],)
        order = np.lexsort((earlier, *said, *keys_of(paths, begin[rows], end[rows], key), group[rows]))
        in_group = group[rows][order]
        rank = np.arange(len(rows)) - np.searchsorted(in_group, in_group)
        place[rows[order]] = in_group * LANES * window + rank
        before[rows] = earlier
    return Stretches(begin, end, generation, place, before)


def keys_of(paths: Paths, begin: np.ndarray, end: np.ndarray, key: str) -> list[np.ndarray]:
    """Columns to sort by, the least important first."""
    found = [
        np.where(begin + k < end, paths.block[np.minimum(begin + k, end - 1)], -1) for k in range(BLOCKS_OF_KEY[key])
    ]
    return found[::-1]


@loop
def chosen(cursor: np.ndarray, end: np.ndarray, p: Paths) -> tuple[int, int]:
    """Block and depth of the deepest call, the lowest block first, among the next steps of 32 lanes; -1 without any."""
    block, depth = -1, -1
    for lane in range(32):
        here = cursor[lane]
        if here < end[lane] and (p.depth[here] > depth or (p.depth[here] == depth and p.block[here] < block)):
            block, depth = p.block[here], p.depth[here]
    return block, depth


@loop
def run_warp(
    cursor: np.ndarray, end: np.ndarray, p: Paths, warp: int, visits: np.ndarray, at: np.ndarray, count: int
) -> tuple[int, int]:
    """Visits of 32 stretches run together; the visits so far, and the lanes whose threads go on elsewhere."""
    leaving = 0
    while True:
        block, depth = chosen(cursor, end, p)
        if block < 0:
            return count, leaving
        mask = 0
        for lane in range(32):
            here = cursor[lane]
            if here < end[lane] and p.depth[here] == depth and p.block[here] == block:
                at[here] = count
                mask |= 1 << lane
                cursor[lane] += 1
                after = here + 1
                if after == end[lane] and after < len(p.thread) and p.thread[after] == p.thread[here]:
                    leaving |= 1 << lane
        visits[count, 0], visits[count, 1], visits[count, 2] = warp, block, mask
        count += 1


@loop
def merge(
    first: np.ndarray, order: np.ndarray, s: Stretches, p: Paths, extra: np.ndarray, visits: np.ndarray, at: np.ndarray
) -> int:
    """The visits of the new warps, int64[rows, 3]: warp, block, mask; ``at`` int64[paths]: their row by path.

    first   int64[warps + 1], rows of ``order`` of each new warp: stretches by warp, generation and lane.
    extra   blocks in which state is stored, warps meet, and state is loaded; -1 for none.
    """
    count = 0
    cursor, end = np.zeros(32, np.int64), np.zeros(32, np.int64)
    for warp in range(len(first) - 1):
        row = first[warp]
        while row < first[warp + 1]:
            generation, lanes = s.generation[order[row]], 0
            cursor[:], end[:] = 0, 0
            while row < first[warp + 1] and s.generation[order[row]] == generation:
                lane = s.place[order[row]] & 31
                cursor[lane], end[lane] = s.begin[order[row]], s.end[order[row]]
                lanes |= 1 << lane
                row += 1
            for each in range(1, 3):
                if generation > 0 and extra[each] >= 0:
                    visits[count, 0], visits[count, 1], visits[count, 2] = warp, extra[each], lanes
                    count += 1
            count, leaving = run_warp(cursor, end, p, warp, visits, at, count)
            if leaving and extra[0] >= 0:
                visits[count, 0], visits[count, 1], visits[count, 2] = warp, extra[0], leaving
                count += 1
    return count


class Moved(NamedTuple):
    """The new visits, and for each row of the paths its new visit, warp and lane."""

    visits: np.ndarray
    at: np.ndarray
    lane: np.ndarray


def run_together(paths: Paths, s: Stretches, warps: int, extra: np.ndarray) -> Moved:
    """Threads in the warps to which they were dealt."""
    order = np.lexsort((s.place, s.generation, s.place // LANES))
    first = np.searchsorted((s.place // LANES)[order], np.arange(warps + 1))
    visits, at = np.empty((len(paths.thread) + 3 * len(order), 3), np.int64), np.empty(len(paths.thread), np.int64)
    count = merge(first, order, s, paths, extra, visits, at)
    return Moved(visits[:count], at, np.repeat(s.place & 31, s.end - s.begin))
