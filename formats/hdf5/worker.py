"""The process that reads HDF5 for another: ``python -m rayplay.formats.hdf5.worker SOCKET`` (``formats.hdf5.source``).

It loads the library once and then forks for each file, so that damage to the library (a crash, a hang, wrong numbers
afterwards) ends with that file. A fork answers requests until the other side closes; each answer may take ten
seconds of processor time, and memory is limited.
"""

import math
import os
import resource
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from rayplay.formats.guard.errors import FormatError, reason_of
from rayplay.formats.guard.limits import GROUP_BYTES, mapped_bytes
from rayplay.formats.hdf5.messages import receive, send
from rayplay.formats.hdf5.policy import (
    MANIFEST_DATASET,
    check_bytes,
    column_dataset,
    label,
    open_hdf5,
    stated_rows,
    table_group,
)
from rayplay.formats.parquet.arrow import offset_name
from rayplay.formats.schema.column import STRING, Column, Table

ANSWER_CPU_SECONDS = 10
REQUEST_BYTES = 0
DAMAGE = (OSError, RuntimeError, ValueError, KeyError, TypeError, MemoryError, AttributeError, ArithmeticError)


def serve(control: socket.socket) -> None:
    """Fork for each connection that comes through ``control``, until it is closed."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no process waits for the forks
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asked
    while True:
        data, handles, _, _ = socket.recv_fds(control, 1, 1)
        if not data:
            return
        if os.fork() == 0:
            control.close()
            answer_all(socket.socket(fileno=handles[0]))
            os._exit(0)
        os.close(handles[0])


def answer_all(connection: socket.socket) -> None:
    """Answer requests about one file until the other side closes."""
    _limit_memory()
    file: h5py.File | None = None
    while True:
        try:
            request, _ = receive(connection, REQUEST_BYTES)
        except EOFError:
            return
        _limit_time()
        path = Path(request["path"])
        try:
            file = file or open_hdf5(path)
            head, arrays = _answer(file, path, request)
        except FormatError as error:
            place = {"table": error.table, "row_group": error.row_group, "column": error.column}
            head, arrays = {"error": error.reason, "place": place}, []
        except DAMAGE as error:
            reason = f"cannot be read: {reason_of(error)}"
            head, arrays = {"error": reason, "place": {"table": request.get("table", {}).get("name")}}, []
        send(connection, head, arrays)


def _answer(file: h5py.File, path: Path, request: dict[str, Any]) -> tuple[dict[str, Any], list[np.ndarray]]:
    if request["ask"] == "manifest":
        return label(file, path), [file[MANIFEST_DATASET][:]]
    table = table_of(request["table"])
    if request["ask"] == "inspect":
        return inspect(file, path, table), []
    arrays = [a for column in table.columns for a in read(file[table.name], path, table, column, request)]
    return {}, arrays


def table_of(value: dict[str, Any]) -> Table:
    """A table as the other side sends it: its name, and name, dtype and raggedness of its columns."""
    columns = (Column(name, dtype, "", "", ragged) for name, dtype, ragged in value["columns"])
    return Table(value["name"], "", tuple(columns))


def inspect(file: h5py.File, path: Path, table: Table) -> dict[str, Any]:
    """Rows and stored bytes of a table; all its columns are inspected and must have equal lengths."""
    group = table_group(file, path, table)
    rows, stored = set(), 0
    for column in table.columns:
        values = column_dataset(group, path, column, column.name)
        stored += values.id.get_storage_size()
        if column.ragged:
            values = column_dataset(group, path, column, offset_name(column))
            stored += values.id.get_storage_size()
        rows.add(len(values) - column.ragged)
    if len(rows) != 1 or min(rows) < 0:
        reason = f"columns must be equally long, not of {sorted(rows)} rows"
        raise FormatError(reason, file=path, table=table.name)
    (found,), stated = rows, stated_rows(group, path, table)
    if stated is not None and stated != found:
        raise FormatError(f"must have {stated} rows, as its attribute says, not {found}", file=path, table=table.name)
    return {"rows": found, "stored": stored}


def read(group: h5py.Group, path: Path, table: Table, column: Column, request: dict[str, Any]) -> list[np.ndarray]:
    """Some rows of a column: values; before them offsets for a ragged column, or the end of each text."""
    first, end = request["rows"]
    place: dict[str, Any] = {"table": table.name, "row_group": request["row_group"], "column": column.name}
    try:
        values = group[column.name]
        if not column.ragged:
            check_bytes((end - first) * values.dtype.itemsize, path, place)
            rows = values[first:end]
            return _texts(rows) if column.dtype == STRING else [rows]
        offsets = group[offset_name(column)][first : end + 1]
        _check_offsets(offsets, first, len(values), end + 1 == len(group[offset_name(column)]))
        check_bytes((int(offsets[-1]) - int(offsets[0])) * values.dtype.itemsize, path, place)
        return [offsets - offsets[0], values[int(offsets[0]) : int(offsets[-1])]]
    except DAMAGE as error:
        reason = f"cannot be read: {reason_of(error)}"
        raise FormatError(reason, file=path, **place) from None


def _check_offsets(offsets: np.ndarray, first: int, length: int, is_last: bool) -> None:
    if (first == 0 and offsets[0] != 0) or (offsets[1:] < offsets[:-1]).any() or offsets[-1] > length:
        raise ValueError(f"offsets must start at 0, never decrease, and end by {length}")
    if is_last and offsets[-1] != length:
        raise ValueError(f"the last offset must be {length}, not {offsets[-1]}")


def _texts(rows: np.ndarray) -> list[np.ndarray]:
    """End of each text, and all texts concatenated."""
    texts = [bytes(text) for text in rows]
    ends = np.cumsum([len(text) for text in texts], dtype=np.uint64)
    return [ends, np.frombuffer(b"".join(texts), np.uint8)]


def _limit_memory() -> None:
    """Address space for the file beyond what the process has now; where the system does not say, none is limited."""
    if not (mapped := mapped_bytes()):
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = mapped + 3 * GROUP_BYTES.value()
    resource.setrlimit(resource.RLIMIT_AS, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def _limit_time() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(time.process_time()) + ANSWER_CPU_SECONDS, hard))


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
