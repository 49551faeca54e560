"""OptiX's device interface: the undeclared ``_optix_*`` functions that programs call, by name.

Types of outputs and inputs: ``u`` 32-bit integer, ``l`` 64-bit integer, ``f`` f32. ``ends_block`` marks calls that run
other code (programs found through the shader binding table) and so split a basic block. Source:
``docs/sources/optix.md#tiers``, signatures ``docs/sources/optix.md#trace, #shader-binding-table, #getters, #reports``.
"""

import re
from dataclasses import dataclass, replace

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


_PLAIN = """
1 u    -     get_payload_# get_attribute_# get_launch_index_@ get_launch_dimension_@ undef_value get_ray_flags
             get_ray_visibility_mask read_primitive_idx read_sbt_gas_idx read_instance_id read_instance_idx get_hit_kind
1 -    u     set_payload_# set_payload_types
1 -    uu    set_payload
1 u    u     get_payload get_primitive_type_from_hit_kind get_backface_from_hit_kind
1 l    -     get_sbt_data_ptr_64 get_gas_traversable_handle
1 f    -     get_world_ray_origin_@ get_world_ray_direction_@ get_ray_tmin get_ray_tmax get_ray_time
1 ff   -     get_triangle_barycentrics
1 f9   luuf  get_triangle_vertex_data get_triangle_vertex_data_from_handle
1 f9   -     get_triangle_vertex_data_current_hit
2 f    -     get_object_ray_origin_@ get_object_ray_direction_@
3 u    -     get_transform_list_size
3 l    u     get_transform_list_handle
3 u    l     get_transform_type_from_handle get_instance_id_from_handle get_gas_motion_step_count
3 l    l     get_static_transform_from_handle get_matrix_motion_transform_from_handle get_instance_child_from_handle
             get_srt_motion_transform_from_handle get_instance_transform_from_handle get_gas_ptr_from_handle
             get_instance_inverse_transform_from_handle
3 l    lu    get_instance_traversable_from_ias
3 f    l     get_gas_motion_time_begin get_gas_motion_time_end
4 l    u     call_direct_callable call_continuation_callable
4 u    -     get_exception_code get_exception_detail_#
4 l    -     get_exception_line_info
5 -    uu    hitobject_reorder
5 -    -     hitobject_make_nop
5 u    -     hitobject_is_hit hitobject_is_miss hitobject_is_nop
6 f    -     get_curve_parameter
6 ff   -     get_ribbon_parameters
"""
"""Functions that return and run no other code: tier, outputs, inputs (``f9`` is nine times ``f``, ``-`` none), names;
``#`` is a digit from 0 to 7, ``@`` one of x, y and z."""
_VERTICES = {
    "sphere_data": 4, "linear_curve_vertex_data": 8, "quadratic_bspline_vertex_data": 12,
    "cubic_bspline_vertex_data": 16, "catmullrom_vertex_data": 16, "cubic_bezier_vertex_data": 16,
    "ribbon_vertex_data": 12,
}  # fmt: skip
"""Floats that describe a primitive."""
_RAY = "l" + "f" * 9 + "u" * 5  # handle, origin, direction, tmin, tmax, time, mask, flags, offset, stride, miss


def _plain() -> dict[str, Intrinsic]:
    made = {}
    for row in _PLAIN.strip().replace("\n  ", " ").splitlines():
        tier, outputs, inputs, *names = row.split()
        given, taken = (re.sub(r"(\w)(\d+)", lambda m: m[1] * int(m[2]), text.strip("-")) for text in (outputs, inputs))
        for name in names:
            letters = "01234567" if "#" in name else "xyz"
            for spelled in dict.fromkeys(re.sub("[#@]", letter, name) for letter in letters):
                made[spelled] = Intrinsic(given, taken, int(tier))
    return made


def _others() -> dict[str, Intrinsic]:
    """Traces, hits, exceptions, hit objects and primitives."""
    slots = "u" * MOST_PAYLOAD_REGISTERS
    traced = Intrinsic(slots, f"u{_RAY}u{slots}", 1, True, operation_class=TRACE_CLASS)
    made = {"trace_typed_32": traced, "hitobject_traverse": replace(traced, tier=5)}
    made["hitobject_invoke"] = Intrinsic(slots, f"uu{slots}", 5, True)
    made |= dict.fromkeys(("ignore_intersection", "terminate_ray"), Intrinsic("", "", 2, True, returns=False))
    for count in range(MOST_ATTRIBUTES + 1):
        some = "u" * count
        made[f"trace_{count}"] = Intrinsic(some, _RAY + some, 1, True, operation_class=TRACE_CLASS)
        made[f"report_intersection_{count}"] = Intrinsic("u", f"fu{some}", 2, True)
        made[f"throw_exception_{count}"] = Intrinsic("", f"u{some}", 4, True, returns=False)
    for name, floats in _VERTICES.items():
        made |= dict.fromkeys((f"get_{name}", f"get_{name}_from_handle"), Intrinsic("f" * floats, "luuf", 6))
        made[f"get_{name}_current_hit"] = Intrinsic("f" * floats, "", 6)
    return made


INTRINSICS: dict[str, Intrinsic] = {f"_optix_{name}": made for name, made in {**_plain(), **_others()}.items()}
