"""Renumber every column that points to a table whose rows were removed or shifted."""

from collections.abc import Callable, Mapping

import numpy as np

from rayplay.formats.parquet.arrow import Columns
from rayplay.formats.schema.column import Table
from rayplay.formats.schema.trace import NODE_HIT_BIT

Renumbering = Callable[[np.ndarray], np.ndarray]
HIT_BIT, NODE_BITS = np.uint32(NODE_HIT_BIT), np.uint32(NODE_HIT_BIT - 1)


def kept_rows(kept: np.ndarray) -> Renumbering:
    """New numbers of the rows that are True in ``kept``; other rows must not be referenced."""
    numbers = np.cumsum(kept, dtype=np.int64) - 1
    return lambda rows: numbers[rows]


def shifted_rows(base: int) -> Renumbering:
    """The numbers of rows that follow ``base`` others."""
    return lambda rows: rows.astype(np.int64) + base


def renumber(table: Table, columns: Columns, numbers: Mapping[str, Renumbering]) -> Columns:
    """The columns with every row number of the tables in ``numbers`` replaced; others are passed on.

    Two columns are special: -1 in ``reconvergence_block`` and the hit bit of ``rays.node`` stay.
    """
    changed = dict(columns)
    for column in table.columns:
        target = column.points_to or (table.name if column.name == table.row_number else None)
        if column.name == "reconvergence_block":
            target = "blocks"
        if target is None or target not in numbers or column.name not in columns:
            continue
        values = columns[column.name]
        if column.name == "node":
            rows = numbers[target](values & NODE_BITS).astype(np.uint32) | (values & HIT_BIT)
        else:
            rows = values.astype(np.int64)
            known = rows >= 0
            rows[known] = numbers[target](rows[known])
        changed[column.name] = rows.astype(column.dtype)
    return changed
