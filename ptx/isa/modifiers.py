"""Whether the modifiers of an instruction are those that its opcode takes: the patterns of ``forms`` and ``shapes``.

``ptxas`` takes modifiers in any order, so does this; only types keep theirs.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache

from rayplay.ptx.isa import forms, shapes
from rayplay.ptx.numbers import TYPE_BYTES

PATTERNS = {**forms.PATTERNS, **shapes.SHAPES}
_ROUNDINGS = frozenset(("rn", "rz", "rm", "rp", "rna", "rs", "rni", "rzi", "rmi", "rpi"))
_TYPES = frozenset(TYPE_BYTES) | {"b1", "s4", "u4", "s2", "u2"}


@dataclass(frozen=True, slots=True)
class Slot:
    """A place of a pattern: its words, and whether none (``?``) or any number (``*``) of them may stand there."""

    words: tuple[str, ...]
    may_lack: bool
    repeats: bool
    is_type: bool


@cache
def key_of(opcode: str, modifiers: tuple[str, ...]) -> str | None:
    """The longest ``opcode.modifier...`` that has patterns; None for an opcode that has none."""
    for count in (4, 3, 2, 1, 0):
        key = ".".join((opcode, *modifiers[:count]))
        if key in PATTERNS or key in shapes.LOOSE:
            return key
    return None


@cache
def patterns_of(key: str) -> tuple[tuple[Slot, ...], ...]:
    """The patterns of a key of ``forms`` or ``shapes``."""
    names = forms.WORDS if key in forms.PATTERNS else {**forms.WORDS, **shapes.WORDS}
    return tuple(tuple(_slot(text, names) for text in pattern.split()) for pattern in PATTERNS.get(key, ()))


def _slot(text: str, names: dict[str, str]) -> Slot:
    found = tuple(w for word in text.rstrip("?*").split("|") for w in names.get(word, word).split("|"))
    return Slot(found, text[-1] in "?*", text[-1] == "*", any(word in _TYPES for word in found))


@lru_cache(maxsize=4096)
def problem(opcode: str, modifiers: tuple[str, ...]) -> str | None:
    """What is wrong with the modifiers of an opcode, or None; unknown opcodes have no wrong modifiers."""
    key = key_of(opcode, modifiers)
    if key is None:
        return None
    if key in shapes.LOOSE:
        return _loose_problem(key, modifiers)
    # a word that stands twice counts once, unless two slots take it; two roundings contradict each other
    once = tuple(m for i, m in enumerate(modifiers) if m in _TYPES or m in _ROUNDINGS or m not in modifiers[:i])
    if any(_match(pattern, written) is None for written in (modifiers, once) for pattern in patterns_of(key)):
        return None
    return _nearest(opcode, key, modifiers)


def _loose_problem(key: str, modifiers: tuple[str, ...]) -> str | None:
    required, allowed = shapes.LOOSE[key]
    for word in required.split():
        if word not in modifiers:
            return f"{key} needs '.{word}'"
    known = re.compile(allowed)
    elements = shapes.WORDS["ELEMENT"].split("|")
    for modifier in modifiers:
        if modifier not in elements and not known.fullmatch(modifier):
            return f"'.{modifier}' is no modifier of {key}"
    return None


def _match(pattern: Iterable[Slot], modifiers: tuple[str, ...]) -> tuple[list[str], list[Slot]] | None:
    """None when the modifiers fill the pattern, else the modifiers left over and the slots left empty."""
    types = [m for m in modifiers if m in _TYPES]
    others = [m for m in modifiers if m not in _TYPES]
    empty = []
    for slot in pattern:
        filled = False
        while not filled or slot.repeats:
            word = _take(slot, types, others)
            if word is None:
                break
            filled = True
        if not filled and not slot.may_lack:
            empty.append(slot)
    return (types + others, empty) if types or others or empty else None


def _take(slot: Slot, types: list[str], others: list[str]) -> str | None:
    if slot.is_type and types and types[0] in slot.words:
        return types.pop(0)
    word = next((m for m in others if m in slot.words), None)
    if word is not None:
        others.remove(word)
    return word


def _nearest(opcode: str, key: str, modifiers: tuple[str, ...]) -> str:
    """A sentence about the pattern that fails by least."""
    full = ".".join((opcode, *modifiers))
    known = {word for pattern in patterns_of(key) for slot in pattern for word in slot.words}
    for modifier in modifiers:
        if modifier not in known:
            return f"'.{modifier}' is no modifier of {opcode}"
    failures = [failure for pattern in patterns_of(key) if (failure := _match(pattern, modifiers)) is not None]
    left, empty = min(failures, key=lambda failure: (len(failure[0]) + len(failure[1]), len(failure[0])))
    if empty and not left:
        words = empty[0].words
        shown = ", ".join(f".{word}" for word in words[:6]) + (", ..." if len(words) > 6 else "")
        return (
            f"{full} needs {'a type' if empty[0].is_type else 'one'} of {shown}"
            if len(words) > 1
            else (f"{full} needs {shown}")
        )
    return f"{full} is no form of {opcode}: '.{left[0]}' does not go with the rest" if left else f"{full} is no form"
