"""The end of a Parquet file, taken apart and put together: row groups are encoded apart and become one file.

A Parquet file is ``PAR1``, the row groups, a footer, its length and ``PAR1``. The footer (Thrift's compact protocol)
says where every column of every row group lies. pyarrow encodes each row group as a file of its own, in any thread;
here its place is moved to where its bytes end up. The result is, byte for byte, what one writer would have made.
Source: parquet.thrift and Thrift's compact protocol of the Apache Software Foundation.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from rayplay.formats.parquet.thrift import BINARY, BYTE, DOUBLE, FALSE, I16, I32, I64, LIST, SET, STRUCT, TRUE, Reader

MAGIC = b"PAR1"
LONG_LIST = 15
# fields of FileMetaData, and of RowGroup: paths of field numbers through the structs
FILE_ROWS, FILE_GROUPS = 3, 4
GROUP_ROWS, GROUP_ORDINAL = (3,), (7,)
# of the row group: its offset; of each column: offsets of its data, index and dictionary pages
OFFSETS = ((5,), (1, 3, 9), (1, 3, 10), (1, 3, 11))

Change = dict[tuple[int, ...], Callable[[int], int]]


class EncodedGroup(NamedTuple):
    """A row group on its own.

    data     the bytes of its columns.
    entry    its struct in the footer, as if ``data`` began right after ``PAR1``.
    head     what the footer says before the list of row groups, up to the number of rows.
    tail     what it says after them: metadata and the name of the writer.
    rows     rows of the group.
    """

    data: memoryview
    entry: bytes
    head: bytes
    tail: bytes
    rows: int


def take_apart(file: memoryview) -> EncodedGroup:
    """The one row group of a whole Parquet file."""
    end = len(file) - 8
    begin = end - int.from_bytes(file[end : end + 4], "little")
    footer = bytes(file[begin:end])
    reader = Reader(footer)
    parts: dict[int, tuple[int, int]] = {}
    start = field = 0
    while kind_and_field := reader.field(field):
        kind, field = kind_and_field
        _copy(reader, kind, bytearray(), {}, ())
        parts[field] = (start, reader.at)
        start = reader.at
    rows = Reader(footer)
    rows.skip(parts[FILE_ROWS][0] + 1)
    start, stop = parts[FILE_GROUPS]
    entry = footer[start + 2 : stop]  # after the header of the field and of a list of one struct
    return EncodedGroup(file[len(MAGIC) : begin], entry, footer[: parts[FILE_ROWS][0]], footer[stop:], rows.integer())


def moved(entry: bytes, position: int, ordinal: int) -> bytes:
    """The struct of a row group whose data begins at ``position`` and that is number ``ordinal`` of its file."""
    by = position - len(MAGIC)
    change: Change = {path: lambda offset: offset + by for path in OFFSETS}
    change[GROUP_ORDINAL] = lambda _: ordinal
    made = bytearray()
    _copy(Reader(entry), STRUCT, made, change, ())
    return bytes(made)


def footer(head: bytes, tail: bytes, entries: Sequence[bytes], rows: int) -> bytes:
    """End of a file with the row groups ``entries``, ``rows`` rows in all: footer, length, ``PAR1``."""
    made = bytearray(head)
    made.append(1 << 4 | I64)  # field 3 follows field 2
    _put_varint(made, _zigzag(rows))
    made.append(1 << 4 | LIST)
    made.append(min(len(entries), LONG_LIST) << 4 | STRUCT)
    if len(entries) >= LONG_LIST:
        _put_varint(made, len(entries))
    made += b"".join(entries) + tail
    return bytes(made) + len(made).to_bytes(4, "little") + MAGIC


def _copy(reader: Reader, kind: int, out: bytearray, change: Change, path: tuple[int, ...]) -> None:
    """Append the value that comes next to ``out``, its integers at the paths of ``change`` changed."""
    if kind in (I16, I32, I64):
        value = reader.integer()
        _put_varint(out, _zigzag(change[path](value) if path in change else value))
    elif kind in (BYTE, DOUBLE, BINARY):
        start = reader.at
        reader.skip(reader.varint() if kind == BINARY else 8 if kind == DOUBLE else 1)
        out += reader.data[start : reader.at]
    elif kind in (LIST, SET):
        _copy_list(reader, out, change, path)
    elif kind == STRUCT:
        _copy_struct(reader, out, change, path)
    elif kind not in (TRUE, FALSE):  # which have no bytes of their own
        raise ValueError(f"footer of a Parquet file: type {kind} at byte {reader.at} is unknown")


def _copy_struct(reader: Reader, out: bytearray, change: Change, path: tuple[int, ...]) -> None:
    field, start = 0, reader.at
    while kind_and_field := reader.field(field):
        kind, field = kind_and_field
        out += reader.data[start : reader.at]
        _copy(reader, kind, out, change, (*path, field))
        start = reader.at
    out.append(0)


def _copy_list(reader: Reader, out: bytearray, change: Change, path: tuple[int, ...]) -> None:
    start, head = reader.at, reader.byte()
    count = head >> 4 if head >> 4 != LONG_LIST else reader.varint()
    out += reader.data[start : reader.at]
    element = BYTE if head & 15 in (TRUE, FALSE) else head & 15
    for _ in range(count):
        _copy(reader, element, out, change, path)


def _put_varint(out: bytearray, value: int) -> None:
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)


def _zigzag(value: int) -> int:
    return value << 1 if value >= 0 else (-value << 1) - 1
