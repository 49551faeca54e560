"""The end of a Parquet file, taken apart and put together: row groups are encoded apart and become one file.

A Parquet file is ``PAR1``, the row groups, a footer, its length and ``PAR1``. The footer (Thrift's compact protocol)
says where every column of every row group lies. pyarrow encodes each row group as a file of its own, in any thread;
here its place is moved to where its bytes end up. The result is, byte for byte, what one writer would have made.
Source: parquet.thrift and Thrift's compact protocol of the Apache Software Foundation.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

MAGIC = b"PAR1"
BOOL_TRUE, BOOL_FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, _, STRUCT = range(1, 13)
LONG_LIST = 15
# fields of FileMetaData, and of RowGroup: paths of field numbers through the structs
FILE_ROWS, FILE_GROUPS = 3, 4
GROUP_ROWS, GROUP_ORDINAL = (3,), (7,)
# of the row group: its offset; of each column: those of its data, index and dictionary pages
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
    parts: dict[int, tuple[int, int]] = {}
    position = field = 0
    while footer[position]:
        start = position
        position, kind, field = _field(footer, position, field)
        position = _copy(footer, position, kind, bytearray(), {}, ())
        parts[field] = (start, position)
    rows, _ = _varint(footer, parts[FILE_ROWS][0] + 1)
    start, stop = parts[FILE_GROUPS]
    entry = footer[start + 2 : stop]  # after the header of the field and of a list of one struct
    return EncodedGroup(
        file[len(MAGIC) : begin], entry, footer[: parts[FILE_ROWS][0]], footer[stop:], _from_zigzag(rows)
    )


def moved(entry: bytes, position: int, ordinal: int) -> bytes:
    """The struct of a row group whose data begins at ``position`` and that is number ``ordinal`` of its file."""
    by = position - len(MAGIC)
    change: Change = {path: lambda offset: offset + by for path in OFFSETS}
    change[GROUP_ORDINAL] = lambda _: ordinal
    made = bytearray()
    _copy(entry, 0, STRUCT, made, change, ())
    return bytes(made)


def footer(head: bytes, tail: bytes, entries: Sequence[bytes], rows: int) -> bytes:
    """What follows the row groups ``entries`` of ``rows`` rows in all: footer, length, ``PAR1``."""
    made = bytearray(head)
    made.append(1 << 4 | I64)  # field 3 follows field 2
    _put_varint(made, _zigzag(rows))
    made.append(1 << 4 | LIST)
    made.append(min(len(entries), LONG_LIST) << 4 | STRUCT)
    if len(entries) >= LONG_LIST:
        _put_varint(made, len(entries))
    made += b"".join(entries) + tail
    return bytes(made) + len(made).to_bytes(4, "little") + MAGIC


def _field(data: bytes, position: int, last: int) -> tuple[int, int, int]:
    """Read a field's header: (position after it, type, field number)."""
    step, kind = data[position] >> 4, data[position] & 15
    if step:
        return position + 1, kind, last + step
    number, position = _varint(data, position + 1)
    return position, kind, _from_zigzag(number)


def _copy(data: bytes, position: int, kind: int, out: bytearray, change: Change, path: tuple[int, ...]) -> int:
    """Append the value at ``position`` to ``out``, its integers at the paths of ``change`` changed; its end."""
    if kind in (BOOL_TRUE, BOOL_FALSE):
        return position
    if kind in (I16, I32, I64):
        raw, position = _varint(data, position)
        value = change[path](_from_zigzag(raw)) if path in change else _from_zigzag(raw)
        _put_varint(out, _zigzag(value))
        return position
    if kind in (BYTE, DOUBLE, BINARY):
        return _copy_bytes(data, position, kind, out)
    if kind in (LIST, SET):
        return _copy_list(data, position, out, change, path)
    if kind != STRUCT:
        raise ValueError(f"footer of a Parquet file: type {kind} at byte {position} is unknown")
    field = 0
    while data[position]:
        start = position
        position, inner, field = _field(data, position, field)
        out += data[start:position]
        position = _copy(data, position, inner, out, change, (*path, field))
    out.append(0)
    return position + 1


def _copy_bytes(data: bytes, position: int, kind: int, out: bytearray) -> int:
    length, start = (_varint(data, position)) if kind == BINARY else ((8 if kind == DOUBLE else 1), position)
    out += data[position : start + length]
    return start + length


def _copy_list(data: bytes, position: int, out: bytearray, change: Change, path: tuple[int, ...]) -> int:
    count, kind, start = data[position] >> 4, data[position] & 15, position
    position += 1
    if count == LONG_LIST:
        count, position = _varint(data, position)
    out += data[start:position]
    for _ in range(count):
        element = BYTE if kind in (BOOL_TRUE, BOOL_FALSE) else kind
        position = _copy(data, position, element, out, change, path)
    return position


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, position


def _put_varint(out: bytearray, value: int) -> None:
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)


def _zigzag(value: int) -> int:
    return value << 1 if value >= 0 else (-value << 1) - 1


def _from_zigzag(raw: int) -> int:
    return raw >> 1 ^ -(raw & 1)
