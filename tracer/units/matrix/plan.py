"""mma and wmma.mma as calls of the matrix unit. Source: PTX ISA 9.0, 9.7.14 (wmma) and 9.7.15 (mma)."""

import re

from rayplay.ptx.ir import Instruction, Operand
from rayplay.ptx.isa.types import elements
from rayplay.tracer.units.call import Place, UnitCall, UnknownFormError
from rayplay.tracer.units.matrix.types import (
    ACC_F64,
    ACCUMULATORS,
    B1,
    BF16,
    E4M3,
    E5M2,
    F16,
    F64,
    S4,
    S8,
    TF32,
    TYPES,
    U4,
    U8,
    Shape,
    accumulator_registers,
    multiplicand_registers,
)
from rayplay.tracer.units.settings import Settings

B_SLOT, C_SLOT = 8, 16
SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)")
_WIDE = ("m16n16k16", "m8n32k16", "m32n8k16")
_EIGHT = ("m16n8k16", "m16n8k32")
MMA_SHAPES = {
    F16: ("m8n8k4", "m16n8k8", "m16n8k16"), BF16: ("m16n8k8", "m16n8k16"), TF32: ("m16n8k4", "m16n8k8"),
    F64: ("m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16"), E4M3: _EIGHT, E5M2: _EIGHT,
    S8: ("m8n8k16", *_EIGHT), U8: ("m8n8k16", *_EIGHT),
    S4: ("m8n8k32", "m16n8k32", "m16n8k64"), U4: ("m8n8k32", "m16n8k32", "m16n8k64"),
    B1: ("m8n8k128", "m16n8k128", "m16n8k256"),
}  # fmt: skip
WMMA_SHAPES = {
    F16: _WIDE, BF16: _WIDE, S8: _WIDE, U8: _WIDE, TF32: ("m16n16k8",), F64: ("m8n8k4",), S4: ("m8n8k32",),
    U4: ("m8n8k32",), B1: ("m8n8k128",),
}  # fmt: skip
FAMILY = {F16: "h", BF16: "b", TF32: "t", F64: "d", S8: "8", U8: "8", S4: "4", U4: "4", B1: "1", E4M3: "e", E5M2: "e"}
ACCUMULATES = {"h": ("f16", "f32"), "b": ("f32",), "t": ("f32",), "d": ("f64",), "e": ("f16", "f32")}


MATRIX = Settings(
    "MATRIX",
    "m8[3] n8[3] k[10] a[4] b[4] c[2] d[2] saturates ands quads transposed_a transposed_b",
)
"""``quads``: the m8n8k4 of Volta, four products of eight lanes each."""


def plan_mma(i: Instruction, place: Place) -> UnitCall:
    """``mma.sync.aligned.SHAPE.row.col{.satfinite}.D.A.B.C{.xor.popc}``."""
    shape, name = matrix_shape(i)
    kinds, layouts = i.form.elements, i.form.layouts
    if len(kinds) != 4 or i.form.key != "mma" or i.form.others:
        raise UnknownFormError
    a, b = _multiplicands(kinds[1], kinds[2], MMA_SHAPES, name)
    volta = a == F16 and name == "m8n8k4"
    if len(layouts) != 2 or (not volta and layouts != ("row", "col")):
        raise UnknownFormError
    family = FAMILY[a]
    if i.form.rounding not in ("", "rn" if family == "d" else "") or (i.form.finite and family not in ("8", "4")):
        raise UnknownFormError
    if i.form.operation not in (("xor", "and") if family == "1" else ("",)):
        raise UnknownFormError
    registers = (2, 2) if volta else (
        multiplicand_registers(shape.m, shape.k, a), multiplicand_registers(shape.n, shape.k, b),
    )  # fmt: skip
    return _call(i, shape, kinds, (a, b), registers, layouts if volta else None)


def plan_wmma(i: Instruction, place: Place) -> UnitCall:
    """``wmma.mma{.xor.popc}.sync.aligned.LAYOUT.LAYOUT.SHAPE.D{.A.B}.C{.satfinite}``."""
    shape, name = matrix_shape(i)
    kinds = i.form.elements
    if len(kinds) == 2:
        kinds = (kinds[0], "f16", "f16", kinds[1])
    a, b = _multiplicands(kinds[1], kinds[2], WMMA_SHAPES, name)
    if a in (S4, U4, B1) and i.form.layouts != ("row", "col"):
        raise UnknownFormError
    if i.form.rounding not in ("", "rn") or (i.form.finite and FAMILY[a] not in ("8", "4")):
        raise UnknownFormError
    registers = wmma_registers(shape.m, shape.k, a), wmma_registers(shape.n, shape.k, b)
    return _call(i, shape, kinds, (a, b), registers, None)


def wmma_registers(rows: int, k: int, kind: int) -> int:
    """Registers per lane of a multiplicand of wmma; f16 has always eight."""
    return 8 if kind == F16 else multiplicand_registers(rows, k, kind)


def _call(
    i: Instruction, shape: Shape, kinds: tuple[str, ...], pair: tuple[int, int], registers: tuple[int, int],
    layouts: tuple[str, ...] | None,
) -> UnitCall:  # fmt: skip
    """Check accumulators and registers, and pack the rest; ``layouts`` only of Volta's m8n8k4."""
    a, b = pair
    c, d = kinds[3], kinds[0]
    accumulates = ACCUMULATES.get(FAMILY[a], ("s32",))
    if c not in accumulates or d not in accumulates:
        raise UnknownFormError
    if c != d and not (a == F16 and (layouts is not None or i.opcode == "wmma")):
        raise UnknownFormError
    groups = [list(elements(operand)) for operand in i.operands]
    accumulators = [8, 4][d == "f16"] if layouts is not None else 0
    wanted = (
        accumulators or accumulator_registers(shape, ACCUMULATORS[d]), registers[0], registers[1],
        ([8, 4][c == "f16"] if layouts is not None else 0) or accumulator_registers(shape, ACCUMULATORS[c]),
    )  # fmt: skip
    if tuple(map(len, groups)) != wanted:
        found = ", ".join(str(len(group)) for group in groups)
        raise UnknownFormError(f"{i.full_opcode} with {found} registers, which must be {', '.join(map(str, wanted))}")
    settings = MATRIX.pack(
        m8=shape.m // 8, n8=shape.n // 8, k=shape.k, a=a, b=b, c=ACCUMULATORS[c], d=ACCUMULATORS[d],
        saturates=i.form.finite, ands=i.form.operation == "and", quads=layouts is not None,
        transposed_a=layouts is not None and layouts[0] == "col",
        transposed_b=layouts is not None and layouts[1] == "col",
    )  # fmt: skip
    multiplicand = 64 if a == F64 else 32
    accumulator = 64 if ACCUMULATORS[c] == ACC_F64 else 32
    inputs: list[tuple[Operand, int] | None] = [None] * (C_SLOT + len(groups[3]))
    for first, group, width in ((0, groups[1], multiplicand), (B_SLOT, groups[2], multiplicand),
                                (C_SLOT, groups[3], accumulator)):  # fmt: skip
        for number, operand in enumerate(group):
            if operand is None:
                raise UnknownFormError
            inputs[first + number] = (operand, width)
    return UnitCall("matrix", settings, tuple(inputs), tuple((d, accumulator) for d in groups[0]), False)


def matrix_shape(i: Instruction) -> tuple[Shape, str]:
    """The shape among the modifiers, and its text."""
    found = SHAPE.fullmatch(i.form.shape)
    if found is None:
        raise UnknownFormError
    return Shape(*map(int, found.groups())), found[0]


def _multiplicands(a: str, b: str, shapes: dict[int, tuple[str, ...]], name: str) -> tuple[int, int]:
    """Types of A and B, which must be of one family, in a shape that the family has."""
    if a not in TYPES or b not in TYPES or FAMILY[TYPES[a]] != FAMILY[TYPES[b]]:
        raise UnknownFormError
    if name not in shapes.get(TYPES[a], ()):
        raise UnknownFormError
    return TYPES[a], TYPES[b]
