"""A linked PTX program as one LLVM module: a function per PTX function, ``i64 f(machine, activation)``.

A function runs its warp from where the activation stands until it must suspend, and returns why
(``tracer.driver_state``). It records a visit per block entered and an access per memory instruction.
"""

from dataclasses import dataclass

from ptx.cfg import Cfg, branch_labels, waits
from ptx.ir import Function, Instruction, Module, Symbol
from ptx.optix import INTRINSICS
from tracer import (
    lower_atomic,
    lower_convert,
    lower_extended,
    lower_float,
    lower_int,
    lower_math,
    lower_memory,
    lower_unit,
    lower_warp,
)
from tracer.driver_functions import Callee
from tracer.driver_state import (
    FULL,
    MOST_BLOCK_ACCESSES,
    RECORD_ALL,
    RECORD_VISITS,
    RETURNED,
    STACK_ENTRY_BYTES,
)
from tracer.driver_variables import own_names
from tracer.lower_barrier import lower_barrier, lower_pause, lower_wait
from tracer.lower_calls import lower_call
from tracer.lower_control import Control
from tracer.lower_emit import Emitter, type_names, unknown
from tracer.lower_layout import FunctionLayout
from tracer.lower_optix import GETTERS, REPORT, TRACE, lower_getter

MEMORY = {**lower_memory.HANDLERS, **lower_atomic.HANDLERS, **lower_unit.HANDLERS}
HANDLERS = {
    **lower_int.HANDLERS, **lower_extended.HANDLERS, **lower_convert.HANDLERS, **MEMORY,
    **lower_warp.HANDLERS,
    **dict.fromkeys(lower_math.FUNCTIONS, lower_math.lower_function),
}  # fmt: skip
UNTYPED = {
    "activemask",
    *lower_unit.HANDLERS,
    *(name for name, function in HANDLERS.items() if function is lower_warp.lower_nothing),
}
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
    texts = [_FunctionLowering(f, symbols, records).text() for f in functions]
    return "\n".join((*texts, ATTRIBUTES, PROFILE, ""))


class _FunctionLowering:
    def __init__(self, linked: LinkedFunction, symbols: dict[tuple[str, str], int], records: int) -> None:
        self.linked = linked
        own = own_names(symbols, linked.module, linked.function)
        self.e = Emitter(linked.module, linked.function, linked.layout, own, records)
        self.control = Control(self.e, len(linked.cfg.blocks), linked.cfg.reconvergence)

    def text(self) -> str:
        for index in range(len(self.linked.cfg.blocks)):
            self._block(index)
        body = self.e.lines
        self.e.lines = []
        self._frame()
        return "\n".join((*self.e.lines, *body, "}"))

    def _frame(self) -> None:
        """Entry, dispatch, pop and leave."""
        e = self.e
        e.put(f"define i64 @f{self.linked.number}(ptr noalias %machine, ptr noalias %activation) #0 {{")
        e.put("entry:")
        e.put(f"%arena = inttoptr i64 {e.machine('host_offset')} to ptr")
        e.put(f"%visit.origin = add i64 {e.machine('visit_origin')}, 0")
        e.put(f"%stack = getelementptr i8, ptr %activation, i64 {self.linked.layout.stack_offset}")
        for name in _STATE_32:
            e.put(f"%{name} = alloca i32")
            value = e.op(f"load i64, ptr {e.header(name)}")
            e.put(f"store i32 {e.op(f'trunc i64 {value} to i32')}, ptr %{name}")
        e.put("%depth = alloca i64")
        depth = e.header("depth")
        e.put(f"store i64 {e.op(f'load i64, ptr {depth}')}, ptr %depth")
        e.put("%reason = alloca i64")
        e.put("%visit.next = alloca i64")
        e.put(f"store i64 {e.machine('visit_next')}, ptr %visit.next")
        for name in ("access", "address"):
            e.put(f"%{name}.next = alloca ptr")
            start = e.machine(f"{name}_next")
            e.put(f"store ptr {e.op(f'inttoptr i64 {start} to ptr')}, ptr %{name}.next")
        for width in (16, 32, 64):
            for part in ("0", "1", "2", "result"):
                e.put(f"%lanes.{width}.{part} = alloca <32 x i{width}>, align 64")
        e.put("%lanes.left = alloca i32")
        nobody = e.op(f"icmp eq i32 {e.op('load i32, ptr %mask')}, 0")
        e.put(f"br i1 {nobody}, label %pop, label %dispatch")
        self._dispatch()
        self._leave()

    def _dispatch(self) -> None:
        e = self.e
        blocks = [f"i32 {index}, label %b{index}" for index in range(len(self.linked.cfg.blocks))]
        resumes = [f"i32 {len(blocks) + index}, label %{name}" for index, name in enumerate(self.control.resumes)]
        e.put("dispatch:")
        e.put(f"switch i32 {e.op('load i32, ptr %pc')}, label %nowhere [ {' '.join((*blocks, *resumes))} ]")
        e.put("nowhere:")
        e.put("unreachable")
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
        e.put(f"store i64 {RETURNED}, ptr %reason")
        e.put("br label %leave")

    def _leave(self) -> None:
        e = self.e
        e.put("leave:")
        for name in _STATE_32:
            wide = e.op(f"zext i32 {e.op(f'load i32, ptr %{name}')} to i64")
            e.put(f"store i64 {wide}, ptr {e.header(name)}")
        e.put(f"store i64 {e.op('load i64, ptr %depth')}, ptr {e.header('depth')}")
        e.put_machine("visit_next", e.op("load i64, ptr %visit.next"))
        for name in ("access", "address"):
            e.put_machine(f"{name}_next", e.op(f"ptrtoint ptr {e.op(f'load ptr, ptr %{name}.next')} to i64"))
        e.put(f"ret i64 {e.op('load i64, ptr %reason')}")

    def _block(self, index: int) -> None:
        e, block = self.e, self.linked.cfg.blocks[index]
        e.put(f"b{index}:")
        self._room(index)
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
            self._straight(position, body[position])
        self._end(index, last, body[last])

    def _room(self, index: int) -> None:
        """Leave before the block when the record buffers have no room for one more."""
        e = self.e
        tests = [f"icmp ugt i64 {e.op('load i64, ptr %visit.next')}, {e.machine('visit_limit')}"]
        block = self.linked.cfg.blocks[index]
        body = self.linked.function.body[block.first : block.first + block.count]
        accesses = sum(i.opcode in MEMORY for i in body)
        if accesses > MOST_BLOCK_ACCESSES:
            raise unknown(self.linked.module, body[0], f"a block of {accesses} memory instructions")
        if accesses and e.records == RECORD_ALL:
            for name in ("access", "address"):
                place = e.op(f"ptrtoint ptr {e.op(f'load ptr, ptr %{name}.next')} to i64")
                tests.append(f"icmp ugt i64 {place}, {e.machine(f'{name}_limit')}")
        test = e.op(tests[0])
        for other in tests[1:]:
            test = e.op(f"or i1 {test}, {e.op(other)}")
        full, run = e.label(), e.label()
        e.put(f"br i1 {e.op(f'xor i1 {test}, true')}, label %{run}, label %{full}, !prof !0")
        e.put(f"{full}:")
        e.put(f"store i32 {index}, ptr %pc")
        e.put(f"store i64 {FULL}, ptr %reason")
        e.put("br label %leave")
        e.put(f"{run}:")

    def _straight(self, position: int, i: Instruction) -> None:
        """An instruction that control goes through."""
        e = self.e
        e.instruction, e.instruction_id = i, self.linked.instruction_base + position
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
        types = type_names(i)
        table = lower_float.HANDLERS if types and types[-1][0] == "f" else {}
        handler = table.get(i.opcode) or HANDLERS.get(i.opcode)
        if handler is None or not (types or i.opcode in UNTYPED):
            raise e.unknown()
        handler(e, i)

    def _end(self, index: int, position: int, i: Instruction) -> None:
        """The last instruction of a block, and where control goes from there."""
        e, control = self.e, self.control
        live = self.linked.layout.live_out[index]
        after = index + 1 if index + 1 < len(self.linked.cfg.blocks) else None
        e.instruction, e.instruction_id = i, self.linked.instruction_base + position
        if i.opcode in ("bar", "barrier") and i.modifiers[:1] != ("warp",):
            e.spill(live)
            lower_barrier(control, i, live, after)
        elif i.opcode == "nanosleep":
            e.spill(live)
            lower_pause(control, i, after)
        elif waits(i):
            self._straight(position, i)
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
            self._straight(position, i)
            e.spill(live)
            control.go(after)

    def _call(self, name: str, i: Instruction, live: tuple[str, ...], after: int | None) -> None:
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


_STATE_32 = ("pc", "reconvergence", "mask", "live")
