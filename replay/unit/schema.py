"""GPU descriptions in TOML: every key known, every key given, every value of its type and in its range.

A description is a tree of dataclasses. Each field says its unit and meaning with ``value``; where a number comes from
stands in the file, as the comment on its line, so that it can be read beside the number and printed by ``explain``.
"""

import dataclasses
import re
import tomllib
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

from rayplay.formats.guard import strict
from rayplay.formats.guard import text as text_file
from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.nearest import hint, nearest

SECTION = re.compile(r"^\s*\[([\w.]+)\]")
CITATION = re.compile(r"(?<![\w/#.-])([a-z][a-z-]*)#([a-z0-9][a-z0-9-]*)")
"""``page#heading`` in a comment: the heading of a page of ``docs/sources``."""
ASSIGNMENT = re.compile(r"^\s*([\w-]+)\s*=\s*(?:\"[^\"]*\"|\[[^\]]*\]|\[\s*(?=#|$)|[^#\[\]]*)\s*(?:#\s*(.*))?$")


class LawError(ValueError):
    """A cross-field law of a description does not hold."""


def value(unit: str, doc: str, minimum: int | None = None, choices: tuple[str, ...] = ()) -> Any:
    """A field of a description: unit, meaning, least permitted number, permitted words."""
    check = partial(check_value, unit=unit, minimum=minimum, choices=choices)
    return dataclasses.field(metadata={"unit": unit, "doc": doc, "choices": choices, "check": check})


def law(holds: bool, sentence: str) -> None:
    """A cross-field law; ``LawError`` with the sentence when it does not hold."""
    if not holds:
        raise LawError(sentence)


# unit -> most of it that a description may ask for, far beyond any GPU: more would overflow, or fill the memory
MOST = {"cycles": 10**6, "ticks": 10**5, "bytes": 1 << 40, "kHz": 10**8, "percent": 100}
MOST_OF_OTHERS = 1 << 24
LONGEST_TEXT = 200
COMMAND_LINE = 0  # in place of a line of the file


@dataclasses.dataclass(frozen=True)
class Text:
    """A TOML file with the place and the comment of every key, by dotted path."""

    name: str
    values: dict[str, Any]
    lines: dict[str, int]
    comments: dict[str, str]

    def place(self, path: str) -> str:
        """``file:line`` of a key, or of the nearest section above it; ``--set key`` of one from the command line."""
        while path and path not in self.lines:
            path = path.rpartition(".")[0]
        if path and self.lines[path] == COMMAND_LINE:
            return f"--set {path}"
        return f"{self.name}:{self.lines[path]}" if path else self.name

    def place_of_law(self, prefix: str) -> str:
        """Place of a broken law of the section ``prefix``: its keys of the command line, if any, else the section."""
        given = [key for key, line in self.lines.items() if line == COMMAND_LINE and key.startswith(prefix)]
        return f"--set {', '.join(given)}" if given else self.place(prefix.rstrip("."))


def read_text(path: Path) -> Text:
    """Read and scan a TOML file; ``UserError`` with the line when it is missing or no TOML."""
    text = text_file.read_text(path, "GPU description")
    values = text_file.parse_toml(text, path)
    lines, comments = scan(text)
    return Text(str(path), values, lines, comments)


def on_top(text: Text, base: Text) -> Text:
    """A text with the values of another where it has none; comments come with their values, lines are its own."""
    return Text(text.name, _merged(base.values, text.values), text.lines, base.comments | text.comments)


def _merged(base: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    inside = {key: entry for key, entry in own.items() if isinstance(entry, dict) and isinstance(base.get(key), dict)}
    return base | own | {key: _merged(base[key], entry) for key, entry in inside.items()}


def scan(text: str) -> tuple[dict[str, int], dict[str, str]]:
    """Line number and comment of every key of a TOML text; a list may go on over further lines."""
    lines: dict[str, int] = {}
    comments: dict[str, str] = {}
    section = ""
    for number, line in enumerate(text.splitlines(), 1):
        if match := SECTION.match(line):
            section = match[1] + "."
            lines[match[1]] = number
        elif match := ASSIGNMENT.match(line):
            lines[section + match[1]] = number
            comments[section + match[1]] = (match[2] or "").strip()
    return lines, comments


def cite(source: str, form: str = r"docs/sources/\1.md#\2") -> str:
    """A source comment with each ``page#heading`` as the path that a reader can open, or in another ``form``."""
    return CITATION.sub(form, source)


def override(text: Text, assignments: list[str]) -> Text:
    """The same text with ``key=value`` assignments (``--set``) applied; values are TOML, bare words are strings."""
    values = {key: dict(entry) if isinstance(entry, dict) else entry for key, entry in text.values.items()}
    comments, lines = dict(text.comments), dict(text.lines)
    for assignment in assignments:
        path, equals, literal = assignment.partition("=")
        path = path.strip()
        if not equals or not path:
            raise UserError(f"--set {assignment}: must be key=value, such as rt.warps=1")
        section, _, key = path.rpartition(".")
        holder = values
        for step in filter(None, section.split(".")):
            if step not in holder:
                lines[section] = COMMAND_LINE
            holder = holder.setdefault(step, {})
            if not isinstance(holder, dict):
                raise UserError(f"--set {assignment}: {section} is a value, not a section")
        holder[key] = parse_literal(literal.strip())
        comments[path] = "set on the command line"
        lines[path] = COMMAND_LINE
    return Text(text.name, values, lines, comments)


def literal(value: Any) -> str:
    """A Python value as ``parse_literal`` reads it; a text as it is."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(list(value) if isinstance(value, tuple) else value)


def parse_literal(literal: str) -> Any:
    """A TOML value, or the word itself."""
    try:
        return tomllib.loads(f"value = {literal}")["value"]
    except (ValueError, RecursionError):
        return literal


@dataclasses.dataclass(frozen=True)
class Place(strict.Place):
    """Position of a value of a description: the line of its file, or its key of the command line."""

    text: Text = dataclasses.field(kw_only=True)

    def __str__(self) -> str:
        where = self.text.place(self.path.partition("[")[0])
        return f"{where}: {self.path}" if self.path else where

    def refuse_unknown(self, name: str, known: Iterable[str]) -> None:
        """``UserError`` for an unknown key, by its own line."""
        prefix, near = f"{self.path}." if self.path else "", nearest(name, known)
        why = hint(prefix + name, [prefix + near]) if near else hint(name, known)
        raise UserError(f"{self.text.place(prefix + name)}: unknown key {prefix}{name}; {why}")

    def refuse_table(self, error: Exception) -> None:
        """``UserError`` for a broken law of a section."""
        prefix = f"{self.path}." if self.path else ""
        section = f"{self.path}: " if self.path else ""
        raise UserError(f"{self.text.place_of_law(prefix)}: {section}{error}") from None


def build(cls: type, text: Text) -> Any:
    """The description that a text is of; a ``UserError`` names file, line, dotted path and what must hold."""
    return strict.build(cls, text.values, Place(text.name, text=text))


def check_value(found: Any, place: strict.Place, unit: str, minimum: int | None, choices: tuple[str, ...]) -> None:
    """``UserError`` for numbers out of their range, a word that is no choice, and a text that no line can show."""
    most, least = MOST.get(unit, MOST_OF_OTHERS), 0 if isinstance(found, tuple) else minimum
    for number in found if isinstance(found, tuple) else (found,):
        if type(number) is int and number > most:
            raise UserError(f"{place} must be at most {most:,}, not {number:,}")
        if type(number) is int and least is not None and number < least:
            raise UserError(f"{place} must be at least {least}, not {number}")
    if choices:
        strict.check_choice(found, choices, str(place))
    elif isinstance(found, str) and not (found.isprintable() and 0 < len(found) <= LONGEST_TEXT):
        raise UserError(f"{place} must be 1 to {LONGEST_TEXT} printable characters, not {found!r}")
