"""Results kept by content: what was computed once for the same inputs and the same code is never computed again.

A store is a folder with one JSON file per entry, named by the SHA-256 of its key; the key stands in the file beside
the value, so that ``jq`` or pandas can look through a study. An entry appears whole or not at all, so any number of
processes may use one store, and an interrupted study continues.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.guard.code_cache import source_digest
from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.limits import LIST_BYTES
from rayplay.formats.guard.text import parse_json, read_text
from rayplay.formats.place.publish import atomic_file
from rayplay.replay import RESULTS

CODE = (*RESULTS, "formats/edit")  # the sources that decide what a replay of some pixels says


class Store:
    """A folder of JSON values by JSON keys; ``UserError`` when ``folder`` is a file."""

    def __init__(self, folder: Path) -> None:
        if folder.exists() and not folder.is_dir():
            raise UserError(f"{folder}: the store must be a folder, but is a file")
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder

    def get(self, key: Mapping[str, Any]) -> dict[str, Any] | None:
        """The value of ``key``, or ``None`` when there is none, or its file is damaged."""
        text = canonical(key)
        try:
            entry = parse_json(read_text(self._path(text), limit=LIST_BYTES), self._path(text))
        except UserError:
            return None
        is_whole = isinstance(entry, dict) and "value" in entry and canonical(entry.get("key", {})) == text
        return entry["value"] if is_whole else None

    def put(self, key: Mapping[str, Any], value: dict[str, Any]) -> None:
        """Keep ``value``, JSON, under ``key``; what was there before is replaced."""
        path = self._path(canonical(key))
        path.parent.mkdir(exist_ok=True)
        with atomic_file(path) as partial:
            partial.write_text(json.dumps({"key": key, "value": value}, sort_keys=True) + "\n", encoding="utf-8")

    def get_or_make(self, key: Mapping[str, Any], make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """The value of ``key``; made, and kept, when there is none."""
        value = self.get(key)
        if value is None:
            value = make()
            self.put(key, value)
        return value

    def _path(self, text: str) -> Path:
        digest = hashlib.sha256(text.encode()).hexdigest()
        return self.folder / digest[:2] / f"{digest}.json"


def canonical(key: Mapping[str, Any]) -> str:
    """The key as JSON, one text for one content; ``TypeError`` or ``ValueError`` for what JSON cannot say."""
    return json.dumps(key, sort_keys=True, separators=(",", ":"), allow_nan=False)


def trace_identity(trace: Trace) -> str:
    """64 digits for the content of a trace, whatever its name and however it was made: the digests of its tables."""
    manifest = trace.manifest
    if trace.path.is_file():  # HDF5: one file
        with open(trace.path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    tables = {name: [entry.sha256 for entry in entries] for name, entries in manifest.tables.items()}
    content = {"tables": tables, "launches": manifest.launches, "size": manifest.image_size}
    return hashlib.sha256(canonical(content).encode()).hexdigest()


@cache
def engine_identity() -> str:
    """64 digits for the source text that decides cycles: an edit anywhere in it makes every replay new."""
    return source_digest(CODE)
