"""The frame of an LLVM function, which runs a part of a PTX function: how it is entered, dispatches, and is left.

Hot registers (``tracer.emit.hot``) and the state of control (``STATE``) are stack slots, which LLVM turns into
registers. Each way in loads the live ones from the activation, and each way out saves the ones that are
needed when control comes back. All other registers stay in the activation.
"""

from rayplay.ptx.flow.spin import Spins
from rayplay.tracer.abi.words import ACTIVATION, IN_CALL, PASSES, PASSES_AGAIN, STACK_ENTRY_BYTES, STOP
from rayplay.tracer.emit.emitter import ALL, Emitter
from rayplay.tracer.emit.parts import Flow
from rayplay.tracer.link.layout import PASSES_BYTES

STATE = ("pc", "reconvergence", "mask", "live")
RECORDS = ("visit", "access", "address")
JUMP = -1  # why a part returned: control goes on in another one


class Entries:
    """Entry points of a function's parts.

    resumes    part and label of each place to go on after a suspension, and the registers, as bits, that it needs;
               its number follows the blocks' numbers.
    direct     blocks that are entered first, or by a jump from another part.
    dispatched blocks that are entered from the stack.
    """

    def __init__(self) -> None:
        self.resumes: list[tuple[int, str, int]] = []
        self.direct: set[int] = {0}
        self.dispatched: set[int] = set()


class Frame:
    """Everything around the blocks of one part; ``hot`` are the registers, as bits, that are not in the activation
    while it runs, ``accesses`` says whether any of its blocks records some."""

    def __init__(
        self, e: Emitter, flow: Flow, part: int, entries: Entries, hot: int, accesses: bool, spins: Spins
    ) -> None:
        self.e = e
        self.flow = flow
        self.part = part
        self.entries = entries
        self.hot = hot
        self.spins = spins
        self.takes_turns = spins.takes_turns
        self.buffers = RECORDS if accesses else RECORDS[:1]
        self._far: set[int] = set()
        self._saves: list[tuple[str, int]] = []

    def label_of(self, block: int) -> str:
        """Label of a block; a block of another part is entered through that part's frame."""
        if block in self.flow.parts[self.part]:
            return f"b{block}"
        self.entries.direct.add(block)
        self._far.add(block)
        return f"far{block}"

    def needed_at(self, block: int) -> int:
        """Registers, as bits, that lanes need at the top of a block, or that wait while it runs."""
        return self.e.layout.liveness.live_in[block] | self.flow.waiting[block]

    def resume(self, needed: int) -> tuple[int, str]:
        """Number and label of a new place to go on after a suspension."""
        label = self.e.label()
        self.entries.resumes.append((self.part, label, needed))
        return self.flow.parts[-1].stop + len(self.entries.resumes) - 1, label

    def save(self, reason: int, needed: int) -> None:
        """Return in order to be entered again; ``needed`` are the registers, as bits, that are then of use."""
        label = self.e.label()
        self.e.put(f"store i64 {reason}, ptr %reason")
        self.e.put(f"br label %{label}")
        self._saves.append((label, needed))

    def room(self, header: int) -> None:
        """At the head of a loop: return unless there is room in the record buffers."""
        full, run = self.e.label(), self.e.label()
        self._branch_on_room(run, full)
        self.e.put(f"{full}:")
        self.e.put(f"store i32 {header}, ptr %pc")
        self.save(STOP.full, self.needed_at(header))
        self.e.put(f"{run}:")

    def turn(self, block: int) -> None:
        """At the top of a block: return where other lanes have to run first (``tracer.warp.turns``)."""
        if not self.takes_turns:
            return
        e = self.e
        for number in self.spins.entries.get(block, ()):
            e.put(f"store i32 0, ptr {self._passes(number)}")
        if block in self.spins.heads:
            place = self._passes(self.spins.heads[block])
            passes = e.op(f"add i32 {e.op(f'load i32, ptr {place}')}, 1")
            e.put(f"store i32 {passes}, ptr {place}")
            self._return_if(block, e.op(f"icmp ugt i32 {passes}, {PASSES}"), STOP.turn, place)
        if block in self.spins.joins:
            word = e.header("parted")
            parted = e.op(f"trunc i64 {e.op(f'load i64, ptr {word}')} to i1")
            others = e.op(f"icmp ne i32 {e.op('load i32, ptr %mask')}, {e.op('load i32, ptr %live')}")
            self._return_if(block, e.op(f"and i1 {parted}, {others}"), STOP.join)

    def _passes(self, number: int) -> str:
        return self.e.op(f"getelementptr i8, ptr %activation, i64 {self.e.layout.passes + PASSES_BYTES * number}")

    def _return_if(self, block: int, test: str, reason: int, passes: str | None = None) -> None:
        """Return before a block, to be entered there again; the loop's passes then count from ``PASSES_AGAIN``."""
        self.entries.dispatched.add(block)
        stop, run = self.e.label(), self.e.label()
        self.e.put(f"br i1 {test}, label %{stop}, label %{run}, !prof !1")
        self.e.put(f"{stop}:")
        if passes is not None:
            self.e.put(f"store i32 {PASSES - PASSES_AGAIN}, ptr {passes}")
        self.e.put(f"store i32 {block}, ptr %pc")
        self.save(reason, ALL)
        self.e.put(f"{run}:")

    def _branch_on_room(self, run: str, full: str) -> None:
        """Checked once per loop iteration: past the limits the buffers still hold one visit per block and lane."""
        e = self.e
        limits = [e.machine(f"{name}_limit") for name in self.buffers]
        nexts = [e.op(f"load i64, ptr %{name}.next") for name in self.buffers]
        tests = [e.op(f"icmp ule i64 {at}, {limit}") for at, limit in zip(nexts, limits, strict=True)]
        test = tests[0]
        for other in tests[1:]:
            test = e.op(f"and i1 {test}, {other}")
        e.put(f"br i1 {test}, label %{run}, label %{full}, !prof !0")

    def open(self, name: str) -> None:
        """The head of the function: stack slots, the state of control, and the ways in."""
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
        hot = self._chosen(self.hot)
        for register in {**e.loaded, **e.stored}:
            kind, slot = e.slot(register)
            place = f"getelementptr i8, ptr %activation, i64 {e.layout.slots[register]}"
            e.put(f"{slot} = {f'alloca {kind}, align 64' if register in hot else place}")
        self._branch_on_room("admitted", "refused")
        e.put("refused:")
        e.put(f"store i64 {STOP.full}, ptr %reason")
        e.put("br label %leave")
        e.put("admitted:")
        e.put(f"%nobody = icmp eq i32 {e.op('load i32, ptr %mask')}, 0")
        e.put("br i1 %nobody, label %everything, label %enter")
        self._ways_in()

    def _ways_in(self) -> None:
        """To the place in ``pc`` with the registers that it needs; with all of them to what the stack may hold."""
        e = self.e
        ways = [(block, f"b{block}", self.needed_at(block)) for block in sorted(self.entries.direct | self.flow.headers)
                if block in self._blocks]  # fmt: skip
        resumes = enumerate(self.entries.resumes, self.flow.parts[-1].stop)
        ways += [(number, label, needed) for number, (part, label, needed) in resumes if part == self.part]
        targets = " ".join(f"i32 {number}, label %in.{label}" for number, label, _ in ways)
        e.put("enter:")
        e.put(f"switch i32 {e.op('load i32, ptr %pc')}, label %everything [ {targets} ]")
        for _, label, needed in ways:
            e.put(f"in.{label}:")
            self._load(needed)
            e.put(f"br label %{label}")
        e.put("everything:")
        self._load(ALL)
        e.put("br i1 %nobody, label %pop, label %dispatch")

    def _load(self, needed: int) -> None:
        e = self.e
        for register in self._chosen(needed & self.hot):
            kind, slot = e.slot(register)
            value = e.op(f"load {kind}, ptr {e.at(e.layout.slots[register])}, align 64")
            e.put(f"store {kind} {value}, ptr {slot}, align 64")

    def _chosen(self, bits: int) -> list[str]:
        """The registers of a set of bits that have slots in use."""
        index = self.e.layout.liveness.index
        return [register for register in {**self.e.loaded, **self.e.stored} if bits >> index[register] & 1]

    def dispatch(self) -> None:
        """Go to the block in ``pc``; ``pop`` takes it off the stack."""
        e = self.e
        own = [block for block in sorted(self.entries.dispatched) if block in self._blocks]
        targets = " ".join(f"i32 {block}, label %b{block}" for block in own)
        targets += f" i32 {IN_CALL}, label %called" if self.takes_turns else ""
        e.put("dispatch:")
        e.put(f"switch i32 {e.op('load i32, ptr %pc')}, label %elsewhere [ {targets} ]")
        if self.takes_turns:
            e.put("called:")
            self.save(STOP.called, ALL)
        self._pop()
        for block in sorted(self._far):
            e.put(f"far{block}:")
            e.put(f"store i32 {block}, ptr %pc")
            self.save(JUMP, self.needed_at(block))
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
        self.save(STOP.returned, e.layout.returned)

    def close(self) -> None:
        """The ways out: each keeps the registers that are needed, ``leave`` the state of control."""
        e = self.e
        for label, needed in self._saves:
            e.put(f"{label}:")
            for register in self._chosen(needed & self.hot):
                if register in e.stored:
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
    owners = [flow.part_of(block) for block in range(flow.parts[-1].stop)] + [part for part, _, _ in entries.resumes]
    pc = ACTIVATION.pc
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
