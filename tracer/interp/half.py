"""The meaning of half precision and bfloat16 arithmetic, alone and in pairs: exact, then rounded once."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from rayplay.ptx.ir import Instruction
from rayplay.tracer.interp.floats import FUNCTIONS, extreme
from rayplay.tracer.interp.values import Handler, Lanes
from rayplay.tracer.meaning.exact import FORMATS, Number, add, decode, encode, multiply
from rayplay.tracer.meaning.floats import EXPONENT


def read_parts(w: Lanes, i: Instruction, index: int, name: str) -> list[list[int]]:
    """Bits of operand ``index`` for every lane, low half first, flushed under .ftz."""
    words = [int(bits) for bits in w.read(i.operands[index], name)]
    parts = [words] if not name.endswith("x2") else [[v & 0xFFFF for v in words], [v >> 16 for v in words]]
    if i.form.ftz:
        parts = [[flush(bits, name.removesuffix("x2")) for bits in part] for part in parts]
    return parts


def flush(bits: int, base: str) -> int:
    """A subnormal number becomes zero with its sign."""
    return bits if bits & EXPONENT[base] else bits & 0x8000


def joined(parts: list[list[int]]) -> np.ndarray:
    """Halves as words."""
    if len(parts) == 1:
        return np.array(parts[0], np.uint16)
    return np.array([low | high << 16 for low, high in zip(*parts, strict=True)], np.uint32)


def _function(i: Instruction, x: Number) -> Number:
    """ex2, tanh: through f64, as machine code does."""
    with np.errstate(all="ignore"):
        value = float(FUNCTIONS[i.opcode](np.full(32, float(x)))[0])
    return decode(int(np.float64(value).view(np.uint64)), FORMATS["f64"])


COMPUTE: dict[str, Callable[..., Number]] = {
    "add": lambda i, a, b: add(a, b), "sub": lambda i, a, b: add(a, -b), "mul": lambda i, a, b: multiply(a, b),
    "fma": lambda i, a, b, c: add(multiply(a, b), c), "min": extreme, "max": extreme, "ex2": _function,
    "tanh": _function,
}  # fmt: skip


def clamped(value: Number) -> Number:
    """.sat: between 0 and 1; NaN and -0 become +0."""
    return value if 0 < value < 1 else Fraction(1) if value >= 1 else 0.0


def run_half(w: Lanes, i: Instruction) -> None:
    """An operation of COMPUTE on every part of its operands."""
    name = i.form.type
    base = name.removesuffix("x2")
    kind = FORMATS[base]
    sources = [read_parts(w, i, index, name) for index in range(1, len(i.operands))]
    results: list[list[int]] = []
    for parts in zip(*sources, strict=True):
        results.append([])
        for lane in zip(*parts, strict=True):
            value = COMPUTE[i.opcode](i, *(decode(bits, kind) for bits in lane))
            if i.form.saturates:
                value = clamped(value)
            if i.form.relu and value <= 0:
                value = 0.0
            bits = encode(value, kind)
            results[-1].append(flush(bits, base) if i.form.ftz else bits)
    w.write(i.operands[0], joined(results))


def run_sign(w: Lanes, i: Instruction) -> None:
    """neg, abs: the sign bit alone."""
    parts = read_parts(w, i, 1, i.form.type)
    w.write(i.operands[0], joined([[b ^ 0x8000 if i.opcode == "neg" else b & 0x7FFF for b in p] for p in parts]))


HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(COMPUTE, run_half), "neg": run_sign, "abs": run_sign,
}  # fmt: skip
