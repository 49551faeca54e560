"""One table to its Parquet files: a new file after a fixed number of row groups, each hashed while it is written."""

import hashlib
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from formats.arrow import Columns, arrow_schema, parquet_options, to_arrow
from formats.column import Table
from formats.manifest import FileEntry

GROUPS_PER_SHARD = 64


def shard_name(table: Table, number: int) -> str:
    """File name of a table's n-th file."""
    return f"{table.name}-{number:05d}.parquet"


class HashingFile:
    """A file open for writing that counts and hashes what goes through it, and names itself in every error."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.closed = False
        self._file: Any = open(path, "wb", buffering=0)  # noqa: SIM115
        self._digest = hashlib.sha256()
        self._bytes = 0
        self._discard = False

    def write(self, data: Any) -> int:
        """Write all of ``data``."""
        if self._discard:
            return len(data)
        view = memoryview(data)
        self._digest.update(view)
        self._bytes += view.nbytes
        while view.nbytes:
            view = view[self._write_some(view) :]
        return len(data)

    def _write_some(self, view: memoryview) -> int:
        try:
            return self._file.write(view)
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(self.path)) from None

    def tell(self) -> int:
        """Bytes written so far."""
        return self._bytes

    def flush(self) -> None:
        """Nothing is held back."""

    def close(self) -> None:
        """Wait until the bytes are on the disk, and close."""
        if not self.closed:
            self.closed = True
            try:
                if not self._discard:
                    os.fsync(self._file.fileno())
            except OSError as error:
                raise OSError(error.errno, error.strerror, str(self.path)) from None
            finally:
                self._file.close()

    def discard(self) -> None:
        """From here on writing does nothing: the file will be removed."""
        self._discard = True

    def entry(self, rows: int) -> FileEntry:
        """The file's line in the manifest."""
        return FileEntry(self.path.name, rows, self._bytes, self._digest.hexdigest())


class ShardWriter:
    """Writes the row groups of one table into ``folder``."""

    def __init__(self, folder: Path, table: Table) -> None:
        self.table = table
        self.entries: list[FileEntry] = []
        self._folder = folder
        self._file: HashingFile | None = None
        self._parquet: pq.ParquetWriter | None = None
        self._groups = 0
        self._rows = 0

    def write(self, group: Columns) -> None:
        """Append one row group."""
        parquet = self._parquet or self._open()
        data = to_arrow(self.table, group)
        parquet.write_table(data, row_group_size=max(1, len(data)))
        self._groups += 1
        self._rows += len(data)
        if self._groups == GROUPS_PER_SHARD:
            self._close()

    def close(self) -> None:
        """Complete the last file; a table without rows still gets one."""
        if not self.entries and self._parquet is None:
            self._open()
        if self._parquet is not None:
            self._close()

    def abort(self) -> None:
        """Let go of the file, which is going to be removed."""
        if self._file is None or self._file.closed:
            return
        self._file.discard()
        if self._parquet is not None:
            with suppress(OSError, pa.ArrowException):
                self._parquet.close()
        self._file.close()

    def _open(self) -> pq.ParquetWriter:
        self._file = HashingFile(self._folder / shard_name(self.table, len(self.entries)))
        self._parquet = pq.ParquetWriter(self._file, arrow_schema(self.table), **parquet_options(self.table))
        self._groups = self._rows = 0
        return self._parquet

    def _close(self) -> None:
        assert self._file is not None
        assert self._parquet is not None
        self._parquet.close()
        self._parquet = None
        self._file.close()
        self.entries.append(self._file.entry(self._rows))
