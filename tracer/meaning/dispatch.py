"""Which family of ``tracer.interp`` and of ``tracer.lower`` executes an instruction of several: the kind of its type.

A family is a module of either package with the same stem. An opcode of one family is found by itself, in ANY of the
two ``dispatch``; an opcode such as ``add``, which several families have, by ``kind_of``.
"""

from rayplay.formats.guard.errors import UserError
from rayplay.ptx.ir import Instruction, Module
from rayplay.ptx.isa.types import HALVES

_VIDEO = ("vadd", "vsub", "vabsdiff", "vmin", "vmax", "vset")
SCALAR_VIDEO = (*_VIDEO, "vshl", "vshr")
SIMD_VIDEO = tuple(f"{name}{count}" for name in (*_VIDEO, "vavrg") for count in (2, 4))
WITHOUT_EFFECT = ("membar", "fence", "prefetch", "prefetchu", "pmevent", "griddepcontrol", "discard", "applypriority")
"""Warps run one after another and memory is always coherent."""
_KINDS = {"f32x2": "pair", "u16x2": "packed", "s16x2": "packed"}


def kind_of(i: Instruction) -> str:
    """``approx`` (the special function unit), ``float``, ``half``, ``pair`` (f32x2), ``packed`` (two 16-bit integers)
    or ``integer``."""
    types = i.form.types
    if types[:1] in (("f32",), ("f64",)):  # also with half precision factors
        return "approx" if i.form.accuracy and i.opcode != "tanh" else "float"
    if types[-1:] and types[-1] in HALVES:
        return "half"
    return _KINDS.get(types[-1], "integer") if types else "integer"


def is_asynchronous(i: Instruction) -> bool:
    """Whether a store or reduction is done by a later arrival, which is not executed."""
    return i.form.key in ("st.async", "st.bulk", "red.async")


def is_packed_conversion(i: Instruction) -> bool:
    """Whether a cvt makes or takes several numbers at once."""
    return i.form.variant == "pack" or any(name.endswith("x2") for name in i.form.types)


def unknown(module: Module, instruction: Instruction, name: str | None = None) -> UserError:
    """The error for an opcode that the executor lacks."""
    where = instruction.position
    opcode = name or instruction.full_opcode
    return UserError(f"{module.source_name}:{where.line}:{where.column}: the executor does not know {opcode}")
