"""A trace written as one HDF5 file: a group per table, a dataset per column, the same rows as the Parquet folder.

Ragged columns are ``x`` and ``x_offset``; strings have a fixed length and are UTF-8; each dataset carries ``units``
and ``description``. Written with the newest file layout and Fletcher-32 sums, because older layouts damaged on disk
can be read as wrong numbers (``docs/sources/measurements.md#damaged-files``).
"""

from pathlib import Path
from typing import Any

import h5py
import numpy as np
from tqdm import tqdm

from rayplay.formats.dataset.reader import Dataset
from rayplay.formats.guard.errors import FormatError, reason_of
from rayplay.formats.hdf5.policy import MANIFEST_DATASET, ROWS
from rayplay.formats.hdf5.sink import Hdf5Sink
from rayplay.formats.parquet.arrow import Columns, offset_name, row_count
from rayplay.formats.place.publish import atomic_file
from rayplay.formats.schema.column import STRING, Column, Table
from rayplay.formats.schema.manifest import Manifest

CHUNK_ROWS, CHUNK_BYTES = 1 << 16, 1 << 24  # of a chunk, at most
GZIP_LEVEL = 4


def write_hdf5(dataset: Dataset, path: Path | str) -> None:
    """Write all tables of ``dataset`` to the HDF5 file ``path``, complete or not at all.

    Raises ``FormatError`` when a table cannot be read or the file cannot be written.
    """
    final = Path(path)
    with atomic_file(final) as partial:
        try:
            with Hdf5Sink(partial) as sink:
                try:
                    with h5py.File(sink, "w", libver="latest") as file:
                        _write(dataset, file, final, sink)
                finally:
                    sink.check()  # what the library raises may only follow from it
        except (OSError, RuntimeError) as error:
            raise FormatError(f"{final}: cannot be written: {reason_of(error)}") from None


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
            _write_table(dataset, file, dataset.layout.table(name), progress, sink)


def _write_table(dataset: Dataset, file: h5py.File, table: Table, progress: Any, sink: Hdf5Sink) -> None:
    group = file.create_group(table.name)
    group.attrs["description"] = np.bytes_(f"One row per {table.per_row}.".encode())
    group.attrs[ROWS] = np.int64(dataset.rows(table.name))
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
            offsets[0] = 0  # stored, though it is what would be read in its place
    for batch in dataset.batches(table.name):
        for column in table.columns:
            _append(group, column, batch)
        progress.update(row_count(table.columns, batch))
        sink.check()


def _stored_type(dataset: Dataset, table: Table, column: Column) -> np.dtype:
    if column.dtype != STRING:
        return np.dtype(column.dtype)
    longest = 1
    for batch in dataset.batches(table.name, [column.name]):
        longest = max(longest, *(len(text.encode()) for text in batch[column.name]), 1)
    return h5py.string_dtype("utf-8", longest)


def _dataset(group: h5py.Group, name: str, dtype: np.dtype, rows: int) -> h5py.Dataset:
    chunk = max(1, min(rows, CHUNK_ROWS, CHUNK_BYTES // dtype.itemsize))
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
    if column.dtype != STRING:
        _extend(stored, values)
        return
    for first in range(0, len(values), stored.chunks[0]):  # each text takes as much room as the longest
        texts = [text.encode() for text in values[first : first + stored.chunks[0]]]
        _extend(stored, np.array(texts, stored.dtype))


def _extend(dataset: h5py.Dataset, values: np.ndarray) -> None:
    if not len(values):
        return
    start = len(dataset)
    dataset.resize((start + len(values),))
    dataset[start:] = values
