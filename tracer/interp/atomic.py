"""The meaning of atom and red: one lane after the other, lowest first."""

from collections.abc import Callable

import numpy as np

from rayplay.ptx.ir import Instruction
from rayplay.ptx.isa.types import HALVES, TYPES, elements
from rayplay.tracer.interp.arena import UNSIGNED
from rayplay.tracer.interp.floats import as_bits, as_float
from rayplay.tracer.interp.memory import effective_address
from rayplay.tracer.interp.values import Handler, Lanes
from rayplay.tracer.meaning.floats import CANONICAL_NAN
from rayplay.tracer.meaning.tables import ATOMIC_OPERANDS


def run_atom(w: Lanes, i: Instruction) -> None:
    """atom, red."""
    name, length = i.form.type, i.form.lanes
    size = TYPES[name] // 8
    first = int(i.opcode == "atom")
    operation = i.form.operation
    address, lanes = effective_address(w, i.operands[first]), w.executing()
    places = w.places(address, i.form.space, size * length, lanes)
    w.record(address, lanes)
    operands = i.operands[first + 1 : first + 1 + ATOMIC_OPERANDS.get(operation, 1)]
    values = [[w.read(part, name) for part in elements(operand)] for operand in operands]
    for index in range(length):
        target = elements(i.operands[0])[index] if first else None
        old = _each_lane(w, places + np.uint64(index * size), lanes, [v[index] for v in values], operation, name)
        w.write(target, old)


def _each_lane(
    w: Lanes, places: np.ndarray, lanes: np.ndarray, values: list[np.ndarray], operation: str, name: str
) -> np.ndarray:
    width = TYPES[name]
    result = np.zeros(len(lanes), UNSIGNED[width])
    for lane in np.flatnonzero(lanes):
        one = np.zeros(len(lanes), bool)
        one[lane] = True
        old = w.load(places, one, width)
        result[lane] = old[lane]
        old[lane] = combined(operation, old[lane], [v[lane] for v in values], name)
        w.store(places, one, old)
    return result


def combined(operation: str, old: np.generic, operands: list[np.generic], name: str) -> np.generic | int:
    """The value that an atomic stores."""
    if operation == "exch":
        return operands[0]
    if operation == "cas":
        return operands[1] if old == operands[0] else old
    if name in HALVES:
        return _halves(operation, int(old), int(operands[0]), name)
    if name in ("f32", "f64"):
        with np.errstate(all="ignore"):
            return as_bits(as_float(np.array([old])) + as_float(np.array([operands[0]])))[0]
    return _integer(operation, old, operands[0], name)


def _integer(operation: str, old: np.generic, operand: np.generic, name: str) -> int:
    width = TYPES[name]
    sign = 1 << (width - 1) if name[0] == "s" else 0
    x, y = ((int(v) ^ sign) - sign for v in (old, operand))
    made: dict[str, int] = {
        "add": x + y, "and": x & y, "or": x | y, "xor": x ^ y, "min": min(x, y), "max": max(x, y),
        "inc": 0 if x >= y else x + 1, "dec": y if x == 0 or x > y else x - 1,
    }  # fmt: skip
    return made[operation] % (1 << width)


def _halves(operation: str, old: int, new: int, name: str) -> int:
    """add, min, max of one or two 16-bit floats."""
    one = _f16 if name.startswith("f16") else _bf16
    made = one(operation, old & 0xFFFF, new & 0xFFFF)
    return made | one(operation, old >> 16, new >> 16) << 16 if name.endswith("x2") else made


def _f16(operation: str, old: int, new: int) -> int:
    a, b = (np.uint16(v).view(np.float16) for v in (old, new))
    with np.errstate(all="ignore"):
        return _chosen(operation, float(a), float(b), old, new, lambda: int((a + b).view(np.uint16)))


def _bf16(operation: str, old: int, new: int) -> int:
    a, b = (np.uint32(v << 16).view(np.float32) for v in (old, new))

    def add() -> int:
        bits = int((a + b).view(np.uint32))
        return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16 & 0xFFFF

    with np.errstate(all="ignore"):
        return _chosen(operation, float(a), float(b), old, new, add)


def _chosen(operation: str, a: float, b: float, old: int, new: int, add: Callable[[], int]) -> int:
    """A NaN gives way to a number in min and max; -0 is below +0."""
    if operation == "add":
        both_infinite = np.isinf(a) and np.isinf(b) and a != b
        return CANONICAL_NAN[16] if np.isnan(a) or np.isnan(b) or both_infinite else add()
    if np.isnan(a) or np.isnan(b):
        return CANONICAL_NAN[16] if np.isnan(a) and np.isnan(b) else new if np.isnan(a) else old
    low, high = sorted((old, new), key=lambda bits: (b if bits == new else a, not bits >> 15))
    return low if operation == "min" else high


HANDLERS: dict[str, Handler] = {"atom": run_atom, "red": run_atom}
