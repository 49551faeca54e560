"""Rows in, row groups out: groups are cut at a fixed number of rows, however the rows arrive."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from rayplay.formats.guard.errors import FormatError
from rayplay.formats.guard.limits import STRING_BYTES
from rayplay.formats.parquet.arrow import Columns, array_names, offset_name
from rayplay.formats.schema.column import STRING, Column, Table, misnamed


class GroupBuffer:
    """Collects rows of one table and hands out full row groups.

    Arrays given to ``put`` are copied at once, so the caller may use them again. Buffers are taken from ``spare``
    when an encoder has returned some: touching fresh memory costs more than filling it.
    """

    def __init__(self, table: Table) -> None:
        self.table = table
        self.spare: list[Columns] = []
        self._arrays: Columns = self._fresh()
        self._rows = 0
        self._values = {c.name: 0 for c in table.columns if c.ragged}

    def put(self, columns: dict[str, Any]) -> Iterator[Columns]:
        """Append rows; yields each group that becomes full. ``FormatError`` names a column that does not fit."""
        arrays = checked(self.table, columns)
        rows = _rows_of(self.table, arrays)
        done = 0
        while done < rows:
            count = min(rows - done, self.table.group_rows - self._rows)
            for column in self.table.columns:
                self._append(column, arrays, done, count)
            self._rows += count
            done += count
            if self._rows == self.table.group_rows:
                yield self.flush()

    def flush(self) -> Columns:
        """The rows collected so far as a group of its own, and an empty buffer."""
        group = self.waiting()
        self._values = dict.fromkeys(self._values, 0)
        self._arrays = self.spare.pop() if self.spare else self._fresh()
        self._rows = 0
        return group

    def waiting(self) -> Columns:
        """The rows collected so far, as views."""
        group: Columns = {}
        for column in self.table.columns:
            values = self._arrays[column.name]
            if column.ragged:
                group[column.name] = values[: self._values[column.name]]
                group[offset_name(column)] = self._arrays[offset_name(column)][: self._rows + 1]
            else:
                group[column.name] = values[: self._rows]
        return group

    def recycle(self, group: Columns) -> None:
        """Take back the memory of a group that has been written."""
        self.spare.append({name: array if array.base is None else array.base for name, array in group.items()})

    @property
    def rows(self) -> int:
        """Rows waiting."""
        return self._rows

    def _fresh(self) -> Columns:
        arrays: Columns = {}
        for column in self.table.columns:
            arrays[column.name] = np.empty(self.table.group_rows, _dtype(column))
            if column.ragged:
                arrays[offset_name(column)] = np.zeros(self.table.group_rows + 1, np.uint64)
        return arrays

    def _append(self, column: Column, arrays: Columns, first: int, count: int) -> None:
        values = arrays[column.name]
        if not column.ragged:
            self._arrays[column.name][self._rows : self._rows + count] = values[first : first + count]
            return
        offsets = arrays[offset_name(column)][first : first + count + 1]
        start, have = int(offsets[0]), self._values[column.name]
        length = int(offsets[-1]) - start
        self._reserve(column, have + length)
        self._arrays[column.name][have : have + length] = values[start : start + length]
        mine = self._arrays[offset_name(column)][self._rows : self._rows + count + 1]
        np.subtract(offsets, np.uint64(start), out=mine)
        mine += np.uint64(have)
        self._values[column.name] = have + length

    def _reserve(self, column: Column, needed: int) -> None:
        old = self._arrays[column.name]
        if needed <= len(old):
            return
        grown = np.empty(max(needed, 2 * len(old)), old.dtype)
        used = self._values[column.name]
        grown[:used] = old[:used]
        self._arrays[column.name] = grown


def checked(table: Table, columns: dict[str, Any]) -> Columns:
    """The columns with the schema's dtypes; ``FormatError`` when one is missing, strange or does not fit."""
    if reason := misnamed(array_names(table.columns), list(columns)):
        raise FormatError(reason, table=table.name)
    arrays: Columns = {}
    for column in table.columns:
        arrays[column.name] = fit(table, column, columns[column.name])
        if column.ragged:
            arrays[offset_name(column)] = _offsets(table, column, columns[offset_name(column)], arrays[column.name])
    return arrays


def _dtype(column: Column) -> np.dtype:
    return np.dtype(object if column.dtype == STRING else column.dtype)


def fit(table: Table, column: Column, given: Any) -> np.ndarray:
    """The values of a column in the schema's dtype; ``FormatError`` when they do not fit it."""
    place = f"table {table.name}, column {column.name}"
    if column.dtype == STRING:
        return _fit_strings(place, column, given)
    values = np.asarray(given)
    wanted = np.dtype(column.dtype)
    if values.ndim != 1:
        raise FormatError(f"{place}: must be one-dimensional, not of shape {values.shape}")
    if values.dtype == wanted:
        return values
    if wanted.kind != "f" and values.size and not _is_integer(values):
        raise FormatError(f"{place}: must be {wanted}, not {values.dtype}")
    if wanted.kind != "f" and values.size:
        limits = np.iinfo(wanted)
        low, high = int(values.min()), int(values.max())
        if low < limits.min or high > limits.max:
            raise FormatError(f"{place}: must be {wanted}, but holds {low if low < limits.min else high}")
    return values.astype(wanted)


def _is_integer(values: np.ndarray) -> bool:
    return values.dtype.kind in "iub"


def _fit_strings(place: str, column: Column, given: Any) -> np.ndarray:
    values = np.empty(len(given), object)
    values[:] = [str(text) for text in given]
    most = STRING_BYTES.value()
    for row, text in enumerate(values):
        if 4 * len(text) > most:
            STRING_BYTES.check(len(text.encode()), f"{place}: its texts")
        if "\0" in text or (column.values and text not in column.values):
            allowed = f"one of {', '.join(column.values)}" if column.values else "without NUL characters"
            raise FormatError(f"{place}: must be {allowed}, not {text!r} (row {row} of the rows given)")
    return values


def _offsets(table: Table, column: Column, given: Any, values: np.ndarray) -> np.ndarray:
    offsets = np.asarray(given)
    place = f"table {table.name}, column {offset_name(column)}"
    if offsets.ndim != 1 or len(offsets) < 1 or not _is_integer(offsets):
        raise FormatError(f"{place}: must be rows + 1 integers, not {offsets.dtype} of shape {offsets.shape}")
    if int(offsets[0]) != 0 or int(offsets[-1]) != len(values):
        raise FormatError(f"{place}: must run from 0 to {len(values)}, not from {offsets[0]} to {offsets[-1]}")
    if (offsets[1:] < offsets[:-1]).any():
        raise FormatError(f"{place}: must never decrease")
    return offsets.astype(np.uint64, copy=False)


def _rows_of(table: Table, arrays: Columns) -> int:
    counts = {c.name: len(arrays[offset_name(c)]) - 1 if c.ragged else len(arrays[c.name]) for c in table.columns}
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{name} {count}" for name, count in counts.items())
        raise FormatError(f"table {table.name}: columns must have the same number of rows, not {listed}")
    return next(iter(counts.values()))
