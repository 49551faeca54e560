"""What each operand of an instruction must be: the roles of the opcode's row, completed by its modifiers."""

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from rayplay.ptx.isa.describe import Opcode, lookup

RELAXED = frozenset(("ld", "ldu", "st", "cvt", "suld", "sust"))  # their registers may be wider than the type
HINT = "L2::cache_hint"
_COMBINES = frozenset(("and", "or", "xor"))
_PACKED_FROM_TWO = frozenset(("f16x2", "bf16x2", "e4m3x2", "e5m2x2", "e2m1x2", "e2m3x2", "e3m2x2", "ue8m0x2"))


class Operand(NamedTuple):
    """``role`` as in ``ptx.isa.table``; ``type`` is empty where any fits; ``lanes`` > 1 for a vector ``{..}``.

    More roles: ``q2`` a destination with its predicate, ``T`` a texel, ``M`` a fragment of a matrix, ``i`` a constant,
    ``n`` an integer register of 32 or 64 bits, ``v`` and ``w`` sources of video instructions, ``b`` a count of threads.
    """

    role: str
    type: str = ""
    optional: bool = False
    lanes: int = 1


@lru_cache(maxsize=4096)
def signature(opcode: str, modifiers: tuple[str, ...]) -> tuple[Operand, ...]:
    """The operands of a full opcode, in order; empty for an opcode without a row and for ``call``."""
    row = lookup(opcode, modifiers)
    if row is None:
        return ()
    if opcode in _FIXED:
        return _FIXED[opcode]
    special = _SPECIAL.get(opcode)
    made = special(row, modifiers) if special is not None else None
    return tuple(made if made is not None else _plain(row))


def _plain(row: Opcode) -> list[Operand]:
    """Roles with the types that ``ptx.isa.table`` says."""
    first, last = (row.types[0], row.types[-1]) if row.types else ("", "")
    types = {"d": first, "q": first, "s": last, "r": "u32", "u": "u32", "D": _twice(first), "S": _twice(first),
             "P": "pred", "p": "pred"}  # fmt: skip
    return [
        Operand(role.lstrip("?"), types.get(role.lstrip("?"), ""), role[0] == "?", row.lanes if role in "ds" else 1)
        for role in row.roles
    ]


def _twice(type_name: str) -> str:
    """The type twice as wide."""
    return f"{type_name[0]}{2 * int(type_name[1:])}" if type_name[1:].isdigit() else type_name


def _typed(roles: str, *types: str) -> list[Operand]:
    """Operands by roles and types, one of each."""
    return [Operand(role, type_name) for role, type_name in zip(roles, types, strict=True)]


def _mixed_sum(row: Opcode, modifiers: tuple[str, ...]) -> list[Operand] | None:
    """``add.f32.f16 d, a, c``: only ``a`` (and ``b`` of ``fma``) are narrow."""
    if len(row.types) < 2:
        return None
    wide, narrow = row.types[:2]
    return _typed("dsss", wide, narrow, narrow, wide) if len(row.roles) == 4 else _typed("dss", wide, narrow, wide)


def _comparison(row: Opcode, modifiers: tuple[str, ...]) -> list[Operand]:
    made = [operand for operand in _plain(row) if operand.role != "p"]
    return [*made, Operand("p", "pred")] if _COMBINES & set(modifiers) else made


def _selection(row: Opcode, modifiers: tuple[str, ...]) -> list[Operand]:
    return _typed("dsss", row.types[0], row.types[0], row.types[0], row.types[-1])


def _logic(row: Opcode, modifiers: tuple[str, ...]) -> list[Operand]:
    combines = bool(_COMBINES & set(modifiers))
    made = [Operand("q2" if combines else "q", "b32"), *_typed("sss", "b32", "b32", "b32"), Operand("i")]
    return [*made, Operand("p", "pred")] if combines else made


def _conversion(row: Opcode, modifiers: tuple[str, ...]) -> list[Operand] | None:
    types = row.types
    if "pack" in modifiers:
        made = _typed("dss", "b32", "s32", "s32")
        return [*made, Operand("s", "b32")] if modifiers[-1] == "b32" else made
    if types[0].endswith("x4"):
        return [Operand("d", types[0]), Operand("x"), Operand("u", "u32")]
    stochastic = [Operand("u", "u32")] if "rs" in modifiers else []
    if types[0] in _PACKED_FROM_TWO and types[-1] == "f32":
        return [*_typed("dss", types[0], "f32", "f32"), *stochastic]
    return [*_typed("ds", types[0], types[-1]), *stochastic] if len(types) > 1 else None


def _video(row: Opcode, modifiers: tuple[str, ...]) -> list[Operand]:
    """The third source is that of a second operation, or what is merged into a part of the destination."""
    third = Operand("v", "u32", not {"add", "min", "max"} & set(modifiers))
    return [Operand("r", "u32"), Operand("v", "u32"), Operand("v", "u32"), third]


def _extreme(row: Opcode, modifiers: tuple[str, ...]) -> list[Operand]:
    two = _typed("dss", row.type, row.type, row.type)
    if row.type != "f32" or "xorsign" in modifiers:
        return two
    return [*two, Operand("s", row.type, "abs" not in modifiers)]


def _query(row: Opcode, modifiers: tuple[str, ...]) -> list[Operand]:
    made = [Operand("d", "b32"), Operand("a")]
    return [*made, Operand("u", "u32")] if "level" in modifiers else made


def _video_pairs(row: Opcode, modifiers: tuple[str, ...]) -> list[Operand]:
    return [Operand("r", "u32"), *_typed("www", "u32", "u32", "u32")]


def _video_product(row: Opcode, modifiers: tuple[str, ...]) -> list[Operand]:
    return [Operand("r", "u32"), *_typed("vvv", "u32", "u32", "u32")]


def _dot(row: Opcode, modifiers: tuple[str, ...]) -> list[Operand]:
    return _typed("rsss", "u32", "u32", "u32", "u32")


def _load(row: Opcode, modifiers: tuple[str, ...]) -> list[Operand] | None:
    if modifiers[:1] in (("async",), ("bulk",)):
        return None
    data = Operand("d" if row.roles[0] == "d" else "s", row.type, False, row.lanes)
    made = [data, Operand("a")] if row.roles[0] == "d" else [Operand("a"), data]
    return [*made, Operand("s", "b64")] if HINT in modifiers else made


def _atomic(row: Opcode, modifiers: tuple[str, ...]) -> list[Operand] | None:
    if "async" in modifiers:
        return None
    value = Operand("s", row.type, False, row.lanes)
    made = [Operand("d", row.type, False, row.lanes)] if row.roles[0] == "d" else []
    made += [Operand("a"), value, *([value] if "cas" in modifiers else [])]
    return [*made, Operand("s", "b64")] if HINT in modifiers else made


def _shuffle(row: Opcode, modifiers: tuple[str, ...]) -> list[Operand]:
    made = _typed("qsuu", "b32", "b32", "u32", "u32")
    return [*made, Operand("u", "u32")] if "sync" in modifiers else made


def _vote(row: Opcode, modifiers: tuple[str, ...]) -> list[Operand]:
    made = [Operand("d", "b32") if "ballot" in modifiers else Operand("P", "pred"), Operand("p", "pred")]
    return [*made, Operand("u", "u32")] if "sync" in modifiers else made


def _match(row: Opcode, modifiers: tuple[str, ...]) -> list[Operand]:
    return [Operand("q" if "all" in modifiers else "d", "b32"), *_typed("su", row.type, "u32")]


def _barrier(row: Opcode, modifiers: tuple[str, ...]) -> list[Operand] | None:
    if "red" in modifiers:
        result = Operand("d", "u32") if "popc" in modifiers else Operand("P", "pred")
        return [result, Operand("u", "u32"), Operand("b", "u32", True), Operand("p", "pred")]
    if modifiers[:1] in (("warp",), ("cluster",)):
        return None
    return [Operand("u", "u32"), Operand("u", "u32", "arrive" not in modifiers)]


def _copy(row: Opcode, modifiers: tuple[str, ...]) -> list[Operand] | None:
    if row.roles[:2] != ("a", "a") or "bulk" in modifiers:
        return None
    return [Operand("a"), Operand("a"), Operand("i"), Operand("x", "", True), Operand("x", "", True)]


def _surface(row: Opcode, modifiers: tuple[str, ...]) -> list[Operand]:
    if row.roles[0] != "X":
        return [Operand("t"), Operand("x")]  # ptxas looks at no type here
    return [Operand("d", row.type, False, row.lanes), Operand("t")]


def _texel(row: Opcode, modifiers: tuple[str, ...]) -> list[Operand]:
    """The result may be a vector register, or have a predicate after it; its elements are any 32-bit registers."""
    return [Operand("T", "b32", False, row.lanes), *_plain(row)[1:]]


def _fragment(row: Opcode, modifiers: tuple[str, ...]) -> list[Operand]:
    count = next(int(m[1:]) for m in modifiers if m in ("x1", "x2", "x4")) * (1 + ("m16n16" in modifiers))
    data = Operand("M", "b32", False, count)
    return [data, Operand("a")] if row.roles[0] == "X" else [Operand("a"), data]


def _policy(row: Opcode, modifiers: tuple[str, ...]) -> list[Operand]:
    if "range" in modifiers:
        return [Operand("d", "b64"), Operand("a"), *_typed("uu", "u32", "u32")]
    return [Operand("d", "b64"), Operand("s", "b64") if "cvt" in modifiers else Operand("s", "f32", True)]


_FIXED: dict[str, tuple[Operand, ...]] = {
    "fns": (Operand("d", "b32"), Operand("s", "b32"), Operand("s", "b32"), Operand("s", "s32")),
    "setmaxnreg": (Operand("i"),), "pmevent": (Operand("i"),), "discard": (Operand("a"), Operand("i")),
    "applypriority": (Operand("a"), Operand("i")), "movmatrix": (Operand("d"), Operand("x")),
    "elect": (Operand("q2", "b32"), Operand("u", "u32")), "isspacep": (Operand("P", "pred"), Operand("n")),
    "istypep": (Operand("P", "pred"), Operand("s", "u64")), "activemask": (Operand("d", "b32"),),
}  # fmt: skip
_SPECIAL: dict[str, Callable[[Opcode, tuple[str, ...]], list[Operand] | None]] = {
    "cp": _copy, "suld": _surface, "sust": _surface, "sured": _surface, "tex": _texel, "tld4": _texel,
    "ldmatrix": _fragment, "stmatrix": _fragment, "createpolicy": _policy, "min": _extreme, "max": _extreme,
    "txq": _query, "suq": _query, "add": _mixed_sum, "sub": _mixed_sum, "fma": _mixed_sum, "set": _comparison,
    "setp": _comparison, "slct": _selection, "lop3": _logic, "cvt": _conversion, "dp4a": _dot, "dp2a": _dot,
    "ld": _load, "ldu": _load, "st": _load, "atom": _atomic, "red": _atomic, "shfl": _shuffle, "vote": _vote,
    "match": _match, "bar": _barrier, "barrier": _barrier, "vmad": _video_product,
    **dict.fromkeys(("vadd", "vsub", "vabsdiff", "vmin", "vmax", "vshl", "vshr", "vset"), _video),
    **{f"{name}{width}": _video_pairs for name in ("vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax", "vset")
       for width in (2, 4)},
}  # fmt: skip
