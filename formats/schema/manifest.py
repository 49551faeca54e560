"""``manifest.json``: which format and version a folder holds, how it was made, and every file with its digest."""

import json
import re
from collections.abc import Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rayplay.formats.guard.digest import json_digest
from rayplay.formats.guard.errors import FormatError, VersionTooNew, VersionTooOld
from rayplay.formats.guard.limits import IMAGE_PIXELS, MANIFEST_BYTES
from rayplay.formats.guard.text import parse_json, read_text
from rayplay.formats.schema.column import Format

MANIFEST = "manifest.json"
MAX_IMAGE_SIDE = 1 << 16
MOST_NESTED = 100
_FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_DIGITS = "64 lowercase hexadecimal digits"
_KEYS = ("format", "version", "provenance", "image_size", "launches", "tables", "files", "digest")


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One file of a table: its name in the folder, rows, length and SHA-256."""

    file: str
    rows: int
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """Description of a folder's content.

    format, version   name and (major, minor) of the format.
    provenance        how it was made: command, tool version, seeds, input hashes; JSON values, nothing that changes
                      from run to run.
    image_size        (width, height) of an image launch, or None.
    launches          name, stream, grid and block of each launch, in order.
    tables            the files of each table, in the order of the rows.
    files             further files of the folder and their SHA-256 (summary.json, pictures); host times are not among
                      them, because they differ from run to run.
    """

    format: str
    version: tuple[int, int]
    provenance: dict[str, Any] = field(default_factory=dict)
    image_size: tuple[int, int] | None = None
    launches: tuple[dict[str, Any], ...] = ()
    tables: dict[str, tuple[FileEntry, ...]] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)

    def rows(self, table: str) -> int:
        """Rows of the table, 0 when it is absent."""
        return sum(entry.rows for entry in self.tables.get(table, ()))

    def bytes(self, table: str) -> int:
        """Length of the table's files together."""
        return sum(entry.bytes for entry in self.tables.get(table, ()))

    def text(self) -> str:
        """The manifest as JSON, the same text for the same content, with its own digest."""
        document: dict[str, Any] = {
            "format": self.format,
            "version": list(self.version),
            "provenance": self.provenance,
            "image_size": None if self.image_size is None else list(self.image_size),
            "launches": list(self.launches),
            "tables": {
                name: [{"file": e.file, "rows": e.rows, "bytes": e.bytes, "sha256": e.sha256} for e in entries]
                for name, entries in self.tables.items()
            },
        }
        if self.files:
            document["files"] = self.files
        document["digest"] = digest_of(document)
        return json.dumps(document, indent=1, sort_keys=True, allow_nan=False) + "\n"


def digest_of(document: dict[str, Any]) -> str:
    """Digest of a manifest without its ``digest``."""
    return json_digest({key: value for key, value in document.items() if key != "digest"})


def is_shallow(value: Any) -> bool:
    """Whether lists and objects nest at most ``MOST_NESTED`` deep."""
    level = [value]
    for _ in range(MOST_NESTED + 1):
        held = [item for item in level if isinstance(item, (dict, list))]
        level = [inner for item in held for inner in (item.values() if isinstance(item, dict) else item)]
        if not level:
            return True
    return False


def read_manifest(folder: Path, expected: Format) -> Manifest:
    """The manifest of a folder; ``FormatError`` (or one of its versions) when it is missing, damaged or foreign."""
    path = folder / MANIFEST
    if not path.is_file():
        raise FormatError(f"must be a {expected.name}, but {without_manifest(folder)}", file=folder)
    return parse_manifest(read_text(path, "manifest", MANIFEST_BYTES), str(path), expected)


def without_manifest(folder: Path) -> str:
    """Description of a path that is no folder with a manifest, for messages."""
    if folder.is_dir():
        return f"it has no {MANIFEST}"
    return "it is a file, not a folder" if folder.exists() else "there is no such folder"


def format_of(folder: Path) -> str | None:
    """Name of the format that a folder's manifest gives; None when there is no manifest to be read."""
    name = _document(folder).get("format")
    return name if isinstance(name, str) else None


def check_label(expected: Format, name: str | None, version: str | None, file: Path) -> None:
    """``FormatError`` when a file's own ``name`` or ``version`` ("major.minor"), if it has any, is not the format's."""
    major = str(expected.version[0])
    if name is not None and name != expected.name:
        raise FormatError(f"must be a file of a {expected.name}, not of {name[:100]!r}", file=file)
    if version is not None and version.partition(".")[0] != major:
        raise FormatError(f"version must be {major}.x, not {version[:100]!r}", file=file)


def strangers(folder: Path, others: Set[str]) -> list[str]:
    """Files of a folder that its manifest, of any version, does not list; ``others`` are allowed as well."""
    document = _document(folder)
    tables, files = (each if isinstance(each := document.get(key), dict) else {} for key in ("tables", "files"))
    entries = [entry for listed in tables.values() if isinstance(listed, list) for entry in listed]
    shards = {str(entry.get("file")) for entry in entries if isinstance(entry, dict)}
    ours = {MANIFEST, *others, *files, *shards}
    return sorted(path.name for path in folder.iterdir() if path.name not in ours)


def _document(folder: Path) -> dict[str, Any]:
    """A folder's manifest, unchecked; empty when it is missing or unreadable."""
    try:
        document = parse_json(read_text(folder / MANIFEST, "manifest", MANIFEST_BYTES), folder)
    except FormatError:
        return {}
    return document if isinstance(document, dict) else {}


def parse_manifest(text: str, place: str, expected: Format) -> Manifest:
    """The manifest in ``text``; ``place`` names it in errors."""
    raw = parse_json(text, place)
    _require(isinstance(raw, dict), place, "must be a JSON object")
    _require(is_shallow(raw), place, f"values must nest at most {MOST_NESTED} deep")
    version = _check_version(raw, place, expected)
    _check_content(raw, place, newer=version[1] > expected.version[1])
    provenance, launches = raw.get("provenance", {}), raw.get("launches", [])
    _require(isinstance(provenance, dict), place, "provenance must be an object")
    _require(isinstance(launches, list), place, "launches must be a list")
    tables = _tables(raw.get("tables"), place, expected, version)
    files = _files(raw.get("files", {}), place)
    return Manifest(expected.name, version, provenance, _image_size(raw, place), tuple(launches), tables, files)


def _check_content(raw: dict[str, Any], place: str, newer: bool) -> None:
    """The keys are known ones, and the digest, which may be left out, fits."""
    strange = sorted(set(raw) - set(_KEYS))
    _require(newer or not strange, place, f"keys must be of {', '.join(_KEYS)}, not {', '.join(strange)[:200]}")
    if "digest" in raw:
        wanted, found = digest_of(raw), raw["digest"]
        message = f"digest must be {wanted}, not {_brief(found)}; leave digest out when editing by hand"
        _require(found == wanted, place, message)


def _files(raw: Any, place: str) -> dict[str, str]:
    _require(isinstance(raw, dict), place, "files must be an object")
    for name, digest in raw.items():
        confined = _FILE_NAME.fullmatch(name) is not None
        _require(confined, place, f"files must have plain names in this folder, not {name[:200]!r}")
        known = isinstance(digest, str) and _DIGEST.fullmatch(digest) is not None
        _require(known, place, f"SHA-256 of {name} must be {_DIGITS}, not {_brief(digest)}")
    return raw


def _check_version(raw: dict[str, Any], place: str, expected: Format) -> tuple[int, int]:
    _require(raw.get("format") == expected.name, place, f"format must be {expected.name!r}, not {raw.get('format')!r}")
    version = raw.get("version")
    pair = isinstance(version, list) and len(version) == 2 and all(_is_count(v) for v in version)
    _require(pair, place, f"version must be two numbers, not {version!r}")
    major, minor = version  # type: ignore[misc]
    known = expected.version[0]
    if major > known:
        raise VersionTooNew(f"{place}: version must be {known}.x, not {major}.{minor}: a newer Rayplay reads it")
    if major < known:
        raise VersionTooOld(f"{place}: version must be {known}.x, not {major}.{minor}: write it again")
    return major, minor


def _image_size(raw: dict[str, Any], place: str) -> tuple[int, int] | None:
    size = raw.get("image_size")
    if size is None:
        return None
    pair = isinstance(size, list) and len(size) == 2 and all(_is_count(v) and 0 < v <= MAX_IMAGE_SIDE for v in size)
    _require(pair, place, f"image_size must be null or [width, height] up to {MAX_IMAGE_SIDE}, not {_brief(size)}")
    IMAGE_PIXELS.check(size[0] * size[1], "image_size", file=place)
    return size[0], size[1]


def _tables(raw: Any, place: str, expected: Format, version: tuple[int, int]) -> dict[str, tuple[FileEntry, ...]]:
    _require(isinstance(raw, dict), place, "tables must be an object")
    known = {table.name: table for table in expected.tables}
    if version[1] <= expected.version[1]:
        strange = sorted(set(raw) - set(known))
        message = f"table {', '.join(strange)} is unknown; tables are {', '.join(known)}"
        _require(not strange, place, message)
    needed = [name for name, table in known.items() if not table.optional]
    missing = [name for name in needed if name not in raw]
    message = f"table {', '.join(missing)} is missing; a {expected.name} has at least {', '.join(needed)}"
    _require(not missing, place, message)
    return {name: _entries(raw[name], place, name) for name in known if name in raw}


def _entries(raw: Any, place: str, table: str) -> tuple[FileEntry, ...]:
    _require(isinstance(raw, list), place, f"files of table {table} must be a list")
    return tuple(_entry(item, f"{place}: table {table}, file {number}") for number, item in enumerate(raw))


def _entry(raw: Any, place: str) -> FileEntry:
    _require(isinstance(raw, dict), place, "must be an object")
    name, rows, length, digest = (raw.get(key) for key in ("file", "rows", "bytes", "sha256"))
    confined = isinstance(name, str) and _FILE_NAME.fullmatch(name) is not None
    _require(confined, place, f"file must be the plain name of a file in this folder, not {name!r}")
    _require(_is_count(rows), place, f"rows must be a count, not {rows!r}")
    _require(_is_count(length), place, f"bytes must be a count, not {length!r}")
    known = isinstance(digest, str) and _DIGEST.fullmatch(digest) is not None
    _require(known, place, f"sha256 must be {_DIGITS}, not {_brief(digest)}")
    return FileEntry(name, rows, length, digest)


def _brief(value: Any) -> str:
    """The start of any value of a document, as Python writes it."""
    return repr(value)[:200]


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63


def _require(condition: bool, place: str, message: str) -> None:
    if not condition:
        raise FormatError(message, file=place)
