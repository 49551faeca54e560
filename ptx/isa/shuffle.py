"""Exchange between the lanes of a warp. PTX ISA 9.0, 9.7.9.6 and 9.7.13.7 to 9.7.13.12."""

from functools import partial

from rayplay.ptx.ir import Form
from rayplay.ptx.isa.row import NO_MEMORY, Allows, Control, Op, Operand, Yields, operands

_row = partial(
    Op, operation_class="shuffle", memory=NO_MEMORY, control=Control.NEXT, reads_carry=False, allows=Allows.NOTHING,
    flops=0, timing="simple",
)  # fmt: skip


def _synchronised(form: Form, made: list[Operand]) -> list[Operand]:
    return [*made, Operand("u", "u32")] if "sync" in form.modifiers else made


def _exchange(form: Form) -> list[Operand]:
    return _synchronised(form, operands("qsuu", "b32", "b32", "u32", "u32"))


def _vote(form: Form) -> list[Operand]:
    made = Operand("d", "b32") if "ballot" in form.modifiers else Operand("P", "pred")
    return _synchronised(form, [made, Operand("p", "pred")])


def _match(form: Form) -> list[Operand]:
    return [Operand("q" if "all" in form.modifiers else "d", "b32"), *operands("su", form.type, "u32")]


def _elect(form: Form) -> list[Operand]:
    return [Operand("q2", "b32"), Operand("u", "u32")]


def _active(form: Form) -> list[Operand]:
    return [Operand("d", "b32")]


ROWS = (
    _row(name="shfl", forms=("sync? up|down|bfly|idx b32",), roles="q s u u ?u", yields=Yields.MIXED, typed=_exchange),
    _row(name="vote", forms=("sync? all|any|uni pred", "sync? ballot b32"), roles="X p ?u", yields=Yields.NUMBER,
         typed=_vote),
    _row(name="match", forms=("any|all sync b32|b64",), roles="X s ?u", yields=Yields.NUMBER, allows=Allows.SINK,
         typed=_match),
    _row(name="activemask", forms=("b32",), roles="r", yields=Yields.NUMBER, typed=_active),
    _row(name="redux", roles="d s u", yields=Yields.MIXED,
         forms=("sync add|min|max u32|s32", "sync and|or|xor b32", "sync min|max abs? NaN? f32")),
    _row(name="elect", forms=("sync",), roles="q u", yields=Yields.NUMBER, typed=_elect),
)  # fmt: skip
