"""The vocabulary of a file format: a table is a value, and everything else follows from it."""

from collections.abc import Sequence
from dataclasses import dataclass

STRING = "string"


@dataclass(frozen=True, slots=True)
class Column:
    """One column of one table.

    name        the name in the file, of the numpy array and in the kernels: there is no other.
    dtype       numpy dtype name, or ``string``.
    unit        ``bytes``, ``cycles``, ...; ``id``, ``mask``, ``count``, ``name``, or ``1`` without a unit.
    doc         what it means, in one sentence.
    ragged      True: a list of ``dtype`` per row; in memory ``name`` holds the values of all rows and
                ``name + "_offset"`` (uint64, rows + 1) where each row starts.
    sorted      True: never decreases from row to row.
    points_to   the table whose row number this is.
    values      names of the codes 0, 1, ... (integer columns) or the permitted strings.
    encoding    Parquet encoding, chosen by measurement; ``dictionary`` is Parquet's own choice.
    level       zstd level of the column, chosen by measurement.
    """

    name: str
    dtype: str
    unit: str
    doc: str
    ragged: bool = False
    sorted: bool = False
    points_to: str | None = None
    values: tuple[str, ...] = ()
    encoding: str = "dictionary"
    level: int = 1


@dataclass(frozen=True, slots=True)
class Table:
    """One table of a format.

    per_row     what a row is.
    row_number  the column that counts rows, if there is one.
    optional    True: a file may lack the table, which then has no rows.
    written     True: Rayplay writes the table even without rows, though it is optional.
    group_rows  rows of a Parquet row group, so that streaming needs bounded memory; chosen by measurement.
    page_bytes  of a Parquet page before it is compressed, about: what a reader unpacks at a time; likewise.
    """

    name: str
    per_row: str
    columns: tuple[Column, ...]
    row_number: str | None = None
    optional: bool = False
    written: bool = False
    group_rows: int = 1 << 16
    page_bytes: int = 8 << 20

    def column(self, name: str) -> Column:
        """The column called ``name``; ``KeyError`` for an unknown name."""
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(f"table {self.name} has no column {name}")


@dataclass(frozen=True, slots=True)
class Format:
    """A file format: its name, version (major, minor) and tables."""

    name: str
    version: tuple[int, int]
    tables: tuple[Table, ...]

    def table(self, name: str) -> Table:
        """The table called ``name``; ``KeyError`` for an unknown name."""
        for table in self.tables:
            if table.name == name:
                return table
        raise KeyError(f"{self.name} has no table {name}")


def misnamed(wanted: Sequence[str], found: Sequence[str], more: bool = False) -> str:
    """Error in the names of a table's columns, the culprits first; "" when they are right.

    more  whether there may be further columns, which are not looked at.
    """
    culprits = [f"column {name} is missing" for name in wanted if name not in found]
    if not more:
        culprits += [f"column {name} is unknown" for name in dict.fromkeys(found) if name not in wanted]
    culprits += [f"column {name} is there twice" for name in dict.fromkeys(found) if found.count(name) > 1]
    return f"{', '.join(culprits)}; columns must be {', '.join(wanted)}" if culprits else ""
