"""A checkpoint is only a help: a disk that does not take one costs a warning, not the run."""

import errno
import json
import os
import random
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rayplay.formats.guard.errors import FormatError
from rayplay.formats.place import checkpoint
from rayplay.formats.place.checkpoint import Checkpoints, load_checkpoint, save_checkpoint, take_back
from rayplay.formats.place.location import location
from rayplay.formats.place.locks import CHECKPOINT, companion


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """Limit the size of files, as on a full disk."""
    ignored, (soft, hard) = signal.signal(signal.SIGXFSZ, signal.SIG_IGN), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, ignored)


def standing(number: int) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Arguments of ``save``: about 80 KB."""
    return {"next": number}, {"rows": np.full(10_000, number), "names": np.array(["a", "bc"], object)}


@pytest.mark.parametrize("size", [0, 1, 100, 4_096, 40_000, 80_000])
def test_a_full_disk_keeps_the_old_checkpoint(tmp_path: Path, capsys: pytest.CaptureFixture[str], size: int) -> None:
    final = tmp_path / "a.result"
    with Checkpoints(final, "same", False, 0.0) as notes:
        notes.save(*standing(1))
        with files_of_at_most(size):
            notes.save(*standing(2))
            notes.save(*standing(3))
        assert list(notes.folder.iterdir()) == []  # the folder is published: nothing half-written may be in it
        kept = load_checkpoint(notes.folder)
        assert kept is not None
        assert kept.facts["next"] == 1
        notes.save(*standing(4))
        later = load_checkpoint(notes.folder)
        assert later is not None
        assert later.facts["next"] == 4
    reason = os.strerror(errno.EFBIG)
    assert capsys.readouterr().err == f"warning: {final}: no checkpoint could be written: {reason}; going on without\n"
    assert list(tmp_path.iterdir()) == []


def test_a_checkpoint_that_failed_is_not_tried_again_at_once(tmp_path: Path, capsys, monkeypatch) -> None:
    def full(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(checkpoint.os, "replace", full)
    with Checkpoints(tmp_path / "a.result", "same", False, 1000.0) as notes:
        monkeypatch.setattr(notes, "_since", notes._since - 2000.0)
        assert notes.are_due
        notes.save(*standing(1))
        assert not notes.are_due
    assert "no checkpoint could be written: No space left on device; going on without" in capsys.readouterr().err


def test_ctrl_c_while_a_checkpoint_is_written_is_heard(tmp_path: Path, capsys, monkeypatch) -> None:
    final = tmp_path / "a.result"

    def interrupted(*arguments: object, **named: object) -> None:
        raise KeyboardInterrupt

    def run() -> None:
        with Checkpoints(final, "same", False, 0.0) as notes:
            notes.save(*standing(1))
            monkeypatch.setattr(np, "savez", interrupted)
            notes.save(*standing(2))

    with pytest.raises(KeyboardInterrupt):
        run()
    assert capsys.readouterr().err == f"{final}: --resume goes on from the last checkpoint\n"


def kept(folder: Path) -> tuple[Path, Path]:
    """A partial folder with a checkpoint, and the checkpoint's path."""
    partial = folder / ".a.result.abcdefgh.partial"
    partial.mkdir(mode=0o700)
    facts, arrays = standing(1)
    save_checkpoint(partial, facts, {"rows": arrays["rows"][:100], "names": arrays["names"]})
    return partial, companion(partial, CHECKPOINT)


def test_no_flipped_bit_and_no_cut_of_a_checkpoint_is_taken(tmp_path: Path) -> None:
    partial, path = kept(tmp_path)
    rng, whole = random.Random(1), path.read_bytes()
    for _ in range(300):
        changed = bytearray(whole)
        changed[rng.randrange(len(whole))] ^= 1 << rng.randrange(8)
        path.write_bytes(changed)
        assert load_checkpoint(partial) is None
    for size in (0, 1, 31, 32, 33, len(whole) - 33, len(whole) - 1):
        path.write_bytes(whole[:size])
        assert load_checkpoint(partial) is None
    path.write_bytes(whole)
    assert load_checkpoint(partial) is not None


@pytest.mark.parametrize("planted", ["partial", "checkpoint"])
@pytest.mark.parametrize("how", ["foreign", "open", "link"])
def test_what_another_user_planted_is_not_resumed(tmp_path: Path, planted: str, how: str) -> None:
    """A folder of theirs stays as it lies."""
    partial, path = kept(tmp_path)
    given = partial if planted == "partial" else path
    if how == "open":
        given.chmod(0o777)
    elif how == "link":
        given.rename(tmp_path / "elsewhere")
        given.symlink_to(tmp_path / "elsewhere")
    elif os.geteuid():
        pytest.skip("only root gives files away")
    else:
        os.chown(given, 12345, 12345)
    with Checkpoints(tmp_path / "a.result", json.loads("null"), True, 0.0) as notes:
        assert notes.resumed is None
    assert given.is_symlink() or given.exists() or planted == "checkpoint"


def test_the_partial_output_of_a_store_lies_in_a_folder_of_the_user(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    remote = location("memory://bucket/a.result")
    with Checkpoints(remote, "same", False, 0.0) as notes:
        assert notes.folder.parent == tmp_path / "state" / "rayplay"
    (tmp_path / "state").chmod(0o777)
    with pytest.raises(PermissionError, match="others may write in it"):
        Checkpoints(remote, "same", True, 0.0).__enter__()


@pytest.mark.parametrize(("shape", "dtype"), [((3,), "i8"), ((4, 1), "i8"), ((4,), "i4"), ((), "i8")])
def test_an_array_of_another_shape_is_refused(shape: tuple[int, ...], dtype: str) -> None:
    array = np.ones(4, np.int64)
    with pytest.raises(FormatError, match=r"^checkpoint: rows must be int64\[4\], but is "):
        take_back(array, np.zeros(shape, dtype), "rows")
    assert array.tolist() == [1, 1, 1, 1]
