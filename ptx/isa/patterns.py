"""The language of forms: which modifiers an opcode takes, and in which combinations.

A pattern is a row of slots. ``a|b`` takes one of the words, ``a|b?`` one or none; capitals are ``WORDS``. ``ptxas``
takes modifiers in any order, so do patterns; only types keep theirs (``cvt.f32.s32`` is not ``cvt.s32.f32``). A form
that matches no pattern is no instruction that can be executed, so that no modifier is ever ignored. Source: PTX ISA
9.0 chapter 9.7; where it is silent, what ``ptxas`` 13.0 takes.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product

from rayplay.ptx.isa.row import Loose, Op
from rayplay.ptx.numbers import TYPE_BYTES

WORDS = {
    "INT": "u16|s16|u32|s32|u64|s64", "INT8": "u8|s8|u16|s16|u32|s32|u64|s64", "WORD": "u32|s32", "LONG": "u64|s64",
    "CARRIED": "u32|s32|u64|s64", "PACKED": "u16x2|s16x2", "RND": "rn|rz|rm|rp", "IRND": "rni|rzi|rmi|rpi",
    "BITS": "b16|b32|b64", "HALF": "f16|f16x2", "BRAIN": "bf16|bf16x2", "BOOL": "and|or|xor",
    "EQ": "eq|ne", "ORDER": "eq|ne|lt|le|gt|ge", "UORDER": "eq|ne|lt|le|gt|ge|lo|ls|hi|hs",
    "FORDER": "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan", "ANY": "b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64",
    "SHARED": "shared|shared::cta|shared::cluster", "BOTH": "global|shared|shared::cta|shared::cluster",
    "CTA": "shared|shared::cta",
    "NEAR": "local|shared|shared::cta|shared::cluster|param|param::entry|param::func|const",
    "STORED": "local|shared|shared::cta|shared::cluster|param|param::func",
    "SPACE": "global|local|shared|shared::cta|shared::cluster|param|param::entry|const",
    "TYPE": "b8|b16|b32|b64|b128|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64",
    "TYPE2": "b8|b16|b32|b64|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64", "TYPE4": "b8|b16|b32|u8|u16|u32|s8|s16|s32|f32",
    "WORD32": "b32|u32|s32|f32", "WORD64": "b64|u64|s64|f64", "SCOPE": "cta|cluster|gpu|sys", "NARROW": "cta|cluster",
    "CACHED": "ca|cg|cs|lu|cv", "WRITTEN": "wb|cg|cs|wt", "HINT": "L2::cache_hint",
    "EVICT": "L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate",
    "EVICT2": "L2::evict_normal|L2::evict_first|L2::evict_last", "FETCH": "L2::64B|L2::128B|L2::256B",
    "POLICY": "L2::evict_normal|L2::evict_first|L2::evict_last|L2::evict_unchanged", "ADDRESS": "u32|u64",
    "MEMORY": "relaxed|acquire|release|acq_rel", "BANK": "|".join(f"const[{i}]" for i in range(11)),
    "FLAT": "1d|2d|3d|a1d|a2d", "SAMPLED": "1d|2d|3d|a1d|a2d|cube|acube", "CLAMP": "trap|clamp|zero",
    "QUERY": "width|height|depth|channel_data_type|channel_order|array_size", "SYNC": "sync|aligned",
    "STATE": "normalized_coords|num_mipmap_levels|num_samples|force_unnormalized_coords|filter_mode|addr_mode_0|"
             "addr_mode_1|addr_mode_2",
    "WIDE": "m16n16k16|m8n32k16|m32n8k16", "LAYOUT": "row|col",
    "ELEMENT": "f16|f16x2|bf16|bf16x2|tf32|f32|f64|s8|u8|s4|u4|b1|s32|e4m3|e5m2|e3m2|e2m3|e2m1|ue8m0|ue4m3",
}  # fmt: skip
ROUNDINGS = frozenset(("rn", "rz", "rm", "rp", "rna", "rs", "rni", "rzi", "rmi", "rpi"))
_TYPES = frozenset(TYPE_BYTES) | {"b1", "s4", "u4", "s2", "u2"}
_ELEMENTS = frozenset(WORDS["ELEMENT"].split("|"))


@dataclass(frozen=True, slots=True)
class Slot:
    """A place of a pattern: its words, and whether none of them may stand there."""

    words: tuple[str, ...]
    may_lack: bool
    is_type: bool


Pattern = tuple[Slot, ...]


@cache
def parsed(pattern: str) -> Pattern:
    """The slots of a pattern."""
    return tuple(_slot(text) for text in pattern.split())


def _slot(text: str) -> Slot:
    words = tuple(w for word in text.rstrip("?").split("|") for w in WORDS.get(word, word).split("|"))
    return Slot(words, text[-1] == "?", any(word in _TYPES for word in words))


def spelled(pattern: str) -> Iterator[tuple[str, ...]]:
    """Every combination of modifiers of a pattern, in the order of the PTX manual."""
    for chosen in product(*(("", *slot.words) if slot.may_lack else slot.words for slot in parsed(pattern))):
        yield tuple(word for word in chosen if word)


def mismatch(op: Op, modifiers: tuple[str, ...]) -> str | None:
    """Why modifiers make no form of an opcode, in a sentence; None where they make one."""
    if isinstance(op.forms, Loose):
        return _loose_mismatch(op.name, op.forms, modifiers)
    # a word that stands twice counts once, unless two slots take it; two roundings contradict each other
    once = tuple(m for i, m in enumerate(modifiers) if m in _TYPES or m in ROUNDINGS or m not in modifiers[:i])
    patterns = [parsed(text) for text in op.forms]
    if any(_left(pattern, written) is None for written in (modifiers, once) for pattern in patterns):
        return None
    return _nearest(op.opcode, patterns, modifiers)


def _loose_mismatch(name: str, forms: Loose, modifiers: tuple[str, ...]) -> str | None:
    for word in forms.required.split():
        if word not in modifiers:
            return f"{name} needs '.{word}'"
    known = re.compile(forms.allowed)
    for modifier in modifiers:
        if modifier not in _ELEMENTS and not known.fullmatch(modifier):
            return f"'.{modifier}' is no modifier of {name}"
    return None


def _left(pattern: Pattern, modifiers: tuple[str, ...]) -> tuple[list[str], list[Slot]] | None:
    """None when the modifiers fill the pattern, else the modifiers left over and the slots left empty."""
    types = [m for m in modifiers if m in _TYPES]
    others = [m for m in modifiers if m not in _TYPES]
    empty = []
    for slot in pattern:
        if slot.is_type and types and types[0] in slot.words:
            types.pop(0)
        elif (word := next((m for m in others if m in slot.words), None)) is not None:
            others.remove(word)
        elif not slot.may_lack:
            empty.append(slot)
    return (types + others, empty) if types or others or empty else None


def _nearest(opcode: str, patterns: list[Pattern], modifiers: tuple[str, ...]) -> str:
    """A sentence about the pattern that fails by least."""
    full = ".".join((opcode, *modifiers))
    known = {word for pattern in patterns for slot in pattern for word in slot.words}
    for modifier in modifiers:
        if modifier not in known:
            return f"'.{modifier}' is no modifier of {opcode}"
    failures = [failure for pattern in patterns if (failure := _left(pattern, modifiers)) is not None]
    left, empty = min(failures, key=lambda failure: (len(failure[0]) + len(failure[1]), len(failure[0])))
    if left:
        return f"{full} is no form of {opcode}: '.{left[0]}' does not go with the rest"
    words = empty[0].words
    shown = ", ".join(f".{word}" for word in words[:6]) + (", ..." if len(words) > 6 else "")
    return f"{full} needs {'' if len(words) == 1 else 'a type of ' if empty[0].is_type else 'one of '}{shown}"
