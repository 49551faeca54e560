"""Trace from a user's own tables: ``from_frames`` takes pandas, polars, Arrow or plain dicts and adds defaults.

Three tables describe the execution: ``instructions`` (the program), ``visits`` (basic blocks executed) and ``accesses``
(addresses). Every other table, and every column with an obvious value, may be left out.
"""

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from rayplay.formats.dataset.reader import Trace, open_trace
from rayplay.formats.dataset.writer import TraceWriter
from rayplay.formats.exchange.frames_defaults import complete
from rayplay.formats.guard.errors import FormatError
from rayplay.formats.guard.nearest import hint
from rayplay.formats.laws.expect import valid_trace
from rayplay.formats.parquet.arrow import Columns, offset_name
from rayplay.formats.parquet.groups import fit
from rayplay.formats.place.location import location
from rayplay.formats.schema.column import STRING, Column, Table
from rayplay.formats.schema.manifest import MANIFEST, format_of
from rayplay.formats.schema.trace import TRACE

READ_SUFFIXES = (".parquet", ".csv")


def from_frames(out: Path | str, image_size: tuple[int, int] | None = None, **tables: Any) -> Trace:
    """Write the trace ``out`` from tables given by name, check that it keeps every law, and open it.

    tables      ``instructions`` and ``visits`` at least. A table is a pandas or polars DataFrame, an Arrow table, or a
                mapping of column names to arrays. A ragged column holds a list per row. Numbers may be text such as
                ``0xffff0000``; a list may be text with blanks between its items. docs/formats.md has all columns.
    image_size  (width, height) when the table ``threads`` names pixels.

    Left out, a column is filled in where one value is obvious: one launch of one warp a CTA, all 32 lanes launched,
    4 bytes an access, ids by row, text and opcode from the operation class, the lanes of an access from its visit.
    Raises ``FormatError`` with the table and column that is missing, unknown or illegal, and its meaning; nothing is
    written then.
    """
    known = [table.name for table in TRACE.tables]
    for name in tables:
        if name not in known:
            raise FormatError(f"table {name!r} is unknown; {hint(name, known)}")
    given = {name: read_frame(TRACE.table(name), frame) for name, frame in tables.items() if frame is not None}
    final = location(out)
    with (
        valid_trace(final) as unchecked,
        TraceWriter(unchecked, {"command": "formats.from_frames"}, image_size) as writer,
    ):
        for name, columns in complete(given).items():
            writer.put(name, columns)
    return open_trace(final)


def import_folder(folder: Path, out: Path) -> Trace:
    """``from_frames`` of the tables that lie in a folder; every ``FormatError`` names the folder."""
    if (folder / MANIFEST).is_file():
        what = format_of(folder) or "trace"
        raise FormatError(f"is a {what} already: every verb reads it as it is (it has a {MANIFEST})", file=folder)
    try:
        return from_frames(out, **read_folder(folder))
    except FormatError as error:
        raise error if str(folder) in str(error) else FormatError(str(error), file=folder) from None


def read_folder(folder: Path) -> dict[str, Any]:
    """The tables that lie in a folder as ``TABLE.csv`` or ``TABLE.parquet``, for ``from_frames``."""
    from rayplay.formats.parquet.loose import read_arrow, read_csv

    tables: dict[str, Any] = {}
    for path in sorted(folder.iterdir()) if folder.is_dir() else []:
        if path.suffix not in READ_SUFFIXES:
            continue
        if path.stem in tables:
            raise FormatError(f"{path}: table {path.stem} must be in one file, but there are two")
        tables[path.stem] = read_arrow(path) if path.suffix == ".parquet" else read_csv(path)
    if not tables and (listings := sorted(folder.glob("*.g"))):
        raise FormatError(f"{folder}: give the kernel list in it: {listings[0]}")
    if not tables:
        raise FormatError(f"{folder}: must be a folder with files TABLE.csv or TABLE.parquet, such as visits.csv")
    return tables


def read_frame(table: Table, frame: Any) -> Columns:
    """The columns of a table that ``frame`` has, as arrays; ragged ones as values and offsets."""
    columns = _as_mapping(frame)
    names = [column.name for column in table.columns]
    for name in columns:
        if name not in names:
            known = f"{hint(str(name), names)}; a row is one {table.per_row}"
            raise FormatError(f"table {table.name}: column {name!r} is unknown; {known}")
    arrays: Columns = {}
    for column in table.columns:
        if column.name in columns:
            arrays |= _read_column(table, column, columns[column.name])
    lengths = {name: len(a) - name.endswith("_offset") for name, a in arrays.items() if f"{name}_offset" not in arrays}
    if len(set(lengths.values())) > 1:
        raise FormatError(f"table {table.name}: columns must have the same number of rows, not {lengths}")
    return arrays


def _as_mapping(frame: Any) -> dict[str, Any]:
    if isinstance(frame, Mapping):
        return dict(frame)
    if hasattr(frame, "column_names"):  # Arrow
        return {name: [v for c in frame.column(name).chunks for v in _values(c)] for name in frame.column_names}
    if hasattr(frame, "columns"):  # pandas, polars
        return {name: frame[name].to_numpy() for name in frame.columns}
    raise FormatError(
        f"a table must be a DataFrame, an Arrow table or a mapping of columns, not {type(frame).__name__}"
    )


def _values(array: Any) -> list[Any]:
    """The values of an Arrow array; equal texts of a dictionary are one object: a file cannot make one into many."""
    if hasattr(array, "dictionary"):
        known = [*array.dictionary.to_pylist(), None]
        return [known[index] for index in array.indices.fill_null(len(known) - 1).to_pylist()]
    if hasattr(array, "value_lengths"):
        values = _values(array.flatten())
        ends = np.cumsum([0, *array.value_lengths().fill_null(0).to_pylist()]).tolist()
        return [values[first:end] for first, end in pairwise(ends)]
    return array.to_pylist()


def _read_column(table: Table, column: Column, values: Any) -> Columns:
    place = f"table {table.name}, column {column.name}"
    if not column.ragged:
        return {column.name: fit(table, column, _numbers(place, column, values))}
    lists = [_items(row) for row in values]
    flat = [item for row in lists for item in row]
    offsets = np.cumsum([0, *(len(row) for row in lists)]).astype(np.uint64)
    return {column.name: fit(table, column, _numbers(place, column, flat)), offset_name(column): offsets}


def _items(row: Any) -> Any:
    """The items of one list; text is split at blanks and commas."""
    if isinstance(row, str):
        return row.replace(",", " ").split()
    return row if isinstance(row, list) else np.atleast_1d(row)


def _numbers(place: str, column: Column, values: Any) -> np.ndarray:
    """An array that fits the column; codes may be given by name, numbers as text."""
    if column.dtype == STRING:
        texts = np.empty(len(values), object)
        texts[:] = [str(value) for value in values]
        return texts
    has_text = isinstance(values, list) and any(isinstance(value, str) for value in values)
    array = np.array(values, object) if has_text else np.asarray(values)  # numpy's own texts are all as long as one
    if array.dtype.kind not in "OUST":
        return array if len(array) else array.astype(column.dtype)
    try:
        parsed = [_parse(column, value) for value in array.tolist()]
    except (ValueError, TypeError) as error:
        raise FormatError(f"{place}: must be {column.dtype} ({column.doc}): {error}") from None
    return np.array(parsed, dtype=np.float64 if np.dtype(column.dtype).kind == "f" else None)


def _parse(column: Column, value: Any) -> int | float:
    if value is None:
        raise ValueError("a value is missing")
    if not isinstance(value, str):
        return value
    if value in column.values:
        return column.values.index(value)
    return float(value) if np.dtype(column.dtype).kind == "f" else int(value, 0)
