"""TOML to frozen dataclasses, strictly: every key known, every key given, every value of its type and in its range.

A description is a tree of dataclasses. Each field says its unit and meaning with ``value``; where a number comes from
stands in the file, as the comment on its line, so that it can be read beside the number and printed by ``explain``.
"""

import dataclasses
import re
import tomllib
from pathlib import Path
from typing import Any, get_type_hints

from rayplay.formats.guard import text as text_file
from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.nearest import nearest

SECTION = re.compile(r"^\s*\[([\w.]+)\]")
CITATION = re.compile(r"(?<![\w/#.-])([a-z][a-z-]*)#([a-z0-9][a-z0-9-]*)")
"""``page#heading`` in a comment: the heading of a page of ``docs/sources``."""
ASSIGNMENT = re.compile(r"^\s*([\w-]+)\s*=\s*(?:\"[^\"]*\"|\[[^\]]*\]|[^#\[\]]*)\s*(?:#\s*(.*))?$")


class LawError(ValueError):
    """A cross-field law of a description does not hold."""


def value(unit: str, doc: str, minimum: int | None = None, choices: tuple[str, ...] = ()) -> Any:
    """A field of a description: unit, meaning, least permitted number, permitted words."""
    return dataclasses.field(metadata={"unit": unit, "doc": doc, "minimum": minimum, "choices": choices})


def law(holds: bool, sentence: str) -> None:
    """A cross-field law; ``LawError`` with the sentence when it does not hold."""
    if not holds:
        raise LawError(sentence)


# unit -> most of it that a description may ask for, far beyond any GPU: more would overflow, or fill the memory
MOST = {"cycles": 10**6, "ticks": 10**5, "bytes": 1 << 40, "kHz": 10**8, "percent": 100}
MOST_OF_OTHERS = 1 << 24
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


def scan(text: str) -> tuple[dict[str, int], dict[str, str]]:
    """Line number and comment of every key of a TOML text whose assignments take one line each."""
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


def build(cls: type, text: Text, raw: Any, path: str = "") -> Any:
    """Make ``cls`` from a TOML table; a ``UserError`` names file, line, dotted path and what must hold."""
    if not isinstance(raw, dict):
        raise UserError(f"{text.place(path)}: {path} must be a section, not {raw!r}")
    fields = {field.name: field for field in dataclasses.fields(cls)}
    hints = get_type_hints(cls)
    prefix = f"{path}." if path else ""
    for key in raw:
        if key not in fields:
            near = nearest(key, fields)
            hint = f"; did you mean {prefix}{near}?" if near else f", must be one of {', '.join(fields)}"
            raise UserError(f"{text.place(prefix + key)}: unknown key {prefix}{key}{hint}")
    given = {}
    for name, field in fields.items():
        if name not in raw:
            raise UserError(f"{text.place(path)}: missing key {prefix}{name} ({field.metadata.get('doc', 'section')})")
        if dataclasses.is_dataclass(hints[name]):
            given[name] = build(hints[name], text, raw[name], prefix + name)
        else:
            given[name] = check_value(hints[name], field, text, prefix + name, raw[name])
    try:
        return cls(**given)
    except LawError as error:
        raise UserError(f"{text.place_of_law(prefix)}: {path + ': ' if path else ''}{error}") from None


def check_value(kind: Any, field: Any, text: Text, path: str, found: Any) -> Any:
    """One value of its type, at least its minimum and among its choices."""
    where, most = text.place(path), MOST.get(field.metadata["unit"], MOST_OF_OTHERS)
    for number in found if isinstance(found, (list, tuple)) else (found,):
        if type(number) is int and number > most:
            raise UserError(f"{where}: {path} must be at most {most:,}, not {number:,}")
    if kind == tuple[int, ...]:
        if not isinstance(found, (list, tuple)) or not all(type(item) is int and item >= 0 for item in found):
            raise UserError(f"{where}: {path} must be a list of integers that are not negative, not {found!r}")
        return tuple(found)
    if type(found) is not kind:
        raise UserError(f"{where}: {path} must be {kind.__name__} ({field.metadata['unit']}), not {found!r}")
    minimum, choices = field.metadata["minimum"], field.metadata["choices"]
    if minimum is not None and found < minimum:
        raise UserError(f"{where}: {path} must be at least {minimum}, not {found}")
    if choices and found not in choices:
        near = nearest(str(found), choices)
        hint = f"; did you mean {near}?" if near else ""
        raise UserError(f"{where}: {path} must be one of {', '.join(choices)}, not {found!r}{hint}")
    return found
