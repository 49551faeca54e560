"""A full disk, Ctrl-C or any error leaves the old trace as it was, and nothing half-written anywhere."""

import errno
import re
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.dataset.writer import FolderWriter, TraceWriter
from rayplay.formats.edit.convert import convert
from rayplay.formats.edit.pixels import write_pixels
from rayplay.formats.guard.errors import FormatError
from rayplay.formats.parquet.shards import HashingFile
from rayplay.formats.place.publish import atomic_file, make_partial_folder
from rayplay.formats.schema.manifest import MANIFEST
from rayplay.formats.testing.generate import make_tables, make_trace
from tests.formats.schema_strategies import tree_bytes

write_some = HashingFile._write_some


@pytest.fixture(params=["absent", "present"])
def target(request, tmp_path: Path) -> Iterator[Path]:
    """A path with or without an earlier trace, which must be as before when the test ends."""
    path = tmp_path / "mine.trace"
    if request.param == "present":
        make_trace(path, seed=1)
    before = tree_bytes(path) if path.exists() else None
    yield path
    assert (tree_bytes(path) if path.exists() else None) == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["mine.trace"] * (before is not None)


def fail_at(monkeypatch: pytest.MonkeyPatch, number: int, error: BaseException) -> list[int]:
    """Make the ``number``-th write of any file fail; returns a list that counts the writes."""
    count = [0]

    def failing(self: HashingFile, view: memoryview) -> int:
        count[0] += 1
        if count[0] >= number:
            raise error
        return write_some(self, view)

    monkeypatch.setattr(HashingFile, "_write_some", failing)
    return count


def count_writes(tmp_path: Path) -> int:
    with pytest.MonkeyPatch.context() as patch:
        count = fail_at(patch, 1 << 60, OSError())
        make_trace(tmp_path / "counted.trace", seed=2)
    return count[0]


def test_a_full_disk_at_every_write(tmp_path: Path) -> None:
    writes = count_writes(tmp_path)
    assert writes >= 3 * len(list((tmp_path / "counted.trace").iterdir())) - 2
    path = make_trace(tmp_path / "mine.trace", seed=1)
    before = tree_bytes(path)
    for number in range(1, writes + 1):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("os.fsync", lambda handle: None)
            fail_at(patch, number, OSError(errno.ENOSPC, "No space left on device"))
            with pytest.raises(OSError, match="No space left on device"):
                make_trace(path, seed=2)
        assert tree_bytes(path) == before
        assert sorted(entry.name for entry in tmp_path.iterdir()) == ["counted.trace", "mine.trace"]


@pytest.mark.parametrize("number", [1, 20, 40])
def test_ctrl_c_in_the_encoder(target: Path, monkeypatch, number) -> None:
    fail_at(monkeypatch, number, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        make_trace(target, seed=2)


def test_ctrl_c_while_beginning(target: Path, monkeypatch) -> None:
    def interrupted(self: FolderWriter, table: str) -> None:
        if table == "visits":
            raise KeyboardInterrupt

    monkeypatch.setattr(FolderWriter, "declare", interrupted)
    with pytest.raises(KeyboardInterrupt):
        make_trace(target, seed=2)


def test_ctrl_c_between_two_puts(target: Path) -> None:
    tables = make_tables(2)

    def write() -> None:
        with TraceWriter(target) as writer:
            for name, columns in tables.items():
                writer.put(name, columns)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write()


@pytest.mark.parametrize(
    "step",
    ["os.fsync", "rayplay.formats.dataset.writer.publish_folder", "rayplay.formats.dataset.writer.Manifest.text"],
)
def test_ctrl_c_while_finishing(target: Path, monkeypatch, step) -> None:
    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(step, interrupted)
    with pytest.raises(KeyboardInterrupt):
        make_trace(target, seed=2)


def test_a_full_disk_while_syncing_is_named(target: Path, monkeypatch) -> None:
    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left on device"):
        make_trace(target, seed=2)


@pytest.mark.parametrize("make", [make_partial_folder, atomic_file])
def test_a_read_only_folder_is_reported_by_the_name_that_was_given(tmp_path: Path, monkeypatch, make) -> None:
    def read_only(prefix: str, suffix: str, dir: Path) -> str:
        raise OSError(errno.EROFS, "Read-only file system", str(dir / f"{prefix}abcdefgh{suffix}"))

    def run() -> None:
        with make(tmp_path / "a.result"):
            pass

    monkeypatch.setattr("tempfile.mkdtemp", read_only)
    monkeypatch.setattr("tempfile.mkstemp", read_only)
    with pytest.raises(OSError, match="Read-only") as caught:
        run()
    assert caught.value.filename == str(tmp_path / "a.result")


def test_a_column_that_does_not_fit(target: Path) -> None:
    with (
        pytest.raises(FormatError, match="column block_id: must be uint32, but holds -1"),
        TraceWriter(target) as writer,
    ):
        writer.put("visits", {"warp_id": [0], "block_id": [-1], "active_mask": [1]})


@pytest.mark.parametrize("exchange", [True, False], ids=["exchanged", "two steps"])
def test_a_new_trace_replaces_the_old(tmp_path: Path, monkeypatch, exchange) -> None:
    if not exchange:
        monkeypatch.setattr("rayplay.formats.place.publish._exchange", lambda first, second: False)
    path = make_trace(tmp_path / "mine.trace", seed=1)
    make_trace(path, seed=2)
    make_trace(tmp_path / "other.trace", seed=2)
    assert tree_bytes(path) == tree_bytes(tmp_path / "other.trace")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["mine.trace", "other.trace"]


@pytest.mark.parametrize("there", [True, False])
def test_through_a_link_its_target_is_written(tmp_path: Path, there: bool) -> None:
    (tmp_path / "far").mkdir()
    for name in ("a.trace", "a.txt"):
        (tmp_path / name).symlink_to(Path("far") / name)
    if there:
        make_trace(tmp_path / "far" / "a.trace", seed=1)
        (tmp_path / "far" / "a.txt").write_text("old")
    make_trace(tmp_path / "a.trace", seed=2)
    with atomic_file(tmp_path / "a.txt") as partial:
        partial.write_text("new")
    make_trace(tmp_path / "other.trace", seed=2)
    assert tree_bytes(tmp_path / "far" / "a.trace") == tree_bytes(tmp_path / "other.trace")
    assert (tmp_path / "far" / "a.txt").read_text() == "new"
    assert sorted(entry.name for entry in (tmp_path / "far").iterdir()) == ["a.trace", "a.txt"]
    assert all((tmp_path / name).is_symlink() for name in ("a.trace", "a.txt"))


@pytest.mark.parametrize("target", ["far/a.trace", "a.trace"], ids=["no such folder", "itself"])
def test_a_link_that_leads_nowhere_is_named(tmp_path: Path, target: str) -> None:
    (tmp_path / "a.trace").symlink_to(target)
    with pytest.raises((FormatError, OSError), match=re.escape(str(tmp_path / "a.trace"))) as caught:
        make_trace(tmp_path / "a.trace")
    assert "partial" not in str(caught.value)
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.trace"]


def test_a_failing_second_step_puts_the_old_trace_back(target: Path, monkeypatch) -> None:
    from rayplay.formats.place import publish as atomic

    if not target.exists():
        return
    rename, calls = atomic.os.rename, [0]

    def failing(source: Path, destination: Path) -> None:
        calls[0] += 1
        if calls[0] == 3:
            raise OSError(errno.EIO, "Input/output error")
        rename(source, destination)

    monkeypatch.setattr("rayplay.formats.place.publish._exchange", lambda first, second: False)
    monkeypatch.setattr("os.rename", failing)
    with pytest.raises(OSError, match="Input/output error"):
        make_trace(target, seed=2)


def test_a_missing_parent_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"folder .* must exist"):
        make_trace(tmp_path / "no" / "mine.trace")
    with pytest.raises(FormatError, match=r"folder .* must exist"):
        write_pixels(tmp_path / "no" / "a.pixels", np.zeros((2, 2), bool))


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_hdf5_is_complete_or_not_there(sample: Path, tmp_path: Path, monkeypatch, error) -> None:
    path = tmp_path / "a.trace.h5"
    convert(open_trace(sample), path)
    before, calls = path.read_bytes(), [0]

    def failing(dataset: object, values: object) -> None:
        calls[0] += 1
        if calls[0] == 30:
            raise error

    monkeypatch.setattr("rayplay.formats.dataset.hdf5_writer._extend", failing)
    with pytest.raises((FormatError, KeyboardInterrupt)):
        convert(open_trace(sample), path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.trace.h5"]


def test_the_manifest_is_written_last(tmp_path: Path, monkeypatch) -> None:
    order: list[str] = []
    opened = HashingFile.__init__

    def noting(self: HashingFile, path: Path) -> None:
        order.append(path.name)
        opened(self, path)

    monkeypatch.setattr(HashingFile, "__init__", noting)
    make_trace(tmp_path / "mine.trace")
    assert order[-1] == MANIFEST
    assert order.count(MANIFEST) == 1


@pytest.mark.parametrize("limit_bytes", [500, 100_000, 300_000])
def test_a_full_disk_while_hdf5_writes_is_one_line(tmp_path: Path, limit_bytes: int) -> None:
    """The library itself cannot close a file that refuses writes; it would end in a crash."""
    sample = Path(__file__).resolve().parents[3] / "traces" / "sample.trace"
    final = tmp_path / "old.trace.h5"
    convert(open_trace(sample), final)
    before = final.read_bytes()
    assert len(before) > limit_bytes

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, limit_bytes))

    command = [sys.executable, "-m", "formats", "convert", str(sample), str(final)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=limit)
    assert (done.returncode, done.stderr) == (2, f"formats: error: {final}: cannot be written: File too large\n")
    assert final.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == [final.name]


def test_an_error_of_a_writer_names_the_final_file(tmp_path: Path) -> None:
    def write() -> None:
        with atomic_file(tmp_path / "a.ptx"):
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space left on device") as caught:
        write()
    assert caught.value.filename == str(tmp_path / "a.ptx")
    assert not list(tmp_path.iterdir())
