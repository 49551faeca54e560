"""A damaged or hostile HDF5 file is one ``FormatError``, and nothing outside the file is ever read."""

from pathlib import Path

import h5py
import numpy as np
import pytest

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.edit.convert import convert
from rayplay.formats.guard.errors import FormatError, VersionTooNew
from rayplay.formats.schema.column import STRING
from rayplay.formats.schema.trace import TABLES

COLUMNS = [(table, column) for table in TABLES for column in table.columns]
COLUMN_IDS = [f"{table.name}-{column.name}" for table, column in COLUMNS]


@pytest.fixture(scope="module")
def whole(sample: Path, tmp_path_factory) -> bytes:
    """The bytes of a valid HDF5 trace."""
    path = tmp_path_factory.mktemp("h5") / "a.trace.h5"
    convert(open_trace(sample), path)
    return path.read_bytes()


@pytest.fixture
def copy(whole: bytes, tmp_path: Path) -> Path:
    """A trace that a test may damage."""
    path = tmp_path / "copy.trace.h5"
    path.write_bytes(whole)
    return path


def replace(path: Path, name: str, make) -> None:
    """Replace a dataset by what ``make(group, last name, old values)`` puts there."""
    with h5py.File(path, "r+", libver="latest") as file:
        group, last = file[name].parent, name.rsplit("/", 1)[1]
        values = file[name][:]
        del group[last]
        make(group, last, values)


@pytest.mark.parametrize(("table", "column"), COLUMNS, ids=COLUMN_IDS)
def test_each_column_must_be_there_whole_and_of_its_type(copy: Path, whole: bytes, table, column) -> None:
    name = f"{table.name}/{column.name}"
    replace(copy, name, lambda group, last, values: None)
    with pytest.raises(FormatError, match=rf"table {table.name}: column {column.name} is missing; columns must be"):
        open_trace(copy)
    copy.write_bytes(whole)
    replace(copy, name, lambda group, last, values: group.create_dataset(last, data=values[:-1]))
    with pytest.raises(FormatError, match=rf"table {table.name}"):
        open_trace(copy).read(table.name)
    copy.write_bytes(whole)
    other = np.zeros(3, np.int64 if column.dtype == STRING else np.float16)
    replace(copy, name, lambda group, last, values: group.create_dataset(last, data=other))
    with pytest.raises(FormatError, match=rf"table {table.name}, column {column.name}: type must be"):
        open_trace(copy)


def test_a_table_whose_columns_are_all_cut_alike_is_found(copy: Path) -> None:
    """Of a table with one column, and of any other; a file without the attribute is read as it was."""
    with h5py.File(copy, "r+", libver="latest") as file:
        for name in file["warps"]:
            file["warps"][name].resize((len(file["warps"][name]) - 1,))
        rows = int(file["warps"].attrs["rows"])
    with pytest.raises(
        FormatError, match=rf"table warps: must have {rows} rows, as its attribute says, not {rows - 1}"
    ):
        open_trace(copy)
    with h5py.File(copy, "r+", libver="latest") as file:
        file["warps"].attrs["rows"] = "many"
    with pytest.raises(FormatError, match="attribute rows must be a whole number, not 'many'"):
        open_trace(copy)
    with h5py.File(copy, "r+", libver="latest") as file:
        del file["warps"].attrs["rows"]
    assert open_trace(copy).rows("warps") == rows - 1


@pytest.mark.parametrize("name", ["accesses/address", "rays/node", "instructions/source_registers"])
@pytest.mark.parametrize("change", ["first", "order", "end", "last"])
def test_offsets_must_be_possible(copy: Path, name: str, change: str) -> None:
    def make(group, last, offsets) -> None:
        index = {"first": 0, "order": 5, "end": -1, "last": -1}[change]
        offsets = offsets.astype(np.int64)
        offsets[index] += {"first": 1, "order": 1 << 40, "end": 1 << 40, "last": -1}[change]
        group.create_dataset(last, data=offsets.astype(np.uint64))

    replace(copy, f"{name}_offset", make)
    with pytest.raises(FormatError, match=rf"column {name.split('/')[1]}.*offset"):
        open_trace(copy).read(name.split("/")[0])


def hostile_external(group, last, values) -> None:
    group.create_dataset(last, (4,), np.uint32, external=[("/etc/passwd", 0, 16)])


def hostile_virtual(group, last, values) -> None:
    layout = h5py.VirtualLayout((4,), np.uint32)
    layout[:] = h5py.VirtualSource("/etc/other.h5", "x", (4,))
    group.create_virtual_dataset(last, layout)


def hostile_external_link(group, last, values) -> None:
    group[last] = h5py.ExternalLink("/etc/other.h5", "/x")


def hostile_soft_link(group, last, values) -> None:
    group[last] = h5py.SoftLink("/visits/warp_id")


def hostile_objects(group, last, values) -> None:
    group.create_dataset(last, (4,), h5py.string_dtype())


def hostile_filter(group, last, values) -> None:
    group.create_dataset(last, data=values, chunks=(4,), compression="lzf")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (hostile_external, "must hold its data itself"),
        (hostile_virtual, "must hold its data itself"),
        (hostile_external_link, "must be in this file itself, not a ExternalLink"),
        (hostile_soft_link, "must be in this file itself, not a SoftLink"),
        (hostile_objects, "type must be"),
        (hostile_filter, "filters must be"),
    ],
)
def test_what_reaches_outside_is_refused(copy: Path, make, message) -> None:
    replace(copy, "visits/block_id", make)
    with pytest.raises(FormatError, match=message):
        open_trace(copy)


def test_a_linked_group_is_refused(copy: Path) -> None:
    with h5py.File(copy, "r+") as file:
        file.move("visits", "hidden")
        file["visits"] = h5py.SoftLink("/hidden")
    with pytest.raises(FormatError, match="table visits: must be in this file itself"):
        open_trace(copy)


def test_another_version_is_refused(copy: Path) -> None:
    def newer(group, last, values) -> None:
        text = bytes(values).decode().replace('"version": [\n  1,', '"version": [\n  3,')
        group.create_dataset(last, data=np.frombuffer(text.encode(), np.uint8))

    replace(copy, "/manifest", newer)
    with pytest.raises(VersionTooNew, match=r"version must be 1\.x, not 3\.0"):
        open_trace(copy)


def test_a_file_that_is_none_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="there is none"):
        open_trace(tmp_path / "absent.h5")
    (tmp_path / "text.h5").write_text("no HDF5")
    with pytest.raises(FormatError, match="must be an HDF5 file"):
        open_trace(tmp_path / "text.h5")
    with h5py.File(tmp_path / "empty.h5", "w"):
        pass
    with pytest.raises(FormatError, match="manifest"):
        open_trace(tmp_path / "empty.h5")


def test_every_truncation_is_an_error(copy: Path, whole: bytes) -> None:
    for length in np.linspace(0, len(whole) - 1, 60, dtype=int):
        copy.write_bytes(whole[:length])
        with pytest.raises(FormatError):
            open_trace(copy).read("visits")


def test_damaged_numbers_are_found(copy: Path, whole: bytes) -> None:
    with h5py.File(copy, "r") as file:
        places = [(t.name, c.name, file[t.name][c.name].id.get_chunk_info(0)) for t, c in COLUMNS]
    for table, column, chunk in places:
        data = bytearray(whole)
        data[chunk.byte_offset + chunk.size // 2] ^= 0x04
        copy.write_bytes(data)
        with pytest.raises(FormatError, match=f"table {table}, row group 0, column {column}: cannot be read"):
            open_trace(copy).read(table)


def test_units_and_descriptions_are_in_the_file(copy: Path) -> None:
    with h5py.File(copy, "r") as file:
        assert file.attrs["format"] == b"rayplay trace"
        for table, column in COLUMNS:
            dataset = file[table.name][column.name]
            assert dataset.attrs["units"].decode() == column.unit
            assert dataset.attrs["description"].decode() == column.doc
            assert (dataset.compression, dataset.shuffle, dataset.fletcher32) == ("gzip", True, True)
