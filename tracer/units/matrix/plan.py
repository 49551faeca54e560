"""mma and wmma.mma as calls of the matrix unit. Source: PTX ISA 9.0, 9.7.14 (wmma) and 9.7.15 (mma)."""

import re

from rayplay.ptx.ir import Instruction
from rayplay.ptx.isa.types import elements
from rayplay.tracer.units.call import Inputs, Place, UnitCall, UnknownFormError, given
from rayplay.tracer.units.matrix import types
from rayplay.tracer.units.matrix.types import Shape, accumulator_registers, multiplicand_registers
from rayplay.tracer.units.settings import Settings

B_SLOT, C_SLOT = 8, 16
SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)")
_WIDE = ("m16n16k16", "m8n32k16", "m32n8k16")
_EIGHT = ("m16n8k16", "m16n8k32")
_NIBBLES = ("m8n8k32", "m16n8k32", "m16n8k64")
MMA_SHAPES = {
    "f16": ("m8n8k4", "m16n8k8", "m16n8k16"), "bf16": ("m16n8k8", "m16n8k16"), "tf32": ("m16n8k4", "m16n8k8"),
    "f64": ("m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16"), "e4m3": _EIGHT, "e5m2": _EIGHT, "s8": ("m8n8k16", *_EIGHT),
    "u8": ("m8n8k16", *_EIGHT), "s4": _NIBBLES, "u4": _NIBBLES, "b1": ("m8n8k128", "m16n8k128", "m16n8k256"),
}  # fmt: skip
WMMA_SHAPES = {
    "f16": _WIDE, "bf16": _WIDE, "s8": _WIDE, "u8": _WIDE, "tf32": ("m16n16k8",), "f64": ("m8n8k4",),
    "s4": ("m8n8k32",), "u4": ("m8n8k32",), "b1": ("m8n8k128",),
}  # fmt: skip
FAMILY = {**{name: name for name in types.TYPES}, "u8": "s8", "u4": "s4", "e5m2": "e4m3"}
"""Types of A and B that may stand together."""
ACCUMULATES = {"f16": ("f16", "f32"), "bf16": ("f32",), "tf32": ("f32",), "f64": ("f64",), "e4m3": ("f16", "f32")}
SATURATING = ("s8", "s4")
MATRIX = Settings("MATRIX", "m8[3] n8[3] k[10] a[4] b[4] c[2] d[2] saturates ands quads transposed_a transposed_b")
"""``quads``: the m8n8k4 of Volta, four products of eight lanes each."""


def plan_mma(i: Instruction, place: Place) -> UnitCall:
    """``mma.sync.aligned.SHAPE.row.col{.satfinite}.D.A.B.C{.xor.popc}``."""
    shape, name = matrix_shape(i)
    kinds, layouts = i.form.elements, i.form.layouts
    if len(kinds) != 4 or i.form.key != "mma" or i.form.others:
        raise UnknownFormError
    family = _family(kinds[1], kinds[2], MMA_SHAPES, name)
    volta = family == "f16" and name == "m8n8k4"
    if len(layouts) != 2 or (not volta and layouts != ("row", "col")):
        raise UnknownFormError
    if i.form.rounding not in ("", "rn" if family == "f64" else "") or (i.form.finite and family not in SATURATING):
        raise UnknownFormError
    if i.form.operation not in (("xor", "and") if family == "b1" else ("",)):
        raise UnknownFormError
    registers = [multiplicand_registers(rows, shape.k, types.TYPES[family]) for rows in (shape.m, shape.n)]
    return _call(i, shape, kinds, [2, 2] if volta else registers, layouts if volta else None)


def plan_wmma(i: Instruction, place: Place) -> UnitCall:
    """``wmma.mma{.xor.popc}.sync.aligned.LAYOUT.LAYOUT.SHAPE.D{.A.B}.C{.satfinite}``."""
    shape, name = matrix_shape(i)
    kinds = i.form.elements
    if len(kinds) == 2:
        kinds = (kinds[0], "f16", "f16", kinds[1])
    family = _family(kinds[1], kinds[2], WMMA_SHAPES, name)
    if family in ("s4", "b1") and i.form.layouts != ("row", "col"):
        raise UnknownFormError
    if i.form.rounding not in ("", "rn") or (i.form.finite and family not in SATURATING):
        raise UnknownFormError
    registers = [wmma_registers(rows, shape.k, types.TYPES[family]) for rows in (shape.m, shape.n)]
    return _call(i, shape, kinds, registers, None)


def wmma_registers(rows: int, k: int, kind: int) -> int:
    """Registers per lane of a multiplicand of wmma; f16 has always eight."""
    return 8 if kind == types.F16 else multiplicand_registers(rows, k, kind)


def _call(
    i: Instruction, shape: Shape, kinds: tuple[str, ...], registers: list[int], layouts: tuple[str, ...] | None
) -> UnitCall:
    """Check accumulators and registers, and pack the rest; ``layouts`` only of Volta's m8n8k4."""
    d, a, b, c = kinds
    accumulates = ACCUMULATES.get(FAMILY[a], ("s32",))
    if c not in accumulates or d not in accumulates:
        raise UnknownFormError
    if c != d and not (a == "f16" and (layouts is not None or i.opcode == "wmma")):
        raise UnknownFormError
    groups = [list(elements(operand)) for operand in i.operands]
    kind_c, kind_d = types.ACCUMULATORS[c], types.ACCUMULATORS[d]
    if layouts is None:
        ends = [accumulator_registers(shape, kind) for kind in (kind_d, kind_c)]
    else:
        ends = [4 if kind == "f16" else 8 for kind in (d, c)]
    wanted = [ends[0], *registers, ends[1]]
    if list(map(len, groups)) != wanted:
        found = ", ".join(str(len(group)) for group in groups)
        raise UnknownFormError(f"{i.full_opcode} with {found} registers, which must be {', '.join(map(str, wanted))}")
    settings = MATRIX.pack(
        m8=shape.m // 8, n8=shape.n // 8, k=shape.k, a=types.TYPES[a], b=types.TYPES[b], c=kind_c, d=kind_d,
        saturates=i.form.finite, ands=i.form.operation == "and", quads=layouts is not None,
        transposed_a=layouts is not None and layouts[0] == "col",
        transposed_b=layouts is not None and layouts[1] == "col",
    )  # fmt: skip
    multiplicand, accumulator = 64 if a == "f64" else 32, 64 if c == "f64" else 32
    inputs: Inputs = [None] * C_SLOT
    inputs[: len(groups[1])] = given(groups[1], multiplicand)
    inputs[B_SLOT : B_SLOT + len(groups[2])] = given(groups[2], multiplicand)
    inputs += given(groups[3], accumulator)
    return UnitCall("matrix", settings, tuple(inputs), tuple((each, accumulator) for each in groups[0]), False)


def matrix_shape(i: Instruction) -> tuple[Shape, str]:
    """The shape among the modifiers, and its text."""
    found = SHAPE.fullmatch(i.form.shape)
    if found is None:
        raise UnknownFormError
    return Shape(*map(int, found.groups())), found[0]


def _family(a: str, b: str, shapes: dict[str, tuple[str, ...]], name: str) -> str:
    """The family of the types of A and B, in a shape that A's has."""
    if a not in FAMILY or FAMILY[a] != FAMILY.get(b) or name not in shapes.get(a, ()):
        raise UnknownFormError
    return FAMILY[a]
