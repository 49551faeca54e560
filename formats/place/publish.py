"""Publish files and folders by one rename: a final name shows the old content or the complete new one."""

import ctypes
import errno
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rayplay.formats.guard.errors import FormatError
from rayplay.formats.guard.sealed import sync_folder
from rayplay.formats.place.location import is_local, put_file, stand_in
from rayplay.formats.place.locks import ASIDE, PARTIAL, Claim, companion, remove_left_overs, remove_partial
from rayplay.formats.place.store import put_folder

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


@contextmanager
def partial_folder(final: Path) -> Iterator[Path]:
    """An empty hidden folder beside ``final``, on the same file system, removed at the end unless it was published.

    What killed processes left of ``final`` is removed first.
    """
    with make_partial_folder(final) as claim:
        try:
            yield claim.path
        finally:
            remove_partial(claim.path)


def make_partial_folder(final: Path) -> Claim:
    """An empty hidden folder beside ``final``, held by this process; left-overs of ``final`` are removed first."""
    _check_parent(final)
    remove_left_overs(final)
    near = stand_in(final)
    return _held(lambda: tempfile.mkdtemp(prefix=f".{near.name}.", suffix=PARTIAL, dir=near.parent), final)


def publish_folder(partial: Path, final: Path) -> None:
    """Give the complete folder ``partial`` its name in one step, and remove what had that name."""
    if not is_local(final):
        put_folder(partial, final)
        return
    final = stand_in(final)
    partial.chmod(0o777 & ~_umask())  # until now it was the user's alone
    sync_folder(partial)
    try:
        os.rename(partial, final)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            error.filename = str(final)  # the user never heard of the hidden name
            raise
        if _exchange(partial, final):
            shutil.rmtree(partial, ignore_errors=True)
        else:
            _replace_in_two_steps(partial, final)
    sync_folder(final.parent)


@contextmanager
def atomic_file(final: Path) -> Iterator[Path]:
    """A temporary path beside ``final``; renamed to it when the block ends well, removed when it does not."""
    _check_parent(final)
    remove_left_overs(final)
    claim = _held(lambda: _empty_file(final), final)
    partial = claim.path
    try:
        yield partial
        partial.chmod(0o666 & ~_umask())
        if not is_local(final):
            put_file(partial, final)
            partial.unlink()
            return
        with open(partial, "rb") as file:
            os.fsync(file.fileno())
        os.replace(partial, stand_in(final))
        sync_folder(stand_in(final).parent)
    except BaseException as error:
        partial.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename in (None, str(partial)):
            error.filename = str(final)
        raise
    finally:
        claim.release()


def _held(make: Callable[[], str], final: Path) -> Claim:
    """Make and hold a partial file or folder; repeat when another process took it for a left-over in between.

    Where nothing can be made, the error names ``final``: the user never heard of the hidden name.
    """
    while True:
        try:
            made = Path(make())
        except OSError as error:
            error.filename = str(final)
            raise
        claim = Claim.take(made, must_lock=False)
        if claim is not None:
            return claim


def _empty_file(final: Path) -> str:
    near = stand_in(final)
    handle, name = tempfile.mkstemp(prefix=f".{near.name}.", suffix=PARTIAL, dir=near.parent)
    os.close(handle)
    return name


def _check_parent(final: Path) -> None:
    parent = stand_in(final).parent
    if is_local(final) and not parent.is_dir():
        raise FormatError(f"{final}: folder {parent} must exist, but does not")


def _exchange(first: Path, second: Path) -> bool:
    """Swap two names in one step, where the system and the file system can (Linux 3.15)."""
    renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if renameat2 is None:
        return False
    code = renameat2(_AT_FDCWD, os.fsencode(first), _AT_FDCWD, os.fsencode(second), _RENAME_EXCHANGE)
    if code == 0:
        return True
    reason = ctypes.get_errno()
    if reason in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):
        return False
    raise OSError(reason, os.strerror(reason), str(second))


def _replace_in_two_steps(partial: Path, final: Path) -> None:
    aside = companion(partial, ASIDE)
    os.rename(final, aside)
    try:
        os.rename(partial, final)
    except BaseException:
        os.rename(aside, final)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
