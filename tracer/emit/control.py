"""How basic blocks end, as LLVM IR: branches over a reconvergence stack, ends of lanes, and suspensions.

The stack follows one static rule. Where lanes part, the side whose target block comes first in the text runs first;
both wait at the branch's immediate post-dominator. A uniform branch jumps, which visits the same blocks as parting with
one empty side. Stack entries are int32 block, int32 reconvergence block, int32 mask.
"""

from dataclasses import replace

from rayplay.ptx.ir import Instruction
from rayplay.tracer.abi.words import STACK_ENTRY_BYTES, STOP
from rayplay.tracer.emit.emitter import ALL, Emitter
from rayplay.tracer.emit.frame import Frame


class Control:
    """Writes the ends of a function's blocks.

    ``meeting`` are the blocks at which some branch reconverges; ``needed`` are the registers, as bits, that are of use
    after the block that is being lowered.
    """

    def __init__(self, e: Emitter, frame: Frame, reconvergence: tuple[int, ...]) -> None:
        self.e = e
        self.frame = frame
        self.reconvergence = reconvergence
        self.meeting = set(reconvergence)
        self.needed = ALL

    def go(self, target: int | None) -> None:
        """Continue at a block with the current lanes; None: past the end of the text, where lanes end."""
        e = self.e
        if target is None:
            self.end_lanes(e.op("load i32, ptr %mask"))
            e.put("br label %pop")
        elif target in self.meeting:
            waiting = e.op(f"icmp eq i32 {e.op('load i32, ptr %reconvergence')}, {target}")
            e.put(f"br i1 {waiting}, label %pop, label %{self.frame.label_of(target)}")
        else:
            e.put(f"br label %{self.frame.label_of(target)}")

    def end_lanes(self, bits: str) -> None:
        """Take lanes out of the activation."""
        e = self.e
        live, others = e.op("load i32, ptr %live"), e.op(f"xor i32 {bits}, -1")
        e.put(f"store i32 {e.op(f'and i32 {live}, {others}')}, ptr %live")

    def push(self, block: int, reconvergence: str, mask: str) -> None:
        """Put an entry on the reconvergence stack."""
        e = self.e
        self.frame.entries.dispatched.add(block)
        depth = e.op("load i64, ptr %depth")
        offset = e.op(f"mul i64 {depth}, {STACK_ENTRY_BYTES}")
        entry = e.op(f"getelementptr i8, ptr %stack, i64 {offset}")
        e.put(f"store i32 {block}, ptr {entry}")
        e.put(f"store i32 {reconvergence}, ptr {e.op(f'getelementptr i32, ptr {entry}, i64 1')}")
        e.put(f"store i32 {mask}, ptr {e.op(f'getelementptr i32, ptr {entry}, i64 2')}")
        if self.frame.takes_turns:
            e.put(f"store i32 0, ptr {e.op(f'getelementptr i32, ptr {entry}, i64 3')}")
        e.put(f"store i64 {e.op(f'add i64 {depth}, 1')}, ptr %depth")

    def wait_at(self, block: int) -> None:
        """All current lanes will meet at ``block``, unless an entry below waits there already."""
        if block < 0:
            return
        e = self.e
        outer = e.op("load i32, ptr %reconvergence")
        new, same = e.label(), e.label()
        e.put(f"br i1 {e.op(f'icmp eq i32 {outer}, {block}')}, label %{same}, label %{new}")
        e.put(f"{new}:")
        self.push(block, outer, e.op("load i32, ptr %mask"))
        e.put(f"br label %{same}")
        e.put(f"{same}:")

    def branch(self, index: int, target: int, after: int | None) -> None:
        """``bra`` of block ``index``, predicated or not."""
        e = self.e
        if e.guard() is None or target == after:
            return self.go(target)
        mask = e.op("load i32, ptr %mask")
        taken = e.op(f"bitcast <32 x i1> {e.lanes()} to i32")
        kept = e.op(f"xor i32 {mask}, {taken}")
        some, all_taken, mixed, none = (e.label() for _ in range(4))
        e.put(f"br i1 {e.op(f'icmp eq i32 {taken}, 0')}, label %{none}, label %{some}")
        e.put(f"{none}:")
        self.go(after)
        e.put(f"{some}:")
        e.put(f"br i1 {e.op(f'icmp eq i32 {kept}, 0')}, label %{all_taken}, label %{mixed}")
        e.put(f"{all_taken}:")
        self.go(target)
        e.put(f"{mixed}:")
        if after is None:
            self.end_lanes(kept)
            e.put(f"store i32 {taken}, ptr %mask")
            return self.go(target)
        return self._part(index, (target, taken), (after, kept))

    def _part(self, index: int, one: tuple[int, str], other: tuple[int, str]) -> None:
        """Lanes go to two blocks: the lower one runs now, the other waits."""
        e = self.e
        (first, first_mask), (second, second_mask) = sorted((one, other))
        meet = self.reconvergence[index]
        self.wait_at(meet)
        if second != meet:
            self.push(second, str(meet), second_mask)
        if first == meet:
            e.put("br label %pop")
            return
        e.put(f"store i32 {meet}, ptr %reconvergence")
        e.put(f"store i32 {first_mask}, ptr %mask")
        e.put(f"br label %{self.frame.label_of(first)}")

    def branch_indexed(self, index: int, targets: tuple[int, ...], after: int | None) -> None:
        """``brx.idx``: lanes part by the index; one past the end takes the last target."""
        e = self.e
        i = e.instruction
        assert i is not None
        lanes = e.lanes()
        number = e.read(i.operands[0], "u32")
        sides: dict[int, str] = {}
        for position, target in enumerate(targets):
            last = position == len(targets) - 1
            here = e.op(f"icmp {'uge' if last else 'eq'} <32 x i32> {number}, splat (i32 {position})")
            bits = e.op(f"bitcast <32 x i1> {e.op(f'and <32 x i1> {here}, {lanes}')} to i32")
            sides[target] = e.op(f"or i32 {sides[target]}, {bits}") if target in sides else bits
        if i.guard is not None and after is not None:
            kept = e.op(f"xor i32 {e.op('load i32, ptr %mask')}, {e.op(f'bitcast <32 x i1> {lanes} to i32')}")
            sides[after] = e.op(f"or i32 {sides[after]}, {kept}") if after in sides else kept
        meet = self.reconvergence[index]
        self.wait_at(meet)
        for target in sorted(sides, reverse=True):
            if target != meet:
                side, done = e.label(), e.label()
                e.put(f"br i1 {e.op(f'icmp eq i32 {sides[target]}, 0')}, label %{done}, label %{side}")
                e.put(f"{side}:")
                self.push(target, str(meet), sides[target])
                e.put(f"br label %{done}")
                e.put(f"{done}:")
        e.put("br label %pop")

    def leave_lanes(self, after: int | None, ends_thread: bool = False) -> None:
        """``ret`` and ``exit``, predicated or not; ``ends_thread``: they leave the callers as well."""
        e = self.e
        gone = e.op(f"bitcast <32 x i1> {e.lanes()} to i32")
        self.end_lanes(gone)
        if ends_thread:
            place = e.header("exited")
            before, wide = e.op(f"load i64, ptr {place}"), e.op(f"zext i32 {gone} to i64")
            e.put(f"store i64 {e.op(f'or i64 {before}, {wide}')}, ptr {place}")
        if e.guard() is None:
            e.put("br label %pop")
            return
        rest = e.op(f"xor i32 {e.op('load i32, ptr %mask')}, {gone}")
        e.put(f"store i32 {rest}, ptr %mask")
        on = e.label()
        e.put(f"br i1 {e.op(f'icmp eq i32 {rest}, 0')}, label %pop, label %{on}")
        e.put(f"{on}:")
        self.go(after)

    def suspend(self, reason: int) -> None:
        """Leave the function; what the caller writes next runs when it is entered again."""
        e = self.e
        number, label = self.frame.resume(self.needed)
        e.put(f"store i32 {number}, ptr %pc")
        self.frame.save(reason, self.needed)
        e.put(f"{label}:")
        e.values, e.written = {}, {}

    def call_lanes(self, after: int | None) -> str:
        """The lanes of a call, kept for its return; when none is left, control goes on."""
        e = self.e
        lanes = e.lanes()
        bits = e.op(f"bitcast <32 x i1> {lanes} to i32")
        wide = e.op(f"zext i32 {bits} to i64")
        e.put(f"store i64 {wide}, ptr {e.header('call_mask')}")
        e.put_machine("suspend_mask", wide)
        e.put_machine("suspend_instruction", str(e.instruction_id))
        if e.guard() is not None:
            some, none = e.label(), e.label()
            e.put(f"br i1 {e.op(f'icmp eq i32 {bits}, 0')}, label %{none}, label %{some}")
            e.put(f"{none}:")
            self.go(after)
            e.put(f"{some}:")
        return lanes

    def returned_lanes(self, i: Instruction) -> None:
        """At a resume: results belong to the lanes that called."""
        e = self.e
        called = e.header("call_mask")
        bits = e.op(f"trunc i64 {e.op(f'load i64, ptr {called}')} to i32")
        e.values["lanes"], e.waiting = e.op(f"bitcast i32 {bits} to <32 x i1>"), ALL
        e.instruction = replace(i, guard=None)

    def trap(self, after: int | None) -> None:
        """The launch ends here for the first lane that executes it."""
        e = self.e
        self.call_lanes(after)
        bits = e.op(f"bitcast <32 x i1> {e.lanes()} to i32")
        lane = e.op(f"call i32 @llvm.cttz.i32(i32 {bits}, i1 false)")
        e.put_machine("error_lane", e.op(f"zext i32 {lane} to i64"))
        e.put(f"store i64 {STOP.trapped}, ptr %reason")
        e.put("br label %leave")
