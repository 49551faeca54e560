"""mma and wmma.mma as calls of the matrix unit. Source: PTX ISA 9.0, 9.7.14 (wmma) and 9.7.15 (mma)."""

import re

from rayplay.ptx.ir import Instruction, Operand
from rayplay.ptx.isa.types import elements
from rayplay.tracer.units.call import Place, UnitCall, UnknownFormError, pack
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
from rayplay.tracer.units.modifiers import Modifiers

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
TYPE_WORDS = (*TYPES, "f32", "s32")


def plan_mma(i: Instruction, place: Place) -> UnitCall:
    """``mma.sync.aligned.SHAPE.row.col{.satfinite}.D.A.B.C{.xor.popc}``."""
    words = Modifiers(i, ("sync", "aligned"))
    shape, name = matrix_shape(words)
    kinds = words.take(TYPE_WORDS, 4)
    a, b = _multiplicands(kinds[1], kinds[2], MMA_SHAPES, name)
    layouts = words.take(("row", "col"), 2)
    volta = a == F16 and name == "m8n8k4"
    if not volta and layouts != ["row", "col"]:
        raise UnknownFormError
    registers = (2, 2) if volta else (
        multiplicand_registers(shape.m, shape.k, a), multiplicand_registers(shape.n, shape.k, b),
    )  # fmt: skip
    return _call(i, words, shape, kinds, (a, b), registers, layouts if volta else None)


def plan_wmma(i: Instruction, place: Place) -> UnitCall:
    """``wmma.mma{.xor.popc}.sync{.aligned}.LAYOUT.LAYOUT.SHAPE.D{.A.B}.C{.satfinite}``."""
    words = Modifiers(i, ("mma", "sync"))
    words.flag("aligned")  # PTX 6.0 leaves it out
    shape, name = matrix_shape(words)
    kinds = words.take(TYPE_WORDS, None)
    if len(kinds) == 2:
        kinds = [kinds[0], "f16", "f16", kinds[1]]
    if len(kinds) != 4:
        raise UnknownFormError
    a, b = _multiplicands(kinds[1], kinds[2], WMMA_SHAPES, name)
    layouts = words.take(("row", "col"), 2)
    if a in (S4, U4, B1) and layouts != ["row", "col"]:
        raise UnknownFormError
    registers = wmma_registers(shape.m, shape.k, a), wmma_registers(shape.n, shape.k, b)
    return _call(i, words, shape, kinds, (a, b), registers, None)


def wmma_registers(rows: int, k: int, kind: int) -> int:
    """Registers per lane of a multiplicand of wmma; f16 has always eight."""
    return 8 if kind == F16 else multiplicand_registers(rows, k, kind)


def _call(
    i: Instruction, words: Modifiers, shape: Shape, kinds: list[str], pair: tuple[int, int], registers: tuple[int, int],
    layouts: list[str] | None,
) -> UnitCall:  # fmt: skip
    """Check what is left of the modifiers, and the registers, and pack the rest."""
    a, b = pair
    family = FAMILY[a]
    c, d = kinds[3], kinds[0]
    if c not in ACCUMULATES.get(family, ("s32",)) or d not in ACCUMULATES.get(family, ("s32",)):
        raise UnknownFormError
    if c != d and not (a == F16 and (layouts is not None or i.opcode == "wmma")):
        raise UnknownFormError
    saturates = words.flag("satfinite") if family in ("8", "4") else False
    operation = words.take(("xor", "and"), 1) + words.take(("popc",), 1) if family == "1" else []
    if family == "d":
        words.flag("rn")
    words.finish()
    groups = [list(elements(operand)) for operand in i.operands]
    accumulators = [8, 4][d == "f16"] if layouts is not None else 0
    wanted = (
        accumulators or accumulator_registers(shape, ACCUMULATORS[d]), registers[0], registers[1],
        ([8, 4][c == "f16"] if layouts is not None else 0) or accumulator_registers(shape, ACCUMULATORS[c]),
    )  # fmt: skip
    if tuple(map(len, groups)) != wanted:
        found = ", ".join(str(len(group)) for group in groups)
        raise UnknownFormError(f"{i.full_opcode} with {found} registers, which must be {', '.join(map(str, wanted))}")
    settings = pack(
        (shape.m // 8, 3), (shape.n // 8, 3), (shape.k, 10), (a, 4), (b, 4), (ACCUMULATORS[c], 2),
        (ACCUMULATORS[d], 2), (saturates, 1), ("and" in operation, 1), (layouts is not None, 1),
        (layouts is not None and layouts[0] == "col", 1), (layouts is not None and layouts[1] == "col", 1),
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


def matrix_shape(words: Modifiers) -> tuple[Shape, str]:
    """The shape among the modifiers, and its text."""
    name = words.matching(SHAPE)
    found = SHAPE.fullmatch(name)
    assert found is not None
    return Shape(*map(int, found.groups())), name


def _multiplicands(a: str, b: str, shapes: dict[int, tuple[str, ...]], name: str) -> tuple[int, int]:
    """Types of A and B, which must be of one family, in a shape that the family has."""
    if a not in TYPES or b not in TYPES or FAMILY[TYPES[a]] != FAMILY[TYPES[b]]:
        raise UnknownFormError
    if name not in shapes.get(TYPES[a], ()):
        raise UnknownFormError
    return TYPES[a], TYPES[b]
