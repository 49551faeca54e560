"""Rows of the sampled CTAs as a trace, in memory or read when asked, with the contents of the L2 before them.

A CTA without visits changes nothing in a replay, so rows of other CTAs are dropped and all ids stay. BVH records that
CTAs outside the sample fetch earlier must not miss: a host copy puts them into the L2.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from rayplay.formats.dataset.memory import MemorySource
from rayplay.formats.dataset.reader import Source, Trace, open_trace
from rayplay.formats.edit.select import take
from rayplay.formats.laws.expect import REPLAYED_COLUMNS
from rayplay.formats.parquet.arrow import Columns, concatenate
from rayplay.formats.schema.column import Column, Table
from rayplay.formats.schema.manifest import FileEntry
from rayplay.zatel.model.accesses import LOCAL_LINES, lines_of, read_static
from rayplay.zatel.model.caches import SECTORS
from rayplay.zatel.model.instructions import traces_rays
from rayplay.zatel.model.reading import Pieces
from rayplay.zatel.model.traffic import LINE_BYTES, PROMISE, SECTOR_BYTES, Stream, node_lines
from rayplay.zatel.model.walk import first_uses
from rayplay.zatel.sample.kept import Kept

LEFT_OUT = ("image", "copies", "threads", "cooperative", "hints", "distances", "culled")
SAMPLE_BYTES = 1 << 30  # rows of a sample that are kept in memory for its replay; of a larger one, none


class Held:
    """Rows of a sample drawn before the trace was read, taken as its batches pass: no second pass decodes them.

    chosen  bool[warps], the sample.
    parts   of each table, in order; ``None`` once they promise more than ``SAMPLE_BYTES``.
    """

    def __init__(self, trace: Trace, chosen: np.ndarray) -> None:
        self.chosen = chosen
        self.parts: dict[str, list[Columns]] | None = {}
        self._layout, self._bytes = trace.layout, 0

    def add(self, tables: Pieces, share: float) -> None:
        """Take the sample's rows of one more batch; ``share`` of all warps, with it."""
        if self.parts is None:
            return
        for name, pieces in tables.items():
            parts = [take(self._layout.table(name), piece, self.chosen[piece["warp_id"]]) for piece in pieces]
            self._bytes += sum(values.nbytes for part in parts for values in part.values())
            self.parts.setdefault(name, []).extend(parts)
        if self._bytes > SAMPLE_BYTES * max(share, PROMISE):
            self.parts = None

    def tables(self, chosen: np.ndarray) -> dict[str, Columns] | None:
        """The rows of the ``chosen``; ``None`` where others were taken, or none."""
        if self.parts is None or not np.array_equal(chosen, self.chosen):
            return None
        for name, parts in self.parts.items():
            columns = [self._layout.table(name).column(column) for column in REPLAYED_COLUMNS[name]]
            self.parts[name] = [concatenate(columns, parts)]
        return {name: whole for name, (whole,) in self.parts.items()}


class Rows(NamedTuple):
    """Rows of a sample.

    tables   of the trace, except ``LEFT_OUT``; of what the warps did, the columns that a replay reads, unless they are
             too large.
    line     int64[n], lines of BVH records that other warps left in the L2, the most recently used last.
    sectors  uint8[n], a bit for each sector of these.
    left     tables of what the warps did that are read again when asked, and their rows of the sample.
    """

    tables: dict[str, Columns]
    line: np.ndarray
    sectors: np.ndarray
    left: dict[str, int]


class Filtered(MemorySource):
    """The container of a trace without the rows of warps outside a sample, which each reading drops.

    tables  in memory; ``left``: the others, and their rows of the sample.
    chosen  bool[warps], the sample.
    """

    def __init__(self, trace: Trace, tables: dict[str, Columns], left: dict[str, int], chosen: np.ndarray) -> None:
        super().__init__(trace.path, trace.layout, trace.manifest, tables)
        self.whole: Source | None = trace.source
        self.left, self.chosen = left, chosen
        entries = {name: (FileEntry(name, rows, 0, ""),) for name, rows in left.items()}
        self.manifest = replace(self.manifest, tables={**self.manifest.tables, **entries})

    def __getstate__(self) -> dict[str, Any]:
        """Another process opens the trace itself, unless it lies in memory."""
        return self.__dict__ | ({} if isinstance(self.whole, MemorySource) else {"whole": None})

    def groups(self, table: Table, columns: list[Column]) -> Iterator[Columns]:
        """The columns of a table, piece after piece."""
        if self.whole is None:
            self.whole = open_trace(self.path).source
        if table.name not in self.left:
            yield from super().groups(table, columns)
            return
        owner = table.column("warp_id")
        asked = columns if owner in columns else [owner, *columns]
        for piece in self.whole.groups(table, asked):
            taken = take(table, piece, self.chosen[piece["warp_id"]])
            if len(taken["warp_id"]):
                yield {name: values for name, values in taken.items() if owner in columns or name != owner.name}


def read_rows(trace: Trace, held: Held | None, chosen: np.ndarray, stream: Stream) -> Rows:
    """Take the rows of the ``chosen``, bool[warps].

    held    rows taken earlier; rows of others are read.
    stream  requests of all warps.
    """
    tables = {name: trace.read(name) for name in trace.tables if name not in (*REPLAYED_COLUMNS, *LEFT_OUT)}
    did = [name for name in REPLAYED_COLUMNS if name in trace.tables]
    taken = (held.tables(chosen) if held else None) or _taken(trace, chosen, did)
    if taken is not None:
        return Rows(tables | taken, *held_before(trace, taken, chosen, stream), {})
    left = {name: sum(int(chosen[of["warp_id"]].sum()) for of in trace.batches(name, ["warp_id"])) for name in did}
    return Rows(tables, *held_before(trace, {}, chosen, stream), left)


def _taken(trace: Trace, chosen: np.ndarray, names: list[str]) -> dict[str, Columns] | None:
    """The rows of the ``chosen`` in these tables; ``None`` once they promise more than ``SAMPLE_BYTES``."""
    tables: dict[str, Columns] = {}
    before = 0.0
    for name in names:
        table, parts, taken, read = trace.layout.table(name), list[Columns](), 0, 0
        for piece in trace.batches(name, REPLAYED_COLUMNS[name]):
            parts.append(take(table, piece, chosen[piece["warp_id"]]))
            taken += sum(values.nbytes for values in parts[-1].values())
            read += len(piece["warp_id"])
            if read and before + taken * trace.rows(name) / read > SAMPLE_BYTES:
                return None
        tables[name] = concatenate([table.column(column) for column in REPLAYED_COLUMNS[name]], parts)
        before += taken
    return tables


def kept_rows(trace: Trace, held: Held | None, kept: Kept, chosen: np.ndarray, stream: Stream) -> Rows:
    """``read_rows``, of which the cache keeps the rows of what the warps did."""
    if found := known_rows(trace, kept, chosen):
        return found
    rows = read_rows(trace, held, chosen, stream)
    if not rows.left:
        did = {name: columns for name, columns in rows.tables.items() if name in REPLAYED_COLUMNS}
        arrays = {f"{name}.{column}": values for name, columns in did.items() for column, values in columns.items()}
        kept.keep(arrays | {"line": rows.line, "sectors": rows.sectors}, "rows", chosen)
    return rows


def known_rows(trace: Trace, kept: Kept, chosen: np.ndarray) -> Rows | None:
    """The rows that the cache has of the chosen; None without them."""
    arrays = kept.load("rows", chosen)
    if not arrays:
        return None
    tables = {name: trace.read(name) for name in trace.tables if name not in (*REPLAYED_COLUMNS, *LEFT_OUT)}
    for key, values in arrays.items():
        name, _, column = key.partition(".")
        if column:
            tables.setdefault(name, {})[column] = values
    return Rows(tables, arrays["line"], arrays["sectors"], {})


def as_source(trace: Trace, rows: Rows, chosen: np.ndarray, has_copies: bool = False) -> MemorySource:
    """The rows of the ``chosen`` as the container of a trace, with the lines that the L2 holds as copies from the host.

    has_copies  whether the trace's own copies from the host come before these.
    """
    tables, left = rows.tables, copies(rows.line, rows.sectors)
    if has_copies and "copies" in trace.tables:
        own = trace.read("copies")
        before = own["kernel_id"] == 0
        left = {name: np.concatenate([own[name][before], values]) for name, values in left.items()}
    if len(left["address"]):
        tables = tables | {"copies": left}
    if rows.left:
        return Filtered(trace, tables, rows.left, chosen)
    return MemorySource(trace.path, trace.layout, trace.manifest, tables)


def held_before(
    trace: Trace, taken: dict[str, Columns], chosen: np.ndarray, stream: Stream
) -> tuple[np.ndarray, np.ndarray]:
    """L2 contents that other warps left for the ``chosen``, bool[warps]: int64[n] lines, uint8[n] sectors.

    taken  rows of the chosen by table; a missing table is read.

    They are BVH records, or without rays lines of global memory, that chosen warps fetch and another warp fetched
    first, in reverse order of their first use by the sample: a record needed soon is the most recently used.
    """
    numbers: Iterator[np.ndarray]
    if traces_rays(trace):
        line, sectors = node_lines(trace)
        numbers = (rows["node"] for rows in _rows_of(trace, taken, chosen, "rays", "node"))
    else:
        line, sectors = stream.shared, np.zeros(len(stream.shared), np.uint8)
        numbers = _asked(
            trace, _rows_of(trace, taken, chosen, "accesses", *REPLAYED_COLUMNS["accesses"]), line, sectors
        )
    seen = np.zeros(len(line), np.bool_)
    nodes = np.concatenate([np.zeros(0, np.int64), *(first_uses(number, seen) for number in numbers)])
    nodes = nodes[~chosen[stream.first[nodes]]]
    order, place, row = np.unique(line[nodes], return_index=True, return_inverse=True)
    held = np.zeros(len(order), np.uint8)
    np.bitwise_or.at(held, row, sectors[nodes])
    by_use = np.argsort(-place)
    return order[by_use], held[by_use]


def _rows_of(
    trace: Trace, taken: dict[str, Columns], chosen: np.ndarray, name: str, *columns: str
) -> Iterator[Columns]:
    """The rows of the chosen in a table: as they were taken, or read piece by piece; nothing without the table."""
    if name in taken:
        yield taken[name]
    elif name in trace.tables:
        for piece in trace.batches(name, list(dict.fromkeys(("warp_id", *columns)))):
            yield take(trace.layout.table(name), piece, chosen[piece["warp_id"]])


def _asked(trace: Trace, pieces: Iterator[Columns], lines: np.ndarray, sectors: np.ndarray) -> Iterator[np.ndarray]:
    """Numbers among ``lines`` of the lines that each piece of accesses asks for, uint32; marks their ``sectors``."""
    static = read_static(trace)
    for piece in pieces:
        asked = lines_of([piece], static)
        real = asked.line < LOCAL_LINES
        number = np.searchsorted(lines, asked.line[real]).astype(np.uint32)
        np.bitwise_or.at(sectors, number, (asked.sectors[real] & SECTORS).astype(np.uint8))
        yield number


def copies(line: np.ndarray, sectors: np.ndarray) -> Columns:
    """Rows of the table ``copies``, one for each run of adjacent sectors of a line."""
    held = (sectors[:, None] >> np.arange(LINE_BYTES // SECTOR_BYTES) & 1).astype(np.int8)
    row, first = np.nonzero(np.diff(held, axis=1, prepend=0) > 0)
    last = np.nonzero(np.diff(held, axis=1, append=0) < 0)[1]
    address = (line[row] * LINE_BYTES + first * SECTOR_BYTES).astype(np.uint64)
    length = ((last + 1 - first) * SECTOR_BYTES).astype(np.uint64)
    return {"kernel_id": np.zeros(len(address), np.uint32), "address": address, "bytes": length}
