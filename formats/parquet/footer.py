"""The end of a Parquet file, taken apart and put together: row groups are encoded apart and become one file.

A Parquet file is ``PAR1``, the row groups, a footer, its length and ``PAR1``. The footer (Thrift's compact protocol)
says where every column of every row group lies. pyarrow encodes each row group as a file of its own, in any thread;
here its place is moved to where its bytes end up. The result is, byte for byte, what one writer would have made.
Source: parquet.thrift and Thrift's compact protocol of the Apache Software Foundation.
"""

from collections.abc import Sequence
from typing import NamedTuple

from rayplay.formats.parquet.thrift import I64, LIST, LONG_LIST, STRUCT, Change, Reader, put_integer, put_varint

MAGIC = b"PAR1"
# fields of FileMetaData, and of RowGroup: paths of field numbers through the structs
FILE_ROWS, FILE_GROUPS = 3, 4
GROUP_ORDINAL = (7,)
# of the row group: its offset; of each column: offsets of its data, index and dictionary pages
OFFSETS = ((5,), (1, 3, 9), (1, 3, 10), (1, 3, 11))


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
        reader.copy(kind, bytearray(), {})
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
    Reader(entry).copy(STRUCT, made, change)
    return bytes(made)


def footer(head: bytes, tail: bytes, entries: Sequence[bytes], rows: int) -> bytes:
    """End of a file with the row groups ``entries``, ``rows`` rows in all: footer, length, ``PAR1``."""
    made = bytearray(head)
    made.append(1 << 4 | I64)  # field 3 follows field 2
    put_integer(made, rows)
    made.append(1 << 4 | LIST)
    made.append(min(len(entries), LONG_LIST) << 4 | STRUCT)
    if len(entries) >= LONG_LIST:
        put_varint(made, len(entries))
    made += b"".join(entries) + tail
    return bytes(made) + len(made).to_bytes(4, "little") + MAGIC
