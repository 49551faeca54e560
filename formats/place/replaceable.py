"""Rules of replacement: a folder of a format replaces one of the same format, and no user's file is lost."""

import re
from collections.abc import Set
from pathlib import Path

from rayplay.formats.guard.errors import FormatError
from rayplay.formats.place.location import is_local, reached
from rayplay.formats.schema.column import Format
from rayplay.formats.schema.manifest import format_of, strangers

HOST_TIMES = frozenset({"host.json"})
NAMES = (
    ".trace",
    ".result",
    ".prediction",
    ".profile",
    ".energy",
    ".h5",
    ".hdf5",
)  # the last two: written by convert, as files
_UNLISTED = {"rayplay result": {"summary.json"}}  # version 1.0 listed tables only
_NAMED = 3


def check_replaceable(path: Path, layout: Format, times: Set[str] = HOST_TIMES) -> None:
    """``FormatError`` when ``path`` is not a folder of the format, or holds foreign files.

    ``path`` must not have the suffix of another format, which would mislead verbs.

    times  files of the format that its manifest does not list.
    """
    with reached(path):
        if path.exists() and format_of(path) != layout.name and not _was_interrupted(path, layout):
            raise FormatError(f"{path}: must be absent or an earlier {layout.name}, and is neither: not replaced")
    kind = layout.name.split()[-1]
    if path.suffix in NAMES and path.suffix != f".{kind}":
        raise FormatError(f"{path}: must be a name of a {kind}, such as {path.stem}.{kind}, but ends in {path.suffix}")
    with reached(path):
        if format_of(path) is not None:
            found = strangers(path, times | _UNLISTED.get(layout.name, set()))
            if not is_local(path):  # what a killed run put beside
                found = [name for name in found if not _shard_of(layout).fullmatch(name)]
            refuse_strangers(path, found, f"a {layout.name}")


def refuse_strangers(path: Path, found: list[str], what: str) -> None:
    """``FormatError`` that names some of ``found``, if any."""
    if found:
        more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
        verb = "is" if len(found) == 1 else "are"
        raise FormatError(f"{path}: holds {', '.join(found[:_NAMED])}{more}, which {verb} not of {what}: not replaced")


def _was_interrupted(path: Path, layout: Format) -> bool:
    """Whether a folder of a store is empty or holds tables of the format: a run was killed while it put them."""
    if is_local(path) or not path.is_dir():
        return False
    names = [file.name for file in path.iterdir()]
    return not names or any(_shard_of(layout).fullmatch(name) for name in names)


def _shard_of(layout: Format) -> re.Pattern[str]:
    """Names of tables, with or without the digest that a store's have."""
    return re.compile(rf"({'|'.join(table.name for table in layout.tables)})-\d{{5}}(-[0-9a-f]{{16}})?\.parquet")
