"""State of the interpreter: an activation, its registers, and how operands are read and written."""

from collections.abc import Callable
from ctypes import c_uint8
from dataclasses import dataclass, field

import numpy as np

from rayplay.ptx.ir import Guard, Immediate, Instruction, Not, Operand, Register, Symbol
from rayplay.ptx.isa.special import WIDTHS
from rayplay.ptx.isa.types import TYPES, immediate_bits
from rayplay.tracer.abi.layout import LANES
from rayplay.tracer.abi.words import VISIT_BYTES
from rayplay.tracer.interp.arena import UNSIGNED, Arena
from rayplay.tracer.link.functions import LinkedFunction
from rayplay.tracer.link.variables import own_names
from rayplay.tracer.meaning import special
from rayplay.tracer.meaning.dispatch import unknown
from rayplay.tracer.memory.arena import DeviceMemory
from rayplay.tracer.record.buffers import Buffers

SIGNED = {8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}
FLOATS = {32: np.float32, 64: np.float64}
LANE = np.arange(LANES)


def splat(value: int, width: int) -> np.ndarray:
    """The low ``width`` bits of a number in all lanes."""
    if width == 1:
        return np.full(LANES, bool(value & 1))
    return np.full(LANES, value % (1 << width), UNSIGNED[width])


def resize(value: np.ndarray, width: int, signed: bool = False) -> np.ndarray:
    """Truncate or extend bits; 128 of them are Python's integers."""
    if 128 in (width, 128 if value.dtype == object else 0):
        return np.array([int(bits) & (1 << width) - 1 for bits in value], UNSIGNED[width])
    if width == 1 or value.dtype == bool:
        return (value & 1).astype(bool) if width == 1 else value.astype(UNSIGNED[width])
    if signed:
        return value.view(SIGNED[8 * value.itemsize]).astype(SIGNED[width]).view(UNSIGNED[width])
    return value.astype(UNSIGNED[width])


def lanes_of(mask: int) -> np.ndarray:
    """A lane mask as bool[32]."""
    return (mask >> LANE & 1).astype(bool)


@dataclass
class Activation:
    """A function's activation: bits of registers (uint16, uint32 or uint64[32], bool[32] for predicates), parameters as
    uint8[32, bytes], and the reconvergence stack of (block, reconvergence block, mask, whether its
    lanes wait to act together)."""

    linked: LinkedFunction
    start: int
    registers: dict[str, np.ndarray] = field(default_factory=dict)
    variables: dict[str, np.ndarray] = field(default_factory=dict)
    stack: list[tuple[int, int, int, int]] = field(default_factory=list)
    passes: dict[int, int] = field(default_factory=dict)  # of the loops in which lanes may wait
    outgoing: list[np.ndarray] = field(default_factory=list)  # arguments of the call in flight, uint8[32, bytes] each
    returned: list[np.ndarray] = field(default_factory=list)  # results of the function that returned last, likewise
    waiting: list[tuple[int, int]] = field(default_factory=list)  # functions and lanes of an indirect call still to run


class Lanes(Arena):
    """The running warp as instructions see it.

    ``active`` are the lanes that execute the current block; ``selected`` uint8[pixels and more] are the pixels that
    filter_shader lets pass, row by row.
    """

    def __init__(
        self,
        machine: np.ndarray,
        device: DeviceMemory,
        buffers: Buffers,
        outside: np.ndarray,
        symbols: dict[tuple[str, str], int],
        addresses: np.ndarray,
        selected: np.ndarray,
    ) -> None:
        super().__init__(machine, device, buffers, outside)
        self.selected = selected
        self.symbols = symbols
        self.addresses = addresses
        self.tids = np.zeros((3, LANES), np.uint32)
        self.local_offset = 0
        self.activation: Activation
        self.instruction: Instruction
        self.position = 0  # of the instruction in its block
        self.active = np.zeros(LANES, bool)
        self.carry = np.zeros(LANES, bool)
        self._names: dict[int, dict[str, int]] = {}

    def width_of(self, name: str) -> int:
        """Bits of a register."""
        return TYPES[self.activation.linked.function.registers[name].split(".")[-1]]

    def register(self, name: str) -> np.ndarray:
        """A register's bits; one that was never written is 0."""
        if name not in self.activation.registers:
            self.activation.registers[name] = splat(0, self.width_of(name))
        return self.activation.registers[name]

    def read(self, operand: "Operand | None", type_name: str) -> np.ndarray:
        """An operand's bits, as wide as ``type_name``."""
        width = TYPES[type_name]
        if isinstance(operand, Immediate):
            return splat(immediate_bits(operand, type_name), width)
        if isinstance(operand, Not):
            return ~self.read(operand.register, "pred")
        if isinstance(operand, Symbol):
            return resize(self.symbol_address(operand), width)
        assert isinstance(operand, Register)
        if operand.name in self.activation.linked.function.registers:
            return resize(self.register(operand.name), width, type_name[0] == "s")
        return resize(self.special(operand), width)

    def write(self, operand: "Operand | None", value: np.ndarray, signed: bool = False) -> None:
        """Assign a register in the lanes that execute the instruction."""
        if operand is None:
            return
        assert isinstance(operand, Register)
        value = resize(value, self.width_of(operand.name), signed)
        self.activation.registers[operand.name] = np.where(self.executing(), value, self.register(operand.name))

    def executing(self) -> np.ndarray:
        """The active lanes whose guard holds, bool[32]."""
        guard: Guard | None = self.instruction.guard
        if guard is None:
            return self.active
        return self.active & (self.read(guard.register, "pred") ^ guard.negated)

    def symbol_address(self, symbol: Symbol) -> np.ndarray:
        """A symbol's address per lane."""
        layout = self.activation.linked.layout
        name = symbol.name
        if name in layout.homes:
            self.move_home(name)
        if name in layout.locals:
            return self.local_address(name, symbol.offset)
        if name in layout.shared:
            return splat(layout.shared[name] + symbol.offset, 64)
        if name in layout.entry_params:
            return splat(self.machine("param_base") + layout.entry_params[name] + symbol.offset, 64)
        return splat(int(self.addresses[self.names()[name]]) + symbol.offset, 64)

    def names(self) -> dict[str, int]:
        """Numbers of the addresses that the running function may name."""
        linked = self.activation.linked
        if linked.number not in self._names:
            self._names[linked.number] = own_names(self.symbols, linked.module, linked.function)
        return self._names[linked.number]

    def special(self, register: Register) -> np.ndarray:
        """A special register."""
        name, component = register.name, register.component
        if name == "%laneid":
            return LANE.astype(np.uint32)
        if name in special.LANE_MASKS:
            return np.array([special.LANE_MASKS[name](lane) for lane in range(LANES)], np.uint32)
        if name == "%tid" and component in ("x", "y", "z"):
            return self.tids["xyz".index(component)]
        if (name, component) in special.UNIFORM:
            return splat(self.machine(special.UNIFORM[name, component]), 32)
        if name in special.CLOCKS:
            visits = (self.machine("visit_next") - self.machine("visit_origin")) // VISIT_BYTES
            ticks = visits * special.TICKS_OF_BLOCK + special.ticks_in_block(self.position)
            return splat(ticks >> 32 if name.endswith("_hi") else ticks, WIDTHS[name])
        if name in special.CONSTANTS:
            return splat(special.CONSTANTS[name], WIDTHS[name])
        if component == "w":
            return splat(0, 32)
        if name in special.CONSTANT_VECTORS:
            return splat(special.CONSTANT_VECTORS[name], 32)
        raise unknown(self.activation.linked.module, self.instruction)

    def move_home(self, name: str) -> None:
        """Copy a parameter whose address is taken to local memory, where the address points."""
        size = self.activation.linked.layout.lane_variables[name][1]
        data = self.activation.variables[name]
        for lane in np.flatnonzero(self.active):
            place = int(self.local_address(name, 0)[lane]) - self.machine("arena_first") + self.machine("host_offset")
            np.ctypeslib.as_array((c_uint8 * size).from_address(place))[:] = data[lane]

    def local_address(self, name: str, offset: int) -> np.ndarray:
        """Address of a local variable per lane."""
        first = self.machine("local_base") + self.local_offset + self.activation.linked.layout.locals[name] + offset
        return (first + (self.machine("first_thread") + LANE) * self.machine("local_bytes")).astype(np.uint64)


Handler = Callable[[Lanes, Instruction], None]
