"""Constants of floating-point results: canonical NaNs, fields of the formats, rounding modes, and series."""

import math

from rayplay.ptx.ir import Instruction

CANONICAL_NAN = {16: 0x7FFF, 32: 0x7FFFFFFF, 64: 0x7FF8000000000000}
SIGN = {32: 1 << 31, 64: 1 << 63}
EXPONENT = {"f16": 0x7C00, "bf16": 0x7F80, "f32": 0x7F800000, "f64": 0x7FF << 52}
ONE = {"f16": 0x3C00, "bf16": 0x3F80, "f32": 0x3F800000, "f64": 0x3FF << 52}
HALF_UPPER = 1 << 31  # rounds an f64 to its upper word

DIRECTED = {"rz": 0, "rp": 2, "rm": 3}  # numbers of llvm.set.rounding; 1 is to nearest

# ex2 and tanh of half precision and tanh of f32 are the same steps in f64 in both backends
EX2_TERMS = tuple(math.log(2) ** n / math.factorial(n) for n in range(11))
EX2_LIMIT = 200.0
TWO_LOG2_E = 2 / math.log(2)
TANH_SMALL = 2.0**-13


def directed_rounding(i: Instruction) -> str | None:
    """``rz``, ``rm`` or ``rp`` where the instruction asks for it."""
    return i.form.rounding if i.form.rounding in DIRECTED else None
