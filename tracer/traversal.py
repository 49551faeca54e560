"""A ray's way through the acceleration structure, recording every record it fetches, in order.

Functional: the order of records depends on the ray and the structure only, never on time. Rules and the default order:
``reference/vulkan-sim.md`` 1.3. Where a hit needs a program (any-hit, intersection), the lane is suspended with its
stack in its private state and goes on exactly there when it is entered again.

Distances are in units of the direction's length in world space: directions are transformed without normalising.
"""

import numpy as np
from numba import carray, cfunc, njit, types

from tracer.bvh_layout import BLOCK_WORDS, HEADER_HIGH, HEADER_LOW, HEADER_ROOT, INTERNAL
from tracer.frame import (
    FIELD,
    FIELD_COUNT,
    LANES,
    NO_PROGRAM,
    STATUS_ANY_HIT,
    STATUS_HIT,
    STATUS_MISS,
    STATUS_START,
    VERDICT_IGNORED,
    VERDICT_TERMINATED,
)
from tracer.geometry import FAR_SLACK, safe_inverse
from tracer.traversal_lane import (
    COMMITTED_INSTANCE,
    FLAG_FIRST_HIT,
    FLAGS,
    NO_INSTANCE,
    PROGRAM,
    STATUS,
    commit_candidate,
    is_committed,
    world_ray,
)
from tracer.traversal_state import (
    CONTEXT_WORDS,
    LOG_WORDS,
    STATE_BASE,
    STATE_INSTANCE,
    STATE_TOP,
    STATE_WORDS,
    Context,
    as_pointer,
    make_context,
    open_context,
)
from tracer.traversal_walk import ERROR_LOG_FULL, ERROR_RECORD, FINISHED, KIND_SHIFT, push, walk

__all__ = ["make_context", "traverse_lane", "traverse_lane_address"]

ERROR_MISS_INDEX = -3
ERRORS = {
    ERROR_LOG_FULL: f"a ray fetched more than {LOG_WORDS} records between two programs",
    ERROR_RECORD: "a ray selected a hit record beyond the shader binding table",
    ERROR_MISS_INDEX: "a ray selected a miss record beyond the shader binding table",
}
"""What a negative result of ``traverse_lane`` means."""

FLAG_NO_CLOSEST_HIT = 8
VERDICT, MISS_INDEX = FIELD["verdict"], FIELD["miss_index"]
COMMITTED_RECORD = FIELD["committed_record"]
_NO_PROGRAM, _NO_INSTANCE = np.uint32(NO_PROGRAM), np.uint32(NO_INSTANCE)


@njit(cache=True, error_model="numpy")
def traverse_lane(context: np.ndarray, frame: np.ndarray, state: np.ndarray, lane: int, log: np.ndarray) -> int:
    """Traverse from the start, or from where the lane was suspended, until it ends or needs a program.

    context: int64[CONTEXT_WORDS] (``make_context``); frame: uint32[FIELD_COUNT, 32] (``tracer.frame``); state:
    uint32[STATE_WORDS], this lane's own, any contents at the start; log: uint32[n], filled with nodes-table rows, bit
    31 set on a triangle whose hit was accepted or offered to an any-hit program.

    Returns how many words of ``log`` were written, or a negative key of ``ERRORS``. Afterwards the frame's status is
    HIT, MISS, ANY_HIT or INTERSECTION and ``program`` is what runs next, NO_PROGRAM for nothing.
    """
    shared = open_context(context)
    floats = frame.view(np.float32)
    count = 0
    status = frame[STATUS, lane]
    if status == STATUS_START:
        frame[COMMITTED_INSTANCE, lane] = _NO_INSTANCE
        state[STATE_TOP], state[STATE_BASE], state[STATE_INSTANCE] = 0, 0, 0
        log[0] = shared.top_row[0]
        count = 1
        going = _enter(shared, frame, floats, lane, state)
    else:
        going = _settle(status, frame, lane)
    if going:
        count = walk(shared, frame, floats, state, lane, log, count)
        if count < 0:
            return count
        if state[STATE_TOP] != FINISHED:
            return count
    return _finish(shared, frame, lane, count)


@njit(cache=True, error_model="numpy")
def _enter(shared: Context, frame: np.ndarray, floats: np.ndarray, lane: int, state: np.ndarray) -> bool:
    """Whether the ray is one at all and meets the bounds in the header; pushes the root when it does."""
    origin, direction, t_min, t_max = world_ray(floats, lane)
    total = np.float32(0.0)
    for axis in range(3):
        total += abs(direction[axis])
        if not np.isfinite(origin[axis]):
            return False
    if not (total > np.float32(0.0) and np.isfinite(total) and t_min <= t_max):
        return False
    header = shared.floats[BLOCK_WORDS * shared.top_block :]
    near, far = t_min, t_max
    for axis in range(3):
        inverse = safe_inverse(direction[axis])
        first = (header[HEADER_LOW + axis] - origin[axis]) * inverse
        last = (header[HEADER_HIGH + axis] - origin[axis]) * inverse
        near = max(near, min(first, last))
        far = min(far, max(first, last) * FAR_SLACK)
    if not near <= far:
        return False
    root = shared.top_block + np.int64(shared.words[BLOCK_WORDS * shared.top_block + HEADER_ROOT] >> np.uint32(6))
    push(state, 0, np.int64(INTERNAL) << KIND_SHIFT | root, near)
    state[STATE_TOP] = 1
    return True


@njit(cache=True)
def _settle(status: int, frame: np.ndarray, lane: int) -> bool:
    """Act on what the program decided; whether the traversal goes on."""
    verdict = frame[VERDICT, lane]
    first_hit = frame[FLAGS, lane] & np.uint32(FLAG_FIRST_HIT) != 0
    if status == STATUS_ANY_HIT:
        if verdict == VERDICT_IGNORED:
            return True
        commit_candidate(frame, lane)
        return not (verdict == VERDICT_TERMINATED or first_hit)
    return not (verdict == VERDICT_TERMINATED or (first_hit and is_committed(frame, lane)))


@njit(cache=True)
def _finish(shared: Context, frame: np.ndarray, lane: int, count: int) -> int:
    """Status and program of a ray that has ended."""
    if frame[COMMITTED_INSTANCE, lane] == _NO_INSTANCE:
        frame[STATUS, lane] = STATUS_MISS
        index = frame[MISS_INDEX, lane]
        if index >= shared.miss_programs.shape[0]:
            return ERROR_MISS_INDEX
        program = shared.miss_programs[index]
    else:
        frame[STATUS, lane] = STATUS_HIT
        record = frame[COMMITTED_RECORD, lane]
        if record >= shared.hit_records.shape[0]:
            return ERROR_RECORD
        program = shared.hit_records[record, 0]
        if frame[FLAGS, lane] & np.uint32(FLAG_NO_CLOSEST_HIT):
            program = -1
    frame[PROGRAM, lane] = _NO_PROGRAM if program < 0 else np.uint32(program)
    return count


@cfunc(types.int64(types.int64, types.int64, types.int64, types.int64, types.int64), cache=True)
def _traverse_lane_raw(context: int, frame: int, state: int, lane: int, log: int) -> int:
    return traverse_lane(
        carray(as_pointer(context), (CONTEXT_WORDS,), np.int64),
        carray(as_pointer(frame), (FIELD_COUNT, LANES), np.uint32),
        carray(as_pointer(state), (STATE_WORDS,), np.uint32),
        lane,
        carray(as_pointer(log), (LOG_WORDS,), np.uint32),
    )


def traverse_lane_address() -> int:
    """Address of ``traverse_lane`` for machine code: ``int64 f(int64 context, int64 frame, int64 state, int64 lane,
    int64 log)``, every pointer as an address; ``log`` must have room for LOG_WORDS words."""
    return _traverse_lane_raw.address
