"""Arguments and results of functions without a body, where machine code leaves and finds them."""

import numpy as np

from rayplay.ptx.ir import Function
from rayplay.tracer.abi.trace_frame import LANES
from rayplay.tracer.link.layout import signature_of
from rayplay.tracer.warp.arrays import LaunchState
from rayplay.tracer.warp.stack import ITEM_FUNCTION, ITEM_START


def _callee_area(state: LaunchState, warp: int) -> np.ndarray:
    """The part of the warp's stack where the function that it calls would lie, uint8."""
    w = state.warps
    item = w.items[warp, w.depth[warp] - 1]
    start = int(item[ITEM_START]) + int(w.words[item[ITEM_FUNCTION]])
    return w.stacks[warp, start:].view(np.uint8)


def external_arguments(state: LaunchState, warp: int, function: Function) -> list[np.ndarray]:
    """What the warp passes to ``function``, uint8[32, bytes] each."""
    area = _callee_area(state, warp)
    places = signature_of(function).parameters
    return [area[at : at + LANES * size].reshape(LANES, size) for at, size in places]


def write_external_results(state: LaunchState, warp: int, function: Function, results: list[np.ndarray]) -> None:
    """Put results where the warp looks for them."""
    area = _callee_area(state, warp)
    for (at, size), value in zip(signature_of(function).returns, results, strict=True):
        area[at : at + LANES * size] = value.reshape(-1)
