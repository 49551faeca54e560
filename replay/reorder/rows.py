"""Accesses and rays of threads in the warps to which a reorder dealt them."""

import numpy as np

from rayplay.formats.edit.rows import take_lists
from rayplay.formats.parquet.arrow import Columns
from rayplay.replay.reorder.paths import LANES, Moved, Paths, Stretches
from rayplay.replay.reorder.program import Added
from rayplay.replay.reorder.spec import VECTOR_BYTES


def rows_of(paths: Paths, visit: np.ndarray, lane: np.ndarray) -> np.ndarray:
    """Rows of the paths in which a lane makes a visit."""
    key = paths.visit * LANES + (paths.thread & 31)
    order = np.argsort(key)
    return order[np.searchsorted(key[order], visit * LANES + lane)]


def hints_of(hints: Columns, paths: Paths, start: np.ndarray) -> np.ndarray:
    """int64[paths]: the hint of the call that a thread makes in a visit, 0 where it makes none.

    start  int64[warps], first visit of each warp.
    """
    lanes = (hints["lane_mask"][:, None] >> np.arange(LANES, dtype=np.uint32) & 1).astype(bool)
    row, lane = np.nonzero(lanes)
    found = np.zeros(len(paths.thread), np.int64)
    found[rows_of(paths, start[hints["warp_id"][row]] + hints["visit"][row].astype(np.int64), lane)] = hints["hint"]
    return found


def moved_accesses(old: Columns, paths: Paths, moved: Moved, start: np.ndarray) -> Columns:
    """Accesses of the new visits: rows of one instruction in one new visit are one row.

    start  int64[warps], first visit of each old warp.
    """
    lanes = (old["lane_mask"][:, None] >> np.arange(LANES, dtype=np.uint32) & 1).astype(bool)
    row, lane = np.nonzero(lanes)
    path = rows_of(paths, start[old["warp_id"][row]] + old["visit"][row].astype(np.int64), lane)
    return accesses_of(moved.at[path], old["instruction_id"][row].astype(np.int64), moved.lane[path], old["address"])


def accesses_of(visit: np.ndarray, instruction: np.ndarray, lane: np.ndarray, address: np.ndarray) -> Columns:
    """Rows of accesses from a row per lane; ``visit`` counts all visits, ``warp_id`` is left out."""
    order = np.lexsort((lane, instruction, visit))
    visit, instruction, lane = visit[order], instruction[order], lane[order]
    begins = np.flatnonzero(np.r_[True, (np.diff(visit) != 0) | (np.diff(instruction) != 0)][: len(visit)])
    bits = np.uint32(1) << lane.astype(np.uint32)
    return {
        "visit": visit[begins],
        "instruction_id": instruction[begins],
        "lane_mask": np.bitwise_or.reduceat(bits, begins) if len(begins) else bits,
        "address": address[order].astype(np.uint64),
        "address_offset": np.r_[begins, len(visit)],
    }


def state_accesses(s: Stretches, moved: Moved, new: Added, window: int, base: int) -> Columns:
    """Loads and stores of the threads' state, each word of a thread at the place that stored it."""
    rows = np.flatnonzero(s.before >= 0)
    visits, vectors = moved.visits, len(new.stores)
    slot = s.before[rows]
    group = slot // (LANES * window)
    address = base + group * LANES * window * VECTOR_BYTES * vectors + slot % (LANES * window) * VECTOR_BYTES
    stored = moved.at[s.end[rows - 1] - 1]
    stored = next_of(visits, stored, new.blocks[0])
    loaded = moved.at[s.begin[rows]]
    loaded = last_of(visits, loaded, new.blocks[2])
    parts = []
    for k in range(vectors):
        there = address + k * LANES * window * VECTOR_BYTES
        parts += [(stored, np.full(len(rows), new.stores[k]), slot & 31, there)]
        parts += [(loaded, np.full(len(rows), new.loads[k]), s.place[rows] & 31, there)]
    return accesses_of(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def next_of(visits: np.ndarray, row: np.ndarray, block: int) -> np.ndarray:
    """The first visit of a block after some visits, which are of the same warp."""
    rows = np.flatnonzero(visits[:, 1] == block)
    return rows[np.searchsorted(rows, row)]


def last_of(visits: np.ndarray, row: np.ndarray, block: int) -> np.ndarray:
    """The last visit of a block before some visits, which are of the same warp."""
    rows = np.flatnonzero(visits[:, 1] == block)
    return rows[np.searchsorted(rows, row) - 1]


def taken(table: Columns, order: np.ndarray) -> Columns:
    """A table with the rows of ``order``."""
    found: Columns = {}
    for name, column in table.items():
        offset = table.get(f"{name}_offset")
        if offset is not None:
            end = np.r_[0, np.cumsum(np.diff(offset)[order])].astype(offset.dtype)
            found[name] = take_lists(column, offset, order, int(end[-1]))
            found[f"{name}_offset"] = end
        elif not name.endswith("_offset"):
            found[name] = column[order]
    return found


def joined(ours: Columns, more: Columns) -> Columns:
    """Accesses of the program and of the reorders, in the order of the visits."""
    both = {name: np.concatenate([ours[name], more[name]]) for name in ours if name != "address_offset"}
    both["address_offset"] = np.r_[ours["address_offset"], more["address_offset"][1:] + len(ours["address"])]
    return taken(both, np.lexsort((both["instruction_id"], both["visit"])))


def in_warps(rows: Columns, warp: np.ndarray, first: np.ndarray) -> Columns:
    """Rows whose ``visit`` counts all visits, with their warp and the visit of it."""
    warps = warp[rows["visit"]]
    return rows | {"warp_id": warps, "visit": rows["visit"] - first[warps]}
