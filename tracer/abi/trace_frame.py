"""The record of a trace call in flight: what programs, traversal and intrinsics share, one column per lane.

A frame is a C-contiguous ``uint32[len(FRAME), 32]`` array: field ``f`` of lane ``l`` is word ``f * 32 + l``; floats
are stored as their bits. Machine code, the interpreter and the traversal all read and write this one layout.

Life of a lane in a frame: the trace call writes the ray, sets ``status`` to START and ``committed_t`` to ``t_max``. The
traversal runs until ``status`` is HIT, MISS, ANY_HIT or INTERSECTION and ``program`` names what to run next. After an
any-hit or intersection program ran, the traversal is entered again and reads ``verdict``.
"""

from rayplay.tracer.abi.layout import LANES, Words

ROW_BYTES = 4 * LANES

STATUS = Words("STATUS", "uint32", """
    start                   the trace call has written the ray
    hit                     the traversal is done
    miss
    any_hit                 an any-hit program has to look at the candidate
    intersection            an intersection program has to run
""")  # fmt: skip
VERDICT = Words("VERDICT", "uint32", """
    none                    of an any-hit program on the candidate
    accepted
    ignored
    terminated              accepted, and the ray ends
""")  # fmt: skip
NO_PROGRAM = 0xFFFFFFFF
HIT_KIND_FRONT, HIT_KIND_BACK = 0xFE, 0xFF

# ray flags of OptiX
FLAG_NO_ANY_HIT, FLAG_FORCE_ANY_HIT, FLAG_FIRST_HIT, FLAG_NO_CLOSEST_HIT = 1, 2, 4, 8
FLAG_CULL_BACK, FLAG_CULL_FRONT, FLAG_CULL_OPAQUE, FLAG_CULL_NON_OPAQUE = 0x10, 0x20, 0x40, 0x80
KNOWN_FLAGS = 0xFF
UNKNOWN_FLAGS = "opacity micromaps (0x400), and flags that skip kinds of primitives (0x100, 0x200), are not built"

ATTRIBUTE_COUNT = 8
PAYLOAD_COUNT = 32

_HIT = f"""
    t
    instance                0xFFFFFFFF while there is no hit
    primitive               0xFFFFFFFF while there is no hit
    u
    v
    kind                    a HIT_KIND, or the number that an intersection program reported
    geometry
    record                  index of its SBT record
    attribute[{ATTRIBUTE_COUNT}]
"""  # fmt: skip
HIT = Words("HIT", "uint32", _HIT)
HIT_ROWS = len(HIT)


def _rows_of_hit(which: str) -> str:
    """The rows of the committed hit, the closest accepted one, or of the candidate that a program looks at."""
    return "\n".join(f"{which}_{line.strip()}" for line in _HIT.strip().splitlines())


FRAME = Words("FRAME", "uint32", f"""
    origin_x                the ray, as the trace call gave it
    origin_y
    origin_z
    direction_x
    direction_y
    direction_z
    t_min
    t_max
    flags
    visibility_mask
    sbt_offset
    sbt_stride
    miss_index
    time                    given to programs; nothing of a scene moves
    status                  where the ray stands: a STATUS
    program                 id of the program to run next, or NO_PROGRAM
    verdict                 a VERDICT, of the any-hit program that ran last
    {_rows_of_hit("committed")}
    {_rows_of_hit("candidate")}
    object_origin_x         the ray in the object space of the candidate's instance
    object_origin_y
    object_origin_z
    object_direction_x
    object_direction_y
    object_direction_z
    payload[{PAYLOAD_COUNT}]             payload words of the trace call
""")  # fmt: skip
