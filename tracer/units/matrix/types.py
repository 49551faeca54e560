"""Element types of matrix instructions and how fragments hold matrices (PTX ISA, matrix multiply-accumulate).

A register of 32 bits (64 for f64) holds ``elements_per_register`` elements that follow each other along k. A matrix is
a grid of blocks of 8 rows (columns of B) and four registers along k; lane ``l`` holds in register ``b`` the block
``b``'s row ``l / 4``, register ``l % 4`` along k. Blocks of A count down the rows first, blocks of B along k first.
Accumulators are blocks of 8 x 8, two neighbouring columns per lane, counted down the rows first. These are the layouts
of ``mma``; ``wmma``, whose layout PTX leaves open, has the same, its registers beyond the last block being copies.
"""

from dataclasses import dataclass

F16, BF16, TF32, F64, S8, U8, S4, U4, B1, E4M3, E5M2 = range(11)
TYPES = {
    "f16": F16, "bf16": BF16, "tf32": TF32, "f64": F64, "s8": S8, "u8": U8, "s4": S4, "u4": U4, "b1": B1,
    "e4m3": E4M3, "e5m2": E5M2,
}  # fmt: skip
BITS = {F16: 16, BF16: 16, TF32: 32, F64: 64, S8: 8, U8: 8, S4: 4, U4: 4, B1: 1, E4M3: 8, E5M2: 8}
ACC_F16, ACC_F32, ACC_S32, ACC_F64 = range(4)
ACCUMULATORS = {"f16": ACC_F16, "f32": ACC_F32, "s32": ACC_S32, "f64": ACC_F64}


@dataclass(frozen=True)
class Shape:
    """``m x n x k`` of one warp instruction."""

    m: int
    n: int
    k: int


def elements_per_register(kind: int) -> int:
    """How many elements a register of a multiplicand holds."""
    return 64 // BITS[kind] if kind == F64 else 32 // BITS[kind]


def multiplicand_registers(rows: int, k: int, kind: int) -> int:
    """Registers per lane of a multiplicand with ``rows`` rows of A (or columns of B)."""
    return rows // 8 * (k // (4 * elements_per_register(kind)))


def accumulator_registers(shape: Shape, kind: int) -> int:
    """Registers per lane of C and D."""
    elements = shape.m * shape.n // 32
    return elements // 2 if kind == ACC_F16 else elements
