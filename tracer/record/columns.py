"""Columns of the trace's tables from rows as running warps wrote them."""

import numpy as np

from rayplay.tracer.abi.words import AMENDMENT, RAY
from rayplay.tracer.native.jit import entry_point
from rayplay.tracer.native.memory import population
from rayplay.tracer.record.rows import Rows

Columns = dict[str, np.ndarray]


class ColumnMaker:
    """Makes columns in memory of its own, which the next call of the same method uses again.

    instruction_counts   int64[blocks of the launch]; first_ids are the ids that its first block and its first
                         instruction have in the trace.
    """

    def __init__(self, instruction_counts: np.ndarray, first_ids: tuple[int, int]) -> None:
        self._instruction_counts = instruction_counts
        self._first_block, self._first_instruction = first_ids
        self._memory: Columns = {}

    def visits(self, rows: Rows) -> tuple[Columns, int, int]:
        """Columns of ``visits``, and how many warp and thread instructions they are."""
        made = self._columns("visits", ("warp_id", "block_id", "active_mask"), len(rows.arrays[0]))
        counts, first = self._instruction_counts, self._first_block
        total = _visits(rows.warp, rows.lengths, rows.arrays[0], counts, first, *made.values())
        return made, *total

    def accesses(self, rows: Rows) -> Columns:
        """Columns of ``accesses``; with the addresses of ``rows``."""
        made = self._columns("accesses", ("warp_id", "visit", "instruction_id", "lane_mask"), len(rows.arrays[1]))
        offset = self._array("address_offset", len(rows.arrays[1]) + 1, np.uint64)
        _accesses(rows.warp, rows.lengths, rows.arrays[1], self._first_instruction, *made.values(), offset)
        return {**made, "address": rows.arrays[2], "address_offset": offset}

    def rays(self, rows: Rows) -> Columns:
        """Columns of ``rays``."""
        words, warp = _amended(rows.arrays[3], np.repeat(rows.warp.astype(np.uint32), rows.lengths[:, 3]))
        floats = words.view(np.float32)
        axes = [f"{what}_{axis}" for what in ("origin", "direction") for axis in "xyz"]
        return {
            "warp_id": warp,
            "visit": words[:, RAY.visit],
            "instruction_id": words[:, RAY.instruction] + np.uint32(self._first_instruction),
            "lane": words[:, RAY.lane].astype(np.uint8),
            "segment": words[:, RAY.segment].astype(np.uint16),
            "kind": words[:, RAY.kind].astype(np.uint8),
            **{name: floats[:, RAY.origin_x + index] for index, name in enumerate(axes)},
            "t_min": floats[:, RAY.t_min],
            "t_max": floats[:, RAY.t_max],
            "hit_t": floats[:, RAY.hit_t],
            "instance": words[:, RAY.instance].view(np.int32),
            "primitive": words[:, RAY.primitive].view(np.int32),
            "node": rows.arrays[4],
            "node_offset": np.concatenate(([0], np.cumsum(words[:, RAY.nodes], dtype=np.uint64))).astype(np.uint64),
        }

    def _columns(self, table: str, names: tuple[str, ...], rows: int) -> Columns:
        return {name: self._array(f"{table}.{name}", rows, np.uint32) for name in names}

    def _array(self, name: str, size: int, dtype: type) -> np.ndarray:
        if name not in self._memory or len(self._memory[name]) < size:
            self._memory[name] = np.empty(2 * size, dtype)
        return self._memory[name][:size]


def _amended(words: np.ndarray, warp: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ray rows and their warps without the amendments, whose hits replace the hits of the amended rows."""
    amends = words[:, RAY.segment] == AMENDMENT
    if not amends.any():
        return words, warp
    order = np.lexsort((words[:, RAY.frame], words[:, RAY.lane], warp))
    later = amends[order]
    amended = np.maximum.accumulate(np.where(later, 0, np.arange(len(order))))[later]
    words = words.copy()
    words[order[amended], RAY.hit_t : RAY.primitive + 1] = words[order[later], RAY.hit_t : RAY.primitive + 1]
    return words[~amends], warp[~amends]


@entry_point
def count_instructions(visits: np.ndarray, counts: np.ndarray) -> tuple[int, int]:
    """Warp and thread instructions of block visits uint32[rows, 2]; ``counts``: instructions of each block."""
    warp_instructions, thread_instructions = 0, 0
    for row in range(visits.shape[0]):
        count = counts[visits[row, 0]]
        warp_instructions += count
        thread_instructions += count * population(np.int64(visits[row, 1]))
    return warp_instructions, thread_instructions


@entry_point
def _visits(
    warps: np.ndarray,
    lengths: np.ndarray,
    rows: np.ndarray,
    counts: np.ndarray,
    first_block: int,
    warp_id: np.ndarray,
    block_id: np.ndarray,
    active_mask: np.ndarray,
) -> tuple[int, int]:
    warp_instructions, thread_instructions, end = 0, 0, 0
    for run in range(warps.shape[0]):
        start, end = end, end + lengths[run, 0]
        for row in range(start, end):
            block, mask = rows[row, 0], rows[row, 1]
            warp_id[row], block_id[row], active_mask[row] = warps[run], block + first_block, mask
            warp_instructions += counts[block]
            thread_instructions += counts[block] * population(np.int64(mask))
    return warp_instructions, thread_instructions


@entry_point
def _accesses(
    warps: np.ndarray,
    lengths: np.ndarray,
    rows: np.ndarray,
    first_instruction: int,
    warp_id: np.ndarray,
    visit: np.ndarray,
    instruction_id: np.ndarray,
    lane_mask: np.ndarray,
    address_offset: np.ndarray,
) -> None:
    end, address = 0, 0
    address_offset[0] = 0
    for run in range(warps.shape[0]):
        start, end = end, end + lengths[run, 1]
        for row in range(start, end):
            warp_id[row], visit[row] = warps[run], rows[row, 1]
            instruction_id[row], lane_mask[row] = rows[row, 0] + first_instruction, rows[row, 2]
            address += population(np.int64(rows[row, 2])) + rows[row, 3]
            address_offset[row + 1] = address
