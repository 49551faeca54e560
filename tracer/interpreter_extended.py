"""The meaning of sums with carries and of dot products of packed bytes: Python's integers, lane by lane."""

import numpy as np

from ptx.ir import Instruction
from tracer.interpreter_int import Handler, numbers, put, run_mul_mad
from tracer.interpreter_values import LANES, SIGNED, UNSIGNED, Lanes
from tracer.lower_emit import TYPES, type_names


def run_add_sub(w: Lanes, i: Instruction) -> None:
    """add, sub, addc, subc."""
    name = type_names(i)[-1]
    width = TYPES[name]
    kind = f"{'s' if 'sat' in i.modifiers else 'u'}{width}"
    sign = 1 if i.opcode.startswith("add") else -1
    total = _sum(w, i, numbers(w, i, 1, kind), numbers(w, i, 2, kind), sign, width)
    if "sat" in i.modifiers:
        total = [min(max(t, -(1 << width - 1)), (1 << width - 1) - 1) for t in total]
    put(w, i, total, width)


def run_mad(w: Lanes, i: Instruction) -> None:
    """mad, and madc: a word of the product, plus c, plus the carry."""
    if i.opcode == "mad" and "cc" not in i.modifiers:
        run_mul_mad(w, i)
        return
    name = type_names(i)[-1]
    width = TYPES[name]
    products = [a * b for a, b in zip(numbers(w, i, 1, name), numbers(w, i, 2, name), strict=True)]
    words = [(p >> width if "hi" in i.modifiers else p) % (1 << width) for p in products]
    put(w, i, _sum(w, i, words, numbers(w, i, 3, f"u{width}"), 1, width), width)


def _sum(w: Lanes, i: Instruction, a: list[int], b: list[int], sign: int, width: int) -> list[int]:
    """a + sign * b; addc, subc and madc take the carry flag, .cc sets it."""
    carry = w.carry if i.opcode.endswith("c") else np.zeros(LANES, bool)
    total = [x + sign * (y + int(flag)) for x, y, flag in zip(a, b, carry, strict=True)]
    if "cc" in i.modifiers:
        w.carry = np.array([not 0 <= t < 1 << width for t in total])
    return total


def run_dot(w: Lanes, i: Instruction) -> None:
    """dp4a: each factor is signed or not as its type says."""
    dtypes = [SIGNED[8] if name[0] == "s" else UNSIGNED[8] for name in type_names(i)]
    results = numbers(w, i, 3, "u32")
    for lane, (a, b) in enumerate(zip(numbers(w, i, 1, "u32"), numbers(w, i, 2, "u32"), strict=True)):
        x, y = (np.array([word], "<u4").view(dtype).tolist() for word, dtype in zip((a, b), dtypes, strict=True))
        results[lane] += sum(p * q for p, q in zip(x, y, strict=True))
    put(w, i, results, 32)


HANDLERS: dict[str, Handler] = {
    "add": run_add_sub, "sub": run_add_sub, "addc": run_add_sub, "subc": run_add_sub,
    "mad": run_mad, "madc": run_mad, "dp4a": run_dot,
}  # fmt: skip
