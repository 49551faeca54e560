"""Checks for users of a trace: the first broken law is an error, before any output.

``check`` lists all problems; a verb that writes, counts or replays a trace stops at the first.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from rayplay.formats.dataset.reader import Trace, open_trace
from rayplay.formats.guard.errors import FormatError
from rayplay.formats.guard.problem import Problem
from rayplay.formats.laws import check
from rayplay.formats.laws import execution as laws_execution
from rayplay.formats.laws.columns import known_codes, targets_exist
from rayplay.formats.laws.execution import WARPS_TABLES
from rayplay.formats.laws.traversal import WITH_RAYS
from rayplay.formats.parquet.arrow import Columns, empty
from rayplay.formats.place.publish import partial_folder, publish_folder
from rayplay.formats.place.replaceable import check_replaceable
from rayplay.formats.schema.trace import TRACE

REPLAYED_LAWS = tuple(law for law in check.EXECUTION_LAWS if law is not laws_execution.hits_are_whole)
"""Laws of the columns that a replay reads: what a ray hit is of no consequence to it."""

REPLAYED_COLUMNS = {
    "visits": ("warp_id", "block_id", "active_mask"),
    "accesses": ("warp_id", "visit", "instruction_id", "lane_mask", "address"),
    "rays": ("warp_id", "visit", "lane", "instruction_id", "segment", "kind", "node"),
    "predicates": ("warp_id", "visit", "instruction_id", "lane_mask"),
}
"""Columns that a replay reads: all of what the warps did but what a ray hit."""


def expect_valid(trace: Trace) -> None:
    """Read everything; ``FormatError`` for the first problem."""
    _expect(trace.path, check.problems(trace))


def expect_program(trace: Trace) -> None:
    """Read the small tables, and the digest of every file; ``FormatError`` for the first problem."""
    large = (*WARPS_TABLES, *WITH_RAYS)
    small = tuple(table for table in trace.layout.tables if table.name not in large)
    program = Trace(trace.source, replace(trace.layout, tables=small))
    for column_law in check.COLUMN_LAWS:
        _expect(trace.path, column_law(program))
    for static_law in check.STATIC_LAWS:
        _expect(trace.path, static_law(trace))


@contextmanager
def valid_trace(final: Path) -> Iterator[Path]:
    """Path of a trace to write in the block; it becomes ``final`` if it keeps every law, else a ``FormatError`` says.

    Raises ``FormatError`` before the block when ``final`` cannot be replaced.
    """
    check_replaceable(final, TRACE)
    with partial_folder(final) as partial:
        unchecked = partial / "unchecked.trace"
        yield unchecked
        _expect(final, check.problems(open_trace(unchecked)))
        publish_folder(unchecked, final)


class Guard:
    """Check the laws of execution while a caller reads the rows in order; see ``expect_program``."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.batches = laws_execution.Batches(trace)

    def expect(self, first: int, last: int, tables: Mapping[str, Columns]) -> None:
        """Take the rows of the warps ``first`` to ``last`` (exclusive); ``FormatError`` for the first problem.

        tables  by name: all columns without the hits, ragged ones at least by offset; a missing table has no rows.
        """
        present = {name: tables.get(name) or empty(self.trace.layout.table(name).columns) for name in WARPS_TABLES}
        for name, rows in present.items():
            _expect(self.trace.path, self._columns(name, rows))
        batch = self.batches.of(first, last, present, "hints" in tables)
        for law in REPLAYED_LAWS:
            _expect(self.trace.path, law(batch))

    def _columns(self, name: str, rows: Columns) -> Iterator[Problem]:
        table, first = self.trace.layout.table(name), self.batches.rows[name]
        for column in table.columns:
            if column.name in rows and column.points_to is not None:
                yield from targets_exist(table, column, rows, self.trace.rows(column.points_to), first)
            if column.name in rows and column.values:
                yield from known_codes(table, column, rows, first)


def _expect(path: Path, problems: Iterator[Problem]) -> None:
    for problem in problems:
        raise FormatError(str(problem), file=path)
