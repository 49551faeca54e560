"""OptiX's device interface as both backends see it: which calls are getters, and the fields of a trace call."""

import re

from rayplay.ptx.isa.optix import INTRINSICS

PRIMITIVE_TRIANGLE, PRIMITIVE_CUSTOM = 0x2531, 0x2500
LETTERS = {"u": ("b32", 32), "l": ("b64", 64), "f": ("f32", 32)}
"""Type and bits of a register of ``ptx.isa.optix``."""
TRACE_CALL = re.compile(r"_optix_trace_(typed_32|[0-8])")
REPORT_CALL = re.compile(r"_optix_report_intersection_([0-8])")
VERDICT_CALLS = ("_optix_ignore_intersection", "_optix_terminate_ray")
RAY_FIELDS = (
    "origin_x", "origin_y", "origin_z", "direction_x", "direction_y", "direction_z", "t_min", "t_max", None,
    "visibility_mask", "flags", "sbt_offset", "sbt_stride", "miss_index",
)  # fmt: skip
"""Fields of the frame in the order of a trace call's arguments; the time has none."""
_HIGHEST_TIER = 2
GETTERS = frozenset(
    name for name, intrinsic in INTRINSICS.items() if intrinsic.tier <= _HIGHEST_TIER and not intrinsic.ends_block
)
"""Calls that read or write records of the running program and go on."""
