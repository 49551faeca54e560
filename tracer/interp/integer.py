"""The meaning of integer and logic instructions: Python's integers, lane by lane."""

from collections.abc import Callable

import numpy as np

from rayplay.ptx.ir import Instruction
from rayplay.ptx.isa.types import TYPES
from rayplay.tracer.interp.arena import UNSIGNED
from rayplay.tracer.interp.values import Handler, Lanes


def typed(i: Instruction) -> tuple[str, int]:
    """The last type of an instruction and its bits."""
    return i.form.type, TYPES[i.form.type]


def numbers(w: Lanes, i: Instruction, index: int, name: str) -> list[int]:
    """Operand ``index`` of every lane as a Python integer of type ``name``."""
    width = TYPES[name]
    sign = 1 << (width - 1) if name[0] == "s" else 0
    return [(int(bits) ^ sign) - sign for bits in w.read(i.operands[index], name)]


def put(w: Lanes, i: Instruction, values: list[int], width: int, signed: bool = False) -> None:
    """Write integers, modulo 2**width."""
    w.write(i.operands[0], np.array([v % (1 << width) for v in values], UNSIGNED[width]), signed)


def _lanewise(function: Callable[..., int], sources: int = 2) -> Handler:
    """An instruction that is a function of its operands' integers, all of the instruction's type."""

    def run(w: Lanes, i: Instruction) -> None:
        name = i.form.type
        values = [numbers(w, i, k + 1, name) for k in range(sources)]
        put(w, i, [function(*lane) for lane in zip(*values, strict=True)], TYPES[name])

    return run


def run_mul_mad(w: Lanes, i: Instruction) -> None:
    """mul, mad: low, high or wide part of the product; .sat clamps the sum."""
    name, width = typed(i)
    product = [x * y for x, y in zip(numbers(w, i, 1, name), numbers(w, i, 2, name), strict=True)]
    if i.form.part == "hi":
        product = [p >> width for p in product]
    out = 2 * width if i.form.part == "wide" else width
    if i.opcode == "mad":
        product = [p + c for p, c in zip(product, numbers(w, i, 3, f"{name[0]}{out}"), strict=True)]
        if i.form.saturates:
            product = [clamp(p, "s", width) for p in product]
    put(w, i, product, out, name[0] == "s")


def clamp(value: int, kind: str, width: int) -> int:
    """The nearest integer of ``width`` bits, signed where ``kind`` is ``s``."""
    low, high = (-(1 << width - 1), (1 << width - 1) - 1) if kind == "s" else (0, (1 << width) - 1)
    return min(max(value, low), high)


def run_24(w: Lanes, i: Instruction) -> None:
    """mul24, mad24: the low 32 bits of the 48 that 24-bit factors give, or the high 32."""
    name = i.form.type
    half = 1 << 23 if name[0] == "s" else 0
    a, b = ([((v & 0xFFFFFF) ^ half) - half for v in numbers(w, i, k, "u32")] for k in (1, 2))
    result = [x * y >> (16 if i.form.part == "hi" else 0) for x, y in zip(a, b, strict=True)]
    if i.opcode == "mad24":
        result = [p + c for p, c in zip(result, numbers(w, i, 3, name), strict=True)]
        if i.form.saturates:
            result = [clamp(p, "s", 32) for p in result]
    put(w, i, result, 32)


def _quotient(a: int, b: int) -> int:
    if b == 0:
        return -1
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _remainder(a: int, b: int) -> int:
    return -1 if b == 0 else a - b * _quotient(a, b)


def run_count(w: Lanes, i: Instruction) -> None:
    """popc, clz, bfind: 32-bit results."""
    name, width = typed(i)
    values = numbers(w, i, 1, name if i.opcode == "bfind" else f"u{width}")
    if i.opcode == "popc":
        put(w, i, [v.bit_count() for v in values], 32)
    elif i.opcode == "clz":
        put(w, i, [width - v.bit_length() for v in values], 32)
    else:
        tops = [(v if v >= 0 else ~v).bit_length() - 1 for v in values]
        if i.form.shift_amount:
            tops = [-1 if top < 0 else width - 1 - top for top in tops]
        put(w, i, tops, 32)


def run_reverse(w: Lanes, i: Instruction) -> None:
    """brev."""
    width = TYPES[i.form.type]
    put(w, i, [int(f"{v:0{width}b}"[::-1], 2) for v in numbers(w, i, 1, f"u{width}")], width)


def run_predicate_logic(w: Lanes, i: Instruction) -> None:
    """and, or, xor, not of registers or predicates."""
    name = i.form.type
    a = w.read(i.operands[1], name)
    if i.opcode == "not":
        w.write(i.operands[0], ~a)
    else:
        b = w.read(i.operands[2], name)
        w.write(i.operands[0], {"and": a & b, "or": a | b, "xor": a ^ b}[i.opcode])


def run_clamp(w: Lanes, i: Instruction) -> None:
    """min, max; .relu also clamps at 0."""
    name = i.form.type
    pick = min if i.opcode == "min" else max
    results = [pick(a, b) for a, b in zip(numbers(w, i, 1, name), numbers(w, i, 2, name), strict=True)]
    put(w, i, [max(r, 0) for r in results] if i.form.relu else results, TYPES[name])


HANDLERS: dict[str, Handler] = {
    "mul": run_mul_mad, "div": _lanewise(_quotient), "rem": _lanewise(_remainder), "min": run_clamp, "max": run_clamp,
    "neg": _lanewise(lambda a: -a, 1), "abs": _lanewise(abs, 1), "cnot": _lanewise(lambda a: int(a == 0), 1),
    "sad": _lanewise(lambda a, b, c: c + abs(a - b), 3),
    "and": run_predicate_logic, "or": run_predicate_logic, "xor": run_predicate_logic, "not": run_predicate_logic,
    "popc": run_count, "clz": run_count, "bfind": run_count, "brev": run_reverse,
}  # fmt: skip
