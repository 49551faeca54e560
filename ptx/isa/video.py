"""Video instructions: arithmetic of bytes and halfwords within a register. PTX ISA 9.0, 9.7.18."""

from functools import partial

from rayplay.ptx.ir import Form
from rayplay.ptx.isa.row import NO_MEMORY, Allows, Control, Op, Operand, Yields, operands

_row = partial(
    Op, roles="r x x ?x", operation_class="int", yields=Yields.MIXED, memory=NO_MEMORY, control=Control.NEXT,
    reads_carry=False, allows=Allows.NOTHING, flops=0, timing="simple",
)  # fmt: skip
_SHIFT = ("WORD WORD u32 sat? clamp|wrap add|min|max?",)


def _scalar(form: Form) -> list[Operand]:
    """The third source belongs to a second operation, or is merged into a part of the destination."""
    third = Operand("v", "u32", not {"add", "min", "max"} & set(form.modifiers))
    return [*operands("rvv", "u32", "u32", "u32"), third]


def _product(form: Form) -> list[Operand]:
    return operands("rvvv", "u32", "u32", "u32", "u32")


def _simd(form: Form) -> list[Operand]:
    return operands("rwww", "u32", "u32", "u32", "u32")


ROWS = (
    *(_row(name=name, forms=("WORD WORD WORD sat? add|min|max?",), typed=_scalar)
      for name in ("vadd", "vsub", "vabsdiff", "vmin", "vmax")),
    _row(name="vshl", forms=_SHIFT, typed=_scalar), _row(name="vshr", forms=_SHIFT, typed=_scalar),
    _row(name="vmad", forms=("WORD WORD WORD po? sat? shr7|shr15?",), roles="r x x x", typed=_product),
    _row(name="vset", forms=("WORD WORD ORDER add|min|max?",), typed=_scalar),
    *(_row(name=f"{name}{width}", forms=("WORD WORD WORD sat?", "WORD WORD WORD add"), typed=_simd)
      for name in ("vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax") for width in (2, 4)),
    *(_row(name=name, forms=("WORD WORD ORDER add?",), typed=_simd) for name in ("vset2", "vset4")),
)  # fmt: skip
