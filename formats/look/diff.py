"""First difference of two datasets of a format by table: row and column. Streams, so both may exceed memory."""

from collections.abc import Iterator

import numpy as np

from rayplay.formats.dataset.reader import Dataset
from rayplay.formats.parquet.arrow import Columns, empty, list_lengths, offset_name, row_count, take_rows
from rayplay.formats.schema.column import STRING, Column, Table


def differences(left: Dataset, right: Dataset) -> Iterator[str]:
    """One line for each table that differs, naming its first differing row and column, and for each other difference.

    Values are compared, not files: the division of rows into files and groups, and the provenance, do not count.
    """
    if left.layout.name != right.layout.name:
        yield f"format: {left.layout.name} and {right.layout.name}"
        return
    if left.manifest.image_size != right.manifest.image_size:
        yield f"image size: {left.manifest.image_size} and {right.manifest.image_size}"
    for table in left.layout.tables:
        there = [table.name in dataset.tables for dataset in (left, right)]
        if there[0] != there[1]:
            yield f"table {table.name}: is in {(left if there[0] else right).path} only"
        elif there[0]:
            yield from table_difference(left, right, table)


def table_difference(left: Dataset, right: Dataset, table: Table) -> Iterator[str]:
    """The first row and column in which a table differs, and its rows where one side has more."""
    columns = list(table.columns)
    for first, one, other in _side_by_side(left, right, table):
        found = first_difference(columns, one, other)
        if found is not None:
            row, column = found
            values = " and ".join(_shown(column, side, row) for side in (one, other))
            yield f"table {table.name}, row {first + row}, column {column.name}: {values}"
            break
    counts = left.rows(table.name), right.rows(table.name)
    if counts[0] != counts[1]:
        yield f"table {table.name}: {counts[0]:,} and {counts[1]:,} rows"


def first_difference(columns: list[Column], one: Columns, other: Columns) -> tuple[int, Column] | None:
    """The first differing row of two tables of equal length, and the first column that differs in it."""
    found: tuple[int, Column] | None = None
    for column in columns:
        different = np.flatnonzero(_differs(column, one, other))
        if different.size and (found is None or different[0] < found[0]):
            found = int(different[0]), column
    return found


def _differs(column: Column, one: Columns, other: Columns) -> np.ndarray:
    """bool[rows]; a NaN equals itself."""
    values = [side[column.name] for side in (one, other)]
    if not column.ragged:
        return _unequal(column, values[0], values[1])
    lengths = [list_lengths(column, side) for side in (one, other)]
    different = lengths[0] != lengths[1]
    same = ~different
    items = [value[np.repeat(same, length)] for value, length in zip(values, lengths, strict=True)]
    wrong = _unequal(column, items[0], items[1])
    row_of_item = np.repeat(np.flatnonzero(same), lengths[0][same])
    different[row_of_item[wrong]] = True
    return different


def _unequal(column: Column, one: np.ndarray, other: np.ndarray) -> np.ndarray:
    if column.dtype == STRING or np.dtype(column.dtype).kind != "f":
        return np.asarray(one != other, bool)
    bits = f"u{np.dtype(column.dtype).itemsize}"
    return np.asarray(one.view(bits) != other.view(bits), bool)


def _shown(column: Column, side: Columns, row: int) -> str:
    values = side[column.name]
    if not column.ragged:
        return repr(values[row].item()) if hasattr(values[row], "item") else repr(values[row])
    start, end = (int(offset) for offset in side[offset_name(column)][row : row + 2])
    return f"[{', '.join(str(value) for value in values[start : min(end, start + 6)])}{', ...' * (end - start > 6)}]"


def _side_by_side(left: Dataset, right: Dataset, table: Table) -> Iterator[tuple[int, Columns, Columns]]:
    """(first row, rows of one side, the same rows of the other), as far as both have rows."""
    columns = list(table.columns)
    streams = [dataset.batches(table.name) for dataset in (left, right)]
    waiting = [empty(columns), empty(columns)]
    first = 0
    while True:
        for side, stream in enumerate(streams):
            if not row_count(columns, waiting[side]):
                waiting[side] = next((batch for batch in stream if row_count(columns, batch)), waiting[side])
        counts = [row_count(columns, rows) for rows in waiting]
        rows = min(counts)
        if not rows:
            return
        one, other = (take_rows(columns, part, 0, rows) for part in waiting)
        yield first, one, other
        waiting = [take_rows(columns, part, rows, count) for part, count in zip(waiting, counts, strict=True)]
        first += rows
