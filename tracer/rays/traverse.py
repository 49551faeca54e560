"""A ray's way through the acceleration structure, recording every record it fetches, in order.

Functional: the order of records depends on the ray and the structure only, never on time. Rules and the default order:
``docs/sources/vulkan-sim.md#traversal-order``. Where a hit needs a program (any-hit, intersection), the lane is
suspended with its stack in its private state and goes on exactly there when it is entered again. In a delayed context
the traversal goes on at once and keeps the candidate; afterwards each entry offers the next one.

Distances are in units of the direction's length in world space: directions are transformed without normalising.
"""

from typing import cast

import numpy as np
from numba import types

from rayplay.tracer.abi.trace_frame import (
    FLAG_FIRST_HIT,
    FLAG_NO_CLOSEST_HIT,
    FRAME,
    HIT,
    KNOWN_FLAGS,
    NO_PROGRAM,
    STATUS,
    UNKNOWN_FLAGS,
    VERDICT,
)
from rayplay.tracer.abi.words import LOG_WORDS
from rayplay.tracer.bvh.layout import BLOCK_BYTES, HEADER_HIGH, HEADER_LOW, INTERNAL
from rayplay.tracer.native.jit import callback, compiled, entry_point
from rayplay.tracer.native.memory import load_f32, load_i32, load_u32, store_f32, store_u32
from rayplay.tracer.rays import walk
from rayplay.tracer.rays.geometry import FAR_SLACK, ZERO, safe_inverse
from rayplay.tracer.rays.lane import NO_INSTANCE, commit_candidate, get, get_float, get_triple, is_committed, put
from rayplay.tracer.rays.stack import KIND_SHIFT, push
from rayplay.tracer.rays.state import MOST_KEPT, STATE, Context, make_context, open_context

__all__ = ["make_context", "traverse_lane", "traverse_lane_address"]

ERROR_MISS_INDEX = -3
ERROR_FLAGS = -5
ERRORS = {
    walk.ERROR_LOG_FULL: f"a ray fetched more than {LOG_WORDS} records between two programs",
    walk.ERROR_RECORD: "a ray selected a hit record beyond the shader binding table",
    ERROR_MISS_INDEX: "a ray selected a miss record beyond the shader binding table",
    ERROR_FLAGS: f"a ray has a flag beyond 0xff: {UNKNOWN_FLAGS}",
    walk.ERROR_KEPT_FULL: f"a ray met more than {MOST_KEPT} primitives whose programs run after its traversal",
}
"""What a negative result of ``traverse_lane`` means."""


@entry_point
def traverse_lane(context: np.ndarray, frame: np.ndarray, state: np.ndarray, lane: int, log: np.ndarray) -> int:
    """Traverse from the start, or from where the lane was suspended, until it ends or needs a program.

    context: int64[:] (``make_context``); frame: uint32[len(FRAME), 32] (``tracer.abi.trace_frame``);
    state: uint32[STATE_WORDS], this lane's own, any contents at the start; log: uint32[n], filled with nodes-table
    rows, bit 31 set on a triangle whose hit was accepted, or offered to an any-hit program or kept for it; in
    Vulkan-Sim's order on every triangle between t_min and t_max.
    All C-contiguous.

    Returns how many words of ``log`` were written, or a negative key of ``ERRORS``. Afterwards the frame's status is
    HIT, MISS, ANY_HIT or INTERSECTION and ``program`` is what runs next, NO_PROGRAM for nothing.
    """
    return _traverse(
        context.ctypes.data, frame.ctypes.data + 4 * lane, state.ctypes.data, log.ctypes.data, log.shape[0]
    )


@compiled
def _traverse(context: int, lane: int, state: int, log: int, capacity: int) -> int:
    """``traverse_lane`` on addresses; lane: of the lane's first field."""
    shared = open_context(context)
    status, count = get(lane, FRAME.status), 0
    if status == STATUS.start:
        if get(lane, FRAME.flags) & ~np.uint32(KNOWN_FLAGS):
            return ERROR_FLAGS
        put(lane, FRAME.committed_t + HIT.instance, NO_INSTANCE)
        store_u32(log, load_u32(shared.block_row + 4 * shared.top_block))
        if shared.distance_log:
            store_f32(log + shared.distance_log, get_float(lane, FRAME.t_min))
        count = 1
        walk.keep_none(state)
        going = _enter(shared, lane, state)
    else:
        going = _settle(lane, status)
    if going and load_u32(state + 4 * STATE.top) != walk.FINISHED:
        count = walk.walk(shared, lane, state, log, count, capacity)
        if count < 0 or load_u32(state + 4 * STATE.top) != walk.FINISHED:
            return count
    action = walk.offer_kept(shared, lane, state) if going and not _is_over(lane) else walk.GO_ON
    if action != walk.GO_ON:
        return count if action > walk.GO_ON else action
    return _finish(shared, lane, count)


@compiled
def _is_over(lane: int) -> bool:
    """Whether the ray ends with the first hit, and has it."""
    return get(lane, FRAME.flags) & FLAG_FIRST_HIT != 0 and get(lane, FRAME.committed_t + HIT.instance) != NO_INSTANCE


@compiled
def _enter(shared: Context, lane: int, state: int) -> bool:
    """Whether the ray is one at all and meets the bounds in the header; pushes the root when it does."""
    origin, direction = get_triple(lane, FRAME.origin_x), get_triple(lane, FRAME.direction_x)
    near, far = get_float(lane, FRAME.t_min), get_float(lane, FRAME.t_max)
    length = abs(direction[0]) + abs(direction[1]) + abs(direction[2])
    if not (length > ZERO and np.isfinite(length) and np.isfinite(abs(origin[0]) + abs(origin[1]) + abs(origin[2]))):
        return False
    header = shared.image + BLOCK_BYTES * shared.top_block
    for axis in range(3):
        inverse = safe_inverse(direction[axis])
        first = (load_f32(header + 4 * (HEADER_LOW + axis)) - origin[axis]) * inverse
        last = (load_f32(header + 4 * (HEADER_HIGH + axis)) - origin[axis]) * inverse
        near = max(near, min(first, last))
        far = min(far, max(first, last) * FAR_SLACK)
    if not near <= far:
        return False
    store_u32(state + 4 * STATE.top, 1)
    store_u32(state + 4 * STATE.base, 0)
    store_u32(state + 4 * STATE.instance, 0)
    push(state, 0, INTERNAL << KIND_SHIFT | walk.root_of(shared, shared.top_block), near)
    return True


@compiled
def _settle(lane: int, status: int) -> bool:
    """Act on what the program decided; whether the traversal goes on."""
    verdict = get(lane, FRAME.verdict)
    first_hit = get(lane, FRAME.flags) & FLAG_FIRST_HIT != 0
    if status == STATUS.any_hit:
        if verdict == VERDICT.ignored:
            return True
        commit_candidate(lane)
        return not (verdict == VERDICT.terminated or first_hit)
    return not (verdict == VERDICT.terminated or (first_hit and is_committed(lane)))


@compiled
def _finish(shared: Context, lane: int, count: int) -> int:
    """Status and program of a ray that has ended."""
    if get(lane, FRAME.committed_t + HIT.instance) == NO_INSTANCE:
        put(lane, FRAME.status, STATUS.miss)
        index = get(lane, FRAME.miss_index)
        if index >= shared.miss_record_count:
            return ERROR_MISS_INDEX
        program = load_i32(shared.miss_programs + 4 * index)
    else:
        put(lane, FRAME.status, STATUS.hit)
        record = get(lane, FRAME.committed_t + HIT.record)
        if record >= shared.hit_record_count:
            return walk.ERROR_RECORD
        program = load_i32(shared.hit_records + 12 * record)
        if get(lane, FRAME.flags) & FLAG_NO_CLOSEST_HIT:
            program = -1
    put(lane, FRAME.program, NO_PROGRAM if program < 0 else program)
    return count


@callback(types.int64(types.int64, types.int64, types.int64, types.int64, types.int64))
def _traverse_lane_raw(context: int, frame: int, state: int, lane: int, log: int) -> int:
    return _traverse(context, frame + 4 * lane, state, log, LOG_WORDS)


def traverse_lane_address() -> int:
    """Address of ``traverse_lane`` for machine code: ``int64 f(int64 context, int64 frame, int64 state, int64 lane,
    int64 log)``, every pointer as an address; ``log`` must have room for LOG_WORDS words."""
    return cast(int, _traverse_lane_raw.address)
