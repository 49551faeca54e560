"""Memory that running warps write their records into, recycled from launch to launch."""

import numpy as np

from rayplay.tracer.abi import words
from rayplay.tracer.abi.layout import LANES
from rayplay.tracer.abi.words import MACHINE, RAY, RUN, USED
from rayplay.tracer.record.rows import Rows

VISITS, ACCESSES, ADDRESSES, RUNS = 1 << 16, 1 << 15, 1 << 19, 1 << 13  # small enough to stay in the cache
RAYS, NODES = 1 << 16, 2 * LANES * words.LOG_WORDS
DISTANCE_LOG_BYTES = 4 * NODES
"""From a word of the node log to its entry distance."""

_idle: dict[tuple[int, ...], list["Buffers"]] = {}


def borrow(has_rays: bool, record: str = "visits") -> "Buffers":
    """Buffers of a launch that ended, or new ones: fresh pages cost a short launch a seventh of its time.

    record  of ``tracer.rays.state.RECORDS``.
    """
    idle = _idle.setdefault(_sizes(has_rays), [])
    buffers = idle.pop() if idle else Buffers(has_rays)
    buffers.record = record
    return buffers


def give_back(buffers: "Buffers") -> None:
    """Leave buffers to the next launch; nothing may hold views of them."""
    _idle.setdefault(buffers.sizes, []).append(buffers)


def _sizes(has_rays: bool) -> tuple[int, ...]:
    return VISITS, ACCESSES, ADDRESSES, RUNS, RAYS if has_rays else 0


class Buffers:
    """The recycled memory that running warps write into; ``has_rays`` launches trace."""

    def __init__(self, has_rays: bool) -> None:
        self.sizes = _sizes(has_rays)
        room = words.MOST_PART_ACCESSES
        self.visits = np.zeros((VISITS + LANES * words.MOST_PART_BLOCKS + 1, 2), np.uint32)
        self.accesses = np.zeros((ACCESSES + LANES * room + 1, 4), np.uint32)
        self.addresses = np.zeros(ADDRESSES + LANES * (words.MOST_PART_ADDRESSES + 1), np.uint64)
        self.rays = RAY.zeros(RAYS if has_rays else 0)
        log = np.zeros(2 * NODES if has_rays else 0, np.uint32)
        self.nodes, self.distances = log[: len(log) // 2], log[len(log) // 2 :]
        self.record = "visits"
        self.runs = RUN.zeros(RUNS)
        self.counts = USED.zeros()
        self.starts = np.array([a.ctypes.data for a in (self.visits, self.accesses, self.addresses)], np.int64)

    def reset(self, machine: np.ndarray) -> None:
        """Empty, for the machine to write into."""
        self.counts[:] = 0
        limits = (VISITS * words.VISIT_BYTES, ACCESSES * words.ACCESS_BYTES, ADDRESSES * words.ADDRESS_BYTES)
        for name, start, length in zip(("visit", "access", "address"), self.starts, limits, strict=True):
            machine[MACHINE[f"{name}_next"]] = start
            machine[MACHINE[f"{name}_limit"]] = start + length - words.VISIT_BYTES

    def rows(self) -> Rows:
        """The rows in the buffers, as views."""
        runs = self.runs[: self.counts[USED.runs]]
        ends = runs[:, RUN.visits :]
        arrays: tuple[np.ndarray, ...] = (self.visits, self.accesses, self.addresses, self.rays, self.nodes)
        if self.record != "visits":
            arrays, ends = (*arrays, self.distances), np.concatenate([ends, ends[:, -1:]], axis=1)
        last = ends[-1].tolist() if len(ends) else [0] * len(arrays)
        return Rows(
            runs[:, RUN.warp].copy(),
            np.diff(ends, axis=0, prepend=0),
            tuple(array[:end] for array, end in zip(arrays, last, strict=True)),
        )
