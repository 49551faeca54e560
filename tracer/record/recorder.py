"""From the record buffers of a launch to rows of the trace, warp after warp.

A sink is anything with ``put(table, columns)``: ``formats.dataset.writer.TraceWriter``, or ``MemorySink``.
"""

from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np

from rayplay.formats.guard.limits import CTA_BYTES
from rayplay.tracer.record.buffers import Buffers
from rayplay.tracer.record.columns import ColumnMaker
from rayplay.tracer.record.hints import separated
from rayplay.tracer.record.rows import Rows, joined
from rayplay.tracer.record.traversal import traversal_tables


@runtime_checkable
class Sink(Protocol):
    """Target of a launch's rows."""

    def put(self, table: str, columns: dict[str, Any]) -> None:
        """Append rows to a table, in the layout of ``formats.dataset.writer.TraceWriter.put``."""


@dataclass
class MemorySink:
    """Keeps copies of all rows (``keep=True``) or only counts them."""

    keep: bool = True
    rows: dict[str, int] = field(default_factory=dict)
    _parts: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def put(self, table: str, columns: dict[str, Any]) -> None:
        """Count rows, and keep copies of them."""
        first = next(iter(columns.values()))
        self.rows[table] = self.rows.get(table, 0) + len(first)
        if self.keep:
            copies = {name: np.array(values) for name, values in columns.items()}
            self._parts.setdefault(table, []).append(copies)

    def table(self, name: str) -> dict[str, np.ndarray]:
        """All rows of a table; offsets of ragged columns run on over the parts."""
        parts = self._parts.get(name, [])
        made: dict[str, np.ndarray] = {}
        for column in parts[0] if parts else ():
            if column.endswith("_offset"):
                starts = np.cumsum([0, *(int(part[column][-1]) for part in parts)])
                pieces = [part[column][:-1] + np.uint64(start) for part, start in zip(parts, starts, strict=False)]
                made[column] = np.concatenate([*pieces, starts[-1:].astype(np.uint64)])
            else:
                made[column] = np.concatenate([part[column] for part in parts])
        return made


@dataclass
class Counts:
    """Rows and instructions recorded."""

    visits: int = 0
    accesses: int = 0
    rays: int = 0
    hits: int = 0
    warp_instructions: int = 0
    thread_instructions: int = 0


class Recorder:
    """Sends what lies in the buffers to the sink, each warp's rows together and warps in order.

    instruction_counts   int64[blocks of the launch]; first_ids are the ids that its first block and
                         its first instruction have in the trace.
    reorders             int64[], instructions of the launch whose rows are hints.
    warps_per_cta        warps of a CTA of more than one may be interleaved in the buffers.
    """

    def __init__(
        self,
        sink: Sink,
        buffers: Buffers,
        instruction_counts: np.ndarray,
        first_ids: tuple[int, int],
        warps_per_cta: int,
        reorders: np.ndarray,
    ) -> None:
        self.sink = sink
        self.reorders = reorders + first_ids[1]
        self.buffers = buffers
        self.warps_per_cta = warps_per_cta
        self.counts = Counts()
        self._columns = ColumnMaker(instruction_counts, first_ids)
        self._kept: list[Rows] = []  # rows of the CTA that was not complete when the buffers were full
        self._kept_until = 0

    def drain(self, machine: np.ndarray, unfinished_from: int) -> None:
        """Empty the buffers. Rows of warps from id ``unfinished_from`` on are kept until their CTA is complete."""
        rows = self.buffers.rows()
        self.buffers.reset(machine)
        if self._kept:
            head, rows = rows.split(self._kept_until)
            self._keep(head)
            if unfinished_from < self._kept_until:
                return
            self.send(joined(self._kept))
            self._kept = []
        done, rest = rows.split(unfinished_from)
        self.send(done)
        if len(rest.warp):
            self._kept_until = unfinished_from + self.warps_per_cta
            self._keep(rest)

    def _keep(self, rows: Rows) -> None:
        self._kept.append(rows.copied())
        held = sum(array.nbytes for each in self._kept for array in each.arrays)
        CTA_BYTES.check(held, "the records of a CTA that has not ended")

    def send(self, rows: Rows) -> None:
        """Put the columns of rows."""
        rows = rows.in_order()
        visits, warp_instructions, thread_instructions = self._columns.visits(rows)
        self.counts.warp_instructions += warp_instructions
        self.counts.thread_instructions += thread_instructions
        self.counts.visits += len(rows.arrays[0])
        if len(rows.arrays[0]):
            self.sink.put("visits", visits)
        if len(rows.arrays[1]) or len(self.reorders):
            self._send_accesses(self._columns.accesses(rows))
        if len(self.buffers.rays):  # a launch that traces has the table, even without rows
            rays = self._columns.rays(rows)
            further = traversal_tables(rays, rows.arrays[5], self.buffers.record) if len(rows.arrays) > 5 else {}
            self.counts.rays += len(rays["lane"])
            self.counts.hits += int(np.count_nonzero(rays["instance"] >= 0))
            self.sink.put("rays", rays)
            for table, columns in further.items():
                self.sink.put(table, columns)

    def _send_accesses(self, accesses: dict[str, np.ndarray]) -> None:
        if len(self.reorders):  # a launch that reorders has the table, even without rows
            accesses, hints = separated(accesses, self.reorders)
            self.sink.put("hints", hints)
        self.counts.accesses += len(accesses["visit"])
        if len(accesses["visit"]):
            self.sink.put("accesses", accesses)
