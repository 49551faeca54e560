"""Rows as running warps wrote them, several tables at once: cut at a warp, joined, and put in the order of warps.

A run is a stretch of one warp; in every buffer its rows stand together, in the order of the runs.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Rows:
    """The rows of some runs.

    warp     int64[runs]: warp id of each.
    lengths  int64[runs, arrays]: its rows in each of ``arrays``.
    arrays   visits uint32[, 2], accesses uint32[, 4], addresses uint64[], rays uint32[, RAY_WORDS], nodes uint32[];
             and where they are recorded distances uint32[], one for each node.
    """

    warp: np.ndarray
    lengths: np.ndarray
    arrays: tuple[np.ndarray, ...]

    def split(self, warp_id: int) -> tuple["Rows", "Rows"]:
        """The runs up to the first of a warp from ``warp_id`` on, and the runs from there on."""
        late = np.flatnonzero(self.warp >= warp_id)
        count = int(late[0]) if len(late) else len(self.warp)
        ends = self.lengths[:count].sum(axis=0)
        first = tuple(array[:end] for array, end in zip(self.arrays, ends, strict=True))
        second = tuple(array[end:] for array, end in zip(self.arrays, ends, strict=True))
        return Rows(self.warp[:count], self.lengths[:count], first), Rows(
            self.warp[count:], self.lengths[count:], second
        )

    def copied(self) -> "Rows":
        """The same in memory of its own."""
        return Rows(self.warp.copy(), self.lengths.copy(), tuple(array.copy() for array in self.arrays))

    def in_order(self) -> "Rows":
        """The runs in the order of warps; runs of one warp in the order of time."""
        if not np.any(self.warp[1:] < self.warp[:-1]):
            return self
        order = np.argsort(self.warp, kind="stable")
        arrays = (array[row_order(self.lengths[:, table], order)] for table, array in enumerate(self.arrays))
        return Rows(self.warp[order], self.lengths[order], tuple(arrays))


def joined(parts: list[Rows]) -> Rows:
    """Rows of several drains one after the other."""
    return Rows(
        np.concatenate([part.warp for part in parts]),
        np.concatenate([part.lengths for part in parts]),
        tuple(np.concatenate([part.arrays[table] for part in parts]) for table in range(len(parts[0].arrays))),
    )


def row_order(lengths: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Row numbers when runs of ``lengths`` rows are put in ``order``."""
    starts = np.concatenate(([0], np.cumsum(lengths)[:-1]))[order]
    chosen = lengths[order]
    ends = np.cumsum(chosen)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total) + np.repeat(starts - (ends - chosen), chosen)
