"""Read a trace (or any ``Format``) by whole tables, row groups or batches of warps."""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

from rayplay.formats.guard.errors import FormatError
from rayplay.formats.guard.limits import TABLE_BYTES, WARPS
from rayplay.formats.parquet.arrow import Columns, concatenate, empty, take_rows
from rayplay.formats.parquet.source import ParquetSource
from rayplay.formats.place.location import is_local, location
from rayplay.formats.schema.column import STRING, Column, Format, Table
from rayplay.formats.schema.manifest import Manifest
from rayplay.formats.schema.trace import TRACE

OFFSET_BYTES = 8
HDF5_SUFFIXES = (".h5", ".hdf5")
BATCH_VALUES, BATCH_WARPS = 1 << 21, 1 << 14  # of a batch of warps, at most about
ROW_VALUES = {"accesses": 32, "rays": 64}
Piece = TypeVar("Piece")


class Source(Protocol):
    """A container of tables."""

    path: Path
    manifest: Manifest

    def groups(self, table: Table, columns: list[Column]) -> Iterator[Columns]: ...


class Dataset:
    """Tables of one format, opened for reading.

    Arrays have the schema's dtypes; strings are object arrays; a ragged column is ``x`` and ``x_offset`` (uint64,
    rows + 1, from 0). An optional table that is absent has no rows. Every method raises ``FormatError`` that names
    file, table, column and reason when the data is damaged.
    """

    def __init__(self, source: Source, layout: Format) -> None:
        self.source = source
        self.layout = layout

    def __repr__(self) -> str:
        counts = ", ".join(f"{self.rows(table):,} {table}" for table in self.tables[:4])
        return f"<{type(self).__name__} {self.path}: {counts}{', ...' if len(self.tables) > 4 else ''}>"

    def _repr_html_(self) -> str:
        from rayplay.formats.dataset.frames import html_table

        return html_table(self.path.name, self._overview())

    def to_pandas(self, table: str | None = None, columns: Sequence[str] | None = None) -> Any:
        """A table, or some of its columns, as a ``pandas.DataFrame``; a row per table unless one is named.

        A cell of a ragged column is an array.
        """
        from rayplay.formats.dataset.frames import frame, record_frame

        return record_frame(self._overview()).set_index("table") if table is None else frame(self.read(table, columns))

    def _overview(self) -> list[dict[str, Any]]:
        """Tables that are present, with their rows and their meaning."""
        return [
            {"table": name, "rows": self.rows(name), "a row is": f"a {self._table(name).per_row}"}
            for name in self.tables
        ]

    @property
    def path(self) -> Path:
        """Path or location."""
        return self.source.path

    @property
    def manifest(self) -> Manifest:
        """Version, provenance, launches, and rows and length of every table."""
        return self.source.manifest

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of the tables that are present."""
        return tuple(self.manifest.tables)

    def rows(self, table: str) -> int:
        """Rows of a table."""
        return self.manifest.rows(self._table(table).name)

    def read(self, table: str, columns: Sequence[str] | None = None) -> Columns:
        """A whole table, or some of its columns. Use ``batches`` where it may be larger than memory."""
        wanted = self._columns(table, columns)
        width = sum(OFFSET_BYTES if c.ragged or c.dtype == STRING else np.dtype(c.dtype).itemsize for c in wanted)
        TABLE_BYTES.check(self.rows(table) * width, "rows x width", file=self.path, table=table)
        parts: list[Columns] = []
        total = 0
        for part in self.source.groups(self._table(table), wanted):
            total += sum(values.nbytes for values in part.values())
            TABLE_BYTES.check(total, "rows x width", file=self.path, table=table)
            parts.append(part)
        return concatenate(wanted, parts)

    def batches(self, table: str, columns: Sequence[str] | None = None) -> Iterator[Columns]:
        """A table row group after row group, in bounded memory."""
        return self.source.groups(self._table(table), self._columns(table, columns))

    def _table(self, name: str) -> Table:
        try:
            return self.layout.table(name)
        except KeyError:
            names = ", ".join(table.name for table in self.layout.tables)
            raise FormatError(f"{self.path}: table must be one of {names}, not {name}") from None

    def _columns(self, table: str, names: Sequence[str] | None) -> list[Column]:
        value = self._table(table)
        if names is None:
            return list(value.columns)
        try:
            return [value.column(name) for name in names]
        except KeyError as error:
            raise FormatError(f"{self.path}: {error.args[0]}") from None


class Trace(Dataset):
    """A trace, opened for reading; see ``Dataset``."""

    def __init__(self, source: Source, layout: Format) -> None:
        super().__init__(source, layout)
        WARPS.check(self.rows("warps"), "its warps", file=self.path)

    @property
    def image_size(self) -> tuple[int, int] | None:
        """(width, height) of an image launch, else None."""
        return self.manifest.image_size

    def batch_bounds(self, tables: Sequence[str]) -> list[int]:
        """Bounds for ``warp_batches`` whose batches of these tables fit into bounded memory: a warp at least each.

        An access counts as 32 values and a ray as 64, which is what they hold at most or usually.
        """
        count = self.rows("warps")
        values = np.zeros(count, np.int64)
        for name in tables:
            for batch in self.batches(name, ["warp_id"]):
                known = batch["warp_id"][batch["warp_id"] < count]  # the error of others comes with their rows
                values += ROW_VALUES.get(name, 1) * np.bincount(known, minlength=count)
        full = np.flatnonzero(np.diff(np.cumsum(values) // BATCH_VALUES)) + 1
        bounds: np.ndarray = np.unique(np.concatenate([full, np.arange(0, count, BATCH_WARPS), [count]]))
        return [int(bound) for bound in bounds]

    def warp_batches(
        self,
        warps_per_batch: int | Sequence[int],
        tables: Sequence[str] | Mapping[str, Sequence[str]] = ("visits", "accesses", "rays"),
        pieces_ahead: int = 0,
    ) -> Iterator[tuple[int, int, dict[str, Columns]]]:
        """Batches of warps in order: (first warp, last warp exclusive, the rows of these warps per table).

        warps_per_batch  warps of each batch, or the bounds of all batches: 0, ..., the number of warps.
        pieces_ahead     pieces of each table, as ``batches`` gives them, that a thread of its own reads before they are
                         asked for.

        Streams: memory holds one batch, the pieces read ahead, and at most one row group of each table. ``tables`` must
        have the column ``warp_id``; a mapping says which columns of each to read, ``warp_id`` among them. Rows that are
        not sorted by warp, or name a warp beyond the last, are a ``FormatError``.
        """
        chosen = tables if isinstance(tables, Mapping) else dict.fromkeys(tables)
        streams = {name: WarpStream(self, name, columns, pieces_ahead) for name, columns in chosen.items()}
        count = self.rows("warps")
        ranges = range(0, count, warps_per_batch) if isinstance(warps_per_batch, int) else warps_per_batch[:-1]
        for first, last in pairwise([*ranges, count]):
            yield first, last, {name: stream.take(first, last) for name, stream in streams.items()}
        for stream in streams.values():
            stream.expect_end(count)


class WarpStream:
    """The rows of one table in the order of warps, taken up to a given warp at a time; see ``Trace.warp_batches``."""

    def __init__(self, trace: Trace, name: str, columns: Sequence[str] | None = None, pieces_ahead: int = 0) -> None:
        self.place = f"{trace.path}: table {name}"
        self.columns = trace._columns(name, columns)
        self.groups = trace.batches(name, columns)
        if pieces_ahead:
            self.groups = read_ahead(self.groups, pieces_ahead)
        self.rest: Columns = empty(self.columns)
        self.start = 0

    def take(self, first: int, last: int) -> Columns:
        """The rows of the warps ``first`` to ``last`` (exclusive)."""
        return concatenate(self.columns, list(self.pieces(first, last)))

    def pieces(self, first: int, last: int) -> Iterator[Columns]:
        """The same rows, piece after piece, none larger than a row group."""
        while True:
            warps = self.rest["warp_id"]
            end = int(np.searchsorted(warps, last, side="left"))
            if end > self.start:
                self._check(warps[self.start :], first)
                begun, self.start = self.start, end
                yield take_rows(self.columns, self.rest, begun, end)
            if end < len(warps) or not self._advance():
                break

    def _advance(self) -> bool:
        group: Any = next(self.groups, None)
        if group is None:
            return False
        self.rest, self.start = group, 0
        if (group["warp_id"][1:] < group["warp_id"][:-1]).any():
            raise FormatError(f"{self.place}, column warp_id: must never decrease from row to row")
        return True

    def _check(self, warps: np.ndarray, first: int) -> None:
        if len(warps) and int(warps[0]) < first:
            raise FormatError(f"{self.place}, column warp_id: must never decrease, but {warps[0]} follows {first - 1}")

    def expect_end(self, count: int) -> None:
        """No row may be left after the last warp."""
        if self.start < len(self.rest["warp_id"]) or self._advance():
            found = self.rest["warp_id"][self.start]
            raise FormatError(f"{self.place}, column warp_id: must be below {count}, the number of warps, not {found}")


def read_ahead(pieces: Iterator[Piece], most: int) -> Iterator[Piece]:
    """The same pieces in order, and the same error in its place; a thread of its own produces ``most`` ahead."""
    end: Any = object()
    reader = ThreadPoolExecutor(1)
    waiting = deque(reader.submit(next, pieces, end) for _ in range(most))
    try:
        while (piece := waiting.popleft().result()) is not end:
            waiting.append(reader.submit(next, pieces, end))
            yield piece
    finally:
        reader.shutdown(cancel_futures=True)


def open_trace(path: Path | str) -> Trace:
    """Open a trace: a ``NAME.trace`` folder or a ``NAME.trace.h5`` file.

    Raises ``FormatError`` (``VersionTooNew``, ``VersionTooOld``) when it is missing, damaged or of another version.
    """
    return Trace(open_source(location(path), TRACE), TRACE)


def open_source(path: Path, layout: Format) -> Source:
    """The container at ``path``, by its suffix."""
    if path.suffix in HDF5_SUFFIXES:
        if not is_local(path):
            raise FormatError("HDF5 files are read on this machine only: copy it, or convert it to a folder", file=path)
        from rayplay.formats.hdf5.source import Hdf5Source

        return Hdf5Source(path, layout)
    return ParquetSource(path, layout)
