"""Arithmetic that integers have, of all types or alone, with a carry, and logic. PTX ISA 9.0, 9.7.1 and 9.7.2."""

from functools import partial

from rayplay.ptx.ir import Form
from rayplay.ptx.isa.row import (
    ARITHMETIC,
    DIVISION,
    LOGIC,
    NO_MEMORY,
    Allows,
    Control,
    Op,
    Operand,
    Yields,
    operands,
)

_shared = partial(Op, memory=NO_MEMORY, control=Control.NEXT, reads_carry=False, allows=Allows.NOTHING)
_any = partial(_shared, operation_class=ARITHMETIC)
_int = partial(_shared, operation_class="int", flops=0)
_logic = partial(_shared, operation_class=LOGIC, yields=Yields.MIXED, flops=0, timing="simple")
_count = partial(_int, yields=Yields.NUMBER, timing="simple")

SUM = (
    "INT", "sat s32", "cc CARRIED", "RND? ftz? sat? f32", "RND? f64", "RND? ftz? f32x2", "rn? ftz? sat? HALF",
    "rn? BRAIN", "RND? sat? f32 f16|bf16",
)  # fmt: skip
_EXTREME = (
    "u16|u32|u64|u16x2|s16|s64", "relu? s16x2|s32", "ftz? NaN? f32", "ftz? NaN? xorsign abs f32", "ftz? NaN? abs f32",
    "f64", "ftz? NaN? HALF", "ftz? NaN? xorsign abs HALF", "NaN? BRAIN", "NaN? xorsign abs BRAIN",
)  # fmt: skip
_SIGN = ("s16|s32|s64", "ftz? f32|HALF", "f64|BRAIN")


def mixed_sum(form: Form) -> list[Operand] | None:
    """``add.f32.f16 d, a, c``: only ``a`` (and ``b`` of ``fma``) are narrow."""
    if len(form.types) < 2:
        return None
    wide, narrow = form.types[:2]
    return operands("dsss", wide, narrow, narrow, wide) if form.key == "fma" else operands("dss", wide, narrow, wide)


def _product(form: Form) -> list[Operand] | None:
    """``wide``: the destination and the addend are twice as wide as the factors."""
    if "wide" not in form.modifiers:
        return None
    twice, kind = f"{form.type[0]}{2 * int(form.type[1:])}", form.type
    return operands("Dss", twice, kind, kind) if form.key == "mul" else operands("DssS", twice, kind, kind, twice)


def _extreme(form: Form) -> list[Operand]:
    """Only f32 has a third operand."""
    two = operands("dss", form.type, form.type, form.type)
    if form.type != "f32" or "xorsign" in form.modifiers:
        return two
    return [*two, Operand("s", form.type, "abs" not in form.modifiers)]


def _dot(form: Form) -> list[Operand]:
    return operands("rsss", "u32", "u32", "u32", "u32")


ROWS = (
    _any(name="add", forms=(*SUM, "PACKED"), roles="d s s", yields=Yields.SUM, flops=1, timing="add", typed=mixed_sum),
    _any(name="sub", forms=SUM, roles="d s s", yields=Yields.DIFFERENCE, flops=1, timing="add", typed=mixed_sum),
    _any(name="mul", roles="d s s", yields=Yields.NUMBER, flops=1, timing="mul", typed=_product,
         forms=("lo|hi INT", "wide u16|s16|u32|s32", "RND? ftz? sat? f32", "RND? f64", "RND? ftz? f32x2",
                "rn? ftz? sat? HALF", "rn? BRAIN")),
    _any(name="mad", roles="d s s s", yields=Yields.ADDEND, flops=2, timing="mad", typed=_product,
         forms=("lo|hi INT", "wide u16|s16|u32|s32", "hi sat s32", "lo|hi cc CARRIED", "RND? ftz? sat? f32",
                "RND? f64")),
    _any(name="div", operation_class=DIVISION, roles="d s s", yields=Yields.NUMBER, flops=1, timing="div",
         forms=("INT", "approx|full|RND ftz? f32", "RND f64")),
    _any(name="min", forms=_EXTREME, roles="d s s ?s", yields=Yields.MIXED, flops=0, timing="max", typed=_extreme),
    _any(name="max", forms=_EXTREME, roles="d s s ?s", yields=Yields.MIXED, flops=0, timing="max", typed=_extreme),
    _any(name="abs", forms=_SIGN, roles="d s", yields=Yields.MIXED, flops=0, timing="simple"),
    _any(name="neg", forms=_SIGN, roles="d s", yields=Yields.MIXED, flops=0, timing="simple"),
    _int(name="addc", forms=("cc? CARRIED",), roles="d s s", yields=Yields.MIXED, timing="add", reads_carry=True),
    _int(name="subc", forms=("cc? CARRIED",), roles="d s s", yields=Yields.MIXED, timing="add", reads_carry=True),
    _int(name="madc", forms=("lo|hi cc? CARRIED",), roles="d s s s", yields=Yields.ADDEND, timing="mad",
         reads_carry=True),
    _int(name="mul24", forms=("lo|hi WORD",), roles="d s s", yields=Yields.NUMBER, timing="mul"),
    _int(name="mad24", forms=("lo|hi WORD", "hi sat s32"), roles="d s s s", yields=Yields.ADDEND, timing="mad"),
    _int(name="sad", forms=("INT",), roles="d s s s", yields=Yields.NUMBER, timing="simple"),
    _int(name="rem", forms=("INT",), roles="d s s", yields=Yields.NUMBER, timing="div"),
    _int(name="dp4a", forms=("WORD WORD",), roles="r x x x", yields=Yields.NUMBER, timing="mad", typed=_dot),
    _int(name="dp2a", forms=("lo|hi WORD WORD",), roles="r x x x", yields=Yields.NUMBER, timing="mad", typed=_dot),
    *(_logic(name=name, forms=("pred|BITS",), roles="d s s") for name in ("and", "or", "xor")),
    _logic(name="not", forms=("pred|BITS",), roles="d s"), _logic(name="cnot", forms=("BITS",), roles="d s"),
    _count(name="popc", forms=("b32|b64",), roles="r s"), _count(name="clz", forms=("b32|b64",), roles="r s"),
    _count(name="bfind", forms=("shiftamt? CARRIED",), roles="r s"),
    _count(name="brev", forms=("b32|b64",), roles="d s", yields=Yields.MIXED),
)  # fmt: skip
