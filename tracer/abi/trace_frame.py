"""The record of a trace call in flight: what programs, traversal and intrinsics share, one column per lane.

A frame is a C-contiguous ``uint32[FIELD_COUNT, 32]`` array: field ``f`` of lane ``l`` is word ``f * 32 + l``; floats
are stored as their bits. Machine code, the interpreter and the traversal all read and write this one layout.

Life of a lane in a frame: the trace call writes RAY fields, sets STATUS to START and COMMITTED_T to T_MAX. The
traversal runs until STATUS is HIT, MISS, ANY_HIT or INTERSECTION and PROGRAM names what to run next. After an any-hit
or intersection program ran, the traversal is entered again and reads VERDICT.
"""

LANES = 32

STATUS_START, STATUS_HIT, STATUS_MISS, STATUS_ANY_HIT, STATUS_INTERSECTION = range(5)
VERDICT_NONE, VERDICT_ACCEPTED, VERDICT_IGNORED, VERDICT_TERMINATED = range(4)
NO_PROGRAM = 0xFFFFFFFF
HIT_KIND_FRONT, HIT_KIND_BACK = 0xFE, 0xFF

ATTRIBUTE_COUNT = 8
PAYLOAD_COUNT = 32

_FIELDS = (
    # the ray, as the trace call gave it
    "origin_x", "origin_y", "origin_z", "direction_x", "direction_y", "direction_z", "t_min", "t_max",
    "flags", "visibility_mask", "sbt_offset", "sbt_stride", "miss_index",
    # where the ray stands
    "status", "program", "verdict",
    # what is committed: the closest accepted hit; instance and primitive are 0xFFFFFFFF while there is none
    "committed_t", "committed_instance", "committed_primitive", "committed_u", "committed_v", "committed_kind",
    "committed_geometry", "committed_record",
    *(f"committed_attribute_{i}" for i in range(ATTRIBUTE_COUNT)),
    # the candidate that an any-hit or intersection program looks at
    "candidate_t", "candidate_instance", "candidate_primitive", "candidate_u", "candidate_v", "candidate_kind",
    "candidate_geometry", "candidate_record",
    *(f"candidate_attribute_{i}" for i in range(ATTRIBUTE_COUNT)),
    # the ray in the object space of the candidate's instance
    "object_origin_x", "object_origin_y", "object_origin_z",
    "object_direction_x", "object_direction_y", "object_direction_z",
    # payload words of the trace call
    *(f"payload_{i}" for i in range(PAYLOAD_COUNT)),
)  # fmt: skip

FIELD_COUNT = len(_FIELDS)
FIELD = {name: index for index, name in enumerate(_FIELDS)}
