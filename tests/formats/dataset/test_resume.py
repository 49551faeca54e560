"""A writer killed at any of its writes can be resumed, and ends with the bytes of an uninterrupted one."""

import errno
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.dataset.resume import ResumableTraceWriter
from rayplay.formats.parquet.shards import HashingFile
from rayplay.formats.place import checkpoint
from rayplay.formats.testing.generate import make_tables
from tests.formats.schema_strategies import tree_bytes

PIECES = 60
POINTS = int(os.environ.get("RAYPLAY_RESUME_POINTS", "9"))
LEAST_WRITES = 120
write_some = HashingFile._write_some


@pytest.fixture(autouse=True)
def short_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two row groups a file."""
    monkeypatch.setattr("rayplay.formats.parquet.shards.GROUPS_PER_SHARD", 2)


def piece(number: int) -> dict[str, dict[str, np.ndarray]]:
    """Rows of one call: more than a row group in three."""
    rows = 30_000
    rng = np.random.default_rng(number)
    warp = np.full(rows, number, np.uint32)
    lanes = rng.integers(0, 3, rows)
    ends = np.concatenate([[0], np.cumsum(lanes)]).astype(np.uint64)
    return {
        "visits": {"warp_id": warp, "block_id": warp, "active_mask": rng.integers(1, 99, rows).astype(np.uint32)},
        "accesses": {
            "warp_id": warp, "visit": warp, "instruction_id": warp, "lane_mask": warp,
            "address": rng.integers(0, 1 << 40, int(ends[-1])).astype(np.uint64), "address_offset": ends,
        },
    }  # fmt: skip


def write(path: Path, resume: bool) -> int:
    """A run: the static tables, then ``PIECES`` pieces with a checkpoint after each third; where it began."""
    static = {
        name: columns for name, columns in make_tables(1).items() if name in ("kernels", "instructions", "blocks")
    }
    with ResumableTraceWriter(path, {"command": "test"}, (40, 6), "code", resume, workers=1) as writer:
        was = writer.notes.resumed
        begun = was.facts["next"] if was else 0
        if was is None:
            for name, columns in static.items():
                writer.put(name, columns)
        for number in range(begun, PIECES):
            for name, columns in piece(number).items():
                writer.put(name, columns)
            if number % 3 == 2:
                assert was is None or was.arrays["of"].tolist() == list(range(begun))
                writer.checkpoint({"next": number + 1}, {"of": np.arange(number + 1)})
    return begun


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, bytes], list[Path]]:
    """The bytes of a run, and copies of the disk in the middle of some of its writes."""
    folder = tmp_path_factory.mktemp("killed")
    copies: list[Path] = []
    writes = [0]

    def copying(self: HashingFile, view: memoryview) -> int:
        half = len(view) // 2
        if half:
            write_some(self, view[:half])
        writes[0] += 1
        if writes[0] % (LEAST_WRITES // POINTS) == 1:
            copies.append(folder / f"copy{len(copies)}")
            shutil.copytree(folder / "disk", copies[-1])
        return half + write_some(self, view[half:])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rayplay.formats.parquet.shards.GROUPS_PER_SHARD", 2)
        patch.setattr(HashingFile, "_write_some", copying)
        (folder / "disk").mkdir()
        write(folder / "disk" / "a.trace", resume=False)
    assert writes[0] >= LEAST_WRITES
    assert len(copies) >= POINTS
    return tree_bytes(folder / "disk" / "a.trace"), copies


def test_resume_after_a_kill_at_any_write(killed: tuple[dict[str, bytes], list[Path]], tmp_path: Path) -> None:
    whole, copies = killed
    begins = []
    for left in copies:
        copy = tmp_path / left.name
        shutil.copytree(left, copy)
        assert sorted(path.suffix for path in copy.iterdir()) in ([".partial"], [".checkpoint", ".partial"])
        begins.append(write(copy / "a.trace", resume=True))
        assert tree_bytes(copy / "a.trace") == whole
        assert [path.name for path in copy.iterdir()] == ["a.trace"]
    assert begins == sorted(begins)
    assert begins[0] < 9
    assert begins[-1] > PIECES // 2


def test_checkpoints_that_the_disk_does_not_take(killed, tmp_path: Path, monkeypatch, capsys) -> None:
    """The old checkpoint is good although files have grown since, and the run itself ends well."""
    whole, _ = killed
    save, plain, path, count = checkpoint.save_checkpoint, piece, tmp_path / "a.trace", [0]

    def full(*arguments) -> None:
        count[0] += 1
        if count[0] > 5:
            raise OSError(errno.ENOSPC, "No space left on device")
        save(*arguments)

    def stopping(number: int) -> dict[str, dict[str, np.ndarray]]:
        if number == 40:
            raise KeyboardInterrupt
        return plain(number)

    monkeypatch.setattr("rayplay.formats.place.checkpoint.save_checkpoint", full)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(f"{__name__}.piece", stopping)
        with pytest.raises(KeyboardInterrupt):
            write(path, resume=False)
    warning = f"warning: {path}: no checkpoint could be written: No space left on device; going on without"
    assert capsys.readouterr().err.splitlines() == [warning, f"{path}: --resume goes on from the last checkpoint"]
    assert write(path, resume=True) == 15
    assert capsys.readouterr().err.splitlines() == [warning]
    assert tree_bytes(path) == whole
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.trace"]


@pytest.mark.parametrize("damage", ["shorter", "other", "gone"])
def test_files_that_are_not_what_the_checkpoint_says(killed, tmp_path: Path, damage: str) -> None:
    whole, copies = killed
    shutil.copytree(copies[len(copies) // 2], tmp_path / "disk")
    path = tmp_path / "disk" / "a.trace"
    shards = sorted((tmp_path / "disk").glob(".a.trace.*.partial/visits-*.parquet"))
    content = shards[0].read_bytes()
    if damage == "shorter":
        shards[0].write_bytes(content[:-1])
    elif damage == "other":
        shards[0].write_bytes(bytes([content[0] ^ 1]) + content[1:])
    else:
        shards[0].unlink()
    with pytest.raises(OSError) as caught:
        write(path, resume=True)
    assert caught.value.errno in (errno.EIO, errno.ENOENT)
    assert write(path, resume=True) == 0
    assert tree_bytes(path) == whole
    assert [entry.name for entry in path.parent.iterdir()] == ["a.trace"]
