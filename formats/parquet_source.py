"""A folder of Parquet files as a stream of row groups, every failure one ``FormatError`` with its place."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from formats.arrow import Columns, from_arrow
from formats.column import Column, Format, Table
from formats.errors import FormatError
from formats.manifest import FileEntry, Manifest, read_manifest

MAX_GROUP_ROWS = 1 << 24
_DAMAGE = (OSError, pa.ArrowException, ValueError, KeyError, UnicodeDecodeError, MemoryError)


class ParquetSource:
    """Reads ``NAME.trace`` (or any folder of ``layout``). The files' lengths are checked when it is opened."""

    def __init__(self, path: Path, layout: Format) -> None:
        self.path = path
        self.layout = layout
        self.manifest: Manifest = read_manifest(path, layout)
        for entries in self.manifest.tables.values():
            for entry in entries:
                self._check_length(entry)

    def groups(self, table: Table, columns: list[Column]) -> Iterator[Columns]:
        """The columns, one row group after the other; page checksums are verified."""
        for entry in self.manifest.tables.get(table.name, ()):
            file = self._open(table, entry)
            try:
                for number in range(file.num_row_groups):
                    yield self._group(file, number, table, columns, entry)
            finally:
                file.close()

    def _check_length(self, entry: FileEntry) -> None:
        path = self.path / entry.file
        if path.is_symlink() or not path.is_file():
            raise FormatError(f"{path}: must be a file, as the manifest says, but is not there")
        found = path.stat().st_size
        if found != entry.bytes:
            raise FormatError(f"{path}: must be {entry.bytes} bytes long, as the manifest says, not {found}")

    def _open(self, table: Table, entry: FileEntry) -> pq.ParquetFile:
        place = f"{self.path / entry.file}: table {table.name}"
        try:
            file = pq.ParquetFile(self.path / entry.file, pre_buffer=False, page_checksum_verification=True)
        except _DAMAGE as error:
            raise FormatError(f"{place}: cannot be read: {_reason(error)}") from None
        names = file.schema_arrow.names
        wanted = [column.name for column in table.columns]
        newer = self.manifest.version > self.layout.version
        fits = set(wanted) <= set(names) if newer else set(wanted) == set(names)
        if not fits or len(names) != len(set(names)):
            raise FormatError(f"{place}: columns must be {', '.join(wanted)}, not {', '.join(names)}")
        if file.metadata.num_rows != entry.rows:
            raise FormatError(
                f"{place}: must have {entry.rows} rows, as the manifest says, not {file.metadata.num_rows}"
            )
        return file

    def _group(
        self, file: pq.ParquetFile, number: int, table: Table, columns: list[Column], entry: FileEntry
    ) -> Columns:
        place = f"{self.path / entry.file}: table {table.name}, row group {number}"
        arrays: Columns = {}
        try:
            rows = file.metadata.row_group(number).num_rows
            if rows > MAX_GROUP_ROWS:
                raise FormatError(f"{place}: must have at most {MAX_GROUP_ROWS} rows, not {rows}")
            data = file.read_row_group(number, columns=[column.name for column in columns], use_threads=False)
        except _DAMAGE as error:
            raise FormatError(f"{place}: cannot be read: {_reason(error)}{_culprit(file, number, columns)}") from None
        for column in columns:
            try:
                arrays |= from_arrow(column, data.column(column.name))
            except _DAMAGE as error:
                raise FormatError(f"{place}, column {column.name}: {_reason(error)}") from None
        return arrays


def _culprit(file: pq.ParquetFile, number: int, columns: list[Column]) -> str:
    """Which column of a damaged row group cannot be read."""
    for column in columns:
        try:
            file.read_row_group(number, columns=[column.name], use_threads=False)
        except _DAMAGE:
            return f" (column {column.name})"
    return ""


def _reason(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__
