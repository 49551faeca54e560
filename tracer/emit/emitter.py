"""LLVM IR text of one function, 32 lanes wide: fresh names, types, and reading and writing PTX operands."""

from collections.abc import Callable

from rayplay.ptx.ir import Function, Immediate, Instruction, Module, Not, Operand, Register, Symbol
from rayplay.ptx.isa.types import TYPES, immediate_bits
from rayplay.tracer.abi.words import RECORD_ALL
from rayplay.tracer.emit.special import read_special
from rayplay.tracer.emit.text import INT, Text, gather, scatter
from rayplay.tracer.link.layout import FunctionLayout

PIECES = (8, 4, 2, 1)
ALL = -1  # every register


class Emitter(Text):
    """Text of one function while it is being written; a value is the name or constant of a 32-lane vector.

    PTX registers are bit containers, integer vectors of 16, 32 or 64 bits, or ``i1`` for predicates. In a block they
    are SSA values; registers that are live afterwards have a slot, which LLVM makes a register again. ``waiting`` are
    the registers, as bits of ``Liveness``, whose values in inactive lanes are still needed (``tracer.emit.parts``);
    ``loaded`` and ``stored`` are the slots in use.
    """

    def __init__(
        self,
        module: Module,
        function: Function,
        layout: FunctionLayout,
        symbols: dict[str, int],
        records: int = RECORD_ALL,
        helpers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(module, helpers)
        self.function = function
        self.layout = layout
        self.symbols = symbols
        self.records = records
        self.values: dict[str, str] = {}
        self.written: dict[str, None] = {}
        self.waiting = ALL
        self.hot = True  # whether a warp can come by again without a suspension
        self.loaded: dict[str, None] = {}
        self.stored: dict[str, None] = {}

    def width_of(self, register: Register) -> int:
        """Bits of a register's container."""
        return TYPES[self.function.registers[register.name].split(".")[-1]]

    def slot(self, name: str) -> tuple[str, str]:
        """Type and pointer of the register's slot; a predicate is an i32."""
        width = TYPES[self.function.registers[name].split(".")[-1]]
        return "i32" if width == 1 else INT[width], f"%slot.{self.layout.slots[name]}"

    def load_register(self, name: str) -> str:
        """The value in the register's slot."""
        self.loaded[name] = None
        kind, pointer = self.slot(name)
        value = self.op(f"load {kind}, ptr {pointer}, align 64")
        return self.op(f"bitcast i32 {value} to <32 x i1>") if kind == "i32" else value

    def register(self, name: str) -> str:
        """The register's value at this point of the block."""
        if name not in self.values:
            known = name in self.layout.slots
            self.values[name] = self.load_register(name) if known else "zeroinitializer"
        return self.values[name]

    def read(self, operand: "Operand | None", type_name: str) -> str:
        """An operand's bits, as wide as ``type_name``."""
        width = TYPES[type_name]
        if isinstance(operand, Immediate):
            if width == 1:
                return f"splat (i1 {'true' if operand.bits else 'false'})"
            return f"splat (i{width} {immediate_bits(operand, type_name)})"
        if isinstance(operand, Not):
            return self.op(f"xor <32 x i1> {self.read(operand.register, 'pred')}, splat (i1 true)")
        if isinstance(operand, Symbol):
            return self.resize(self.symbol_address(operand), 64, width)
        if isinstance(operand, Register):
            if operand.name in self.function.registers:
                signed = type_name[0] == "s"
                return self.resize(self.register(operand.name), self.width_of(operand), width, signed)
            value, have = read_special(self, operand)
            return self.resize(value, have, width)
        raise self.unknown()

    def symbol_scalar(self, symbol: Symbol) -> str:
        """A symbol's uniform address as an i64; local variables have none."""
        if symbol.name in self.layout.shared:
            return str(self.layout.shared[symbol.name] + symbol.offset)
        if symbol.name in self.layout.entry_params:
            base = self.machine("param_base")
            return self.op(f"add i64 {base}, {self.layout.entry_params[symbol.name] + symbol.offset}")
        if symbol.name not in self.symbols:
            raise self.unknown(f"the address of {symbol.name}")
        table = self.op(f"inttoptr i64 {self.machine('symbols')} to ptr")
        pointer = self.op(f"getelementptr i64, ptr {table}, i64 {self.symbols[symbol.name]}")
        return self.op(f"add i64 {self.op(f'load i64, ptr {pointer}')}, {symbol.offset}")

    def symbol_address(self, symbol: Symbol) -> str:
        """A symbol's address in all lanes, 64 bits; local variables differ from lane to lane."""
        if symbol.name == "WARP_SZ":
            return "splat (i64 32)"
        if symbol.name in self.layout.homes:
            self.move_home(symbol.name)
        if symbol.name in self.layout.locals:
            base = self.register_local_base()
            return self.op(f"add <32 x i64> {base}, splat (i64 {self.layout.locals[symbol.name] + symbol.offset})")
        return self.splat(self.symbol_scalar(symbol), "i64")

    def move_home(self, name: str) -> None:
        """Copy a parameter whose address is taken to local memory, where the address points."""
        start, size = self.layout.lane_variables[name]
        first = self.op(f"add <32 x i64> {self.register_local_base()}, splat (i64 {self.layout.locals[name]})")
        offset = self.op(f"sub <32 x i64> {first}, {self.splat(self.machine('arena_first'), 'i64')}")
        home = self.op(f"getelementptr i8, ptr %arena, <32 x i64> {offset}")
        lanes, done = self.values["lanes"], 0
        while done < size:
            piece = next(p for p in PIECES if p <= size - done)
            source = self.lane_pointers(start + done, size)
            target = self.op(f"getelementptr i8, <32 x ptr> {home}, i64 {done}")
            scatter(self, gather(self, source, lanes, 8 * piece, 1), target, lanes, 8 * piece, 1)
            done += piece

    def lane_pointers(self, start: int, size: int) -> str:
        """Pointer to each lane's ``size`` bytes of the activation, lane after lane from ``start`` on."""
        offsets = ", ".join(f"i64 {start + lane * size}" for lane in range(32))
        return self.op(f"getelementptr i8, ptr %activation, <32 x i64> <{offsets}>")

    def local_offset(self) -> str:
        """Offset of this activation's variables in a thread's local memory."""
        return self.op(f"load i64, ptr {self.header('local_offset')}")

    def register_local_base(self) -> str:
        """Address of this activation's local memory in each lane."""
        if "local base" not in self.values:
            offset = self.local_offset()
            size = self.splat(self.machine("local_bytes"), "i64")
            first = self.splat(self.machine("first_thread"), "i64")
            lanes = ", ".join(f"i64 {lane}" for lane in range(32))
            thread = self.op(f"add <32 x i64> {first}, <{lanes}>")
            start = self.splat(self.op(f"add i64 {offset}, {self.machine('local_base')}"), "i64")
            bytes_before = self.op(f"mul <32 x i64> {thread}, {size}")
            self.values["local base"] = self.op(f"add <32 x i64> {bytes_before}, {start}")
        return self.values["local base"]

    def write(self, operand: "Operand | None", value: str, width: int, signed: bool = False) -> None:
        """Assign a destination register under the instruction's guard; ``None`` is the sink."""
        if operand is None:
            return
        if not isinstance(operand, Register) or operand.name not in self.function.registers:
            raise self.unknown()
        have = self.width_of(operand)
        value = self.resize(value, width, have, signed)
        guard = self.guard()
        if guard is not None:
            old = self.register(operand.name)
            value = self.op(f"select <32 x i1> {guard}, {INT[have]} {value}, {INT[have]} {old}")
        self.values[operand.name] = value
        self.written[operand.name] = None

    def guard(self) -> str | None:
        """The guard predicate of the current instruction, None without one."""
        assert self.instruction is not None
        if self.instruction.guard is None:
            return None
        value = self.read(self.instruction.guard.register, "pred")
        if self.instruction.guard.negated:
            return self.op(f"xor <32 x i1> {value}, splat (i1 true)")
        return value

    def lanes(self) -> str:
        """The lanes that execute the current instruction, ``<32 x i1>``."""
        guard = self.guard()
        if guard is None:
            return self.values["lanes"]
        return self.op(f"and <32 x i1> {self.values['lanes']}, {guard}")

    def spill(self, live: int) -> None:
        """Put the written registers that live on into their slots; where lanes wait for them, active lanes only."""
        index = self.layout.liveness.index
        for name in self.written:
            bit = 1 << index[name] if name in index else 0
            if not live & bit or name not in self.layout.slots:
                continue
            kind, pointer = self.slot(name)
            value = self.values[name]
            lanes = "<32 x i1>" if kind == "i32" else kind
            if self.waiting & bit:
                old = self.load_register(name)
                value = self.op(f"select <32 x i1> {self.values['lanes']}, {lanes} {value}, {lanes} {old}")
            if kind == "i32":
                value = self.op(f"bitcast <32 x i1> {value} to i32")
            self.put(f"store {kind} {value}, ptr {pointer}, align 64")
            self.stored[name] = None


Handler = Callable[[Emitter, Instruction], None]
