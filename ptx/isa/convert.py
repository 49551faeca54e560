"""Conversion between types. PTX ISA 9.0, 9.7.9.21 and 9.7.9.22."""

from functools import partial

from rayplay.ptx.ir import Form
from rayplay.ptx.isa.row import NO_MEMORY, Allows, Control, Op, Operand, Yields, operands

_row = partial(Op, memory=NO_MEMORY, control=Control.NEXT, reads_carry=False, flops=0, timing="simple")
_SMALL = "e4m3x2|e5m2x2"
_SMALLER = "e2m1x2|e2m3x2|e3m2x2"
_FROM_TWO = frozenset(("f16x2", "bf16x2", "e4m3x2", "e5m2x2", "e2m1x2", "e2m3x2", "e3m2x2", "ue8m0x2"))


def _conversion(form: Form) -> list[Operand] | None:
    types = form.types
    if "pack" in form.modifiers:
        made = operands("dss", "b32", "s32", "s32")
        return [*made, Operand("s", "b32")] if form.modifiers[-1] == "b32" else made
    if types[0].endswith("x4"):
        return [Operand("d", types[0]), Operand("x"), Operand("u", "u32")]
    stochastic = [Operand("u", "u32")] if "rs" in form.modifiers else []
    if types[0] in _FROM_TWO and types[-1] == "f32":
        return [*operands("dss", types[0], "f32", "f32"), *stochastic]
    return [*operands("ds", types[0], types[-1]), *stochastic] if len(types) > 1 else None


ROWS = (
    _row(
        name="cvt", operation_class="convert", roles="d s ?s ?x", yields=Yields.CONVERTED, typed=_conversion,
        allows=Allows.SPECIAL | Allows.WIDER,
        forms=(
            "sat? INT8 INT8", "IRND ftz? sat? INT8 f32", "IRND sat? INT8 f64|f16", "IRND INT8 bf16",
            "RND ftz? sat? f32 INT8", "RND sat? f64|f16 INT8", "RND bf16 INT",
            "RND ftz? sat? f32 f64", "ftz? sat? f64 f32", "ftz? sat? f32 f16", "rn? ftz? f32 bf16",
            "sat? f64 f16", "f64 bf16",
            "RND ftz? sat? f16 f32", "RND sat? f16 f64", "IRND? ftz? sat? f32 f32", "IRND? sat? f64 f64",
            "IRND? sat? f16 f16", "IRND? bf16 bf16", "RND bf16 f16|f64", "RND? f16 bf16",
            "rn|rz relu? satfinite? f16|bf16 f32", "rn|rz relu? satfinite? f16x2|bf16x2 f32",
            "rm|rp bf16 f32", "RND ftz relu? satfinite? bf16 f32", "rna satfinite? tf32 f32",
            "rn|rz relu? satfinite? tf32 f32",
            f"rn satfinite relu? {_SMALL} f32|f16x2", f"rn relu? f16x2 {_SMALL}",
            f"rn satfinite relu? {_SMALLER} f32", f"rn relu? f16x2 {_SMALLER}",
            "rz|rp satfinite? ue8m0x2 f32|bf16x2", "rn bf16x2 ue8m0x2",
            "pack sat u16|s16 s32", "pack sat u8|s8|u4|s4|u2|s2 s32 b32",
        ),
    ),
)  # fmt: skip
