"""Several traces as one: their tables one after the other, with streams and row numbers of their own."""

from collections.abc import Iterator, Sequence

import numpy as np

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.edit.renumber import Renumbering, renumber, shifted_rows
from rayplay.formats.parquet.arrow import Columns
from rayplay.formats.schema.column import Column, Table
from rayplay.formats.schema.manifest import Manifest

PIXEL_TABLES = ("threads", "image")


class JoinedSource:
    """The container of the launches of all traces, trace after trace; it is read as they are, row group by row group.

    Streams are renumbered without gaps: a trace with streams 0 and 3 takes two numbers. Addresses stay as they are.

    streams  for each trace the new number of each of its streams.
    """

    def __init__(self, traces: Sequence[Trace], left_out: Sequence[str] = ()) -> None:
        """left_out: tables that it does not have."""
        self.traces, self.path = tuple(traces), traces[0].path
        self.streams = _first_streams(traces)
        first = traces[0].manifest
        names = [table.name for table in traces[0].layout.tables if table.name not in left_out]
        files = {name: tuple(e for trace in traces for e in trace.manifest.tables.get(name, ())) for name in names}
        present = {name for trace in traces for name in trace.tables}
        pictured = sorted(traces, key=lambda trace: not any(name in trace.tables for name in PIXEL_TABLES))
        image = next((trace.image_size for trace in pictured if trace.image_size is not None), None)
        self.manifest = Manifest(
            first.format, first.version, {}, None if "threads" in left_out else image, (),
            {name: files[name] for name in names if name in present},
        )  # fmt: skip

    def first_rows(self, table: str) -> list[int]:
        """First row of each trace in a table, and the end of the last one's."""
        return np.cumsum([0] + [trace.rows(table) for trace in self.traces]).tolist()

    def groups(self, table: Table, columns: list[Column]) -> Iterator[Columns]:
        """The row groups of a table, renumbered."""
        if table.name not in self.manifest.tables:
            return
        for number, trace in enumerate(self.traces):
            numbers = self._numbers(number)
            for group in trace.source.groups(table, columns) if table.name in trace.tables else ():
                yield self._place(table, renumber(table, group, numbers), number)

    def _numbers(self, number: int) -> dict[str, Renumbering]:
        """Renumbering of the rows of a trace, which follow the rows of those before it."""
        numbered = [table.name for table in self.traces[0].layout.tables if table.row_number] if number else []
        return {name: shifted_rows(self.first_rows(name)[number]) for name in numbered}

    def _place(self, table: Table, columns: Columns, number: int) -> Columns:
        """Renumber the columns that the schema does not mark as row numbers: streams, and the launch after a copy."""
        if table.name == "kernels" and "stream" in columns:
            streams = self.streams[number]
            return {**columns, "stream": np.array([streams[own] for own in columns["stream"].tolist()], np.uint32)}
        if table.name == "copies" and "kernel_id" in columns:
            launches = self.first_rows("kernels")[number]
            return {**columns, "kernel_id": (columns["kernel_id"].astype(np.int64) + launches).astype(np.uint32)}
        return columns


def _first_streams(traces: Sequence[Trace]) -> list[dict[int, int]]:
    """For each trace the new number of each of its streams."""
    numbers, used = [], 0
    for trace in traces:
        own = np.unique(trace.read("kernels", ["stream"])["stream"]).tolist()
        numbers.append({stream: used + place for place, stream in enumerate(own)})
        used += len(own)
    return numbers
