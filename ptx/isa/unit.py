"""Textures, surfaces, matrices and copies by threads. PTX ISA 9.0, 9.7.9.25, 9.7.10, 9.7.11, 9.7.15 and 9.7.16."""

from functools import partial

from rayplay.ptx.ir import Form
from rayplay.ptx.isa.row import (
    COPIES,
    NO_MEMORY,
    READS_IMAGE,
    READS_ROWS,
    UPDATES_IMAGE,
    WRITES_IMAGE,
    WRITES_ROWS,
    Allows,
    Control,
    Loose,
    Op,
    Operand,
    Yields,
)

_row = partial(Op, control=Control.NEXT, reads_carry=False, flops=0, timing="simple", allows=Allows.NOTHING)
_texture = partial(_row, operation_class="texture", yields=Yields.LOADED, memory=READS_IMAGE, allows=Allows.VECTOR)
_query = partial(_row, operation_class="texture", yields=Yields.MIXED, memory=NO_MEMORY)
_load = partial(_row, operation_class="load", memory=READS_ROWS, yields=Yields.LOADED)
_store = partial(_row, operation_class="store", memory=WRITES_ROWS, yields=Yields.NOTHING)
_product = partial(_row, operation_class="matrix", memory=NO_MEMORY, yields=Yields.NUMBER)
_copy = partial(_row, operation_class="other", memory=COPIES, yields=Yields.NOTHING)

_PRODUCT = Loose(
    "sync aligned", r"m\d+n\d+k\d+|row|col|xor|and|popc|satfinite|sp|sp::ordered_metadata|kind::\w+|block_scale|"
    r"scale_vec::\dX|sync|aligned|rn|rz|rm|rp")  # fmt: skip


def _texel(form: Form) -> list[Operand]:
    """The result may be a vector register, or have a predicate after it; its elements are any 32-bit registers."""
    rest = [Operand("t"), *[Operand("x", "", True)] * (3 if form.key == "tex" else 2)]
    return [Operand("T", "b32", False, form.lanes), *rest]


def _queried(form: Form) -> list[Operand]:
    made = [Operand("d", "b32"), Operand("a")]
    return [*made, Operand("u", "u32")] if "level" in form.modifiers else made


def _surface(form: Form) -> list[Operand]:
    if form.key != "suld":
        return [Operand("t"), Operand("x")]  # ptxas looks at no type here
    return [Operand("d", form.type, False, form.lanes), Operand("t")]


def _fragment(form: Form) -> list[Operand]:
    count = next(int(m[1:]) for m in form.modifiers if m in ("x1", "x2", "x4")) * (1 + ("m16n16" in form.modifiers))
    data = Operand("M", "b32", False, count)
    return [data, Operand("a")] if form.key == "ldmatrix" else [Operand("a"), data]


def _moved(form: Form) -> list[Operand]:
    return [Operand("d"), Operand("x")]


def _copied(form: Form) -> list[Operand]:
    return [Operand("a"), Operand("a"), Operand("i"), Operand("x", "", True), Operand("x", "", True)]


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
    _load(name="ldmatrix", roles="X a", typed=_fragment, forms=(
        "sync aligned m8n8 x1|x2|x4 trans? CTA? b16", "sync aligned m16n16 x1|x2 trans CTA? b8",
        "sync aligned m16n16 x1|x2 trans CTA? b8x16 b6x16_p32|b4x16_p64",
        "sync aligned m8n16 x1|x2|x4 CTA? b8x16 b6x16_p32|b4x16_p64")),
    _store(name="stmatrix", roles="a x", typed=_fragment, forms=(
        "sync aligned m8n8 x1|x2|x4 trans? CTA? b16", "sync aligned m16n8 x1|x2|x4 trans CTA? b8")),
    _product(name="movmatrix", roles="X x", yields=Yields.MIXED, typed=_moved,
             forms=("sync aligned m8n8 trans b16",)),
    _load(name="wmma.load", roles="X a ?u", forms=("load a|b|c sync aligned LAYOUT TILE SPACE? FRAGMENT",)),
    _store(name="wmma.store", roles="a x ?u", forms=("store d sync aligned LAYOUT TILE SPACE? FRAGMENT",)),
    _product(name="wmma.mma", roles="X x x x", yields=Yields.LOADED, forms=(
        "mma sync aligned LAYOUT LAYOUT TILE f16|f32 f16|f32 satfinite?",
        "mma sync aligned LAYOUT LAYOUT TILE f32 bf16|tf32 bf16|tf32 f32",
        "mma sync aligned LAYOUT LAYOUT TILE rn|rz|rm|rp? f64 f64 f64 f64",
        "mma sync aligned LAYOUT LAYOUT TILE s32 s8|u8|s4|u4 s8|u8|s4|u4 s32 satfinite?",
        "mma xor|and popc sync aligned LAYOUT LAYOUT TILE s32 b1 b1 s32")),
    _product(name="mma", roles="X x x x ?x ?x ?x ?x", forms=_PRODUCT),
    _product(name="mma.sp", roles="X x x x x x ?x ?x ?x ?x", forms=_PRODUCT),
    _product(name="mma.sp::ordered_metadata", roles="X x x x x x ?x ?x ?x ?x", forms=_PRODUCT),
    _copy(name="cp.async", operation_class="load", roles="a a x ?x ?x", typed=_copied,
          forms=("async ca|cg CTA global HINT? FETCH?",)),
    _copy(name="cp.async.commit_group", roles="", forms=("async commit_group",)),
    _copy(name="cp.async.wait_group", operation_class="fence", roles="x", forms=("async wait_group",)),
    _copy(name="cp.async.wait_all", operation_class="fence", roles="", forms=("async wait_all",)),
    _copy(name="cp.async.mbarrier", roles="a", forms=("async mbarrier arrive noinc? CTA? b64",)),
)  # fmt: skip
