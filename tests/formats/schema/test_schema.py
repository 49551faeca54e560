"""The schema is complete, the page about it is current, and importing it costs nothing."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.dataset.energy import ENERGY_FORMAT
from rayplay.formats.dataset.profile import PROFILE
from rayplay.formats.dataset.result import RESULT
from rayplay.formats.page import page
from rayplay.formats.schema.column import STRING
from rayplay.formats.schema.prediction import PREDICTION
from rayplay.formats.schema.trace import TRACE

ROOT = Path(__file__).resolve().parents[3]
FORMATS = (TRACE, RESULT, PREDICTION, PROFILE, ENERGY_FORMAT)
COLUMNS = [(layout, table, column) for layout in FORMATS for table in layout.tables for column in table.columns]
IDS = [f"{layout.name.split()[1]}-{table.name}-{column.name}" for layout, table, column in COLUMNS]
ENCODINGS = {"dictionary", "PLAIN", "DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"}


@pytest.mark.parametrize(("layout", "table", "column"), COLUMNS, ids=IDS)
def test_a_column_is_described(layout, table, column) -> None:
    assert column.doc.endswith(".")
    assert column.unit
    assert column.encoding in ENCODINGS
    if column.dtype != STRING:
        assert np.dtype(column.dtype).name == column.dtype
    if column.points_to is not None:
        assert layout.table(column.points_to)
    if column.values and column.dtype != STRING:
        assert len(column.values) <= np.iinfo(column.dtype).max
    others = [other.name for other in table.columns if other is not column]
    assert column.name not in others
    assert f"{column.name}_offset" not in others


@pytest.mark.parametrize("layout", FORMATS, ids=lambda layout: layout.name)
def test_a_table_is_described(layout) -> None:
    names = [table.name for table in layout.tables]
    assert len(names) == len(set(names))
    for table in layout.tables:
        assert table.per_row
        assert table.group_rows > 0
        if table.row_number is not None:
            assert table.column(table.row_number).sorted
            assert not table.column(table.row_number).ragged


def test_the_page_is_current() -> None:
    written = (ROOT / "docs" / "formats.md").read_text()
    assert written == page(), "docs/formats.md is old: run make docs"


@pytest.mark.parametrize(("layout", "table", "column"), COLUMNS, ids=IDS)
def test_the_page_names_every_column(layout, table, column) -> None:
    line = f"| `{column.name}` | {column.dtype}{'[]' * column.ragged} | {column.unit} |"
    assert line in page()


def test_a_name_that_is_none_is_an_error() -> None:
    with pytest.raises(KeyError, match="rayplay trace has no table hopes"):
        TRACE.table("hopes")
    with pytest.raises(KeyError, match="table visits has no column hope"):
        TRACE.table("visits").column("hope")


@pytest.mark.parametrize(
    "statement", ["import rayplay.formats", "import rayplay.formats.schema.trace, rayplay.formats.guard.command"]
)
def test_importing_the_schema_imports_no_library(statement: str) -> None:
    code = f"import sys; {statement}; print([m for m in ('numpy', 'pyarrow', 'numba', 'h5py') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_public_names_are_loaded_when_used() -> None:
    from rayplay import formats

    for name in formats.__all__:
        assert getattr(formats, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'hope'"):
        _ = formats.hope
