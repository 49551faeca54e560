"""Build frozen dataclasses from raw TOML: strict keys, exact types, one clear line for each mistake."""

import dataclasses
import types
import typing
from collections.abc import Iterable
from typing import Any

from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.nearest import nearest

SCALARS = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}


def build(cls: Any, raw: Any, place: str) -> Any:
    """An instance of the type ``cls`` made of ``raw``; ``place`` is its file, or ``file: key`` inside of it.

    cls  a frozen dataclass (``raw`` is a table with its fields as keys), ``tuple[T, ...]`` (a list), ``dict[str, T]``
         (a table with free names), a union, one of int, float (also from whole numbers), str and bool, or ``Any``.

    Raises ``UserError``: an unknown key with the nearest known one, a missing key, a value of another type.
    """
    origin = typing.get_origin(cls)
    if cls is Any:
        return raw
    if origin is types.UnionType:
        return _build_union(typing.get_args(cls), raw, place)
    if origin is tuple:
        if not isinstance(raw, list):
            raise UserError(f"{place}: must be a list, found {raw!r}")
        return tuple(build(typing.get_args(cls)[0], each, f"{place}[{index}]") for index, each in enumerate(raw))
    if origin is dict or dataclasses.is_dataclass(cls):
        if not isinstance(raw, dict):
            raise UserError(f"{place}: must be a table, found {raw!r}")
        if origin is dict:
            return {key: build(typing.get_args(cls)[1], each, _inside(place, key)) for key, each in raw.items()}
        return _build_dataclass(cls, raw, place)
    if type(raw) is not cls and not (cls is float and type(raw) is int):
        raise UserError(f"{place}: must be {SCALARS[cls]}, found {raw!r}")
    return raw


def check_choice(value: str, known: Iterable[str], place: str) -> None:
    """``value`` is one of ``known``, or ``UserError`` names the nearest."""
    names = list(known)
    if value in names:
        return
    near = nearest(value, names)
    hint = f"did you mean {near!r}?" if near else f"known are {', '.join(names) or 'none'}"
    raise UserError(f"{place}: unknown name {value!r}; {hint}")


def _build_dataclass(cls: Any, raw: dict[str, Any], place: str) -> Any:
    fields = {field.name: field for field in dataclasses.fields(cls)}
    hints = typing.get_type_hints(cls)
    for key in raw:
        check_choice(key, fields, place)
    for name, field in fields.items():
        is_required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        if is_required and name not in raw:
            raise UserError(f"{place}: needs the key {name!r}")
    values = {key: build(hints[key], each, _inside(place, key)) for key, each in raw.items()}
    try:
        return cls(**values)
    except (ValueError, UserError) as error:
        raise UserError(f"{place}: {error}") from None


def _inside(place: str, key: str) -> str:
    return f"{place}.{key}" if ": " in place else f"{place}: {key}"


def _build_union(choices: tuple[Any, ...], raw: Any, place: str) -> Any:
    """Build the member that accepts ``raw``; the error is the list member's for a list, else the first member's."""
    wanted = [each for each in choices if each is not types.NoneType]
    is_list = isinstance(raw, list)
    like = [each for each in wanted if (typing.get_origin(each) is tuple) == is_list] or wanted
    return build(next((each for each in like if each is type(raw)), like[0]), raw, place)
