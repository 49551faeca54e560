"""Rows of the sampled CTAs in memory, as a trace, with the contents of the L2 before them.

A CTA without visits changes nothing in a replay, so rows of other CTAs are dropped and all ids stay. BVH records that
CTAs outside the sample fetch earlier must not miss: a host copy puts them into the L2.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from rayplay.formats.dataset.memory import MemorySource
from rayplay.formats.dataset.reader import Trace
from rayplay.formats.edit.select import take
from rayplay.formats.laws.expect import REPLAYED_COLUMNS
from rayplay.formats.parquet.arrow import Columns, concatenate
from rayplay.zatel.model.traffic import LINE_BYTES, SECTOR_BYTES, node_lines
from rayplay.zatel.model.walk import first_uses
from rayplay.zatel.sample.kept import Kept

LEFT_OUT = ("image", "copies", "threads", "cooperative")
HELD_BYTES = 3 << 29


class Held:
    """Batches of the rows of all warps, while they take at most ``HELD_BYTES``; a second pass decodes no more of them.

    batches  tables of each batch, in order; ``None`` when they are too large.
    """

    def __init__(self) -> None:
        self.batches: list[dict[str, Columns]] | None = []
        self._bytes = 0

    def add(self, tables: dict[str, Columns]) -> None:
        """Take one more batch."""
        self._bytes += sum(values.nbytes for columns in tables.values() for values in columns.values())
        if self.batches is None or self._bytes > HELD_BYTES:
            self.batches = None
        else:
            self.batches.append(tables)

    def pieces(self, trace: Trace, name: str) -> Iterator[Columns]:
        """The columns of a table that a replay reads, piece after piece, from memory or from ``trace``."""
        if self.batches is None:
            yield from trace.batches(name, REPLAYED_COLUMNS[name])
        else:
            yield from (tables[name] for tables in self.batches)


class Rows(NamedTuple):
    """Rows of a sample.

    tables   of the trace, except ``LEFT_OUT``; of what the warps did, the columns that a replay reads.
    line     int64[n], lines of BVH records that other warps left in the L2, the most recently used last.
    sectors  uint8[n], a bit for each sector of these.
    """

    tables: dict[str, Columns]
    line: np.ndarray
    sectors: np.ndarray


def read_rows(trace: Trace, held: Held, chosen: np.ndarray, first: np.ndarray) -> Rows:
    """Take the rows of the ``chosen``, bool[warps].

    first  int32[nodes], first warp that fetches each BVH record, -1 for none.
    """
    tables = {}
    for name in trace.tables:
        if name in REPLAYED_COLUMNS:
            table = trace.layout.table(name)
            parts = [take(table, piece, chosen[piece["warp_id"]]) for piece in held.pieces(trace, name)]
            tables[name] = concatenate([table.column(column) for column in REPLAYED_COLUMNS[name]], parts)
        elif name not in LEFT_OUT:
            tables[name] = trace.read(name)
    return Rows(tables, *held_before(trace, tables["rays"]["node"], chosen, first))


def kept_rows(trace: Trace, held: Held, kept: Kept, chosen: np.ndarray, first: np.ndarray) -> Rows:
    """``read_rows``, of which the cache keeps the rows of what the warps did."""
    if arrays := kept.load("rows", chosen):
        tables = {name: trace.read(name) for name in trace.tables if name not in (*REPLAYED_COLUMNS, *LEFT_OUT)}
        for key, values in arrays.items():
            name, _, column = key.partition(".")
            if column:
                tables.setdefault(name, {})[column] = values
        return Rows(tables, arrays["line"], arrays["sectors"])
    rows = read_rows(trace, held, chosen, first)
    did = {name: columns for name, columns in rows.tables.items() if name in REPLAYED_COLUMNS}
    arrays = {f"{name}.{column}": values for name, columns in did.items() for column, values in columns.items()}
    kept.keep(arrays | {"line": rows.line, "sectors": rows.sectors}, "rows", chosen)
    return rows


def as_source(trace: Trace, rows: Rows) -> MemorySource:
    """The rows as the container of a trace, with the lines that the L2 holds as copies from the host."""
    tables = rows.tables | ({"copies": copies(rows.line, rows.sectors)} if len(rows.line) else {})
    return MemorySource(trace.path, trace.layout, trace.manifest, tables)


def held_before(trace: Trace, node: np.ndarray, chosen: np.ndarray, first: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """L2 contents that other warps left for the ``chosen``, bool[warps]: int64[n] lines, uint8[n] sectors.

    node  uint32[records] that the chosen warps fetch, in order.

    They are BVH records that chosen warps fetch and another warp fetched first, in reverse order of their first use by
    the sample: a record needed soon is the most recently used.
    """
    nodes = first_uses(node, np.zeros(len(first), np.bool_))
    nodes = nodes[~chosen[first[nodes]]]
    line, sectors = node_lines(trace)
    order, place, row = np.unique(line[nodes], return_index=True, return_inverse=True)
    held = np.zeros(len(order), np.uint8)
    np.bitwise_or.at(held, row, sectors[nodes])
    by_use = np.argsort(-place)
    return order[by_use], held[by_use]


def copies(line: np.ndarray, sectors: np.ndarray) -> Columns:
    """Rows of the table ``copies``, one for each run of adjacent sectors of a line."""
    held = (sectors[:, None] >> np.arange(LINE_BYTES // SECTOR_BYTES) & 1).astype(np.int8)
    row, first = np.nonzero(np.diff(held, axis=1, prepend=0) > 0)
    last = np.nonzero(np.diff(held, axis=1, append=0) < 0)[1]
    address = (line[row] * LINE_BYTES + first * SECTOR_BYTES).astype(np.uint64)
    length = ((last + 1 - first) * SECTOR_BYTES).astype(np.uint64)
    return {"kernel_id": np.zeros(len(address), np.uint32), "address": address, "bytes": length}
