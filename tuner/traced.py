"""Work that warps hand to a ray-tracing unit, counted as it is traced."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.guard.code_cache import kept
from rayplay.tuner.executed import add_visits

compiled: Any = kept(njit(cache=True), ["tuner/traced.py"])
NODE = np.uint32(0x7FFFFFFF)
"""Bits of a ray's node that number a BVH record."""


class Marks:
    """Memory of the records that a trace has visited, kept from look to look: int64[records] of traces' numbers."""

    def __init__(self, records: int) -> None:
        self.traces = np.zeros(records, np.int64)
        self.last = 0


@dataclass
class TracedRays:
    """A ``Sink`` that keeps what warps do with a ray-tracing unit.

    warps   int64[...], ids in ascending order that count; ``visits`` and ``rays`` have a row each.
    chunks  int64[records], requests of each BVH record.
    rays    int64[warps, 2]: records of the longest ray of each trace, and requests of its different records.
    """

    warps: NDArray[np.int64]
    visits: NDArray[np.int64]
    chunks: NDArray[np.int64]
    marks: Marks
    rays: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        self.rays = np.zeros((len(self.warps), 2), np.int64)

    def put(self, table: str, columns: dict[str, Any]) -> None:
        """Count the rows of ``visits`` and ``rays``."""
        if table not in ("visits", "rays") or not len(columns["warp_id"]):
            return
        place = np.searchsorted(self.warps, columns["warp_id"])
        place[place == len(self.warps)] = 0
        ours = self.warps[place] == columns["warp_id"]
        if table == "visits":
            add_visits(self.visits, place[ours], columns["block_id"][ours])
            return
        self.marks.last = _count_traces(
            np.where(ours, place, -1), columns["visit"], columns["node_offset"], columns["node"], self.chunks,
            self.marks.traces, self.marks.last, self.rays,
        )  # fmt: skip


@compiled
def _count_traces(
    place: NDArray[np.int64], visit: NDArray[np.uint32], offset: NDArray[np.uint64], node: NDArray[np.uint32],
    chunks: NDArray[np.int64], marks: NDArray[np.int64], mark: int, rays: NDArray[np.int64],
) -> int:  # fmt: skip
    """Add the traces of rays that follow each other; returns the number of the last trace."""
    longest: Any = 0
    for ray in range(len(place)):
        warp = place[ray]
        if ray == 0 or warp != place[ray - 1] or visit[ray] != visit[ray - 1]:
            mark += 1
            longest = 0
        if warp < 0:
            continue
        first, end = np.int64(offset[ray]), np.int64(offset[ray + 1])
        if end - first > longest:
            rays[warp, 0] += end - first - longest
            longest = end - first
        for index in range(first, end):
            record = node[index] & NODE
            if marks[record] != mark:
                marks[record] = mark
                rays[warp, 1] += chunks[record]
    return mark


def record_steps(trace: Trace) -> int:
    """BVH records of the longest ray of each trace of a warp, summed over a frame."""
    batches = trace.batches("rays", ["warp_id", "visit", "node"])
    return sum(_steps(batch["warp_id"], batch["visit"], batch["node_offset"]) for batch in batches)


@compiled
def _steps(warp: NDArray[np.uint32], visit: NDArray[np.uint32], offset: NDArray[np.uint64]) -> int:
    steps: Any = 0
    longest: Any = 0
    for ray in range(len(warp)):
        if ray and (warp[ray] != warp[ray - 1] or visit[ray] != visit[ray - 1]):
            steps += longest
            longest = 0
        longest = max(longest, np.int64(offset[ray + 1]) - np.int64(offset[ray]))
    total: int = steps + longest
    return total
