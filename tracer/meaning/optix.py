"""OptiX's device interface as both backends see it: which calls are getters, and the fields of a trace call."""

import re

from rayplay.ptx.ir import Instruction, Operand
from rayplay.ptx.isa.optix import INTRINSICS
from rayplay.tracer.abi.trace_frame import ATTRIBUTE_COUNT
from rayplay.tracer.abi.words import REPORT

PRIMITIVE_TRIANGLE, PRIMITIVE_CUSTOM = 0x2531, 0x2500
LETTERS = {"u": ("b32", 32), "l": ("b64", 64), "f": ("f32", 32)}
"""Type and bits of a register of ``ptx.isa.optix``."""
TRACE_CALL = re.compile(r"_optix_trace_(typed_32|[0-8])")
REPORT_CALL = re.compile(r"_optix_report_intersection_([0-8])")
VERDICT_CALLS = ("_optix_ignore_intersection", "_optix_terminate_ray")
RAY_FIELDS = (
    "origin_x", "origin_y", "origin_z", "direction_x", "direction_y", "direction_z", "t_min", "t_max", "time",
    "visibility_mask", "flags", "sbt_offset", "sbt_stride", "miss_index",
)  # fmt: skip
"""Fields of the frame in the order of a trace call's arguments."""
_HIGHEST_TIER = 2
GETTERS = frozenset(
    name for name, intrinsic in INTRINSICS.items() if intrinsic.tier <= _HIGHEST_TIER and not intrinsic.ends_block
)
"""Calls that read or write records of the running program and go on."""
_AXES = [(what, axis) for what in ("origin", "direction") for axis in "xyz"]
FRAME_GETTERS = {
    **{f"_optix_get_world_ray_{what}_{axis}": f"{what}_{axis}" for what, axis in _AXES},
    **{f"_optix_get_object_ray_{what}_{axis}": f"object_{what}_{axis}" for what, axis in _AXES},
    **{f"_optix_get_payload_{k}": f"payload_{k}" for k in range(8)},
    "_optix_get_ray_flags": "flags", "_optix_get_ray_visibility_mask": "visibility_mask",
    "_optix_get_ray_tmin": "t_min", "_optix_get_ray_time": "time",
}  # fmt: skip
"""Getters of a field of the trace call."""
HIT_GETTERS = {
    **{f"_optix_get_attribute_{k}": f"attribute_{k}" for k in range(ATTRIBUTE_COUNT)},
    "_optix_read_primitive_idx": "primitive", "_optix_read_sbt_gas_idx": "geometry",
    "_optix_read_instance_idx": "instance", "_optix_get_hit_kind": "kind",
}  # fmt: skip
"""Getters of a field of the hit."""


def trace_arguments(i: Instruction) -> list[tuple[str, Operand]]:
    """Fields of the frame, and the arguments of a trace call that they take: ray, then payload."""
    assert i.call is not None
    typed = i.callee.endswith("typed_32")
    arguments = i.call.arguments[2 if typed else 1 :]  # without payload type and traversable handle
    return list(zip(RAY_FIELDS, arguments, strict=False)) + [
        (f"payload_{k}", operand) for k, operand in enumerate(arguments[15 if typed else 14 :])
    ]


def report_arguments(i: Instruction) -> list[tuple[int, Operand]]:
    """Rows of the report, and the arguments of a reported intersection that they take."""
    assert i.call is not None
    rows = (REPORT.t, REPORT.kind, *range(REPORT.attribute, REPORT.attribute + len(i.call.arguments) - 2))
    return list(zip(rows, i.call.arguments, strict=True))
