"""Small texts from outside (TOML, JSON, configurations, lists): their size is checked before they are read."""

import json
import math
import re
import tomllib
from pathlib import Path
from typing import Any

from rayplay.formats.guard.errors import FormatError, UserError, reason_of
from rayplay.formats.guard.limits import KEY_PARTS, TEXT_BYTES, Limit

_KEY_PART = r"""(?:[\w-]+|"[^"\n]*"|'[^'\n]*')[ \t]*\.[ \t]*"""


def read_text(path: Path, what: str = "file", limit: Limit = TEXT_BYTES) -> str:
    """Read a text file (``what`` names its kind); ``FormatError`` when missing, irregular, over-long or not UTF-8."""
    try:
        if not path.is_file():
            raise FormatError(f"no such {what}", file=path)
        limit.check(path.stat().st_size, "its length", file=path)
        return path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
    except (OSError, ValueError) as error:  # ValueError: no UTF-8, or a NUL in the name
        raise FormatError(f"cannot be read: {reason_of(error)}", file=path) from None


def confined(path: Path, name: str, place: str, kind: str = "launch file") -> Path:
    """The file ``name``, written in ``path``, a ``kind``, at ``place``; it must lie in the folder of ``path``."""
    file = path.parent / name
    if Path(name).is_absolute() or not file.resolve().is_relative_to(path.parent.resolve()):
        raise UserError(f"{path}: {place}: must be a file in the folder of the {kind}, found {name!r}")
    if not file.is_file():
        raise UserError(f"{path}: {place}: there is no file {file}")
    return file


def read_bounded(path: Path, limit: Limit) -> bytes:
    """Read a file or a pipe, no more than ``limit``, whatever length it says; ``FormatError`` where it holds more."""
    limit.check(path.stat().st_size, "its length", file=path)
    with path.open("rb") as file:
        data = file.read(limit.value() + 1)
    limit.check(len(data), "its length", file=path)
    return data


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML document; ``FormatError`` with the line when it is malformed."""
    return parse_toml(read_text(path), path)


def parse_toml(text: str, file: object) -> dict[str, Any]:
    """Parse the TOML document ``text``; ``file`` names it in the ``FormatError`` when it is malformed."""
    most = KEY_PARTS.value()
    if key := re.search(rf"(?<![\w-])(?:{_KEY_PART}){{{most},}}", text):  # tomllib takes time as their number squared
        line = text.count("\n", 0, key.start()) + 1
        KEY_PARTS.check(len(re.findall(_KEY_PART, key[0])) + 1, f"line {line}: parts of a key", file=file)
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError: also a number with more digits than Python reads
        raise FormatError(f"must be TOML: {reason_of(error)}", file=file) from None


def parse_json(text: str, file: object) -> Any:
    """Parse a JSON value; ``FormatError`` with the line when it is malformed."""
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_finite, parse_float=_finite)
    except _NotFiniteError as error:
        found = re.search(rf"[\s:,\[]{re.escape(error.number)}(?![\w.+-])", f"\n{text}")
        before = text[: found.start() if found else 0]
        place = f"line {before.count(chr(10)) + 1} column {len(before) - before.rfind(chr(10))}"
        raise FormatError(
            f"must be JSON: numbers must be finite, not {error.number[:50]}: {place}", file=file
        ) from None
    except (ValueError, RecursionError) as error:
        raise FormatError(f"must be JSON: {reason_of(error)}", file=file) from None


class _NotFiniteError(Exception):
    """NaN or infinity, as the file writes it."""

    def __init__(self, number: str) -> None:
        super().__init__(number)
        self.number = number


def _finite(text: str) -> float:
    if not math.isfinite(value := float(text)):
        raise _NotFiniteError(text)
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"an object must have each name once, but has {max(names, key=names.count)!r} again")
    return made
