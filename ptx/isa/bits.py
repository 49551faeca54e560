"""Shifts, bit fields and permutations. PTX ISA 9.0, 9.7.1.16 to 9.7.1.21 and 9.7.8."""

from functools import partial

from rayplay.ptx.ir import Form
from rayplay.ptx.isa.row import NO_MEMORY, Allows, Control, Op, Operand, Yields, operands

COMBINES = frozenset(("and", "or", "xor"))
_row = partial(
    Op, operation_class="int", yields=Yields.MIXED, memory=NO_MEMORY, control=Control.NEXT, reads_carry=False,
    allows=Allows.NOTHING, flops=0, timing="simple",
)  # fmt: skip


def _logic(form: Form) -> list[Operand]:
    combines = bool(COMBINES & set(form.modifiers))
    made = [Operand("q2" if combines else "q", "b32"), *operands("sss", "b32", "b32", "b32"), Operand("i")]
    return [*made, Operand("p", "pred")] if combines else made


def _nth_set(form: Form) -> list[Operand]:
    return operands("dsss", "b32", "b32", "b32", "s32")


ROWS = (
    _row(name="shl", forms=("BITS",), roles="d s u", yields=Yields.SHIFTED),
    _row(name="shr", forms=("BITS|INT",), roles="d s u", yields=Yields.SHIFTED),
    _row(name="shf", forms=("l|r clamp|wrap b32",), roles="d s s u"),
    _row(name="bfe", forms=("CARRIED",), roles="d s u u"), _row(name="bfi", forms=("b32|b64",), roles="d s s u u"),
    _row(name="szext", forms=("clamp|wrap WORD",), roles="d s u"),
    _row(name="bmsk", forms=("clamp|wrap b32",), roles="d u u", yields=Yields.NUMBER),
    _row(name="fns", forms=("b32",), roles="X x x x", yields=Yields.NUMBER, typed=_nth_set),
    _row(name="lop3", forms=("or|and? b32",), roles="q s s s x ?p", typed=_logic),
    _row(name="prmt", forms=("b32 f4e|b4e|rc8|ecl|ecr|rc16?",), roles="d s s s"),
)  # fmt: skip
