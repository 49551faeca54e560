"""Copies from the host: what they leave in the L2 before a kernel begins; they take no time and reach no DRAM.

Accel-Sim computes their addresses in 32 bits, so that copies to addresses as real ones are warm other sectors than
the sectors that kernels read. ``memory.copies`` says which: ``low_32_bits`` as there, ``whole`` addresses, or ``none``.
Source: ``docs/sources/accel-sim.md#host-copies``.
"""

from collections.abc import Iterator

import numpy as np

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.guard.limits import COPIED_BYTES
from rayplay.replay.input.window import SPACE_SECTORS
from rayplay.replay.input.work import SECTOR_BYTES
from rayplay.replay.memory.l2 import slice as l2
from rayplay.replay.memory.l2.state import L2

SECTORS_AT_ONCE = 1 << 22
"""Between two calls of compiled code Ctrl-C is noticed."""


class Copies:
    """The copies of a trace that have not been made yet, in order."""

    def __init__(self, trace: Trace, addresses: str, kernels: tuple[int, ...] | None = None, space: int = 0) -> None:
        """kernels: the class of work before whose kernels they are made, None: all; space: its address space."""
        self.kernel_id = self.first = self.count = np.zeros(0, np.int64)
        if addresses != "none" and "copies" in trace.tables:
            table = trace.read("copies")
            COPIED_BYTES.check(int(table["bytes"].sum(dtype=np.float64)), "bytes", file=trace.path, table="copies")
            self.kernel_id = table["kernel_id"].astype(np.int64)
            self.first = table["address"].astype(np.int64) // SECTOR_BYTES
            self.count = -(-table["bytes"].astype(np.int64) // SECTOR_BYTES)
            if kernels is not None:
                own = np.isin(self.kernel_id, kernels)
                self.kernel_id, self.first, self.count = self.kernel_id[own], self.first[own], self.count[own]
        self.space = space * SPACE_SECTORS
        self.mask = (1 << 27) - 1 if addresses == "low_32_bits" else (1 << 59) - 1
        self.next = 0

    def make(self, kernel_id: int, slices: L2, now: int, stream: int) -> None:
        """Make those before a kernel, at cycle ``now``; what they drive away is counted for its stream."""
        end = max(self.next, int(np.searchsorted(self.kernel_id, kernel_id, side="right")))
        warm(slices, self.first[self.next : end], self.count[self.next : end], self.mask, self.space, now, stream)
        self.next = end


def warm(slices: L2, first: np.ndarray, count: np.ndarray, mask: int, space: int, now: int, stream: int) -> None:
    """Have the sectors of some copies in the L2, as ``l2.warm`` with these arguments, some at a time."""
    for firsts, counts in _portions(first, count):
        l2.warm(slices, firsts, counts, mask, space, now, stream)


def _portions(first: np.ndarray, count: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The same sectors in order, at most twice ``SECTORS_AT_ONCE`` at a time."""
    pieces = -(-count // SECTORS_AT_ONCE)
    number = np.arange(pieces.sum()) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    done = number * SECTORS_AT_ONCE
    first, count = np.repeat(first, pieces) + done, np.minimum(np.repeat(count, pieces) - done, SECTORS_AT_ONCE)
    bounds = np.flatnonzero(np.diff(np.cumsum(count) // SECTORS_AT_ONCE)) + 1
    yield from zip(np.split(first, bounds), np.split(count, bounds), strict=True)
