"""Copies from the host: what they leave in the L2 before a kernel begins; they take no time and reach no DRAM.

Accel-Sim computes their addresses in 32 bits, so that copies to addresses as real ones are warm other sectors than
the sectors that kernels read. ``memory.copies`` says which: ``low_32_bits`` as there, ``whole`` addresses, or ``none``.
Source: ``docs/sources/accel-sim.md#host-copies``.
"""

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
        while self.next < len(self.kernel_id) and self.kernel_id[self.next] <= kernel_id:
            first, count = int(self.first[self.next]), int(self.count[self.next])
            for start in range(0, count, SECTORS_AT_ONCE):
                l2.warm(slices, first + start, min(SECTORS_AT_ONCE, count - start), self.mask, self.space, now, stream)
            self.next += 1
