"""The meaning of cvt: values of one type as values of another."""

import numpy as np

from ptx.ir import Instruction
from tracer.interpreter_float import as_bits, as_float, finished, flushed, saturated
from tracer.interpreter_values import FLOATS, UNSIGNED, Lanes
from tracer.lower_emit import TYPES, type_names

ROUND = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}


def run_cvt(w: Lanes, i: Instruction) -> None:
    """cvt: value to value; float to integer clamps and NaN gives 0."""
    out, name = type_names(i)
    bits = w.read(i.operands[1], name)
    if name == "f32" and "ftz" in i.modifiers:
        bits = flushed(bits)
    word = next((m for m in i.modifiers if m in ROUND), None)
    with np.errstate(all="ignore"):
        if name[0] == "f":
            value = ROUND[word](as_float(bits)) if word else as_float(bits)
            if out[0] == "f":
                result = finished(i, as_bits(value.astype(FLOATS[TYPES[out]])))
            else:
                result = np.array([_to_integer(float(v), out) for v in np.trunc(value)], UNSIGNED[TYPES[out]])
        else:
            numbers = [_signed(int(b), name) for b in bits]
            if out[0] == "f":
                wide = np.array(numbers, np.int64 if name[0] == "s" else np.uint64)
                result = wide.astype(FLOATS[TYPES[out]]).view(UNSIGNED[TYPES[out]])
                result = saturated(result) if "sat" in i.modifiers else result
            else:
                low, high = _range(out)
                if "sat" in i.modifiers:
                    numbers = [min(max(n, low), high) for n in numbers]
                result = np.array([n % (1 << TYPES[out]) for n in numbers], UNSIGNED[TYPES[out]])
    w.write(i.operands[0], result, out[0] == "s")


def _signed(bits: int, name: str) -> int:
    width = TYPES[name]
    return bits - (1 << width) if name[0] == "s" and bits >> (width - 1) else bits


def _range(name: str) -> tuple[int, int]:
    width = TYPES[name]
    return (-(1 << width - 1), (1 << width - 1) - 1) if name[0] == "s" else (0, (1 << width) - 1)


def _to_integer(value: float, out: str) -> int:
    low, high = _range(out)
    if value != value:
        return 0
    number = low if value <= low else high if value >= high else int(value)
    return number % (1 << TYPES[out])
