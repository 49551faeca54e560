"""A model of GPUs with caches (ours, beside the paper's): cycles of a launch from what its warps execute.

A warp alone issues in order, waits for operands and for memory. Resident warps share an SM, which issues, and sends
sectors to L1, at most so fast; and the memory serves all SMs at its bandwidth:

    alone = cycles in order + L waits + (sectors - waits) c_du,    L = h1 L1 + (1 - h1) (h2 L2 + (1 - h2) DRAM)
    busy  = max(C_i instructions, sectors c_du, bytes / bandwidth per core)

``tuner.schedule`` makes cycles of a launch of them; a launch itself takes some. Hit shares h1 and h2
are measured on the frame before
(docs/sources/tuner.md#caches).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rayplay.formats.guard.errors import UserError
from rayplay.tuner.device import Caches, Device
from rayplay.tuner.executed import Executed
from rayplay.tuner.schedule import launch_cycles

SECTOR_BYTES = 32


@dataclass(frozen=True)
class Hits:
    """Shares of sectors that L1 serves, and that L2 serves of the others; sectors of a memory instruction."""

    l1: float
    l2: float
    sectors: float


FIRST = Hits(0.6, 0.6, 8.0)
"""Before the first frame is measured."""


def caches_of(device: Device) -> Caches:
    """The table of caches of a fitted device; ``UserError`` for one that has none."""
    if device.caches is None:
        raise UserError(f"device {device.name}: must have a table [caches] for the model modern, as fitted ones have")
    return device.caches


def predict_cycles(
    device: Device, executed: Executed, hits: Hits, blocks: int, resident_blocks: int
) -> NDArray[np.float64]:
    """Cycles of a launch of ``blocks`` blocks, for each candidate of ``executed``.

    resident_blocks  of a core at a time.
    Raises ``UserError`` for a device without caches.
    """
    caches = caches_of(device)
    beyond = hits.l2 * caches.l2_cycles + (1 - hits.l2) * caches.dram_cycles
    latency = hits.l1 * caches.l1_cycles + (1 - hits.l1) * beyond
    sectors = executed.loads * hits.sectors
    moved = sectors * (1 - hits.l1) * (1 - hits.l2) * SECTOR_BYTES
    per_core = device.bandwidth_gbytes_per_s / device.clock_ghz / device.cores
    busy = np.maximum.reduce(
        [
            device.issue_cycles * executed.instructions,
            sectors * device.uncoalesced_delay_cycles,
            moved / per_core,
        ]
    )
    departs = np.maximum(sectors - executed.waits, 0) * device.uncoalesced_delay_cycles  # the last after the others
    alone = np.maximum(executed.alone + latency * executed.waits + departs, busy)
    count = alone.shape[-1]
    knots = np.unique(np.minimum(2 ** np.arange(count.bit_length() + 1) - 1, count - 1))
    at = [
        launch_cycles(
            np.ascontiguousarray(alone[..., knot]), np.ascontiguousarray(busy[..., knot]),
            blocks, executed.step, device.cores, resident_blocks,
        )
        for knot in knots
    ]  # fmt: skip
    return caches.launch_cycles + np.interp(np.arange(count), knots, at)
