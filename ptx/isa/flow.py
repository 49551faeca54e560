"""Control flow, pauses and what only the scheduler sees. PTX ISA 9.0, 9.7.12, 9.7.14 and 9.7.19."""

from functools import partial

from rayplay.ptx.isa.row import NO_MEMORY, Allows, Control, Op, Yields, a_constant

_row = partial(
    Op, yields=Yields.NOTHING, memory=NO_MEMORY, reads_carry=False, allows=Allows.NOTHING, flops=0, timing="simple",
)  # fmt: skip
_branch = partial(_row, operation_class="branch", control=Control.BRANCHES)
_end = partial(_row, operation_class="exit", roles="", control=Control.LEAVES)
_other = partial(_row, operation_class="other", control=Control.NEXT)


ROWS = (
    _branch(name="bra", forms=("uni?",), roles="l"), _branch(name="brx", forms=("idx uni?",), roles="u l"),
    _branch(name="call", forms=("uni?",), roles="", control=Control.CALLS),
    _end(name="ret", forms=("uni?",)), _end(name="exit", forms=("",)), _end(name="trap", forms=("",)),
    _other(name="nanosleep", forms=("u32",), roles="u", control=Control.PAUSES),
    _other(name="brkpt", forms=("",), roles=""),
    _other(name="pmevent", forms=("mask?",), roles="x", typed=a_constant),
    _other(name="setmaxnreg", forms=("inc|dec sync aligned u32",), roles="x", typed=a_constant),
    _other(name="griddepcontrol", forms=("launch_dependents|wait",), roles=""),
    # Zatel's instruction: 1 where the pixel is to be traced, 0 where not (Zatel Listing 1)
    _row(name="filter_shader", forms=("",), roles="r", operation_class="runtime", control=Control.NEXT,
         yields=Yields.NUMBER),
)  # fmt: skip
