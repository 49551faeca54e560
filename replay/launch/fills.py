"""Buffers of draws that units beside the SMs write into the L2: the sectors that it has as they are asked for.

CRISP models such units as black boxes whose outputs go to the L2, as tags: without time, and without DRAM accesses.
When a CTA of a vertex shader starts, the sectors that it accesses are there; when one of a fragment shader starts, its
slice of each varying, unless the CTA is not whole. Here a sector is put there as a request that reads it is looked up.
Textures are not filled. ``memory.fills`` says whether it is done.
Source: ``docs/sources/crisp.md#traffic-between-stages``.
"""

from collections.abc import Sequence

import numpy as np

from rayplay.formats.dataset.reader import Trace
from rayplay.replay.input.window import SPACE_SECTORS
from rayplay.replay.input.work import SECTOR_BYTES


def filled(trace: Trace, are_made: bool, first_kernels: Sequence[int] = (0,)) -> np.ndarray:
    """int64[ranges, 2], first sector and end of what the L2 is given, in order and apart.

    first_kernels  first launch of each trace that was joined, whose memory is a space of its own.
    """
    if not are_made or "fills" not in trace.tables:
        return np.zeros((0, 2), np.int64)
    table, stages = trace.read("fills"), trace.read("stages", ["kernel_id", "stage"])
    of_vertices = np.isin(table["kernel_id"], stages["kernel_id"][stages["stage"] == "vertex"])
    slices = table["cta_bytes"] * (table["bytes"] // np.maximum(table["cta_bytes"], 1))
    length = np.where(of_vertices, table["bytes"], slices) * (table["kind"] == "buffer")
    address, space = table["address"], np.searchsorted(first_kernels, table["kernel_id"], side="right") - 1
    first = (address // SECTOR_BYTES).astype(np.int64) + space * SPACE_SECTORS
    count = -(-(address % SECTOR_BYTES + length).astype(np.int64) // SECTOR_BYTES)
    return _apart(first[length > 0], (first + count)[length > 0])


def _apart(first: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Ranges in order; where some meet they are one."""
    order = np.argsort(first, kind="stable")
    first, reach = first[order], np.maximum.accumulate(end[order])
    begins = np.flatnonzero(np.append(True, first[1:] > reach[:-1]))[: len(first)]
    return np.column_stack([first[begins], reach[np.append(begins[1:], len(first)) - 1] if len(first) else reach])
