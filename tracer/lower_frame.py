"""The frame of an LLVM function, which runs a part of a PTX function: how it is entered, dispatches, and is left.

Registers and the state of control (``STATE``) are stack slots, which LLVM turns into registers. They are filled from
the activation on entry, and saved there before the function returns in order to be entered again.
"""

from tracer.driver_state import ACTIVATION, FULL, RETURNED, STACK_ENTRY_BYTES
from tracer.lower_emit import ALL, Emitter
from tracer.lower_flow import Flow

STATE = ("pc", "reconvergence", "mask", "live")
RECORDS = ("visit", "access", "address")
JUMP = -1  # why a part returned: control goes on in another one


class Entries:
    """Where the parts of a function are entered.

    resumes    part and label of each place to go on after a suspension; its number follows those of the blocks.
    dispatched blocks that are entered from the stack or from another part.
    """

    def __init__(self) -> None:
        self.resumes: list[tuple[int, str]] = []
        self.dispatched: set[int] = {0}


class Frame:
    """Everything around the blocks of one part; ``accesses``: whether any of them records some."""

    def __init__(self, e: Emitter, flow: Flow, part: int, entries: Entries, accesses: bool) -> None:
        self.e = e
        self.flow = flow
        self.part = part
        self.entries = entries
        self.buffers = RECORDS if accesses else RECORDS[:1]
        self._far: set[int] = set()
        self._saves: list[tuple[str, int]] = []

    def label_of(self, block: int) -> str:
        """Where to branch for a block; those of other parts are entered through their frames."""
        if block in self.flow.parts[self.part]:
            return f"b{block}"
        self.entries.dispatched.add(block)
        self._far.add(block)
        return f"far{block}"

    def resume(self) -> tuple[int, str]:
        """Number and label of a new place to go on after a suspension."""
        label = self.e.label()
        self.entries.resumes.append((self.part, label))
        return self.flow.parts[-1].stop + len(self.entries.resumes) - 1, label

    def save(self, reason: int, needed: int) -> None:
        """Return in order to be entered again; ``needed`` are the registers, as bits, that are then of use."""
        label = self.e.label()
        self.e.put(f"store i64 {reason}, ptr %reason")
        self.e.put(f"br label %{label}")
        self._saves.append((label, needed))

    def room(self, pc: int | None, needed: int) -> None:
        """Return unless the record buffers have room for every block of the part once; None: ``pc`` is set."""
        e = self.e
        limits = [e.machine(f"{name}_limit") for name in self.buffers]
        nexts = [e.op(f"load i64, ptr %{name}.next") for name in self.buffers]
        tests = [e.op(f"icmp ule i64 {at}, {limit}") for at, limit in zip(nexts, limits, strict=True)]
        test = tests[0]
        for other in tests[1:]:
            test = e.op(f"and i1 {test}, {other}")
        full, run = e.label(), e.label()
        e.put(f"br i1 {test}, label %{run}, label %{full}, !prof !0")
        e.put(f"{full}:")
        if pc is not None:
            e.put(f"store i32 {pc}, ptr %pc")
        self.save(FULL, needed)
        e.put(f"{run}:")

    def open(self, name: str) -> None:
        """The head of the function: stack slots, and what the activation and the machine hold for them."""
        e = self.e
        e.put(f"define i64 @{name}(ptr noalias %machine, ptr noalias %activation) #0 {{")
        e.put("entry:")
        e.put(f"%arena = inttoptr i64 {e.machine('host_offset')} to ptr")
        e.put(f"%visit.origin = add i64 {e.machine('visit_origin')}, 0")
        e.put(f"%stack = getelementptr i8, ptr %activation, i64 {e.layout.stack_offset}")
        for state in STATE:
            e.put(f"%{state} = alloca i32")
            value = e.op(f"load i64, ptr {e.header(state)}")
            e.put(f"store i32 {e.op(f'trunc i64 {value} to i32')}, ptr %{state}")
        e.put("%depth = alloca i64")
        depth = e.header("depth")
        e.put(f"store i64 {e.op(f'load i64, ptr {depth}')}, ptr %depth")
        e.put("%reason = alloca i64")
        for record in RECORDS:
            e.put(f"%{record}.next = alloca i64")
            e.put(f"store i64 {e.machine(f'{record}_next')}, ptr %{record}.next")
        for width in (16, 32, 64, 128):
            for part in ("0", "1", "2", "result"):
                e.put(f"%lanes.{width}.{part} = alloca <32 x i{width}>, align 64")
        e.put("%lanes.left = alloca i32")
        for register in {**e.loaded, **e.stored}:
            kind, slot = e.slot(register)
            e.put(f"{slot} = alloca {kind}, align 64")
            place = e.at(e.layout.slots[register])
            e.put(f"store {kind} {e.op(f'load {kind}, ptr {place}, align 64')}, ptr {slot}, align 64")
        nobody = e.op(f"icmp eq i32 {e.op('load i32, ptr %mask')}, 0")
        e.put(f"br i1 {nobody}, label %pop, label %dispatch")

    def dispatch(self) -> None:
        """Go to the block or place in ``pc``; ``pop`` takes it off the stack."""
        e = self.e
        own = [block for block in sorted(self.entries.dispatched | self.flow.headers) if block in self._blocks]
        targets = [f"i32 {block}, label %b{block}" for block in own]
        for number, (part, label) in enumerate(self.entries.resumes, self.flow.parts[-1].stop):
            targets += [f"i32 {number}, label %{label}"] if part == self.part else []
        e.put("dispatch:")
        self.room(None, ALL)
        e.put(f"switch i32 {e.op('load i32, ptr %pc')}, label %elsewhere [ {' '.join(targets)} ]")
        self._pop()
        for block in sorted(self._far):
            e.put(f"far{block}:")
            e.put(f"store i32 {block}, ptr %pc")
            e.put("br label %elsewhere")
        e.put("elsewhere:")
        self.save(JUMP, ALL)

    @property
    def _blocks(self) -> range:
        return self.flow.parts[self.part]

    def _pop(self) -> None:
        e = self.e
        e.put("pop:")
        depth = e.op("load i64, ptr %depth")
        e.put(f"br i1 {e.op(f'icmp eq i64 {depth}, 0')}, label %returned, label %next")
        e.put("next:")
        below = e.op(f"sub i64 {depth}, 1")
        e.put(f"store i64 {below}, ptr %depth")
        entry = e.op(f"getelementptr i8, ptr %stack, i64 {e.op(f'mul i64 {below}, {STACK_ENTRY_BYTES}')}")
        e.put(f"store i32 {e.op(f'load i32, ptr {entry}')}, ptr %pc")
        second = e.op(f"getelementptr i32, ptr {entry}, i64 1")
        e.put(f"store i32 {e.op(f'load i32, ptr {second}')}, ptr %reconvergence")
        third = e.op(f"load i32, ptr {e.op(f'getelementptr i32, ptr {entry}, i64 2')}")
        mask = e.op(f"and i32 {third}, {e.op('load i32, ptr %live')}")
        e.put(f"store i32 {mask}, ptr %mask")
        e.put(f"br i1 {e.op(f'icmp eq i32 {mask}, 0')}, label %pop, label %dispatch")
        e.put("returned:")
        self.save(RETURNED, e.layout.returned)

    def close(self) -> None:
        """The ends: ``save`` keeps the registers, ``leave`` only the state of control."""
        e = self.e
        index = e.layout.liveness.index
        for label, needed in self._saves:
            e.put(f"{label}:")
            for register in e.stored:  # what is not needed must not be kept alive until here
                if not needed >> index[register] & 1:
                    kind, slot = e.slot(register)
                    e.put(f"store {kind} poison, ptr {slot}, align 64")
            e.put("br label %save")
        e.put("save:")
        for register in e.stored:
            kind, slot = e.slot(register)
            value = e.op(f"load {kind}, ptr {slot}, align 64")
            e.put(f"store {kind} {value}, ptr {e.at(e.layout.slots[register])}, align 64")
        e.put("br label %leave")
        e.put("leave:")
        for name in STATE:
            wide = e.op(f"zext i32 {e.op(f'load i32, ptr %{name}')} to i64")
            e.put(f"store i64 {wide}, ptr {e.header(name)}")
        e.put(f"store i64 {e.op('load i64, ptr %depth')}, ptr {e.header('depth')}")
        for record in RECORDS:
            e.put_machine(f"{record}_next", e.op(f"load i64, ptr %{record}.next"))
        e.put(f"ret i64 {e.op('load i64, ptr %reason')}")
        e.put("}")


def lower_parts(number: int, flow: Flow, entries: Entries) -> str:
    """The function that a launch calls for a PTX function of several parts: it goes from part to part."""
    owners = [flow.part_of(block) for block in range(flow.parts[-1].stop)] + [part for part, _ in entries.resumes]
    pc = ACTIVATION["pc"]
    parts = range(len(flow.parts))
    table = ", ".join(f"i32 {owner}" for owner in owners)
    targets = " ".join(f"i32 {part}, label %p{part}" for part in parts)
    calls = [
        f"p{part}:\n%r{part} = call i64 @f{number}.{part}(ptr %machine, ptr %activation)\nbr label %after"
        for part in parts
    ]
    results = ", ".join(f"[ %r{part}, %p{part} ]" for part in parts)
    return "\n".join((
        f"@owners{number} = private constant [{len(owners)} x i32] [ {table} ]",
        f"define i64 @f{number}(ptr noalias %machine, ptr noalias %activation) #0 {{",
        "br label %again",
        "again:",
        f"%place = getelementptr i64, ptr %activation, i64 {pc}",
        "%pc = load i64, ptr %place",
        f"%entry = getelementptr i32, ptr @owners{number}, i64 %pc",
        "%part = load i32, ptr %entry",
        f"switch i32 %part, label %nowhere [ {targets} ]",
        "nowhere:",
        "unreachable",
        *calls,
        "after:",
        f"%reason = phi i64 {results}",
        f"%jumps = icmp eq i64 %reason, {JUMP}",
        "br i1 %jumps, label %again, label %done",
        "done:",
        "ret i64 %reason",
        "}",
    ))  # fmt: skip
