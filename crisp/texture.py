"""Accesses of the texture instructions of a picture's trace: requests, sectors, and lines of each CTA.

A trace has a row for each texel that an instruction reads, with an address for each lane. A request is a line that two
quads need of one instruction: a GPU's texture unit merges the texels of quads, and an RTX 3070 makes 3.8 to 6.6
requests for an instruction of a warp (``docs/sources/crisp.md#hardware-counters``).
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.parquet.arrow import Columns

LINE_BITS, SECTOR_BITS = 7, 5  # of an address: 128 B, 32 B
PAIR_BITS = 3  # of a lane: two quads
ADDRESS_BITS = 36
LANES = np.arange(32, dtype=np.uint32)


def texture_use(trace: Trace) -> dict[str, list[Any]]:
    """Columns by fragment kernel that reads a texture.

    kernel_id            the kernel.
    instructions         texture instructions of its warps.
    requests, sectors    lines that pairs of quads, and sectors that warps, need for each; summed.
    texel_sectors        the same with each texel of a footprint by itself, as CRISP counts.
    lines                list[CTAs that read a texture]: distinct lines of each CTA.
    """
    instructions = trace.read("instructions", ["operation_class", "kernel_id"])
    is_texture = instructions["operation_class"] == "texture"
    warps = trace.read("warps", ["kernel_id", "cta_id"])
    cta = warps["kernel_id"].astype(np.int64) << 32 | warps["cta_id"].astype(np.int64)
    kernels = trace.rows("kernels")
    totals = np.zeros((4, kernels), np.int64)
    lines: list[np.ndarray] = []
    for rows in _texture_rows(trace, is_texture):
        kernel = instructions["kernel_id"][rows["instruction_id"]]
        for column, counted in enumerate(_counted(rows)):
            totals[column] += np.bincount(kernel[counted], minlength=kernels)
        lines.append(np.unique(_cta_lines(rows, cta), axis=0))
    return _columns(totals, np.concatenate(lines) if lines else np.zeros((0, 2), np.int64))


def _texture_rows(trace: Trace, is_texture: np.ndarray) -> Iterator[Columns]:
    """The rows of texture instructions, batch after batch of whole warps; ``row`` and ``lane`` of each address."""
    for _, _, tables in trace.warp_batches(trace.batch_bounds(["accesses"]), ["accesses"]):
        rows = tables["accesses"]
        chosen = np.flatnonzero(is_texture[rows["instruction_id"]])
        if not len(chosen):
            continue
        offset = rows["address_offset"].astype(np.int64)
        counts = offset[chosen + 1] - offset[chosen]
        row = np.repeat(np.arange(len(chosen)), counts)
        place = offset[chosen][row] + np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
        is_set = (rows["lane_mask"][chosen][:, None] >> LANES) & 1
        yield {name: rows[name][chosen] for name in ("warp_id", "visit", "instruction_id")} | {
            "row": row, "address": rows["address"][place].astype(np.int64), "lane": np.nonzero(is_set)[1],
        }  # fmt: skip


def _counted(rows: Columns) -> Iterator[np.ndarray]:
    """For each of instructions, requests, sectors and sectors by texel: the row of each that is counted."""
    same = [np.diff(rows[name]) == 0 for name in ("warp_id", "visit", "instruction_id")]
    first = np.concatenate([[True], ~(same[0] & same[1] & same[2])])  # of an instruction's rows: a row is a texel
    number, row, address = np.cumsum(first) - 1, rows["row"], rows["address"] - rows["address"].min()
    starts = np.flatnonzero(first)
    yield starts
    pair = number[row] << 2 | rows["lane"] >> PAIR_BITS
    yield starts[np.unique(pair << ADDRESS_BITS | address >> LINE_BITS) >> ADDRESS_BITS + 2]
    yield starts[np.unique(number[row] << ADDRESS_BITS | address >> SECTOR_BITS) >> ADDRESS_BITS]
    yield np.unique(row << ADDRESS_BITS | address >> SECTOR_BITS) >> ADDRESS_BITS


def _cta_lines(rows: Columns, cta: np.ndarray) -> np.ndarray:
    """CTA and line of each address: int64[addresses, 2]."""
    return np.stack([cta[rows["warp_id"][rows["row"]]], rows["address"] >> LINE_BITS], axis=1)


def _columns(totals: np.ndarray, lines: np.ndarray) -> dict[str, list[Any]]:
    """The totals and the lines of each CTA by kernel."""
    ctas, counts = np.unique(np.unique(lines, axis=0)[:, 0], return_counts=True)
    kernels = np.flatnonzero(totals[0])
    names = ("instructions", "requests", "sectors", "texel_sectors")
    found: dict[str, list[Any]] = {"kernel_id": kernels.tolist()}
    found |= {name: total[kernels].tolist() for name, total in zip(names, totals, strict=True)}
    return found | {"lines": [counts[ctas >> 32 == kernel].tolist() for kernel in kernels]}
