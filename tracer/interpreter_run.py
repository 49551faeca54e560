"""One function in flight, interpreted: its blocks, and how lanes part, meet, leave and suspend."""

from dataclasses import dataclass

import numpy as np

from ptx.cfg import branch_labels
from ptx.ir import Instruction, Symbol
from ptx.optix import INTRINSICS
from tracer import interpreter_extended, interpreter_float, interpreter_int, interpreter_memory, interpreter_optix
from tracer.driver_state import (
    BARRIER,
    CALL,
    FULL,
    LANES,
    MACHINE,
    REPORT,
    REPORT_ANSWER,
    RETURNED,
    TRACE,
    TRAPPED,
)  # fmt: skip
from tracer.driver_warp import CALL_MASK, DEPTH, LIVE, MASK, PC, RECONVERGENCE
from tracer.frame import FIELD, VERDICT_IGNORED, VERDICT_TERMINATED
from tracer.interpreter_memory import IllegalAddressError, Memory
from tracer.interpreter_optix import TraceState
from tracer.interpreter_values import Lanes, lanes_of, mask_of
from tracer.lower import LinkedFunction
from tracer.lower_emit import type_names
from tracer.lower_optix import GETTERS
from tracer.record import Buffers

INTEGER_HANDLERS = interpreter_int.HANDLERS | interpreter_extended.HANDLERS


@dataclass
class Machinery:
    """What functions in flight share. selected: uint8[pixels and more]; report: uint32[REPORT_ROWS, 32]."""

    lanes: Lanes
    memory: Memory
    trace: TraceState | None
    selected: np.ndarray
    report: np.ndarray
    by_name: dict[tuple[int, str], LinkedFunction]
    buffers: Buffers


class Run:
    """One activation from where it stands until it suspends."""

    def __init__(self, owner: Machinery, header: np.ndarray) -> None:
        self.owner = owner
        self.w = owner.lanes
        self.header = header
        self.activation = owner.lanes.activation
        self.linked: LinkedFunction = self.activation.linked
        self.block, self.meet = int(header[PC]), int(np.int32(header[RECONVERGENCE] & 0xFFFFFFFF))
        self.mask, self.live = int(header[MASK]), int(header[LIVE])

    def run(self) -> int:
        """Visit blocks until a reason to stop comes up."""
        reason: int | None = None
        if self.activation.resume is not None:
            self._finish_call(*self.activation.resume)
        elif self.mask == 0:
            self._pop()
        while reason is None:
            if self.mask == 0 and not self._pop():
                reason = RETURNED
            elif self._is_full():
                reason = FULL
            else:
                try:
                    reason = self._visit()
                except IllegalAddressError as error:
                    reason = error.code
        self.header[PC], self.header[RECONVERGENCE] = self.block, self.meet
        self.header[MASK], self.header[LIVE], self.header[DEPTH] = self.mask, self.live, len(self.activation.stack)
        return reason

    def _is_full(self) -> bool:
        m = self.w.machine
        block = self.linked.cfg.blocks[self.block]
        body = self.linked.function.body[block.first : block.first + block.count]
        room = m("visit_next") <= m("visit_limit")
        if any(i.opcode in interpreter_memory.MEMORY for i in body):
            room = room and m("access_next") <= m("access_limit") and m("address_next") <= m("address_limit")
        return not room

    def _visit(self) -> int | None:
        """Record and execute one block; the reason to stop after it, if any."""
        words, buffers = self.w.machine_words, self.owner.buffers
        row = (words[MACHINE["visit_next"]] - buffers.starts[0]) // 8
        buffers.visits[row] = (self.linked.block_base + self.block, self.mask)
        words[MACHINE["visit_next"]] += 8
        self.w.active, self.w.carry = lanes_of(self.mask), np.zeros(LANES, bool)
        block = self.linked.cfg.blocks[self.block]
        last = block.first + block.count - 1
        for position in range(block.first, last + 1):
            instruction = self.linked.function.body[position]
            self.w.instruction, self.w.instruction_id = instruction, self.linked.instruction_base + position
            if position < last or not self._ends(instruction):
                self._straight(instruction)
            else:
                return self._end(instruction)
        self._go(self._after())
        return None

    def _ends(self, i: Instruction) -> bool:
        """Whether control does more than go on after an instruction."""
        if i.call is not None:
            return getattr(i.call.target, "name", "") not in GETTERS
        if i.opcode in ("bar", "barrier"):
            return i.modifiers[:1] != ("warp",)
        return i.opcode in ("bra", "brx", "ret", "exit", "trap")

    def _after(self) -> int | None:
        return self.block + 1 if self.block + 1 < len(self.linked.cfg.blocks) else None

    def _straight(self, i: Instruction) -> None:
        owner, w = self.owner, self.w
        if i.call is not None:
            name = getattr(i.call.target, "name", "")
            assert owner.trace is not None
            intrinsic = INTRINSICS[name]
            interpreter_optix.run_getter(w, owner.trace, i, name, intrinsic.outputs, intrinsic.inputs)
        elif i.opcode == "filter_shader":
            interpreter_memory.run_filter(w, i, owner.memory, owner.selected)
        elif i.opcode in interpreter_memory.MEMORY:
            interpreter_memory.MEMORY[i.opcode](w, i, owner.memory)
        elif i.opcode in interpreter_memory.WARP:
            interpreter_memory.WARP[i.opcode](w, i)
        else:
            types = type_names(i)
            table = interpreter_float.HANDLERS if types and types[-1][0] == "f" else {}
            handler = table.get(i.opcode) or INTEGER_HANDLERS.get(i.opcode)
            if handler is not None:  # fences, prefetches and pauses do nothing
                handler(w, i)

    def _end(self, i: Instruction) -> int | None:
        """The last instruction of a block: where each lane goes, or why the activation stops."""
        lanes = self.w.executing()
        taken, after = mask_of(lanes), self._after()
        if i.opcode in ("bra", "brx"):
            self._branch(i, taken, after)
        elif i.opcode in ("ret", "exit"):
            self._leave(taken, after)
        elif i.opcode == "trap":
            return self._stop(TRAPPED, i, taken, after)
        elif i.opcode in ("bar", "barrier"):
            values = [int(self.w.read(operand, "u32")[0]) for operand in i.operands] + [0]
            self._set("suspend_barrier", values[0])
            self._set("suspend_count", values[1] if len(i.operands) > 1 else 0)
            return self._stop(BARRIER, i, self.mask, after)
        else:
            assert i.call is not None
            return self._call(i, getattr(i.call.target, "name", ""), taken, after)
        return None

    def _set(self, name: str, value: int) -> None:
        self.w.machine_words[MACHINE[name]] = value

    def _stop(self, reason: int, i: Instruction, taken: int, after: int | None) -> int | None:
        """Suspend at an instruction for the lanes that execute it; nothing happens when there are none."""
        if taken == 0:
            self._go(after)
            return None
        self._set("suspend_mask", taken)
        self._set("suspend_instruction", self.w.instruction_id)
        self._set("error_lane", (taken & -taken).bit_length() - 1)
        self.header[CALL_MASK] = taken
        self.activation.resume = (i, self.block)
        return reason

    def _call(self, i: Instruction, name: str, taken: int, after: int | None) -> int | None:
        trace = self.owner.trace
        if name in ("_optix_ignore_intersection", "_optix_terminate_ray"):
            assert trace is not None
            verdict = VERDICT_IGNORED if "ignore" in name else VERDICT_TERMINATED
            trace.frame[FIELD["verdict"]][lanes_of(taken)] = verdict
            self._leave(taken, after)
            return None
        if name.startswith("_optix_trace"):
            assert trace is not None
            interpreter_optix.store_trace(self.w, trace, i)
            return self._stop(TRACE, i, taken, after)
        if name.startswith("_optix_report"):
            assert trace is not None
            interpreter_optix.store_report(self.w, trace, i)
            return self._stop(REPORT, i, taken, after)
        callee = self.owner.by_name[id(self.linked.module), name]
        self._set("suspend_function", callee.number)
        return self._stop(CALL, i, taken, after)

    def _finish_call(self, i: Instruction, block: int) -> None:
        """Results of a call come back to the lanes that made it, and control goes on after it."""
        self.activation.resume = None
        self.block = block
        w, trace = self.w, self.owner.trace
        w.active = lanes_of(int(self.header[CALL_MASK]))
        w.instruction = Instruction(i.opcode, i.modifiers, i.operands, None, i.position, i.text, i.call)
        name = getattr(i.call.target, "name", "") if i.call else ""
        if i.call is None:
            pass
        elif name.startswith("_optix_trace"):
            assert trace is not None
            for index, target in enumerate(i.call.results):
                w.write(target, trace.next_frame[FIELD[f"payload_{index}"]].copy())
        elif name.startswith("_optix_report"):
            w.write(i.call.results[0], self.owner.report[REPORT_ANSWER].copy())
        else:
            callee = self.owner.by_name[id(self.linked.module), name]
            returned = self.activation.returned
            for variable, operand in zip(callee.function.returns, i.call.results, strict=True):
                assert isinstance(operand, Symbol)
                self.activation.variables[operand.name][:] = returned[variable.name]
        if self.mask:
            self._go(self._after())
        else:
            self._pop()

    def _go(self, target: int | None) -> None:
        """Continue at a block; at the reconvergence block lanes wait for the entry below."""
        if target is None:
            self.live &= ~self.mask
            self.mask = 0
        elif target == self.meet:
            self._pop()
        else:
            self.block = target

    def _pop(self) -> bool:
        """Take the innermost entry with live lanes off the stack; False when there is none."""
        self.mask = 0
        while self.activation.stack:
            self.block, self.meet, mask = self.activation.stack.pop()
            self.mask = mask & self.live
            if self.mask:
                return True
        return False

    def _leave(self, gone: int, after: int | None) -> None:
        self.live &= ~gone
        self.mask &= ~gone
        if self.mask:
            self._go(after)

    def _branch(self, i: Instruction, taken: int, after: int | None) -> None:
        """Lanes part: each target's lanes are pushed, the lowest block last, so that it runs first."""
        f = self.linked
        first = [block.first for block in f.cfg.blocks]
        targets = [first.index(f.function.labels[label]) for label in branch_labels(i, f.function)]
        sides: dict[int | None, int] = {}
        if i.opcode == "brx":
            chosen = np.minimum(self.w.read(i.operands[0], "u32"), len(targets) - 1)
            for lane in range(LANES):
                if taken >> lane & 1:
                    target = targets[chosen[lane]]
                    sides[target] = sides.get(target, 0) | 1 << lane
        elif taken:
            sides[targets[0]] = taken
        if self.mask & ~taken:
            sides[after] = sides.get(after, 0) | self.mask & ~taken
        if None in sides:
            self.live &= ~sides.pop(None)
        if len(sides) < 2:
            target, self.mask = next(iter(sides.items()), (None, 0))
            self._go(target)
            return
        meet = f.cfg.reconvergence[self.block]
        stack = self.activation.stack
        if meet >= 0 and self.meet != meet:
            stack.append((meet, self.meet, self.mask))
        for target in sorted((t for t in sides if t is not None), reverse=True):
            if target != meet:
                stack.append((target, meet, sides[target]))
        self._pop()
