"""Transform lists, traversable handles and primitives of OptiX's device interface as LLVM IR: look-ups in tables of
the launch.

Another handle, such as a motion transform's, answers 0. Source: ``docs/sources/optix.md#handles``.
"""

from collections.abc import Callable

from rayplay.tracer.emit.emitter import Emitter
from rayplay.tracer.emit.text import gather
from rayplay.tracer.meaning import optix as device

Getter = Callable[[Emitter, list[str]], list[str]]  # arguments to results
Hit = Callable[[Emitter, str], str]  # a field of the hit that a getter speaks of
NODE_BIT = 1 << device.NODE_HANDLE_SHIFT
MATRIX_BYTES = 48


def look_up(e: Emitter, table: str, index: str, lanes: str, width: int) -> str:
    """Entry ``index`` (i64 per lane) of a table that a word of the machine points to, 0 outside ``lanes``."""
    pointer = e.op(f"inttoptr i64 {e.machine(table)} to ptr")
    return gather(e, e.op(f"getelementptr i{width}, ptr {pointer}, <32 x i64> {index}"), lanes, width)


def below(e: Emitter, index: str, count: str, lanes: str) -> str:
    """The lanes whose index (i64) is below a count, a word of the machine."""
    limit = e.splat(e.machine(count), "i64")
    return e.op(f"and <32 x i1> {lanes}, {e.op(f'icmp ult <32 x i64> {index}, {limit}')}")


def by_instance(table: str, width: int, hit: Hit) -> Getter:
    """A value per instance, 0 where there is no instance."""

    def lower(e: Emitter, inputs: list[str]) -> list[str]:
        index = e.resize(hit(e, "instance"), 32, 64)
        return [look_up(e, table, index, below(e, index, "instance_count", e.lanes()), width)]

    return lower


def _list_of(e: Emitter, hit: Hit) -> tuple[str, str]:
    """Begin and end, in the nodes, of the transform list of the hit's instance; 0 and 0 without one."""
    instance = e.resize(hit(e, "instance"), 32, 64)
    lanes = below(e, instance, "instance_count", e.lanes())
    first = look_up(e, "node_first", instance, lanes, 32)
    return first, look_up(e, "node_first", e.op(f"add <32 x i64> {instance}, splat (i64 1)"), lanes, 32)


def list_size(hit: Hit) -> Getter:
    """Length of the transform list."""

    def lower(e: Emitter, inputs: list[str]) -> list[str]:
        first, end = _list_of(e, hit)
        return [e.op(f"sub <32 x i32> {end}, {first}")]

    return lower


def list_handle(hit: Hit) -> Getter:
    """Handle of an entry of the transform list, 0 past its end."""

    def lower(e: Emitter, inputs: list[str]) -> list[str]:
        first, end = _list_of(e, hit)
        size = e.op(f"sub <32 x i32> {end}, {first}")
        inside = e.op(f"icmp ult <32 x i32> {inputs[0]}, {size}")
        lanes = e.op(f"and <32 x i1> {e.lanes()}, {inside}")
        index = e.resize(e.op(f"add <32 x i32> {first}, {inputs[0]}"), 32, 64)
        node = e.resize(look_up(e, "nodes", index, lanes, 32), 32, 64)
        handle = e.op(f"or <32 x i64> {node}, splat (i64 {NODE_BIT})")
        return [e.op(f"select <32 x i1> {lanes}, <32 x i64> {handle}, <32 x i64> zeroinitializer")]

    return lower


def _node(e: Emitter, handle: str) -> tuple[str, str]:
    """Number of the instance record behind a handle, and the lanes whose handle is one."""
    node = e.op(f"xor <32 x i64> {handle}, splat (i64 {NODE_BIT})")
    return node, below(e, node, "node_count", e.lanes())


def transform_type(e: Emitter, inputs: list[str]) -> list[str]:
    """Whether a handle is an instance's."""
    _, lanes = _node(e, inputs[0])
    kind = f"<32 x i32> splat (i32 {device.TRANSFORM_INSTANCE}), <32 x i32> zeroinitializer"
    return [e.op(f"select <32 x i1> {lanes}, {kind}")]


def by_node(table: str, width: int) -> Getter:
    """A value per instance record."""

    def lower(e: Emitter, inputs: list[str]) -> list[str]:
        node, lanes = _node(e, inputs[0])
        return [look_up(e, table, node, lanes, width)]

    return lower


def matrix_of(table: str) -> Getter:
    """Device address of an instance record's matrix."""

    def lower(e: Emitter, inputs: list[str]) -> list[str]:
        node, lanes = _node(e, inputs[0])
        offset = e.op(f"mul <32 x i64> {node}, splat (i64 {MATRIX_BYTES})")
        address = e.op(f"add <32 x i64> {e.splat(e.machine(table), 'i64')}, {offset}")
        return [e.op(f"select <32 x i1> {lanes}, <32 x i64> {address}, <32 x i64> zeroinitializer")]

    return lower


def from_top_level(e: Emitter, inputs: list[str]) -> list[str]:
    """Handle of an instance record of the top level, 0 where the first handle is another one or has no such entry."""
    index = e.resize(inputs[1], 32, 64)
    is_top = e.op(f"icmp eq <32 x i64> {inputs[0]}, {e.splat(e.machine('top_level'), 'i64')}")
    lanes = below(e, index, "instance_count", e.op(f"and <32 x i1> {e.lanes()}, {is_top}"))
    return [look_up(e, "instance_nodes", index, lanes, 64)]


def primitive_data(floats: int) -> Getter:
    """The floats of primitive ``inputs[1]`` of geometry ``inputs[2]`` of the mesh with handle ``inputs[0]``; 0 where
    no primitive of that length exists."""

    def lower(e: Emitter, inputs: list[str]) -> list[str]:
        mesh = e.op(f"sub <32 x i64> {inputs[0]}, splat (i64 1)")
        lanes = below(e, mesh, "mesh_count", e.lanes())
        first = look_up(e, "geometry_first", mesh, lanes, 32)
        end = look_up(e, "geometry_first", e.op(f"add <32 x i64> {mesh}, splat (i64 1)"), lanes, 32)
        inside = e.op(f"icmp ult <32 x i32> {inputs[2]}, {e.op(f'sub <32 x i32> {end}, {first}')}")
        lanes = e.op(f"and <32 x i1> {lanes}, {inside}")
        geometry = e.resize(e.op(f"add <32 x i32> {first}, {inputs[2]}"), 32, 64)
        same = e.op(f"icmp eq <32 x i64> {look_up(e, 'geometry_floats', geometry, lanes, 64)}, splat (i64 {floats})")
        lanes = e.op(f"and <32 x i1> {lanes}, {same}")
        count = look_up(e, "geometry_primitives", geometry, lanes, 64)
        primitive = e.resize(inputs[1], 32, 64)
        lanes = e.op(f"and <32 x i1> {lanes}, {e.op(f'icmp ult <32 x i64> {primitive}, {count}')}")
        base = look_up(e, "geometry_values", geometry, lanes, 64)
        address = e.op(f"add <32 x i64> {base}, {e.op(f'mul <32 x i64> {primitive}, splat (i64 {4 * floats})')}")
        pointers = e.op(f"inttoptr <32 x i64> {address} to <32 x ptr>")
        return [
            gather(e, e.op(f"getelementptr i8, <32 x ptr> {pointers}, i64 {4 * word}"), lanes, 32)
            for word in range(floats)
        ]

    return lower


def hit_data(hit: Hit, floats: int) -> Getter:
    """The floats of the primitive that was hit."""

    def lower(e: Emitter, inputs: list[str]) -> list[str]:
        handle = by_instance("instance_handles", 64, hit)(e, [])
        return primitive_data(floats)(e, [*handle, hit(e, "primitive"), hit(e, "geometry")])

    return lower
