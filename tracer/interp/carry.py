"""The meaning of sums with carries, dot products and packed integers: Python's integers, lane by lane."""

from typing import Any

import numpy as np

from rayplay.ptx.ir import Instruction
from rayplay.tracer.interp.arena import UNSIGNED
from rayplay.tracer.interp.integer import numbers, put, run_24, run_mul_mad, typed
from rayplay.tracer.interp.values import LANES, SIGNED, Handler, Lanes


def run_add_sub(w: Lanes, i: Instruction) -> None:
    """add, sub, addc, subc."""
    _, width = typed(i)
    kind = f"{'s' if i.form.saturates else 'u'}{width}"
    sign = 1 if i.opcode.startswith("add") else -1
    a, b = numbers(w, i, 1, kind), numbers(w, i, 2, kind)
    if i.form.saturates:
        most = (1 << width - 1) - 1
        total = [min(max(x + sign * y, -most - 1), most) for x, y in zip(a, b, strict=True)]
    else:
        total = _sum(w, i, a, b, sign, width)
    put(w, i, total, width)


def run_mad(w: Lanes, i: Instruction) -> None:
    """mad, and madc: a word of the product, plus c, plus the carry."""
    if i.opcode == "mad" and not i.form.carries:
        run_mul_mad(w, i)
        return
    name, width = typed(i)
    products = [a * b for a, b in zip(numbers(w, i, 1, name), numbers(w, i, 2, name), strict=True)]
    words = [(p >> width if i.form.part == "hi" else p) % (1 << width) for p in products]
    put(w, i, _sum(w, i, words, numbers(w, i, 3, f"u{width}"), 1, width), width)


def _sum(w: Lanes, i: Instruction, a: list[int], b: list[int], sign: int, width: int) -> list[int]:
    """a + sign * b; addc, subc and madc take the carry flag, .cc sets it.

    A difference is ``a + ~b + 1``, so the flag of sub.cc is set where nothing was borrowed, as on hardware.
    """
    most = (1 << width) - 1
    carry = w.carry if i.opcode.endswith("c") else np.full(LANES, sign < 0)
    terms = b if sign > 0 else [most - y for y in b]
    total = [x + y + int(flag) for x, y, flag in zip(a, terms, carry, strict=True)]
    if i.form.carries:
        w.carry = np.where(w.executing(), np.array([t > most for t in total]), w.carry)
    return [t & most for t in total]


def run_dot(w: Lanes, i: Instruction) -> None:
    """dp4a, dp2a: each factor is signed or not as its type says; dp2a takes the halves of a and two bytes of b."""
    first, second = ((SIGNED if name[0] == "s" else UNSIGNED) for name in i.form.types)
    results = numbers(w, i, 3, "u32")
    for lane, (a, b) in enumerate(zip(numbers(w, i, 1, "u32"), numbers(w, i, 2, "u32"), strict=True)):
        x, y = np.array([a], "<u4"), np.array([b], "<u4").view(second[8]).tolist()
        if i.opcode == "dp4a":
            pairs = zip(x.view(first[8]).tolist(), y, strict=True)
        else:
            pairs = zip(x.view(first[16]).tolist(), y[2:] if i.form.part == "hi" else y[:2], strict=True)
        results[lane] += sum(p * q for p, q in pairs)
    put(w, i, results, 32)


def run_packed(w: Lanes, i: Instruction) -> None:
    """add, min and max of both halves of a word; .relu also clamps them at 0."""
    dtype: Any = SIGNED[16] if i.form.type[0] == "s" else UNSIGNED[16]
    a, b = (w.read(operand, "b32").view(dtype) for operand in i.operands[1:3])
    result = {"add": np.add, "min": np.minimum, "max": np.maximum}[i.opcode](a, b)
    if i.form.relu:
        result = np.maximum(result, dtype(0))
    w.write(i.operands[0], result.view(np.uint32))


HANDLERS: dict[str, Handler] = {
    "add": run_add_sub, "sub": run_add_sub, "addc": run_add_sub, "subc": run_add_sub,
    "mad": run_mad, "madc": run_mad, "mul24": run_24, "mad24": run_24, "dp4a": run_dot, "dp2a": run_dot,
}  # fmt: skip
PACKED_HANDLERS: dict[str, Handler] = dict.fromkeys(("add", "min", "max"), run_packed)
