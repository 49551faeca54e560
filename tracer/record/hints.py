"""Hints of reorders, which running warps record as they record accesses."""

import numpy as np

Columns = dict[str, np.ndarray]


def separated(rows: Columns, reorders: np.ndarray) -> tuple[Columns, Columns]:
    """Columns of ``accesses`` and of ``hints``.

    rows      columns of ``accesses`` with rows of reorders among them, whose addresses are hints.
    reorders  their ``instruction_id``.
    """
    is_hint = np.isin(rows["instruction_id"], reorders)
    counts: np.ndarray = np.diff(rows["address_offset"].astype(np.int64))
    of_hint = np.repeat(is_hint, counts)
    accesses, hints = _taken(rows, ~is_hint, ~of_hint), _taken(rows, is_hint, of_hint)
    hints = {name.replace("address", "hint"): values for name, values in hints.items()}
    return accesses, hints | {"hint": hints["hint"].astype(np.uint32)}


def _taken(rows: Columns, which: np.ndarray, values: np.ndarray) -> Columns:
    counts = np.diff(rows["address_offset"].astype(np.int64))[which]
    kept = {name: column[which] for name, column in rows.items() if not name.startswith("address")}
    offset = np.concatenate(([0], np.cumsum(counts))).astype(np.uint64)
    return {**kept, "address": rows["address"][values], "address_offset": offset}
