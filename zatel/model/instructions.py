"""Launches without rays: a step is an instruction, and the lines that warps share are any of global memory."""

import numpy as np

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.parquet.arrow import Columns
from rayplay.zatel.model.accesses import LOCAL_LINES, Accesses


def traces_rays(trace: Trace) -> bool:
    """Whether there are rays; without any, steps are instructions."""
    return "rays" in trace.tables and trace.rows("rays") > 0


class SharedLines:
    """Lines of global memory that warps ask for, and the first warp that asks for each.

    Batches of warps come in order. Their lines wait until they are as many as those merged before, so that all merges
    together sort a few times as many rows as there are, not all lines once a batch.
    """

    def __init__(self, trace: Trace) -> None:
        self._pieces = [(np.zeros(0, np.int64), np.zeros(0, np.int64))]  # the first one is merged
        self._waiting = 0
        blocks = trace.read("blocks", ["first_instruction", "instruction_count"])
        self._first = blocks["first_instruction"].astype(np.int64)
        self._length = blocks["instruction_count"].astype(np.int64)

    def moments(
        self,
        first: int,
        last: int,
        tables: dict[str, Columns],
        accesses: Accesses,
        access: np.ndarray,
        count: np.ndarray,
    ) -> np.ndarray:
        """Add the lines of the warps ``first`` to before ``last``; instructions that each request's warp issues before.

        access  int32[requests], which access of its warp a request belongs to.
        count   int64[warps], requests of each warp.
        """
        if not len(accesses.warp):
            return access
        owner, real = np.repeat(accesses.warp, np.diff(accesses.offset)), accesses.line < LOCAL_LINES
        line, at = np.unique(accesses.line[real], return_index=True)
        self._pieces.append((line, owner[real][at]))
        self._waiting += len(line)
        if self._waiting > len(self._pieces[0][0]):
            self.merged()
        begins = np.searchsorted(accesses.warp, np.arange(first, last))
        row = np.repeat(begins, count[first:last]) + access
        before: np.ndarray = self._before(first, last, tables["visits"], tables["accesses"])[row]
        return before

    def merged(self) -> tuple[np.ndarray, np.ndarray]:
        """All lines so far in ascending order, and the first warp that asks for each: int64[lines] both."""
        line, warp = (np.concatenate(columns) for columns in zip(*self._pieces, strict=True))
        line, at = np.unique(line, return_index=True)  # of equal lines the first one
        self._pieces, self._waiting = [(line, warp[at])], 0
        return self._pieces[0]

    def _before(self, first: int, last: int, visits: Columns, accesses: Columns) -> np.ndarray:
        """Instructions that a warp issues before each access, int64[accesses]."""
        many = self._length[visits["block_id"]]
        done = np.cumsum(many) - many
        warp = accesses["warp_id"].astype(np.int64) - first
        begins = np.searchsorted(visits["warp_id"], np.arange(first, last))[warp]
        row = begins + accesses["visit"]
        inside = accesses["instruction_id"] - self._first[visits["block_id"][row]]
        return np.asarray(done[row] - done[begins] + inside)
