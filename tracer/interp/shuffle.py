"""The meaning of instructions by which the lanes of a warp exchange values."""

import numpy as np

from rayplay.ptx.ir import Instruction, Operand, Pair
from rayplay.tracer.abi.layout import LANES
from rayplay.tracer.interp.arena import mask_of
from rayplay.tracer.interp.integer import numbers
from rayplay.tracer.interp.values import LANE, Handler, Lanes
from rayplay.tracer.meaning.floats import CANONICAL_NAN


def run_shfl(w: Lanes, i: Instruction) -> None:
    """shfl: value of another lane; out of its segment, or from a lane that does not execute it, the lane's own."""
    a, b, c = (numbers(w, i, k, "u32") for k in (1, 2, 3))
    executing = w.executing()
    mode = i.form.variant
    values, valid = [], []
    for lane in range(LANES):
        segment, by = c[lane] >> 8 & 31, b[lane] & 31
        first = lane & segment
        last = first | (c[lane] & 31 & ~segment)
        source = {"up": lane - by, "down": lane + by, "bfly": lane ^ by, "idx": first | (by & ~segment)}[mode]
        inside = source >= last if mode == "up" else source <= last
        valid.append(inside)
        values.append(a[source & 31] if inside and executing[source & 31] else a[lane])
    _write_pair(w, i.operands[0], np.array(values, np.uint32), np.array(valid))


def _write_pair(w: Lanes, target: Operand, value: np.ndarray, flag: np.ndarray) -> None:
    if isinstance(target, Pair):
        w.write(target.first, value)
        w.write(target.second, flag)
    else:
        w.write(target, value)


def participants(w: Lanes, i: Instruction, index: int) -> np.ndarray:
    """Per lane the lanes that it works with, uint32[32]: executing lanes within the mask of a .sync form."""
    running = np.full(LANES, mask_of(w.executing()), np.uint32)
    return running & w.read(i.operands[index], "b32") if i.form.synchronised else running


def run_vote(w: Lanes, i: Instruction) -> None:
    """vote: all, any, uni, ballot."""
    among = participants(w, i, 2)
    holding = np.uint32(mask_of(w.read(i.operands[1], "pred") & w.executing())) & among
    if i.form.variant == "ballot":
        return w.write(i.operands[0], holding)
    every, some = holding == among, holding != 0
    return w.write(i.operands[0], {"all": every, "any": some, "uni": every | ~some}[i.form.variant])


def run_activemask(w: Lanes, i: Instruction) -> None:
    """The lanes that execute it."""
    w.write(i.operands[0], np.full(LANES, mask_of(w.executing()), np.uint32))


def run_elect(w: Lanes, i: Instruction) -> None:
    """elect: the lowest lane leads."""
    among = participants(w, i, 1)
    leader = np.array([(int(m) & -int(m)).bit_length() - 1 if m else 32 for m in among], np.int64).astype(np.uint32)
    _write_pair(w, i.operands[0], leader, leader == LANE)


def run_match(w: Lanes, i: Instruction) -> None:
    """match: the lanes that hold the same value."""
    value, lanes = w.read(i.operands[1], i.form.type), w.executing()
    among = participants(w, i, 2)
    same = np.array([mask_of((value == one) & lanes) for one in value], np.uint32) & among
    if i.form.variant == "any":
        return w.write(i.operands[0], same)
    equal = same == among
    return _write_pair(w, i.operands[0], np.where(equal, same, np.uint32(0)), equal)


def run_redux(w: Lanes, i: Instruction) -> None:
    """redux: a reduction over the lanes that execute it with the same mask."""
    name = i.form.type
    mask, lanes = w.read(i.operands[2], "b32"), w.executing()
    word = i.form.operation
    values = numbers(w, i, 1, "u32" if name == "f32" else name)
    result = np.zeros(LANES, np.uint32)
    for own in dict.fromkeys(mask[lanes].tolist()):
        group = (mask == own) & lanes
        chosen = [value for value, on in zip(values, group, strict=True) if on]
        result[group] = _reduced_float(i, word, chosen) if name == "f32" else _reduced(word, chosen) % (1 << 32)
    w.write(i.operands[0], result)


def _reduced(word: str, values: list[int]) -> int:
    total = values[0]
    for v in values[1:]:
        made = {"add": total + v, "and": total & v, "or": total | v, "xor": total ^ v}
        total = {**made, "min": min(total, v), "max": max(total, v)}[word]
    return total


def _reduced_float(i: Instruction, word: str, bits: list[int]) -> int:
    """The least or greatest number; a NaN gives way to numbers, or (.NaN) to nothing."""
    if i.form.absolute:
        bits = [b & 0x7FFFFFFF for b in bits]
    found = [b for b in bits if b & 0x7FFFFFFF <= 0x7F800000]
    if not found or (i.form.keeps_nan and len(found) < len(bits)):
        return CANONICAL_NAN[32]
    ordered = sorted(found, key=lambda b: b if b < 1 << 31 else 0x7FFFFFFF - b)
    return ordered[0] if word == "min" else ordered[-1]


HANDLERS: dict[str, Handler] = {
    "shfl": run_shfl, "vote": run_vote, "activemask": run_activemask, "match": run_match, "redux": run_redux,
    "elect": run_elect,
}  # fmt: skip
