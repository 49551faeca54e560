"""A container whose tables are columns in memory. It can be given to another process."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from rayplay.formats.parquet.arrow import Columns, offset_name, row_count
from rayplay.formats.schema.column import Column, Format, Table
from rayplay.formats.schema.manifest import FileEntry, Manifest


class MemorySource:
    """The container of ``tables``, by name, with the head of ``manifest``.

    path  named in messages.

    A table may lack columns that are not read.
    """

    def __init__(self, path: Path, layout: Format, manifest: Manifest, tables: Mapping[str, Columns]) -> None:
        self.path, self.columns = path, dict(tables)
        files: dict[str, tuple[FileEntry, ...]]
        files = {name: (FileEntry(name, _rows(layout.table(name), held), 0, ""),) for name, held in tables.items()}
        self.manifest = replace(manifest, tables=files)

    def groups(self, table: Table, columns: list[Column]) -> Iterator[Columns]:
        """The columns of a table, all rows at once."""
        if held := self.columns.get(table.name):
            yield {name: held[name] for column in columns for name in _arrays_of(column)}


def _arrays_of(column: Column) -> tuple[str, ...]:
    return (column.name, offset_name(column)) if column.ragged else (column.name,)


def _rows(table: Table, held: Columns) -> int:
    return row_count([column for column in table.columns if column.name in held], held)
