"""What an HDF5 file may contain: inspected before any data is read.

HDF5 follows external files and links by itself, and loads filters as code (``reference/users-libraries-reliability.md``
0.6): everything but plain, contiguous or gzip-compressed numbers and fixed-length strings is refused.
"""

from pathlib import Path

import h5py
import numpy as np

from formats.column import STRING, Column, Format, Table
from formats.errors import FormatError

MANIFEST_DATASET = "manifest"
MAX_STRING_BYTES = 1 << 20
MAX_MANIFEST_BYTES = 64 << 20
_FILTERS = {h5py.h5z.FILTER_DEFLATE, h5py.h5z.FILTER_SHUFFLE, h5py.h5z.FILTER_FLETCHER32}


def open_hdf5(path: Path, layout: Format) -> h5py.File:
    """The file, opened for reading, with a manifest that may be read; ``FormatError`` otherwise."""
    if not path.is_file():
        raise FormatError(f"{path}: must be a {layout.name} file, but there is none")
    try:
        file = h5py.File(path, "r")
    except (OSError, ValueError, RuntimeError) as error:
        raise FormatError(f"{path}: must be an HDF5 file: {' '.join(str(error).split())}") from None
    manifest = _dataset(file, path, MANIFEST_DATASET)
    if manifest.dtype != np.uint8 or len(manifest) > MAX_MANIFEST_BYTES:
        raise FormatError(f"{path}: {MANIFEST_DATASET} must be at most {MAX_MANIFEST_BYTES} bytes of text")
    return file


def table_group(file: h5py.File, path: Path, table: Table) -> h5py.Group:
    """The group of a table, with exactly the columns of the schema."""
    place = f"{path}: table {table.name}"
    group = _plain_member(file, place, table.name)
    if not isinstance(group, h5py.Group):
        raise FormatError(f"{place}: must be a group")
    wanted = {c.name for c in table.columns} | {f"{c.name}_offset" for c in table.columns if c.ragged}
    if set(group) != wanted:
        raise FormatError(f"{place}: columns must be {', '.join(sorted(wanted))}, not {', '.join(sorted(group))}")
    return group


def column_dataset(group: h5py.Group, path: Path, column: Column, name: str) -> h5py.Dataset:
    """The dataset of a column or of its offsets, of the schema's type."""
    place = f"{path}: table {group.name.lstrip('/')}, column {name}"
    data = _dataset(group, path, name)
    if column.dtype == STRING:
        text = data.dtype.kind == "S" and 0 < data.dtype.itemsize <= MAX_STRING_BYTES
        if not text:
            raise FormatError(f"{place}: type must be a fixed-length string, not {data.dtype}")
        return data
    wanted = np.dtype(np.uint64 if name != column.name else column.dtype)
    if data.dtype != wanted:
        raise FormatError(f"{place}: type must be {wanted}, not {data.dtype}")
    return data


def _dataset(group: h5py.Group, path: Path, name: str) -> h5py.Dataset:
    place = f"{path}: {group.name.rstrip('/')}/{name}"
    data = _plain_member(group, place, name)
    if not isinstance(data, h5py.Dataset) or data.ndim != 1:
        raise FormatError(f"{place}: must be a dataset with one dimension")
    properties = data.id.get_create_plist()
    if properties.get_layout() == h5py.h5d.VIRTUAL or properties.get_external_count():
        raise FormatError(f"{place}: must hold its data itself, but refers to other files")
    filters = {properties.get_filter(number)[0] for number in range(properties.get_nfilters())}
    if filters - _FILTERS:
        raise FormatError(f"{place}: filters must be gzip, shuffle or fletcher32, not number {min(filters - _FILTERS)}")
    if data.dtype.kind not in "iufS":
        raise FormatError(f"{place}: type must be a number or a fixed-length string, not {data.dtype}")
    return data


def _plain_member(group: h5py.Group, place: str, name: str) -> h5py.Group | h5py.Dataset:
    try:
        link = group.get(name, getlink=True)
        if link is None:
            raise FormatError(f"{place}: is missing")
        if not isinstance(link, h5py.HardLink):
            raise FormatError(f"{place}: must be in this file itself, not a {type(link).__name__}")
        return group[name]
    except (OSError, KeyError, RuntimeError, ValueError, TypeError) as error:
        raise FormatError(f"{place}: cannot be read: {' '.join(str(error).split())}") from None
