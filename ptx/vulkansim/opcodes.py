"""Opcodes that Vulkan-Sim adds to PTX: their operands, and the ones that only choose which shader runs after a ray.

Source: ``docs/sources/vulkan-sim.md#dialect``.
"""

from rayplay.ptx.vulkansim.reader import Shader, Statement

SIGNATURES: dict[str, tuple[str, ...]] = {
    "load_ray_launch_id": ("ooo",),
    "load_ray_launch_size": ("ooo",),
    "rt_alloc_mem": ("Onn",),
    "load_vulkan_descriptor": ("Onn", "Onnn"),
    "trace_ray": ("Iiiiiiiiiiiiii", "Iiiiiiiiiiiiiii", "Iiiiiiiiiiiiiiii"),
    "end_trace_ray": ("",),
    "report_ray_intersection.pred": ("pii",),
    "ignore_ray_intersection": ("",),
    "terminate_ray": ("",),
    "load_ray_world_origin": ("O", "ooo"),
    "load_ray_world_direction": ("O", "ooo"),
    "load_ray_object_origin": ("O", "ooo"),
    "load_ray_object_direction": ("O", "ooo"),
    "load_ray_object_to_world": ("On", "ooon"),
    "load_ray_world_to_object": ("On", "ooon"),
    "load_ray_t_min": ("o",),
    "load_ray_t_max": ("o",),
    "load_primitive_id": ("o",),
    "load_ray_instance_custom_index": ("o",),
    "load_instance_id": ("o",),
    "load_ray_geometry_index": ("o",),
    "load_ray_hit_kind": ("o",),
    "load_ray_flags": ("o",),
    "txl": ("IIooooiii",),
    "image_deref_store": ("Iiiiiiiiiii*",),
    "image_deref_load": ("Iooooiiiiii*",),
    "shader_clock": ("oo",),
    "copysignf": ("oi",),
}
"""Operands in order: ``i`` a 32-bit source and ``o`` a 32-bit result, ``I`` and ``O`` the same of 64 bits, ``p`` a
predicate that is the result, ``n`` an integer constant; ``*`` any more."""
DISPATCH = frozenset((
    "intersection_exit.pred", "run_intersection.pred", "get_intersection_shader_data_address",
    "get_intersection_shaderID", "call_intersection_shader", "anyhit_exit.pred", "get_anyhit_shaderID",
    "get_anyhit_shader_data_address", "call_anyhit_shader", "hit_geometry.pred", "get_closest_hit_shaderID",
    "call_closest_hit_shader", "call_miss_shader",
))  # fmt: skip
"""Between ``trace_ray`` and ``end_trace_ray``: loops over candidates, and the choice of shaders by their numbers."""
REFUSED = {
    "run_anyhit.pred": "Vulkan-Sim itself ends there", "get_intersection_index": "Vulkan-Sim itself ends there",
    "get_warp_hitgroup": "Vulkan-Sim itself ends there", "execute_callable": "callable shaders are not executed",
}  # fmt: skip
OBJECT_SPACE = ("load_ray_object_origin", "load_ray_object_direction")
GETTERS = {
    "load_ray_t_min": "get_ray_tmin", "load_ray_t_max": "get_ray_tmax", "load_primitive_id": "read_primitive_idx",
    "load_ray_instance_custom_index": "read_instance_id", "load_instance_id": "read_instance_idx",
    "load_ray_geometry_index": "read_sbt_gas_idx", "load_ray_hit_kind": "get_hit_kind",
    "load_ray_flags": "get_ray_flags",
}  # fmt: skip
"""Opcodes that are one call of OptiX's interface."""
VECTORS = {
    "load_ray_world_origin": "world_ray_origin", "load_ray_world_direction": "world_ray_direction",
    "load_ray_object_origin": "object_ray_origin", "load_ray_object_direction": "object_ray_direction",
}  # fmt: skip
"""Opcodes that give the address of three floats, or the floats, and the call that gives one of them."""
MATRICES = {
    "load_ray_object_to_world": "object_to_world", "load_ray_world_to_object": "world_to_object",
}  # fmt: skip
_BITS = {"i": "b32", "o": "b32", "I": "b64", "O": "b64", "p": "pred"}


def is_of_dialect(statement: Statement) -> bool:
    """Whether the opcode is one that Vulkan-Sim added."""
    return statement.opcode in SIGNATURES or statement.opcode in DISPATCH or statement.opcode in REFUSED


def check(shader: Shader, statement: Statement) -> str:
    """The signature that the operands of a statement fit. Raises ``UserError`` where none does."""
    if statement.opcode in REFUSED:
        raise shader.refuse(statement, f"'{statement.opcode}' must not be used: {REFUSED[statement.opcode]}")
    if statement.guard:
        raise shader.refuse(statement, f"'{statement.opcode}' must not have a guard")
    known, count = SIGNATURES[statement.opcode], len(statement.operands)
    fitting = [s for s in known if count == len(s) or (s.endswith("*") and count >= len(s) - 1)]
    if not fitting:
        wanted = " or ".join(str(len(signature.rstrip("*"))) for signature in known)
        raise shader.refuse(statement, f"'{statement.opcode}' must have {wanted} operands, found {count}")
    for letter, operand in zip(fitting[0].rstrip("*"), statement.operands, strict=False):
        _check_operand(shader, statement, letter, operand)
    return fitting[0]


def _check_operand(shader: Shader, statement: Statement, letter: str, operand: str) -> None:
    if letter == "n":
        if not operand.removeprefix("-").isdecimal():
            raise shader.refuse(statement, f"'{operand}' must be an integer constant")
        return
    if letter == "i" and not operand.startswith("%"):
        return  # a constant
    declared = shader.registers.get(operand)
    if declared is None:
        raise shader.refuse(statement, f"register '{operand}' must be declared")
    if declared != _BITS[letter]:
        raise shader.refuse(statement, f"'{operand}' must have the width {_BITS[letter]}, found {declared}")
