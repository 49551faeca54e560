"""A checkpoint is only a help: a disk that does not take one costs a warning, not the run."""

import errno
import os
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rayplay.formats.place import checkpoint
from rayplay.formats.place.checkpoint import Checkpoints, load_checkpoint


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
