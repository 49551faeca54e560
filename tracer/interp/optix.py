"""The meaning of OptiX's device interface: rows of the trace call that the running program belongs to."""

import numpy as np

from rayplay.ptx.ir import Instruction, Operand
from rayplay.ptx.isa.optix import INTRINSICS
from rayplay.tracer.abi.trace_frame import FRAME, HIT_KIND_BACK, HIT_KIND_FRONT
from rayplay.tracer.abi.words import EXCEPTION, VIEW
from rayplay.tracer.interp.optix_calls import hit_objects, instance_lists
from rayplay.tracer.interp.optix_calls.trace_state import Handler, TraceState, take
from rayplay.tracer.interp.values import LANE, Lanes, splat
from rayplay.tracer.meaning import optix as device


def run_getter(w: Lanes, state: TraceState, i: Instruction) -> None:
    """A call that reads or writes records of the running program."""
    assert i.call is not None
    inputs = INTRINSICS[i.callee].inputs
    values = [
        w.read(operand, device.LETTERS[letter][0]) for operand, letter in zip(i.call.arguments, inputs, strict=True)
    ]
    for target, value in zip(i.call.results, _results(w, state, i.callee, values), strict=True):
        w.write(target, value)


def _results(w: Lanes, s: TraceState, name: str, inputs: list[np.ndarray]) -> list[np.ndarray]:
    if name in device.FRAME_GETTERS:
        return [s.frame[FRAME[device.FRAME_GETTERS[name]]].copy()]
    if name in device.HIT_GETTERS:
        return [s.hit(device.HIT_GETTERS[name])]
    if name in device.ABSENT:
        return [splat(0, 64 if letter == "l" else 32) for letter in INTRINSICS[name].outputs]
    word, _, last = name.removeprefix("_optix_").rpartition("_")
    if word == "set_payload" and last.isdecimal():
        return _set_payload(w, s, splat(int(last), 32), inputs[0])
    if word == "get_exception_detail":
        return _exception(s, EXCEPTION.detail + int(last))
    return HANDLERS[name.removeprefix("_optix_")](w, s, inputs)


def _set_payload(w: Lanes, s: TraceState, index: np.ndarray, value: np.ndarray) -> list[np.ndarray]:
    for lane in np.flatnonzero(w.executing()):
        s.frame[FRAME.payload_0 + (int(index[lane]) & 31), lane] = value[lane]
    return []


def _callable(w: Lanes, s: TraceState, x: list[np.ndarray]) -> list[np.ndarray]:
    """Address of a callable by its index, 0 without one."""
    return [take(s.callables, x[0], w.executing())]


def _is_built_in(kind: np.ndarray) -> np.ndarray:
    """Whether a hit kind is a sphere's or a curve's."""
    return np.asarray((kind >= device.BUILT_IN_FRONT) & (kind < HIT_KIND_FRONT))


def _attribute(s: TraceState, index: int) -> list[np.ndarray]:
    """Attribute 0 or 1: reported, or of a triangle."""
    own, reported = s.hit(device.TRIANGLE_ATTRIBUTES[index]), s.hit(f"attribute_{index}")
    return [np.where(s.hit("kind") >= HIT_KIND_FRONT, own, reported)]


def _exception(s: TraceState, row: int) -> list[np.ndarray]:
    return [s.warps.exception[row].copy()]


HANDLERS: dict[str, Handler] = {
    "get_launch_index_x": lambda w, s, x: [(32 * w.machine("ctaid_x") + LANE).astype(np.uint32)],
    "get_launch_index_y": lambda w, s, x: [splat(w.machine("ctaid_y"), 32)],
    "get_launch_index_z": lambda w, s, x: [splat(w.machine("ctaid_z"), 32)],
    "get_launch_dimension_x": lambda w, s, x: [splat(w.machine("width"), 32)],
    "get_launch_dimension_y": lambda w, s, x: [splat(w.machine("height"), 32)],
    "get_launch_dimension_z": lambda w, s, x: [splat(1, 32)],
    "get_sbt_data_ptr_64": lambda w, s, x: [s.view[VIEW.sbt_data :].astype(np.uint64)],
    "get_payload": lambda w, s, x: [s.frame[FRAME.payload_0 + (x[0] & 31), LANE]],
    "set_payload": lambda w, s, x: _set_payload(w, s, x[0], x[1]),
    "set_payload_types": lambda w, s, x: [],
    "undef_value": lambda w, s, x: [splat(0, 32)],
    "get_ray_tmax": lambda w, s, x: [s.t_max()],
    "get_primitive_type_from_hit_kind": lambda w, s, x: [
        np.where(
            x[0] >= HIT_KIND_FRONT,
            np.uint32(device.PRIMITIVE_TRIANGLE),
            device.PRIMITIVE_CUSTOM | np.where(_is_built_in(x[0]), x[0] & device.BUILT_IN_TYPES, np.uint32(0)),
        ).astype(np.uint32)
    ],
    "get_backface_from_hit_kind": lambda w, s, x: [
        ((x[0] == HIT_KIND_BACK) | (_is_built_in(x[0]) & (x[0] >= device.BUILT_IN_BACK))).astype(np.uint32)
    ],
    "get_triangle_barycentrics": lambda w, s, x: [s.hit("u"), s.hit("v")],
    "get_attribute_0": lambda w, s, x: _attribute(s, 0),
    "get_attribute_1": lambda w, s, x: _attribute(s, 1),
    "get_cluster_id": lambda w, s, x: [splat(device.NO_CLUSTER, 32)],
    "get_remaining_trace_depth": lambda w, s, x: [splat(len(s.warps.frames) - 1 - s.depth, 32)],
    "get_exception_code": lambda w, s, x: _exception(s, EXCEPTION.code),
    "call_direct_callable": _callable,
    "call_continuation_callable": _callable,
    **hit_objects.HANDLERS,
    **instance_lists.HANDLERS,
}


def store_trace(w: Lanes, s: TraceState, i: Instruction) -> None:
    """Write ray and payload of a trace call into the next frame."""
    lanes = w.executing()
    for field, operand in device.trace_arguments(i):
        s.next_frame[FRAME[field]][lanes] = w.read(operand, "b32")[lanes]


def store_report(w: Lanes, s: TraceState, i: Instruction) -> None:
    """Write distance, hit kind and attributes of a reported intersection."""
    _store(w, s.warps.report, device.report_arguments(i))


def store_exception(w: Lanes, s: TraceState, i: Instruction) -> None:
    """Write code and details of an exception."""
    _store(w, s.warps.exception, device.exception_arguments(i))


def _store(w: Lanes, rows: np.ndarray, arguments: list[tuple[int, Operand]]) -> None:
    lanes = w.executing()
    for row, operand in arguments:
        rows[row][lanes] = w.read(operand, "b32")[lanes]
