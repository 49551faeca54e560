"""Share of each instruction in a profile: its class, and the floating-point operations a thread performs in it."""

import re

import numpy as np

from rayplay.formats.schema.trace import OPERATION_CLASSES
from rayplay.ptx.ir import Instruction
from rayplay.ptx.isa.describe import describe
from rayplay.ptx.isa.matrix import SHAPE
from rayplay.ptx.isa.table import TABLE
from rayplay.ptx.program import Program

FLOATING_POINT_CLASSES = ("fp32", "fp64", "fp16", "sfu")
PRECISIONS = ("single", "double", "half", "matrix")


def class_numbers(program: Program) -> np.ndarray:
    """uint8[instructions]: the class of every instruction of a launch, an index of ``OPERATION_CLASSES``."""
    names = [describe(i, f).operation_class for f in program.functions for i in f.body]
    return np.array([OPERATION_CLASSES.index(name) for name in names], np.uint8)


def operations(program: Program) -> np.ndarray:
    """float64[instructions, PRECISIONS]: floating-point operations that a thread performs in each instruction.

    Of a matrix instruction, which the 32 threads of a warp perform together, a thread's share.
    """
    rows = [_operations(i) for f in program.functions for i in f.body]
    return np.array(rows, np.float64).reshape(-1, len(PRECISIONS))


def _operations(i: Instruction) -> tuple[float, float, float, float]:
    if i.opcode in ("mma", "wmma") and (shape := SHAPE.search(i.full_opcode)) and "load" not in i.modifiers:
        m, n, k = map(int, shape.groups())
        is_float = any(re.fullmatch(r"(b?f16|tf32|f32|f64|e4m3|e5m2).*", modifier) for modifier in i.modifiers)
        is_product = i.opcode == "mma" or "mma" in i.modifiers
        return 0.0, 0.0, 0.0, 2.0 * m * n * k / 32 if is_float and is_product else 0.0
    kind = next((t for t in reversed(i.modifiers) if re.fullmatch(r"b?f(16|32|64)(x2)?", t)), "")
    count = float(TABLE[i.form.key].flops if kind else 0) * (2 if kind.endswith("x2") else 1)
    width = re.sub(r"x2$", "", kind)[-2:]
    return count if width == "32" else 0.0, count if width == "64" else 0.0, count if width == "16" else 0.0, 0.0
