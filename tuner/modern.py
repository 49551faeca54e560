"""A model of GPUs with caches (ours, beside the paper's): cycles of a launch from what its warps execute.

A warp alone takes its dependent instructions one after another, and waits where it loads. Resident warps share an
SM, which issues, and sends sectors to L1, at most so fast; and the memory serves all SMs at its bandwidth:

    alone = a instructions + L waits,    L = h1 L1 + (1 - h1) (h2 L2 + (1 - h2) DRAM)
    cycles = warps per core x max(alone / resident warps, C_i instructions, sectors c_du, bytes / bandwidth per core)

Hit shares h1 and h2 are measured on the frame before (docs/sources/tuner.md#caches).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rayplay.formats.guard.errors import UserError
from rayplay.tuner.device import Device
from rayplay.tuner.executed import Executed

SECTOR_BYTES = 32


@dataclass(frozen=True)
class Hits:
    """Shares of sectors that L1 serves, and that L2 serves of the others; sectors of a memory instruction."""

    l1: float
    l2: float
    sectors: float


FIRST = Hits(0.6, 0.6, 8.0)
"""Before the first frame is measured."""


def predict_cycles(
    device: Device, executed: Executed, hits: Hits, warps: int, resident_warps: int
) -> NDArray[np.float64]:
    """Cycles of a launch of ``warps`` warps, for each candidate of ``executed``.

    resident_warps  of a core at a time.
    Raises ``UserError`` for a device without caches.
    """
    if device.caches is None:
        raise UserError(f"device {device.name}: must have a table [caches] for the model modern, as fitted ones have")
    caches = device.caches
    beyond = hits.l2 * caches.l2_cycles + (1 - hits.l2) * caches.dram_cycles
    latency = hits.l1 * caches.l1_cycles + (1 - hits.l1) * beyond
    alone = caches.dependent_cycles * executed.instructions + latency * executed.waits
    sectors = executed.loads * hits.sectors
    moved = sectors * (1 - hits.l1) * (1 - hits.l2) * SECTOR_BYTES
    per_core = device.bandwidth_gbytes_per_s / device.clock_ghz / device.cores
    bounds = (
        alone / resident_warps,
        device.issue_cycles * executed.instructions,
        sectors * device.uncoalesced_delay_cycles,
        moved / per_core,
    )
    return warps / device.cores * np.maximum.reduce(bounds)
