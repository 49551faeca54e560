"""The medium of a store: a folder of this machine or a network, or a bucket that fsspec knows, with the same few verbs.

Each verb is whole or nothing: a name shows the old content or the new one. A folder publishes by a rename after
``fsync``; an object store puts whole objects, and what it refuses is tried again.
"""

import errno
import os
import shutil
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from stat import S_ISREG
from typing import Any, Protocol, TypeVar, cast

from rayplay.formats.guard.errors import FormatError, UserError, reason_of
from rayplay.formats.place.location import is_local, location
from rayplay.sweep.store.entry import RESULT
from rayplay.sweep.store.steps import reached

MOST_BYTES = 1 << 29
"""Of a file of a store: a plan of a million points has half of it at most."""
TRIES, FIRST_WAIT_SECONDS = 5, 0.1
Answer = TypeVar("Answer")


class Medium(Protocol):
    """The verbs. Names are relative, with ``/``."""

    def names(self, folder: str) -> list[str]:
        """Names in a folder, in no order; none where it is missing."""

    def read(self, name: str) -> bytes | None:
        """Content; None where it is missing."""

    def write(self, name: str, content: bytes) -> None:
        """Put content under a name, replacing earlier content."""

    def create(self, name: str, content: bytes) -> bool:
        """Put content under a name that must be free; False where it is taken."""

    def remove(self, name: str) -> None:
        """Remove a file, or a folder with all in it; nothing where it is missing."""

    def age_seconds(self, name: str) -> float | None:
        """Seconds since the last write, by the store's own clock; None where it is missing."""

    def publish(self, key: str, files: dict[str, bytes], beside: Path | None) -> bool:
        """Make ``results/KEY`` of files, and of a folder beside them; False where the name is taken."""


def medium(place: str) -> "Medium":
    """The medium of a folder or a URL; ``UserError`` where it is a file, or cannot be reached."""
    path = location(place)
    return Folder(path) if is_local(path) else Bucket(path)


class Folder:
    """A folder of a file system."""

    def __init__(self, root: Path) -> None:
        if root.exists() and not root.is_dir():
            raise UserError(f"--store {root}: must be a folder, but is a file")
        self.root = root
        self._made: set[Path] = set()

    def names(self, folder: str) -> list[str]:
        """As ``Medium``."""
        try:
            return os.listdir(self.root / folder)
        except FileNotFoundError:
            return []

    def read(self, name: str) -> bytes | None:
        """As ``Medium``. ``UserError`` for a device or pipe, and for more than ``MOST_BYTES``."""
        path = self.root / name
        try:
            found = path.stat()
            if not S_ISREG(found.st_mode):
                raise UserError(f"{path}: must be a file, and is none")
            if found.st_size > MOST_BYTES:
                raise UserError(f"{path}: must have at most {MOST_BYTES:,} bytes, found {found.st_size:,}")
            return path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def write(self, name: str, content: bytes) -> None:
        """As ``Medium``."""
        path = self._path(name)
        fresh = self._path(f"tmp/{path.name}.{uuid.uuid4().hex}")
        try:
            _synced(fresh, content)
            os.replace(fresh, path)
        except OSError as error:
            fresh.unlink(missing_ok=True)
            raise _named(error, path) from None

    def create(self, name: str, content: bytes) -> bool:
        """As ``Medium``."""
        path = self._path(name)
        fresh = self._path(f"tmp/{path.name}.{uuid.uuid4().hex}")
        try:
            fresh.write_bytes(content)
            os.link(fresh, path)  # whole and exclusive in one step, on network file systems as well
        except FileExistsError:
            return False
        except OSError as error:
            raise _named(error, path) from None
        finally:
            fresh.unlink(missing_ok=True)
        return True

    def remove(self, name: str) -> None:
        """As ``Medium``."""
        path = self.root / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)

    def age_seconds(self, name: str) -> float | None:
        """As ``Medium``."""
        try:
            written = (self.root / name).stat().st_mtime
        except FileNotFoundError:
            return None
        clock = self._path(f"tmp/clock.{uuid.uuid4().hex}")
        clock.write_bytes(b"")  # the server's clock, not this machine's
        now = clock.stat().st_mtime
        clock.unlink(missing_ok=True)
        return now - written

    def publish(self, key: str, files: dict[str, bytes], beside: Path | None) -> bool:
        """As ``Medium``.

        The result alone is synced, last: each sync costs a worker 2 to 6 ms of idling. What a power cut may take of the
        rest, a name or the times of the run, makes a point run again or leaves its times unknown, no more.
        """
        final = self._path(f"results/{key}")
        partial = self._path(f"tmp/{key}.{uuid.uuid4().hex}")
        try:
            reached("writing", key)
            partial.mkdir()
            for name, content in files.items():
                if name != RESULT:
                    (partial / name).write_bytes(content)
            if beside is not None:
                os.rename(beside, partial / beside.name)
            reached("written", key)
            _synced(partial / RESULT, files[RESULT])
            reached("synced", key)
            os.rename(partial, final)
        except OSError as error:
            shutil.rmtree(partial, ignore_errors=True)
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                return False
            raise _named(error, final) from None
        reached("renamed", key)
        return True

    def _path(self, name: str) -> Path:
        path = self.root / name
        if path.parent not in self._made:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise _named(error, path.parent) from None
            self._made.add(path.parent)
        return path


class Bucket:
    """A store of objects that fsspec knows."""

    def __init__(self, root: Path) -> None:
        self.root = cast(Any, root)
        self.fs = self.root.fs
        self._at = str(self.root.path).rstrip("/")

    def names(self, folder: str) -> list[str]:
        """As ``Medium``."""
        found = self._tried(folder, lambda: self._listed(folder))
        return [each.rstrip("/").rpartition("/")[2] for each in found]

    def read(self, name: str) -> bytes | None:
        """As ``Medium``."""
        return self._tried(name, lambda: self._read(name))

    def write(self, name: str, content: bytes) -> None:
        """As ``Medium``."""
        self._tried(name, lambda: self.fs.pipe_file(f"{self._at}/{name}", content))

    def create(self, name: str, content: bytes) -> bool:
        """As ``Medium``; where the store has no exclusive put, a look before it, and a look after it."""
        path = f"{self._at}/{name}"
        try:
            self._tried(name, lambda: self.fs.pipe_file(path, content, mode="create"))
        except FileExistsError:
            return self._read(name) == content  # ours, when a try that seemed to fail had arrived
        return True

    def remove(self, name: str) -> None:
        """As ``Medium``."""

        def gone() -> None:
            path = f"{self._at}/{name}"
            self.fs.invalidate_cache()
            if self.fs.exists(path):
                self.fs.rm(path, recursive=True)

        self._tried(name, gone)

    def age_seconds(self, name: str) -> float | None:
        """As ``Medium``."""
        clock = f"tmp/clock.{uuid.uuid4().hex}"
        self.write(clock, b".")
        try:
            now = self._tried(clock, lambda: self._written(clock))
            then = self._tried(name, lambda: self._written(name))
        finally:
            self.remove(clock)
        return None if then is None or now is None else now - then

    def publish(self, key: str, files: dict[str, bytes], beside: Path | None) -> bool:
        """As ``Medium``: ``result.json``, whose digest makes the result complete, comes last."""
        reached("writing", key)
        if self.read(f"results/{key}/{RESULT}") is not None:
            return False
        if beside is not None:
            target = f"{self._at}/results/{key}/{beside.name}"
            self._tried(key, lambda: self.fs.put(str(beside), target, recursive=True))
        for name, content in sorted(files.items(), key=lambda item: item[0] == RESULT):
            reached("written" if name == RESULT else "writing", key)
            self.write(f"results/{key}/{name}", content)
        reached("renamed", key)
        return True

    def _listed(self, folder: str) -> list[str]:
        self.fs.invalidate_cache()
        try:
            return list(self.fs.ls(f"{self._at}/{folder}", detail=False))
        except FileNotFoundError:
            return []

    def _read(self, name: str) -> bytes | None:
        self.fs.invalidate_cache()
        try:
            return cast(bytes, self.fs.cat_file(f"{self._at}/{name}"))
        except FileNotFoundError:
            return None

    def _written(self, name: str) -> float | None:
        self.fs.invalidate_cache()
        try:
            return float(self.fs.modified(f"{self._at}/{name}").timestamp())
        except FileNotFoundError:
            return None

    def _tried(self, name: str, ask: Callable[[], Answer]) -> Answer:
        """Answer of the store; asked again after a pause while it refuses, and then a ``FormatError``."""
        for wait in (*_waits(), None):
            try:
                return ask()
            except (FileExistsError, UserError):
                raise
            except Exception as error:
                if wait is None or isinstance(error, (PermissionError, TypeError)):
                    reason = f"the store refuses: {type(error).__name__}: {reason_of(error)}"
                    raise FormatError(reason, file=f"{self.root}/{name}") from None
                time.sleep(wait)
        raise AssertionError


def _waits() -> Iterator[float]:
    for number in range(TRIES - 1):
        yield FIRST_WAIT_SECONDS * 2**number


def _synced(path: Path, content: bytes) -> None:
    with open(path, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _named(error: OSError, path: Path) -> OSError:
    """The error with a name that the user knows."""
    return OSError(error.errno, error.strerror or str(error), str(path))
