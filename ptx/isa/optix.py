"""OptiX's device interface: the undeclared ``_optix_*`` functions that programs call, by name.

Types of outputs and inputs: ``u`` 32-bit integer, ``l`` 64-bit integer, ``f`` f32. ``ends_block`` marks calls that run
other code (programs found through the shader binding table) and so split a basic block. Source:
``docs/sources/optix.md#tiers``, signatures ``docs/sources/optix.md#trace, #shader-binding-table, #getters, #reports``.
"""

from dataclasses import dataclass

TRACE_CLASS = "trace"
RUNTIME_CLASS = "runtime"
MOST_PAYLOAD_REGISTERS = 32
MOST_ATTRIBUTES = 8


@dataclass(frozen=True, slots=True)
class Intrinsic:
    """One function of the interface. ``outputs`` and ``inputs`` have a letter per register.

    A lane that calls one with ``returns`` False ends its program there.
    """

    outputs: str
    inputs: str
    tier: int
    ends_block: bool = False
    returns: bool = True
    operation_class: str = RUNTIME_CLASS


def _table() -> dict[str, Intrinsic]:
    made: dict[str, Intrinsic] = {}
    _launch_trace_and_hits(made)
    _any_hit_and_intersection(made)
    _transforms_and_callables(made)
    _hit_objects_and_curves(made)
    return made


def _add(made: dict[str, Intrinsic], tier: int, outputs: str, inputs: str, *names: str) -> None:
    for name in names:
        made[f"_optix_{name}"] = Intrinsic(outputs, inputs, tier)


def _launch_trace_and_hits(made: dict[str, Intrinsic]) -> None:
    """T1."""
    axes = "xyz"
    ray = "l" + "f" * 9 + "u" * 5  # handle, origin, direction, tmin, tmax, time, mask, flags, offset, stride, miss
    slots = "u" * MOST_PAYLOAD_REGISTERS
    made["_optix_trace_typed_32"] = Intrinsic(slots, "u" + ray + "u" + slots, 1, True, operation_class=TRACE_CLASS)
    for count in range(9):
        payload = "u" * count
        made[f"_optix_trace_{count}"] = Intrinsic(payload, ray + payload, 1, True, operation_class=TRACE_CLASS)
        if count < 8:
            _add(made, 1, "u", "", f"get_payload_{count}", f"get_attribute_{count}")
            _add(made, 1, "", "u", f"set_payload_{count}")
    _add(made, 1, "u", "", *(f"get_launch_{what}_{axis}" for what in ("index", "dimension") for axis in axes))
    _add(made, 1, "l", "", "get_sbt_data_ptr_64")
    _add(made, 1, "u", "u", "get_payload")
    _add(made, 1, "", "uu", "set_payload")
    _add(made, 1, "", "u", "set_payload_types")
    _add(made, 1, "u", "", "undef_value", "get_ray_flags", "get_ray_visibility_mask", "read_primitive_idx")
    _add(made, 1, "u", "", "read_sbt_gas_idx", "read_instance_id", "read_instance_idx", "get_hit_kind")
    _add(made, 1, "f", "", *(f"get_world_ray_{what}_{axis}" for what in ("origin", "direction") for axis in axes))
    _add(made, 1, "f", "", "get_ray_tmin", "get_ray_tmax", "get_ray_time")
    _add(made, 1, "ff", "", "get_triangle_barycentrics")
    _add(made, 1, "u", "u", "get_primitive_type_from_hit_kind", "get_backface_from_hit_kind")
    _add(made, 1, "f" * 9, "luuf", "get_triangle_vertex_data", "get_triangle_vertex_data_from_handle")
    _add(made, 1, "f" * 9, "", "get_triangle_vertex_data_current_hit")
    _add(made, 1, "l", "", "get_gas_traversable_handle")


def _any_hit_and_intersection(made: dict[str, Intrinsic]) -> None:
    """T2."""
    axes = "xyz"
    _add(made, 2, "f", "", *(f"get_object_ray_{what}_{axis}" for what in ("origin", "direction") for axis in axes))
    for count in range(MOST_ATTRIBUTES + 1):
        made[f"_optix_report_intersection_{count}"] = Intrinsic("u", "fu" + "u" * count, 2, True)
    for name in ("ignore_intersection", "terminate_ray"):
        made[f"_optix_{name}"] = Intrinsic("", "", 2, True, returns=False)


def _transforms_and_callables(made: dict[str, Intrinsic]) -> None:
    """T3: transforms and handles. T4: callables and exceptions."""
    _add(made, 3, "u", "", "get_transform_list_size")
    _add(made, 3, "l", "u", "get_transform_list_handle")
    _add(made, 3, "u", "l", "get_transform_type_from_handle", "get_instance_id_from_handle")
    _add(
        made, 3, "l", "l", *(f"get_{kind}_transform_from_handle" for kind in ("static", "matrix_motion", "srt_motion"))
    )
    _add(made, 3, "l", "l", "get_instance_transform_from_handle", "get_instance_inverse_transform_from_handle")
    _add(made, 3, "l", "l", "get_instance_child_from_handle", "get_gas_ptr_from_handle")
    _add(made, 3, "l", "lu", "get_instance_traversable_from_ias")
    _add(made, 3, "f", "l", "get_gas_motion_time_begin", "get_gas_motion_time_end")
    _add(made, 3, "u", "l", "get_gas_motion_step_count")
    _add(made, 4, "l", "u", "call_direct_callable", "call_continuation_callable")
    _add(made, 4, "u", "", "get_exception_code", *(f"get_exception_detail_{i}" for i in range(8)))
    _add(made, 4, "l", "", "get_exception_line_info")
    for count in range(9):
        made[f"_optix_throw_exception_{count}"] = Intrinsic("", "u" + "u" * count, 4, True, returns=False)


def _hit_objects_and_curves(made: dict[str, Intrinsic]) -> None:
    """T5: hit objects. T6: spheres and curves."""
    trace = made["_optix_trace_typed_32"]
    slots = trace.outputs
    made["_optix_hitobject_traverse"] = Intrinsic(slots, trace.inputs, 5, True, operation_class=TRACE_CLASS)
    made["_optix_hitobject_invoke"] = Intrinsic(slots, "uu" + slots, 5, True)
    _add(made, 5, "", "uu", "hitobject_reorder")
    _add(made, 5, "", "", "hitobject_make_nop")
    _add(made, 5, "u", "", *(f"hitobject_is_{what}" for what in ("hit", "miss", "nop")))
    fetch = {"sphere_data": 4, "linear_curve_vertex_data": 8, "quadratic_bspline_vertex_data": 12,
             "cubic_bspline_vertex_data": 16, "catmullrom_vertex_data": 16, "cubic_bezier_vertex_data": 16,
             "ribbon_vertex_data": 12}  # fmt: skip
    for name, floats in fetch.items():
        _add(made, 6, "f" * floats, "luuf", f"get_{name}", f"get_{name}_from_handle")
        _add(made, 6, "f" * floats, "", f"get_{name}_current_hit")
    _add(made, 6, "f", "", "get_curve_parameter")
    _add(made, 6, "ff", "", "get_ribbon_parameters")


INTRINSICS: dict[str, Intrinsic] = _table()
