"""A scene and a program become one launch: device memory filled, programs found and filtered, records bound."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rayplay.ptx.inject import inject_filter
from rayplay.ptx.ir import Module
from rayplay.tracer.bvh.build import Acceleration, Structure, build_acceleration
from rayplay.tracer.bvh.layout import LEAF_GEOMETRY, LEAF_OPAQUE_BIT, PROCEDURAL, TRIANGLE
from rayplay.tracer.bvh.layouts import LAYOUTS
from rayplay.tracer.launchfile.buffers import Array, place_resources
from rayplay.tracer.link.launches import ImageLaunch
from rayplay.tracer.link.programs import Programs
from rayplay.tracer.memory.arena import DeviceMemory
from rayplay.tracer.rays.traverse import make_context
from rayplay.tracer.record.buffers import DISTANCE_LOG_BYTES
from rayplay.tracer.scenes.description import Scene
from rayplay.tracer.shading.built_in import with_built_in
from rayplay.tracer.shading.config import GEOMETRIES, IMAGE_FORMATS, ProgramConfig
from rayplay.tracer.shading.fields import pack_fields, params_symbol
from rayplay.tracer.shading.listed import require_listed
from rayplay.tracer.shading.scene_tables import mentioned, scene_tables
from rayplay.tracer.shading.table import ShaderTable, build_table, find_programs, geometry_kind
from rayplay.tracer.shading.upload import SceneBuffers, camera_values, upload_scene


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
    """A launch that is ready to run, and where its picture will lie; ``buffers`` are views of the program's own."""

    launch: ImageLaunch
    acceleration: Acceleration
    image_address: int
    image_format: str
    buffers: dict[str, Array] = field(default_factory=dict)


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
    bvh: str = "bvh6",
    own: Callable[[DeviceMemory, Mapping[str, Any]], Mapping[str, Any]] | None = None,
) -> Prepared:
    """Fill a fresh device memory and describe the launch.

    module     the program's, or several that are linked to one program: the first that defines a name counts.
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
    modules = (module,) if isinstance(module, Module) else tuple(module)
    config, modules = with_built_in(config, modules, scene)
    functions = find_programs(config, modules, place)
    symbol = _symbol(config, modules, tuple(functions), place)
    memory = DeviceMemory(guard_bytes=0)  # a picture's buffers lie side by side, so that replays compare
    acceleration = place_acceleration(scene, config, memory, traversal == "vulkan-sim", structure, bvh)
    buffers = upload_scene(scene, memory)
    values = _launch_values(scene, sampling, buffers, acceleration)
    views, addresses = place_resources(config.resources, config.file, modules, memory)
    table, values = _placed(scene, config, buffers, values | addresses, memory)
    values |= own(memory, values) if own else {}
    programs = tuple((m, inject_filter(f) if i == 0 else f) for i, (m, f) in enumerate(functions))
    primitives, nodes = scene_tables(scene, acceleration, buffers, memory, mentioned(programs, modules))
    context = make_context(
        acceleration, table.hit_programs, table.miss_programs.tolist(), traversal, delayed=delayed, record=record,
        distance_log=DISTANCE_LOG_BYTES,
    )  # fmt: skip
    launch = ImageLaunch(
        programs=programs, raygen_index=0, width=sampling.width, height=sampling.height,
        memory=memory,
        constants={symbol: _constants(modules, symbol, config, values, memory)} if symbol else {},
        instance_ids=np.arange(len(acceleration.instance_geometry), dtype=np.uint32),
        trace_context=context,
        primitives=primitives,
        selected=selected,
        name=config.name,
        nodes=nodes,
        libraries=modules if len(modules) > 1 else (),
        **{name: value for name, value in vars(table).items() if name != "miss_programs"},
    )  # fmt: skip
    return Prepared(launch, acceleration, values["image"], config.image_format, views)


def _launch_values(
    scene: Scene, sampling: Sampling, buffers: SceneBuffers, acceleration: Acceleration
) -> dict[str, Any]:
    """Values of launch parameters and records that a scene and its picture have."""
    camera = camera_values(scene.camera, sampling.width, sampling.height)
    known = {**buffers.missing, **buffers.launch, **camera, **vars(sampling)}
    return known | {"scene": acceleration.top_address}


def _symbol(config: ProgramConfig, modules: Sequence[Module], programs: Programs, place: str) -> str | None:
    """Name of the launch parameters, whose members that programs load are listed, where a file has any."""
    symbol = params_symbol(config.params_symbol, config.params, modules, place)
    if symbol and (config.params or config.params_symbol):
        require_listed(programs, modules, symbol, config.params, place)
    return symbol


def _placed(
    scene: Scene, config: ProgramConfig, buffers: SceneBuffers, values: dict[str, Any], memory: DeviceMemory
) -> tuple[ShaderTable, dict[str, Any]]:
    """The records and the picture in device memory, and the values with the address of the picture: it lies behind the
    records, unless one of them names it."""
    size = values["width"] * values["height"] * IMAGE_FORMATS[config.image_format]
    named = _is_in_records("image", config)
    image = memory.allocate(size) if named else 0
    table = build_table(config, scene.geometries(), buffers.geometry, {**values, "image": image}, memory)
    return table, {**values, "image": image if named else memory.allocate(size)}


def _is_in_records(source: str, config: ProgramConfig) -> bool:
    """Whether a record has a field that the source fills."""
    records = (config.raygen, *config.miss, *config.hit_groups, *config.callables, config.exception)
    return any(field.source == source for each in records if each is not None for field in each.record)


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
    kinds = {"triangles": TRIANGLE, "textured_triangles": TRIANGLE, "spheres": PROCEDURAL, "curves": PROCEDURAL}
    for geometry, kind in kinds.items():
        if geometry in tested:
            acceleration.words[_blocks_of(acceleration, kind), LEAF_GEOMETRY] &= ~np.uint32(LEAF_OPAQUE_BIT)
    memory.allocate(acceleration.image)
    marked = [replace(g, opaque=g.opaque and geometry_kind(g) not in tested) for g in acceleration.geometries]
    return replace(acceleration, geometries=marked)


def _blocks_of(acceleration: Acceleration, kind: int) -> NDArray[np.int64]:
    """Blocks of the image where a record of this kind begins."""
    return acceleration.node_block[acceleration.node_kind == kind].astype(np.int64)


def _constants(
    modules: Sequence[Module],
    symbol: str,
    config: ProgramConfig,
    values: dict[str, Any],
    memory: DeviceMemory,
) -> bytes:
    """The launch parameters, as long as the modules declare them; buffers that they ask for are taken here."""
    pixels = -(-values["width"] * values["height"] // 32) * 32  # of whole warps
    own = {f.name: memory.allocate(pixels * f.bytes_per_pixel) for f in config.params if f.bytes_per_pixel}
    size = max(m.variables[symbol].bytes for m in modules if symbol in m.variables)
    return pack_fields(config.params, {**values, **own}, "params").ljust(size, b"\0")
