"""A trace as one HDF5 file: a group per table, a dataset per column, the same rows as the Parquet folder.

Ragged columns are ``x`` and ``x_offset``; strings have a fixed length and are UTF-8; each dataset carries ``units``
and ``description``. Written with the newest file layout and Fletcher-32 sums, because older layouts damaged on disk
can be read as wrong numbers (``reference/users-libraries-reliability.md`` 3.1).
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from tqdm import tqdm

from formats.arrow import Columns, offset_name, row_count
from formats.atomic import atomic_file
from formats.column import STRING, Column, Format, Table
from formats.errors import FormatError
from formats.hdf5_policy import MANIFEST_DATASET, column_dataset, open_hdf5, table_group
from formats.hdf5_sink import Hdf5Sink
from formats.manifest import FileEntry, Manifest, parse_manifest
from formats.reader import Dataset

CHUNK_ROWS = 1 << 16
GZIP_LEVEL = 4
_DAMAGE = (OSError, RuntimeError, ValueError, KeyError, TypeError, UnicodeDecodeError, MemoryError)


def write_hdf5(dataset: Dataset, path: Path | str) -> None:
    """Write all tables of ``dataset`` to the HDF5 file ``path``, complete or not at all.

    Raises ``FormatError`` when a table cannot be read or the file cannot be written.
    """
    final = Path(path)
    with atomic_file(final) as partial:
        try:
            with Hdf5Sink(partial) as sink:
                with h5py.File(sink, "w", libver="latest") as file:
                    _write(dataset, file, final, sink)
                sink.check()
        except (OSError, RuntimeError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise FormatError(f"{final}: cannot be written: {' '.join(reason.split())}") from None


def _write(dataset: Dataset, file: h5py.File, final: Path, sink: Hdf5Sink) -> None:
    manifest = dataset.manifest
    head = Manifest(
        manifest.format, manifest.version, manifest.provenance, manifest.image_size, manifest.launches,
        dict.fromkeys(dataset.tables, ()),
    )  # fmt: skip
    file.attrs["format"] = np.bytes_(manifest.format.encode())
    file.attrs["version"] = np.array(manifest.version, np.int64)
    text = np.frombuffer(head.text().encode(), np.uint8)
    _describe(_dataset(file, MANIFEST_DATASET, text.dtype, len(text)), "1", "The manifest: JSON text in UTF-8.")
    file[MANIFEST_DATASET].resize((len(text),))
    file[MANIFEST_DATASET][:] = text
    rows = sum(dataset.rows(name) for name in dataset.tables)
    with tqdm(total=rows, desc=final.name, unit="row", unit_scale=True, disable=None) as progress:
        for name in dataset.tables:
            _write_table(dataset, file, dataset.layout.table(name), progress)
            sink.check()


def _write_table(dataset: Dataset, file: h5py.File, table: Table, progress: Any) -> None:
    group = file.create_group(table.name)
    group.attrs["description"] = np.bytes_(f"One row per {table.per_row}.".encode())
    for column in table.columns:
        rows = dataset.rows(table.name)
        values = _dataset(
            group, column.name, _stored_type(dataset, table, column), CHUNK_ROWS if column.ragged else rows
        )
        _describe(values, column.unit, column.doc)
        if column.ragged:
            offsets = _dataset(group, offset_name(column), np.dtype(np.uint64), rows + 1)
            _describe(offsets, "count", f"Where each row of {column.name} starts; the last entry is its length.")
            offsets.resize((1,))
    for batch in dataset.batches(table.name):
        for column in table.columns:
            _append(group, column, batch)
        progress.update(row_count(table.columns, batch))


def _stored_type(dataset: Dataset, table: Table, column: Column) -> np.dtype:
    if column.dtype != STRING:
        return np.dtype(column.dtype)
    longest = 1
    for batch in dataset.batches(table.name, [column.name]):
        longest = max(longest, *(len(text.encode()) for text in batch[column.name]), 1)
    return h5py.string_dtype("utf-8", longest)


def _dataset(group: h5py.Group, name: str, dtype: np.dtype, rows: int) -> h5py.Dataset:
    chunk = max(1, min(rows, CHUNK_ROWS))
    return group.create_dataset(
        name, shape=(0,), maxshape=(None,), dtype=dtype, chunks=(chunk,),
        compression="gzip", compression_opts=GZIP_LEVEL, shuffle=True, fletcher32=True,
    )  # fmt: skip


def _describe(dataset: h5py.Dataset, unit: str, doc: str) -> None:
    dataset.attrs["units"] = np.bytes_(unit.encode())
    dataset.attrs["description"] = np.bytes_(doc.encode())


def _append(group: h5py.Group, column: Column, batch: Columns) -> None:
    values = batch[column.name]
    stored = group[column.name]
    if column.ragged:
        offsets = group[offset_name(column)]
        _extend(offsets, batch[offset_name(column)][1:] + np.uint64(len(stored)))
    if column.dtype == STRING:
        values = np.array([text.encode() for text in values], stored.dtype)
    _extend(stored, values)


def _extend(dataset: h5py.Dataset, values: np.ndarray) -> None:
    if not len(values):
        return
    start = len(dataset)
    dataset.resize((start + len(values),))
    dataset[start:] = values


class Hdf5Source:
    """Reads ``NAME.trace.h5``; refuses links, external storage, virtual datasets and unknown filters before reading."""

    def __init__(self, path: Path, layout: Format) -> None:
        self.path = path
        self.layout = layout
        self._file = open_hdf5(path, layout)
        self.manifest = self._read_manifest()

    def _read_manifest(self) -> Manifest:
        place = f"{self.path}: {MANIFEST_DATASET}"
        try:
            text = bytes(self._file[MANIFEST_DATASET][:]).decode()
        except _DAMAGE as error:
            raise FormatError(f"{place}: cannot be read: {error}") from None
        head = parse_manifest(text, place, self.layout)
        tables: dict[str, tuple[FileEntry, ...]] = {
            name: (self._entry(self.layout.table(name)),) for name in head.tables
        }
        return Manifest(head.format, head.version, head.provenance, head.image_size, head.launches, tables)

    def _entry(self, table: Table) -> FileEntry:
        """Rows and stored bytes of a table; all its columns are inspected and must be as long as each other."""
        group = table_group(self._file, self.path, table)
        rows, stored = set(), 0
        for column in table.columns:
            values = column_dataset(group, self.path, column, column.name)
            stored += values.id.get_storage_size()
            if column.ragged:
                values = column_dataset(group, self.path, column, offset_name(column))
                stored += values.id.get_storage_size()
            rows.add(len(values) - column.ragged)
        if len(rows) != 1 or min(rows) < 0:
            raise FormatError(
                f"{self.path}: table {table.name}: columns must be equally long, not of {sorted(rows)} rows"
            )
        return FileEntry(table.name, rows.pop(), stored, "")

    def groups(self, table: Table, columns: list[Column]) -> Iterator[Columns]:
        """The columns, a bounded number of rows after the other."""
        rows = self.manifest.rows(table.name)
        for first in range(0, rows, table.group_rows):
            end = min(first + table.group_rows, rows)
            batch: Columns = {}
            for column in columns:
                place = f"{self.path}: table {table.name}, column {column.name}, rows {first} to {end - 1}"
                try:
                    batch |= _read(self._file[table.name], column, first, end)
                except _DAMAGE as error:
                    raise FormatError(f"{place}: cannot be read: {' '.join(str(error).split())}") from None
            yield batch


def _read(group: h5py.Group, column: Column, first: int, end: int) -> Columns:
    values = group[column.name]
    if column.ragged:
        offsets = group[offset_name(column)][first : end + 1]
        if (first == 0 and offsets[0] != 0) or (offsets[1:] < offsets[:-1]).any() or offsets[-1] > len(values):
            raise ValueError(f"offsets must start at 0, never decrease, and end by {len(values)}")
        if end + 1 == len(group[offset_name(column)]) and offsets[-1] != len(values):
            raise ValueError(f"the last offset must be {len(values)}, not {offsets[-1]}")
        numbers = values[int(offsets[0]) : int(offsets[-1])]
        return {column.name: numbers, offset_name(column): offsets - offsets[0]}
    if column.dtype != STRING:
        return {column.name: values[first:end]}
    texts = np.empty(end - first, object)
    texts[:] = [text.decode() for text in values[first:end]]
    return {column.name: texts}
