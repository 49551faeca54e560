"""Textures, surfaces and copies by threads. PTX ISA 9.0, 9.7.9.25, 9.7.10 and 9.7.11."""

from functools import partial

from rayplay.ptx.ir import Form
from rayplay.ptx.isa.memory import HINT
from rayplay.ptx.isa.row import (
    COPIES,
    NO_MEMORY,
    READS_IMAGE,
    UPDATES_IMAGE,
    WRITES_IMAGE,
    Allows,
    Control,
    Op,
    Operand,
    Yields,
    a_constant,
)

_row = partial(Op, control=Control.NEXT, reads_carry=False, flops=0, timing="simple", allows=Allows.NOTHING)
_texture = partial(_row, operation_class="texture", yields=Yields.LOADED, memory=READS_IMAGE, allows=Allows.VECTOR)
_query = partial(_row, operation_class="texture", yields=Yields.MIXED, memory=NO_MEMORY)
_copy = partial(_row, operation_class="other", memory=COPIES, yields=Yields.NOTHING)

_COORDINATES = {"1d": 1, "2d": 2, "a1d": 2}
"""Registers of the coordinates, the layer of an array among them; 4 of all other geometries."""
_GRADIENTS = {"1d": 1, "a1d": 1, "2d": 2, "a2d": 2}


def _lanes(form: Form, known: dict[str, int]) -> int:
    return next((known[m] for m in form.modifiers if m in known), 4)


def _texel(form: Form) -> list[Operand]:
    """The result may be a vector register, or have a predicate after it; its elements are any 32-bit registers."""
    rest = [Operand("x", "", True)] * (3 if form.key == "tex" else 2)
    if "level" in form.modifiers:
        rest[0] = Operand("x", "f32")
    elif "grad" in form.modifiers:
        rest[:2] = [Operand("x", "f32", False, _lanes(form, _GRADIENTS))] * 2
    place = Operand("t", form.type, False, _lanes(form, _COORDINATES))
    return [Operand("T", "b32", False, form.lanes), place, *rest]


def _queried(form: Form) -> list[Operand]:
    made = [Operand("d", "b32"), Operand("a")]
    return [*made, Operand("u", "u32")] if "level" in form.modifiers else made


def _surface(form: Form) -> list[Operand]:
    place = Operand("t", "b32", False, _lanes(form, _COORDINATES))
    if form.key != "suld":
        return [place, Operand("x", form.type, False, form.lanes)]  # ptxas looks at no type here
    return [Operand("d", form.type, False, form.lanes), place]


def _copied(form: Form) -> list[Operand]:
    """Then the bytes of the source, or a predicate, and the policy."""
    made = [Operand("a"), Operand("a"), Operand("i"), Operand("x", "", True)]
    return [*made, Operand("s", "b64")] if HINT in form.modifiers else [*made, Operand("x", "", True)]


def _surfaces(cached: str) -> tuple[str, ...]:
    return tuple(f"b FLAT {cached}? {data} CLAMP" for data in ("b8|b16|b32|b64", "v2 b8|b16|b32|b64", "v4 b8|b16|b32"))


ROWS = (
    _texture(name="tex", roles="X t ?x ?x ?x", typed=_texel, forms=(
        "base? 1d|2d|3d|a1d|a2d v4 u32|s32|f32 s32|f32", "base? 1d|2d|3d|a1d|a2d v2 f16x2 s32|f32",
        "base? cube|acube v4 u32|s32|f32 f32", "base? cube|acube v2 f16x2 f32",
        "base? 2dms|a2dms v4 u32|s32|f32 s32", "base? 2dms|a2dms v2 f16x2 s32",
        "level|grad 1d|2d|3d|a1d|a2d v4 u32|s32|f32 s32|f32", "level|grad 1d|2d|3d|a1d|a2d v2 f16x2 s32|f32",
        "level|grad cube|acube v4 u32|s32|f32 f32", "level|grad cube|acube v2 f16x2 f32")),
    _texture(name="tld4", roles="X t ?x ?x", typed=_texel, forms=("r|g|b|a 2d|a2d|cube|acube v4 u32|s32|f32 f32",)),
    _query(name="txq", roles="X t ?x", typed=_queried, forms=("QUERY|STATE b32", "level width|height|depth b32")),
    _query(name="suq", roles="X t", typed=_queried, forms=("QUERY|memory_layout b32",)),
    _row(name="suld", operation_class="load", roles="X t", yields=Yields.LOADED, memory=READS_IMAGE, typed=_surface,
         allows=Allows.WIDER, forms=_surfaces("ca|cg|cs|cv")),
    _row(name="sust", operation_class="store", roles="t x", yields=Yields.NOTHING, memory=WRITES_IMAGE,
         allows=Allows.WIDER, typed=_surface,
         forms=(*_surfaces("WRITTEN"), *(f"p FLAT WRITTEN? {data} CLAMP" for data in ("b32", "v2 b32", "v4 b32")))),
    _row(name="sured", operation_class="atomic", roles="t x", yields=Yields.NOTHING, memory=UPDATES_IMAGE,
         typed=_surface, forms=(
             "b 1d|2d|3d add u32|s32|u64 CLAMP", "b 1d|2d|3d min|max u32|s32|u64|s64 CLAMP",
             "b 1d|2d|3d and|or b32 CLAMP", "p 1d|2d|3d add|min|max|and|or b32 CLAMP",
             "p 1d|2d|3d min|max b64 CLAMP")),
    _copy(name="cp.async", operation_class="load", roles="a a x ?x ?x", typed=_copied,
          forms=("async ca|cg CTA global HINT? FETCH?",)),
    _copy(name="cp.async.commit_group", roles="", forms=("async commit_group",)),
    _copy(name="cp.async.wait_group", operation_class="fence", roles="x", typed=a_constant,
          forms=("async wait_group",)),
    _copy(name="cp.async.wait_all", operation_class="fence", roles="", forms=("async wait_all",)),
    _copy(name="cp.async.mbarrier", roles="a", forms=("async mbarrier arrive noinc? CTA? b64",)),
)  # fmt: skip
