"""All rows of a trace in batches of warps, whose addresses stay in the pieces of the file that they came in.

Addresses are most of a trace: joined, they would be copied once more.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from rayplay.formats.dataset.reader import Trace, WarpStream
from rayplay.formats.parquet.arrow import Columns, array_names, concatenate, list_lengths, offset_name
from rayplay.formats.schema.column import Table
from rayplay.zatel.model.follow import inner

Pieces = dict[str, list[Columns]]


def pieces_of_warps(
    trace: Trace, at_once: int, tables: Mapping[str, Sequence[str]]
) -> Iterator[tuple[int, int, Pieces]]:
    """``Trace.warp_batches`` of ``at_once`` warps, with the pieces of each table in place of its rows."""
    streams = {name: WarpStream(trace, name, columns) for name, columns in tables.items()}
    count = trace.rows("warps")
    for first in range(0, count, at_once):
        last = min(first + at_once, count)
        yield first, last, {name: list(stream.pieces(first, last)) for name, stream in streams.items()}
    for stream in streams.values():
        stream.expect_end(count)


def joined(table: Table, names: Sequence[str], pieces: Sequence[Columns], items: bool = True) -> Columns:
    """Pieces of some columns of a table as one; without ``items`` of lists only where each row's begins."""
    columns = [table.column(name) for name in names]
    plain = [column for column in columns if items or not column.ragged]
    kept = array_names(plain)
    rows = concatenate(plain, [{name: piece[name] for name in kept} for piece in pieces])
    for column in columns:
        if column not in plain:
            lengths = [list_lengths(column, piece) for piece in pieces]
            rows[offset_name(column)] = np.concatenate([[0], *lengths]).cumsum().astype(np.uint64)
    return rows


@inner
def add_at(owner: np.ndarray, values: np.ndarray, sums: np.ndarray) -> None:
    """Add each value to its owner's sum; owners that have none are left out."""
    for row in range(owner.size):
        if owner[row] < sums.size:
            sums[owner[row]] += values[row]
