"""The meaning of memory and warp instructions: device memory as bytes, one lane after the other."""

from collections.abc import Callable

import numpy as np

from rayplay.ptx.ir import Address, Immediate, Instruction, Operand, Register, Symbol
from rayplay.ptx.isa.types import TYPES, elements
from rayplay.tracer.abi.words import ILLEGAL_ADDRESS, LANES, MACHINE
from rayplay.tracer.interp.values import UNSIGNED, Lanes, mask_of
from rayplay.tracer.memory.arena import FIRST_ADDRESS
from rayplay.tracer.record.recorder import Buffers


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
            made[lane] = int.from_bytes(self.arena[at : at + width // 8].tobytes(), "little")
        return made

    def store(self, places: np.ndarray, lanes: np.ndarray, values: np.ndarray) -> None:
        """Write each set lane's value, lowest lane first."""
        data = as_bytes(values)
        for lane in np.flatnonzero(lanes):
            at = int(places[lane])
            self.arena[at : at + data.shape[1]] = data[lane]


def as_bytes(values: np.ndarray) -> np.ndarray:
    """The bits of every lane as uint8[32, bytes]; 128 bits are Python's integers."""
    if values.dtype == object:
        return np.array([list(int(value).to_bytes(16, "little")) for value in values], np.uint8)
    return values.reshape(LANES, 1).view(np.uint8).reshape(LANES, -1)


def from_bytes(data: np.ndarray) -> np.ndarray:
    """Bits of every lane from uint8[32, bytes]."""
    width = 8 * data.shape[1]
    if width == 128:
        return np.array([int.from_bytes(row.tobytes(), "little") for row in data], object)
    return np.ascontiguousarray(data).view(UNSIGNED[width]).reshape(LANES)


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
    name, space = i.form.type, i.form.space
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
            values.append(from_bytes(data[:, offset + step : offset + step + width // 8]))
    for target, value in zip(targets, values, strict=True):
        w.write(target, value, name[0] == "s")


def run_st(w: Lanes, i: Instruction, memory: Memory) -> None:
    """st: lanes write in order."""
    name, space = i.form.type, i.form.space
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
            data[lanes, offset + step : offset + step + width // 8] = as_bytes(value)[lanes]


def run_filter(w: Lanes, i: Instruction, memory: Memory, selected: np.ndarray) -> None:
    """filter_shader: 1 where the pixel is selected; ``selected`` is uint8[pixels and more], row by row."""
    first = w.machine("ctaid_y") * w.machine("width") + 32 * w.machine("ctaid_x")
    w.write(i.operands[0], selected[first : first + LANES].astype(np.uint32))


MEMORY: dict[str, Callable[[Lanes, Instruction, Memory], None]] = {"ld": run_ld, "ldu": run_ld, "st": run_st}
