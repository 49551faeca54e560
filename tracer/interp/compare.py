"""The meaning of comparisons, selections and moves."""

from collections.abc import Callable

import numpy as np

from rayplay.ptx.ir import Instruction, Pair, Vector
from rayplay.ptx.isa.types import HALVES, TYPES
from rayplay.tracer.interp.arena import UNSIGNED
from rayplay.tracer.interp.floats import as_float, flushed
from rayplay.tracer.interp.half import read_parts
from rayplay.tracer.interp.integer import numbers, typed
from rayplay.tracer.interp.values import Handler, Lanes
from rayplay.tracer.meaning.exact import FORMATS, Number, decode
from rayplay.tracer.meaning.floats import ONE

ORDER: dict[str, Callable[[Number, Number], bool]] = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
}  # fmt: skip
UNSIGNED_WORDS = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
COMBINE = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}


def compare(word: str, a: Number, b: Number) -> bool:
    """A comparison of floats; those with a ``u`` hold for NaN, the others do not."""
    nan = a != a or b != b
    if word in ("num", "nan"):
        return nan == (word == "nan")
    return ORDER[word[:2]](a, b) if not nan else len(word) == 3


def comparisons(w: Lanes, i: Instruction, name: str) -> list[np.ndarray]:
    """The result of a comparison before a predicate is combined with it, bool[32]; two of packed types."""
    word = i.form.compare
    if name in HALVES:
        kind = FORMATS[name.removesuffix("x2")]
        pairs = zip(read_parts(w, i, 1, name), read_parts(w, i, 2, name), strict=True)
        return [
            np.array([compare(word, decode(x, kind), decode(y, kind)) for x, y in zip(*p, strict=True)]) for p in pairs
        ]
    if name[0] == "f":
        operands = [w.read(i.operands[k], name) for k in (1, 2)]
        if i.form.ftz and name == "f32":
            operands = [flushed(bits) for bits in operands]
        a, b = (as_float(bits).tolist() for bits in operands)
        return [np.array([compare(word, x, y) for x, y in zip(a, b, strict=True)])]
    kind_name = f"u{TYPES[name]}" if word in UNSIGNED_WORDS else name
    test = ORDER[UNSIGNED_WORDS.get(word, word)]
    pair = zip(numbers(w, i, 1, kind_name), numbers(w, i, 2, kind_name), strict=True)
    return [np.array([test(a, b) for a, b in pair])]


def _combine(w: Lanes, i: Instruction, value: np.ndarray) -> np.ndarray:
    word = i.form.operation
    return COMBINE[word](value, w.read(i.operands[3], "pred")) if word else value


def run_setp(w: Lanes, i: Instruction) -> None:
    """setp: p = (a cmp b) op c, and q = !(a cmp b) op c; of packed types p is the low half's and q the high half's."""
    values = comparisons(w, i, i.form.type)
    target = i.operands[0]
    if isinstance(target, Pair):
        first, second = (_combine(w, i, value) for value in (values[0], values[1] if values[1:] else ~values[0]))
        w.write(target.first, first)
        w.write(target.second, second)
    else:
        w.write(target, _combine(w, i, values[0]))


def run_set(w: Lanes, i: Instruction) -> None:
    """set: all ones, or 1.0, where the comparison holds; packed types per half."""
    out, name = i.form.types
    values = [_combine(w, i, value) for value in comparisons(w, i, name)]
    width = 16 if len(values) == 2 else TYPES[out]
    true = ONE.get(out.removesuffix("x2"), (1 << width) - 1)
    total = sum(np.where(value, true, 0).astype(np.uint64) << np.uint64(16 * k) for k, value in enumerate(values))
    w.write(i.operands[0], np.asarray(total).astype(UNSIGNED[TYPES[out]]))


def run_select(w: Lanes, i: Instruction) -> None:
    """selp, slct."""
    name = i.form.types[0]
    if i.opcode == "selp":
        where = w.read(i.operands[3], "pred")
    elif i.form.type == "s32":
        where = np.array([c >= 0 for c in numbers(w, i, 3, "s32")])
    else:
        bits = w.read(i.operands[3], "f32")
        where = as_float(flushed(bits) if i.form.ftz else bits) >= 0
    w.write(i.operands[0], np.where(where, w.read(i.operands[1], name), w.read(i.operands[2], name)))


def run_mov(w: Lanes, i: Instruction) -> None:
    """mov, also packing and unpacking of vectors."""
    name, width = typed(i)
    target, source = i.operands
    if isinstance(target, Vector) and isinstance(source, Vector):
        values = [w.read(element, name) for element in source.elements]
        for element, value in zip(target.elements, values, strict=True):
            w.write(element, value)
    elif isinstance(target, Vector):
        part = width // len(target.elements)
        value = w.read(source, name)
        for index, element in enumerate(target.elements):
            pieces = [int(bits) >> index * part & (1 << part) - 1 for bits in value]
            w.write(element, np.array(pieces, UNSIGNED[part]))
    elif isinstance(source, Vector):
        part = width // len(source.elements)
        total = [0] * len(w.active)
        for index, element in enumerate(source.elements):
            pieces = [int(bits) << index * part for bits in w.read(element, f"b{part}")]
            total = [t | p for t, p in zip(total, pieces, strict=True)]
        w.write(target, np.array(total, UNSIGNED[width]))
    else:
        w.write(target, w.read(source, name))


HANDLERS: dict[str, Handler] = {
    "selp": run_select, "slct": run_select, "setp": run_setp, "set": run_set, "mov": run_mov,
}  # fmt: skip
