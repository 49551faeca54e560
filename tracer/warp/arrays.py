"""The arrays of a launch: what ``Warps`` holds, and the tables that follow from the launch's shape."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from rayplay.formats.guard.limits import INSTRUCTIONS
from rayplay.tracer.abi import words
from rayplay.tracer.abi.layout import LANES
from rayplay.tracer.abi.trace_frame import FRAME
from rayplay.tracer.abi.words import (
    BARRIER_STATE,
    EXCEPTION,
    ITEM,
    LEFT,
    MACHINE,
    MOST_LEFT,
    PROGRESS,
    REPORT,
    SCENE,
    VIEW,
    WARP,
)
from rayplay.tracer.link.launches import SBT_HEADER_BYTES, ComputeLaunch, ImageLaunch, InstanceNodes
from rayplay.tracer.link.layout import align_up, signature_of
from rayplay.tracer.link.link import LinkedLaunch
from rayplay.tracer.link.programs import RECURSION_DEPTH
from rayplay.tracer.meaning.optix import NODE_HANDLE_SHIFT
from rayplay.tracer.memory.arena import FIRST_ADDRESS, GUARD_BYTES, DeviceMemory
from rayplay.tracer.record.buffers import Buffers
from rayplay.tracer.units.call import ROWS_BYTES
from rayplay.tracer.units.plans import unit_addresses
from rayplay.tracer.warp.shape import Shape
from rayplay.tracer.warp.warps import Warps

WORKSPACE_BYTES = 64  # of a cooperative launch: size and arrivals of the barrier of its grid
MOST_LEFT_BYTES = 1 << 32  # of address space for calls that lanes have left
FEWEST_ITEMS = 256  # functions, trace calls and reports in flight for which a warp always has room


@dataclass
class LaunchState:
    """The arrays behind ``warps``, kept alive with it.

    shared    uint8[bytes]: the running CTA's shared memory.
    selected  uint8[pixels and more]: the pixels that filter_shader lets pass; empty for a compute launch.
    progress  int64[len(PROGRESS)]; turns: int64[warps of a CTA, len(WARP)]: how far the launch and each warp are.
    outside   int64[instructions]: accesses of lanes outside allocations.
    tids      uint32[warps of a CTA, 3, 32]: %tid of every lane; starts at a multiple of 64 bytes.
    """

    linked: LinkedLaunch
    launch: ImageLaunch | ComputeLaunch
    shape: Shape
    warps: Warps
    shared: np.ndarray
    selected: np.ndarray
    progress: np.ndarray
    turns: np.ndarray
    tids: np.ndarray
    outside: np.ndarray
    kept: tuple[Any, ...]

    @property
    def memory(self) -> DeviceMemory:
        """Device memory."""
        return self.launch.memory

    def kernel_row(self, kernel_id: int, registers: int) -> dict[str, Any]:
        """The row of ``kernels``."""
        machine = self.warps.machine
        numbers = {
            "kernel_id": kernel_id, "stream": self.shape.stream,
            **{f"grid_{axis}": size for axis, size in zip("xyz", self.shape.grid, strict=True)},
            **{f"block_{axis}": size for axis, size in zip("xyz", self.shape.block, strict=True)},
            "shared_bytes": machine[MACHINE.shared_bytes], "local_bytes": machine[MACHINE.local_bytes],
        }  # fmt: skip
        return {
            **{name: np.array([value], np.uint32) for name, value in numbers.items()},
            "name": np.array([self.shape.name], object),
            "registers_per_thread": np.array([registers], np.uint16),
            "shared_base": np.array([machine[MACHINE.shared_base]], np.uint64),
            "local_base": np.array([machine[MACHINE.local_base]], np.uint64),
            "source": np.array(["ptx"], object),
        }


def make_state(
    linked: LinkedLaunch,
    shape: Shape,
    launch: ImageLaunch | ComputeLaunch,
    buffers: Buffers,
    addresses: np.ndarray,
    first_warp: int,
) -> LaunchState:
    """Take the launch's memory and fill the machine's words; ``addresses`` int64[functions] of machine code."""
    image = launch if isinstance(launch, ImageLaunch) else None
    machine = MACHINE.zeros()
    shared, arrays, primitives = _fill_machine(machine, linked, shape, launch)
    layouts = [f.layout for f in linked.functions]
    called = (*(f.function for f in linked.functions), *linked.externals)
    items = FEWEST_ITEMS + RECURSION_DEPTH * linked.is_recursive(shape.entry)
    depth = image.trace_depth + 1 if image else 1
    longest = max(layout.bytes for layout in layouts)
    rows = shape.warps * shape.slots
    stack_words = align_up(shape.stack_bytes + 2 * longest, 64) // 8
    calls = _left_calls(linked, rows, items, stack_words)
    scene, state_words, opaque, first_geometry = _scene(image)
    warps = Warps(
        machine=machine,
        addresses=addresses,
        words=np.array([layout.bytes // 8 for layout in layouts], np.int64),
        zero=np.array([(layout.zero[0] // 8, layout.zero[1] // 8) for layout in layouts], np.int64),
        local_bytes=np.array([layout.local_bytes for layout in layouts], np.int64),
        turns=np.array([(layout.stack_offset, layout.parted) for layout in layouts], np.int64),
        signatures=np.array([signature_of(function).identity for function in called], np.int64),
        stacks=_aligned((rows, stack_words), np.int64),
        items=ITEM.zeros(rows, items),
        depth=np.zeros(rows, np.int64),
        left=LEFT.zeros(rows, calls),
        left_items=ITEM.zeros(rows, calls, items),
        left_stacks=np.zeros((rows, calls, stack_words), np.int64),
        views=VIEW.zeros(items),
        barriers=BARRIER_STATE.zeros(shape.slots, words.BARRIERS),
        frames=_aligned((depth, len(FRAME), LANES), np.uint32),
        report=_aligned((len(REPORT), LANES), np.uint32),
        objects=_aligned((depth, len(FRAME), LANES), np.uint32),
        exception=_aligned((len(EXCEPTION), LANES), np.uint32),
        states=np.zeros((depth, LANES, state_words), np.uint32),
        scene=scene,
        sbt_hit=_record_data(image.hit_record_addresses if image else None),
        sbt_miss=_record_data(image.miss_record_addresses if image else None),
        hit_programs=np.ascontiguousarray(image.hit_programs if image else np.zeros((0, 3)), np.int32).reshape(-1, 3),
        miss_programs=np.asarray(image.trace_context.arrays[1] if image else [], np.int32),
        outgoing=np.array([layout.outgoing // 8 for layout in layouts], np.int64),
        callable_data=_callable_data(linked, image),
        thrown=_thrown(image),
        opaque=opaque,
        first_geometry=first_geometry,
        rays=buffers.rays,
        nodes=buffers.nodes,
        counts=buffers.counts,
        runs=buffers.runs,
    )
    outside, bound = _bind(machine, linked, warps)
    selected = arrays.get("selected", np.zeros(0, np.uint8))
    return LaunchState(
        linked, launch, shape, warps, shared, selected, _progress(shape, image, first_warp, machine), WARP.zeros(rows),
        _thread_indices(shape), outside, (arrays, primitives, *bound),
    )  # fmt: skip


def _bind(machine: np.ndarray, linked: LinkedLaunch, warps: Warps) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
    """Addresses of the warps' arrays and of the units in the machine's words; ``outside``, and arrays to keep alive."""
    machine[MACHINE.report] = warps.report.ctypes.data
    machine[MACHINE.exception] = warps.exception.ctypes.data
    machine[MACHINE.callables], machine[MACHINE.callable_count] = linked.callables.ctypes.data, len(linked.callables)
    for name in ("hit", "miss"):
        data = getattr(warps, f"sbt_{name}")
        machine[MACHINE[f"{name}_record_data"]], machine[MACHINE[f"{name}_record_count"]] = data.ctypes.data, len(data)
    units = unit_addresses({i.opcode for f in linked.functions for i in f.function.body})
    unit_rows = _aligned((ROWS_BYTES,), np.uint8)
    instructions = sum(len(f.function.body) for f in linked.functions)
    bounds, outside = np.zeros((instructions, 2), np.int64), np.zeros(instructions, np.int64)
    machine[MACHINE.bounds], machine[MACHINE.outside] = bounds.ctypes.data, outside.ctypes.data
    machine[MACHINE.units], machine[MACHINE.unit_rows] = units.ctypes.data, unit_rows.ctypes.data
    return outside, (units, unit_rows, bounds)


def _left_calls(linked: LinkedLaunch, rows: int, items: int, stack_words: int) -> int:
    """Calls of a warp that lanes may leave apart; their memory is taken as they are."""
    if not any(f.spins.calls for f in linked.functions):
        return 0
    return min(MOST_LEFT, MOST_LEFT_BYTES // (8 * rows * (stack_words + items * len(ITEM))))


def _progress(shape: Shape, image: ImageLaunch | None, first_warp: int, machine: np.ndarray) -> np.ndarray:
    progress = PROGRESS.zeros()
    progress[PROGRESS.entry], progress[PROGRESS.first_warp] = shape.entry, first_warp
    progress[PROGRESS.warps], progress[PROGRESS.shared_first] = shape.warps, machine[MACHINE.shared_base]
    progress[PROGRESS.threads], progress[PROGRESS.most_visits] = shape.threads, INSTRUCTIONS.value()
    if image is not None:
        progress[PROGRESS.is_image], progress[PROGRESS.width] = 1, image.width
        progress[PROGRESS.sbt_data] = image.raygen_record_address + SBT_HEADER_BYTES
    return progress


def _thread_indices(shape: Shape) -> np.ndarray:
    made = _aligned((shape.warps, 3, LANES), np.uint32)
    linear = np.arange(shape.warps * LANES, dtype=np.uint32).reshape(shape.warps, LANES)
    made[:, 0] = linear % shape.block[0]
    made[:, 1] = linear // shape.block[0] % shape.block[1]
    made[:, 2] = linear // (shape.block[0] * shape.block[1])
    return made


def _record_data(addresses: np.ndarray | None) -> np.ndarray:
    if addresses is None:
        return np.zeros(0, np.uint64)
    return np.asarray(addresses, np.uint64) + np.uint64(SBT_HEADER_BYTES)


def _callable_data(linked: LinkedLaunch, image: ImageLaunch | None) -> np.ndarray:
    """int64[functions by address]: address of the data of a callable record, 0 for another function."""
    found = np.zeros(len(linked.by_address), np.int64)
    if image is not None:
        found[linked.callable_rows()] = _record_data(image.callable_record_addresses).astype(np.int64)
    return found


def _thrown(image: ImageLaunch | None) -> np.ndarray:
    """The exception program and its record's data."""
    if image is None or image.exception_index < 0:
        return np.array([-1, 0], np.int64)
    return np.array([image.exception_index, image.exception_record_address + SBT_HEADER_BYTES], np.int64)


def _scene(image: ImageLaunch | None) -> tuple[np.ndarray, int, np.ndarray, np.ndarray]:
    """Addresses of the traversal's code and context and whether programs run after it, words of its private state,
    which geometries are opaque, and the first geometry of each instance."""
    if image is None:
        return SCENE.zeros(), 1, np.zeros(1, np.uint8), np.zeros(1, np.int64)
    from rayplay.tracer.rays.state import STATE_WORDS
    from rayplay.tracer.rays.traverse import traverse_lane_address

    context = image.trace_context
    opaque = np.array([geometry.opaque for geometry in context.acceleration.geometries], np.uint8)
    first = np.asarray(context.acceleration.instance_geometry).astype(np.int64)
    scene = np.array([traverse_lane_address(), context.address, context.delayed], np.int64)
    return scene, STATE_WORDS, opaque, first


def _aligned(shape: tuple[int, ...], dtype: type) -> np.ndarray:
    """Zeros at a multiple of 64 bytes."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.zeros(size + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size].view(dtype).reshape(shape)


def _fill_machine(
    machine: np.ndarray, linked: LinkedLaunch, shape: Shape, launch: ImageLaunch | ComputeLaunch
) -> tuple[np.ndarray, dict[str, np.ndarray], tuple[np.ndarray, ...]]:
    """Device memory of the launch; returns the CTA's shared memory, arrays the machine points to, and primitives."""
    memory = launch.memory
    shared_bytes = linked.shared_bytes + shape.dynamic_shared_bytes
    local_bytes = align_up(shape.local_bytes, 16)
    threads = shape.ctas * (shape.warps * LANES if isinstance(launch, ImageLaunch) else shape.threads)
    shared_base = memory.allocate(shared_bytes * shape.slots, name="shared memory of the CTA", gap=0)
    workspace = memory.allocate(WORKSPACE_BYTES, name="the grid's barrier", gap=0) if shape.cooperative else 0
    values = {
        "param_base": memory.allocate(shape.parameters, name="the parameters", gap=0),
        "param_bytes": len(shape.parameters),
        "shared_base": shared_base,
        "shared_bytes": shared_bytes,
        "dynamic_shared_bytes": shape.dynamic_shared_bytes,
        "local_base": memory.lend((threads + LANES) * local_bytes, "local memory of the threads"),
        "local_bytes": local_bytes,
        "workspace_low": workspace & 0xFFFFFFFF,
        "workspace_high": workspace >> 32,
        "local_total_bytes": threads * local_bytes,
        "warps_per_cta": shape.warps,
        "symbols": linked.addresses.ctypes.data,
        "functions": linked.by_address.ctypes.data,
        "function_count": len(linked.by_address),
        **{f"nctaid_{axis}": size for axis, size in zip("xyz", shape.grid, strict=True)},
        **{f"ntid_{axis}": size for axis, size in zip("xyz", shape.block, strict=True)},
    }
    arrays: dict[str, np.ndarray] = {}
    primitives: tuple[np.ndarray, ...] = ()
    if isinstance(launch, ImageLaunch):
        arrays, primitives = _image_arrays(launch)
        values.update(width=launch.width, height=launch.height, instance_count=len(launch.instance_ids))
        if launch.primitives is not None:
            values["mesh_count"] = len(launch.primitives.first_geometry) - 1
        nodes = nodes_of(launch)
        values.update(object_to_world=nodes.object_to_world, world_to_object=nodes.world_to_object)
        values.update(top_level=nodes.top_level, node_count=len(nodes.ids))
        values.update({name: array.ctypes.data for name, array in arrays.items()})
    values.update(host_offset=memory.host_address - GUARD_BYTES, arena_first=FIRST_ADDRESS - GUARD_BYTES)
    values.update(memory.machine_words(), memcheck=memory.memcheck)
    for name, value in values.items():
        machine[MACHINE[name]] = value
    return memory.view(shared_base, np.uint8, shared_bytes * shape.slots), arrays, primitives


def nodes_of(launch: ImageLaunch) -> InstanceNodes:
    """The launch's instance records; where it has none, one an instance, without matrices."""
    if launch.nodes is not None:
        return launch.nodes
    every = np.arange(len(launch.instance_ids) + 1, dtype=np.int32)
    children = np.ones(len(launch.instance_ids), np.int64)
    if launch.primitives is not None:
        children = launch.primitives.mesh_of_instance.astype(np.int64) + 1
    return InstanceNodes(every, every[:-1], np.asarray(launch.instance_ids, np.uint32), children, 0, 0, 0)


def _image_arrays(launch: ImageLaunch) -> tuple[dict[str, np.ndarray], tuple[np.ndarray, ...]]:
    """Arrays by the word of the machine that points to them, and the primitives that one of them points to."""
    selected = np.zeros(launch.width * launch.height + LANES, np.uint8)
    every = np.ones((launch.height, launch.width), np.bool_)
    chosen = every if launch.selected is None else launch.selected
    selected[: launch.width * launch.height] = chosen.reshape(-1)
    ids = np.ascontiguousarray(launch.instance_ids, np.uint32)
    arrays: dict[str, np.ndarray] = {"selected": selected, "instance_ids": ids}
    primitives: tuple[np.ndarray, ...] = ()
    handles = np.ones(len(ids), np.int64)
    if launch.primitives is not None:
        primitives = tuple(np.ascontiguousarray(v, np.float32) for v in launch.primitives.values)
        handles = launch.primitives.mesh_of_instance.astype(np.int64) + 1
        arrays["geometry_first"] = np.ascontiguousarray(launch.primitives.first_geometry, np.int32)
        arrays["geometry_values"] = np.array([v.ctypes.data for v in primitives], np.int64)
        arrays["geometry_primitives"] = np.array([len(v) for v in primitives], np.int64)
        arrays["geometry_floats"] = np.array([v.shape[1] for v in primitives], np.int64)
    arrays["instance_handles"] = handles
    nodes = nodes_of(launch)
    arrays["node_first"] = np.ascontiguousarray(nodes.first, np.int32)
    arrays["nodes"] = np.ascontiguousarray(nodes.nodes, np.int32)
    arrays["node_ids"] = np.ascontiguousarray(nodes.ids, np.uint32)
    arrays["node_children"] = np.ascontiguousarray(nodes.children, np.int64)
    arrays["instance_nodes"] = nodes.nodes[nodes.first[:-1]].astype(np.int64) | 1 << NODE_HANDLE_SHIFT
    return arrays, primitives
