"""Trace in HDF5, read through a child process that contains the effects of a hostile or damaged file.

HDF5 was measured to crash on damaged files, and follows links and external files by itself
(``docs/sources/measurements.md#damaged-files, #external-hdf5-storage``). The child inspects each dataset before it
reads it (``formats.hdf5.policy``), with no place to load filters from.
"""

import atexit
import contextlib
import os
import socket
import subprocess
import sys
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rayplay.formats.guard.digest import PACKAGES
from rayplay.formats.guard.errors import FormatError
from rayplay.formats.guard.limits import FILE_ROWS, GROUP_BYTES, LIMITS, MANIFEST_BYTES
from rayplay.formats.hdf5.messages import receive, send
from rayplay.formats.parquet.arrow import Columns, offset_name
from rayplay.formats.schema.column import STRING, Column, Format, Table
from rayplay.formats.schema.manifest import FileEntry, Manifest, check_label, parse_manifest

ANSWER_SECONDS = 60


class Hdf5Source:
    """Reads ``NAME.trace.h5``. Raises ``FormatError`` for whatever its child refuses, and when its child ends."""

    def __init__(self, path: Path, layout: Format) -> None:
        if not path.is_file():
            raise FormatError(f"must be a {layout.name} file, but there is none", file=path)
        self.path = path
        self.layout = layout
        self._connection = connect()
        weakref.finalize(self, self._connection.close)
        self.manifest = self._read_manifest()

    def _read_manifest(self) -> Manifest:
        label, (text,) = self._ask({"ask": "manifest"}, MANIFEST_BYTES.value(), 1)
        check_label(self.layout, label.get("format"), label.get("version"), self.path)
        try:
            decoded = text.tobytes().decode()
        except UnicodeDecodeError as error:
            raise FormatError(f"its manifest must be UTF-8: {error}", file=self.path) from None
        head = parse_manifest(decoded, f"{self.path}: manifest", self.layout)
        tables: dict[str, tuple[FileEntry, ...]] = {
            name: (self._entry(self.layout.table(name)),) for name in head.tables
        }
        return Manifest(head.format, head.version, head.provenance, head.image_size, head.launches, tables)

    def _entry(self, table: Table) -> FileEntry:
        """Rows and stored bytes of a table, all of whose columns have been inspected."""
        head, _ = self._ask({"ask": "inspect", "table": _schema(table, list(table.columns))}, 0, 0)
        rows, stored = int(head["rows"]), int(head["stored"])
        FILE_ROWS.check(rows, "its rows", file=self.path, table=table.name)
        return FileEntry(table.name, rows, stored, "")

    def groups(self, table: Table, columns: list[Column]) -> Iterator[Columns]:
        """The columns, a bounded number of rows after the other."""
        rows = self.manifest.rows(table.name)
        counts = sum(2 if c.ragged or c.dtype == STRING else 1 for c in columns)
        for number, first in enumerate(range(0, rows, table.group_rows)):
            end = min(first + table.group_rows, rows)
            request = {"ask": "read", "table": _schema(table, columns), "rows": [first, end], "row_group": number}
            _, arrays = self._ask(request, 2 * GROUP_BYTES.value(), counts)
            batch: Columns = {}
            place: dict[str, Any] = {"file": self.path, "table": table.name, "row_group": number}
            for column in columns:
                try:
                    batch |= _columns(column, arrays, end - first)
                except ValueError as error:
                    raise FormatError(f"cannot be read: {error}", **place, column=column.name) from None
            yield batch

    def _ask(self, request: dict[str, Any], most_bytes: int, count: int) -> tuple[dict[str, Any], list[np.ndarray]]:
        table = request.get("table", {}).get("name")
        place = {"table": table, "row_group": request.get("row_group")}
        try:
            send(self._connection, request | {"path": str(self.path.resolve())})
            head, arrays = receive(self._connection, most_bytes)
        except TimeoutError:
            reason = f"cannot be read: the HDF5 library did not answer within {ANSWER_SECONDS} s"
            raise FormatError(reason, file=self.path, **place) from None
        except (EOFError, OSError):
            reason = "cannot be read: the HDF5 library crashed or ran out of processor time or memory over it"
            raise FormatError(reason, file=self.path, **place) from None
        except (ValueError, RecursionError) as error:
            raise FormatError(f"cannot be read: its child process answered {error}", file=self.path, **place) from None
        if "error" in head:
            raise FormatError(str(head["error"]), file=self.path, **{**place, **head["place"]})
        if len(arrays) != count:
            raise FormatError("cannot be read: its child process left arrays out", file=self.path, **place)
        return head, arrays


def _schema(table: Table, columns: list[Column]) -> dict[str, Any]:
    return {"name": table.name, "columns": [[c.name, c.dtype, c.ragged] for c in columns]}


def _columns(column: Column, arrays: list[np.ndarray], rows: int) -> Columns:
    """Take a column's arrays from the front of ``arrays``; ``ValueError`` when the lengths do not fit."""
    if column.dtype == STRING:
        ends, text = arrays.pop(0).view(np.uint64), arrays.pop(0).tobytes()
        texts = np.empty(rows, object)
        texts[:] = [text[a:b].decode() for a, b in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True)]
        return {column.name: texts}
    if column.ragged:
        offsets, values = arrays.pop(0).view(np.uint64), arrays.pop(0).view(column.dtype)
        if len(offsets) != rows + 1 or int(offsets[-1]) != len(values):
            raise ValueError("offsets must fit the values")
        return {column.name: values, offset_name(column): offsets}
    values = arrays.pop(0).view(column.dtype)
    if len(values) != rows:
        raise ValueError(f"must have {rows} values, not {len(values)}")
    return {column.name: values}


class _Reader:
    """The process that loaded the library and forks for each file; one for this process, started when it is needed."""

    owner: tuple[int, tuple[str | None, ...]] = (0, ())
    process: subprocess.Popen[bytes] | None = None
    control: socket.socket | None = None


def connect() -> socket.socket:
    """A connection to a process of its own for one file."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with theirs:
        for attempt in range(2):
            if _Reader.control is None or _Reader.owner != _owner():
                _start()
            assert _Reader.control is not None
            try:
                socket.send_fds(_Reader.control, [b"+"], [theirs.fileno()])
                break
            except OSError:
                if attempt:
                    ours.close()
                    raise FormatError("the process that reads HDF5 cannot be started") from None
                _Reader.control.close()
                _Reader.control = None
    ours.settimeout(ANSWER_SECONDS)
    return ours


def child_environment() -> dict[str, str]:
    """This process's environment without a place that HDF5 could load filters from ("::" turns loading off)."""
    path = os.pathsep.join(filter(None, [str(PACKAGES.parent), os.environ.get("PYTHONPATH")]))
    quiet = {"HDF5_PLUGIN_PATH": "", "HDF5_PLUGIN_PRELOAD": "::", "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"}
    return os.environ | quiet


def _owner() -> tuple[int, tuple[str | None, ...]]:
    """This process and its limits: a reader of another process, or with other limits, is not reused."""
    return os.getpid(), tuple(os.environ.get(limit.variable) for limit in LIMITS)


def _start() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with theirs:
        command = [sys.executable, "-m", "rayplay.formats.hdf5.worker", str(theirs.fileno())]
        process = subprocess.Popen(
            command, pass_fds=[theirs.fileno()], env=child_environment(), stderr=subprocess.DEVNULL,
            process_group=0,  # Ctrl-C is for this process
        )  # fmt: skip
    _Reader.owner, _Reader.process, _Reader.control = _owner(), process, ours
    atexit.register(_stop, process, ours, os.getpid())


def _stop(process: subprocess.Popen[bytes], control: socket.socket, owner: int) -> None:
    control.close()
    if owner == os.getpid():
        with contextlib.suppress(KeyboardInterrupt):  # the verb has ended
            process.wait()
