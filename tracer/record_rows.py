"""Rows of several tables at once: cut at a warp, joined, and put in the order of warps."""

import numpy as np

from tracer.driver_cta import RUN_ACCESSES, RUN_RAYS, RUN_VISITS

Columns = dict[str, np.ndarray]
Rows = dict[str, Columns]  # tables, and "runs": warp ids, and int64[runs, RUN_WORDS] lengths
RUN_COLUMN = {"visits": RUN_VISITS, "accesses": RUN_ACCESSES, "rays": RUN_RAYS}


def offsets(lengths: np.ndarray) -> np.ndarray:
    """uint64[rows + 1]: where each row of a ragged column starts."""
    made = np.zeros(len(lengths) + 1, np.uint64)
    np.cumsum(lengths, out=made[1:])
    return made


def split(rows: Rows, warp_id: int) -> tuple[Rows, Rows]:
    """Rows up to the first run of a warp from ``warp_id`` on, and the rows from there on."""
    warp, lengths = rows["runs"]["warp"], rows["runs"]["lengths"]
    late = np.flatnonzero(warp.astype(np.int64) >= warp_id)
    count = int(late[0]) if len(late) else len(warp)
    first: Rows = {"runs": {"warp": warp[:count], "lengths": lengths[:count]}}
    second: Rows = {"runs": {"warp": warp[count:], "lengths": lengths[count:]}}
    for table, column in RUN_COLUMN.items():
        at = int(lengths[:count, column].sum())
        first[table], second[table] = {}, {}
        for name, values in rows[table].items():
            cut = at
            if name.endswith("_offset"):
                first[table][name], second[table][name] = values[: at + 1], values[at:] - values[at]
                continue
            if f"{name}_offset" in rows[table]:
                cut = int(rows[table][f"{name}_offset"][at])
            first[table][name], second[table][name] = values[:cut], values[cut:]
    return first, second


def copied(rows: Rows) -> Rows:
    """The rows in memory of their own."""
    return {table: {name: np.array(values) for name, values in columns.items()} for table, columns in rows.items()}


def joined(parts: list[Rows]) -> Rows:
    """Rows of several drains one after the other."""
    made: Rows = {}
    for table in parts[0]:
        names = parts[0][table]
        made[table] = {name: np.concatenate([part[table][name] for part in parts]) for name in names}
        for name in names:
            if name.endswith("_offset"):
                lengths = [np.diff(part[table][name]) for part in parts]
                made[table][name] = offsets(np.concatenate(lengths))
    return made


def row_order(lengths: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Row numbers when runs of ``lengths`` rows are put in ``order``."""
    starts = np.concatenate(([0], np.cumsum(lengths)[:-1]))[order]
    chosen = lengths[order]
    ends = np.cumsum(chosen)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total) + np.repeat(starts - (ends - chosen), chosen)


def reordered(columns: Columns, order: np.ndarray) -> Columns:
    """Rows in another order, ragged columns with them."""
    made: Columns = {}
    for name, values in columns.items():
        if name.endswith("_offset"):
            lengths = np.diff(values).astype(np.int64)
            ragged = name.removesuffix("_offset")
            made[ragged] = columns[ragged][row_order(lengths, order)]
            made[name] = offsets(lengths[order])
        elif f"{name}_offset" not in columns:
            made[name] = values[order]
    return made
