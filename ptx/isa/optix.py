"""OptiX's device interface: the undeclared ``_optix_*`` functions that programs call, by name.

``ends_block`` marks calls that run other code (programs found through the shader binding table) or leave the program,
and so split a basic block. The table is text, a call or a few alike in a line: tier, kinds of program, state, results,
arguments, names. ``#`` in a name is a digit from 0 to 7, ``@`` one of x, y and z, ``%`` one of 16xi32, 64xi32 and ptr.
Results and arguments have a letter per register: ``u`` a 32-bit integer, ``l`` a 64-bit one, ``f`` an f32; ``f9`` is
nine times ``f``, ``-`` none, ``*`` any number. Source: ``docs/sources/optix.md#calls, #tiers``.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

PREFIX = "_optix_"
TRACE_CLASS = "trace"
RUNTIME_CLASS = "runtime"
MOST_PAYLOAD_REGISTERS = 32
MOST_ATTRIBUTES = 8
HIGHEST_BUILT_TIER = 6
ANY = "*"
"""Results or arguments of a call that is not built and takes any number."""

KINDS = {
    "R": "raygen", "I": "intersection", "A": "anyhit", "C": "closesthit", "M": "miss", "E": "exception",
    "D": "direct_callable", "T": "continuation_callable",
}  # fmt: skip
"""Letters of kinds of program, by the word between the underscores of an entry's name."""
GROUPS = {
    "all": "RIACMEDT", "hit": "IAC", "ray": "IACM", "found": "AC", "object": "IA", "traces": "RCMT", "objects": "RCMTD",
    "throws": "RIACMDT",
}  # fmt: skip
"""Kinds of program in which calls may stand, by a short word."""
STATES = {
    "built": "",
    "none": "answers 0: no scene here has one",
    "static": "answers 0, as for the handle of another kind of transform",
    "motion": "structures with motion are not built",
    "micromaps": "opacity micromaps and displaced triangles are not built",
    "traverse-data": "hits made from a driver's data, without a traversal, are not built",
    "footprints": "texture footprints are not built",
    "vectors": "cooperative vectors are not built",
    "memory": "the memory of an acceleration structure is not laid out as OptiX's",
}  # fmt: skip
"""States of calls, and why one is refused or what it answers."""

ANSWER_0 = ("none", "static")
"""States of calls that are accepted and answer 0."""

CALLS = """
1 all     built  u     -     get_launch_index_@ get_launch_dimension_@ undef_value
1 all     built  l     -     get_sbt_data_ptr_64
1 ray     built  u     -     get_payload_# get_ray_flags get_ray_visibility_mask
1 ray     built  u     u     get_payload
1 ray     built  -     u     set_payload_# set_payload_types
1 ray     built  -     uu    set_payload
1 ray     built  f     -     get_world_ray_origin_@ get_world_ray_direction_@ get_ray_tmin get_ray_tmax get_ray_time
1 hit     built  u     -     read_primitive_idx read_sbt_gas_idx read_instance_id read_instance_idx
1 found   built  u     -     get_attribute_# get_hit_kind
1 all     built  u     u     get_primitive_type_from_hit_kind get_backface_from_hit_kind
1 hit     built  l     -     get_gas_traversable_handle
1 found   built  ff    -     get_triangle_barycentrics
1 all     built  f9    luuf  get_triangle_vertex_data get_triangle_vertex_data_from_handle
1 found   built  f9    -     get_triangle_vertex_data_current_hit
2 object  built  f     -     get_object_ray_origin_@ get_object_ray_direction_@
3 hit     built  u     -     get_transform_list_size
3 hit     built  l     u     get_transform_list_handle
3 all     built  u     l     get_transform_type_from_handle get_instance_id_from_handle
3 all     built  l     l     get_instance_child_from_handle get_instance_transform_from_handle
3 all     built  l     l     get_instance_inverse_transform_from_handle
3 all     built  l     lu    get_instance_traversable_from_ias
3 all     static l     l     get_static_transform_from_handle get_matrix_motion_transform_from_handle
3 all     static l     l     get_srt_motion_transform_from_handle
3 all     motion u     l     get_gas_motion_step_count
3 all     motion f     l     get_gas_motion_time_begin get_gas_motion_time_end
3 all     memory l     l     get_gas_ptr_from_handle
4 throws  built  l     u     call_direct_callable
4 traces  built  l     u     call_continuation_callable
4 E       built  u     -     get_exception_code get_exception_detail_#
4 E       none   l     -     get_exception_line_info
4 all     built  u     -     get_remaining_trace_depth
5 R       built  -     uu    hitobject_reorder
5 traces  built  -     -     hitobject_make_nop
5 traces  built  -     uf9   hitobject_make_miss
5 traces  built  -     uf9u  hitobject_make_miss_v2
5 objects built  u     -     hitobject_is_hit hitobject_is_miss hitobject_is_nop
5 objects built  u     -     hitobject_get_instance_id hitobject_get_instance_idx hitobject_get_primitive_idx
5 objects built  u     -     hitobject_get_sbt_gas_idx hitobject_get_hitkind hitobject_get_ray_flags
5 objects built  u     -     hitobject_get_sbt_record_index hitobject_get_transform_list_size
5 objects built  u     u     hitobject_get_attribute
5 objects built  l     u     hitobject_get_transform_list_handle
5 objects built  l     -     hitobject_get_sbt_data_pointer hitobject_get_gas_traversable_handle
5 objects built  f     -     hitobject_get_world_ray_origin_@ hitobject_get_world_ray_direction_@
5 objects built  f     -     hitobject_get_ray_tmin hitobject_get_ray_tmax hitobject_get_ray_time
5 objects built  ff    -     hitobject_get_triangle_barycentrics
5 objects built  f9    -     hitobject_get_triangle_vertex_data
5 traces  built  -     u     hitobject_set_sbt_record_index
5 traces  traverse-data - lf9u3lu13 hitobject_make_hit
5 traces  traverse-data - lf9u2lu13 hitobject_make_hit_with_record
5 traces  traverse-data - lf8u21lu hitobject_make_with_traverse_data_v2
5 objects traverse-data u20 -    hitobject_get_traverse_data
6 found   built  f     -     get_curve_parameter
6 found   none   ff    -     get_ribbon_parameters
6 all     built  f4    luuf  get_sphere_data get_sphere_data_from_handle
6 found   built  f4    -     get_sphere_data_current_hit
6 all     built  f8    luuf  get_linear_curve_vertex_data get_linear_curve_vertex_data_from_handle
6 found   built  f8    -     get_linear_curve_vertex_data_current_hit
6 all     built  f12   luuf  get_quadratic_bspline_vertex_data get_quadratic_bspline_vertex_data_from_handle
6 all     none   f12   luuf  get_ribbon_vertex_data get_ribbon_vertex_data_from_handle
6 all     none   f12   luuf  get_quadratic_bspline_rocaps_vertex_data_from_handle
6 found   built  f12   -     get_quadratic_bspline_vertex_data_current_hit
6 found   none   f12   -     get_ribbon_vertex_data_current_hit
6 found   none   f12   -     get_quadratic_bspline_rocaps_vertex_data_current_hit
6 all     built  f16   luuf  get_cubic_bspline_vertex_data get_cubic_bspline_vertex_data_from_handle
6 all     built  f16   luuf  get_catmullrom_vertex_data get_catmullrom_vertex_data_from_handle
6 all     built  f16   luuf  get_cubic_bezier_vertex_data get_cubic_bezier_vertex_data_from_handle
6 all     none   f16   luuf  get_cubic_bspline_rocaps_vertex_data_from_handle
6 all     none   f16   luuf  get_catmullrom_rocaps_vertex_data_from_handle
6 all     none   f16   luuf  get_cubic_bezier_rocaps_vertex_data_from_handle
6 found   built  f16   -     get_cubic_bspline_vertex_data_current_hit get_catmullrom_vertex_data_current_hit
6 found   built  f16   -     get_cubic_bezier_vertex_data_current_hit
6 found   none   f16   -     get_cubic_bspline_rocaps_vertex_data_current_hit
6 found   none   f16   -     get_catmullrom_rocaps_vertex_data_current_hit
6 found   none   f16   -     get_cubic_bezier_rocaps_vertex_data_current_hit
6 all     none   fff   luufff get_ribbon_normal get_ribbon_normal_from_handle
6 found   none   fff   ff    get_ribbon_normal_current_hit
6 objects built  f     -     hitobject_get_curve_parameter
6 objects none   ff    -     hitobject_get_ribbon_parameters
6 objects built  f4    -     hitobject_get_sphere_data
6 objects built  f8    -     hitobject_get_linear_curve_vertex_data
6 objects built  f12   -     hitobject_get_quadratic_bspline_vertex_data
6 objects none   f12   -     hitobject_get_ribbon_vertex_data
6 objects none   f12   -     hitobject_get_quadratic_bspline_rocaps_vertex_data
6 objects built  f16   -     hitobject_get_cubic_bspline_vertex_data hitobject_get_catmullrom_vertex_data
6 objects built  f16   -     hitobject_get_cubic_bezier_vertex_data
6 objects none   f16   -     hitobject_get_cubic_bspline_rocaps_vertex_data
6 objects none   f16   -     hitobject_get_catmullrom_rocaps_vertex_data
6 objects none   f16   -     hitobject_get_cubic_bezier_rocaps_vertex_data
6 objects none   fff   ff    hitobject_get_ribbon_normal
7 found   built  u     -     get_cluster_id
7 objects built  u     -     hitobject_get_cluster_id
7 found   micromaps f9 -     get_microtriangle_vertex_data
7 found   micromaps f6 -     get_microtriangle_barycentrics_data
7 all     footprints - luuull tex_footprint_2d_v2
7 all     footprints - lu5ll  tex_footprint_2d_lod_v2
7 all     footprints - lu8ll  tex_footprint_2d_grad_v2
7 all     vectors *    *     vector_load_% vector_op1_% vector_op2_% vector_op3_% matvecmul_%
7 all     vectors *    *     reduce_sum_accumulate_% outer_product_accumulate_%
"""
"""Calls that return and run no other code."""
ENDS = """
1 traces  built  u32   uRuu32 trace_typed_32
5 objects built  u32   uRuu32 hitobject_traverse
5 traces  built  u32   uuu32 hitobject_invoke
2 A       built  -     -     ignore_intersection terminate_ray
"""
"""Calls after which a block ends; ``R`` is a ray: handle, origin, direction, tmin, tmax, time, mask, flags, offset,
stride and miss index."""
COUNTED = """
1 traces  built  u+    Ru+   trace_
2 I       built  u     fuu+  report_intersection_
4 throws  built  -     uu+   throw_exception_
"""
"""Calls after which a block ends, for each number of words from 0 to 8, which ``+`` stands for."""
_TRACED, _INVOKED = 16, 1
HIGHEST = {
    **dict.fromkeys(("_optix_get_payload", "_optix_set_payload"), (0, MOST_PAYLOAD_REGISTERS - 1)),
    **dict.fromkeys(("_optix_trace_typed_32", "_optix_hitobject_traverse"), (_TRACED, MOST_PAYLOAD_REGISTERS)),
    "_optix_hitobject_invoke": (_INVOKED, MOST_PAYLOAD_REGISTERS),
    "_optix_hitobject_get_attribute": (0, MOST_ATTRIBUTES - 1),
}
"""Argument that numbers or counts payload words or attributes, and the most that it may be."""
_RAY = "lf9u5"
_PROGRAM = re.compile(rf"__({'|'.join(KINDS.values())})__")
_LETTERS = {word: letter for letter, word in KINDS.items()}


@dataclass(frozen=True, slots=True)
class Intrinsic:
    """One function of the interface. ``outputs`` and ``inputs`` have a letter per register.

    kinds    letters of the kinds of program in which a call may stand.
    state    of ``STATES``.
    returns  False where a lane that makes the call ends its program there.
    """

    outputs: str
    inputs: str
    tier: int
    kinds: str
    state: str = "built"
    ends_block: bool = False
    returns: bool = True
    operation_class: str = RUNTIME_CLASS

    @property
    def is_refused(self) -> bool:
        """Whether no program that makes the call is run."""
        return self.state not in ("built", *ANSWER_0)


def kind_of_program(name: str) -> str:
    """Letter of the kind of program that an entry or callable is by its name, empty for another function."""
    found = _PROGRAM.match(name)
    return _LETTERS[found[1]] if found else ""


def words_of(kinds: str) -> str:
    """Kinds of program as a message has them."""
    return ", ".join(KINDS[letter] for letter in kinds)


def _letters(text: str, count: int = 0) -> str:
    """A letter per register."""
    text = text.replace("R", _RAY).replace("u+", "u" * count)
    return re.sub(r"([ulf])(\d+)", lambda m: m[1] * int(m[2]), text.strip("-"))


def _spelled(name: str) -> Iterator[str]:
    for mark, words in (("#", "01234567"), ("@", "xyz"), ("%", ("16xi32", "64xi32", "ptr"))):
        if mark in name:
            yield from (name.replace(mark, word) for word in words)
            return
    yield name


def _read(text: str, ends_block: bool, counts: range = range(1)) -> Iterator[tuple[str, Intrinsic]]:
    """Names and calls of a table."""
    for line in text.strip().splitlines():
        tier, group, state, outputs, inputs, *names = line.split()
        if state not in STATES:
            raise ValueError(f"no state {state!r}, in: {line}")
        for name in (spelled for each in names for spelled in _spelled(each)):
            traces = name.startswith("trace_") or name == "hitobject_traverse"
            for count in counts:
                yield (
                    f"{PREFIX}{name}{count if len(counts) > 1 else ''}",
                    Intrinsic(
                        _letters(outputs, count), _letters(inputs, count), int(tier), GROUPS.get(group, group), state,
                        ends_block, name not in ("ignore_intersection", "terminate_ray", "throw_exception_"),
                        TRACE_CLASS if traces else RUNTIME_CLASS,
                    ),
                )  # fmt: skip


INTRINSICS: dict[str, Intrinsic] = dict(
    (*_read(CALLS, False), *_read(ENDS, True), *_read(COUNTED, True, range(MOST_ATTRIBUTES + 1)))
)
"""OptiX's device interface."""
