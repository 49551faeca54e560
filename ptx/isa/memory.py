"""Loads, stores, atomics and what caches are told. PTX ISA 9.0, 9.7.9.8 to 9.7.9.18, 9.7.13.5 and 9.7.13.6."""

from functools import partial

from rayplay.ptx.ir import Form
from rayplay.ptx.isa.row import NO_MEMORY, READS, UPDATES, WRITES, Allows, Control, Op, Operand, Yields, operands

HINT = "L2::cache_hint"
_row = partial(Op, control=Control.NEXT, reads_carry=False, flops=0, timing="simple")
_access = partial(_row, allows=Allows.WIDER | Allows.VECTOR)
_cache = partial(
    _row, operation_class="other", yields=Yields.NOTHING, memory=NO_MEMORY, allows=Allows.NOTHING,
)  # fmt: skip

_DATA = ("TYPE", "v2 TYPE2", "v4 TYPE4")
_WIDE = ("v8 WORD32", "v4 WORD64")  # 256 bits, of global memory only
_NOFTZ = "noftz f16|f16x2|bf16|bf16x2"
_SCALARS = (
    "and|or|xor b32|b64", "add u32|s32|u64|f32|f64", "inc|dec u32", "min|max u32|s32|u64|s64", f"add {_NOFTZ}",
)  # fmt: skip
_VECTORS = ("v2|v4 add f32", "v2|v4|v8 add|min|max noftz f16|bf16", "v2|v4 add|min|max noftz f16x2|bf16x2")


def _accesses(near: str, cache: str, ordered: str) -> tuple[str, ...]:
    """Loads or stores: ``near`` are the spaces without an L2, ``ordered`` the semantics that need a scope."""
    fetch = "FETCH?" if cache == "CACHED" else ""
    rows = [
        *(f"weak? {near} {cache}? {data}" for data in _DATA),
        *(f"weak? global? {cache}|EVICT? HINT? {fetch} {data}" for data in _DATA),
        *(f"weak? global? {cache}|EVICT? EVICT2? HINT? {fetch} {data}" for data in _WIDE),
        *(f"volatile SHARED {data}" for data in _DATA), *(f"volatile global? {fetch} {data}" for data in _DATA),
        f"mmio relaxed sys global? {_DATA[0]}",
        *(f"{ordered} SCOPE SHARED {data}" for data in _DATA),
        *(f"{ordered} SCOPE global? EVICT? HINT? {fetch} {data}" for data in _DATA),
        *(f"{ordered} SCOPE global? EVICT? EVICT2? HINT? {fetch} {data}" for data in _WIDE),
    ]  # fmt: skip
    return tuple(rows)


def _atomics(ordered: str, scalars: tuple[str, ...]) -> tuple[str, ...]:
    return (
        *(f"{ordered}? SCOPE? SHARED {operation}" for operation in scalars),
        *(f"{ordered}? SCOPE? global? HINT? {operation}" for operation in scalars),
        *(f"{ordered}? SCOPE? global? HINT? {operation}" for operation in _VECTORS),
    )


def _hinted(form: Form, made: list[Operand]) -> list[Operand]:
    return [*made, Operand("s", "b64")] if HINT in form.modifiers else made


def _load(form: Form) -> list[Operand]:
    return _hinted(form, [Operand("d", form.type, False, form.lanes), Operand("a")])


def _store(form: Form) -> list[Operand]:
    return _hinted(form, [Operand("a"), Operand("s", form.type, False, form.lanes)])


def _atomic(form: Form) -> list[Operand]:
    value = Operand("s", form.type, False, form.lanes)
    made = [Operand("d", form.type, False, form.lanes)] if form.key == "atom" else []
    return _hinted(form, [*made, Operand("a"), value, *([value] if "cas" in form.modifiers else [])])


def _line(form: Form) -> list[Operand]:
    return [Operand("a"), Operand("i")]


def _policy(form: Form) -> list[Operand]:
    if "range" in form.modifiers:
        return [Operand("d", "b64"), Operand("a"), *operands("uu", "u32", "u32")]
    return [Operand("d", "b64"), Operand("s", "b64") if "cvt" in form.modifiers else Operand("s", "f32", True)]


ROWS = (
    _access(name="ld", operation_class="load", roles="d a ?x", yields=Yields.LOADED, memory=READS, typed=_load,
            forms=(*_accesses("NEAR", "CACHED", "relaxed|acquire"), *(f"BANK {data}" for data in ("TYPE2", *_DATA[1:])),
                   *(f"global ca|cg|cs|EVICT? nc HINT? FETCH? {data}" for data in _DATA),
                   *(f"global ca|cg|cs|EVICT? nc EVICT2? HINT? FETCH? {data}" for data in _WIDE))),
    _access(name="ldu", operation_class="load", roles="d a", yields=Yields.LOADED, memory=READS, typed=_load,
            forms=tuple(f"global? {data}" for data in _DATA)),
    _access(name="st", operation_class="store", roles="a s ?x", yields=Yields.NOTHING, memory=WRITES, typed=_store,
            forms=_accesses("STORED", "WRITTEN", "relaxed|release")),
    _row(name="atom", operation_class="atomic", roles="d a s ?s ?x", yields=Yields.LOADED, memory=UPDATES,
         allows=Allows.SINK, typed=_atomic,
         forms=(*_atomics("MEMORY", (*_SCALARS, "exch b32|b64")),
                "MEMORY? SCOPE? BOTH? cas b16|b32|b64|b128", "MEMORY? SCOPE? BOTH? exch b128")),
    _row(name="red", operation_class="atomic", roles="a s ?x", yields=Yields.NOTHING, memory=UPDATES,
         allows=Allows.NOTHING, typed=_atomic, forms=_atomics("relaxed|release", _SCALARS)),
    _cache(name="prefetch", roles="a", forms=(
        "global|local? L1|L2", "global? L2::evict_last|L2::evict_normal", "const|param? tensormap")),
    _cache(name="prefetchu", roles="a", forms=("L1",)),
    _cache(name="discard", roles="a x", forms=("global? L2",), typed=_line),
    _cache(name="applypriority", roles="a x", forms=("global? L2::evict_normal",), typed=_line),
    _cache(name="createpolicy", roles="X ?x ?x ?x", yields=Yields.MIXED, typed=_policy, forms=(
        "fractional POLICY L2::evict_first|L2::evict_unchanged? b64",
        "range global? POLICY L2::evict_first|L2::evict_unchanged? b64", "cvt L2 b64")),
)  # fmt: skip
