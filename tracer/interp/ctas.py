"""The interpreter: the slow, plain definition of what a launch does. Machine code must equal it bit for bit.

It shares the driver's decisions (control stack, trace calls, barriers) with machine code and writes the same records;
what instructions mean and how lanes part and meet is defined here, in Python.
"""

from typing import Any

import numpy as np

from rayplay.tracer.abi.words import LANES, RETURNED
from rayplay.tracer.interp.blocks import Machinery, Run
from rayplay.tracer.interp.calls import accept_arguments, results_of
from rayplay.tracer.interp.memory import Memory
from rayplay.tracer.interp.optix import TraceState
from rayplay.tracer.interp.values import Activation, Lanes
from rayplay.tracer.link.launches import ImageLaunch
from rayplay.tracer.link.link import LinkedLaunch
from rayplay.tracer.memory.arena import FIRST_ADDRESS
from rayplay.tracer.record.recorder import Buffers
from rayplay.tracer.warp.arrays import LaunchState
from rayplay.tracer.warp.cta import (
    IN_CTA,
    LAST_CTA,
    LAUNCH_DONE,
    NEXT_CTA,
    NEXT_WARP,
    STATE_READY,
    WARP_STATE,
    begin_cta,
    begin_run,
    end_round,
    end_run,
    note_stop,
)  # fmt: skip
from rayplay.tracer.warp.stack import ITEM_FUNCTION, ITEM_LOCAL, ITEM_START, ITEM_VIEW, RUN, frame_depth, suspended
from rayplay.tracer.warp.trace_call import advance


def interpret_ctas(linked: LinkedLaunch, state: LaunchState, buffers: Buffers) -> "Interpreter":
    """A callable that stands in for ``tracer.warp.cta.run_ctas``."""
    return Interpreter(linked, state, buffers)


class Interpreter:
    """``run_ctas`` for one launch."""

    def __init__(self, linked: LinkedLaunch, state: LaunchState, buffers: Buffers) -> None:
        self.linked = linked
        self.warps = state.warps
        launch = state.kept[2]
        image = launch if isinstance(launch, ImageLaunch) else None
        self.device = launch.memory
        arena = launch.memory.view(FIRST_ADDRESS, np.uint8, launch.memory.used_bytes)
        self.machinery = Machinery(
            lanes=Lanes(self.warps.machine, linked.symbols, linked.addresses),
            memory=Memory(arena, buffers),
            trace=TraceState(self.warps, image) if image else None,
            selected=state.kept[0][1][0]["selected"] if image else np.zeros(0, np.uint8),
            report=self.warps.report,
            launch=linked,
            buffers=buffers,
        )
        self.activations: dict[tuple[int, int], Activation] = {}

    def __call__(
        self, _: Any, progress: np.ndarray, warps: np.ndarray, tids: np.ndarray, shared: np.ndarray, starts: np.ndarray
    ) -> int:
        """``run_ctas``, warp after warp in Python."""
        w = self.warps
        while progress[NEXT_CTA] < progress[LAST_CTA]:
            if progress[IN_CTA] == 0:
                begin_cta(w, progress, warps, shared)
                self.activations.clear()
            while progress[NEXT_WARP] < len(warps):
                warp = int(progress[NEXT_WARP])
                if warps[warp, WARP_STATE] != STATE_READY:
                    progress[NEXT_WARP] += 1
                    continue
                code = begin_run(w, progress, warps, tids)
                if code == RUN:
                    self.machinery.lanes.tids = tids[warp]
                    code = self._run_warp(warp)
                    end_run(w, progress, warps, starts)
                    code = note_stop(w, progress, warps, code)
                if code != RUN:
                    return code
            code = end_round(w, progress, warps)
            if code != RUN:
                return code
        return LAUNCH_DONE

    def outgoing(self, warp: int) -> list[np.ndarray]:
        """Arguments of the function without a body that a warp calls, uint8[32, bytes] each."""
        return self.activations[warp, int(self.warps.depth[warp]) - 1].outgoing

    def resume(self, warp: int, results: list[np.ndarray]) -> None:
        """Hand results of such a function to the warp; it may have taken device memory."""
        self.activations[warp, int(self.warps.depth[warp]) - 1].returned = results
        self.machinery.memory.arena = self.device.view(FIRST_ADDRESS, np.uint8, self.device.used_bytes)

    def _run_warp(self, warp: int) -> int:
        w = self.warps
        while True:
            code = advance(w, warp)
            if code != RUN:
                return code
            index = int(w.depth[warp]) - 1
            item = w.items[warp, index]
            activation = self.activations.get((warp, index))
            if activation is None:
                activation = self._activation(int(item[ITEM_FUNCTION]), int(item[ITEM_START]), warp, index)
            lanes, trace = self.machinery.lanes, self.machinery.trace
            lanes.activation, lanes.local_offset = activation, int(item[ITEM_LOCAL])
            if trace is not None:
                trace.depth, trace.view = frame_depth(w, warp), w.views[item[ITEM_VIEW]]
            reason = Run(self.machinery, w.stacks[warp, int(item[ITEM_START]) :]).run()
            if reason == RETURNED:
                del self.activations[warp, index]
                caller = self.activations.get((warp, index - 1))
                if caller is not None:
                    caller.returned = results_of(activation)
            code = suspended(w, warp, reason)
            if code != RUN:
                return code

    def _activation(self, function: int, start: int, warp: int, index: int) -> Activation:
        """A fresh one; its parameters are filled by the caller's, one below on the control stack."""
        linked = self.linked.functions[function]
        made = Activation(linked, start)
        for name, (_, size) in linked.layout.lane_variables.items():
            made.variables[name] = np.zeros((LANES, size), np.uint8)
        caller = self.activations.get((warp, index - 1))
        if caller is not None and not linked.function.is_entry:
            accept_arguments(made, caller.outgoing)
        self.activations[warp, index] = made
        return made
