"""Columns drawn from the schema, and how tables and folders are compared."""

from collections.abc import Callable
from pathlib import Path

import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import numpy as np

from rayplay.formats.parquet.arrow import Columns, offset_name
from rayplay.formats.schema.column import STRING, Column, Table


def column_values(column: Column, count: int) -> st.SearchStrategy[np.ndarray]:
    """``count`` values that the schema allows in the column."""
    if column.dtype == STRING:
        text = st.sampled_from(column.values) if column.values else st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=9)  # fmt: skip # noqa: E501
        return st.lists(text, min_size=count, max_size=count).map(as_objects)
    kind = np.dtype(column.dtype)
    if kind.kind == "f":
        return hnp.arrays(kind, count, elements=st.floats(width=32))
    top = len(column.values) - 1 if column.values else np.iinfo(kind).max
    return hnp.arrays(kind, count, elements=st.integers(0 if column.values else int(np.iinfo(kind).min), int(top)))


def as_objects(texts: list[str]) -> np.ndarray:
    """Strings as an object array, also when they are equally long."""
    array = np.empty(len(texts), object)
    array[:] = texts
    return array


@st.composite
def table_columns(draw: Callable, table: Table, most_rows: int = 13) -> Columns:
    """Rows of a table: any values of the right types, lists of any length in ragged columns."""
    rows = draw(st.integers(0, most_rows))
    columns: Columns = {}
    for column in table.columns:
        if column.ragged:
            lengths = draw(st.lists(st.integers(0, 4), min_size=rows, max_size=rows))
            columns[column.name] = draw(column_values(column, sum(lengths)))
            columns[offset_name(column)] = np.cumsum([0, *lengths]).astype(np.uint64)
        else:
            columns[column.name] = draw(column_values(column, rows))
    return columns


def assert_equal_columns(found: Columns, wanted: Columns) -> None:
    """Same names, dtypes and values; NaN equals NaN."""
    assert found.keys() == wanted.keys()
    for name, values in wanted.items():
        assert found[name].dtype == values.dtype, name
        np.testing.assert_array_equal(found[name], values, err_msg=name, strict=True)


def tree_bytes(folder: Path) -> dict[str, bytes]:
    """Every file of a folder by name."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
