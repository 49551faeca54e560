"""Buffers of draws that CRISP's released code puts into the L2 as tags: without time, and without DRAM accesses.

When a CTA of a vertex shader starts, the sectors that it accesses are there; when one of a fragment shader starts, its
slice of each varying, unless the CTA is not whole. Here all of it is there when the launch begins, each time it is
launched, and of a vertex shader every buffer. Textures are not filled. ``memory.fills`` says whether it is done.
Source: ``docs/sources/crisp.md#traffic-between-stages``.
"""

import numpy as np

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.guard.limits import COPIED_BYTES
from rayplay.replay.input.window import SPACE_SECTORS
from rayplay.replay.input.work import SECTOR_BYTES
from rayplay.replay.launch.host_copies import warm
from rayplay.replay.memory.l2.state import L2

WHOLE = (1 << 59) - 1
"""Mask of a sector's number."""


class Fills:
    """Sectors by launch: the first of each buffer, and how many."""

    def __init__(self, trace: Trace, are_made: bool) -> None:
        self.kernels = max(trace.rows("kernels"), 1)
        self.kernel_id = self.first = self.count = np.zeros(0, np.int64)
        if not are_made or "fills" not in trace.tables:
            return
        table, stages = trace.read("fills"), trace.read("stages", ["kernel_id", "stage"])
        of_vertices = np.isin(table["kernel_id"], stages["kernel_id"][stages["stage"] == "vertex"])
        slices = table["cta_bytes"] * (table["bytes"] // np.maximum(table["cta_bytes"], 1))
        length = np.where(of_vertices, table["bytes"], slices) * (table["kind"] == "buffer")
        COPIED_BYTES.check(int(length.sum(dtype=np.float64)), "bytes", file=trace.path, table="fills")
        address = table["address"]
        self.kernel_id = table["kernel_id"].astype(np.int64)
        self.first = (address // SECTOR_BYTES).astype(np.int64)
        self.count = (-(-(address % SECTOR_BYTES + length).astype(np.int64) // SECTOR_BYTES)) * (length > 0)

    def make(self, kernel_id: int, slices: L2, now: int, stream: int, space: int) -> None:
        """Have the buffers of a launch in the L2 at cycle ``now``; a repeated launch has a number of its own."""
        own = self.kernel_id == kernel_id % self.kernels
        warm(slices, self.first[own], self.count[own], WHOLE, space * SPACE_SECTORS, now, stream)
