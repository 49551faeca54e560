"""Comparison, selection and moves of registers. PTX ISA 9.0, 9.7.6, 9.7.7 and 9.7.9.1."""

from functools import partial

from rayplay.ptx.ir import Form
from rayplay.ptx.isa.bits import COMBINES
from rayplay.ptx.isa.row import NO_MEMORY, Allows, Control, Op, Operand, Yields, operands

_row = partial(
    Op, yields=Yields.NUMBER, memory=NO_MEMORY, control=Control.NEXT, reads_carry=False, allows=Allows.NOTHING,
    flops=0, timing="simple",
)  # fmt: skip
_COMPARE = (
    "EQ BITS", "ORDER s16|s32|s64", "UORDER u16|u32|u64", "FORDER ftz? f32|f16", "FORDER f64|bf16",
)  # fmt: skip
_COMBINED = tuple(pattern.replace(" ", f" {extra}", 1) for pattern in _COMPARE for extra in ("", "BOOL "))
_PAIRS = ("FORDER ftz? f16x2", "FORDER BOOL ftz? f16x2", "FORDER bf16x2", "FORDER BOOL bf16x2")
_SET = ("EQ BOOL? {} BITS", "ORDER BOOL? {} s16|s32|s64", "UORDER BOOL? {} u16|u32|u64", "FORDER BOOL? {} f64")


def _comparison(form: Form) -> list[Operand]:
    made = operands("Pss", "pred", form.type, form.type) if form.key == "setp" else []
    made = made or operands("dss", form.types[0], form.type, form.type)
    return [*made, Operand("p", "pred")] if COMBINES & set(form.modifiers) else made


def _selection(form: Form) -> list[Operand]:
    return operands("dsss", *form.types[:1] * 3, form.type)


ROWS = (
    _row(name="set", operation_class="predicate", roles="d s s ?p", typed=_comparison,
         forms=(*(pattern.format("u32|s32|f32|f16|bf16") for pattern in _SET),
                "FORDER BOOL? ftz? u32|s32|f32|f16 f32", "FORDER BOOL? bf16 f32",
                "FORDER BOOL? ftz? f16|u16|s16|u32|s32 f16", "FORDER BOOL? bf16|u16|s16|u32|s32 bf16",
                "FORDER BOOL? ftz? f16x2|u32|s32 f16x2", "FORDER BOOL? bf16x2|u32|s32 bf16x2")),
    _row(name="setp", operation_class="predicate", roles="P s s ?p", typed=_comparison, forms=(*_COMBINED, *_PAIRS)),
    _row(name="selp", operation_class="move", roles="d s s p", yields=Yields.MIXED, forms=("ANY",)),
    _row(name="slct", operation_class="move", roles="d x x x", yields=Yields.MIXED, forms=("ANY s32", "ftz? ANY f32"),
         typed=_selection),
    _row(name="mov", operation_class="move", roles="d s", yields=Yields.SAME, forms=("pred|ANY|b128", "v2|v4 ANY"),
         allows=Allows.SYMBOL | Allows.SPECIAL | Allows.VECTOR),
)  # fmt: skip
