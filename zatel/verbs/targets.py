"""Checks of a verb's output file, before any work: writable, and no file of another kind."""

import os
from collections.abc import Set
from pathlib import Path

from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.limits import LIST_BYTES
from rayplay.formats.guard.text import parse_json, read_text

PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def check_json_target(path: Path | None, keys: Set[str], verb: str) -> None:
    """``UserError`` unless ``path``, if any, is a new .json file or one with the ``keys`` that ``verb`` writes."""
    if path is None:
        return
    _check_place(path, ".json")
    if path.exists() and not _has_keys(path, keys):
        raise UserError(f"--out {path}: must be a new file or one that zatel {verb} wrote, but holds something else")


def check_png_target(path: Path) -> None:
    """``UserError`` unless ``path`` is a new .png file or a PNG."""
    _check_place(path, ".png")
    if path.exists():
        with open(path, "rb") as file:
            if file.read(len(PNG_SIGNATURE)) != PNG_SIGNATURE:
                raise UserError(f"--out {path}: must be a new file or a PNG, but holds something else")


def _check_place(path: Path, suffix: str) -> None:
    if path.suffix != suffix:
        raise UserError(f"--out {path}: must end in {suffix}")
    if path.exists() and not path.is_file():
        raise UserError(f"--out {path}: must be a file, but is {'a folder' if path.is_dir() else 'something else'}")
    if not path.parent.is_dir():
        raise UserError(f"--out {path}: folder {path.parent} must exist, but does not")
    if not os.access(path.parent, os.W_OK):
        raise UserError(f"--out {path}: folder {path.parent} must be writable, but is not")


def _has_keys(path: Path, keys: Set[str]) -> bool:
    try:
        content = parse_json(read_text(path, "JSON file", LIST_BYTES), path)
    except UserError:
        return False
    return isinstance(content, dict) and keys <= content.keys()
