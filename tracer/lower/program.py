"""A linked PTX program as one LLVM module: a function per PTX function, ``i64 f(machine, activation)``.

A function runs its warp from where the activation stands until it must suspend, and returns why
(``tracer.abi.words``). It records a visit per block entered and an access per memory instruction.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator

from rayplay.ptx.flow.cfg import branch_labels, waits
from rayplay.ptx.ir import Instruction
from rayplay.ptx.isa.form import problem
from rayplay.ptx.isa.implied import spelled_out
from rayplay.tracer.abi.layout import LANES
from rayplay.tracer.abi.words import MOST_PART_ACCESSES, MOST_PART_ADDRESSES, RECORD_ALL, RECORD_VISITS
from rayplay.tracer.emit.control import Control
from rayplay.tracer.emit.emitter import Emitter
from rayplay.tracer.emit.frame import Entries, Frame, lower_parts
from rayplay.tracer.emit.hot import Hot, hot_code
from rayplay.tracer.emit.parts import Flow, control_flow
from rayplay.tracer.link.functions import LinkedFunction
from rayplay.tracer.link.variables import own_names
from rayplay.tracer.lower.barrier import lower_barrier, lower_pause, lower_wait
from rayplay.tracer.lower.calls import lower_call
from rayplay.tracer.lower.dispatch import RECORDING, lower_straight
from rayplay.tracer.lower.optix import lower_report, lower_throw, lower_trace, lower_verdict
from rayplay.tracer.meaning.dispatch import unknown
from rayplay.tracer.meaning.optix import GETTERS, REPORT_CALL, THROW_CALL, TRACE_CALL, VERDICT_CALLS, is_reorder
from rayplay.tracer.units.plans import SERVED
from rayplay.tracer.units.texture.sectors import MOST

ATTRIBUTES = 'attributes #0 = { nounwind "prefer-vector-width"="512" "min-legal-vector-width"="512" }'
PROFILE = '!0 = !{!"branch_weights", i32 1000000, i32 1}\n!1 = !{!"branch_weights", i32 1, i32 1000000}'

PIECE_LETTERS = 1 << 23
_DEFINED = re.compile(r"^(?:define .*?)?@([\w.$-]+)(?:\(| =)", re.MULTILINE)
_NAMED = re.compile(r"@([\w.$-]+)")
_CALLED_PART = re.compile(r"call i64 @(f\d+\.\d+)\(")


def lower_program(
    functions: tuple[LinkedFunction, ...], symbols: dict[tuple[str, str], int], records: int = RECORD_ALL
) -> str:
    """The LLVM module text; ``symbols`` number the variables of (module, name) in the launch's address table.

    ``records`` says what the code records (``tracer.abi.words``).

    Raises ``UserError`` naming the first opcode the executor lacks.
    """
    helpers: dict[str, str] = {}
    texts = [text for f in functions for text in _function(f, symbols, records, helpers)]
    return "\n".join((*texts, *(helpers[name] for name in sorted(helpers)), ATTRIBUTES, PROFILE, ""))


def lower_pieces(
    functions: tuple[LinkedFunction, ...], symbols: dict[tuple[str, str], int], records: int = RECORD_ALL
) -> Iterator[str]:
    """The same as LLVM modules of ``PIECE_LETTERS`` or little more, each with the helpers that it calls: a large
    program is never in memory as a whole. Raises what ``lower_program`` does."""
    helpers: dict[str, str] = {}
    waiting: list[str] = []
    for f in functions:
        for text in _function(f, symbols, records, helpers):
            waiting.append(text)
            if sum(map(len, waiting)) > PIECE_LETTERS:
                yield _piece(waiting, helpers)
                waiting = []
    if waiting:
        yield _piece(waiting, helpers)


def _piece(texts: list[str], helpers: dict[str, str]) -> str:
    """An LLVM module of some functions, the helpers that they reach, and declarations of the parts that they call."""
    named = {helper: set(_DEFINED.findall(text)) for helper, text in helpers.items()}
    reached: dict[str, None] = {}
    left = list(texts)
    while left:
        mentioned = set(_NAMED.findall(left.pop()))
        more = [helper for helper, names in named.items() if helper not in reached and names & mentioned]
        reached |= dict.fromkeys(more)
        left += [helpers[helper] for helper in more]
    whole = "\n".join((*texts, *(helpers[helper] for helper in sorted(reached))))
    missing = sorted(set(_CALLED_PART.findall(whole)) - set(_DEFINED.findall(whole)))
    declared = [f"declare i64 @{name}(ptr noalias, ptr noalias) #0" for name in missing]
    return "\n".join((whole, *declared, ATTRIBUTES, PROFILE, ""))


def _function(
    linked: LinkedFunction, symbols: dict[tuple[str, str], int], records: int, helpers: dict[str, str]
) -> list[str]:
    """The LLVM functions of one PTX function: one, or its parts and what goes from part to part."""
    layout = linked.layout
    flow = control_flow(linked.cfg, layout.liveness.live_in, layout.returned, linked.spins)
    entries = Entries()
    hot = hot_code(linked.function, linked.cfg, layout.liveness)
    own = own_names(symbols, linked.module, linked.function)
    parts = []
    for number in range(len(flow.parts)):
        e = Emitter(linked.module, linked.function, layout, own, records, helpers)
        parts.append(_PartLowering(linked, e, flow, number, entries, hot))
    for part in parts:
        part.blocks()
    if len(parts) == 1:
        return [parts[0].text(f"f{linked.number}")]
    texts = [part.text(f"f{linked.number}.{number}") for number, part in enumerate(parts)]
    return [*texts, lower_parts(linked.number, flow, entries)]


class _PartLowering:
    def __init__(self, linked: LinkedFunction, e: Emitter, flow: Flow, part: int, entries: Entries, hot: Hot) -> None:
        self.linked = linked
        self.e = e
        self.flow = flow
        self.part = flow.parts[part]
        self.hot = hot.blocks
        self.live_out = linked.layout.liveness.live_out
        accesses = e.records == RECORD_ALL and self._accesses() > 0
        self.frame = Frame(e, flow, part, entries, hot.registers, accesses, linked.spins)
        self.control = Control(e, self.frame, linked.cfg.reconvergence)

    def _accesses(self) -> int:
        """How many instructions of the part record an access, once each."""
        blocks = self.linked.cfg.blocks
        first, last = blocks[self.part.start], blocks[self.part.stop - 1]
        body = self.linked.function.body[first.first : last.first + last.count]
        accesses = sum(i.opcode in RECORDING or is_reorder(i) for i in body)
        textures = sum(i.opcode in SERVED["texture"] for i in body)
        if accesses > MOST_PART_ACCESSES or accesses + textures * MOST // LANES > MOST_PART_ADDRESSES:
            raise unknown(self.linked.module, body[0], f"a block of {accesses} memory instructions")
        return accesses

    def blocks(self) -> None:
        """Lower the blocks, one after the other."""
        for index in self.part:
            self._block(index)

    def text(self, name: str) -> str:
        """The whole function, its head first; all parts have to be lowered by then."""
        body = self.e.lines
        self.e.lines = []
        self.frame.open(name)
        self.frame.dispatch()
        head = self.e.lines
        self.e.lines = []
        self.frame.close()
        return "\n".join((*head, *body, *self.e.lines))

    def _block(self, index: int) -> None:
        e, block = self.e, self.linked.cfg.blocks[index]
        e.put(f"b{index}:")
        e.waiting, e.hot = self.flow.waiting[index], index in self.hot
        self.control.needed = self.live_out[index] | e.waiting
        if index in self.flow.headers:
            self.frame.room(index)
        self.frame.turn(index)
        visit = e.op("load i64, ptr %visit.next")
        mask = e.op("load i32, ptr %mask")
        if e.records >= RECORD_VISITS:
            high = e.op(f"shl i64 {e.op(f'zext i32 {mask} to i64')}, 32")
            record = e.op(f"or i64 {high}, {self.linked.block_base + index}")
            e.put(f"store i64 {record}, ptr {e.op(f'inttoptr i64 {visit} to ptr')}")
        e.put(f"store i64 {e.op(f'add i64 {visit}, 8')}, ptr %visit.next")
        e.values = {"lanes": e.op(f"bitcast i32 {mask} to <32 x i1>")}
        e.written = {}
        body = self.linked.function.body
        last = block.first + block.count - 1
        for position in range(block.first, last):
            self._straight(block.first, position, self._known(position, body[position]))
        self._end(index, last, self._known(last, body[last]))

    def _known(self, position: int, i: Instruction) -> Instruction:
        """The instruction with what its module implies. Raises ``UserError`` where its modifiers make no form."""
        e = self.e
        e.instruction, e.instruction_id = i, self.linked.instruction_base + position
        i = spelled_out(i, e.module)
        if problem(i.opcode, i.modifiers):
            raise e.unknown()
        return i

    def _straight(self, first: int, position: int, i: Instruction) -> None:
        """An instruction that control goes through."""
        e = self.e
        e.position = position - first
        lower_straight(e, i)

    def _end(self, index: int, position: int, i: Instruction) -> None:
        """The last instruction of a block, and where control goes from there."""
        e, control = self.e, self.control
        live = self.live_out[index]
        after = index + 1 if index + 1 < len(self.linked.cfg.blocks) else None
        if i.opcode in ("bar", "barrier") and i.form.key != "bar.warp":
            e.spill(live)
            lower_barrier(control, i, live, after)
        elif i.opcode == "nanosleep":
            e.spill(live)
            lower_pause(control, after)
        elif waits(i):
            self._straight(self.linked.cfg.blocks[index].first, position, i)
            lower_wait(control, i, live, after)
        elif i.opcode in ("bra", "brx"):
            e.spill(live)
            targets = tuple(self._block_of(label) for label in branch_labels(i, self.linked.function))
            if i.opcode == "bra":
                control.branch(index, targets[0], after)
            else:
                control.branch_indexed(index, targets, after)
        elif i.opcode in ("ret", "exit"):
            e.spill(live)
            control.leave_lanes(after, ends_thread=i.opcode == "exit" and not self.linked.function.is_entry)
        elif i.opcode == "trap":
            e.spill(live)  # other lanes go on where it has a guard
            control.trap(after)
        elif i.call is not None and i.callee not in GETTERS:
            e.spill(live)
            self._call(i, live, after)
        else:
            self._straight(self.linked.cfg.blocks[index].first, position, i)
            e.spill(live)
            control.go(after)

    def _call(self, i: Instruction, live: int, after: int | None) -> None:
        e, control, name = self.e, self.control, i.callee
        if TRACE_CALL.fullmatch(name):
            lower_trace(control, i, live, after)
        elif REPORT_CALL.fullmatch(name):
            lower_report(control, i, live, after)
        elif THROW_CALL.fullmatch(name):
            lower_throw(control, i, live, after)
        elif name in VERDICT_CALLS:
            if not self.linked.function.is_entry:
                raise e.unknown(f"call {name} inside a function")
            lower_verdict(control, name, after)
        else:
            lower_call(control, i, self.linked.callees.get(name), live, after)

    def _block_of(self, label: str) -> int:
        start = self.linked.function.labels[label]
        return bisect_left(self.linked.cfg.blocks, start, key=lambda block: block.first)
