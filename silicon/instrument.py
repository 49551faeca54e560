"""A launch's program with the plan's notes written into it: PTX to PTX, with the same results.

Two variants: ``count`` adds up the slots that each thread needs, ``record`` fills them. Slot ``s`` of lane ``l`` of a
warp lies ``32 s + l`` slots behind where the warp's records begin, so that equal steps of a warp are one transfer. The
cursor stops at ``limit``: threads that are not recorded begin there, and nothing is written behind the buffer.

The cursor is a register where no function is called, else a word a thread in device memory. Variables of the host:

    rayplay_records   address of the slots; of ``count`` without calls, of the counts
    rayplay_starts    address of the first slot of each warp, uint32; with calls of the cursor of each thread
    rayplay_limit     the first slot that is not recorded
    rayplay_places    where the first thread writes the addresses of its variables
"""

from dataclasses import dataclass, field, replace

from rayplay.ptx.flow.cfg import control_of, falls_through
from rayplay.ptx.ir import (
    Address,
    Function,
    Guard,
    Immediate,
    Instruction,
    Module,
    Position,
    Register,
    Symbol,
    Variable,
)
from rayplay.ptx.isa.form import instruction
from rayplay.ptx.isa.row import Control
from rayplay.silicon.plan import BlockPlan, Plan
from rayplay.tracer.abi.layout import LANES
from rayplay.tracer.link.functions import LinkedFunction, symbol_names
from rayplay.tracer.link.launches import ComputeLaunch
from rayplay.tracer.link.link import LinkedLaunch

SLOT_BYTES = 8
ROW_BYTES = LANES * SLOT_BYTES
RECORDS, STARTS, LIMIT, PLACES = "rayplay_records", "rayplay_starts", "rayplay_limit", "rayplay_places"
COUNT, RECORD = "count", "record"
FLOATS = ("f16", "f16x2", "bf16", "bf16x2", "f32", "f32x2", "f64")
FITTED = ("maxnreg", "minnctapersm")  # registers as the original needs them, which the notes do not fit
_NOWHERE = Position(0, 0)
_CONSTANTS = {RECORDS: ("b64", 8), STARTS: ("b64", 8), LIMIT: ("b32", 4), PLACES: ("b64", 8)}


@dataclass(frozen=True)
class Placed:
    """A shared or local variable of the entry whose address the first thread notes, as a generic one too if need be."""

    name: str
    space: str
    bytes: int


@dataclass(frozen=True)
class Instrumented:
    """A variant of a launch's program; ``places`` are the variables whose addresses it notes, two words each."""

    module: Module
    places: tuple[Placed, ...] = ()


@dataclass
class _Body:
    """Instructions of a function under construction."""

    registers: dict[str, str]
    instructions: list[Instruction] = field(default_factory=list)
    moved: dict[int, int] = field(default_factory=dict)  # old index of an instruction -> new one
    text: str = ""
    suffix: str = ""

    def register(self, name: str, kind: str) -> Register:
        self.registers[f"%rayplay_{name}{self.suffix}"] = kind
        return Register(f"%rayplay_{name}{self.suffix}")

    def put(self, opcode: str, *operands: object, guard: Guard | None = None) -> None:
        first, *modifiers = opcode.split(".")
        self.instructions.append(instruction(first, tuple(modifiers), operands, guard, _NOWHERE, opcode))  # type: ignore[arg-type]


def instrument(linked: LinkedLaunch, plan: Plan, launch: ComputeLaunch, variant: str) -> Instrumented:
    """The program of a linked launch, for its grid and block alone, that counts or records."""
    module = linked.functions[0].module
    places = _places(linked, plan)
    made = {
        f.function.name: _Writer(f, plan, launch, variant, places if f.function.is_entry else ()).function()
        for f in linked.functions
    }
    declared = {name: f for name, f in module.functions.items() if f.is_declaration and name not in made}
    constants = {name: Variable(name, "const", kind, size, size, _NOWHERE) for name, (kind, size) in _CONSTANTS.items()}
    source = f"{module.source_name} ({variant})"
    return Instrumented(
        replace(
            module, source_name=source, functions=declared | made, variables=module.variables | constants, aliases={},
            annotations=(),
        ),
        places,
    )  # fmt: skip


def _places(linked: LinkedLaunch, plan: Plan) -> tuple[Placed, ...]:
    """Shared and local variables that noted addresses can lie in."""
    entry = linked.functions[0]
    spaces = {a.space for block in plan.blocks for a in block.accesses}
    named = {name for f in linked.functions for i in f.function.body for name in symbol_names(i)}
    known = {**entry.module.variables, **entry.function.variables}
    return tuple(
        Placed(name, variable.space, variable.bytes) for name, variable in known.items()
        if variable.space in ("shared", "local") and name in named and spaces & {variable.space, "generic"}
    )  # fmt: skip


class _Writer:
    """Writes one function."""

    def __init__(
        self, f: LinkedFunction, plan: Plan, launch: ComputeLaunch, variant: str, places: tuple[Placed, ...]
    ) -> None:
        self.f, self.plan, self.launch, self.places = f, plan, launch, places
        self.records, self.in_memory = variant == RECORD, plan.calls
        taken = f.function.registers
        self.body = _Body(dict(taken))
        while any(name.startswith("%rayplay_") and name.endswith(self.body.suffix) for name in taken):
            self.body.suffix += "_"
        self.cursor = self.body.register("cursor", "b32")
        self.at = self.body.register("at", "b64")
        self.word = self.body.register("word", "b64")

    def function(self) -> Function:
        f, body = self.f.function, self.body
        self._prologue()
        starts = {block.first: number for number, block in enumerate(self.f.cfg.blocks)}
        slots: BlockPlan | None = None
        for position, i in enumerate(f.body):
            body.moved[position] = len(body.instructions)
            if position in starts:
                slots = self.plan.blocks[self.f.block_base + starts[position]]
                self._begin_block(self.f.block_base + starts[position], slots)
            assert slots is not None
            if self.records:
                self._notes(slots, position)
            if self._leaves(i):
                self._keep_count(i.guard)
            body.instructions.append(_rounded(i))
        if f.body and falls_through(f.body[-1]):
            self._keep_count(None)
        return replace(
            f, registers=body.registers, body=tuple(body.instructions),
            labels={name: body.moved.get(at, len(body.instructions)) for name, at in f.labels.items()},
            directives={name: v for name, v in f.directives.items() if name not in FITTED}, annotations=(),
        )  # fmt: skip

    def _prologue(self) -> None:
        put, r = self.body.put, self.body.register
        cta, thread = r("cta", "b32"), r("thread", "b32")
        self._linear(cta, "%ctaid", self.launch.grid)
        self._linear(thread, "%tid", self.launch.block)
        threads = self.launch.block[0] * self.launch.block[1] * self.launch.block[2]
        warps = -(-threads // LANES)
        if self.in_memory or not self.records:
            whole = r("whole", "b32")
            put("mad.lo.u32", whole, cta, Immediate(threads), thread)
            put("ld.const.u64", self.word, Address(Symbol(STARTS if self.in_memory else RECORDS)))
            put("mad.wide.u32", self.word, whole, Immediate(4), self.word)
            if not self.in_memory:
                put("mov.u32", self.cursor, Immediate(0))
            self._note_places(cta, thread)
            return
        self._note_places(cta, thread)
        warp = r("warp", "b32")
        put("shr.u32", warp, thread, Immediate(5))
        put("mad.lo.u32", warp, cta, Immediate(warps), warp)
        put("ld.const.u64", self.word, Address(Symbol(STARTS)))
        put("mad.wide.u32", self.word, warp, Immediate(4), self.word)
        put("ld.global.u32", self.cursor, Address(self.word))
        put("and.b32", thread, thread, Immediate(LANES - 1))
        put("add.u32", self.cursor, self.cursor, thread)

    def _linear(self, result: Register, special: str, lengths: tuple[int, int, int]) -> None:
        """The number of a CTA or thread, x fastest; lengths of 1 cost nothing."""
        put = self.body.put
        parts = [Register(special, axis) for axis, length in zip("xyz", lengths, strict=True) if length > 1]
        sizes = [length for length in lengths if length > 1]
        put("mov.u32", result, parts.pop() if parts else Immediate(0))
        other = self.body.register("part", "b32")
        while parts:
            put("mov.u32", other, parts.pop())
            put("mad.lo.u32", result, result, Immediate(sizes[len(parts)]), other)

    def _note_places(self, cta: Register, thread: Register) -> None:
        """Addresses of variables as the launch's first thread sees them; they may differ from run to run."""
        if not self.records or not self.places:
            return
        put, r = self.body.put, self.body.register
        first, at, place = r("first", "pred"), r("places", "b64"), r("place", "b64")
        guard = Guard(first, False)
        either = r("either", "b32")
        put("or.b32", either, cta, thread)
        put("setp.eq.u32", first, either, Immediate(0))
        put("ld.const.u64", at, Address(Symbol(PLACES)))
        for number, placed in enumerate(self.places):
            put("mov.u64", place, Symbol(placed.name))
            put("st.global.u64", Address(at, 16 * number), place, guard=guard)
            if self.plan.generic:
                put(f"cvta.{placed.space}.u64", place, place)
                put("st.global.u64", Address(at, 16 * number + 8), place, guard=guard)

    def _begin_block(self, number: int, block: BlockPlan) -> None:
        """At the head of a region: where its slots are, and the cursor behind them."""
        put = self.body.put
        if block.region > 0:
            if self.in_memory:
                put("ld.global.u32", self.cursor, Address(self.word))
            if self.records:
                put("ld.const.u64", self.at, Address(Symbol(RECORDS)))
                put("mad.wide.u32", self.at, self.cursor, Immediate(SLOT_BYTES), self.at)
                limit = self.body.register("limit", "b32")
                put("ld.const.u32", limit, Address(Symbol(LIMIT)))
                put("add.u32", self.cursor, self.cursor, Immediate(LANES * block.region))
                put("min.u32", self.cursor, self.cursor, limit)
            else:
                put("add.u32", self.cursor, self.cursor, Immediate(block.region))
            if self.in_memory:
                put("st.global.u32", Address(self.word), self.cursor)
        if self.records and block.number >= 0:
            own = self.body.register("own", "b16")
            put("mov.u16", own, Immediate(number))
            put("st.global.u16", Address(self.at, ROW_BYTES * block.number), own)

    def _notes(self, block: BlockPlan, position: int) -> None:
        for note in block.notes:
            if note.position != position:
                continue
            place = Address(self.at, ROW_BYTES * note.slot)
            kind = self.f.function.registers[note.register] if note.register else "u16"
            width = "u64" if kind.endswith("64") else "u32" if kind.endswith("32") else "u16"
            value: Register | Immediate = Register(note.register) if note.register else Immediate(0)
            self.body.put(f"st.global.{width}", place, value, guard=note.guard)

    def _leaves(self, i: Instruction) -> bool:
        ends = control_of(i) is Control.LEAVES and i.opcode in ("ret", "exit")
        return ends and not self.records and not self.in_memory

    def _keep_count(self, guard: Guard | None) -> None:
        if not self.records and not self.in_memory:
            self.body.put("st.global.u32", Address(self.word), self.cursor, guard=guard)


def _rounded(i: Instruction) -> Instruction:
    """The same with its rounding said, which forbids an assembler to fuse a multiplication and an addition."""
    if i.opcode not in ("add", "sub", "mul") or i.form.rounding or i.form.type not in FLOATS:
        return i
    return instruction(i.opcode, ("rn", *i.modifiers), i.operands, i.guard, i.position, i.text)
