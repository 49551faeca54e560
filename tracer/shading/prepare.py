"""A scene and a program become one launch: device memory filled, programs found and filtered, records bound."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rayplay.ptx.inject import inject_filter
from rayplay.ptx.ir import Module
from rayplay.ptx.isa.optix import INTRINSICS
from rayplay.tracer.bvh.build import Acceleration, Structure, build_acceleration
from rayplay.tracer.bvh.layout import BLOCK_BYTES, LEAF_GEOMETRY, LEAF_OPAQUE_BIT, PROCEDURAL, TRIANGLE
from rayplay.tracer.link.functions import Taken, with_called
from rayplay.tracer.link.launches import ImageLaunch, InstanceNodes, TriangleGeometry
from rayplay.tracer.link.programs import Programs
from rayplay.tracer.meaning.optix import NODE_HANDLE_SHIFT
from rayplay.tracer.memory.arena import DeviceMemory
from rayplay.tracer.rays.traverse import make_context
from rayplay.tracer.record.buffers import DISTANCE_LOG_BYTES
from rayplay.tracer.scenes.description import IDENTITY, Scene
from rayplay.tracer.shading.config import GEOMETRIES, IMAGE_FORMATS, ProgramConfig
from rayplay.tracer.shading.fields import pack_fields, params_symbol
from rayplay.tracer.shading.table import build_table, find_programs, geometry_kind
from rayplay.tracer.shading.upload import SceneBuffers, camera_values, inverse_maps, upload_scene

NEEDS_TRIANGLES = frozenset(
    name
    for name in INTRINSICS
    if "triangle_vertex_data" in name or name.endswith(("_traversable_handle", "_child_from_handle"))
)
"""Calls that read triangles of the scene, or give the handles by which they are found."""
NEEDS_NODES = frozenset(
    name for name in INTRINSICS if "transform" in name or "_from_handle" in name or "_from_ias" in name
)
"""Calls that speak of instance records."""


@dataclass(frozen=True)
class Sampling:
    """Size and sampling of a launch."""

    width: int
    height: int
    samples: int = 1
    bounces: int = 16
    seed: int = 1


@dataclass(frozen=True)
class Prepared:
    """A launch that is ready to run, and where its picture will lie."""

    launch: ImageLaunch
    acceleration: Acceleration
    image_address: int
    image_format: str


def prepare_image(
    scene: Scene,
    module: Module | Sequence[Module],
    config: ProgramConfig,
    sampling: Sampling,
    selected: NDArray[np.bool_] | None = None,
    place: str = "program",
    traversal: str = "nearest",
    delayed: bool = False,
    structure: Structure | None = None,
    record: str = "visits",
) -> Prepared:
    """Fill a fresh device memory and describe the launch.

    module     the program's, or several that are linked to one program; of those that define a name the first counts.

    selected   bool[height, width], the pixels to trace; None for all.
    traversal  order of a node's children: see ``tracer.rays.traverse.make_context``; "vulkan-sim" also builds its tree.
    delayed    any-hit and intersection programs run after the traversal, not during it.
    structure  trees of an animation of which the scene is a frame.
    record     what traversals record, of ``tracer.rays.state.RECORDS``.
    Raises ``UserError``, beginning with ``place``, where the configuration does not fit the module or the scene.
    """
    if not any(geometry.textured for geometry in scene.geometries()):
        config = config.without_textures()  # traces of such scenes have no blocks that they cannot visit
    modules = (module,) if isinstance(module, Module) else tuple(module)
    functions = find_programs(config, modules, place)
    symbol = params_symbol(config.params_symbol, config.params, modules, place)
    memory = DeviceMemory(guard_bytes=0)  # a picture's buffers lie side by side, so that replays compare
    acceleration = place_acceleration(scene, config, memory, traversal == "vulkan-sim", structure)
    buffers = upload_scene(scene, memory)
    pixels = sampling.width * sampling.height
    values = {
        **buffers.missing, **buffers.launch, **camera_values(scene.camera, sampling.width, sampling.height),
        **vars(sampling), "scene": acceleration.top_address,
    }  # fmt: skip
    first = _is_in_records("image", config)  # else the picture lies behind the records
    image_address = memory.allocate(pixels * IMAGE_FORMATS[config.image_format]) if first else 0
    table = build_table(config, scene.geometries(), buffers.geometry, {**values, "image": image_address}, memory)
    values["image"] = image_address or memory.allocate(pixels * IMAGE_FORMATS[config.image_format])
    programs = tuple((m, inject_filter(f) if i == 0 else f) for i, (m, f) in enumerate(functions))
    mentioned = _mentioned(programs, modules)
    launch = ImageLaunch(
        programs=programs,
        raygen_index=0,
        width=sampling.width,
        height=sampling.height,
        memory=memory,
        constants={symbol: _constants(modules, symbol, config, values, memory, pixels)} if symbol else {},
        raygen_record_address=table.raygen_record_address,
        miss_record_addresses=table.miss_record_addresses,
        hit_record_addresses=table.hit_record_addresses,
        hit_programs=table.hit_programs,
        instance_ids=np.arange(len(acceleration.instance_geometry), dtype=np.uint32),
        trace_context=make_context(
            acceleration,
            table.hit_programs,
            table.miss_programs.tolist(),
            traversal,
            delayed=delayed,
            record=record,
            distance_log=DISTANCE_LOG_BYTES,
        ),
        triangles=_triangles(scene, acceleration) if mentioned & NEEDS_TRIANGLES else None,
        selected=selected,
        name=config.name,
        nodes=_nodes(scene, acceleration, buffers, memory) if mentioned & NEEDS_NODES else None,
        callables=table.callables,
        callable_record_addresses=table.callable_record_addresses,
        libraries=modules if len(modules) > 1 else (),
        exception_index=table.exception_index,
        exception_record_address=table.exception_record_address,
    )
    return Prepared(launch, acceleration, values["image"], config.image_format)


def _is_in_records(source: str, config: ProgramConfig) -> bool:
    """Whether a record has a field that the source fills."""
    records = (config.raygen, *config.miss, *config.hit_groups, *config.callables, config.exception)
    return any(field.source == source for each in records if each is not None for field in each.record)


def _mentioned(programs: Programs, modules: Sequence[Module]) -> frozenset[str]:
    """The calls of OptiX's interface that programs, or the functions that they may call, make."""
    reached = with_called(programs, modules, Taken())
    return frozenset(i.callee for _, function in reached for i in function.body if i.callee in INTRINSICS)


def _nodes(scene: Scene, acceleration: Acceleration, buffers: SceneBuffers, memory: DeviceMemory) -> InstanceNodes:
    """The instance records that transform lists name: one an instance, or more where it stands inside others.

    The records of instances come first, in their order, then the ones around them; each instance has its own.
    """
    count = len(acceleration.instance_geometry)
    chains = [item.within for item in scene.instances] + [()] * (count - len(scene.instances))
    first = np.cumsum([0] + [1 + len(chain) for chain in chains]).astype(np.int32)
    meshes = [item.mesh for item in scene.instances] + [len(scene.meshes)] * (count - len(scene.instances))
    nodes: list[int] = []
    ids, children = list(range(count)), [mesh + 1 for mesh in meshes]
    for number, chain in enumerate(chains):
        outer = range(len(ids), len(ids) + len(chain))
        listed = [*outer, number]
        nodes += listed
        ids += [number] * len(outer)
        children += [node | 1 << NODE_HANDLE_SHIFT for node in listed[1:]]
    addresses = [buffers.launch["object_to_world"], buffers.launch["world_to_object"]]
    if any(chains):
        own = [item.own for item in scene.instances] + [IDENTITY] * (count - len(scene.instances))
        matrices = np.array([*own, *(matrix for chain in chains for matrix in chain)], np.float32)
        addresses = [memory.allocate(matrices), memory.allocate(inverse_maps(matrices))]
    return InstanceNodes(
        first, np.array(nodes, np.int32), np.array(ids, np.uint32), np.array(children, np.int64), *addresses,
        acceleration.top_address,
    )  # fmt: skip


def place_acceleration(
    scene: Scene,
    config: ProgramConfig,
    memory: DeviceMemory,
    as_embree: bool = False,
    structure: Structure | None = None,
) -> Acceleration:
    """Build the acceleration structure (``tracer.bvh.build``) and copy it into device memory.

    Geometries whose hit groups name an any-hit program lose their opaque mark, so that it runs.
    """
    acceleration = build_acceleration(scene, memory.allocate(0), as_embree, structure)
    tested = {g for g in GEOMETRIES if any(group.any_hit for group in config.groups_of(g))}
    for geometry, kind in (("triangles", TRIANGLE), ("textured_triangles", TRIANGLE), ("spheres", PROCEDURAL)):
        if geometry in tested:
            acceleration.words[_blocks_of(acceleration, kind), LEAF_GEOMETRY] &= ~np.uint32(LEAF_OPAQUE_BIT)
    memory.allocate(acceleration.image)
    marked = [replace(g, opaque=g.opaque and geometry_kind(g) not in tested) for g in acceleration.geometries]
    return replace(acceleration, geometries=marked)


def _blocks_of(acceleration: Acceleration, kind: int) -> NDArray[np.int64]:
    """Blocks of the image where a record of this kind begins."""
    addresses = acceleration.node_address[acceleration.node_kind == kind]
    return ((addresses - np.uint64(acceleration.base_address)) // np.uint64(BLOCK_BYTES)).astype(np.int64)


def _constants(
    modules: Sequence[Module],
    symbol: str,
    config: ProgramConfig,
    values: dict[str, Any],
    memory: DeviceMemory,
    pixels: int,
) -> bytes:
    """The launch parameters, as long as the modules declare them; buffers that they ask for are taken here."""
    own = {f.name: memory.allocate(pixels * f.bytes_per_pixel) for f in config.params if f.bytes_per_pixel}
    size = max(m.variables[symbol].bytes for m in modules if symbol in m.variables)
    return pack_fields(config.params, {**values, **own}, "params").ljust(size, b"\0")


def _triangles(scene: Scene, acceleration: Acceleration) -> TriangleGeometry:
    """Vertices of all triangles by geometry, for programs that fetch them from the acceleration structure."""
    vertices = []
    for geometry in acceleration.geometries:
        if geometry.procedural:
            vertices.append(np.zeros((0, 3, 3), np.float32))
            continue
        mesh = scene.meshes[geometry.mesh]
        last = geometry.first_primitive + geometry.primitive_count
        vertices.append(np.ascontiguousarray(mesh.vertices[mesh.triangles[geometry.first_primitive : last]]))
    meshes = np.array([geometry.mesh for geometry in acceleration.geometries])
    spheres = [len(scene.meshes)] * scene.spheres.instance_count
    return TriangleGeometry(
        vertices=tuple(vertices),
        first_geometry=np.searchsorted(meshes, np.arange(len(scene.meshes) + 2)).astype(np.int32),
        mesh_of_instance=np.array([instance.mesh for instance in scene.instances] + spheres, np.int32),
    )
