"""Strict reader of TOML and JSON: frozen dataclasses are the schema, types are exact, each mistake is one line."""

import dataclasses
import json
import types
import typing
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.nearest import hint
from rayplay.formats.guard.text import read_toml

LONGEST_SHOWN = 100  # characters of a value in a message
SCALARS = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}


@dataclasses.dataclass(frozen=True)
class Place:
    """Position of a raw value in a file, as errors show it: ``file``, or ``file: key.of[0].it``.

    A reader that knows the lines of its file extends it.
    """

    root: str
    path: str = ""

    def __str__(self) -> str:
        if not self.path or self.path.startswith("["):
            return f"{self.root}{self.path}"
        return f"{self.root}{'.' if ': ' in self.root else ': '}{self.path}"

    def key(self, name: str) -> Self:
        """Place of a key of the table that stands here."""
        return dataclasses.replace(self, path=f"{self.path}.{name}" if self.path else name)

    def item(self, index: int) -> Self:
        """Place of an item of the list that stands here."""
        return dataclasses.replace(self, path=f"{self.path}[{index}]")

    def refuse_unknown(self, name: str, known: Iterable[str]) -> None:
        """``UserError`` for a key that the table here must not have."""
        raise UserError(f"{self}: unknown name {name!r}; {hint(name, known)}")

    def refuse_table(self, error: Exception) -> None:
        """``UserError`` for a table whose values break a law of its dataclass."""
        raise UserError(f"{self}: {error}") from None


def read(cls: Any, path: Path) -> Any:
    """An instance of the dataclass ``cls`` that the TOML file ``path`` describes; errors as in ``build``."""
    return build(cls, read_toml(path), str(path))


def build(cls: Any, raw: Any, place: str | Place) -> Any:
    """An instance of the type ``cls`` made of ``raw``; ``place`` is its file, or ``file: key`` inside of it.

    cls  a frozen dataclass (``raw`` is a table with its fields as keys), ``tuple[T, ...]`` (a list), ``dict[str, T]``
         (a table with free names), a union, one of int, float (also from whole numbers), str and bool, or ``Any``.

    Metadata of a field may hold ``check``, called with the value and its place, and ``doc``, its meaning, which the
    message about a missing key quotes. Raises ``UserError``: an unknown key with the nearest known one, a missing key,
    a value of another type.
    """
    at = Place(place) if isinstance(place, str) else place
    origin = typing.get_origin(cls)
    if cls is Any:
        return raw
    if origin is types.UnionType:
        return _build_union(typing.get_args(cls), raw, at)
    if origin is tuple:
        wanted = typing.get_args(cls)[0]
        if not isinstance(raw, (list, tuple)):
            raise UserError(f"{at}: must be a list{_like_list(wanted, raw)}, found {shown(raw)}")
        if wanted in SCALARS and set(map(type, raw)) <= {wanted, int if wanted is float else wanted}:
            return tuple(raw)  # a hundred thousand numbers need no place each
        return tuple(build(wanted, each, at.item(index)) for index, each in enumerate(raw))
    if origin is dict or dataclasses.is_dataclass(cls):
        if not isinstance(raw, dict):
            raise UserError(f"{at}: must be a table, found {shown(raw)}")
        if origin is dict:
            return {key: build(typing.get_args(cls)[1], each, at.key(key)) for key, each in raw.items()}
        return _build_dataclass(cls, raw, at)
    if type(raw) is not cls and not (cls is float and type(raw) is int):
        raise UserError(f"{at}: must be {SCALARS[cls]}, found {shown(raw)}")
    return raw


def shown(raw: Any) -> str:
    """A value as messages show it: the start alone of a long one."""
    text = repr(raw)
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}... ({len(text):,} characters)"


def _like_list(wanted: Any, raw: Any) -> str:
    """The list that a text without brackets may stand for: ``, such as [3, 2]``."""
    texts = [text.strip() for text in str(raw).split(",")]
    if len(str(raw)) > LONGEST_SHOWN:
        return ""
    if wanted is int and all(text.isdecimal() for text in texts):
        return f", such as {[int(text) for text in texts]}"
    if wanted is str and isinstance(raw, str) and all(text.isidentifier() for text in texts):
        return f", such as {json.dumps(texts)}"
    return ""


def one_of(known: Iterable[str], **field: Any) -> Any:
    """A field of a schema: one of the ``known`` names; further arguments as of ``dataclasses.field``."""
    return dataclasses.field(metadata={"check": lambda value, place: check_choice(value, known, str(place))}, **field)


def check_choice(value: str, known: Iterable[str], place: str) -> None:
    """``value`` is one of ``known``, or ``UserError`` names the nearest."""
    names = list(known)
    if value not in names:
        raise UserError(f"{place}: unknown name {value!r}; {hint(value, names)}")


def _build_dataclass(cls: Any, raw: dict[str, Any], at: Place) -> Any:
    fields = {field.name: field for field in dataclasses.fields(cls)}
    hints = typing.get_type_hints(cls)
    for key in raw:
        if key not in fields:
            at.refuse_unknown(key, fields)
    for name, field in fields.items():
        is_required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        if is_required and name not in raw:
            doc = f" ({field.metadata['doc']})" if "doc" in field.metadata else ""
            raise UserError(f"{at}: needs the key {name!r}{doc}")
    values = {key: build(hints[key], each, at.key(key)) for key, each in raw.items()}
    for key, made in values.items():
        if "check" in fields[key].metadata:
            fields[key].metadata["check"](made, at.key(key))
    try:
        return cls(**values)
    except (ValueError, UserError) as error:
        return at.refuse_table(error)


def _build_union(choices: tuple[Any, ...], raw: Any, at: Place) -> Any:
    """Build the member that accepts ``raw``; the error is the list member's for a list, else the first member's."""
    if raw is None and types.NoneType in choices:  # null of JSON
        return None
    wanted = [each for each in choices if each is not types.NoneType]
    is_list = isinstance(raw, list)
    like = [each for each in wanted if (typing.get_origin(each) is tuple) == is_list] or wanted
    return build(next((each for each in like if each is type(raw)), like[0]), raw, at)
