"""Accesses of the texture instructions of a picture's trace: requests, lines, sectors, and lines of each CTA.

A row of the trace is an instruction, with an address for each lane and the further sectors of their texels in the order
of lanes, which are dealt out evenly over pairs of quads. A request has the coordinates of two quads, of arrays, cubes
and volumes of one, whatever their texels: so an RTX 3070 makes 3.8 to 6.6 for an instruction of a warp
(``docs/sources/crisp.md#requests-of-textures``). Levels of detail change the lines that pairs of quads need.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.parquet.arrow import Columns
from rayplay.replay.input.coalescer import is_wide

LINE_BITS, SECTOR_BITS = 7, 5  # of an address: 128 B, 32 B
PAIR_BITS = 3  # of a lane: two quads
ADDRESS_BITS = 36
TOTALS = ("instructions", "requests", "pair_lines", "sectors")
LANES = np.arange(32, dtype=np.uint32)


def texture_use(trace: Trace) -> dict[str, list[Any]]:
    """Columns by fragment kernel that reads a texture.

    kernel_id            the kernel.
    instructions         texture instructions of its warps.
    requests             of the texture unit for each; summed, as the following.
    pair_lines, sectors  lines that pairs of quads, and sectors that warps, need for each.
    lines                list[CTAs that read a texture]: distinct lines of each CTA.
    """
    instructions = trace.read("instructions", ["operation_class", "kernel_id", "opcode"])
    is_texture = instructions["operation_class"] == "texture"
    wide = np.array([is_wide(opcode) for opcode in instructions["opcode"]], bool)
    warps = trace.read("warps", ["kernel_id", "cta_id"])
    cta = warps["kernel_id"].astype(np.int64) << 32 | warps["cta_id"].astype(np.int64)
    kernels = trace.rows("kernels")
    totals = np.zeros((len(TOTALS), kernels), np.int64)
    lines: list[np.ndarray] = []
    for rows in _texture_rows(trace, is_texture):
        kernel = instructions["kernel_id"][rows["instruction_id"]]
        for column, counted in enumerate(_counted(rows, wide[rows["instruction_id"]])):
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
        number = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
        yield {
            "warp_id": rows["warp_id"][chosen], "instruction_id": rows["instruction_id"][chosen], "row": row,
            "mask": rows["lane_mask"][chosen],
            "address": rows["address"][offset[chosen][row] + number].astype(np.int64),
            "pair": _pairs(rows["lane_mask"][chosen], counts, row, number),
        }  # fmt: skip


def _pairs(mask: np.ndarray, counts: np.ndarray, row: np.ndarray, number: np.ndarray) -> np.ndarray:
    """Pair of quads of each address: its lane's, and for a further sector by its part of them all."""
    is_set = (mask[:, None] >> LANES & 1).astype(bool)
    lanes = is_set.sum(axis=1)
    lane = np.argsort(~is_set, axis=1, kind="stable")  # active lanes come first, in their order
    active = is_set.reshape(len(mask), -1, 1 << PAIR_BITS).any(axis=2)
    pairs, order = active.sum(axis=1), np.argsort(~active, axis=1, kind="stable")
    behind, further = np.maximum(counts - lanes, 1)[row], number - lanes[row]
    # as the replay's unit: part k of n ends before k * behind // n
    dealt = ((further + 1) * pairs[row] - 1) // behind
    return np.where(further < 0, lane[row, np.minimum(number, 31)] >> PAIR_BITS, order[row, np.clip(dealt, 0, 3)])


def _counted(rows: Columns, wide: np.ndarray) -> Iterator[np.ndarray]:
    """For each of ``TOTALS``: the row of each that is counted. wide: bool[rows], with requests of a quad."""
    row, address = rows["row"], rows["address"] - rows["address"].min()
    yield np.unique(row)
    yield np.repeat(np.arange(len(wide)), _requests(rows["mask"], wide))
    pair = row << 2 | rows["pair"]
    yield np.unique(pair << ADDRESS_BITS | address >> LINE_BITS) >> ADDRESS_BITS + 2
    yield np.unique(row << ADDRESS_BITS | address >> SECTOR_BITS) >> ADDRESS_BITS


def _requests(mask: np.ndarray, wide: np.ndarray) -> np.ndarray:
    """int64[rows]: requests of instructions with these lanes."""
    quads = (mask[:, None] >> LANES & 1).astype(bool).reshape(len(mask), -1, 4).any(axis=2)
    pairs = quads.reshape(len(mask), -1, 2).any(axis=2)
    return np.where(wide, quads.sum(axis=1), pairs.sum(axis=1))


def _cta_lines(rows: Columns, cta: np.ndarray) -> np.ndarray:
    """CTA and line of each address: int64[addresses, 2]."""
    return np.stack([cta[rows["warp_id"][rows["row"]]], rows["address"] >> LINE_BITS], axis=1)


def _columns(totals: np.ndarray, lines: np.ndarray) -> dict[str, list[Any]]:
    """The totals and the lines of each CTA by kernel."""
    ctas, counts = np.unique(np.unique(lines, axis=0)[:, 0], return_counts=True)
    kernels = np.flatnonzero(totals[0])
    found: dict[str, list[Any]] = {"kernel_id": kernels.tolist()}
    found |= {name: total[kernels].tolist() for name, total in zip(TOTALS, totals, strict=True)}
    return found | {"lines": [counts[ctas >> 32 == kernel].tolist() for kernel in kernels]}
