"""The meaning of shifts, bit fields, byte permutations and tables of bits: Python's integers, lane by lane."""

import numpy as np

from rayplay.ptx.ir import Immediate, Instruction, Pair
from rayplay.ptx.isa.types import TYPES
from rayplay.tracer.interp.integer import numbers, put, typed
from rayplay.tracer.interp.values import Handler, Lanes
from rayplay.tracer.meaning.tables import PERMUTATIONS


def run_shift(w: Lanes, i: Instruction) -> None:
    """shl, shr: amounts of the width or more shift everything out."""
    name = i.form.type
    amounts = numbers(w, i, 2, "u32")
    values = numbers(w, i, 1, name)
    width = TYPES[name]
    if i.opcode == "shl":
        put(w, i, [v << s if s < width else 0 for v, s in zip(values, amounts, strict=True)], width)
    else:
        put(w, i, [v >> min(s, width) for v, s in zip(values, amounts, strict=True)], width)


def run_funnel(w: Lanes, i: Instruction) -> None:
    """shf: 64 bits {b, a} shifted, the high (.l) or low (.r) word kept."""
    a, b, c = (numbers(w, i, k, "u32") for k in (1, 2, 3))
    by = [min(s, 32) if i.form.bounds == "clamp" else s % 32 for s in c]
    both = [high << 32 | low for low, high in zip(a, b, strict=True)]
    moved = [(v << s) >> 32 if i.form.variant == "l" else v >> s for v, s in zip(both, by, strict=True)]
    put(w, i, moved, 32)


def run_bfe(w: Lanes, i: Instruction) -> None:
    """bfe, bit by bit as in the PTX manual."""
    name, width = typed(i)
    lanes = zip(numbers(w, i, 1, f"u{width}"), numbers(w, i, 2, "u32"), numbers(w, i, 3, "u32"), strict=True)
    results = []
    for a, b, c in lanes:
        pos, length = b & 0xFF, c & 0xFF
        sign = a >> min(pos + length - 1, width - 1) & 1 if name[0] == "s" and length else 0
        bits = (a >> pos + k & 1 if k < length and pos + k < width else sign for k in range(width))
        results.append(sum(bit << k for k, bit in enumerate(bits)))
    put(w, i, results, width)


def run_bfi(w: Lanes, i: Instruction) -> None:
    """bfi: the low bits of a replace bits of b at a position."""
    width = TYPES[i.form.type]
    name = f"u{width}"
    results = []
    lanes = zip(*(numbers(w, i, k, name) for k in (1, 2)), *(numbers(w, i, k, "u32") for k in (3, 4)), strict=True)
    for a, b, c, d in lanes:
        pos, length = c & 0xFF, d & 0xFF
        field = ((1 << length) - 1) << pos
        results.append(b & ~field | a << pos & field)
    put(w, i, results, width)


def run_bmsk(w: Lanes, i: Instruction) -> None:
    """bmsk: ones at a position."""
    pos, length = numbers(w, i, 1, "u32"), numbers(w, i, 2, "u32")
    if i.form.bounds == "wrap":
        pos, length = [p % 32 for p in pos], [n % 32 for n in length]
    put(w, i, [((1 << min(n, 32)) - 1) << min(p, 32) for p, n in zip(pos, length, strict=True)], 32)


def run_szext(w: Lanes, i: Instruction) -> None:
    """szext: the low n bits as a number with or without sign."""
    signed = i.form.type[0] == "s"
    results = []
    for a, n in zip(numbers(w, i, 1, "u32"), numbers(w, i, 2, "u32"), strict=True):
        n = n % 32 if i.form.bounds == "wrap" else min(n, 32)
        low = a & ((1 << n) - 1)
        results.append(low - (1 << n) if signed and n and low >> (n - 1) else low)
    put(w, i, results, 32)


def run_fns(w: Lanes, i: Instruction) -> None:
    """fns, step by step as in the PTX manual."""
    lanes = zip(numbers(w, i, 1, "u32"), numbers(w, i, 2, "s32"), numbers(w, i, 3, "s32"), strict=True)
    put(w, i, [_set_bit(mask, base, offset) for mask, base, offset in lanes], 32)


def _set_bit(mask: int, base: int, offset: int) -> int:
    count, step = abs(offset) - 1, 1 if offset > 0 else -1
    place = base
    while 0 <= place < 32:
        if mask >> place & 1:
            if count <= 0:
                return place
            count -= 1
        if offset == 0:
            break
        place += step
    return -1


def run_lop3(w: Lanes, i: Instruction) -> None:
    """lop3: any function of three bits, by its truth table; with .or or .and also whether the result is not 0."""
    table = i.operands[4]
    assert isinstance(table, Immediate)
    results = [
        sum((table.bits >> (4 * (a >> k & 1) + 2 * (b >> k & 1) + (c >> k & 1)) & 1) << k for k in range(32))
        for a, b, c in zip(*(numbers(w, i, k, "u32") for k in (1, 2, 3)), strict=True)
    ]
    target = i.operands[0]
    if isinstance(target, Pair):
        some, other = np.array([r != 0 for r in results]), w.read(i.operands[5], "pred")
        w.write(target.second, some | other if i.form.operation == "or" else some & other)
        w.write(target.first, np.array(results, np.uint32))
    else:
        w.write(target, np.array(results, np.uint32))


def run_prmt(w: Lanes, i: Instruction) -> None:
    """prmt: each result byte is one of eight, or its sign; a mode names four choices."""
    mode = i.form.variant
    results = []
    for a, b, c in zip(*(numbers(w, i, k, "u32") for k in (1, 2, 3)), strict=True):
        data = (b << 32 | a).to_bytes(8, "little")
        selector = PERMUTATIONS[mode][c & 3] if mode else c
        chosen = ((selector >> 4 * k & 7, selector >> 4 * k & 8) for k in range(4))
        out = [(255 if data[n] & 0x80 else 0) if replicate else data[n] for n, replicate in chosen]
        results.append(int.from_bytes(bytes(out), "little"))
    put(w, i, results, 32)


HANDLERS: dict[str, Handler] = {
    "shl": run_shift, "shr": run_shift, "shf": run_funnel, "bfe": run_bfe, "bfi": run_bfi, "bmsk": run_bmsk,
    "szext": run_szext, "fns": run_fns, "lop3": run_lop3, "prmt": run_prmt,
}  # fmt: skip
