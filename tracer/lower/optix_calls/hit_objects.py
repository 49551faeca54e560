"""OptiX's hit objects as LLVM IR: rows of the running program's hit object, which has the layout of a frame.

Source: ``docs/sources/optix.md#hit-objects``.
"""

from rayplay.tracer.abi.trace_frame import FRAME, HIT_KIND_FRONT, NO_PROGRAM, ROW_BYTES, STATUS
from rayplay.tracer.emit.emitter import Emitter
from rayplay.tracer.emit.memory import record
from rayplay.tracer.emit.rows import load_row, row, store_row
from rayplay.tracer.emit.text import gather
from rayplay.tracer.lower.optix_calls import instance_lists
from rayplay.tracer.lower.optix_calls.instance_lists import Getter, below, look_up
from rayplay.tracer.meaning import optix as device

LANE_BYTES = ", ".join(f"i64 {4 * lane}" for lane in range(32))


def object_row(e: Emitter, field: str) -> str:
    """A field of the hit object."""
    return load_row(e, e.machine("hit_object"), FRAME[field] * ROW_BYTES)


def _put(e: Emitter, field: str, value: str, lanes: str | None = None) -> None:
    store_row(e, e.machine("hit_object"), FRAME[field] * ROW_BYTES, value, lanes or e.lanes())


def _hit(e: Emitter, field: str) -> str:
    return object_row(e, f"committed_{field}")


def _field(field: str) -> Getter:
    return lambda e, inputs: [object_row(e, field)]


def _is(status: int) -> Getter:
    """Whether the hit object has a status."""

    def lower(e: Emitter, inputs: list[str]) -> list[str]:
        same = e.op(f"icmp eq <32 x i32> {object_row(e, 'status')}, splat (i32 {status})")
        return [e.resize(same, 1, 32)]

    return lower


def _attribute(e: Emitter, inputs: list[str]) -> list[str]:
    """An attribute by its index: reported, or the first two of a triangle."""
    low = e.op(f"and <32 x i32> {inputs[0]}, splat (i32 7)")
    offset = e.op(f"shl <32 x i64> {e.resize(low, 32, 64)}, splat (i64 7)")
    offset = e.op(f"add <32 x i64> {offset}, <{LANE_BYTES}>")
    first = row(e, e.machine("hit_object"), FRAME.committed_attribute * ROW_BYTES)
    value = gather(e, e.op(f"getelementptr i8, ptr {first}, <32 x i64> {offset}"), "splat (i1 true)", 32)
    triangle = e.op(f"icmp uge <32 x i32> {_hit(e, 'kind')}, splat (i32 {HIT_KIND_FRONT})")
    for index, field in enumerate(device.TRIANGLE_ATTRIBUTES):
        same = e.op(f"and <32 x i1> {triangle}, {e.op(f'icmp eq <32 x i32> {low}, splat (i32 {index})')}")
        value = e.op(f"select <32 x i1> {same}, <32 x i32> {_hit(e, field)}, <32 x i32> {value}")
    return [value]


def _make_nop(e: Emitter, inputs: list[str]) -> list[str]:
    _put(e, "status", f"splat (i32 {STATUS.start})")
    return []


def _make_miss(e: Emitter, inputs: list[str]) -> list[str]:
    for field, value in zip(device.MISS_FIELDS, [*inputs, "zeroinitializer"], strict=False):
        _put(e, field, value)
    _put(e, "committed_t", inputs[8])
    _put(e, "committed_instance", f"splat (i32 {NO_PROGRAM})")
    _put(e, "status", f"splat (i32 {STATUS.miss})")
    return []


def _reorder(e: Emitter, inputs: list[str]) -> list[str]:
    """No thread moves; the bits of the hint that the call names are recorded."""
    many = e.op(f"icmp ugt <32 x i32> {inputs[1]}, splat (i32 32)")
    bits = e.op(f"select <32 x i1> {many}, <32 x i32> splat (i32 32), <32 x i32> {inputs[1]}")
    beyond = e.op(f"shl <32 x i64> splat (i64 1), {e.resize(bits, 32, 64)}")
    mask = e.op(f"add <32 x i64> {beyond}, splat (i64 -1)")
    record(e, e.op(f"and <32 x i64> {e.resize(inputs[0], 32, 64)}, {mask}"), e.lanes())
    return []


def _is_hit(e: Emitter) -> str:
    return e.op(f"icmp eq <32 x i32> {object_row(e, 'status')}, splat (i32 {STATUS.hit})")


def _record_index(e: Emitter, inputs: list[str]) -> list[str]:
    hit, miss = object_row(e, "committed_record"), object_row(e, "miss_index")
    return [e.op(f"select <32 x i1> {_is_hit(e)}, <32 x i32> {hit}, <32 x i32> {miss}")]


def _set_record_index(e: Emitter, inputs: list[str]) -> list[str]:
    is_hit = _is_hit(e)
    is_miss = e.op(f"xor <32 x i1> {is_hit}, splat (i1 true)")
    _put(e, "committed_record", inputs[0], e.op(f"and <32 x i1> {e.lanes()}, {is_hit}"))
    _put(e, "miss_index", inputs[0], e.op(f"and <32 x i1> {e.lanes()}, {is_miss}"))
    return []


def _record_data(e: Emitter, inputs: list[str]) -> list[str]:
    """Address of the record's data, 0 for a nop and beyond the table."""
    found = []
    for name, field, status in (("hit", "committed_record", STATUS.hit), ("miss", "miss_index", STATUS.miss)):
        index = e.resize(object_row(e, field), 32, 64)
        same = e.op(f"icmp eq <32 x i32> {object_row(e, 'status')}, splat (i32 {status})")
        lanes = below(e, index, f"{name}_record_count", e.op(f"and <32 x i1> {e.lanes()}, {same}"))
        found.append(look_up(e, f"{name}_record_data", index, lanes, 64))
    return [e.op(f"or <32 x i64> {found[0]}, {found[1]}")]


HANDLERS: dict[str, Getter] = {
    **{name: _field(field) for name, field in device.OBJECT_GETTERS.items()},
    **{name: _is(status) for name, status in device.OBJECT_STATES.items()},
    **{
        f"_optix_hitobject_{name}": getter
        for name, getter in {
            "get_attribute": _attribute, "get_instance_id": instance_lists.by_instance("instance_ids", 32, _hit),
            "get_gas_traversable_handle": instance_lists.by_instance("instance_handles", 64, _hit),
            "get_transform_list_size": instance_lists.list_size(_hit),
            "get_transform_list_handle": instance_lists.list_handle(_hit),
            **{name: instance_lists.hit_data(_hit, floats) for name, floats in device.PRIMITIVES.items()},
            "get_curve_parameter": lambda e, inputs: [_hit(e, "attribute_0")],
            "get_triangle_barycentrics": lambda e, inputs: [_hit(e, "u"), _hit(e, "v")],
            "get_sbt_record_index": _record_index, "set_sbt_record_index": _set_record_index,
            "get_sbt_data_pointer": _record_data, "make_nop": _make_nop, "make_miss": _make_miss,
            "make_miss_v2": _make_miss, "reorder": _reorder,
            "get_cluster_id": lambda e, inputs: [f"splat (i32 {device.NO_CLUSTER})"],
        }.items()
    },
}  # fmt: skip
