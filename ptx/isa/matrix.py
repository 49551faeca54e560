"""Matrices in the registers of a warp: mma, wmma and the loads and stores of their fragments. PTX ISA 9.0, 9.7.15."""

import re
from functools import partial

from rayplay.ptx.ir import Form
from rayplay.ptx.isa.row import NO_MEMORY, READS_ROWS, WRITES_ROWS, Allows, Control, Loose, Op, Operand, Yields

_row = partial(Op, control=Control.NEXT, reads_carry=False, flops=0, timing="simple", allows=Allows.NOTHING)
_load = partial(_row, operation_class="load", memory=READS_ROWS, yields=Yields.LOADED)
_store = partial(_row, operation_class="store", memory=WRITES_ROWS, yields=Yields.NOTHING)
_product = partial(_row, operation_class="matrix", memory=NO_MEMORY, yields=Yields.NUMBER)

SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)")
_ELEMENT = re.compile(r"(?:ue|f|bf|tf|s|u|b|e)(\d+)(?:m\d+)?")
_WORDS = (
    r"m\d+n\d+k\d+|row|col|xor|and|popc|satfinite|sp|sp::ordered_metadata|kind::\w+|block_scale|"
    r"scale_vec::\dX|sync|aligned|rn|rz|rm|rp"
)
_LARGE, _SMALL = "e4m3|e5m2", "e4m3|e5m2|e3m2|e2m3|e2m1"
_USUAL = tuple(f"sync aligned {form}" for form in (
    "m16n8k8|m16n8k16 row col f16 f16 f16 f16", "m16n8k8|m16n8k16 row col f32 f16 f16 f32",
    "m8n8k4 row|col row|col f16|f32 f16 f16 f16|f32", "m16n8k8|m16n8k16 row col f32 bf16 bf16 f32",
    "m16n8k4|m16n8k8 row col f32 tf32 tf32 f32", "m8n8k4|m16n8k4|m16n8k8|m16n8k16 row col rn|rz|rm|rp? f64 f64 f64 f64",
    "m8n8k16|m16n8k16|m16n8k32 row col satfinite? s32 s8|u8 s8|u8 s32",
    "m8n8k32|m16n8k32|m16n8k64 row col satfinite? s32 s4|u4 s4|u4 s32",
    "m8n8k128|m16n8k128|m16n8k256 row col s32 b1 b1 s32 xor|and popc",
    *(f"m16n8k16|m16n8k32 row col {kind} {_LARGE} {_LARGE} {kind}" for kind in ("f16", "f32")),
    f"m16n8k32 row col kind::f8f6f4 f32 {_SMALL} {_SMALL} f32",
    "m16n8k32 row col kind::mxf8f6f4 block_scale f32 e4m3 e4m3 f32 ue8m0",
))  # fmt: skip
_SPARSE = "sync aligned m16n8k16|m16n8k32 row col"
_ACCUMULATORS = (
    "sync aligned LAYOUT WIDE global|CTA? f16|f32|s32", "sync aligned LAYOUT m16n16k8 global|CTA? f32",
    "sync aligned LAYOUT m8n8k4 global|CTA? f64", "sync aligned LAYOUT m8n8k32|m8n8k128 global|CTA? s32",
)  # fmt: skip
_NARROW = ("row m8n8k32 global|CTA? s4|u4", "row m8n8k128 global|CTA? b1")  # by rows of A, by columns of B


def _lanes(form: Form, type_name: str, elements: int, accumulates: bool) -> int:
    """Registers of a lane for a part of ``elements`` elements."""
    found = _ELEMENT.fullmatch(type_name)
    assert found is not None
    if form.key.startswith("wmma") and type_name == "f16" and not accumulates:
        return 8  # every element is held twice
    bits = 8 if type_name[0] == "e" else 32 if type_name == "tf32" else int(found[1])
    return max(1, elements * min(bits, 32) // 1024)


def _part(form: Form, role: str, type_name: str, elements: int, accumulates: bool) -> Operand:
    small = type_name not in ("f32", "f64", "s32")
    return Operand(role, "b32" if small else type_name, False, _lanes(form, type_name, elements, accumulates))


def _sizes(form: Form) -> list[int]:
    """m, n and k; nothing without a shape."""
    return [int(size) for word in form.modifiers if (found := SHAPE.fullmatch(word)) for size in found.groups()]


def _moved_part(form: Form) -> list[Operand]:
    """wmma.load and wmma.store."""
    m, n, k = _sizes(form)
    part = next(word for word in form.modifiers if word in "abcd")
    elements = {"a": m * k, "b": k * n}.get(part, m * n)
    kind = next(word for word in form.modifiers if _ELEMENT.fullmatch(word))
    data = _part(form, "X" if form.key == "wmma.load" else "x", kind, elements, part in "cd")
    made = [data, Operand("a")] if form.key == "wmma.load" else [Operand("a"), data]
    return [*made, Operand("u", "u32", True)]


def _multiplied(form: Form) -> list[Operand] | None:
    """D, A, B and C; sparse ones with metadata and selector, scaled ones with the scales and places of A and B."""
    sizes = _sizes(form)
    kinds = [word for word in form.modifiers if _ELEMENT.fullmatch(word)]
    if len(sizes) != 3 or len(kinds) < 2:
        return None
    m, n, k = sizes
    d, a, b, c = kinds[:4] if len(kinds) >= 4 else (kinds[0], "f16", "f16", kinds[-1])
    times = 4 if form.key == "mma" and "m8n8k4" in form.modifiers and a == "f16" else 1  # products of quads at once
    sparse = form.key.startswith("mma.sp")
    made = [
        _part(form, "X", d, times * m * n, True), _part(form, "x", a, times * m * k >> sparse, False),
        _part(form, "x", b, times * n * k, False), _part(form, "x", c, times * m * n, True),
    ]  # fmt: skip
    if sparse:
        made += [Operand("x", "b32"), Operand("i")]
    scale = [Operand("x", "b32"), Operand("x", "b16", False, 2)]
    return [*made, *scale, *scale] if "block_scale" in form.modifiers else made


def _fragment(form: Form) -> list[Operand]:
    count = next(int(m[1:]) for m in form.modifiers if m in ("x1", "x2", "x4")) * (1 + ("m16n16" in form.modifiers))
    data = Operand("M", "b32", False, count)
    return [data, Operand("a")] if form.key == "ldmatrix" else [Operand("a"), data]


def _transposed(form: Form) -> list[Operand]:
    return [Operand("d"), Operand("x")]


ROWS = (
    _load(name="ldmatrix", roles="X a", typed=_fragment, forms=(
        "sync aligned m8n8 x1|x2|x4 trans? CTA? b16", "sync aligned m16n16 x1|x2 trans CTA? b8",
        "sync aligned m16n16 x1|x2 trans CTA? b8x16 b6x16_p32|b4x16_p64",
        "sync aligned m8n16 x1|x2|x4 CTA? b8x16 b6x16_p32|b4x16_p64")),
    _store(name="stmatrix", roles="a x", typed=_fragment, forms=(
        "sync aligned m8n8 x1|x2|x4 trans? CTA? b16", "sync aligned m16n8 x1|x2|x4 trans CTA? b8")),
    _product(name="movmatrix", roles="X x", yields=Yields.MIXED, typed=_transposed,
             forms=("sync aligned m8n8 trans b16",)),
    _load(name="wmma.load", roles="X a ?u", typed=_moved_part, forms=(
        "load a|b sync aligned LAYOUT WIDE global|CTA? f16|bf16|s8|u8",
        "load a|b sync aligned LAYOUT m16n16k8 global|CTA? tf32", "load a|b sync aligned LAYOUT m8n8k4 global|CTA? f64",
        *(f"load {part} sync aligned {form}" for form in _NARROW
          for part, form in (("a", form), ("b", form.replace("row", "col")))),
        *(f"load c {form}" for form in _ACCUMULATORS))),
    _store(name="wmma.store", roles="a x ?u", typed=_moved_part, forms=tuple(f"store d {f}" for f in _ACCUMULATORS)),
    _product(name="wmma.mma", roles="X x x x", yields=Yields.LOADED, typed=_multiplied, forms=(
        "mma sync aligned LAYOUT LAYOUT WIDE f16|f32 f16|f32 satfinite?",
        "mma sync aligned LAYOUT LAYOUT WIDE f32 bf16 bf16 f32",
        "mma sync aligned LAYOUT LAYOUT m16n16k8 f32 tf32 tf32 f32",
        "mma sync aligned LAYOUT LAYOUT m8n8k4 rn|rz|rm|rp? f64 f64 f64 f64",
        *(f"mma sync aligned LAYOUT LAYOUT WIDE s32 {kind} {kind} s32 satfinite?" for kind in ("s8", "u8")),
        *(f"mma sync aligned row col m8n8k32 s32 {kind} {kind} s32 satfinite?" for kind in ("s4", "u4")),
        "mma xor|and popc sync aligned row col m8n8k128 s32 b1 b1 s32")),
    _product(name="mma", roles="X x x x ?x ?x ?x ?x", typed=_multiplied,
             forms=Loose("sync aligned", _WORDS, _USUAL)),
    _product(name="mma.sp", roles="X x x x x x ?x ?x ?x ?x", typed=_multiplied,
             forms=Loose("sync aligned", _WORDS, (f"sp {_SPARSE} f16|f32 f16 f16 f16|f32",))),
    _product(name="mma.sp::ordered_metadata", roles="X x x x x x ?x ?x ?x ?x", typed=_multiplied,
             forms=Loose("sync aligned", _WORDS, (f"sp::ordered_metadata {_SPARSE} f32 f16 f16 f32",))),
)  # fmt: skip
