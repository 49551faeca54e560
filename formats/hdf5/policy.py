"""Policy for the content of an HDF5 file, inspected before any data is read.

HDF5 follows external files and links by itself, and loads filters as code
(``docs/sources/measurements.md#external-hdf5-storage``): everything but plain, contiguous or gzip-compressed numbers
and fixed-length strings is refused.
"""

from pathlib import Path
from typing import Any

import h5py
import numpy as np

from rayplay.formats.guard.errors import FormatError, reason_of
from rayplay.formats.guard.limits import GROUP_BYTES, MANIFEST_BYTES, STRING_BYTES
from rayplay.formats.parquet.arrow import array_names
from rayplay.formats.schema.column import STRING, Column, Table, misnamed

MANIFEST_DATASET = "manifest"
ROWS = "rows"
_FILTERS = {h5py.h5z.FILTER_DEFLATE, h5py.h5z.FILTER_SHUFFLE, h5py.h5z.FILTER_FLETCHER32}


def open_hdf5(path: Path) -> h5py.File:
    """Open a file with a readable manifest; ``FormatError`` otherwise."""
    try:
        file = h5py.File(path, "r", locking=False)  # a lock would outlive the reader until its fork has ended
    except (OSError, ValueError, RuntimeError) as error:
        raise FormatError(f"must be an HDF5 file: {reason_of(error)}", file=path) from None
    manifest = _dataset(file, path, MANIFEST_DATASET, {})
    if manifest.dtype != np.uint8:
        raise FormatError(f"{MANIFEST_DATASET} must be bytes of text, not {manifest.dtype}", file=path)
    MANIFEST_BYTES.check(len(manifest), MANIFEST_DATASET, file=path)
    return file


def label(file: h5py.File, path: Path) -> dict[str, str]:
    """The attributes ``format`` and ``version`` ("major.minor"), as far as they are there."""
    found = {}
    for name in [name for name in ("format", "version") if name in file.attrs]:
        value = file.attrs[name]
        if isinstance(value, bytes):
            value = value.decode(errors="replace")
        is_pair = isinstance(value, np.ndarray) and value.dtype.kind in "iu" and value.shape == (2,)
        if name == "version" and is_pair:
            value = "{}.{}".format(*value.tolist())
        if not isinstance(value, str):
            what = "a text" if name == "format" else "two whole numbers"
            raise FormatError(f"attribute {name} must be {what}, not {str(value)[:100]!r}", file=path)
        found[name] = value
    return found


def table_group(file: h5py.File, path: Path, table: Table) -> h5py.Group:
    """The group of a table, with exactly the columns of the schema."""
    place = {"table": table.name}
    group = _plain_member(file, path, table.name, place)
    if not isinstance(group, h5py.Group):
        raise FormatError("must be a group", file=path, table=table.name)
    if reason := misnamed(array_names(table.columns), list(group)):
        raise FormatError(reason, file=path, table=table.name)
    return group


def stated_rows(group: h5py.Group, path: Path, table: Table) -> int | None:
    """The attribute ``rows`` of a table; None in a file without, whose columns can only be compared with each other."""
    if ROWS not in group.attrs:
        return None
    value = group.attrs[ROWS]
    if not isinstance(value, np.integer):
        raise FormatError(
            f"attribute {ROWS} must be a whole number, not {str(value)[:100]!r}", file=path, table=table.name
        )
    return int(value)


def column_dataset(group: h5py.Group, path: Path, column: Column, name: str) -> h5py.Dataset:
    """The dataset of a column or of its offsets, of the schema's type."""
    place = {"table": group.name.lstrip("/"), "column": name}
    data = _dataset(group, path, name, place)
    if column.dtype == STRING:
        if data.dtype.kind != "S":
            raise FormatError(f"type must be a fixed-length string, not {data.dtype}", file=path, **place)
        STRING_BYTES.check(data.dtype.itemsize, "its texts", file=path, **place)
        return data
    wanted = np.dtype(np.uint64 if name != column.name else column.dtype)
    if data.dtype != wanted:
        raise FormatError(f"type must be {wanted}, not {data.dtype}", file=path, **place)
    return data


def check_bytes(found: int, path: Path, place: dict[str, Any]) -> None:
    """Check that the ``found`` bytes unpacked at once stay below the limit."""
    GROUP_BYTES.check(found, "rows x width", file=path, **place)


def _dataset(group: h5py.Group, path: Path, name: str, place: dict[str, Any]) -> h5py.Dataset:
    data = _plain_member(group, path, name, place)

    def law(holds: bool, reason: str) -> None:
        if not holds:
            raise FormatError(f"{reason}" if place else f"{name}: {reason}", file=path, **place)

    law(isinstance(data, h5py.Dataset) and data.ndim == 1, "must be a dataset with one dimension")
    properties = data.id.get_create_plist()
    inside = properties.get_layout() != h5py.h5d.VIRTUAL and not properties.get_external_count()
    law(inside, "must hold its data itself, but refers to other files")
    filters = {properties.get_filter(number)[0] for number in range(properties.get_nfilters())} - _FILTERS
    law(not filters, f"filters must be gzip, shuffle or fletcher32, not number {min(filters, default=0)}")
    law(data.dtype.kind in "iufS", f"type must be a number or a fixed-length string, not {data.dtype}")
    _check_storage(data, properties, path, place, law)
    return data


def _check_storage(data: h5py.Dataset, properties: Any, path: Path, place: dict[str, Any], law: Any) -> None:
    """Check that a chunk stays below the limit, and every row is stored: missing rows would read as zeros."""
    if properties.get_layout() == h5py.h5d.CHUNKED:
        (rows,) = properties.get_chunk()
        check_bytes(rows * data.dtype.itemsize, path, place)
        wanted, found = -(-len(data) // rows), data.id.get_num_chunks()
        law(found == wanted, f"must have {wanted} chunks for its {len(data)} rows, not {found}")
    else:
        wanted, found = len(data) * data.dtype.itemsize, data.id.get_storage_size()
        law(found >= wanted, f"must have {wanted} bytes for its {len(data)} rows, not {found}")


def _plain_member(group: h5py.Group, path: Path, name: str, place: dict[str, Any]) -> h5py.Group | h5py.Dataset:
    try:
        link = group.get(name, getlink=True)
        if link is None:
            raise FormatError(f"{name} is missing", file=path, **place)
        if not isinstance(link, h5py.HardLink):
            raise FormatError(f"must be in this file itself, not a {type(link).__name__}", file=path, **place)
        return group[name]
    except (OSError, KeyError, RuntimeError, ValueError, TypeError) as error:
        raise FormatError(f"{name} cannot be read: {reason_of(error)}", file=path, **place) from None
