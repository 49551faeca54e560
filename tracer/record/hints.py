"""Hints of reorders, which running warps record as they record accesses."""

import numpy as np

from rayplay.formats.edit.rows import as_hints
from rayplay.formats.edit.select import take
from rayplay.formats.parquet.arrow import Columns
from rayplay.formats.schema.trace import ACCESSES


def separated(rows: Columns, reorders: np.ndarray) -> tuple[Columns, Columns]:
    """Columns of ``accesses`` and of ``hints``.

    rows      columns of ``accesses`` with rows of reorders among them, whose addresses are hints.
    reorders  their ``instruction_id``.
    """
    is_hint = np.isin(rows["instruction_id"], reorders)
    return take(ACCESSES, rows, ~is_hint), as_hints(take(ACCESSES, rows, is_hint))
