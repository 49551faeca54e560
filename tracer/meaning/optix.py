"""OptiX's device interface as both backends see it: which calls are getters, and the fields of a trace call."""

import re

from rayplay.ptx.ir import Instruction, Operand
from rayplay.ptx.isa.optix import ANSWER_0, INTRINSICS
from rayplay.tracer.abi.trace_frame import ATTRIBUTE_COUNT, STATUS
from rayplay.tracer.abi.words import MODE, REPORT

PRIMITIVE_TRIANGLE, PRIMITIVE_CUSTOM = 0x2531, 0x2500
BUILT_IN_FRONT, BUILT_IN_BACK, BUILT_IN_TYPES = 0x80, 0xC0, 0x3F
"""Hit kinds of built-in spheres and curves: a bit for the side, and the low bits of the primitive's type."""
PRIMITIVES = {
    "get_triangle_vertex_data": 9, "get_sphere_data": 4, "get_linear_curve_vertex_data": 8,
    "get_quadratic_bspline_vertex_data": 12, "get_cubic_bspline_vertex_data": 16, "get_catmullrom_vertex_data": 16,
    "get_cubic_bezier_vertex_data": 16,
}  # fmt: skip
"""Calls that fetch a primitive, and its floats."""
LETTERS = {"u": ("b32", 32), "l": ("b64", 64), "f": ("f32", 32)}
"""Type and bits of a register of ``ptx.isa.optix``."""
TRACE_CALL = re.compile(r"_optix_(trace_(typed_32|[0-8])|hitobject_(traverse|invoke))")
REPORT_CALL = re.compile(r"_optix_report_intersection_([0-8])")
THROW_CALL = re.compile(r"_optix_throw_exception_([0-8])")
REORDER_CALL = "_optix_hitobject_reorder"
"""As ``formats.schema.trace`` has it, which decides no machine code."""
VERDICT_CALLS = ("_optix_ignore_intersection", "_optix_terminate_ray")
CALLABLE_CALLS = ("_optix_call_direct_callable", "_optix_call_continuation_callable")
MODES = {"_optix_hitobject_traverse": MODE.traverse, "_optix_hitobject_invoke": MODE.invoke}
"""What a trace call does, if not ``MODE.trace``."""
RAY_FIELDS = (
    "origin_x", "origin_y", "origin_z", "direction_x", "direction_y", "direction_z", "t_min", "t_max", "time",
    "visibility_mask", "flags", "sbt_offset", "sbt_stride", "miss_index",
)  # fmt: skip
"""Fields of the frame in the order of a trace call's arguments."""
NODE_HANDLE_SHIFT = 62
"""An instance record's handle is this bit and its number; a mesh's handle is its number plus 1."""
TRANSFORM_INSTANCE = 4
NO_CLUSTER = 0xFFFFFFFF
GETTERS = frozenset(
    name for name, intrinsic in INTRINSICS.items() if not intrinsic.ends_block and not intrinsic.is_refused
)
"""Calls that read or write records of the running program and go on."""
ABSENT = frozenset(name for name in GETTERS if INTRINSICS[name].state in ANSWER_0)
"""Those that answer 0."""
_AXES = [(what, axis) for what in ("origin", "direction") for axis in "xyz"]
_WORLD = {f"get_world_ray_{what}_{axis}": f"{what}_{axis}" for what, axis in _AXES}
FRAME_GETTERS = {
    **{f"_optix_{name}": field for name, field in _WORLD.items()},
    **{f"_optix_get_object_ray_{what}_{axis}": f"object_{what}_{axis}" for what, axis in _AXES},
    **{f"_optix_get_payload_{k}": f"payload_{k}" for k in range(8)},
    "_optix_get_ray_flags": "flags", "_optix_get_ray_visibility_mask": "visibility_mask",
    "_optix_get_ray_tmin": "t_min", "_optix_get_ray_time": "time",
}  # fmt: skip
"""Getters of a field of the trace call."""
HIT_GETTERS = {
    **{f"_optix_get_attribute_{k}": f"attribute_{k}" for k in range(2, ATTRIBUTE_COUNT)},
    "_optix_read_primitive_idx": "primitive", "_optix_read_sbt_gas_idx": "geometry",
    "_optix_read_instance_idx": "instance", "_optix_get_hit_kind": "kind",
    "_optix_get_curve_parameter": "attribute_0",
}  # fmt: skip
"""Getters of a field of the hit."""
TRIANGLE_ATTRIBUTES = ("u", "v")
"""The first attributes of a triangle; of other primitives they are reported, as all others are."""
OBJECT_GETTERS = {
    **{f"_optix_hitobject_{name}": field for name, field in _WORLD.items()},
    "_optix_hitobject_get_ray_tmin": "t_min", "_optix_hitobject_get_ray_tmax": "committed_t",
    "_optix_hitobject_get_ray_time": "time", "_optix_hitobject_get_ray_flags": "flags",
    "_optix_hitobject_get_instance_idx": "committed_instance",
    "_optix_hitobject_get_primitive_idx": "committed_primitive",
    "_optix_hitobject_get_sbt_gas_idx": "committed_geometry", "_optix_hitobject_get_hitkind": "committed_kind",
}  # fmt: skip
"""Getters of a field of the hit object."""
OBJECT_STATES = {
    "_optix_hitobject_is_hit": STATUS.hit, "_optix_hitobject_is_miss": STATUS.miss,
    "_optix_hitobject_is_nop": STATUS.start,
}  # fmt: skip
"""Questions about the state of the hit object."""
MISS_FIELDS = ("miss_index", *RAY_FIELDS[:9], "flags")
"""Fields of the hit object in the order of the arguments of ``hitobject_make_miss_v2``."""


def is_reorder(i: Instruction) -> bool:
    """Whether an instruction records hints, as memory instructions record accesses."""
    return i.callee == REORDER_CALL


def trace_arguments(i: Instruction) -> list[tuple[str, Operand]]:
    """Fields of the frame, and the arguments of a trace call that they take: ray, then payload."""
    assert i.call is not None
    arguments = i.call.arguments
    if i.callee == "_optix_hitobject_invoke":
        return [(f"payload_{k}", operand) for k, operand in enumerate(arguments[2:])]
    typed = i.callee.endswith(("typed_32", "traverse"))
    arguments = arguments[2 if typed else 1 :]  # without payload type and traversable handle
    return list(zip(RAY_FIELDS, arguments, strict=False)) + [
        (f"payload_{k}", operand) for k, operand in enumerate(arguments[15 if typed else 14 :])
    ]


def report_arguments(i: Instruction) -> list[tuple[int, Operand]]:
    """Rows of the report, and the arguments of a reported intersection that they take."""
    assert i.call is not None
    rows = (REPORT.t, REPORT.kind, *range(REPORT.attribute, REPORT.attribute + len(i.call.arguments) - 2))
    return list(zip(rows, i.call.arguments, strict=True))


def exception_arguments(i: Instruction) -> list[tuple[int, Operand]]:
    """Rows of the exception, and the arguments of a throw that they take."""
    assert i.call is not None
    return list(enumerate(i.call.arguments))  # code, then details
