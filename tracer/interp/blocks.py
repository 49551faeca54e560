"""One function in flight, interpreted: its blocks, and how lanes part, meet, leave and suspend."""

from dataclasses import dataclass, replace

import numpy as np

from rayplay.ptx.flow.cfg import ends_block, waits
from rayplay.ptx.ir import Instruction
from rayplay.tracer.abi.layout import LANES
from rayplay.tracer.abi.trace_frame import FRAME, VERDICT
from rayplay.tracer.abi.words import ACTIVATION, IN_CALL, MACHINE, MODE, REPORT, STOP, VISIT_BYTES
from rayplay.tracer.interp import barrier, calls, optix
from rayplay.tracer.interp.arena import IllegalAddressError, mask_of
from rayplay.tracer.interp.dispatch import RECORDING, run_straight
from rayplay.tracer.interp.flow import Flow
from rayplay.tracer.interp.optix_calls.trace_state import TraceState
from rayplay.tracer.interp.values import Lanes, lanes_of
from rayplay.tracer.link.link import LinkedLaunch
from rayplay.tracer.meaning.optix import MODES, REPORT_CALL, THROW_CALL, TRACE_CALL, VERDICT_CALLS, is_reorder


@dataclass
class Machinery:
    """State that activations share. report: uint32[len(REPORT), 32]."""

    lanes: Lanes
    trace: TraceState | None
    report: np.ndarray
    launch: LinkedLaunch


class Run(Flow):
    """One activation from where it stands until it suspends."""

    def __init__(self, owner: Machinery, header: np.ndarray) -> None:
        super().__init__(owner.lanes, header)
        self.owner = owner

    def run(self) -> int:
        """Visit blocks until a reason to stop comes up."""
        reason: int | None = None
        if self.resumes:
            reason = self._finish_call()
        elif self.mask == 0:
            self.pop()
        while reason is None:
            if self.mask == 0 and not self.pop():
                reason = STOP.returned
            elif self.block == IN_CALL:
                reason = STOP.called
            elif self._is_full():
                reason = STOP.full
            elif (turn := self.turn()) is not None:
                reason = turn
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
        if any(i.opcode in RECORDING or is_reorder(i) for i in body):
            room = room and m("access_next") <= m("access_limit") and m("address_next") <= m("address_limit")
        return not room

    def _visit(self) -> int | None:
        """Record and execute one block; the reason to stop after it, if any."""
        words, buffers = self.w.machine_words, self.w.buffers
        row = (words[MACHINE.visit_next] - buffers.starts[0]) // VISIT_BYTES
        buffers.visits[row] = (self.linked.block_base + self.block, self.mask)
        words[MACHINE.visit_next] += VISIT_BYTES
        self.w.active, self.w.carry = lanes_of(self.mask), np.zeros(LANES, bool)
        block = self.linked.cfg.blocks[self.block]
        last = block.first + block.count - 1
        for position in range(block.first, last + 1):
            instruction = self.linked.function.body[position]
            self.w.instruction, self.w.instruction_id = instruction, self.linked.instruction_base + position
            self.w.position = position - block.first
            if position < last or not ends_block(instruction):
                self._straight(instruction)
            else:
                return self._end(instruction)
        self.go(self.after())
        return None

    def _straight(self, i: Instruction) -> None:
        if i.call is not None:
            assert self.owner.trace is not None
            optix.run_getter(self.w, self.owner.trace, i)
        elif i.opcode not in ("bar", "barrier"):
            run_straight(self.w, i)

    def _end(self, i: Instruction) -> int | None:
        """The last instruction of a block: where each lane goes, or why the activation stops."""
        lanes = self.w.executing()
        taken, after = mask_of(lanes), self.after()
        if i.opcode in ("bra", "brx"):
            self.branch(i, taken, after)
        elif i.opcode in ("ret", "exit"):
            if i.opcode == "exit" and not self.linked.function.is_entry:
                self.header[ACTIVATION.exited] |= taken
            self.leave(taken, after)
        elif i.opcode == "trap":
            return self._stop(STOP.trapped, i, taken, after)
        elif i.opcode in ("bar", "barrier"):
            if i.form.key == "barrier.cluster" and i.form.variant == "arrive":
                self.go(after)
                return None
            return self._stop(barrier.arrive(self.w, i), i, taken, after)
        elif i.opcode == "nanosleep":
            return self._stop(STOP.yields, i, taken, after)
        elif waits(i):
            self._straight(i)
            if (self.w.read(i.operands[0], "pred") | ~lanes).all():
                self.go(after)
                return None
            return self._stop(STOP.yields, i, taken, after)
        else:
            return self._call(i, i.callee, taken, after)
        return None

    def _set(self, name: str, value: int) -> None:
        self.w.machine_words[MACHINE[name]] = value

    def _stop(self, reason: int, i: Instruction, taken: int, after: int | None) -> int | None:
        """Suspend at an instruction for the lanes that execute it; without any, nothing happens."""
        if taken == 0:
            self.go(after)
            return None
        self._set("suspend_mask", taken)
        self._set("suspend_instruction", self.w.instruction_id)
        self._set("error_lane", (taken & -taken).bit_length() - 1)
        self.header[ACTIVATION.call_mask] = taken
        self.resumes = True
        return reason

    def _call(self, i: Instruction, name: str, taken: int, after: int | None) -> int | None:
        trace = self.owner.trace
        if trace is not None and name in VERDICT_CALLS:
            verdict = VERDICT.ignored if "ignore" in name else VERDICT.terminated
            trace.frame[FRAME.verdict][lanes_of(taken)] = verdict
            self.leave(taken, after)
            return None
        if trace is not None and TRACE_CALL.fullmatch(name):
            optix.store_trace(self.w, trace, i)
            self._set("suspend_mode", MODES.get(name, MODE.trace))
            return self._stop(STOP.trace, i, taken, after)
        if trace is not None and REPORT_CALL.fullmatch(name):
            optix.store_report(self.w, trace, i)
            return self._stop(STOP.report, i, taken, after)
        if trace is not None and THROW_CALL.fullmatch(name):
            optix.store_exception(self.w, trace, i)
            return self._stop(STOP.exception, i, taken, after)
        reason = self._stop(STOP.call, i, taken, after)
        if reason is None:
            return None
        if not name and i.call is not None:
            first = self.linked.layout.outgoing // 8
            self.header[first : first + LANES] = self.w.read(i.call.target, "u64").view(np.int64)
        self._set("suspend_signature", calls.begin(self.w, i, taken, self.owner.launch))
        return self._next_function()

    def _next_function(self) -> int | None:
        """Run the next function of a call; None when all its lanes have returned."""
        while self.activation.waiting:
            function, lanes = self.activation.waiting.pop(0)
            lanes &= self.live
            if lanes:
                self.header[ACTIVATION.call_mask] = lanes
                self._set("suspend_mask", lanes)
                self._set("suspend_function", function)
                return STOP.call
        return None

    def _finish_call(self) -> int | None:
        """Results of a call come back to the lanes that made it, and control goes on after it."""
        self.resumes = False
        block = self.linked.cfg.blocks[self.block]
        i = self.linked.function.body[block.first + block.count - 1]
        w, trace = self.w, self.owner.trace
        w.active = lanes_of(int(self.header[ACTIVATION.call_mask]))
        w.instruction = replace(i, guard=None)
        if i.call is None:
            if i.opcode in ("bar", "barrier"):
                barrier.take_result(w, i)
        elif TRACE_CALL.fullmatch(i.callee):
            assert trace is not None
            for index, target in enumerate(i.call.results):
                w.write(target, trace.next_frame[FRAME[f"payload_{index}"]].copy())
        elif REPORT_CALL.fullmatch(i.callee):
            w.write(i.call.results[0], self.owner.report[REPORT.answer].copy())
        elif THROW_CALL.fullmatch(i.callee):
            pass  # the lanes have left
        else:
            calls.take_results(w, i)
            again = self._next_function()
            if again is not None:
                self.resumes = True
                return again
        if self.mask:
            self.go(self.after())
        else:
            self.pop()
        return None
