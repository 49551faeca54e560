"""Fields of one lane of a frame, as the traversal reads and writes them."""

import numpy as np
from numba import njit

from tracer.frame import ATTRIBUTE_COUNT, FIELD, HIT_KIND_BACK, HIT_KIND_FRONT
from tracer.geometry import HIT_FRONT

NO_INSTANCE = 0xFFFFFFFF
FLAG_NO_ANY_HIT, FLAG_FORCE_ANY_HIT, FLAG_FIRST_HIT = 1, 2, 4
FLAG_CULL_BACK, FLAG_CULL_FRONT, FLAG_CULL_OPAQUE, FLAG_CULL_NON_OPAQUE = 0x10, 0x20, 0x40, 0x80

ORIGIN, DIRECTION = FIELD["origin_x"], FIELD["direction_x"]
STATUS, PROGRAM = FIELD["status"], FIELD["program"]
T_MIN, T_MAX, FLAGS = FIELD["t_min"], FIELD["t_max"], FIELD["flags"]
SBT_OFFSET, SBT_STRIDE = FIELD["sbt_offset"], FIELD["sbt_stride"]
COMMITTED, CANDIDATE = FIELD["committed_t"], FIELD["candidate_t"]
"""Both runs of fields have one order, so that a candidate is committed by copying."""
HIT_T, HIT_INSTANCE, HIT_PRIMITIVE, HIT_U, HIT_V, HIT_KIND, HIT_GEOMETRY, HIT_RECORD = range(8)
HIT_FIELDS = 8 + ATTRIBUTE_COUNT
COMMITTED_INSTANCE = COMMITTED + HIT_INSTANCE
OBJECT_ORIGIN, OBJECT_DIRECTION = FIELD["object_origin_x"], FIELD["object_direction_x"]

Triple = tuple[np.float32, np.float32, np.float32]


@njit(cache=True, inline="always")
def world_ray(floats: np.ndarray, lane: int) -> tuple[Triple, Triple, np.float32, np.float32]:
    """Origin, direction, t_min and t_max. floats: float32 view of the frame."""
    origin = floats[ORIGIN, lane], floats[ORIGIN + 1, lane], floats[ORIGIN + 2, lane]
    direction = floats[DIRECTION, lane], floats[DIRECTION + 1, lane], floats[DIRECTION + 2, lane]
    return origin, direction, floats[T_MIN, lane], floats[T_MAX, lane]


@njit(cache=True, inline="always")
def write_hit(
    frame: np.ndarray,
    floats: np.ndarray,
    lane: int,
    first: int,
    hit: tuple[int, np.float32, np.float32, np.float32],
    place: tuple[int, int, int, int],
) -> None:
    """Write the run of fields at ``first`` (COMMITTED or CANDIDATE). hit: as ``intersect_triangle`` returns it;
    place: instance, primitive, geometry, hit record."""
    floats[first + HIT_T, lane] = hit[1]
    floats[first + HIT_U, lane] = hit[2]
    floats[first + HIT_V, lane] = hit[3]
    frame[first + HIT_KIND, lane] = HIT_KIND_FRONT if hit[0] == HIT_FRONT else HIT_KIND_BACK
    frame[first + HIT_INSTANCE, lane] = place[0]
    frame[first + HIT_PRIMITIVE, lane] = place[1]
    frame[first + HIT_GEOMETRY, lane] = place[2]
    frame[first + HIT_RECORD, lane] = place[3]


@njit(cache=True, inline="always")
def write_suspension(
    frame: np.ndarray, floats: np.ndarray, lane: int, status: int, program: int, origin: Triple, direction: Triple
) -> None:
    """What the lane waits for, and the ray in the object space of the candidate's instance."""
    frame[STATUS, lane] = status
    frame[PROGRAM, lane] = program
    for axis in range(3):
        floats[OBJECT_ORIGIN + axis, lane] = origin[axis]
        floats[OBJECT_DIRECTION + axis, lane] = direction[axis]


@njit(cache=True)
def commit_candidate(frame: np.ndarray, lane: int) -> None:
    """The candidate becomes the closest hit."""
    for field in range(HIT_FIELDS):
        frame[COMMITTED + field, lane] = frame[CANDIDATE + field, lane]


@njit(cache=True)
def is_committed(frame: np.ndarray, lane: int) -> bool:
    """Whether the committed hit is on the primitive that an intersection program looked at last."""
    same = True
    for field in (HIT_INSTANCE, HIT_PRIMITIVE, HIT_GEOMETRY):
        same = same and frame[COMMITTED + field, lane] == frame[CANDIDATE + field, lane]
    return same
