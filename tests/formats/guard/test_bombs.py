"""Small files that ask for a lot are refused in less than a second of processor time and 50 MB of memory."""

import json
import lzma
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.edit.convert import convert
from rayplay.formats.schema.manifest import MANIFEST, digest_of
from rayplay.formats.testing.generate import make_trace

ROOT = Path(__file__).resolve().parents[3]
CPU_SECONDS = 1.0
GROWTH_BYTES = 50 << 20
MANY = 100_000_000
ITEMS = 70_000_000
MEASURE = """
import resource, sys, time
from pathlib import Path
{imports}
path = Path(sys.argv[1])
before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
try:
    {read}
except UserError as error:
    print(error)
else:
    print("NOT REFUSED")
print(time.process_time() - start, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)
"""


def refused(path: Path, imports: str, read: str, expected: str) -> None:
    """``read`` refuses ``path`` with a message that has ``expected``, within the bounds, in a process of its own."""
    code = MEASURE.format(imports=f"from rayplay.formats.guard.errors import UserError\n{imports}", read=read)
    run = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, cwd=ROOT)
    assert run.returncode == 0, run.stderr
    message, figures = run.stdout.splitlines()
    seconds, growth = (float(word) for word in figures.split())
    assert expected in message
    assert str(path.parent) in message
    assert seconds < CPU_SECONDS
    assert growth < GROWTH_BYTES


def with_table(folder: Path, table: str, data: pa.Table, rows_of_group: int) -> Path:
    """A trace one of whose tables is ``data``."""
    path = make_trace(folder / "bomb.trace")
    file = path / f"{table}-00000.parquet"
    pq.write_table(data, file, row_group_size=rows_of_group, compression="zstd")
    document = json.loads((path / MANIFEST).read_text())
    document["tables"][table][0] |= {"bytes": file.stat().st_size, "rows": len(data)}
    document["digest"] = digest_of(document)
    (path / MANIFEST).write_text(json.dumps(document))
    return path


def equal_rows(count: int) -> pa.Table:
    """``visits`` that all say the same: 0.1 MB that unpack to gigabytes."""
    one = {"warp_id": np.uint32, "block_id": np.uint32, "active_mask": np.uint32}
    column = {name: pa.array(np.zeros(1 << 20, kind)) for name, kind in one.items()}
    part = pa.table(column)
    return pa.concat_tables([part] * (count >> 20))


READ_ALL = "open_trace(path).read('visits')"
OPEN = "from rayplay.formats.dataset.reader import open_trace"


def test_parquet_of_equal_rows(tmp_path: Path) -> None:
    path = with_table(tmp_path, "visits", equal_rows(MANY), 1 << 30)
    assert (path / "visits-00000.parquet").stat().st_size < 1 << 20
    refused(path, OPEN, READ_ALL, "RAYPLAY_MAX_TABLE_BYTES raises the limit")
    refused(path, OPEN, "next(open_trace(path).batches('visits'))", "RAYPLAY_MAX_GROUP_BYTES raises the limit")


def test_parquet_with_one_endless_list(tmp_path: Path) -> None:
    """The rows are few, the lists in them are not."""
    trace = open_trace(make_trace(tmp_path / "a.trace"))
    table = pq.read_table(trace.path / "accesses-00000.parquet").slice(0, 1)
    values = pa.array(np.zeros(ITEMS, np.uint64))
    index = table.column_names.index("address")
    lists = pa.ListArray.from_arrays(pa.array([0, ITEMS], pa.int32()), values)
    path = with_table(tmp_path, "accesses", table.set_column(index, "address", lists), 1 << 30)
    refused(path, OPEN, "next(open_trace(path).batches('accesses'))", "RAYPLAY_MAX_GROUP_BYTES raises the limit")


def test_parquet_with_one_long_text_many_times(tmp_path: Path) -> None:
    """A dictionary holds the text once: it stays one object, however many rows say it."""
    trace = open_trace(make_trace(tmp_path / "a.trace"))
    table = pq.read_table(trace.path / "blocks-00000.parquet")
    table = table.take(pa.array(np.zeros(100_000, np.int64)))
    index = table.column_names.index("program")
    texts = pa.DictionaryArray.from_arrays(pa.array(np.zeros(100_000, np.int32)), pa.array(["x" * 50_000]))
    path = with_table(tmp_path, "blocks", table.set_column(index, "program", texts), 1 << 20)
    found = open_trace(path).read("blocks", ["program"])["program"]
    assert len(found) == 100_000
    assert len({id(text) for text in found}) == 1


def change_hdf5(folder: Path, change: Callable[[h5py.File], None]) -> Path:
    """A trace in HDF5 that was changed by hand."""
    convert(open_trace(make_trace(folder / "a.trace")), folder / "a.trace.h5")
    with h5py.File(folder / "a.trace.h5", "r+", libver="latest") as file:
        change(file)
    return folder / "a.trace.h5"


def test_hdf5_of_terabytes_that_are_not_there(tmp_path: Path) -> None:
    def change(file: h5py.File) -> None:
        for name in list(file["visits"]):
            kind = file["visits"][name].dtype
            del file["visits"][name]
            file["visits"].create_dataset(name, (1 << 40,), kind, chunks=(1 << 16,), compression="gzip")

    path = change_hdf5(tmp_path, change)
    refused(path, OPEN, READ_ALL, "chunks for its 1099511627776 rows, not 0")


def test_hdf5_of_one_huge_chunk(tmp_path: Path) -> None:
    def change(file: h5py.File) -> None:
        rows = len(file["visits/active_mask"])
        del file["visits/active_mask"]
        options = {"chunks": (1 << 29,), "maxshape": (None,), "compression": "gzip"}
        file["visits"].create_dataset("active_mask", (rows,), np.uint32, **options)

    path = change_hdf5(tmp_path, change)
    refused(path, OPEN, READ_ALL, "RAYPLAY_MAX_GROUP_BYTES raises the limit")


def test_hdf5_of_equal_rows(tmp_path: Path) -> None:
    """Gzip packs zeros a thousandfold: the chunk is stored once here and written again and again."""

    def change(file: h5py.File) -> None:
        rows, chunk = 1 << 28, 1 << 22
        file["visits"].attrs["rows"] = rows
        packed = zlib.compress(bytes(4 * chunk), 9)
        for name in ("warp_id", "block_id", "active_mask"):
            del file["visits"][name]
            data = file["visits"].create_dataset(name, (rows,), np.uint32, chunks=(chunk,), compression="gzip")
            for number in range(rows // chunk):
                data.id.write_direct_chunk((number * chunk,), packed)

    path = change_hdf5(tmp_path, change)
    assert path.stat().st_size < 8 << 20
    refused(path, OPEN, READ_ALL, "RAYPLAY_MAX_TABLE_BYTES raises the limit")


@pytest.mark.parametrize("content", [b"\n" * (64 << 20), b"0" * (64 << 20)], ids=["lines", "one line"])
def test_xz_bomb(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "kernel-1.traceg.xz").write_bytes(lzma.compress(content))
    read = "[None for _ in iter(lambda: open_packed.file.read(1 << 20), b'')]"
    imports = "from rayplay.formats.guard.xz import open_packed\nopen_packed.file = open_packed(Path(sys.argv[1]))"
    refused(tmp_path / "kernel-1.traceg.xz", imports, read, "RAYPLAY_MAX_RATIO raises the limit")


def test_xz_that_needs_a_huge_dictionary(tmp_path: Path) -> None:
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1 << 29}]
    packed = bytearray(lzma.compress(b"text", filters=[filters[0] | {"dict_size": 1 << 12}]))
    packed[16] = 34  # the byte that gives the dictionary: 512 MiB
    packed[20:24] = struct.pack("<I", zlib.crc32(bytes(packed[12:20])))
    (tmp_path / "a.traceg.xz").write_bytes(packed)
    imports = "from rayplay.formats.guard.xz import open_packed"
    refused(tmp_path / "a.traceg.xz", imports, "open_packed(path).read()", "RAYPLAY_MAX_DICTIONARY_BYTES raises")


def test_texts(tmp_path: Path) -> None:
    (tmp_path / "line.toml").write_text("a = " + "1" * (10 << 20))
    (tmp_path / "deep.toml").write_text("a = " + "[" * 100_000)
    (tmp_path / "digits.toml").write_text("a = " + "1" * 10_000)
    (tmp_path / "gpgpusim.config").write_text("-a " + "1" * (10 << 20))
    toml = "from rayplay.formats.guard.text import read_toml"
    refused(tmp_path / "line.toml", toml, "read_toml(path)", "RAYPLAY_MAX_TEXT_BYTES raises the limit")
    refused(tmp_path / "deep.toml", toml, "read_toml(path)", "must be TOML")
    refused(tmp_path / "digits.toml", toml, "read_toml(path)", "must be TOML")
    load = "from rayplay.replay.gpu.description import load"
    refused(tmp_path / "gpgpusim.config", load, "load(str(path))", "RAYPLAY_MAX_TEXT_BYTES raises the limit")


FOLDER = "from rayplay.formats.exchange.frames import import_folder"
READ_FOLDER = "import_folder(path, path.parent / 'a.trace')"


def test_own_tables_of_equal_rows(tmp_path: Path) -> None:
    """A folder of somebody's tables has no manifest; its files are as limited."""
    (tmp_path / "mine").mkdir()
    pq.write_table(equal_rows(MANY), tmp_path / "mine" / "visits.parquet", row_group_size=1 << 30, compression="zstd")
    refused(tmp_path / "mine", FOLDER, READ_FOLDER, "RAYPLAY_MAX_GROUP_BYTES raises the limit")
    pq.write_table(equal_rows(MANY), tmp_path / "mine" / "visits.parquet", row_group_size=1 << 25, compression="zstd")
    environment = "import os; os.environ['RAYPLAY_MAX_TABLE_BYTES'] = '1000000'\n"
    pq.write_table(equal_rows(1 << 21), tmp_path / "mine" / "visits.parquet", row_group_size=1 << 17)
    refused(tmp_path / "mine", environment + FOLDER, READ_FOLDER, "RAYPLAY_MAX_TABLE_BYTES raises the limit")


def test_own_tables_with_one_long_text_many_times(tmp_path: Path) -> None:
    """A text of 60 KB in each of 20,000 rows is one object, and then no number."""
    (tmp_path / "mine").mkdir()
    texts = pa.DictionaryArray.from_arrays(pa.array(np.zeros(20_000, np.int32)), pa.array(["x" * 60_000]))
    lists = pa.ListArray.from_arrays(pa.array(np.arange(20_001, dtype=np.int32)), texts)
    pq.write_table(pa.table({"text": texts}), tmp_path / "mine" / "instructions.parquet")
    refused(tmp_path / "mine", FOLDER, READ_FOLDER, "table visits")
    (tmp_path / "mine" / "instructions.parquet").unlink()
    pq.write_table(pa.table({"address": lists}), tmp_path / "mine" / "accesses.parquet")
    refused(tmp_path / "mine", FOLDER, READ_FOLDER, "must be uint64")


def test_own_tables_of_very_many_columns(tmp_path: Path) -> None:
    (tmp_path / "visits.csv").write_text(",".join(map(str, range(200_000))) + "\n")
    refused(tmp_path, FOLDER, READ_FOLDER, "RAYPLAY_MAX_COLUMNS raises the limit")


def test_characterisation_of_equal_rows(tmp_path: Path) -> None:
    pq.write_table(equal_rows(MANY), tmp_path / "mine.parquet", row_group_size=1 << 30, compression="zstd")
    imports = "from rayplay.replay.input.program import read_characterisation"
    refused(tmp_path / "mine.parquet", imports, "read_characterisation(None, path)", "RAYPLAY_MAX_GROUP_BYTES raises")


def test_numbers_of_numpy_that_are_not_there(tmp_path: Path) -> None:
    """A header of 128 bytes says 8 TB."""
    np.save(tmp_path / "a.npy", np.zeros(1000, np.uint8))
    data = (tmp_path / "a.npy").read_bytes().replace(b"(1000,), }", b"(8%s,), }" % (b"0" * 12))
    (tmp_path / "a.npy").write_bytes(data[: 128 + 1000])
    refused(
        tmp_path / "a.npy",
        "from rayplay.tracer.launchfile.buffers import read_npy",
        "read_npy(path)",
        "must be a .npy file",
    )
