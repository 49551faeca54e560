"""The typed form of an instruction: its row, and its modifiers by meaning."""

import re
from collections.abc import Collection
from functools import lru_cache
from typing import Any

from rayplay.ptx.ir import NO_FORM, Form, Guard, Instruction, Position
from rayplay.ptx.ir import Operand as Given
from rayplay.ptx.isa import patterns
from rayplay.ptx.isa.row import Loose, Op, Operand
from rayplay.ptx.isa.table import TABLE, row_of
from rayplay.ptx.numbers import TYPE_BYTES

SPACES = {
    "global": "global", "shared": "shared", "shared::cta": "shared", "shared::cluster": "shared", "local": "local",
    "const": "const", "param": "param", "param::entry": "param", "param::func": "param",
    **{f"const[{bank}]": "const" for bank in range(11)},
}  # fmt: skip
LANES = {"v2": 2, "v4": 4, "v8": 8}
COMPARISONS = frozenset((*patterns.WORDS["FORDER"].split("|"), *patterns.WORDS["UORDER"].split("|")))
WORDS: dict[str, Collection[str]] = {
    "rounding": patterns.ROUNDINGS, "part": ("lo", "hi", "wide"), "accuracy": ("approx", "full"),
    "operation": ("add", "min", "max", "and", "or", "xor", "inc", "dec", "exch", "cas", "popc"),
    "bounds": ("clamp", "wrap", "trap", "zero"), "level": ("base", "level", "grad"),
    "geometry": ("1d", "2d", "3d", "a1d", "a2d", "cube", "acube", "2dms", "a2dms"),
    "cache": ("ca", "cg", "cs", "lu", "cv", "wb", "wt"),
    "variant": frozenset((
        "up", "down", "bfly", "idx", "all", "any", "uni", "ballot", "f4e", "b4e", "rc8", "ecl", "ecr", "rc16",
        "finite", "infinite", "number", "notanumber", "normal", "subnormal", "l", "r", "g", "b", "a", "c", "d", "p",
        "arrive", "wait", "pack", "to", "memory_layout", *patterns.WORDS["QUERY"].split("|"),
        *patterns.WORDS["STATE"].split("|"),
    )),
}  # fmt: skip
"""Fields of ``Form`` that hold the first of some words."""
FLAGS = {
    "ftz": "ftz", "saturates": "sat", "finite": "satfinite", "relu": "relu", "absolute": "abs", "keeps_nan": "NaN",
    "xorsign": "xorsign", "carries": "cc", "shift_amount": "shiftamt", "plus_one": "po", "parity": "parity",
    "expects_bytes": "expect_tx", "transposed": "trans", "synchronised": "sync", "aligned": "aligned",
    "hinted": "L2::cache_hint", "counts_bytes": "mbarrier::complete_tx::bytes", "grouped": "bulk_group",
    "keeps_count": "noinc", "cluster": "shared::cluster",
}  # fmt: skip
"""Fields of ``Form`` that say whether a modifier is there."""
COUNTS = {"x1": 1, "x2": 2, "x4": 4}
SHIFTS = {"shr7": 7, "shr15": 15}
LAYOUTS = ("row", "col")
NARROW = ("b1", "s4", "u4", "s2", "u2")
_SHAPE = re.compile(r"m\d+n\d+(k\d+)?")
_MEANT = frozenset((
    *TYPE_BYTES, *NARROW, *SPACES, *LANES, *COUNTS, *SHIFTS, *LAYOUTS, *COMPARISONS, *FLAGS.values(),
    *(word for words in WORDS.values() for word in words),
))  # fmt: skip


@lru_cache(maxsize=4096)
def form_of(opcode: str, modifiers: tuple[str, ...]) -> Form:
    """The form of a full opcode, ``NO_FORM`` when no row has it. Whether it is legal is for ``problem`` to say."""
    op = row_of(opcode, modifiers)
    if op is None:
        return NO_FORM
    types = tuple(modifier for modifier in modifiers if modifier in TYPE_BYTES)
    lanes = next((LANES[m] for m in modifiers if m in LANES), 1)
    spaces = tuple(SPACES[m] for m in modifiers if m in SPACES)
    operation_class, space, size = op.class_of(types[-1] if types else ""), "none", 0
    if op.memory.by == "image":
        space = "texture"
        size = lanes * TYPE_BYTES[types[0]] if types else 0
    elif operation_class in ("load", "store", "atomic"):
        space = "global" if op.memory.by == "copy" else spaces[0] if spaces else "generic"
        size = lanes * TYPE_BYTES[types[-1]] if types else 0
        if space in ("const", "param"):
            # arguments of calls are registers on the hardware, constants come from their own cache
            operation_class = "constant" if operation_class == "load" else "move"
    compares = not isinstance(op.forms, Loose) and any("ORDER" in pattern for pattern in op.forms)
    known: dict[str, Any] = {field: _first(words, modifiers) for field, words in WORDS.items()}
    known |= {field: word in modifiers for field, word in FLAGS.items()}
    known |= {"part": ""} if compares else {}
    own = op.name.split(".")
    return Form(
        op.name, modifiers, types, tuple(m for m in modifiers if m in TYPE_BYTES or m in NARROW), lanes,
        operation_class, space, size, spaces,
        tuple(m for m in modifiers if m not in _MEANT and m not in own and not _SHAPE.fullmatch(m)),
        compare=_first(COMPARISONS, modifiers) if compares else "",
        shape=next((m for m in modifiers if _SHAPE.fullmatch(m)), ""),
        layouts=tuple(m for m in modifiers if m in LAYOUTS),
        matrices=next((COUNTS[m] for m in modifiers if m in COUNTS), 0),
        shift=next((SHIFTS[m] for m in modifiers if m in SHIFTS), 0),
        **known,
    )  # fmt: skip


def _first(known: Collection[str], modifiers: tuple[str, ...]) -> str:
    return next((word for word in modifiers if word in known), "")


def instruction(
    opcode: str, modifiers: tuple[str, ...], operands: tuple[Given, ...], guard: Guard | None, at: Position, text: str
) -> Instruction:
    """An instruction with its form."""
    return Instruction(opcode, modifiers, operands, guard, at, text, form=form_of(opcode, modifiers))


@lru_cache(maxsize=4096)
def problem(opcode: str, modifiers: tuple[str, ...]) -> str | None:
    """The fault in the modifiers of an opcode, or None; unknown opcodes have no wrong modifiers."""
    op = row_of(opcode, modifiers)
    return None if op is None else patterns.mismatch(op, modifiers)


@lru_cache(maxsize=4096)
def signature(form: Form) -> tuple[Operand, ...]:
    """The operands of a legal form, in order; empty for ``call``."""
    op = TABLE[form.key]
    made = op.typed(form) if op.typed else None
    return tuple(_plain(op, form) if made is None else made)


def _plain(op: Op, form: Form) -> list[Operand]:
    """The roles of the row with the types that ``Operand`` says."""
    first, last = (form.types[0], form.type) if form.types else ("", "")
    types = {"d": first, "q": first, "s": last, "r": "u32", "u": "u32", "P": "pred", "p": "pred"}
    return [
        Operand(role.lstrip("?"), types.get(role.lstrip("?"), ""), role[0] == "?", form.lanes if role in "ds" else 1)
        for role in op.roles.split()
    ]
