"""The meaning of OptiX's device interface: rows of the trace call that the running program belongs to."""

from collections.abc import Callable

import numpy as np

from rayplay.ptx.ir import Instruction
from rayplay.ptx.isa.optix import INTRINSICS
from rayplay.tracer.abi.layout import LANES
from rayplay.tracer.abi.trace_frame import FRAME, HIT_KIND_BACK, HIT_KIND_FRONT
from rayplay.tracer.abi.words import KIND, VIEW
from rayplay.tracer.interp.values import LANE, Lanes, splat
from rayplay.tracer.link.launches import ImageLaunch
from rayplay.tracer.meaning import optix as device
from rayplay.tracer.warp.warps import Warps


class TraceState:
    """The trace call that the innermost program belongs to."""

    def __init__(self, warps: Warps, launch: ImageLaunch) -> None:
        self.warps = warps
        self.launch = launch
        self.depth = 0
        self.view = warps.views[0]

    @property
    def frame(self) -> np.ndarray:
        """uint32[len(FRAME), 32] of the program's own trace call."""
        return self.warps.frames[self.depth - 1]

    @property
    def next_frame(self) -> np.ndarray:
        """The frame of a trace call made now."""
        return self.warps.frames[self.depth]

    def hit(self, field: str) -> np.ndarray:
        """A field of the candidate in any-hit and intersection programs, of the committed hit in the others."""
        which = "candidate" if self.view[VIEW.kind] >= KIND.any_hit else "committed"
        return self.frame[FRAME[f"{which}_{field}"]].copy()

    def t_max(self) -> np.ndarray:
        """The ray's end as the program's kind sees it."""
        kind = self.view[VIEW.kind]
        name = "candidate_t" if kind == KIND.any_hit else "t_max" if kind == KIND.miss else "committed_t"
        return self.frame[FRAME[name]].copy()

    def by_instance(self, table: np.ndarray, lanes: np.ndarray) -> np.ndarray:
        """A value per instance, 0 without one."""
        instance = self.hit("instance")
        made = np.zeros(LANES, table.dtype)
        for lane in np.flatnonzero(lanes & (instance != 0xFFFFFFFF)):
            made[lane] = table[instance[lane]]
        return made

    def handles(self) -> np.ndarray:
        """Traversable handle of every instance's mesh."""
        triangles = self.launch.triangles
        if triangles is None:
            return np.ones(len(self.launch.instance_ids), np.uint64)
        return triangles.mesh_of_instance.astype(np.uint64) + np.uint64(1)

    def vertices(
        self, handle: np.ndarray, primitive: np.ndarray, geometry: np.ndarray, lanes: np.ndarray
    ) -> np.ndarray:
        """uint32[9, 32]: bits of the vertices of a triangle per lane."""
        triangles = self.launch.triangles
        assert triangles is not None
        made = np.zeros((9, LANES), np.uint32)
        for lane in np.flatnonzero(lanes):
            number = int(triangles.first_geometry[int(handle[lane]) - 1]) + int(geometry[lane])
            corners = np.ascontiguousarray(triangles.vertices[number][int(primitive[lane])], np.float32)
            made[:, lane] = corners.reshape(9).view(np.uint32)
        return made


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
    word, _, last = name.removeprefix("_optix_").rpartition("_")
    if word == "set_payload" and last.isdecimal():
        return _set_payload(w, s, splat(int(last), 32), inputs[0])
    return HANDLERS[name.removeprefix("_optix_")](w, s, inputs)


def _set_payload(w: Lanes, s: TraceState, index: np.ndarray, value: np.ndarray) -> list[np.ndarray]:
    for lane in np.flatnonzero(w.executing()):
        s.frame[FRAME.payload_0 + (int(index[lane]) & 31), lane] = value[lane]
    return []


def _vertices(w: Lanes, s: TraceState, inputs: list[np.ndarray]) -> list[np.ndarray]:
    return list(s.vertices(inputs[0], inputs[1], inputs[2], w.executing()))


HANDLERS: dict[str, Callable[[Lanes, TraceState, list[np.ndarray]], list[np.ndarray]]] = {
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
    "read_instance_id": lambda w, s, x: [s.by_instance(np.asarray(s.launch.instance_ids, np.uint32), w.executing())],
    "get_primitive_type_from_hit_kind": lambda w, s, x: [
        np.where(x[0] >= HIT_KIND_FRONT, np.uint32(device.PRIMITIVE_TRIANGLE), np.uint32(device.PRIMITIVE_CUSTOM))
    ],
    "get_backface_from_hit_kind": lambda w, s, x: [(x[0] == HIT_KIND_BACK).astype(np.uint32)],
    "get_gas_traversable_handle": lambda w, s, x: [s.by_instance(s.handles(), w.executing())],
    "get_triangle_barycentrics": lambda w, s, x: [s.hit("u"), s.hit("v")],
    "get_triangle_vertex_data": _vertices,
    "get_triangle_vertex_data_from_handle": _vertices,
    "get_triangle_vertex_data_current_hit": lambda w, s, x: list(
        s.vertices(s.by_instance(s.handles(), w.executing()), s.hit("primitive"), s.hit("geometry"), w.executing())
    ),
}


def store_trace(w: Lanes, s: TraceState, i: Instruction) -> None:
    """Write ray and payload of a trace call into the next frame."""
    lanes = w.executing()
    for field, operand in device.trace_arguments(i):
        s.next_frame[FRAME[field]][lanes] = w.read(operand, "b32")[lanes]


def store_report(w: Lanes, s: TraceState, i: Instruction) -> None:
    """Write distance, hit kind and attributes of a reported intersection."""
    lanes = w.executing()
    for row, operand in device.report_arguments(i):
        s.warps.report[row][lanes] = w.read(operand, "b32")[lanes]
