"""Transform lists, traversable handles and primitives of OptiX's device interface, interpreted."""

from collections.abc import Callable

import numpy as np

from rayplay.tracer.abi.layout import LANES
from rayplay.tracer.interp.optix_calls.trace_state import Handler, TraceState, take
from rayplay.tracer.interp.values import Lanes
from rayplay.tracer.meaning import optix as device

NODE_BIT = np.uint64(1 << device.NODE_HANDLE_SHIFT)
MATRIX_BYTES = 48
Hit = Callable[[TraceState, str], np.ndarray]  # a field of the hit that a getter speaks of


def _handles(s: TraceState) -> np.ndarray:
    """Traversable handle of every instance's mesh."""
    primitives = s.launch.primitives
    if primitives is None:
        return np.ones(len(s.launch.instance_ids), np.uint64)
    return primitives.mesh_of_instance.astype(np.uint64) + np.uint64(1)


def gas_handle(hit: Hit) -> Handler:
    """Handle of the mesh that was hit, 0 without an instance."""
    return lambda w, s, x: [take(_handles(s), hit(s, "instance"), w.executing())]


def instance_id(hit: Hit) -> Handler:
    """The id that the host gave the instance, 0 without one."""
    return lambda w, s, x: [take(np.asarray(s.launch.instance_ids, np.uint32), hit(s, "instance"), w.executing())]


def _list_of(w: Lanes, s: TraceState, hit: Hit) -> tuple[np.ndarray, np.ndarray]:
    """Begin and length of the transform list of each lane's instance; 0 and 0 without one."""
    instance = hit(s, "instance")
    first = s.nodes.first.astype(np.uint32)
    lanes = w.executing() & (instance < len(first) - 1)
    begin = take(first, instance, lanes)
    return begin, take(first, instance + np.uint32(1), lanes) - begin


def list_size(hit: Hit) -> Handler:
    """Length of the transform list."""
    return lambda w, s, x: [_list_of(w, s, hit)[1]]


def list_handle(hit: Hit) -> Handler:
    """Handle of an entry of the transform list, 0 past its end."""

    def run(w: Lanes, s: TraceState, x: list[np.ndarray]) -> list[np.ndarray]:
        begin, size = _list_of(w, s, hit)
        lanes = w.executing() & (x[0] < size)
        node = take(s.nodes.nodes.astype(np.uint64), begin + x[0], lanes)
        return [np.where(lanes, node | NODE_BIT, np.uint64(0))]

    return run


def _node(w: Lanes, s: TraceState, handle: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number of the instance record behind a handle, and the lanes whose handle is one."""
    node = handle ^ NODE_BIT
    return node, w.executing() & (node < np.uint64(len(s.nodes.ids)))


def _type(w: Lanes, s: TraceState, x: list[np.ndarray]) -> list[np.ndarray]:
    return [np.where(_node(w, s, x[0])[1], np.uint32(device.TRANSFORM_INSTANCE), np.uint32(0))]


def _matrix(name: str) -> Handler:
    """Device address of an instance record's matrix."""

    def run(w: Lanes, s: TraceState, x: list[np.ndarray]) -> list[np.ndarray]:
        node, lanes = _node(w, s, x[0])
        base = np.uint64(getattr(s.nodes, name))
        return [np.where(lanes, base + node * np.uint64(MATRIX_BYTES), np.uint64(0))]

    return run


def _from_top_level(w: Lanes, s: TraceState, x: list[np.ndarray]) -> list[np.ndarray]:
    """Handle of an instance record of the top level."""
    lanes = w.executing() & (x[0] == np.uint64(s.nodes.top_level)) & (x[1] < len(s.launch.instance_ids))
    node = take(s.nodes.nodes[s.nodes.first[:-1]].astype(np.uint64), x[1], lanes)
    return [np.where(lanes, node | NODE_BIT, np.uint64(0))]


def _primitive(
    w: Lanes, s: TraceState, handle: np.ndarray, primitive: np.ndarray, geometry: np.ndarray, floats: int
) -> list[np.ndarray]:
    """Bits of the floats of a primitive per lane; 0 where no primitive of that length exists."""
    known, made = s.launch.primitives, np.zeros((floats, LANES), np.uint32)
    if known is None:
        return list(made)
    for lane in np.flatnonzero(w.executing()):
        mesh = int(handle[lane]) - 1
        if not 0 <= mesh < len(known.first_geometry) - 1:
            continue
        first, end = (int(known.first_geometry[mesh + k]) for k in (0, 1))
        if int(geometry[lane]) >= end - first:
            continue
        found = known.values[first + int(geometry[lane])]
        if int(primitive[lane]) < len(found) and found.shape[1] == floats:
            made[:, lane] = np.ascontiguousarray(found[int(primitive[lane])], np.float32).view(np.uint32)
    return list(made)


def hit_data(hit: Hit, floats: int) -> Handler:
    """The floats of the primitive that was hit."""

    def run(w: Lanes, s: TraceState, x: list[np.ndarray]) -> list[np.ndarray]:
        handle = take(_handles(s), hit(s, "instance"), w.executing())
        return _primitive(w, s, handle, hit(s, "primitive"), hit(s, "geometry"), floats)

    return run


def _given(floats: int) -> Handler:
    return lambda w, s, x: _primitive(w, s, x[0], x[1], x[2], floats)


HANDLERS: dict[str, Handler] = {
    "read_instance_id": instance_id(TraceState.hit),
    "get_gas_traversable_handle": gas_handle(TraceState.hit),
    **{name: _given(floats) for name, floats in device.PRIMITIVES.items()},
    **{f"{name}_from_handle": _given(floats) for name, floats in device.PRIMITIVES.items()},
    **{f"{name}_current_hit": hit_data(TraceState.hit, floats) for name, floats in device.PRIMITIVES.items()},
    "get_transform_list_size": list_size(TraceState.hit),
    "get_transform_list_handle": list_handle(TraceState.hit),
    "get_transform_type_from_handle": _type,
    "get_instance_id_from_handle": lambda w, s, x: [take(s.nodes.ids.astype(np.uint32), *_node(w, s, x[0]))],
    "get_instance_child_from_handle": lambda w, s, x: [take(s.nodes.children.astype(np.uint64), *_node(w, s, x[0]))],
    "get_instance_transform_from_handle": _matrix("object_to_world"),
    "get_instance_inverse_transform_from_handle": _matrix("world_to_object"),
    "get_instance_traversable_from_ias": _from_top_level,
}
