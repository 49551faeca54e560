"""Models of GPUs with caches, and with a ray-tracing unit (ours, beside the paper's): cycles of a launch from what its
warps execute.

A warp alone issues in order, waits for operands and for memory: until the last of a load's s sectors is there, which
comes from L1 if all s do. Resident warps share an SM, which issues, and sends sectors to L1, at most so fast; and the
memory serves all SMs at its bandwidth:

    alone = cycles in order + L waits + (sectors - waits) c_du
    L     = h1^s L1 + (1 - h1^s) beyond,    beyond = h2 L2 + (1 - h2) DRAM
    busy  = max(C_i instructions, sectors c_du, bytes / bandwidth per core)

The unit traces a warp record by record, up to some warps at a time, and asks for one chunk after another. A record
takes what the unit's counters say of the frame before; where none was measured, with h chunks of 1 that are near

    record = record_cycles + (1 - h) (beyond - L1) + requests request_cycles / records

    rays   = max(records record, requests request_cycles)
    alone += rays;    busy = max(busy, rays / warps of the unit, requests request_cycles)

``tuner.schedule`` makes cycles of a launch of them; a launch itself takes some. The hit shares and s
are measured on the frame before
(docs/sources/tuner.md#caches, #ray-tracing-unit).
"""

from dataclasses import dataclass

import numpy as np

from rayplay.formats.guard.errors import UserError
from rayplay.tuner.device import Caches, Device, RayUnit
from rayplay.tuner.executed import Executed
from rayplay.tuner.schedule import launch_cycles

SECTOR_BYTES = 32


@dataclass(frozen=True)
class Hits:
    """Outcome of a frame in the memory hierarchy.

    l1             share of sectors of loads that L1 serves at once.
    l2             share of sectors that L2 serves, of all that come to it.
    sectors        of a memory instruction.
    rays           share of the ray-tracing unit's requests that are served at once.
    sent           share of all sectors that L1 sends on to L2.
    record_cycles  that a trace of a warp spends in the unit for each record of its longest ray; 0: not measured.
    """

    l1: float
    l2: float
    sectors: float
    rays: float
    sent: float
    record_cycles: float = 0.0


FIRST = Hits(0.7, 0.6, 4.0, 0.7, 0.3)
"""Before the first frame is measured."""


def caches_of(device: Device) -> Caches:
    """The table of caches of a fitted device; ``UserError`` for one that has none."""
    if device.caches is None:
        raise UserError(f"device {device.name}: must have a table [caches] for the model modern, as fitted ones have")
    return device.caches


def rays_of(device: Device) -> RayUnit:
    """The table of the ray-tracing unit of a fitted device; ``UserError`` for one that has none."""
    if device.rays is None:
        raise UserError(f"device {device.name}: must have a table [rays] for the model rt-unit, as fitted ones have")
    return device.rays


def predict_cycles(
    device: Device, executed: Executed, hits: Hits, blocks: int, resident_blocks: int, knows_rays: bool = False
) -> float:
    """Cycles of a launch of ``blocks`` blocks.

    resident_blocks  of a core at a time.
    knows_rays       the ray-tracing unit takes time.
    Raises ``UserError`` for a device without caches, or without a ray-tracing unit whose time is asked.
    """
    caches = caches_of(device)
    beyond = hits.l2 * caches.l2_cycles + (1 - hits.l2) * caches.dram_cycles
    near = hits.l1**hits.sectors
    latency = near * caches.l1_cycles + (1 - near) * beyond
    sectors = executed.loads * hits.sectors
    requests = executed.requests if knows_rays else np.zeros_like(executed.requests)
    moved = (sectors + requests) * hits.sent * (1 - hits.l2) * SECTOR_BYTES
    per_core = device.bandwidth_gbytes_per_s / device.clock_ghz / device.cores
    units = [device.issue_cycles * executed.instructions, sectors * device.uncoalesced_delay_cycles, moved / per_core]
    departs = np.maximum(sectors - executed.waits, 0) * device.uncoalesced_delay_cycles  # the last after the others
    alone = executed.alone + latency * executed.waits + departs
    if knows_rays:
        unit = rays_of(device)
        asked = requests * unit.request_cycles
        if hits.record_cycles:
            traced = np.maximum(executed.records * hits.record_cycles, asked)
        else:
            record = unit.record_cycles + (1 - hits.rays) * max(beyond - caches.l1_cycles, 0.0)
            traced = executed.records * record + asked
        alone = alone + traced
        units += [traced / unit.warps, asked]
    busy = np.maximum.reduce(units)
    alone = np.maximum(np.maximum(alone, busy), 1.0)
    cycles = launch_cycles(alone, np.minimum(busy, alone), blocks, executed.step, device.cores, resident_blocks)
    return float(caches.launch_cycles + cycles)
