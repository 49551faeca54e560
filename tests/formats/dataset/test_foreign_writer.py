"""The page docs/formats.md is enough: a trace written with pyarrow and json alone is read and keeps all laws."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.laws.check import validate
from rayplay.formats.testing.generate import make_tables, make_trace

TYPES = {"string": pa.string(), "float32": pa.float32()} | {
    f"{sign}int{bits}": getattr(pa, f"{sign}int{bits}")() for sign in ("", "u") for bits in (8, 16, 32, 64)
}


def types_of_the_page() -> dict[str, dict[str, pa.DataType]]:
    """Arrow types of the columns of each table of a trace, read off the page."""
    page = (Path(__file__).resolve().parents[3] / "docs" / "formats.md").read_text()
    types: dict[str, dict[str, pa.DataType]] = {}
    for section in page.split("## Trace: ")[1].split("\n## Laws")[0].split("\n### ")[1:]:
        rows = [line.split(" | ") for line in section.splitlines() if line.startswith("| `")]
        types[section.split("\n")[0]] = {
            row[0].strip("| `"): pa.list_(TYPES[row[1][:-2]]) if row[1].endswith("[]") else TYPES[row[1]]
            for row in rows
        }
    return types


def accepted(columns: dict[str, pa.Array]) -> pa.Table:
    """Columns in the other forms that the page permits: in another order, wide, dictionary-encoded, nullable."""
    arrays = {}
    for name, array in reversed(columns.items()):
        if pa.types.is_list(array.type):
            arrays[name] = array.cast(pa.large_list(array.type.value_type))
        elif pa.types.is_string(array.type) and name != "name":
            arrays[name] = array.cast(pa.large_string())
        else:
            arrays[name] = array.dictionary_encode() if pa.types.is_integer(array.type) or name == "name" else array
    return pa.table(arrays)


def write_table(folder: Path, name: str, columns: dict[str, Any], types: dict[str, pa.DataType], options: dict) -> dict:
    """Write one file and return its line of the manifest."""
    arrays = {}
    for column, kind in types.items():
        if pa.types.is_list(kind):
            offsets = pa.array(np.asarray(columns[f"{column}_offset"]), pa.int32())
            arrays[column] = pa.ListArray.from_arrays(offsets, pa.array(columns[column], kind.value_type))
        else:
            arrays[column] = pa.array(columns[column], kind)
    file = folder / f"{name}.parquet"
    pq.write_table(pa.table(arrays) if options else accepted(arrays), file, **options)
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    return {"file": file.name, "rows": len(arrays[next(iter(types))]), "bytes": file.stat().st_size, "sha256": digest}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"compression": "none", "row_group_size": 7},
        {"compression": "gzip", "use_dictionary": False, "data_page_version": "2.0", "store_schema": False},
        {"compression": "lz4", "use_compliant_nested_type": False, "version": "2.4"},
    ],
    ids=["other types", "plain", "gzip", "lz4"],
)
def test_any_parquet_writer_will_do(tmp_path: Path, options) -> None:
    folder = tmp_path / "foreign.trace"
    folder.mkdir()
    types = types_of_the_page()
    tables = {
        name: [write_table(folder, name, columns, types[name], options)] for name, columns in make_tables(7).items()
    }
    document = {"format": "rayplay trace", "version": [1, 0], "image_size": [40, 6], "tables": tables}
    (folder / "manifest.json").write_text(json.dumps(document))
    trace, ours = open_trace(folder), open_trace(make_trace(tmp_path / "ours.trace", 7))
    assert validate(trace) == []
    assert trace.tables == ours.tables
    for name in ours.tables:
        found = trace.read(name)
        for column, values in ours.read(name).items():
            np.testing.assert_array_equal(found[column], values, strict=True)
