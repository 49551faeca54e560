"""The interpreter: the slow, plain definition of what a launch does. Machine code must equal it bit for bit.

It shares the driver's decisions (control stack, trace calls, barriers) with machine code and writes the same records;
what instructions mean and how lanes part and meet is defined here, in Python.
"""

import numpy as np

from rayplay.ptx.ir import Function
from rayplay.tracer.abi.layout import LANES
from rayplay.tracer.abi.words import ACTIVATION, ITEM, ITEM_ACTIVATION, PROGRESS, STOP, WARP, WARP_READY
from rayplay.tracer.interp.blocks import Machinery, Run
from rayplay.tracer.interp.calls import accept_arguments, results_of
from rayplay.tracer.interp.optix_calls.trace_state import TraceState
from rayplay.tracer.interp.values import Activation, Lanes
from rayplay.tracer.link.launches import ImageLaunch
from rayplay.tracer.record.recorder import Buffers
from rayplay.tracer.warp.arrays import LaunchState
from rayplay.tracer.warp.cta import begin_cta, begin_run, end_round, end_run, note_stop
from rayplay.tracer.warp.stack import frame_depth, suspended
from rayplay.tracer.warp.trace_call import advance
from rayplay.tracer.warp.turns import ENTRY_WORDS

TURNS = (STOP.turn, STOP.join, STOP.called)


class Interpreter:
    """``tracer.warp.cta.run_ctas`` for one launch, warp after warp in Python."""

    def __init__(self, state: LaunchState, buffers: Buffers) -> None:
        self.state, self.linked, self.warps = state, state.linked, state.warps
        self.starts = buffers.starts
        launch, linked = state.launch, state.linked
        image = launch if isinstance(launch, ImageLaunch) else None
        lanes = Lanes(
            self.warps.machine, state.memory, buffers, state.outside, linked.symbols, linked.addresses, state.selected
        )
        trace = TraceState(self.warps, image, linked.callables) if image else None
        self.machinery = Machinery(lanes, trace, self.warps.report, linked)
        self.activations: dict[int, Activation] = {}  # by ``ITEM.serial``

    def run(self) -> int:
        """Interpret CTAs until a step is done, a buffer is full, or the launch must stop."""
        w, progress, warps, tids = self.warps, self.state.progress, self.state.turns, self.state.tids
        while progress[PROGRESS.next_cta] < progress[PROGRESS.last_cta]:
            if progress[PROGRESS.in_cta] == 0:
                begin_cta(w, progress, warps, self.state.shared)
                self.activations.clear()
            while progress[PROGRESS.next_warp] < len(warps):
                warp = int(progress[PROGRESS.next_warp])
                if warps[warp, WARP.state] != WARP_READY:
                    progress[PROGRESS.next_warp] += 1
                    continue
                code = begin_run(w, progress, warps, tids)
                if code == STOP.none:
                    self.machinery.lanes.tids = tids[warp % len(tids)]
                    code = self._run_warp(warp)
                    end_run(w, progress, warps, self.starts)
                    code = note_stop(w, progress, warps, code)
                if code != STOP.none:
                    return code
            code = end_round(w, progress, warps)
            if code != STOP.none:
                return code
        return STOP.launch_done

    def arguments(self, warp: int, function: Function) -> list[np.ndarray]:
        """Arguments of the function without a body that a warp calls, uint8[32, bytes] each."""
        return self._at(warp, -1).outgoing

    def resume(self, warp: int, function: Function, results: list[np.ndarray]) -> None:
        """Hand results of such a function to the warp; it may have taken device memory."""
        self._at(warp, -1).returned = results
        self.machinery.lanes.hold(self.state.memory)

    def _run_warp(self, warp: int) -> int:
        w = self.warps
        while True:
            code = advance(w, warp)
            if code != STOP.none:
                return code
            index = int(w.depth[warp]) - 1
            item = w.items[warp, index]
            activation = self.activations.get(int(item[ITEM.serial]))
            if activation is None:
                activation = self._activation(item, warp, index)
            lanes, trace = self.machinery.lanes, self.machinery.trace
            lanes.activation, lanes.local_offset = activation, int(item[ITEM.local_offset])
            if trace is not None:
                trace.depth, trace.view = frame_depth(w, warp), w.views[item[ITEM.view_index]]
            reason = Run(self.machinery, w.stacks[warp, int(item[ITEM.start]) :]).run()
            if reason == STOP.returned:
                del self.activations[int(item[ITEM.serial])]
                caller = self._caller(warp, index)
                if caller is not None:
                    caller.returned = results_of(activation)
            code = self._take_turn(warp, reason) if reason in TURNS else suspended(w, warp, reason)
            if code != STOP.none:
                return code

    def _take_turn(self, warp: int, reason: int) -> int:
        """Let the shared rule choose the lanes that run next, on the stacks as it has them."""
        w, before = self.warps, self._serials(warp)
        for index, serial in enumerate(before):
            if serial:
                entries = self._entries(warp, index)
                for row, (block, meet, mask, joins) in enumerate(self.activations[serial].stack):
                    entries[row] = block, meet, np.uint32(mask).view(np.int32), joins
        code = suspended(w, warp, reason)
        after = self._serials(warp)
        for index, serial in enumerate(after):
            if serial:
                depth = w.stacks[warp, int(w.items[warp, index, ITEM.start]) + ACTIVATION.depth]
                rows = [tuple(map(int, row)) for row in self._entries(warp, index)[:depth]]
                stack = [(block, meet, mask & 0xFFFFFFFF, joins) for block, meet, mask, joins in rows]
                self.activations[serial].stack[:] = stack
        if len(after) < len(before):  # lanes may have left the call, and take its results
            self._at(warp, -1).returned = results_of(self.activations[before[len(after)]])
        return int(code)

    def _serials(self, warp: int) -> list[int]:
        """Per item of the control stack the number of its activation, 0 for others."""
        items = self.warps.items[warp, : int(self.warps.depth[warp])]
        return [int(item[ITEM.serial]) * (item[ITEM.kind] == ITEM_ACTIVATION) for item in items]

    def _entries(self, warp: int, index: int) -> np.ndarray:
        """The reconvergence stack of an item as the shared rule has it, int32[entries, 4]."""
        w, item = self.warps, self.warps.items[warp, index]
        start, function = int(item[ITEM.start]), int(item[ITEM.function])
        first = start + int(w.turns[function, 0]) // 8
        return w.stacks[warp, first : start + int(w.words[function])].view(np.int32).reshape(-1, ENTRY_WORDS)

    def _at(self, warp: int, index: int) -> Activation:
        """The activation of an item; -1: the innermost."""
        index += int(self.warps.depth[warp]) if index < 0 else 0
        return self.activations[int(self.warps.items[warp, index, ITEM.serial])]

    def _caller(self, warp: int, index: int) -> Activation | None:
        """The activation one below on the control stack; None without one."""
        caller = self.warps.items[warp, index - 1]
        if index == 0 or caller[ITEM.kind] != ITEM_ACTIVATION:
            return None
        return self.activations.get(int(caller[ITEM.serial]))

    def _activation(self, item: np.ndarray, warp: int, index: int) -> Activation:
        """A fresh one; its parameters are filled by the caller's, one below on the control stack."""
        linked = self.linked.functions[int(item[ITEM.function])]
        made = Activation(linked, int(item[ITEM.start]))
        for name, (_, size) in linked.layout.lane_variables.items():
            made.variables[name] = np.zeros((LANES, size), np.uint8)
        caller = self._caller(warp, index)
        if caller is not None and not linked.function.is_entry:
            accept_arguments(made, caller.outgoing)
        self.activations[int(item[ITEM.serial])] = made
        return made
