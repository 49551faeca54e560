"""Arithmetic that only floats have, and special functions. PTX ISA 9.0, 9.7.3 to 9.7.5."""

from functools import partial

from rayplay.ptx.isa.integer import mixed_sum
from rayplay.ptx.isa.row import ARITHMETIC, NO_MEMORY, SPECIAL, Allows, Control, Op, Yields

_row = partial(
    Op, operation_class=ARITHMETIC, memory=NO_MEMORY, control=Control.NEXT, reads_carry=False, allows=Allows.NOTHING,
)  # fmt: skip
_special = partial(_row, operation_class=SPECIAL, roles="d s", yields=Yields.NUMBER, flops=1)
_ROUND = ("RND ftz? f32", "RND f64")

ROWS = (
    _row(name="fma", roles="d s s s", yields=Yields.NUMBER, flops=2, timing="mad", typed=mixed_sum,
         forms=("RND ftz? sat? f32", "RND f64", "RND ftz? f32x2", "rn ftz? sat|relu? HALF", "rn relu? BRAIN",
                "RND sat? f32 f16|bf16")),
    _row(name="copysign", forms=("f32|f64",), roles="d s s", yields=Yields.MIXED, flops=0, timing="simple"),
    _row(name="testp", forms=("finite|infinite|number|notanumber|normal|subnormal f32|f64",), roles="P s",
         yields=Yields.NUMBER, flops=0, timing="simple"),
    _special(name="rcp", forms=("approx ftz? f32", *_ROUND, "approx ftz f64"), timing="root"),
    _special(name="sqrt", forms=("approx ftz? f32", *_ROUND), timing="root"),
    _special(name="rsqrt", forms=("approx ftz? f32", "approx ftz? f64"), timing="root"),
    *(_special(name=name, forms=("approx ftz? f32",), timing="simple") for name in ("sin", "cos", "lg2")),
    _special(name="ex2", forms=("approx ftz? f32", "approx HALF", "approx ftz BRAIN"), timing="simple"),
    _special(name="tanh", forms=("approx f32|HALF|BRAIN",), timing="simple"),
)  # fmt: skip
