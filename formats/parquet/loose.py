"""Parquet or CSV file outside a trace: no manifest, read whole, as guardedly as a trace's files."""

from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq

from rayplay.formats.guard.errors import FormatError, reason_of
from rayplay.formats.guard.limits import COLUMNS, FILE_ROWS, LIST_BYTES, TABLE_BYTES
from rayplay.formats.parquet.arrow import Columns, from_arrow
from rayplay.formats.parquet.pages import OFFSET_BYTES, Widths, check_footer, check_group, open_parquet, spelt_out
from rayplay.formats.place.location import open_binary
from rayplay.formats.schema.column import Table, misnamed

_DAMAGE = (OSError, pa.ArrowException, ValueError, KeyError, MemoryError)


def read_arrow(path: Path) -> pa.Table:
    """All columns of a Parquet file, texts as dictionaries; ``FormatError`` for damage and for more than the limits."""
    try:
        with open_binary(path) as raw:
            check_footer(path, raw)
            metadata = pq.read_metadata(raw)
            COLUMNS.check(metadata.num_columns, "its columns", file=path)
            FILE_ROWS.check(metadata.num_rows, "its rows", file=path)
            leaves = [metadata.schema.column(number) for number in range(metadata.num_columns)]
            widths = {
                leaf.path.partition(".")[0]: (max(OFFSET_BYTES, leaf.length or 0), OFFSET_BYTES) for leaf in leaves
            }
            texts = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
            parts = _groups(path, metadata, texts, raw, widths)
            data = pa.concat_tables(parts) if parts else metadata.schema.to_arrow_schema().empty_table()
            if len(data) != metadata.num_rows:
                raise ValueError(f"must have {metadata.num_rows} rows, not {len(data)}")
            return data
    except _DAMAGE as error:
        raise FormatError(f"must be Parquet: {reason_of(error)}", file=path) from None


def _groups(
    path: Path, metadata: pq.FileMetaData, texts: list[str], raw: BinaryIO, widths: Widths
) -> list[pa.Table]:  # fmt: skip
    """The row groups with rows, each inspected before it is read."""
    parts: list[pa.Table] = []
    for number in range(metadata.num_row_groups):
        if not metadata.row_group(number).num_rows:
            continue
        check_group(raw, metadata, number, widths, {"file": path, "row_group": number})
        plain = spelt_out(metadata, number)
        with open_parquet(path, metadata, [text for text in texts if text not in plain]) as file:
            part = file.read_row_group(number, use_threads=False)
        for name in plain & set(part.column_names):
            part = part.set_column(part.column_names.index(name), name, part[name].dictionary_encode())
        parts.append(part)
        TABLE_BYTES.check(sum(part.nbytes for part in parts), "rows x width", file=path)
    return parts


def read_table(path: Path, table: Table) -> Columns:
    """A Parquet file with the columns of ``table``, of its types; ``FormatError`` names the column that is not."""
    data = read_arrow(path)
    if reason := misnamed([column.name for column in table.columns], data.column_names):
        raise FormatError(reason, file=path, table=table.name)
    columns: Columns = {}
    for column in table.columns:
        try:
            columns |= from_arrow(column, data.column(column.name))
        except _DAMAGE as error:
            raise FormatError(str(error), file=path, table=table.name, column=column.name) from None
    return columns


def read_csv(path: Path) -> pa.Table:
    """Read a CSV file with a line of names; ``FormatError`` when it is malformed or larger than the limits."""
    try:
        TABLE_BYTES.check(path.stat().st_size, "its length", file=path)
        with open_binary(path) as raw:
            head = raw.readline(LIST_BYTES.value())
            COLUMNS.check(head.count(b",") + 1, "its columns", file=path)
            raw.seek(0)
            return csv.read_csv(raw)
    except _DAMAGE as error:
        raise FormatError(f"must be CSV: {reason_of(error)}", file=path) from None
