"""Addresses and state spaces. PTX ISA 9.0, 9.7.9.19 to 9.7.9.24 and 9.7.17."""

from functools import partial

from rayplay.ptx.ir import Form
from rayplay.ptx.isa.row import NO_MEMORY, Allows, Control, Op, Operand, Yields, operands

_row = partial(
    Op, memory=NO_MEMORY, control=Control.NEXT, reads_carry=False, flops=0, timing="simple", allows=Allows.NOTHING,
)  # fmt: skip
_named = partial(_row, allows=Allows.SYMBOL)


def _is_space(form: Form) -> list[Operand]:
    return [Operand("P", "pred"), Operand("n")]


def _is_type(form: Form) -> list[Operand]:
    return operands("Ps", "pred", "u64")


ROWS = (
    _named(name="cvta", operation_class="move", roles="d s", yields=Yields.SAME, forms=("to? SPACE ADDRESS",)),
    _named(name="mapa", operation_class="move", roles="d s u", yields=Yields.MIXED,
           forms=("shared::cluster? ADDRESS",)),
    _named(name="getctarank", operation_class="move", roles="r s", yields=Yields.MIXED,
           forms=("shared::cluster? ADDRESS",)),
    _named(name="isspacep", operation_class="predicate", roles="P x", yields=Yields.NUMBER, forms=("SPACE",),
           typed=_is_space),
    _row(name="istypep", operation_class="predicate", roles="P x", yields=Yields.NUMBER, typed=_is_type,
         forms=("texref|samplerref|surfref",)),
    _row(name="stacksave", operation_class="move", roles="d", yields=Yields.MIXED, forms=("ADDRESS",)),
    _row(name="stackrestore", operation_class="move", roles="s", yields=Yields.NOTHING, forms=("ADDRESS",)),
    _row(name="alloca", operation_class="other", roles="d s ?x", yields=Yields.MIXED, forms=("ADDRESS",)),
)  # fmt: skip
