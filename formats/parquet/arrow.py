"""A table's columns as numpy arrays, and as Arrow: schema, Parquet options, and the way there and back.

In memory a table is a dict of numpy arrays by column name; a ragged column is ``x`` and ``x_offset``; strings are
object arrays of ``str``.
"""

import inspect
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rayplay.formats.schema.column import STRING, Column, Table

Columns = dict[str, np.ndarray]

# Pages end at their size alone (each byte of a split column is then compressed in blocks of its own: 0.2 B per float).
# Earlier versions of pyarrow have no limit of rows.
_LIMITED = "max_rows_per_page" in inspect.signature(pq.ParquetWriter.__init__).parameters
_WHOLE_PAGES = {"max_rows_per_page": 1 << 24} if _LIMITED else {}


def value_type(column: Column) -> pa.DataType:
    """Arrow type of one value of the column."""
    return pa.string() if column.dtype == STRING else pa.from_numpy_dtype(np.dtype(column.dtype))


def arrow_schema(table: Table) -> pa.Schema:
    """Arrow schema of the table; nothing is nullable."""
    return pa.schema([_field(column) for column in table.columns])


def _field(column: Column) -> pa.Field:
    kind = value_type(column)
    if column.ragged:
        kind = pa.list_(pa.field("element", kind, nullable=False))
    return pa.field(column.name, kind, nullable=False)


def parquet_path(column: Column) -> str:
    """Name of the column's leaf inside a Parquet file."""
    return f"{column.name}.list.element" if column.ragged else column.name


def parquet_options(table: Table) -> dict[str, Any]:
    """Keyword arguments of ``pyarrow.parquet.ParquetWriter``: compression, encodings and checksums of each column."""
    plain = {c: parquet_path(c) for c in table.columns}
    return {
        "compression": "zstd",
        "compression_level": {path: c.level for c, path in plain.items()},
        "use_dictionary": [path for c, path in plain.items() if c.encoding == "dictionary"],
        "column_encoding": {path: c.encoding for c, path in plain.items() if c.encoding != "dictionary"},
        "write_statistics": [path for c, path in plain.items() if c.sorted],
        "write_page_checksum": True,
        "store_schema": False,
        "data_page_size": table.page_bytes,
        **_WHOLE_PAGES,
    }


def to_arrow(table: Table, columns: Columns) -> pa.Table:
    """Columns as an Arrow table; numbers are not copied."""
    return pa.Table.from_arrays([_array(c, columns) for c in table.columns], schema=arrow_schema(table))


def _array(column: Column, columns: Columns) -> pa.Array:
    values = pa.array(columns[column.name], type=value_type(column))
    if not column.ragged:
        return values
    offsets = pa.array(columns[offset_name(column)].astype(np.int32))
    return pa.ListArray.from_arrays(offsets, values, type=_field(column).type)


def from_arrow(column: Column, data: pa.ChunkedArray) -> Columns:
    """The column's numpy arrays; ``ValueError`` when the type is another or a value is missing."""
    parts = [from_array(column, chunk) for chunk in data.chunks]
    return concatenate([column], parts)


def from_array(column: Column, array: pa.Array) -> Columns:
    """``from_arrow`` of one chunk."""
    if array.null_count:
        raise ValueError(f"{array.null_count} values are missing (null)")
    if not column.ragged:
        return {column.name: _flat(column, array)}
    if not (pa.types.is_list(array.type) or pa.types.is_large_list(array.type)):
        raise ValueError(f"type must be a list of {column.dtype}, not {array.type}")
    offsets = _numbers(array.offsets).astype(np.uint64)
    return {column.name: _flat(column, array.flatten()), offset_name(column): offsets - offsets[0]}


def _flat(column: Column, array: pa.Array) -> np.ndarray:
    if array.null_count:
        raise ValueError(f"{array.null_count} values are missing (null)")
    if column.dtype == STRING:
        return _texts(array)
    wanted = value_type(column)
    if array.type != wanted:
        raise ValueError(f"type must be {wanted}, not {array.type}")
    # Arrow's own view is read-only, which numba takes for another type; the buffer behind it may be written.
    numbers = _numbers(array)
    return numbers if numbers.flags.writeable else numbers.copy()


def _numbers(array: pa.Array) -> np.ndarray:
    """A view of an array of numbers. Arrow's own ``to_numpy`` imports pandas, a quarter of a second."""
    numbers = np.frombuffer(array.buffers()[1] or b"", dtype=array.type.to_pandas_dtype())
    return numbers[array.offset : array.offset + len(array)]


def _texts(array: pa.Array) -> np.ndarray:
    """Equal texts of a dictionary are one object: a file cannot make one long text into many."""
    kind = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        raise ValueError(f"type must be string, not {kind}")
    coded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
    if coded.dictionary.null_count:
        raise ValueError("values are missing (null)")
    texts = np.array([*coded.dictionary.to_pylist(), None], object)[:-1]  # one-dimensional, whatever the texts
    return texts[_numbers(coded.indices)]


def longest_text(array: pa.Array) -> int:
    """Bytes of the longest of the texts, which are not unpacked for it; 0 of an array of another type."""
    texts = array.dictionary if pa.types.is_dictionary(array.type) else array
    wide = pa.types.is_large_string(texts.type)
    if not (wide or pa.types.is_string(texts.type)) or not len(texts):
        return 0
    ends = np.frombuffer(texts.buffers()[1], np.int64 if wide else np.int32)[texts.offset :][: len(texts) + 1]
    return int(np.diff(ends).max())


def offset_name(column: Column) -> str:
    """Name of the array that says where each row of a ragged column starts."""
    return f"{column.name}_offset"


def list_lengths(column: Column, arrays: Columns) -> np.ndarray:
    """int64[rows]: items of each list of a ragged column."""
    lengths: np.ndarray = np.diff(arrays[offset_name(column)].astype(np.int64))
    return lengths


def array_names(columns: Iterable[Column]) -> list[str]:
    """Names of the numpy arrays of the columns, offsets included."""
    return [name for c in columns for name in ([c.name, offset_name(c)] if c.ragged else [c.name])]


def empty(columns: Iterable[Column]) -> Columns:
    """The columns with no rows."""
    arrays: Columns = {}
    for column in columns:
        arrays[column.name] = np.empty(0, object if column.dtype == STRING else column.dtype)
        if column.ragged:
            arrays[offset_name(column)] = np.zeros(1, np.uint64)
    return arrays


def concatenate(columns: Iterable[Column], parts: list[Columns]) -> Columns:
    """Parts of a table, one after the other. ``parts`` is emptied on the way, so memory is not doubled."""
    columns = list(columns)
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return empty(columns)
    joined: Columns = {}
    for column in columns:
        if column.ragged:
            joined[offset_name(column)] = _join_offsets([part.pop(offset_name(column)) for part in parts])
        joined[column.name] = np.concatenate([part.pop(column.name) for part in parts])
    return joined


def _join_offsets(parts: list[np.ndarray]) -> np.ndarray:
    """Offsets of rows that follow each other: each part starts where the part before ended."""
    ends = np.cumsum([0, *[int(part[-1]) for part in parts]]).astype(np.uint64)
    shifted = [part[:-1] + start for part, start in zip(parts, ends[:-1], strict=True)]
    return np.concatenate([*shifted, ends[-1:]])


def take_rows(columns: Iterable[Column], arrays: Columns, first: int, end: int) -> Columns:
    """Rows ``first`` to ``end`` (exclusive) as views; the offsets are copied and start at 0."""
    rows: Columns = {}
    for column in columns:
        values = arrays[column.name]
        if column.ragged:
            offsets = arrays[offset_name(column)][first : end + 1]
            rows[column.name] = values[int(offsets[0]) : int(offsets[-1])]
            rows[offset_name(column)] = offsets - offsets[0]
        else:
            rows[column.name] = values[first:end]
    return rows


def row_count(columns: Iterable[Column], arrays: Columns) -> int:
    """Rows that the arrays hold, by the first of the columns."""
    for column in columns:
        return len(arrays[offset_name(column)]) - 1 if column.ragged else len(arrays[column.name])
    return 0
