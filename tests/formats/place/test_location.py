"""Traces and results in stores of fsspec: the same bytes as in a folder, and a reader never sees half of one."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from upath import UPath

from rayplay.formats.__main__ import parser
from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.dataset.result import ResultWriter, open_result
from rayplay.formats.dataset.writer import TraceWriter
from rayplay.formats.edit.convert import convert
from rayplay.formats.edit.filter import filter_trace
from rayplay.formats.edit.pixels import image_size, read_pixels, write_pixels
from rayplay.formats.edit.select import select
from rayplay.formats.guard.errors import FormatError
from rayplay.formats.laws.check import validate
from rayplay.formats.laws.verify import damages
from rayplay.formats.look.show import open_any
from rayplay.formats.place.location import is_local, location
from rayplay.formats.schema.manifest import MANIFEST
from rayplay.formats.testing.generate import make_tables, make_trace
from tests.formats.schema_strategies import tree_bytes


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    """A folder of an empty store; partial folders are made in ``tmp_path``, where none may be left."""
    MemoryFileSystem.store.clear()
    MemoryFileSystem.pseudo_dirs[:] = [""]
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    UPath("memory://bucket").mkdir()
    yield "memory://bucket"
    assert not list((tmp_path / "rayplay").glob("*"))
    MemoryFileSystem.store.clear()


def contents(url: str) -> dict[str, bytes]:
    """Every file of a folder of the store."""
    return {path.name: path.read_bytes() for path in sorted(UPath(url).iterdir(), key=str)}


def test_locations() -> None:
    for local in ("traces/a.trace", "/tmp/a.trace", Path("a.trace"), "file:///tmp/a.trace"):
        assert is_local(location(local))
    assert str(location("file:///tmp/a.trace")) == "/tmp/a.trace"
    remote = location("memory://bucket/a.trace")
    assert not is_local(remote)
    assert (remote.name, remote.suffix, str(remote / "x")) == ("a.trace", ".trace", "memory://bucket/a.trace/x")
    assert location(remote) is remote
    with pytest.raises(FormatError, match=r"^nowhere://a: cannot be reached: .*nowhere"):
        location("nowhere://a")


def test_a_trace_of_a_store_is_that_of_a_folder(store: str, tmp_path: Path) -> None:
    here = make_trace(tmp_path / "a.trace", 1)
    make_trace_at(f"{store}/a.trace", 1)
    assert contents(f"{store}/a.trace") == tree_bytes(here)
    there, ours = open_trace(f"{store}/a.trace"), open_trace(here)
    assert validate(there) == []
    assert list(damages(there)) == []
    for name in ours.tables:
        for column, values in ours.read(name).items():
            np.testing.assert_array_equal(there.read(name)[column], values)


def make_trace_at(url: str, seed: int) -> None:
    with TraceWriter(url, {"command": "formats.generate", "seed": seed}, (40, 6)) as writer:
        for name, columns in make_tables(seed).items():
            writer.put(name, columns)


def test_filter_select_and_convert_between_stores_and_folders(store: str, tmp_path: Path) -> None:
    here = make_trace(tmp_path / "a.trace", 1)
    convert(open_trace(here), f"{store}/a.trace")
    assert contents(f"{store}/a.trace") == tree_bytes(here)
    chosen = np.indices((6, 40)).sum(axis=0) % 3 == 0
    write_pixels(f"{store}/a.pixels", chosen)
    assert (read_pixels(f"{store}/a.pixels", image_size(open_trace(here))) == chosen).all()
    filter_trace(here, chosen, tmp_path / "b.trace")
    filter_trace(location(f"{store}/a.trace"), chosen, location(f"{store}/b.trace"))
    assert contents(f"{store}/b.trace") == tree_bytes(tmp_path / "b.trace")
    select(open_trace(f"{store}/a.trace"), f"{store}/c.trace", kernels="0")
    assert open_trace(f"{store}/c.trace").rows("kernels") == 1
    with pytest.raises(FormatError, match="must be another path than the trace that is read"):
        select(open_trace(f"{store}/a.trace"), f"{store}/a.trace", kernels="0")


def test_the_command_line_takes_urls(store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def run(*words: str) -> int:
        arguments = parser().parse_args(words)
        return arguments.run(arguments)

    make_trace(tmp_path / "a.trace")
    url = f"{store}/a.trace"
    assert run("convert", str(tmp_path / "a.trace"), url) == 0
    assert run("check", url) == 0
    assert run("show", url) == 0
    assert run("diff", url, str(tmp_path / "a.trace")) == 0
    assert f"{url}: all laws hold" in capsys.readouterr().out


def test_results(store: str) -> None:
    metric = {"cycles": {"value": 7, "unit": "cycles", "kind": "sum", "definition": "of a test"}}
    with ResultWriter(f"{store}/a.result") as writer:
        writer.summary(metric)
    assert open_result(f"{store}/a.result").summary == metric


def test_hdf5_files_are_local(store: str, tmp_path: Path) -> None:
    trace = open_trace(make_trace(tmp_path / "a.trace"))
    with pytest.raises(FormatError, match=r"^memory://bucket/a.trace.h5: HDF5 files are written on this machine only"):
        convert(trace, f"{store}/a.trace.h5")
    with pytest.raises(FormatError, match=r"^memory://bucket/a.trace.h5: HDF5 files are read on this machine only"):
        open_trace(f"{store}/a.trace.h5")


@pytest.mark.parametrize("earlier", [False, True], ids=["new", "replaced"])
def test_a_reader_never_sees_half_a_trace(store: str, monkeypatch: pytest.MonkeyPatch, earlier: bool) -> None:
    url = f"{store}/a.trace"
    make_trace_at(url, 2)
    files, before = sorted(contents(url)), contents(url)
    put_file = MemoryFileSystem.put_file
    if not earlier:
        UPath(url).fs.rm(UPath(url).path, recursive=True)
    for number in range(1, len(files) + 1):
        count = [0]

        def failing(self: MemoryFileSystem, lpath: str, rpath: str, count=count, number=number, **options) -> None:
            count[0] += 1
            if count[0] == number:
                raise PermissionError("no more money")
            put_file(self, lpath, rpath, **options)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(MemoryFileSystem, "put_file", failing)
            with pytest.raises(FormatError, match=f"^{url}: the store refuses: PermissionError: no more money"):
                make_trace_at(url, 1)
        if earlier:
            assert contents(url) == before
        else:
            with pytest.raises(FormatError, match=f"^{url}: must be a rayplay trace, but"):
                open_trace(url)
    make_trace_at(url, 2)
    assert len(contents(url)) == len(files)
    assert validate(open_trace(url)) == []


def test_replacing_a_result_keeps_it_until_the_manifest_is_there(store: str) -> None:
    """``summary.json`` has one name: it is put back when the manifest cannot follow."""
    url, put_file = f"{store}/a.result", MemoryFileSystem.put_file
    metric = {"value": 7, "unit": "cycles", "kind": "sum", "definition": "of a test"}

    def write(value: int) -> None:
        with ResultWriter(url) as writer:
            writer.summary({"cycles": metric | {"value": value}})

    def failing(self: MemoryFileSystem, lpath: str, rpath: str, **options: Any) -> None:
        if rpath.endswith(MANIFEST):
            raise PermissionError("no more money")
        put_file(self, lpath, rpath, **options)

    write(7)
    before = contents(url)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MemoryFileSystem, "put_file", failing)
        with pytest.raises(FormatError, match="no more money"):
            write(8)
    assert contents(url) == before
    write(8)
    assert open_result(url).value("cycles") == 8


def test_a_bucket_is_never_made(store: str) -> None:
    with pytest.raises(FormatError, match=r"^memory://other/a.trace: other must exist, but does not$"):
        make_trace_at("memory://other/a.trace", 1)
    assert not UPath("memory://other").exists()


def test_a_cut_connection_is_one_error(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a library raises in the middle of a manifest: an error of its own, or none that Python knows."""
    make_trace_at(f"{store}/a.trace", 1)

    class CutError(Exception):
        pass

    def failing(*_: object, **__: object) -> None:
        raise CutError("connection reset")

    monkeypatch.setattr(MemoryFileSystem, "cat_file", failing)
    monkeypatch.setattr(MemoryFileSystem, "_open", failing)
    for read in (open_trace, open_any):
        with pytest.raises(
            FormatError, match=r"^memory://bucket/a.trace: the store refuses: CutError: connection reset"
        ):
            read(f"{store}/a.trace")


def test_files_of_an_earlier_trace_go(store: str) -> None:
    url = f"{store}/a.trace"
    make_trace_at(url, 1)
    tables = {name: columns for name, columns in make_tables(1).items() if name != "rays"}
    with TraceWriter(url, image_size=(40, 6)) as writer:
        for name, columns in tables.items():
            writer.put(name, columns)
    assert "rays-00000.parquet" not in contents(url)
    assert MANIFEST in contents(url)


def test_damage_in_a_store_is_named(store: str) -> None:
    make_trace_at(f"{store}/a.trace", 1)
    file = UPath(f"{store}/a.trace/visits-00000.parquet")
    content = bytearray(file.read_bytes())
    content[len(content) // 3] ^= 4
    file.write_bytes(bytes(content))
    with pytest.raises(FormatError, match=r"memory://bucket/a.trace/visits-00000.parquet"):
        open_trace(f"{store}/a.trace").read("visits")
    file.unlink()
    with pytest.raises(FormatError, match="must be a file, as the manifest says, but is not there"):
        open_trace(f"{store}/a.trace")
