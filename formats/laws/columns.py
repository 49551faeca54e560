"""Laws that follow from the schema alone: they hold for every table of every format, row group by row group."""

from collections.abc import Callable, Iterator

import numpy as np

from rayplay.formats.dataset.reader import Dataset
from rayplay.formats.guard.problem import Problem, where
from rayplay.formats.laws.verify import changed_files
from rayplay.formats.parquet.arrow import Columns, offset_name
from rayplay.formats.schema.column import STRING, Column, Table
from rayplay.formats.schema.trace import CULLED, NODE_HIT_BIT, RAYS


def files_intact(dataset: Dataset) -> Iterator[Problem]:
    """Every file has the SHA-256 that the manifest gives."""
    for table, file, wanted, found in changed_files(dataset):
        yield Problem("files_intact", table or "of none", -1, found, f"SHA-256 of {file} must be {wanted}")


def ids_are_row_numbers(dataset: Dataset) -> Iterator[Problem]:
    """A table's id column counts its rows from 0."""
    for table in dataset.layout.tables:
        if table.row_number is None:
            continue
        first = 0
        for batch in dataset.batches(table.name, [table.row_number]):
            ids = batch[table.row_number]
            broken = ids != np.arange(first, first + len(ids), dtype=np.int64)
            yield from where(
                "ids_are_row_numbers", table.name, broken, ids, f"{table.row_number} must be the row number", first
            )
            first += len(ids)


def columns_are_sorted(dataset: Dataset) -> Iterator[Problem]:
    """A sorted column never decreases from row to row."""
    for table, column in _columns(dataset, lambda column: column.sorted):
        first, before = 0, None
        for batch in dataset.batches(table.name, [column.name]):
            values = batch[column.name]
            if not len(values):
                continue
            previous = np.concatenate([values[:1] if before is None else before, values[:-1]])
            message = f"{column.name} must not decrease"
            for row in np.flatnonzero(values < previous)[:20]:
                found = f"{values[row]} after {previous[row]}"
                yield Problem("columns_are_sorted", table.name, first + int(row), found, message)
            first, before = first + len(values), values[-1:].copy()


def references_exist(dataset: Dataset) -> Iterator[Problem]:
    """A column that points to a table holds row numbers of that table."""
    for table, column in _columns(dataset, lambda column: column.points_to is not None):
        rows, first = dataset.rows(column.points_to or ""), 0
        for batch in dataset.batches(table.name, [column.name]):
            yield from targets_exist(table, column, batch, rows, first)
            first += len(batch[offset_name(column)]) - 1 if column.ragged else len(batch[column.name])


def targets_exist(table: Table, column: Column, batch: Columns, rows: int, first: int) -> Iterator[Problem]:
    """The values of ``column`` in a batch, whose first row is number ``first``, are below ``rows``."""
    law, values = "references_exist", batch[column.name]
    targets = values & np.uint32(NODE_HIT_BIT - 1) if _has_hit_bit(table, column) else values
    broken = targets >= rows
    message = f"{column.name} must be a row of {column.points_to}, below {rows}"
    if column.ragged:
        for row, value in _ragged(column, batch, broken):
            yield Problem(law, table.name, first + row, value, message)
    else:
        yield from where(law, table.name, broken, values, message, first)


def codes_are_known(dataset: Dataset) -> Iterator[Problem]:
    """A column of codes or names holds only values that the schema lists."""
    for table, column in _columns(dataset, lambda column: bool(column.values)):
        first = 0
        for batch in dataset.batches(table.name, [column.name]):
            yield from known_codes(table, column, batch, first)
            first += len(batch[column.name])


def known_codes(table: Table, column: Column, batch: Columns, first: int) -> Iterator[Problem]:
    """The schema lists the values of ``column`` in a batch whose first row is number ``first``."""
    values = batch[column.name]
    if column.dtype == STRING:
        broken = np.array([value not in column.values for value in values], bool)
        values = np.array([repr(value) for value in values], object)
        message = f"{column.name} must be one of {', '.join(column.values)}"
    else:
        broken = values >= len(column.values)
        message = f"{column.name} must be a code below {len(column.values)}"
    yield from where("codes_are_known", table.name, broken, values, message, first)


def _columns(dataset: Dataset, chosen: Callable[[Column], bool]) -> Iterator[tuple[Table, Column]]:
    for table in dataset.layout.tables:
        for column in table.columns:
            if chosen(column):
                yield table, column


def _has_hit_bit(table: Table, column: Column) -> bool:
    return table in (RAYS, CULLED) and column.name == "node"


def _ragged(column: Column, batch: dict[str, np.ndarray], broken: np.ndarray) -> Iterator[tuple[int, int]]:
    """Row in the batch and value of each broken value of a ragged column, the first 20."""
    for index in np.flatnonzero(broken)[:20]:
        row = int(np.searchsorted(batch[offset_name(column)], index, side="right")) - 1
        yield row, int(batch[column.name][index])
