"""The arrays of the window, and how rows of retired warps are taken out of their middle.

Every array holds the rows of the window's warps one after the other: visits, accesses and trace operations as the spans
say, the others by pointers (sectors of an access, rays of an operation, records of a ray). Rows are taken out
warp by warp; rows behind move down, and so must every cursor into them.
"""

from collections.abc import Callable

import numpy as np

Arrays = dict[str, np.ndarray]
# leader of a group of arrays with the same rows -> their dtypes; what no plug-in needs has no rows
GROUPS: dict[str, dict[str, type]] = {
    "block": {"block": np.uint32, "mask": np.uint32},
    "access_key": {"access_key": np.int64, "access_first": np.int64, "conflict": np.uint8},
    "trace_visit": {"trace_visit": np.int64, "first_ray": np.int64},
    "predicate_key": {"predicate_key": np.int64, "predicate_lanes": np.uint8},
    "sector": {"sector": np.int64, "byte_mask": np.uint32},
    "lane": {"lane": np.uint8, "first_node": np.int64, "first_store": np.int64, "ray": np.float32, "hit": np.int32},
    "node": {"node": np.uint32, "distance": np.int32, "subtree": np.int32},
    "store": {"store": np.int64},
}
# groups whose rows the columns of ``span`` bound, first and end each
SPANS = ("block", "access_key", "trace_visit", "predicate_key")
POINTERS = {"access_first": "sector", "first_ray": "lane", "first_node": "node", "first_store": "store"}


def empty_arrays() -> Arrays:
    """The arrays of a window without warps."""
    arrays: Arrays = {name: np.zeros(0, kind) for group in GROUPS.values() for name, kind in group.items()}
    arrays["ray"], arrays["hit"] = np.zeros((0, 6), np.float32), np.zeros((0, 2), np.int32)
    return arrays | {"span": np.zeros((0, 2 * len(SPANS)), np.int64)}


def bounds(arrays: Arrays) -> dict[str, np.ndarray]:
    """Leader of a group -> int64[warps + 1]: where the rows of each warp begin, and the end."""
    found = {}
    for column, leader in enumerate(SPANS):
        found[leader] = np.append(arrays["span"][:, 2 * column], len(arrays[leader]))
    for pointer, target in POINTERS.items():
        holder = next(leader for leader, group in GROUPS.items() if pointer in group)
        found[target] = np.append(arrays[pointer], len(arrays[target]))[found[holder]]
    return found


class Moved:
    """By how many rows the rows of each warp move down when the rows of warps not kept are taken out.

    first_warp   number of the window's first warp; ``keep``: bool per warp.
    """

    def __init__(self, arrays: Arrays, first_warp: int, keep: np.ndarray) -> None:
        self.first_warp, self.keep = first_warp, keep
        self.begin = bounds(arrays)
        self.kept = {name: np.diff(begin) * keep for name, begin in self.begin.items()}
        self.shift = {
            name: np.append(begin, 0)[: len(keep)] - (np.cumsum(self.kept[name]) - self.kept[name])
            for name, begin in self.begin.items()
        }

    def of_warps(self, name: str, warps: np.ndarray) -> np.ndarray:
        """Offset to subtract from cursors of these warps into array ``name``; 0 for warps outside the window."""
        row = warps - self.first_warp
        inside = (row >= 0) & (row < len(self.keep))
        if not len(self.keep):
            return np.zeros(len(warps), np.int64)
        return np.where(inside, self.shift[name][np.where(inside, row, 0)], 0)

    def of_rows(self, name: str, rows: np.ndarray) -> np.ndarray:
        """Offset to subtract from these rows of array ``name``; anything for rows that are taken out."""
        if not len(self.keep):
            return np.zeros_like(rows)
        warp = np.searchsorted(self.begin[name][:-1], rows, side="right") - 1
        return self.shift[name][np.clip(warp, 0, len(self.keep) - 1)]


def join(arrays: Arrays, moved: Moved, batch: Arrays) -> Arrays:
    """The kept rows of the window and then a batch, all renumbered. Takes both apart."""
    kept_rows = {name: int(kept.sum()) for name, kept in moved.kept.items()}
    joined: Arrays = {}
    for leader, group in GROUPS.items():
        stretches = kept_stretches(moved, leader)
        for name, kind in group.items():
            old, new = arrays.pop(name), batch.pop(name)
            if target := POINTERS.get(name):
                new = new + kept_rows[target]
            joined[name] = np.concatenate([*(old[rows] for rows in stretches), new], dtype=kind, casting="unsafe")
            if target:
                moves = np.repeat(moved.shift[target][moved.keep], moved.kept[leader][moved.keep])
                joined[name][: len(moves)] -= moves
    joined["span"] = join_spans(arrays.pop("span"), moved, batch["span"], kept_rows)
    return joined


def kept_stretches(moved: Moved, leader: str) -> list[slice]:
    """The rows of a group that are kept: one stretch for warps side by side, which is copied as it lies."""
    edges = np.flatnonzero(np.diff(moved.keep.astype(np.int8), prepend=0, append=0))
    bounds_of = moved.begin[leader][edges].tolist()
    return [slice(first, end) for first, end in zip(bounds_of[::2], bounds_of[1::2], strict=True)]


def join_spans(old: np.ndarray, moved: Moved, new: np.ndarray, kept_rows: dict[str, int]) -> np.ndarray:
    """The spans of the warps from the first that is kept on; retired ones in between have no rows."""
    first = first_kept(moved.keep)
    starts = [old[first:, 2 * column] - moved.shift[leader][first:] for column, leader in enumerate(SPANS)]
    ends = [start + moved.kept[leader][first:] for start, leader in zip(starts, SPANS, strict=True)]
    kept = [column for pair in zip(starts, ends, strict=True) for column in pair]
    added = [kept_rows[leader] for leader in SPANS for _ in (0, 1)]
    return np.concatenate([np.stack(kept, axis=1), new + np.array(added)])


def first_kept(keep: np.ndarray) -> int:
    """Warps before the first one that is kept."""
    return int(np.argmax(keep)) if keep.any() else len(keep)


Needed = Callable[[int, int], np.ndarray]  # (first warp, end) -> bool per warp: not over yet
