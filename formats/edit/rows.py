"""Remove lanes from the rows of ``visits``, ``accesses`` and ``rays``, for ``filter``; numba compiles the loops.

All functions work on the rows of some whole warps at a time. ``selected`` is uint32[warps], the lanes of each warp that
stay; ``whole`` is bool[blocks], the blocks whose visits keep all their lanes.
"""

from typing import Any

import numpy as np
from numba import njit

from rayplay.formats.guard.code_cache import kept
from rayplay.formats.parquet.arrow import Columns

loop: Any = kept(njit(cache=True), ["formats/edit/rows.py"])


@loop
def mask_visits(
    warp: np.ndarray, block: np.ndarray, active_mask: np.ndarray, selected: np.ndarray, whole: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The mask that each visit keeps, uint32, and the ordinal in its warp of the last kept visit up to it, int64.

    selected  uint32[warps], lanes that stay. whole  bool[blocks], blocks whose visits keep all their lanes.
    """
    masks = np.empty(warp.size, np.uint32)
    ordinals = np.empty(warp.size, np.int64)
    kept = -1
    for row in range(warp.size):
        if row == 0 or warp[row] != warp[row - 1]:
            kept = -1
        mask = active_mask[row]
        if not whole[block[row]]:
            mask &= selected[warp[row]]
        if mask != 0:
            kept += 1
        masks[row] = mask
        ordinals[row] = kept
    return masks, ordinals


@loop
def compress(old: np.ndarray, new: np.ndarray, values: np.ndarray, offset: np.ndarray, total: int) -> np.ndarray:
    """Of the values, one per set bit of the masks ``old``, the ``total`` ones whose bit is set in ``new``.

    offset  where the values of each row begin. A row with more values than bits keeps the rest where all bits stay.
    """
    kept = np.empty(total, values.dtype)
    written = 0
    for row in range(old.size):
        read = offset[row]
        before = old[row]
        after = new[row]
        while before != 0:
            lowest = before & (~before + np.uint32(1))
            if after & lowest:
                kept[written] = values[read]
                written += 1
            read += 1
            before ^= lowest
        while after == old[row] and read < offset[row + 1]:
            kept[written] = values[read]
            written += 1
            read += 1
    return kept


@loop
def take_lists(values: np.ndarray, offset: np.ndarray, rows: np.ndarray, total: int) -> np.ndarray:
    """The lists of the given rows, ``total`` values, one after the other."""
    taken = np.empty(total, values.dtype)
    written = 0
    for row in rows:
        for place in range(offset[row], offset[row + 1]):
            taken[written] = values[place]
            written += 1
    return taken


def filter_visits(visits: Columns, selected: np.ndarray, whole: np.ndarray) -> tuple[Columns, np.ndarray]:
    """The visits that keep a lane, and for each given visit the ordinal, in its warp, of the last kept one up to it.

    The ordinals are int64[visits], -1 before the first kept visit of a warp.
    """
    masks, ordinals = mask_visits(visits["warp_id"], visits["block_id"], visits["active_mask"], selected, whole)
    stays = masks != 0
    kept = {"warp_id": visits["warp_id"][stays], "block_id": visits["block_id"][stays], "active_mask": masks[stays]}
    return kept, ordinals


def visit_rows(rows: Columns, visits: Columns) -> np.ndarray:
    """int64[rows]: the row in ``visits`` that each row's ``warp_id`` and ``visit`` name.

    ``ValueError`` names the first row whose warp has no such visit.
    """
    first = np.searchsorted(visits["warp_id"], rows["warp_id"], side="left")
    end = np.searchsorted(visits["warp_id"], rows["warp_id"], side="right")
    place = first + rows["visit"].astype(np.int64)
    beyond = np.flatnonzero(place >= end)
    if beyond.size:
        row = int(beyond[0])
        count = int(end[row] - first[row])
        found = f"visit must be below {count}, the visits of warp {rows['warp_id'][row]}, not {rows['visit'][row]}"
        raise ValueError(found)
    return place


def check_addresses(accesses: Columns, textures: np.ndarray, values: str = "addresses") -> None:
    """``ValueError`` names the first access that does not hold one address per lane of its mask.

    textures  bool[instructions]: may hold more.
    values    noun of the error.
    """
    counts = np.diff(accesses["address_offset"].astype(np.int64))
    lanes = np.bitwise_count(accesses["lane_mask"])
    wrong = np.flatnonzero((counts < lanes) | (counts > lanes) & ~textures[accesses["instruction_id"]])
    if wrong.size:
        row = int(wrong[0])
        where = f"warp {accesses['warp_id'][row]}, visit {accesses['visit'][row]}"
        raise ValueError(f"{where}: must have {lanes[row]} {values}, one per lane of its mask, not {counts[row]}")


def filter_accesses(accesses: Columns, lanes: np.ndarray, ordinals: np.ndarray) -> Columns:
    """The accesses with ``lane_mask`` cut to ``lanes``, uint32[rows], and ``visit`` replaced by ``ordinals``.

    Rows without lanes and the addresses of removed lanes are dropped. A texture access that loses a lane loses its
    further sectors.
    """
    old, offset = accesses["lane_mask"], accesses["address_offset"].astype(np.int64)
    new = old & lanes
    stays = new != 0
    counts = np.where(new == old, np.diff(offset), np.bitwise_count(new))
    kept = {
        "warp_id": accesses["warp_id"][stays],
        "visit": ordinals[stays].astype(np.uint32),
        "instruction_id": accesses["instruction_id"][stays],
        "lane_mask": new[stays],
        "address": compress(old, new, accesses["address"], offset, int(counts.sum(dtype=np.int64))),
    }
    kept["address_offset"] = _offsets(counts[stays])
    return kept


def as_accesses(hints: Columns) -> Columns:
    """Rows of ``hints`` in the form of accesses, each hint in place of an address."""
    return {name.replace("hint", "address"): values for name, values in hints.items()}


def as_hints(accesses: Columns) -> Columns:
    """Rows of accesses whose addresses are hints in the form of ``hints``."""
    hints = {name.replace("address", "hint"): values for name, values in accesses.items()}
    return hints | {"hint": hints["hint"].astype(np.uint32)}


def filter_hints(hints: Columns, lanes: np.ndarray, ordinals: np.ndarray) -> Columns:
    """The hints of the ``lanes``, as ``filter_accesses`` has it."""
    return as_hints(filter_accesses(as_accesses(hints), lanes, ordinals))


def filter_predicates(predicates: Columns, lanes: np.ndarray, active: np.ndarray, ordinals: np.ndarray) -> Columns:
    """The predicates with ``lane_mask`` cut to ``lanes``, uint32[rows], where it is still fewer than the active lanes.

    active: uint32[rows], the unfiltered mask of each row's visit; ordinals: its number afterwards.
    """
    mask = predicates["lane_mask"] & lanes
    stays = mask != (active & lanes)
    kept = {name: predicates[name][stays] for name in ("warp_id", "instruction_id")}
    return {**kept, "visit": ordinals[stays].astype(np.uint32), "lane_mask": mask[stays]}


def ray_stays(rays: Columns, lanes: np.ndarray) -> np.ndarray:
    """bool[rays]: whether the ray's lane is one of its ``lanes``, uint32[rays]."""
    stays: np.ndarray = (lanes & (np.uint32(1) << rays["lane"].astype(np.uint32))) != 0
    return stays


def filter_rays(rays: Columns, lanes: np.ndarray, ordinals: np.ndarray) -> Columns:
    """The rays of the ``lanes``, uint32[rays], their ``visit`` replaced by ``ordinals``, int64[rays]."""
    stays = ray_stays(rays, lanes)
    ragged = ("node", "node_offset")
    kept = {name: values[stays] for name, values in rays.items() if name not in ragged}
    kept["visit"] = ordinals[stays].astype(np.uint32)
    offset = rays["node_offset"].astype(np.int64)
    kept["node_offset"] = _offsets(np.diff(offset)[stays])
    kept["node"] = take_lists(rays["node"], offset, np.flatnonzero(stays), int(kept["node_offset"][-1]))
    return kept


def _offsets(counts: np.ndarray) -> np.ndarray:
    """uint64[rows + 1]: where each of the lists of these lengths starts."""
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.uint64)
