"""Fields of one lane of a frame, as the traversal reads and writes them.

A lane is named by the address of its word of field 0; field f is ``FIELD_BYTES * f`` further.
"""

import numpy as np

from rayplay.tracer.abi.trace_frame import ATTRIBUTE_COUNT, FIELD, HIT_KIND_BACK, HIT_KIND_FRONT, LANES
from rayplay.tracer.native.jit import compiled
from rayplay.tracer.native.memory import load_f32, load_u32, store_f32, store_u32
from rayplay.tracer.rays.geometry import HIT_FRONT, Triple

FIELD_BYTES = 4 * LANES
NO_INSTANCE = 0xFFFFFFFF
FLAG_NO_ANY_HIT, FLAG_FORCE_ANY_HIT, FLAG_FIRST_HIT, FLAG_NO_CLOSEST_HIT = 1, 2, 4, 8
FLAG_CULL_BACK, FLAG_CULL_FRONT, FLAG_CULL_OPAQUE, FLAG_CULL_NON_OPAQUE = 0x10, 0x20, 0x40, 0x80

ORIGIN, DIRECTION = FIELD["origin_x"], FIELD["direction_x"]
T_MIN, T_MAX, FLAGS, VISIBILITY = FIELD["t_min"], FIELD["t_max"], FIELD["flags"], FIELD["visibility_mask"]
SBT_OFFSET, SBT_STRIDE, MISS_INDEX = FIELD["sbt_offset"], FIELD["sbt_stride"], FIELD["miss_index"]
STATUS, PROGRAM, VERDICT = FIELD["status"], FIELD["program"], FIELD["verdict"]
COMMITTED, CANDIDATE = FIELD["committed_t"], FIELD["candidate_t"]
"""Both runs of fields have one order, so that a candidate is committed by copying."""
HIT_T, HIT_INSTANCE, HIT_PRIMITIVE, HIT_U, HIT_V, HIT_KIND, HIT_GEOMETRY, HIT_RECORD = range(8)
HIT_FIELDS = 8 + ATTRIBUTE_COUNT
OBJECT_ORIGIN, OBJECT_DIRECTION = FIELD["object_origin_x"], FIELD["object_direction_x"]

Place = tuple[int, int, int, int]
"""Instance, primitive, geometry in its bottom level, hit record."""


@compiled
def get(lane: int, field: int) -> int:
    """A field's word, as a non-negative number."""
    return load_u32(lane + FIELD_BYTES * field)


@compiled
def put(lane: int, field: int, value: int) -> None:
    store_u32(lane + FIELD_BYTES * field, value)


@compiled
def get_float(lane: int, field: int) -> np.float32:
    return load_f32(lane + FIELD_BYTES * field)


@compiled
def get_triple(lane: int, field: int) -> Triple:
    return get_float(lane, field), get_float(lane, field + 1), get_float(lane, field + 2)


@compiled
def write_hit(lane: int, first: int, hit: tuple[int, np.float32, np.float32, np.float32], place: Place) -> None:
    """Write the run of fields at ``first`` (COMMITTED or CANDIDATE). hit: as ``intersect_triangle`` returns it."""
    store_f32(lane + FIELD_BYTES * (first + HIT_T), hit[1])
    store_f32(lane + FIELD_BYTES * (first + HIT_U), hit[2])
    store_f32(lane + FIELD_BYTES * (first + HIT_V), hit[3])
    put(lane, first + HIT_KIND, HIT_KIND_FRONT if hit[0] == HIT_FRONT else HIT_KIND_BACK)
    put(lane, first + HIT_INSTANCE, place[0])
    put(lane, first + HIT_PRIMITIVE, place[1])
    put(lane, first + HIT_GEOMETRY, place[2])
    put(lane, first + HIT_RECORD, place[3])


@compiled
def write_suspension(lane: int, status: int, program: int, origin: Triple, direction: Triple) -> None:
    """What the lane waits for, and the ray in the object space of the candidate's instance."""
    put(lane, STATUS, status)
    put(lane, PROGRAM, program)
    for axis in range(3):
        store_f32(lane + FIELD_BYTES * (OBJECT_ORIGIN + axis), origin[axis])
        store_f32(lane + FIELD_BYTES * (OBJECT_DIRECTION + axis), direction[axis])


@compiled
def commit_candidate(lane: int) -> None:
    """The candidate becomes the closest hit."""
    for field in range(HIT_FIELDS):
        put(lane, COMMITTED + field, get(lane, CANDIDATE + field))


@compiled
def is_committed(lane: int) -> bool:
    """Whether the committed hit is on the primitive that an intersection program looked at last."""
    same = True
    for field in (HIT_INSTANCE, HIT_PRIMITIVE, HIT_GEOMETRY):
        same = same and get(lane, COMMITTED + field) == get(lane, CANDIDATE + field)
    return same
