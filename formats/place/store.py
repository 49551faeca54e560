"""Publish a folder in a store: written beside the old one, switched by its manifest.

A store has no rename, and a file of it changes in one step. So tables get names that are free, the manifest that
names them comes last, and only then what it no longer names goes: a reader finds the old trace or the new one. Files
with one name (``summary.json``, pictures) change just before the manifest, and are put back when that fails.
"""

import contextlib
import json
from pathlib import Path
from typing import Any, cast

from rayplay.formats.guard.digest import file_digest
from rayplay.formats.guard.errors import FormatError
from rayplay.formats.place.location import LAST, reached
from rayplay.formats.schema.manifest import digest_of

TABLE = ".parquet"


def put_folder(partial: Path, final: Path) -> None:
    """Put the files of a local folder into the store at ``final``; others that are there go.

    Raises ``FormatError`` when the store refuses, and when the folder or bucket that is to hold ``final`` is missing;
    what stood at ``final`` stays then.
    """
    files = sorted(file for file in partial.iterdir() if file.is_file() and file.name != LAST)
    with reached(final):
        taken = _begin(final)
        names = {file.name: _free_name(file, taken) for file in files}
        kept = {name: (final / name).read_bytes() for name in names.values() if name in taken}
        try:
            for file in sorted(files, key=lambda file: file.suffix != TABLE):
                _put(file, final / names[file.name])
            _put(_renamed(partial / LAST, names), final / LAST)
        except BaseException:
            with contextlib.suppress(Exception):  # the store may refuse this as well
                _undo(final, set(names.values()) - taken, kept)
            raise
        for old in taken - {*names.values(), LAST}:
            (final / old).unlink()


def _begin(final: Path) -> set[str]:
    """Names of the files that are there; the folder is made, the bucket or folder that holds it never."""
    remote = cast(Any, final)
    if remote.fs.exists(remote.path):
        return {path.name for path in final.iterdir()}
    parent = remote.fs._parent(remote.path)
    if parent not in ("", "/", remote.fs.root_marker):
        if not remote.fs.exists(parent) and "/" not in parent.strip("/"):
            raise FormatError(f"{parent.strip('/')} must exist, but does not", file=final)
        with contextlib.suppress(FileExistsError):
            remote.fs.mkdir(remote.path, create_parents=False)
    return set()


def _free_name(file: Path, taken: set[str]) -> str:
    """A table's own name, or one that names its content where that is taken."""
    if file.suffix != TABLE or file.name not in taken:
        return file.name
    return f"{file.stem}-{file_digest(file)[:16]}{TABLE}"


def _renamed(manifest: Path, names: dict[str, str]) -> Path:
    """The manifest with the files' names in the store."""
    document = json.loads(manifest.read_text(encoding="utf-8"))
    if any(old != new for old, new in names.items()):
        for entries in document["tables"].values():
            for entry in entries:
                entry["file"] = names[entry["file"]]
        document["digest"] = digest_of(document)
        manifest.write_text(json.dumps(document, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return manifest


def _put(file: Path, target: Path) -> None:
    remote = cast(Any, target)
    remote.fs.put_file(str(file), remote.path)


def _undo(final: Path, fresh: set[str], kept: dict[str, bytes]) -> None:
    for name, content in kept.items():
        if not name.endswith(TABLE):
            (final / name).write_bytes(content)
    for name in fresh:
        (final / name).unlink(missing_ok=True)
