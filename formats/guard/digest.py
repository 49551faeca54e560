"""SHA-256 in hexadecimal: of bytes, texts, JSON values, files and Python sources."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PACKAGES = Path(__file__).parents[2]  # the folder of all packages


def bytes_digest(data: bytes) -> str:
    """Digest of bytes."""
    return hashlib.sha256(data).hexdigest()


def text_digest(text: str) -> str:
    """Digest of a text in UTF-8."""
    return bytes_digest(text.encode())


def canonical(value: Any) -> str:
    """JSON with sorted keys and no white space; ``TypeError`` for a value outside JSON."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def json_digest(value: Any) -> str:
    """Digest of a value's canonical JSON."""
    return text_digest(canonical(value))


def file_digest(path: Path) -> str:
    """Digest of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def source_digest(sources: Sequence[str], root: Path = PACKAGES) -> str:
    """Digest of Python sources below ``root``: files, and folders with their sub-folders.

    Raises ``FileNotFoundError`` for a name that stands for nothing.
    """
    digest = hashlib.sha256()
    for source in sources:
        path = root / source
        found = [path] if path.is_file() else sorted(path.rglob("*.py"))
        if not found:
            raise FileNotFoundError(f"{path}: no Python sources")
        for file in found:
            digest.update(str(file.relative_to(root)).encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()
