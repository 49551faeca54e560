"""Fields of one lane of a frame, as the traversal reads and writes them.

A lane is named by the address of its word of field 0; field f is ``FIELD_BYTES * f`` further.
"""

import numpy as np

from rayplay.tracer.abi.trace_frame import FRAME, HIT, HIT_KIND_BACK, HIT_KIND_FRONT, HIT_ROWS, ROW_BYTES
from rayplay.tracer.native.jit import compiled
from rayplay.tracer.native.memory import load_f32, load_u32, store_f32, store_u32
from rayplay.tracer.rays.geometry import HIT_FRONT, Triple

NO_INSTANCE = 0xFFFFFFFF

Place = tuple[int, int, int, int]
"""Instance, primitive, geometry in its bottom level, hit record."""


@compiled
def get(lane: int, field: int) -> int:
    """A field's word, as a non-negative number."""
    return load_u32(lane + ROW_BYTES * field)


@compiled
def put(lane: int, field: int, value: int) -> None:
    store_u32(lane + ROW_BYTES * field, value)


@compiled
def get_float(lane: int, field: int) -> np.float32:
    return load_f32(lane + ROW_BYTES * field)


@compiled
def get_triple(lane: int, field: int) -> Triple:
    return get_float(lane, field), get_float(lane, field + 1), get_float(lane, field + 2)


@compiled
def write_hit(lane: int, first: int, hit: tuple[int, np.float32, np.float32, np.float32], place: Place) -> None:
    """Write the run of fields at ``first`` (COMMITTED or CANDIDATE). hit: as ``intersect_triangle`` returns it."""
    store_f32(lane + ROW_BYTES * (first + HIT.t), hit[1])
    store_f32(lane + ROW_BYTES * (first + HIT.u), hit[2])
    store_f32(lane + ROW_BYTES * (first + HIT.v), hit[3])
    put(lane, first + HIT.kind, HIT_KIND_FRONT if hit[0] == HIT_FRONT else HIT_KIND_BACK)
    put(lane, first + HIT.instance, place[0])
    put(lane, first + HIT.primitive, place[1])
    put(lane, first + HIT.geometry, place[2])
    put(lane, first + HIT.record, place[3])


@compiled
def write_suspension(lane: int, status: int, program: int, origin: Triple, direction: Triple) -> None:
    """Status and program of a lane that waits, and the ray in the object space of the candidate's instance."""
    put(lane, FRAME.status, status)
    put(lane, FRAME.program, program)
    for axis in range(3):
        store_f32(lane + ROW_BYTES * (FRAME.object_origin_x + axis), origin[axis])
        store_f32(lane + ROW_BYTES * (FRAME.object_direction_x + axis), direction[axis])


@compiled
def commit_candidate(lane: int) -> None:
    """The candidate becomes the closest hit."""
    for field in range(HIT_ROWS):
        put(lane, FRAME.committed_t + field, get(lane, FRAME.candidate_t + field))


@compiled
def is_committed(lane: int) -> bool:
    """Whether the committed hit is on the primitive that an intersection program looked at last."""
    same = True
    for field in (HIT.instance, HIT.primitive, HIT.geometry):
        same = same and get(lane, FRAME.committed_t + field) == get(lane, FRAME.candidate_t + field)
    return same
