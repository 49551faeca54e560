"""Ownership of partial files and folders, and the left-overs of killed processes.

A process holds a lock (``flock``) on each of its partial files and folders. The system releases it when the
process ends, however it ends: an unlocked partial folder is a left-over, and may be resumed or removed.
"""

import errno
import fcntl
import os
import re
import shutil
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Self

from rayplay.formats.guard.trust import is_own
from rayplay.formats.place.location import stand_in

PARTIAL, ASIDE, CHECKPOINT = ".partial", ".old", ".checkpoint"
_HELD = (errno.EWOULDBLOCK, errno.EACCES)


class Claim(NamedTuple):
    """A partial file or folder that is this process's own."""

    path: Path
    handle: int

    @classmethod
    def take(cls, path: Path, must_lock: bool = True) -> "Claim | None":
        """Hold ``path``; None when another process does, or when it has gone.

        must_lock  False: where the file system has no locks it is held all the same, for it was just made.
        """
        try:
            handle = os.open(path, os.O_RDONLY)
        except OSError:
            return None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if must_lock or error.errno in _HELD:
                os.close(handle)
                return None
        try:
            is_there = os.stat(path).st_ino == os.fstat(handle).st_ino
        except OSError:
            is_there = False
        if is_there:
            return cls(path, handle)
        os.close(handle)
        return None

    def release(self) -> None:
        """Hold it no longer."""
        os.close(self.handle)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def companion(partial: Path, suffix: str) -> Path:
    """The path of what belongs to a partial folder: its checkpoint, or the folder that it replaces."""
    return partial.with_suffix(suffix)


def left_over(final: Path) -> list[Claim]:
    """Partial files and folders of ``final`` that no process holds any more, now held by this one, latest first."""
    final = stand_in(final)
    claims = [claim for path in _hidden(final, PARTIAL) if (claim := Claim.take(path)) is not None]
    return sorted(claims, key=lambda claim: os.fstat(claim.handle).st_mtime_ns, reverse=True)


def remove_left_overs(final: Path) -> None:
    """Remove what killed processes left of ``final``. A folder that was moved aside and not replaced gets back."""
    final = stand_in(final)
    for claim in left_over(final):
        with claim:
            remove_partial(claim.path)
    for aside in _hidden(final, ASIDE):
        if companion(aside, PARTIAL).exists():
            continue  # another process is replacing it right now
        if final.exists():
            shutil.rmtree(aside, ignore_errors=True)
        else:
            os.rename(aside, final)
    for checkpoint in _hidden(final, CHECKPOINT):
        if not companion(checkpoint, PARTIAL).exists():
            checkpoint.unlink(missing_ok=True)


def remove_partial(partial: Path) -> None:
    """Remove a partial file or folder that this process holds, and its checkpoint."""
    if partial.is_dir():
        shutil.rmtree(partial, ignore_errors=True)
    else:
        partial.unlink(missing_ok=True)
    with suppress(PermissionError):  # one that another user planted
        companion(partial, CHECKPOINT).unlink(missing_ok=True)


def _hidden(final: Path, suffix: str) -> list[Path]:
    """Hidden names that ``tempfile`` made for ``final``; not what another user planted or may write."""
    name = re.compile(rf"\.{re.escape(final.name)}\.[a-z0-9_]{{8}}{re.escape(suffix)}")
    try:
        found = [final.parent / entry for entry in sorted(os.listdir(final.parent)) if name.fullmatch(entry)]
    except OSError:
        return []
    return [path for path in found if is_own(path)]
