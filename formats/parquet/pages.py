"""Unpacked size of a row group from its page headers, counted before any page is decoded.

The footer's own sums are not trusted (a file of 0.8 MB can claim 0.7 MB and decode to 2.8 GB). A decoder takes the
sizes in the page headers, so these bound the memory: no page is unpacked to count them.
Source: Apache Parquet format 2.11, ``parquet.thrift`` (PageHeader) and the compact protocol of Apache Thrift.
"""

from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow.parquet as pq

from rayplay.formats.guard.limits import COLUMNS, FOOTER_BYTES, GROUP_BYTES
from rayplay.formats.parquet.thrift import Reader
from rayplay.formats.place.location import readable
from rayplay.formats.schema.column import STRING, Column

MAGIC = b"PAR1"
KIND, UNPACKED_BYTES, PACKED_BYTES = 1, 2, 3
VALUES_OF = {0: 5, 3: 8}
"""Kind of a data page -> field of its header whose first field counts its values; other pages have none."""
SPELT_OUT = "DELTA_LENGTH_BYTE_ARRAY"  # DuckDB's encoding of texts in files of version 2
HEADER_BYTES = 1 << 16
OFFSET_BYTES = 8
POINTER_BYTES = 8

Widths = dict[str, tuple[int, int]]
"""Name of a column -> bytes in memory of each value, and besides of each row."""


def widths(columns: list[Column]) -> Widths:
    """Unpacked bytes of the columns of a schema."""
    return {
        column.name: (
            POINTER_BYTES if column.dtype == STRING else np.dtype(column.dtype).itemsize,
            OFFSET_BYTES if column.ragged else 0,
        )
        for column in columns
    }


def check_footer(path: Path, file: BinaryIO) -> None:
    """The end of the file is a footer of a permitted length (``FormatError``), or no Parquet (``ValueError``)."""
    size = file.seek(0, 2)
    if size < 12:
        raise ValueError(f"must be Parquet, but has only {size} bytes")
    file.seek(size - 8)
    tail = file.read(8)
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != MAGIC or length > size - 12:
        raise ValueError("must be Parquet, whole to its end")
    FOOTER_BYTES.check(length, "its footer", file=path)


def spelt_out(metadata: pq.FileMetaData, number: int) -> set[str]:
    """Columns of a row group whose texts follow each other in full, which Arrow cannot read as a dictionary."""
    group = metadata.row_group(number)
    chunks = [group.column(index) for index in range(group.num_columns)]
    return {c.path_in_schema for c in chunks if SPELT_OUT in c.encodings and not c.has_dictionary_page}


def open_parquet(path: Path, metadata: pq.FileMetaData, texts: list[str], **more: Any) -> pq.ParquetFile:
    """The file, with page checksums verified and equal values of the columns ``texts`` held once."""
    return pq.ParquetFile(
        readable(path), metadata=metadata, pre_buffer=False, page_checksum_verification=True,
        read_dictionary=texts or None, **more,
    )  # fmt: skip


def check_group(file: BinaryIO, metadata: pq.FileMetaData, number: int, wanted: Widths, place: dict) -> None:
    """Rows x width of the ``wanted`` columns of a row group stay below the limit.

    place  keyword arguments of ``FormatError``. Raises it beyond the limit, and ``ValueError`` for damaged headers.
    """
    COLUMNS.check(metadata.num_columns, "columns", **place)
    group = metadata.row_group(number)
    total = 0
    for index in range(group.num_columns):
        chunk = group.column(index)
        width = wanted.get(chunk.path_in_schema.partition(".")[0])
        if width is not None:
            total += max(_unpacked_bytes(file, chunk), chunk.num_values * width[0]) + group.num_rows * width[1]
            GROUP_BYTES.check(total, "rows x width of the columns read", **place)


def _unpacked_bytes(file: BinaryIO, chunk: Any) -> int:
    """Bytes that the pages of a column chunk unpack to, as their headers say."""
    start = chunk.data_page_offset
    if chunk.has_dictionary_page and chunk.dictionary_page_offset:
        start = min(start, chunk.dictionary_page_offset)
    end, values, unpacked = start + chunk.total_compressed_size, 0, 0
    while start < end:
        file.seek(start)
        header, length = _page_header(file)
        start += length + _number(header, PACKED_BYTES)
        unpacked += _number(header, UNPACKED_BYTES)
        kind = _number(header, KIND)
        if kind in VALUES_OF:
            counts = header.get(VALUES_OF[kind])
            values += _number(counts if isinstance(counts, dict) else {}, 1)
    if start != end or values != chunk.num_values:
        raise ValueError(
            f"its pages must end at byte {end} with {chunk.num_values} values, not at {start} with {values}"
        )
    return unpacked


def _number(fields: dict[int, Any], field: int) -> int:
    """A count that a header must have; ``ValueError`` otherwise."""
    value = fields.get(field)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError("a page header must have its counts")
    return value


def _page_header(file: BinaryIO) -> tuple[dict[int, Any], int]:
    """The fields of the page header at the file's place, and its length."""
    reader = Reader(file.read(256))
    try:
        return reader.struct(), reader.at
    except IndexError:
        reader = Reader(reader.data + file.read(HEADER_BYTES))
    try:
        return reader.struct(), reader.at
    except IndexError:
        raise ValueError(f"a page header must be complete within {len(reader.data)} bytes") from None
