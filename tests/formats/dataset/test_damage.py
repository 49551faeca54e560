"""Damage of any kind is one ``FormatError`` that names the place, never a traceback and never wrong numbers."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.guard.errors import FormatError
from rayplay.formats.parquet.arrow import arrow_schema, parquet_path
from rayplay.formats.parquet.footer import footer, take_apart
from rayplay.formats.schema.column import STRING
from rayplay.formats.schema.manifest import MANIFEST
from rayplay.formats.schema.trace import TABLES
from tests.formats.schema.test_manifest import change_manifest, write_manifest

COLUMNS = [(table, column) for table in TABLES for column in table.columns]
COLUMN_IDS = [f"{table.name}-{column.name}" for table, column in COLUMNS]


def read_everything(path: Path) -> dict[str, dict[str, np.ndarray]]:
    trace = open_trace(path)
    return {name: trace.read(name) for name in trace.tables}


def rewrite(path: Path, table: str, change) -> None:
    """Change a table's Arrow data and make the manifest fit the new file."""
    file = path / f"{table}-00000.parquet"
    pq.write_table(change(pq.read_table(file)), file)
    document = json.loads((path / MANIFEST).read_text())
    document["tables"][table][0] |= {"bytes": file.stat().st_size}
    write_manifest(path, document)


@pytest.mark.parametrize(("table", "column"), COLUMNS, ids=COLUMN_IDS)
def test_a_flipped_byte_in_a_column_is_found(copy: Path, table, column) -> None:
    file = copy / f"{table.name}-00000.parquet"
    group = pq.ParquetFile(file).metadata.row_group(0)
    paths = [group.column(k).path_in_schema for k in range(group.num_columns)]
    chunk = group.column(paths.index(parquet_path(column)))
    data = bytearray(file.read_bytes())
    start = chunk.dictionary_page_offset or chunk.data_page_offset
    data[start + chunk.total_compressed_size - 1] ^= 0x10
    file.write_bytes(data)
    with pytest.raises(FormatError, match=rf"{table.name}-00000\.parquet.*row group 0.*{column.name}"):
        open_trace(copy).read(table.name)


@pytest.mark.parametrize(("table", "column"), COLUMNS, ids=COLUMN_IDS)
def test_a_missing_column_is_named(copy: Path, table, column) -> None:
    rewrite(copy, table.name, lambda data: data.drop_columns(column.name))
    with pytest.raises(FormatError, match=rf"table {table.name}: column {column.name} is missing; columns must be"):
        open_trace(copy).read(table.name)


@pytest.mark.parametrize(("table", "column"), COLUMNS, ids=COLUMN_IDS)
def test_a_column_of_another_type_is_named(copy: Path, table, column) -> None:
    other = pa.int64() if column.dtype == STRING else pa.float16()
    if column.ragged:
        other = pa.list_(other)

    def change(data: pa.Table) -> pa.Table:
        index = data.column_names.index(column.name)
        return data.set_column(index, column.name, pa.nulls(len(data), other).fill_null(_zero(other)))

    rewrite(copy, table.name, change)
    with pytest.raises(FormatError, match=rf"table {table.name}.*column {column.name}.*type must be"):
        open_trace(copy).read(table.name)


@pytest.mark.parametrize(("table", "column"), COLUMNS, ids=COLUMN_IDS)
def test_a_missing_value_is_named(copy: Path, table, column) -> None:
    def change(data: pa.Table) -> pa.Table:
        index = data.column_names.index(column.name)
        kind = arrow_schema(table).field(column.name).type
        return data.set_column(index, pa.field(column.name, kind), pa.nulls(len(data), kind))

    rewrite(copy, table.name, change)
    with pytest.raises(FormatError, match=rf"column {column.name}: \d+ values are missing"):
        open_trace(copy).read(table.name)


def _zero(kind: pa.DataType) -> pa.Scalar:
    return pa.scalar([], kind) if pa.types.is_list(kind) else pa.scalar(0, kind)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_a_missing_or_truncated_file_is_named(copy: Path, table) -> None:
    file = copy / f"{table.name}-00000.parquet"
    whole = file.read_bytes()
    file.write_bytes(whole[:-1])
    with pytest.raises(FormatError, match=rf"{file.name}: must be {len(whole)} bytes long.*not {len(whole) - 1}"):
        open_trace(copy)
    file.unlink()
    with pytest.raises(FormatError, match=rf"{file.name}: must be a file"):
        open_trace(copy)


def test_every_truncation_of_a_file_whose_manifest_agrees_is_an_error(copy: Path) -> None:
    file = copy / "visits-00000.parquet"
    whole = file.read_bytes()
    document = json.loads((copy / MANIFEST).read_text())
    for length in range(0, len(whole), 7):
        file.write_bytes(whole[:length])
        document["tables"]["visits"][0]["bytes"] = length
        write_manifest(copy, document)
        with pytest.raises(FormatError, match="visits"):
            open_trace(copy).read("visits")


def test_a_folder_that_is_none_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="there is no such folder"):
        open_trace(tmp_path / "absent.trace")
    with pytest.raises(FormatError, match=r"it has no manifest\.json"):
        open_trace(tmp_path)


def test_a_newer_minor_version_may_have_more_tables_and_columns(copy: Path) -> None:
    rewrite(copy, "warps", lambda data: data.append_column("colour", pa.array([1] * len(data))))
    tables = json.loads((copy / MANIFEST).read_text())["tables"]
    with pytest.raises(FormatError, match="table warps: column colour is unknown; columns must be kernel_id, warp_id"):
        open_trace(copy).read("warps")
    change_manifest(copy, version=[1, 1], tables=tables | {"wishes": []})
    assert "colour" not in open_trace(copy).read("warps")
    change_manifest(copy, version=[1, 0])
    with pytest.raises(FormatError, match="table wishes is unknown; tables are kernels, "):
        open_trace(copy)


def test_warps_out_of_order_stop_the_stream(copy: Path) -> None:
    def swap(data: pa.Table) -> pa.Table:
        order = [len(data) - 1, *range(1, len(data) - 1), 0]
        return data.take(order)

    rewrite(copy, "visits", swap)
    with pytest.raises(FormatError, match="table visits, column warp_id: must never decrease"):
        list(open_trace(copy).warp_batches(2))


def test_rows_of_a_warp_that_does_not_exist_stop_the_stream(copy: Path) -> None:
    def beyond(data: pa.Table) -> pa.Table:
        warps = data["warp_id"].to_numpy().copy()
        warps[-1] = 4000
        return data.set_column(0, "warp_id", pa.array(warps))

    rewrite(copy, "visits", beyond)
    with pytest.raises(FormatError, match=r"warp_id: must be below 20, the number of warps, not 4000"):
        list(open_trace(copy).warp_batches(7))


def test_parquet_of_another_writer_is_read(copy: Path) -> None:
    wanted = read_everything(copy)
    for table in TABLES:
        rewrite(copy, table.name, lambda data: data.select(sorted(data.column_names)))
    for name, columns in read_everything(copy).items():
        for column, values in columns.items():
            np.testing.assert_array_equal(values, wanted[name][column])


def test_a_footer_without_its_row_groups_is_found(copy: Path) -> None:
    """The number of rows is there, the row groups are not: found by ``make fuzz`` (result, seed 1, case 10099)."""
    file = copy / "warps-00000.parquet"
    whole = take_apart(memoryview(file.read_bytes()))
    data = b"PAR1" + bytes(whole.data) + footer(whole.head, whole.tail, [], whole.rows)
    file.write_bytes(data)
    document = json.loads((copy / MANIFEST).read_text())
    document["tables"]["warps"][0] |= {"bytes": len(data)}
    write_manifest(copy, document)
    with pytest.raises(FormatError, match=f"warps: its row groups must have {whole.rows} rows, not 0"):
        read_everything(copy)


def test_a_version_with_a_line_break_is_one_line(copy: Path) -> None:
    """Found by ``make fuzz`` (result, seed 1, case 7374)."""
    file = copy / "warps-00000.parquet"
    data = file.read_bytes()
    assert data.count(b"rayplay.version\x18\x031.0") == 1
    file.write_bytes(data.replace(b"rayplay.version\x18\x031.0", b"rayplay.version\x18\x030\n1"))
    with pytest.raises(FormatError, match=r"version must be 1\.x, not '0\\n1'$"):
        read_everything(copy)


def test_an_error_is_one_line_whatever_a_file_says(copy: Path) -> None:
    """Found by ``make fuzz`` (trace Parquet, seed 1, case 14525)."""
    file = copy / "accesses-00000.parquet"
    file.write_bytes(file.read_bytes().replace(b"lane_mask", b"\nane_mask"))
    with pytest.raises(
        FormatError, match=r"column lane_mask is missing, column \\nane_mask is unknown; columns must be"
    ):
        read_everything(copy)
