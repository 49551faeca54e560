"""The meaning of memory and warp instructions: device memory as bytes, one lane after the other."""

from collections.abc import Callable

import numpy as np

from ptx.ir import Address, Immediate, Instruction, Operand, Pair, Register, Symbol
from tracer.driver_state import ILLEGAL_ADDRESS, LANES, MACHINE
from tracer.interpreter_float import as_bits, as_float, flushed
from tracer.interpreter_int import Handler, numbers
from tracer.interpreter_values import UNSIGNED, Lanes, mask_of
from tracer.lower_atomic import ATOMICS
from tracer.lower_emit import TYPES, type_names
from tracer.lower_memory import elements, space_of
from tracer.memory import FIRST_ADDRESS
from tracer.record import Buffers


class IllegalAddressError(Exception):
    """An access outside memory, or not aligned; the machine's words say where."""

    code = ILLEGAL_ADDRESS


class Memory:
    """Device memory and the record of accesses to it."""

    def __init__(self, arena: np.ndarray, buffers: Buffers) -> None:
        self.arena = arena
        self.buffers = buffers

    def record(self, w: Lanes, address: np.ndarray, lanes: np.ndarray) -> None:
        """Append an access."""
        if not lanes.any():
            return
        b, m = self.buffers, w.machine_words
        row = (m[MACHINE["access_next"]] - b.starts[1]) // 16
        visit = (w.machine("visit_next") - w.machine("visit_origin")) // 8 - 1
        b.accesses[row] = (w.instruction_id, visit, mask_of(lanes), 0)
        place = (m[MACHINE["address_next"]] - b.starts[2]) // 8
        count = int(lanes.sum())
        b.addresses[place : place + count] = address[lanes]
        m[MACHINE["access_next"]] += 16
        m[MACHINE["address_next"]] += 8 * count

    def places(self, w: Lanes, address: np.ndarray, space: str, size: int, lanes: np.ndarray) -> np.ndarray:
        """Where in the arena each lane's bytes begin. Raises IllegalAddressError."""
        shared = space == "shared"
        first, limit = (0, w.machine("shared_bytes")) if shared else (FIRST_ADDRESS, w.machine("arena_bytes"))
        offset = address - np.uint64(first)
        bad = lanes & ((offset % np.uint64(size) != 0) | (offset // np.uint64(size) >= np.uint64(limit // size)))
        if bad.any():
            lane = int(np.flatnonzero(bad)[0])
            m = w.machine_words
            m[MACHINE["error_lane"]], m[MACHINE["error_address"]] = lane, address.view(np.int64)[lane]
            m[MACHINE["suspend_instruction"]] = w.instruction_id
            raise IllegalAddressError
        return offset + np.uint64(w.machine("shared_base") - FIRST_ADDRESS) if shared else offset

    def load(self, places: np.ndarray, lanes: np.ndarray, width: int) -> np.ndarray:
        """``width`` bits per set lane, 0 elsewhere."""
        made = np.zeros(LANES, UNSIGNED[width])
        for lane in np.flatnonzero(lanes):
            at = int(places[lane])
            made[lane] = self.arena[at : at + width // 8].view(UNSIGNED[width])[0]
        return made

    def store(self, places: np.ndarray, lanes: np.ndarray, values: np.ndarray) -> None:
        """Write each set lane's value, lowest lane first."""
        size = values.itemsize
        for lane in np.flatnonzero(lanes):
            at = int(places[lane])
            self.arena[at : at + size] = values[lane : lane + 1].view(np.uint8)


def effective_address(w: Lanes, operand: Operand | None) -> np.ndarray:
    """Address of every lane, uint64[32]."""
    assert isinstance(operand, Address)
    base = operand.base
    if isinstance(base, Symbol):
        return w.symbol_address(Symbol(base.name, base.offset + operand.offset))
    if isinstance(base, Immediate):
        return np.full(LANES, base.bits + operand.offset, np.uint64)
    assert isinstance(base, Register)
    width = w.width_of(base.name)
    value = [(int(v) + operand.offset) % (1 << width) for v in w.read(base, f"u{width}")]
    return np.array(value, np.uint64)


def lane_variable(w: Lanes, operand: Operand | None) -> tuple[np.ndarray, int] | None:
    """The bytes of a ``.param`` variable and the offset into it, when an address names one."""
    if isinstance(operand, Address) and isinstance(operand.base, Symbol):
        variable = w.activation.variables.get(operand.base.name)
        if variable is not None:
            return variable, operand.base.offset + operand.offset
    return None


def run_ld(w: Lanes, i: Instruction, memory: Memory) -> None:
    """ld: const and parameters are not recorded."""
    name, space = type_names(i)[-1], space_of(i)
    width = TYPES[name]
    targets = elements(i.operands[0])
    variable = lane_variable(w, i.operands[1])
    lanes = w.executing()
    if variable is None:
        address = effective_address(w, i.operands[1])
        places = memory.places(w, address, space, width // 8 * len(targets), lanes)
        if space not in ("const", "param"):
            memory.record(w, address, lanes)
    values = []
    for index in range(len(targets)):
        step = index * width // 8
        if variable is None:
            values.append(memory.load(places + np.uint64(step), lanes, width))
        else:
            data, offset = variable
            part = np.ascontiguousarray(data[:, offset + step : offset + step + width // 8])
            values.append(part.view(UNSIGNED[width]).reshape(LANES))
    for target, value in zip(targets, values, strict=True):
        w.write(target, value, name[0] == "s")


def run_st(w: Lanes, i: Instruction, memory: Memory) -> None:
    """st: lanes write in order."""
    name, space = type_names(i)[-1], space_of(i)
    width = TYPES[name]
    sources = elements(i.operands[1])
    variable = lane_variable(w, i.operands[0])
    lanes = w.executing()
    if variable is None:
        address = effective_address(w, i.operands[0])
        places = memory.places(w, address, space, width // 8 * len(sources), lanes)
        memory.record(w, address, lanes)
    for index, source in enumerate(sources):
        value, step = w.read(source, name), index * width // 8
        if variable is None:
            memory.store(places + np.uint64(step), lanes, value)
        else:
            data, offset = variable
            raw = value.reshape(LANES, 1).view(np.uint8)
            data[lanes, offset + step : offset + step + width // 8] = raw[lanes]


def run_atom(w: Lanes, i: Instruction, memory: Memory) -> None:
    """atom, red: one lane after the other, lowest first."""
    name, space = type_names(i)[-1], space_of(i)
    width = TYPES[name]
    first = int(i.opcode == "atom")
    address, lanes = effective_address(w, i.operands[first]), w.executing()
    places = memory.places(w, address, space, width // 8, lanes)
    memory.record(w, address, lanes)
    values = [w.read(operand, name) for operand in i.operands[first + 1 :]]
    result = np.zeros(LANES, UNSIGNED[width])
    operation = next(m for m in i.modifiers if m in ATOMICS)
    for lane in np.flatnonzero(lanes):
        one = np.zeros(LANES, bool)
        one[lane] = True
        old = memory.load(places, one, width)
        result[lane] = old[lane]
        new = _combined(operation, old[lane], [v[lane] for v in values], name, "ftz" in i.modifiers)
        memory.store(places, one, np.full(LANES, new, UNSIGNED[width]))
    if first:
        w.write(i.operands[0], result)


def _combined(operation: str, old: np.generic, operands: list[np.generic], name: str, ftz: bool) -> int:
    """What an atomic leaves in memory."""
    if name[0] == "f" and operation == "add":
        pair = [np.array([v]) for v in (old, operands[0])]
        a, b = (as_float(flushed(v) if ftz else v) for v in pair)
        with np.errstate(all="ignore"):
            bits = as_bits(a + b)
        return int(flushed(bits)[0] if ftz else bits[0])
    width = TYPES[name]
    sign = 1 << (width - 1) if name[0] == "s" else 0
    x, *rest = ((int(v) ^ sign) - sign for v in (old, *operands))
    y = rest[0]
    made = {
        "add": x + y, "and": x & y, "or": x | y, "xor": x ^ y, "min": min(x, y), "max": max(x, y), "exch": y,
        "inc": 0 if x >= y else x + 1, "dec": y if x == 0 or x > y else x - 1, "cas": rest[-1] if x == y else x,
    }  # fmt: skip
    return made[operation] % (1 << width)


def run_filter(w: Lanes, i: Instruction, memory: Memory, selected: np.ndarray) -> None:
    """filter_shader: 1 where the pixel is selected; ``selected`` is uint8[pixels and more], row by row."""
    first = w.machine("ctaid_y") * w.machine("width") + 32 * w.machine("ctaid_x")
    w.write(i.operands[0], selected[first : first + LANES].astype(np.uint32))


def run_shfl(w: Lanes, i: Instruction) -> None:
    """shfl: value of another lane; out of its segment, or from a lane that does not execute it, the lane's own."""
    a, b, c = (numbers(w, i, k, "u32") for k in (1, 2, 3))
    executing = w.executing()
    mode = next(m for m in i.modifiers if m in ("up", "down", "bfly", "idx"))
    values, valid = [], []
    for lane in range(LANES):
        segment, by = c[lane] >> 8 & 31, b[lane] & 31
        first = lane & segment
        last = first | (c[lane] & 31 & ~segment)
        source = {"up": lane - by, "down": lane + by, "bfly": lane ^ by, "idx": first | (by & ~segment)}[mode]
        inside = source >= last if mode == "up" else source <= last
        valid.append(inside)
        values.append(a[source & 31] if inside and executing[source & 31] else a[lane])
    target = i.operands[0]
    w.write(target.first if isinstance(target, Pair) else target, np.array(values, np.uint32))
    if isinstance(target, Pair):
        w.write(target.second, np.array(valid))


def run_vote(w: Lanes, i: Instruction) -> None:
    """vote over the lanes that execute it."""
    lanes = w.executing()
    holds = w.read(i.operands[1], "pred") & lanes
    if "ballot" in i.modifiers:
        w.write(i.operands[0], np.full(LANES, mask_of(holds), np.uint32))
        return
    every = bool((holds == lanes).all())
    answer = every if "all" in i.modifiers else bool(holds.any()) if "any" in i.modifiers else every or not holds.any()
    w.write(i.operands[0], np.full(LANES, answer))


def run_activemask(w: Lanes, i: Instruction) -> None:
    """The lanes that execute it."""
    w.write(i.operands[0], np.full(LANES, mask_of(w.executing()), np.uint32))


def run_match(w: Lanes, i: Instruction) -> None:
    """match: the executing lanes that hold the same value."""
    value, lanes = w.read(i.operands[1], type_names(i)[-1]), w.executing()
    same = np.array([mask_of((value == one) & lanes) for one in value], np.uint32)
    target = i.operands[0]
    if "any" in i.modifiers:
        w.write(target, same)
        return
    equal = same == mask_of(lanes)
    w.write(target.first if isinstance(target, Pair) else target, np.where(equal, same, np.uint32(0)))
    if isinstance(target, Pair):
        w.write(target.second, equal)


def run_redux(w: Lanes, i: Instruction) -> None:
    """redux: a reduction over the lanes that execute it."""
    name = type_names(i)[-1]
    values = [v for v, on in zip(numbers(w, i, 1, name), w.executing(), strict=True) if on]
    if not values:
        return
    total = values[0]
    word = next(m for m in i.modifiers if m in ("add", "and", "or", "xor", "min", "max"))
    for v in values[1:]:
        made = {"add": total + v, "and": total & v, "or": total | v, "xor": total ^ v}
        total = {**made, "min": min(total, v), "max": max(total, v)}[word]
    w.write(i.operands[0], np.full(LANES, total % (1 << 32), np.uint32))


WARP: dict[str, Handler] = {
    "shfl": run_shfl, "vote": run_vote, "activemask": run_activemask, "match": run_match, "redux": run_redux,
}  # fmt: skip
MEMORY: dict[str, Callable[[Lanes, Instruction, Memory], None]] = {
    "ld": run_ld, "ldu": run_ld, "st": run_st, "atom": run_atom, "red": run_atom,
}  # fmt: skip
