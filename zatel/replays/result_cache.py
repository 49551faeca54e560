"""Content-addressed store of results: equal inputs and equal code are computed once.

A store is a folder with one JSON file per entry, named by the SHA-256 of its key. The file holds the key and a
digest beside the value, so ``jq`` or pandas can search a study. An entry is published whole or not at all, so several
processes of a user may share a store and an interrupted study resumes.
"""

import json
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, cast

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.guard.digest import canonical, file_digest, json_digest, source_digest, text_digest
from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.limits import LIST_BYTES
from rayplay.formats.guard.text import parse_json, read_text
from rayplay.formats.guard.trust import is_own
from rayplay.formats.place.publish import atomic_file
from rayplay.replay.layers import RESULTS

CODE = (*RESULTS, "formats/edit")  # sources that decide the outcome of a replay of some pixels


class Store:
    """A folder of JSON values by JSON keys; ``UserError`` when ``folder`` is a file."""

    def __init__(self, folder: Path) -> None:
        if folder.exists() and not folder.is_dir():
            raise UserError(f"{folder}: the store must be a folder, but is a file")
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder

    def get(self, key: Mapping[str, Any]) -> dict[str, Any] | None:
        """Value of ``key``; ``None`` when it is missing or, after a line, changed, or others may write it."""
        text = canonical(key)
        path = self._path(text)
        if not path.exists():
            return None
        try:
            entry = parse_json(read_text(path, limit=LIST_BYTES), path)
            if is_own(path) and canonical(entry["key"]) == text and json_digest(entry["value"]) == entry["sha256"]:
                return cast(dict[str, Any], entry["value"])
        except (UserError, KeyError, TypeError):
            pass
        print(f"warning: {path}: is damaged, or others may write it; it is made again", file=sys.stderr)
        return None

    def put(self, key: Mapping[str, Any], value: dict[str, Any]) -> None:
        """Store ``value``, JSON, under ``key``, replacing an earlier value."""
        path = self._path(canonical(key))
        path.parent.mkdir(exist_ok=True)
        with atomic_file(path) as partial:
            entry = {"key": key, "sha256": json_digest(value), "value": value}
            partial.write_text(json.dumps(entry, sort_keys=True) + "\n", encoding="utf-8")

    def _path(self, text: str) -> Path:
        digest = text_digest(text)
        return self.folder / digest[:2] / f"{digest}.json"


def trace_identity(trace: Trace) -> str:
    """Digest of a trace's content, from the digests of its tables; name and provenance do not matter."""
    manifest = trace.manifest
    if trace.path.is_file():  # HDF5: one file
        return file_digest(trace.path)
    tables = {name: [entry.sha256 for entry in entries] for name, entries in manifest.tables.items()}
    return json_digest({"tables": tables, "launches": manifest.launches, "size": manifest.image_size})


@cache
def engine_identity() -> str:
    """Digest of the sources that decide cycles: any edit invalidates every stored replay."""
    return source_digest(CODE)
