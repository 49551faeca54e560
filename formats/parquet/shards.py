"""One table to its Parquet files: a new file after a fixed number of row groups, each hashed while it is written.

Row groups are encoded separately, by any thread, and appended in order (``formats.parquet.footer``); the bytes equal
the output of one Parquet writer. An incomplete file can be resumed, since its footer is in ``state``.
"""

import errno
import hashlib
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from rayplay.formats.guard.digest import file_digest
from rayplay.formats.parquet.arrow import Columns, arrow_schema, parquet_options, to_arrow
from rayplay.formats.parquet.footer import MAGIC, EncodedGroup, footer, moved, take_apart
from rayplay.formats.schema.column import Format, Table
from rayplay.formats.schema.manifest import FileEntry

CHUNK_BYTES = 1 << 20
DAMAGED = "what an earlier run wrote is damaged, so that it cannot be gone on with; the next run begins anew"
GROUPS_PER_SHARD = 64


def shard_name(table: Table, number: int) -> str:
    """File name of a table's n-th file."""
    return f"{table.name}-{number:05d}.parquet"


class HashingFile:
    """A file open for writing that counts and hashes what goes through it, and names itself in every error.

    keep   bytes of an earlier file that stay; the rest is cut off. 0: start an empty file.
    """

    def __init__(self, path: Path, keep: int = 0) -> None:
        self.path = path
        self.closed = False
        self._file: Any = open(path, "r+b" if keep else "wb", buffering=0)  # noqa: SIM115
        self._digest = hashlib.sha256()
        self._bytes = keep
        self._abandoned = False
        if keep:
            self._keep(keep)

    def _keep(self, length: int) -> None:
        left = length
        while left:
            read = self._file.read(min(left, CHUNK_BYTES))
            if not read:
                raise OSError(errno.EIO, DAMAGED, str(self.path))
            self._digest.update(read)
            left -= len(read)
        self._file.truncate(length)

    def write(self, data: Any) -> int:
        """Write all of ``data``."""
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

    def close(self) -> None:
        """Wait until the bytes are on the disk, and close."""
        if not self.closed:
            self.closed = True
            try:
                if not self._abandoned:
                    os.fsync(self._file.fileno())
            except OSError as error:
                raise OSError(error.errno, error.strerror, str(self.path)) from None
            finally:
                self._file.close()

    def abandon(self) -> None:
        """Close without waiting: the file is going to be removed."""
        self._abandoned = True
        self.close()

    def entry(self, rows: int) -> FileEntry:
        """The file's line in the manifest."""
        return FileEntry(self.path.name, rows, self._bytes, self._digest.hexdigest())


class Encoder:
    """Encodes row groups of one table; usable from several threads, in any order."""

    def __init__(self, layout: Format, table: Table) -> None:
        self.table = table
        self._schema = arrow_schema(table)
        self._options = parquet_options(table)
        self._label = {"rayplay.format": layout.name, "rayplay.version": "{}.{}".format(*layout.version)}

    def encode(self, group: Columns) -> EncodedGroup:
        """One row group, ready for any file of the table."""
        return take_apart(self._file(to_arrow(self.table, group)))

    def empty_file(self) -> memoryview:
        """A whole file without rows."""
        return self._file(None)

    def _file(self, data: pa.Table | None) -> memoryview:
        sink = pa.BufferOutputStream()
        with pq.ParquetWriter(sink, self._schema, **self._options) as parquet:
            if data is not None:
                parquet.write_table(data, row_group_size=max(1, len(data)))
            parquet.add_key_value_metadata(self._label)
        return memoryview(sink.getvalue())


@dataclass
class OpenShard:
    """File under construction: the footer's structs of its row groups, and the footer around them."""

    file: HashingFile
    entries: list[bytes] = field(default_factory=list)
    rows: int = 0
    head: bytes = b""
    tail: bytes = b""


class ShardWriter:
    """Appends encoded row groups of one table to its files in ``folder``."""

    def __init__(self, folder: Path, encoder: Encoder) -> None:
        self.table = encoder.table
        self.encoder = encoder
        self.entries: list[FileEntry] = []
        self._folder = folder
        self._open: OpenShard | None = None

    def append(self, group: EncodedGroup) -> None:
        """Append one row group."""
        if self._open is None:
            self._open = OpenShard(self._next_file())
            self._open.file.write(MAGIC)
        shard = self._open
        shard.entries.append(moved(group.entry, shard.file.tell(), len(shard.entries)))
        shard.file.write(group.data)
        shard.head, shard.tail, shard.rows = group.head, group.tail, shard.rows + group.rows
        if len(shard.entries) == GROUPS_PER_SHARD:
            self._close(shard)

    def close(self) -> None:
        """Complete the last file; a table without rows still gets one."""
        if self._open is not None:
            self._close(self._open)
        elif not self.entries:
            file = self._next_file()
            self._open = OpenShard(file)
            file.write(self.encoder.empty_file())
            self._complete(self._open)

    def abort(self) -> None:
        """Abandon the file, which is going to be removed."""
        if self._open is not None:
            self._open.file.abandon()

    def paths(self) -> list[Path]:
        """The files so far."""
        names = [entry.file for entry in self.entries]
        return [self._folder / name for name in names] + ([self._open.file.path] if self._open else [])

    def _next_file(self) -> HashingFile:
        return HashingFile(self._folder / shard_name(self.table, len(self.entries)))

    def _close(self, shard: OpenShard) -> None:
        shard.file.write(footer(shard.head, shard.tail, shard.entries, shard.rows))
        self._complete(shard)

    def _complete(self, shard: OpenShard) -> None:
        shard.file.close()
        self.entries.append(shard.file.entry(shard.rows))
        self._open = None

    def state(self) -> dict[str, Any]:
        """State so far, as JSON, for ``resume``."""
        made: dict[str, Any] = {"complete": [asdict(entry) for entry in self.entries], "open": None}
        if self._open is not None:
            shard = self._open
            frame = {"entries": [e.hex() for e in shard.entries], "head": shard.head.hex(), "tail": shard.tail.hex()}
            made["open"] = {"rows": shard.rows, "so_far": asdict(shard.file.entry(shard.rows)), **frame}
        return made

    def resume(self, state: dict[str, Any]) -> None:
        """Resume from ``state``; ``OSError`` when the files have changed."""
        self.entries = [FileEntry(**entry) for entry in state["complete"]]
        for entry in self.entries:
            path = self._folder / entry.file
            if file_digest(path) != entry.sha256:
                raise OSError(errno.EIO, DAMAGED, str(path))
        if (was := state["open"]) is not None:
            path = self._folder / shard_name(self.table, len(self.entries))
            entries = [bytes.fromhex(text) for text in was["entries"]]
            head, tail = bytes.fromhex(was["head"]), bytes.fromhex(was["tail"])
            file = HashingFile(path, was["so_far"]["bytes"])
            self._open = OpenShard(file, entries, was["rows"], head, tail)
            if asdict(file.entry(was["rows"])) != was["so_far"]:
                raise OSError(errno.EIO, DAMAGED, str(path))
