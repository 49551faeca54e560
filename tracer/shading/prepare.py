"""A scene and a program become one launch: device memory filled, programs found and filtered, records bound."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rayplay.ptx.inject import inject_filter
from rayplay.ptx.ir import Function, Module
from rayplay.tracer.bvh.build import Acceleration, Structure, build_acceleration
from rayplay.tracer.bvh.layout import LEAF_GEOMETRY, LEAF_OPAQUE_BIT, PROCEDURAL, TRIANGLE
from rayplay.tracer.bvh.layouts import LAYOUTS
from rayplay.tracer.link.launches import ImageLaunch, TriangleGeometry
from rayplay.tracer.memory.arena import DeviceMemory
from rayplay.tracer.rays.traverse import make_context
from rayplay.tracer.record.buffers import DISTANCE_LOG_BYTES
from rayplay.tracer.scenes.description import Scene
from rayplay.tracer.shading.config import GEOMETRIES, IMAGE_FORMATS, ProgramConfig
from rayplay.tracer.shading.fields import pack_fields, params_symbol
from rayplay.tracer.shading.table import build_table, find_programs, geometry_kind
from rayplay.tracer.shading.upload import camera_values, upload_scene

TRIANGLE_FETCH = "_optix_get_triangle_vertex_data"


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
    module: Module,
    config: ProgramConfig,
    sampling: Sampling,
    selected: NDArray[np.bool_] | None = None,
    place: str = "program",
    traversal: str = "nearest",
    delayed: bool = False,
    structure: Structure | None = None,
    record: str = "visits",
    bvh: str = "bvh6",
    own: Callable[[DeviceMemory, Mapping[str, Any]], Mapping[str, Any]] | None = None,
) -> Prepared:
    """Fill a fresh device memory and describe the launch.

    selected   bool[height, width], the pixels to trace; None for all.
    traversal  order of a node's children: see ``tracer.rays.traverse.make_context``; "vulkan-sim" also builds its tree.
    delayed    any-hit and intersection programs run after the traversal, not during it.
    structure  trees of an animation of which the scene is a frame.
    record     what traversals record, of ``tracer.rays.state.RECORDS``.
    bvh        layout of the acceleration structure, of ``tracer.bvh.layouts.LAYOUTS``.
    own        fills memory with buffers of the program's own, and gives their addresses by the names of sources.
    Raises ``UserError``, beginning with ``place``, where the configuration does not fit the module or the scene.
    """
    config = _without_unused(config, scene)
    functions = find_programs(config, module, place)
    symbol = params_symbol(config.params_symbol, config.params, module, place)
    memory = DeviceMemory(guard_bytes=0)  # a picture's buffers lie side by side, so that replays compare
    acceleration = place_acceleration(scene, config, memory, traversal == "vulkan-sim", structure, bvh)
    buffers = upload_scene(scene, memory)
    table = build_table(config, scene.geometries(), buffers.geometry, buffers.missing, memory)
    pixels = sampling.width * sampling.height
    image_address = memory.allocate(pixels * IMAGE_FORMATS[config.image_format])
    values = {
        **buffers.launch, **camera_values(scene.camera, sampling.width, sampling.height), **vars(sampling),
        "image": image_address, "scene": acceleration.top_address,
    }  # fmt: skip
    values |= own(memory, values) if own else {}
    launch = ImageLaunch(
        programs=tuple((module, inject_filter(f) if i == 0 else f) for i, f in enumerate(functions)),
        raygen_index=0,
        width=sampling.width,
        height=sampling.height,
        memory=memory,
        constants={symbol: _constants(module, symbol, config, values, memory, pixels)},
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
        triangles=_triangles(scene, acceleration) if _fetches_triangles(functions) else None,
        selected=selected,
        name=config.name,
    )
    return Prepared(launch, acceleration, image_address, config.image_format)


def _without_unused(config: ProgramConfig, scene: Scene) -> ProgramConfig:
    """Traces of scenes without textures have no blocks of programs that cannot run."""
    textured = any(geometry.textured for geometry in scene.geometries())
    return config if textured else config.without_textures()


def place_acceleration(
    scene: Scene,
    config: ProgramConfig,
    memory: DeviceMemory,
    as_embree: bool = False,
    structure: Structure | None = None,
    bvh: str = "bvh6",
) -> Acceleration:
    """Build the acceleration structure (``tracer.bvh.build``) and copy it into device memory.

    Geometries whose hit groups name an any-hit program lose their opaque mark, so that it runs.
    """
    acceleration = build_acceleration(scene, memory.allocate(0), as_embree, structure, LAYOUTS[bvh])
    tested = {g for g in GEOMETRIES if any(group.any_hit for group in config.groups_of(g))}
    for geometry, kind in (("triangles", TRIANGLE), ("textured_triangles", TRIANGLE), ("spheres", PROCEDURAL)):
        if geometry in tested:
            acceleration.words[_blocks_of(acceleration, kind), LEAF_GEOMETRY] &= ~np.uint32(LEAF_OPAQUE_BIT)
    memory.allocate(acceleration.image)
    marked = [replace(g, opaque=g.opaque and geometry_kind(g) not in tested) for g in acceleration.geometries]
    return replace(acceleration, geometries=marked)


def _blocks_of(acceleration: Acceleration, kind: int) -> NDArray[np.int64]:
    """Blocks of the image where a record of this kind begins."""
    return acceleration.node_block[acceleration.node_kind == kind].astype(np.int64)


def _constants(
    module: Module, symbol: str, config: ProgramConfig, values: dict[str, Any], memory: DeviceMemory, pixels: int
) -> bytes:
    """The launch parameters, as long as the module declares them; buffers that they ask for are taken here."""
    own = {f.name: memory.allocate(pixels * f.bytes_per_pixel) for f in config.params if f.bytes_per_pixel}
    return pack_fields(config.params, {**values, **own}, "params").ljust(module.variables[symbol].bytes, b"\0")


def _fetches_triangles(functions: list[Function]) -> bool:
    return any(i.callee.startswith(TRIANGLE_FETCH) for function in functions for i in function.body)


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
