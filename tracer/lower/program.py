"""A linked PTX program as one LLVM module: a function per PTX function, ``i64 f(machine, activation)``.

A function runs its warp from where the activation stands until it must suspend, and returns why
(``tracer.abi.words``). It records a visit per block entered and an access per memory instruction.
"""

from dataclasses import dataclass

from rayplay.ptx.flow.cfg import branch_labels, waits
from rayplay.ptx.graph import Cfg
from rayplay.ptx.ir import Function, Instruction, Module, Symbol
from rayplay.ptx.isa.form import problem
from rayplay.ptx.isa.implied import spelled_out
from rayplay.ptx.isa.optix import INTRINSICS
from rayplay.tracer.abi.words import MOST_PART_ACCESSES, RECORD_ALL, RECORD_VISITS
from rayplay.tracer.emit.control import Control
from rayplay.tracer.emit.emitter import Emitter, unknown
from rayplay.tracer.emit.frame import Entries, Frame, lower_parts
from rayplay.tracer.emit.hot import Hot, hot_code
from rayplay.tracer.emit.parts import Flow, control_flow
from rayplay.tracer.emit.rounding import rounding_functions
from rayplay.tracer.link.functions import Callee
from rayplay.tracer.link.layout import FunctionLayout
from rayplay.tracer.link.variables import own_names
from rayplay.tracer.lower import address as lower_address
from rayplay.tracer.lower import atomic as lower_atomic
from rayplay.tracer.lower import mbarrier as lower_mbarrier
from rayplay.tracer.lower import memory as lower_memory
from rayplay.tracer.lower import shuffle as lower_warp
from rayplay.tracer.lower import unit as lower_unit
from rayplay.tracer.lower.barrier import lower_barrier, lower_pause, lower_wait
from rayplay.tracer.lower.calls import lower_call
from rayplay.tracer.lower.dispatch import is_scalar, lower_scalar
from rayplay.tracer.lower.optix import GETTERS, REPORT, TRACE, lower_getter
from rayplay.tracer.lower.sfu import definitions

MEMORY = {**lower_memory.HANDLERS, **lower_atomic.HANDLERS, **lower_unit.HANDLERS}
HANDLERS = {
    **lower_address.HANDLERS, **lower_mbarrier.HANDLERS, **MEMORY, **lower_warp.HANDLERS,
}  # fmt: skip
ATTRIBUTES = 'attributes #0 = { nounwind "prefer-vector-width"="512" "min-legal-vector-width"="512" }'
PROFILE = '!0 = !{!"branch_weights", i32 1000000, i32 1}'


@dataclass(frozen=True)
class LinkedFunction:
    """A function of a launch with everything that lowering and running it need; ``number`` is its program id.

    ``callees`` are the functions that its calls name; ``calls`` numbers all that it may run, through registers, too.
    """

    module: Module
    function: Function
    cfg: Cfg
    layout: FunctionLayout
    number: int
    block_base: int
    instruction_base: int
    callees: dict[str, Callee]
    calls: tuple[int, ...]


def lower_program(
    functions: tuple[LinkedFunction, ...], symbols: dict[tuple[str, str], int], records: int = RECORD_ALL
) -> str:
    """The LLVM module text; ``symbols`` number the variables of (module, name) in the launch's address table.

    ``records`` says what the code writes down (``driver_state``).

    Raises ``UserError`` naming the first opcode the executor lacks.
    """
    texts = [_function(f, symbols, records) for f in functions]
    text = "\n".join(texts)
    e = Emitter(functions[0].module, functions[0].function, functions[0].layout, {})
    pack = lower_memory.pack_function(text, e)
    return "\n".join((text, pack, rounding_functions(text), definitions(text), ATTRIBUTES, PROFILE, ""))


def _function(linked: LinkedFunction, symbols: dict[tuple[str, str], int], records: int) -> str:
    """The LLVM functions of one PTX function: one, or its parts and what goes from part to part."""
    layout = linked.layout
    flow, entries = control_flow(linked.cfg, layout.liveness.live_in, layout.returned), Entries()
    hot = hot_code(linked.function, linked.cfg, layout.liveness)
    parts = [_PartLowering(linked, symbols, records, flow, part, entries, hot) for part in range(len(flow.parts))]
    for part in parts:
        part.blocks()
    if len(parts) == 1:
        return parts[0].text(f"f{linked.number}")
    texts = [part.text(f"f{linked.number}.{number}") for number, part in enumerate(parts)]
    return "\n".join((*texts, lower_parts(linked.number, flow, entries)))


class _PartLowering:
    def __init__(
        self,
        linked: LinkedFunction,
        symbols: dict[tuple[str, str], int],
        records: int,
        flow: Flow,
        part: int,
        entries: Entries,
        hot: Hot,
    ) -> None:
        self.linked = linked
        self.flow = flow
        self.part = flow.parts[part]
        self.hot = hot.blocks
        self.live_out = linked.layout.liveness.live_out
        own = own_names(symbols, linked.module, linked.function)
        self.e = Emitter(linked.module, linked.function, linked.layout, own, records)
        self.frame = Frame(self.e, flow, part, entries, hot.registers, records == RECORD_ALL and self._accesses() > 0)
        self.control = Control(self.e, self.frame, linked.cfg.reconvergence)

    def _accesses(self) -> int:
        """How many instructions of the part record an access, once each."""
        blocks = self.linked.cfg.blocks
        first, last = blocks[self.part.start], blocks[self.part.stop - 1]
        body = self.linked.function.body[first.first : last.first + last.count]
        accesses = sum(i.opcode in MEMORY for i in body)
        if accesses > MOST_PART_ACCESSES:
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
        if i.call is not None:
            name = getattr(i.call.target, "name", "")
            if name not in GETTERS or name not in INTRINSICS:
                raise e.unknown(f"call {name}")
            lower_getter(e, i, name, INTRINSICS[name].outputs, INTRINSICS[name].inputs)
            return
        if i.opcode == "filter_shader":
            lower_memory.lower_filter(e, i)
            return
        if i.opcode in ("bar", "barrier") and i.modifiers[:1] == ("warp",):
            return
        if is_scalar(i):
            lower_scalar(e, i)
            return
        handler = HANDLERS.get(i.opcode)
        if handler is None:
            raise e.unknown()
        handler(e, i)

    def _end(self, index: int, position: int, i: Instruction) -> None:
        """The last instruction of a block, and where control goes from there."""
        e, control = self.e, self.control
        live = self.live_out[index]
        after = index + 1 if index + 1 < len(self.linked.cfg.blocks) else None
        if i.opcode in ("bar", "barrier") and i.modifiers[:1] != ("warp",):
            e.spill(live)
            lower_barrier(control, i, live, after)
        elif i.opcode == "nanosleep":
            e.spill(live)
            lower_pause(control, i, after)
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
            control.trap(after)
        elif i.call is not None and (name := _called(i)) not in GETTERS:
            e.spill(live)
            self._call(name, i, live, after)
        else:
            self._straight(self.linked.cfg.blocks[index].first, position, i)
            e.spill(live)
            control.go(after)

    def _call(self, name: str, i: Instruction, live: int, after: int | None) -> None:
        e, control = self.e, self.control
        if TRACE.fullmatch(name):
            control.trace(i, live, after)
        elif REPORT.fullmatch(name):
            control.report(i, live, after)
        elif name in ("_optix_ignore_intersection", "_optix_terminate_ray"):
            if not self.linked.function.is_entry:
                raise e.unknown(f"call {name} inside a function")
            control.verdict(name, after)
        else:
            lower_call(control, i, self.linked.callees.get(name), live, after)

    def _block_of(self, label: str) -> int:
        start = self.linked.function.labels[label]
        return next(k for k, block in enumerate(self.linked.cfg.blocks) if block.first == start)


def _called(i: Instruction) -> str:
    """The function that a call names; an indirect call names none."""
    return i.call.target.name if i.call is not None and isinstance(i.call.target, Symbol) else ""
