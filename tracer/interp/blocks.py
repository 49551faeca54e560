"""One function in flight, interpreted: its blocks, and how lanes part, meet, leave and suspend."""

from dataclasses import dataclass, replace

import numpy as np

from rayplay.ptx.flow.cfg import waits
from rayplay.ptx.ir import Instruction
from rayplay.ptx.isa.optix import INTRINSICS
from rayplay.tracer.abi.trace_frame import FIELD, VERDICT_IGNORED, VERDICT_TERMINATED
from rayplay.tracer.abi.words import (
    CALL,
    FULL,
    LANES,
    MACHINE,
    REPORT,
    REPORT_ANSWER,
    RETURNED,
    TRACE,
    TRAPPED,
    YIELD,
)  # fmt: skip
from rayplay.tracer.interp import barrier as interpreter_barrier
from rayplay.tracer.interp import calls as interpreter_calls
from rayplay.tracer.interp import memory as interpreter_memory
from rayplay.tracer.interp import optix as interpreter_optix
from rayplay.tracer.interp.address import ADDRESSES
from rayplay.tracer.interp.atomic import ATOMICS
from rayplay.tracer.interp.dispatch import run_scalar
from rayplay.tracer.interp.flow import Flow
from rayplay.tracer.interp.mbarrier import MBARRIER
from rayplay.tracer.interp.memory import IllegalAddressError, Memory
from rayplay.tracer.interp.optix import TraceState
from rayplay.tracer.interp.shuffle import WARP
from rayplay.tracer.interp.unit import HANDLERS as UNITS
from rayplay.tracer.interp.values import Lanes, lanes_of, mask_of
from rayplay.tracer.link.link import LinkedLaunch
from rayplay.tracer.lower.dispatch import is_scalar
from rayplay.tracer.lower.optix import GETTERS
from rayplay.tracer.record.recorder import Buffers
from rayplay.tracer.warp.stack import CALL_MASK, EXITED

MEMORY = interpreter_memory.MEMORY | ATOMICS | MBARRIER | UNITS


@dataclass
class Machinery:
    """What functions in flight share. selected: uint8[pixels and more]; report: uint32[REPORT_ROWS, 32]."""

    lanes: Lanes
    memory: Memory
    trace: TraceState | None
    selected: np.ndarray
    report: np.ndarray
    launch: LinkedLaunch
    buffers: Buffers


class Run(Flow):
    """One activation from where it stands until it suspends."""

    def __init__(self, owner: Machinery, header: np.ndarray) -> None:
        super().__init__(owner.lanes, header)
        self.owner = owner

    def run(self) -> int:
        """Visit blocks until a reason to stop comes up."""
        reason: int | None = None
        if self.activation.resume is not None:
            reason = self._finish_call(*self.activation.resume)
        elif self.mask == 0:
            self.pop()
        while reason is None:
            if self.mask == 0 and not self.pop():
                reason = RETURNED
            elif self._is_full():
                reason = FULL
            else:
                try:
                    reason = self._visit()
                except IllegalAddressError as error:
                    reason = error.code
        self.save()
        return reason

    def _is_full(self) -> bool:
        m = self.w.machine
        block = self.linked.cfg.blocks[self.block]
        body = self.linked.function.body[block.first : block.first + block.count]
        room = m("visit_next") <= m("visit_limit")
        if any(i.opcode in MEMORY for i in body):
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
            self.w.position = position - block.first
            if position < last or not self._ends(instruction):
                self._straight(instruction)
            else:
                return self._end(instruction)
        self.go(self.after())
        return None

    def _ends(self, i: Instruction) -> bool:
        """Whether control does more than go on after an instruction."""
        if i.call is not None:
            return getattr(i.call.target, "name", "") not in GETTERS
        if i.opcode in ("bar", "barrier"):
            return i.modifiers[:1] != ("warp",)
        return i.opcode in ("bra", "brx", "ret", "exit", "trap", "nanosleep") or waits(i)

    def _straight(self, i: Instruction) -> None:
        owner, w = self.owner, self.w
        if i.call is not None:
            name = getattr(i.call.target, "name", "")
            assert owner.trace is not None
            intrinsic = INTRINSICS[name]
            interpreter_optix.run_getter(w, owner.trace, i, name, intrinsic.outputs, intrinsic.inputs)
        elif i.opcode == "filter_shader":
            interpreter_memory.run_filter(w, i, owner.memory, owner.selected)
        elif i.opcode in MEMORY:
            MEMORY[i.opcode](w, i, owner.memory)
        elif i.opcode in WARP:
            WARP[i.opcode](w, i)
        else:
            handler = run_scalar if is_scalar(i) else ADDRESSES.get(i.opcode)
            if handler is not None:  # fences, prefetches and pauses do nothing
                handler(w, i)

    def _end(self, i: Instruction) -> int | None:
        """The last instruction of a block: where each lane goes, or why the activation stops."""
        lanes = self.w.executing()
        taken, after = mask_of(lanes), self.after()
        if i.opcode in ("bra", "brx"):
            self.branch(i, taken, after)
        elif i.opcode in ("ret", "exit"):
            if i.opcode == "exit" and not self.linked.function.is_entry:
                self.header[EXITED] |= taken
            self.leave(taken, after)
        elif i.opcode == "trap":
            return self._stop(TRAPPED, i, taken, after)
        elif i.opcode in ("bar", "barrier"):
            if "cluster" in i.modifiers and "wait" not in i.modifiers:
                self.go(after)
                return None
            return self._stop(interpreter_barrier.arrive(self.w, i), i, taken, after)
        elif i.opcode == "nanosleep":
            return self._stop(YIELD, i, taken, after)
        elif waits(i):
            self._straight(i)
            if (self.w.read(i.operands[0], "pred") | ~lanes).all():
                self.go(after)
                return None
            return self._stop(YIELD, i, taken, after)
        else:
            assert i.call is not None
            return self._call(i, getattr(i.call.target, "name", ""), taken, after)
        return None

    def _set(self, name: str, value: int) -> None:
        self.w.machine_words[MACHINE[name]] = value

    def _stop(self, reason: int, i: Instruction, taken: int, after: int | None) -> int | None:
        """Suspend at an instruction for the lanes that execute it; nothing happens when there are none."""
        if taken == 0:
            self.go(after)
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
            self.leave(taken, after)
            return None
        if name.startswith("_optix_trace"):
            assert trace is not None
            interpreter_optix.store_trace(self.w, trace, i)
            return self._stop(TRACE, i, taken, after)
        if name.startswith("_optix_report"):
            assert trace is not None
            interpreter_optix.store_report(self.w, trace, i)
            return self._stop(REPORT, i, taken, after)
        reason = self._stop(CALL, i, taken, after)
        if reason is None:
            return None
        self._set("suspend_signature", interpreter_calls.begin(self.w, i, taken, self.owner.launch))
        return self._next_function()

    def _next_function(self) -> int | None:
        """Run the next function of a call; None when all its lanes have returned."""
        while self.activation.waiting:
            function, lanes = self.activation.waiting.pop(0)
            lanes &= self.live
            if lanes:
                self.header[CALL_MASK] = lanes
                self._set("suspend_mask", lanes)
                self._set("suspend_function", function)
                return CALL
        return None

    def _finish_call(self, i: Instruction, block: int) -> int | None:
        """Results of a call come back to the lanes that made it, and control goes on after it."""
        self.activation.resume = None
        self.block = block
        w, trace = self.w, self.owner.trace
        w.active = lanes_of(int(self.header[CALL_MASK]))
        w.instruction = replace(i, guard=None)
        name = getattr(i.call.target, "name", "") if i.call else ""
        if i.call is None:
            if i.opcode in ("bar", "barrier"):
                interpreter_barrier.take_result(w, i)
        elif name.startswith("_optix_trace"):
            assert trace is not None
            for index, target in enumerate(i.call.results):
                w.write(target, trace.next_frame[FIELD[f"payload_{index}"]].copy())
        elif name.startswith("_optix_report"):
            w.write(i.call.results[0], self.owner.report[REPORT_ANSWER].copy())
        else:
            interpreter_calls.take_results(w, i)
            again = self._next_function()
            if again is not None:
                self.activation.resume = (i, block)
                return again
        if self.mask:
            self.go(self.after())
        else:
            self.pop()
        return None
