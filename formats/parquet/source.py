"""A folder of Parquet files as a stream of row groups, every failure one ``FormatError`` with its place."""

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from rayplay.formats.guard.errors import FormatError, reason_of
from rayplay.formats.guard.limits import COLUMNS, FILE_ROWS, STRING_BYTES
from rayplay.formats.parquet.arrow import Columns, from_array, longest_text, row_count
from rayplay.formats.parquet.pages import check_footer, check_group, open_parquet, spelt_out, widths
from rayplay.formats.place.location import open_binary, reached
from rayplay.formats.schema.column import STRING, Column, Format, Table, misnamed
from rayplay.formats.schema.manifest import FileEntry, Manifest, check_label, read_manifest

ROWS_AT_ONCE = 1 << 13
HELD_BYTES = 1 << 26  # decoded before unused memory goes back to the system, which then has to clear it once more
CHUNK_BYTES_AT_ONCE = 1 << 17  # else a whole column chunk is held beside what it unpacks to
PACKED_ADVICE = "; of DuckDB, Arrow reads whole numbers from 2^31 on in files of PARQUET_VERSION V1 alone"
_DAMAGE = (OSError, pa.ArrowException, ValueError, KeyError, UnicodeDecodeError, MemoryError)


class ParquetSource:
    """Reads ``NAME.trace`` (or any folder of ``layout``). The files' lengths are checked when it is opened."""

    def __init__(self, path: Path, layout: Format) -> None:
        self.path = path
        self.layout = layout
        with reached(path):
            self.manifest: Manifest = read_manifest(path, layout)
            for entries in self.manifest.tables.values():
                for entry in entries:
                    self._check_length(entry)

    def groups(self, table: Table, columns: list[Column]) -> Iterator[Columns]:
        """The columns, piece after piece of each row group; page checksums are verified."""
        for entry in self.manifest.tables.get(table.name, ()):
            held = 0
            with reached(self.path), self._open(table, entry) as file:
                for number in range(file.num_row_groups):
                    if not file.metadata.row_group(number).num_rows:
                        continue  # its pages may be none
                    plain = spelt_out(file.metadata, number)
                    with self._texts(table, entry, file.metadata, plain) if plain else nullcontext(file) as here:
                        yield from self._group(here, number, table, columns, entry)
                    held += file.metadata.row_group(number).total_byte_size
                    if held > HELD_BYTES:
                        pa.default_memory_pool().release_unused()  # else it keeps some 200 MB of large groups
                        held = 0
            pa.default_memory_pool().release_unused()

    def _check_length(self, entry: FileEntry) -> None:
        path = self.path / entry.file
        if path.is_symlink() or not path.is_file():
            raise FormatError("must be a file, as the manifest says, but is not there", file=path)
        found = path.stat().st_size
        if found != entry.bytes:
            raise FormatError(f"must be {entry.bytes} bytes long, as the manifest says, not {found}", file=path)

    def _open(self, table: Table, entry: FileEntry) -> pq.ParquetFile:
        path = self.path / entry.file
        try:
            with open_binary(path) as raw:
                check_footer(path, raw)
                metadata = pq.read_metadata(raw)
            COLUMNS.check(metadata.num_columns, "its columns", file=path, table=table.name)
            names = metadata.schema.to_arrow_schema().names
        except _DAMAGE as error:
            raise FormatError(f"cannot be read: {reason_of(error)}", file=path, table=table.name) from None
        own = metadata.metadata or {}
        keys = (b"rayplay.format", b"rayplay.version")
        name, version = (own[key].decode(errors="replace") if key in own else None for key in keys)
        check_label(self.layout, name, version, path)
        newer = self.manifest.version > self.layout.version
        if reason := misnamed([column.name for column in table.columns], names, newer):
            raise FormatError(reason, file=path, table=table.name)
        rows = metadata.num_rows
        if rows != entry.rows:
            reason = f"must have {entry.rows} rows, as the manifest says, not {rows}"
            raise FormatError(reason, file=path, table=table.name)
        FILE_ROWS.check(rows, "its rows", file=path, table=table.name)
        if (found := sum(metadata.row_group(n).num_rows for n in range(metadata.num_row_groups))) != rows:
            raise FormatError(f"its row groups must have {rows} rows, not {found}", file=path, table=table.name)
        return self._texts(table, entry, metadata, set())

    def _texts(self, table: Table, entry: FileEntry, metadata: pq.FileMetaData, plain: set[str]) -> pq.ParquetFile:
        """The file with its texts as dictionaries, without the columns ``plain``."""
        texts = [column.name for column in table.columns if column.dtype == STRING and column.name not in plain]
        path = self.path / entry.file
        try:
            return open_parquet(path, metadata, texts, buffer_size=CHUNK_BYTES_AT_ONCE)
        except _DAMAGE as error:
            raise FormatError(f"cannot be read: {reason_of(error)}", file=path, table=table.name) from None

    def _group(
        self, file: pq.ParquetFile, number: int, table: Table, columns: list[Column], entry: FileEntry
    ) -> Iterator[Columns]:
        place: dict[str, Any] = {"file": self.path / entry.file, "table": table.name, "row_group": number}
        names = [column.name for column in columns]
        rows, found = file.metadata.row_group(number).num_rows, 0
        # a long text that many rows share is held once a batch
        at_once = max(rows, 1) if any(column.dtype == STRING for column in columns) else ROWS_AT_ONCE
        try:
            with open_binary(self.path / entry.file) as raw:
                check_group(raw, file.metadata, number, widths(columns), place)
            for batch in file.iter_batches(at_once, row_groups=[number], columns=names, use_threads=False):
                found += batch.num_rows
                yield _arrays(columns, batch, place)
        except _DAMAGE as error:
            culprit = _culprit(file, number, columns)
            reason = f"cannot be read: {reason_of(error)}{PACKED_ADVICE if 'InitHeader' in str(error) else ''}"
            raise FormatError(reason, **place, column=culprit) from None
        if found != rows:
            raise FormatError(f"must have {rows} rows, not {found}", **place)


def _arrays(columns: list[Column], batch: pa.RecordBatch, place: dict[str, Any]) -> Columns:
    arrays: Columns = {}
    for column in columns:
        values = batch.column(column.name)
        if longest := longest_text(values):
            STRING_BYTES.check(longest, "its texts", **place, column=column.name)
        try:
            arrays |= from_array(column, values)
        except _DAMAGE as error:
            raise FormatError(reason_of(error), **place, column=column.name) from None
        if (found := row_count([column], arrays)) != batch.num_rows:
            raise FormatError(f"must have {batch.num_rows} values, not {found}", **place, column=column.name)
    return arrays


def _culprit(file: pq.ParquetFile, number: int, columns: list[Column]) -> str | None:
    """Column of a damaged row group that cannot be read."""
    for column in columns:
        try:
            file.read_row_group(number, columns=[column.name], use_threads=False)
        except _DAMAGE:
            return column.name
    return None
