"""Anybody's own trace: tables from pandas, polars, Arrow, dicts and CSV become a trace, or an error that teaches."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from rayplay.formats import from_frames
from rayplay.formats.__main__ import main
from rayplay.formats.dataset.reader import Trace, open_trace
from rayplay.formats.guard.command import run
from rayplay.formats.guard.errors import FormatError
from rayplay.formats.laws.check import validate
from rayplay.formats.look.diff import differences
from rayplay.formats.testing.generate import make_trace

INSTRUCTIONS = {"operation_class": ["load", "fp32", "exit"], "opcode": ["LDG.E", "FADD", "EXIT"]}
VISITS = {"warp_id": [0, 1], "block_id": [0, 0], "active_mask": ["0xffffffff", "0x3"]}
ACCESSES = {
    "warp_id": [0, 1], "visit": [0, 0], "instruction_id": [0, 0],
    "address": [[4096 + 4 * lane for lane in range(32)], [8192, 8196]],
}  # fmt: skip
TABLES: dict[str, dict[str, Any]] = {"instructions": INSTRUCTIONS, "visits": VISITS, "accesses": ACCESSES}


def as_pandas(columns: dict[str, Any]) -> Any:
    return pd.DataFrame(columns)


def as_polars(columns: dict[str, Any]) -> Any:
    return pytest.importorskip("polars").DataFrame(columns)


def as_arrow(columns: dict[str, Any]) -> Any:
    return pa.table(columns)


@pytest.mark.parametrize("kind", [dict, as_pandas, as_polars, as_arrow])
def test_three_tables_are_a_trace(tmp_path: Path, kind) -> None:
    trace = from_frames(tmp_path / "a.trace", **{name: kind(columns) for name, columns in TABLES.items()})
    assert validate(trace) == []
    assert trace.rows("warps") == 2
    assert trace.read("accesses")["lane_mask"].tolist() == [0xFFFF_FFFF, 3]
    assert trace.read("accesses")["address"].tolist() == [4096 + 4 * lane for lane in range(32)] + [8192, 8196]
    assert trace.read("instructions")["access_bytes"].tolist() == [4, 0, 0]
    assert trace.read("kernels")["grid_x"].tolist() == [2]


def frames_of(trace: Trace) -> dict[str, dict[str, Any]]:
    """Every table with a list per row of its ragged columns."""
    frames = {}
    for name in trace.tables:
        columns = trace.read(name)
        ragged = [column.name for column in trace.layout.table(name).columns if column.ragged]
        for column in ragged:
            offsets = columns.pop(f"{column}_offset").astype(np.int64)
            columns[column] = np.split(columns[column], offsets[1:-1])
        frames[name] = columns
    return frames


def test_a_whole_trace_comes_back_equal(tmp_path: Path) -> None:
    trace = open_trace(make_trace(tmp_path / "a.trace", 3))
    again = from_frames(tmp_path / "b.trace", trace.image_size, **frames_of(trace))
    assert list(differences(trace, again)) == []


def test_a_folder_of_csv_files_is_imported(monkeypatch, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    for name, columns in TABLES.items():
        frame = pd.DataFrame(columns)
        if name == "accesses":
            frame["address"] = [" ".join(hex(address) for address in row) for row in columns["address"]]
        frame.to_csv(folder / f"{name}.csv", index=False)
    monkeypatch.setattr(sys, "argv", ["formats", "import", str(folder), "--out", str(tmp_path / "a.trace")])
    with pytest.raises(SystemExit) as end:
        run("formats", main)
    assert end.value.code == 0
    expected = from_frames(tmp_path / "b.trace", **TABLES)
    assert list(differences(open_trace(tmp_path / "a.trace"), expected)) == []


def without(table: str, column: str) -> dict[str, Any]:
    return TABLES | {table: {name: values for name, values in TABLES[table].items() if name != column}}


def changed(table: str, column: str, values: Any) -> dict[str, Any]:
    return TABLES | {table: TABLES[table] | {column: values}}


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"visits": VISITS}, "table instructions must be given: a row is one static instruction, its columns are"),
        (TABLES | {"visit": VISITS}, r"table 'visit' is unknown; did you mean 'visits'\?"),
        (without("visits", "active_mask"), r"column active_mask must be given \(uint32: Lanes that executed it"),
        (changed("visits", "mask", [1, 1]), r"column 'mask' is unknown; did you mean 'active_mask'\?"),
        (changed("visits", "active_mask", ["all", "0x3"]), "column active_mask: must be uint32"),
        (changed("visits", "active_mask", [1]), "columns must have the same number of rows"),
        (changed("visits", "block_id", [0, 1]), "block_id must be a row of blocks, below 1, not 1"),
        (changed("accesses", "address", [[1], [2]]), "addresses must be as many as the bits of lane_mask"),
        (changed("accesses", "visit", [0, 1]), "visit must be one of the warp"),
        (changed("instructions", "operation_class", ["load", "add", "exit"]), "must be one of int, fp32"),
    ],
)
def test_what_cannot_be_a_trace_is_explained(tmp_path: Path, tables, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        from_frames(tmp_path / "a.trace", **tables)
    assert list(tmp_path.iterdir()) == []
