"""OptiX's device interface as LLVM IR: getters read the trace call the program runs for.

Source: ``docs/sources/optix.md#trace, #getters, #reports``.
"""

import re

from rayplay.ptx.ir import Instruction
from rayplay.ptx.isa.optix import INTRINSICS
from rayplay.tracer.abi.trace_frame import FRAME, HIT_KIND_BACK, HIT_KIND_FRONT, ROW_BYTES, VERDICT
from rayplay.tracer.abi.words import EXCEPTION, MODE, REPORT, STOP, VIEW
from rayplay.tracer.emit.control import Control
from rayplay.tracer.emit.emitter import Emitter
from rayplay.tracer.emit.rows import frame_row, hit_row, load_row, row, store_row, view_word
from rayplay.tracer.emit.text import gather, scatter
from rayplay.tracer.lower.optix_calls import hit_objects, instance_lists
from rayplay.tracer.lower.optix_calls.hit_objects import LANE_BYTES
from rayplay.tracer.lower.optix_calls.instance_lists import Getter, below, look_up
from rayplay.tracer.meaning import optix as device


def _field(field: str) -> Getter:
    return lambda e, inputs: [frame_row(e, field)]


def _hit(field: str) -> Getter:
    return lambda e, inputs: [hit_row(e, field)]


def _attribute(index: int) -> Getter:
    """Attribute 0 or 1: reported, or of a triangle."""

    def lower(e: Emitter, inputs: list[str]) -> list[str]:
        triangle = e.op(f"icmp uge <32 x i32> {hit_row(e, 'kind')}, splat (i32 {HIT_KIND_FRONT})")
        own, reported = hit_row(e, device.TRIANGLE_ATTRIBUTES[index]), hit_row(e, f"attribute_{index}")
        return [e.op(f"select <32 x i1> {triangle}, <32 x i32> {own}, <32 x i32> {reported}")]

    return lower


def _constant(value: int) -> Getter:
    return lambda e, inputs: [f"splat (i32 {value})"]


def _launch_index_x(e: Emitter, inputs: list[str]) -> list[str]:
    first = e.op(f"shl i64 {e.machine('ctaid_x')}, 5")
    lanes = ", ".join(f"i32 {lane}" for lane in range(32))
    return [e.op(f"add <32 x i32> {e.splat(e.op(f'trunc i64 {first} to i32'), 'i32')}, <{lanes}>")]


def _machine(name: str) -> Getter:
    return lambda e, inputs: [e.splat(e.op(f"trunc i64 {e.machine(name)} to i32"), "i32")]


def _sbt_data(e: Emitter, inputs: list[str]) -> list[str]:
    pointer = row(e, e.machine("current_view"), 8 * VIEW.sbt_data)
    return [e.op(f"load <32 x i64>, ptr {pointer}, align 8")]


def _payload_pointers(e: Emitter, index: str) -> str:
    """Pointer to payload word ``index`` (0 to 31, per lane) of each lane."""
    low = e.op(f"and <32 x i32> {index}, splat (i32 31)")
    offset = e.op(f"shl <32 x i64> {e.resize(low, 32, 64)}, splat (i64 7)")
    offset = e.op(f"add <32 x i64> {offset}, <{LANE_BYTES}>")
    first = row(e, view_word(e, "frame"), FRAME.payload_0 * ROW_BYTES)
    return e.op(f"getelementptr i8, ptr {first}, <32 x i64> {offset}")


def _set_payload_word(index: int) -> Getter:
    return lambda e, inputs: _set_payload(e, [f"splat (i32 {index})", *inputs])


def _known(value: str) -> int | None:
    found = re.fullmatch(r"splat \(i32 (\d+)\)", value)
    if value == "zeroinitializer":
        return 0
    return int(found[1]) & 31 if found else None


def _get_payload(e: Emitter, inputs: list[str]) -> list[str]:
    index = _known(inputs[0])
    if index is not None:
        return [frame_row(e, f"payload_{index}")]
    return [gather(e, _payload_pointers(e, inputs[0]), "splat (i1 true)", 32)]


def _set_payload(e: Emitter, inputs: list[str]) -> list[str]:
    index = _known(inputs[0])
    if index is not None:
        offset = FRAME[f"payload_{index}"] * ROW_BYTES
        store_row(e, view_word(e, "frame"), offset, inputs[1], e.lanes())
    else:
        scatter(e, inputs[1], _payload_pointers(e, inputs[0]), e.lanes(), 32)
    return []


def _absent(name: str) -> Getter:
    """Zeros, as many as the call has results."""
    return lambda e, inputs: ["zeroinitializer"] * len(INTRINSICS[name].outputs)


def _callable(e: Emitter, inputs: list[str]) -> list[str]:
    """Address of a callable by its index, 0 without one."""
    index = e.resize(inputs[0], 32, 64)
    return [look_up(e, "callables", index, below(e, index, "callable_count", e.lanes()), 64)]


def _exception(row_number: int) -> Getter:
    return lambda e, inputs: [load_row(e, e.machine("exception"), row_number * ROW_BYTES)]


def _is_built_in(e: Emitter, kind: str) -> str:
    """Whether a hit kind is a sphere's or a curve's."""
    low = e.op(f"icmp uge <32 x i32> {kind}, splat (i32 {device.BUILT_IN_FRONT})")
    return e.op(f"and <32 x i1> {low}, {e.op(f'icmp ult <32 x i32> {kind}, splat (i32 {HIT_KIND_FRONT})')}")


def _primitive_type(e: Emitter, inputs: list[str]) -> list[str]:
    triangle = e.op(f"icmp uge <32 x i32> {inputs[0]}, splat (i32 {HIT_KIND_FRONT})")
    known = f"<32 x i32> splat (i32 {device.PRIMITIVE_TRIANGLE}), <32 x i32> splat (i32 {device.PRIMITIVE_CUSTOM})"
    either = e.op(f"select <32 x i1> {triangle}, {known}")
    low = e.op(f"and <32 x i32> {inputs[0]}, splat (i32 {device.BUILT_IN_TYPES})")
    built_in = e.op(f"or <32 x i32> {low}, splat (i32 {device.PRIMITIVE_CUSTOM})")
    return [e.op(f"select <32 x i1> {_is_built_in(e, inputs[0])}, <32 x i32> {built_in}, <32 x i32> {either}")]


def _backface(e: Emitter, inputs: list[str]) -> list[str]:
    triangle = e.op(f"icmp eq <32 x i32> {inputs[0]}, splat (i32 {HIT_KIND_BACK})")
    high = e.op(f"icmp uge <32 x i32> {inputs[0]}, splat (i32 {device.BUILT_IN_BACK})")
    built_in = e.op(f"and <32 x i1> {high}, {_is_built_in(e, inputs[0])}")
    return [e.resize(e.op(f"or <32 x i1> {triangle}, {built_in}"), 1, 32)]


_NAMED: dict[str, Getter] = {
    "get_launch_index_x": _launch_index_x, "get_launch_index_y": _machine("ctaid_y"),
    "get_launch_index_z": _machine("ctaid_z"), "get_launch_dimension_x": _machine("width"),
    "get_launch_dimension_y": _machine("height"), "get_launch_dimension_z": _constant(1),
    "get_sbt_data_ptr_64": _sbt_data, "get_payload": _get_payload, "set_payload": _set_payload,
    "set_payload_types": lambda e, inputs: [], "undef_value": _constant(0),
    "get_ray_tmax": lambda e, inputs: [load_row(e, view_word(e, "t_row"), 0)],
    "read_instance_id": instance_lists.by_instance("instance_ids", 32, hit_row),
    "get_primitive_type_from_hit_kind": _primitive_type, "get_backface_from_hit_kind": _backface,
    "get_gas_traversable_handle": instance_lists.by_instance("instance_handles", 64, hit_row),
    "get_triangle_barycentrics": lambda e, inputs: [hit_row(e, "u"), hit_row(e, "v")],
    **{name: instance_lists.primitive_data(floats) for name, floats in device.PRIMITIVES.items()},
    **{f"{name}_from_handle": instance_lists.primitive_data(floats) for name, floats in device.PRIMITIVES.items()},
    **{f"{name}_current_hit": instance_lists.hit_data(hit_row, floats) for name, floats in device.PRIMITIVES.items()},
    "get_transform_list_size": instance_lists.list_size(hit_row),
    "get_transform_list_handle": instance_lists.list_handle(hit_row),
    "get_transform_type_from_handle": instance_lists.transform_type,
    "get_instance_id_from_handle": instance_lists.by_node("node_ids", 32),
    "get_instance_child_from_handle": instance_lists.by_node("node_children", 64),
    "get_instance_transform_from_handle": instance_lists.matrix_of("object_to_world"),
    "get_instance_inverse_transform_from_handle": instance_lists.matrix_of("world_to_object"),
    "get_instance_traversable_from_ias": instance_lists.from_top_level,
    **{f"get_attribute_{index}": _attribute(index) for index in range(len(device.TRIANGLE_ATTRIBUTES))},
    "get_cluster_id": _constant(device.NO_CLUSTER), "get_remaining_trace_depth": _machine("remaining_depth"),
    "get_exception_code": _exception(EXCEPTION.code),
    **{f"get_exception_detail_{k}": _exception(EXCEPTION.detail + k) for k in range(8)},
    **{f"set_payload_{index}": _set_payload_word(index) for index in range(8)},
}  # fmt: skip
HANDLERS: dict[str, Getter] = {
    **{f"_optix_{name}": getter for name, getter in _NAMED.items()},
    **{name: _field(field) for name, field in device.FRAME_GETTERS.items()},
    **{name: _hit(field) for name, field in device.HIT_GETTERS.items()},
    **hit_objects.HANDLERS,
    **{name: _absent(name) for name in device.ABSENT},
    **dict.fromkeys(device.CALLABLE_CALLS, _callable),
}


def lower_getter(e: Emitter, i: Instruction) -> None:
    """A call that reads or writes records of the running program, and goes on."""
    assert i.call is not None
    outputs, inputs = INTRINSICS[i.callee].outputs, INTRINSICS[i.callee].inputs
    values = [
        e.read(operand, device.LETTERS[letter][0]) for operand, letter in zip(i.call.arguments, inputs, strict=True)
    ]
    results = HANDLERS[i.callee](e, values)
    for target, value, letter in zip(i.call.results, results, outputs, strict=True):
        e.write(target, value, device.LETTERS[letter][1])


def lower_trace(control: Control, i: Instruction, live: int, after: int | None) -> None:
    """A trace call: ray and payload into the next frame, payload out of it as the results."""
    e = control.e
    assert i.call is not None
    lanes, frame = control.call_lanes(after), e.machine("next_frame")
    for field, operand in device.trace_arguments(i):
        store_row(e, frame, FRAME[field] * ROW_BYTES, e.read(operand, "b32"), lanes)
    e.put_machine("suspend_mode", str(device.MODES.get(i.callee, MODE.trace)))
    control.suspend(STOP.trace)
    control.returned_lanes(i)
    frame = e.machine("next_frame")
    for index, target in enumerate(i.call.results):
        e.write(target, load_row(e, frame, FRAME[f"payload_{index}"] * ROW_BYTES), 32)
    e.spill(live)
    control.go(after)


def lower_report(control: Control, i: Instruction, live: int, after: int | None) -> None:
    """A reported intersection, and whether it was accepted."""
    e = control.e
    assert i.call is not None
    lanes, report = control.call_lanes(after), e.machine("report")
    for row_number, operand in device.report_arguments(i):
        store_row(e, report, row_number * ROW_BYTES, e.read(operand, "b32"), lanes)
    control.suspend(STOP.report)
    control.returned_lanes(i)
    e.write(i.call.results[0], load_row(e, e.machine("report"), REPORT.answer * ROW_BYTES), 32)
    e.spill(live)
    control.go(after)


def lower_throw(control: Control, i: Instruction, live: int, after: int | None) -> None:
    """An exception: its code and details; the lanes do not come back."""
    e = control.e
    lanes, rows = control.call_lanes(after), e.machine("exception")
    for row_number, operand in device.exception_arguments(i):
        store_row(e, rows, row_number * ROW_BYTES, e.read(operand, "b32"), lanes)
    control.suspend(STOP.exception)
    control.returned_lanes(i)
    e.spill(live)
    control.go(after)


def lower_verdict(control: Control, name: str, after: int | None) -> None:
    """ignore_intersection, terminate_ray: the verdict, and the lanes leave the any-hit program."""
    e = control.e
    value = VERDICT.ignored if name.startswith("_optix_ignore") else VERDICT.terminated
    store_row(e, view_word(e, "frame"), FRAME.verdict * ROW_BYTES, f"splat (i32 {value})", e.lanes())
    control.leave_lanes(after)
