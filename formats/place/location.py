"""Locations of traces and results: folders of this machine, or a store known to fsspec, ``s3://bucket/NAME.trace``.

A store has no rename. Output is made in a hidden local folder first, and published as ``formats.place.store`` says.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from rayplay.formats.guard.digest import text_digest
from rayplay.formats.guard.errors import FormatError, UserError, reason_of
from rayplay.formats.guard.trust import own_folder, state_root

SPARSE_BLOCK_BYTES = 1 << 16
LAST = "manifest.json"


def location(given: Path | str) -> Path:
    """The path that ``given`` names: a ``Path``, or, for ``SCHEME://...``, what universal_pathlib gives in its place.

    Raises ``FormatError`` for a scheme that fsspec does not know or whose library is not installed.
    """
    if not isinstance(given, str) or "://" not in given:
        return Path(given) if isinstance(given, str) else given
    import fsspec
    from upath import UPath

    if given.startswith("file://"):
        return Path(fsspec.core.strip_protocol(given))
    try:
        path = UPath(given)
        path.fs  # noqa: B018 - made now, so that a missing library is reported now
    except Exception as error:
        raise FormatError(f"cannot be reached: {type(error).__name__}: {reason_of(error)}", file=given) from None
    return cast(Path, path)


def is_local(path: Path) -> bool:
    """Whether the path is one of this machine."""
    return isinstance(path, Path)


def stand_in(final: Path) -> Path:
    """The local path beside which the partial folder of ``final`` is made: its own, or one in the user's state folder.

    Of a symbolic link it is what the link names: that is replaced, and the link stays.
    """
    if is_local(final):
        return Path(os.path.realpath(final)) if final.is_symlink() else final
    digest = text_digest(str(final))[:16]
    return own_folder(state_root()) / f"{digest}-{final.name}"


def open_binary(path: Path) -> BinaryIO:
    """A file open for reading here and there in it."""
    return cast(BinaryIO, path.open("rb") if is_local(path) else path.open("rb", block_size=SPARSE_BLOCK_BYTES))  # type: ignore[call-overload]


def readable(path: Path) -> Any:
    """Input for Arrow: the path of a local file, which it opens itself, or an open file of the store."""
    return path if is_local(path) else path.open("rb")


@contextmanager
def reached(path: Path) -> Iterator[None]:
    """Whatever goes wrong in a store is a ``FormatError`` that names ``path``; local errors pass."""
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        if is_local(path):
            raise
        raise FormatError(f"the store refuses: {type(error).__name__}: {reason_of(error)}", file=path) from None


def put_file(partial: Path, final: Path) -> None:
    """Put a local file into the store at ``final``."""
    remote = cast(Any, final)
    with reached(final):
        remote.fs.put_file(str(partial), remote.path)
