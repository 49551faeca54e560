"""OptiX's hit objects, interpreted: rows of the running program's hit object, which has the layout of a frame."""

import numpy as np

from rayplay.tracer.abi.trace_frame import FRAME, HIT_KIND_FRONT, NO_PROGRAM, STATUS
from rayplay.tracer.interp.optix_calls import instance_lists
from rayplay.tracer.interp.optix_calls.trace_state import Handler, TraceState, take
from rayplay.tracer.interp.values import LANE, Lanes, splat
from rayplay.tracer.meaning import optix as device


def _hit(s: TraceState, field: str) -> np.ndarray:
    return s.object[FRAME[f"committed_{field}"]].copy()


def _field(field: str) -> Handler:
    return lambda w, s, x: [s.object[FRAME[field]].copy()]


def _is(status: int) -> Handler:
    return lambda w, s, x: [(s.object[FRAME.status] == status).astype(np.uint32)]


def _put(w: Lanes, s: TraceState, field: str, value: np.ndarray, status: int | None = None) -> None:
    lanes = w.executing() if status is None else w.executing() & (s.object[FRAME.status] == status)
    s.object[FRAME[field]][lanes] = value[lanes]


def _attribute(w: Lanes, s: TraceState, x: list[np.ndarray]) -> list[np.ndarray]:
    """An attribute by its index: reported, or the first two of a triangle."""
    index = x[0] & 7
    values, triangle = s.object[FRAME.committed_attribute + index, LANE], _hit(s, "kind") >= HIT_KIND_FRONT
    for first, field in enumerate(device.TRIANGLE_ATTRIBUTES):
        values = np.where(triangle & (index == first), _hit(s, field), values)
    return [values]


def _make_nop(w: Lanes, s: TraceState, x: list[np.ndarray]) -> list[np.ndarray]:
    _put(w, s, "status", splat(STATUS.start, 32))
    return []


def _make_miss(w: Lanes, s: TraceState, x: list[np.ndarray]) -> list[np.ndarray]:
    for field, value in zip(device.MISS_FIELDS, [*x, splat(0, 32)], strict=False):
        _put(w, s, field, value)
    _put(w, s, "committed_t", x[8])
    _put(w, s, "committed_instance", splat(NO_PROGRAM, 32))
    _put(w, s, "status", splat(STATUS.miss, 32))
    return []


def _reorder(w: Lanes, s: TraceState, x: list[np.ndarray]) -> list[np.ndarray]:
    """No thread moves; the bits of the hint that the call names are recorded."""
    mask = (np.uint64(1) << np.minimum(x[1], 32).astype(np.uint64)) - np.uint64(1)
    w.record(x[0].astype(np.uint64) & mask, w.executing())
    return []


def _record_index(w: Lanes, s: TraceState, x: list[np.ndarray]) -> list[np.ndarray]:
    is_hit = s.object[FRAME.status] == STATUS.hit
    return [np.where(is_hit, s.object[FRAME.committed_record], s.object[FRAME.miss_index])]


def _set_record_index(w: Lanes, s: TraceState, x: list[np.ndarray]) -> list[np.ndarray]:
    is_hit = s.object[FRAME.status] == STATUS.hit
    for field, lanes in (("committed_record", is_hit), ("miss_index", ~is_hit)):
        lanes = lanes & w.executing()
        s.object[FRAME[field]][lanes] = x[0][lanes]
    return []


def _record_data(w: Lanes, s: TraceState, x: list[np.ndarray]) -> list[np.ndarray]:
    status, lanes = s.object[FRAME.status], w.executing()
    hit = take(s.warps.sbt_hit, s.object[FRAME.committed_record], lanes & (status == STATUS.hit))
    miss = take(s.warps.sbt_miss, s.object[FRAME.miss_index], lanes & (status == STATUS.miss))
    return [(hit | miss).astype(np.uint64)]


HANDLERS: dict[str, Handler] = {
    **{name.removeprefix("_optix_"): _field(field) for name, field in device.OBJECT_GETTERS.items()},
    **{name.removeprefix("_optix_"): _is(status) for name, status in device.OBJECT_STATES.items()},
    **{
        f"hitobject_{name}": getter
        for name, getter in {
            "get_attribute": _attribute,
            "get_instance_id": instance_lists.instance_id(_hit),
            "get_gas_traversable_handle": instance_lists.gas_handle(_hit),
            "get_transform_list_size": instance_lists.list_size(_hit),
            "get_transform_list_handle": instance_lists.list_handle(_hit),
            **{name: instance_lists.hit_data(_hit, floats) for name, floats in device.PRIMITIVES.items()},
            "get_curve_parameter": lambda w, s, x: [_hit(s, "attribute_0")],
            "get_triangle_barycentrics": lambda w, s, x: [_hit(s, "u"), _hit(s, "v")],
            "get_sbt_record_index": _record_index, "set_sbt_record_index": _set_record_index,
            "get_sbt_data_pointer": _record_data, "make_nop": _make_nop, "make_miss": _make_miss,
            "make_miss_v2": _make_miss, "reorder": _reorder,
            "get_cluster_id": lambda w, s, x: [splat(device.NO_CLUSTER, 32)],
        }.items()
    },
}  # fmt: skip
